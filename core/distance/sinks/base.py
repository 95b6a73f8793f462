"""What a sink of distances takes: it is a `gpualign.core.road.Sink` whose plan are the samples, and whose bands these are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.engine import Band
from gpualign.core.distance.metrics import Integers, Values
from gpualign.core.road import Sink

DECIMALS = 9
"""Of distances that are no counts: a site in a whole bacterial genome shows."""


@dataclass(frozen=True)
class BandDistances:
    """Of the pairs of a band: [queries][targets]. compared: sites, where they are wanted. lacking: pairs with too few compared sites for a
    distance."""

    band: Band
    values: Values = field(repr=False)
    compared: Integers | None = field(repr=False)
    lacking: int = 0


DistanceSink: TypeAlias = Sink[Samples, BandDistances]
