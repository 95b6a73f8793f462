"""Input to distance sinks: a `gpualign.core.execution.pipeline.Sink` takes the samples as its plan, and these classes as its bands."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import CountArray, Values
from gpualign.core.execution.pipeline import Sink
from gpualign.core.planning.rectangle import Rect

DECIMALS = 9
"""Decimals for distances that are not counts: one site in a whole bacterial genome makes a visible difference."""


@dataclass(frozen=True)
class BandDistances:
    """Distances for the pairs in a band. Arrays are [queries][targets].

    band: queries and targets of the pairs
    values: distances
    compared: compared sites, int32; None: not requested
    lacking: pairs with too few compared sites for a distance
    undefined: additional pairs for which the metric's formula has no value
    """

    band: Rect
    values: Values = field(repr=False)
    compared: CountArray | None = field(repr=False)
    lacking: int = 0
    undefined: int = 0

    @property
    def rows(self) -> int:
        """Query index: after this band, all pairs of the queries before this index have been delivered."""
        return self.band.stop


@dataclass(frozen=True)
class NearDistances:
    """Distances for near pairs, in (query, target) order. Arrays are [pairs].

    queries, targets: indices into `Samples.queries` and `Samples.targets`, int64
    values, compared, lacking, undefined: as in `BandDistances`; pairs without a distance are none of these
    rows: after these pairs, all pairs of the queries before this index have been delivered; 0: unknown
    """

    queries: CountArray = field(repr=False)
    targets: CountArray = field(repr=False)
    values: Values = field(repr=False)
    compared: CountArray | None = field(repr=False)
    rows: int = 0
    lacking: int = 0
    undefined: int = 0

    def select(self, which: slice) -> NearDistances:
        """Return a slice of the pairs."""
        compared = self.compared[which] if self.compared is not None else None
        return NearDistances(self.queries[which], self.targets[which], self.values[which], compared)


DistanceSink: TypeAlias = Sink[Samples, BandDistances]
NearSink: TypeAlias = Sink[Samples, NearDistances]
AnySink: TypeAlias = Sink[Samples, Any]
"""Sink for a task: a `NearSink` if the task has a threshold, otherwise a `DistanceSink`."""
