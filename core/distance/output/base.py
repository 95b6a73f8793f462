"""What a sink of distances takes: it is a `gpualign.core.execution.pipeline.Sink` whose plan are the samples, and whose bands these are."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import Band
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import CountArray, Values
from gpualign.core.execution.pipeline import Sink

DECIMALS = 9
"""Of distances that are no counts: a site in a whole bacterial genome shows."""


@dataclass(frozen=True)
class BandDistances:
    """Of the pairs of a band: [queries][targets]. compared: sites, where they are wanted. lacking: pairs with too few compared sites for a
    distance; undefined: others for which the metric's formula has no value."""

    band: Band
    values: Values = field(repr=False)
    compared: CountArray | None = field(repr=False)
    lacking: int = 0
    undefined: int = 0

    @property
    def rows(self) -> int:
        """With these all pairs of the queries before this one are there."""
        return self.band.stop


@dataclass(frozen=True)
class NearDistances:
    """Of pairs that are near, in the order of (query, target); arrays are [pairs].

    queries, targets: samples of `Samples.queries` and `Samples.targets`, int64. values, compared: as of `BandDistances`. rows: with these
    all pairs of the queries before this one are there; 0: not known.
    """

    queries: CountArray = field(repr=False)
    targets: CountArray = field(repr=False)
    values: Values = field(repr=False)
    compared: CountArray | None = field(repr=False)
    rows: int = 0

    def part(self, which: slice) -> NearDistances:
        """Some of them."""
        compared = self.compared[which] if self.compared is not None else None
        return NearDistances(self.queries[which], self.targets[which], self.values[which], compared)


DistanceSink: TypeAlias = Sink[Samples, BandDistances]
NearSink: TypeAlias = Sink[Samples, NearDistances]
AnySink: TypeAlias = Sink[Samples, Any]
"""What a task wants: a `NearSink` where it has a threshold, otherwise a `DistanceSink`."""
