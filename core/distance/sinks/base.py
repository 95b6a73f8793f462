"""What takes distances, a band of queries after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.engine import Band
from gpualign.core.distance.metrics import Integers, Values

DECIMALS = 9
"""Of distances that are no counts: a site in a whole bacterial genome shows."""


@dataclass(frozen=True)
class BandDistances:
    """Of the pairs of a band: [queries][targets]. compared: sites, where they are wanted. Targets count from the samples' targets on."""

    band: Band
    values: Values = field(repr=False)
    compared: Integers | None = field(repr=False)


class DistanceSink(Protocol):
    """Bands come in order."""

    def begin(self, samples: Samples) -> None: ...

    def accept(self, distances: BandDistances) -> None: ...

    def finish(self) -> None: ...
