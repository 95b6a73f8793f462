"""Passes the results of bands to a sink in order, and holds the totals of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import field
from typing import Any, Protocol, TypeVar, cast

from gpualign.core.common.dataclass import dataclass

PlanT = TypeVar("PlanT", contravariant=True)
BandT = TypeVar("BandT", contravariant=True)


class Sink(Protocol[PlanT, BandT]):
    """Receives all bands of a plan, one at a time in plan order."""

    def begin(self, plan: PlanT, /) -> None:
        """Called once, before the first band."""

    def write(self, band: BandT, /) -> None: ...

    def finish(self) -> None:
        """Called once, after every band has been written."""


class CheckpointListener(Protocol):
    """Receives notifications of an output's progress, so that a later run can resume it."""

    def register_counts_function(self, get_counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """Register a function that returns the summary counts for everything written so far; it may be called at any checkpoint.

        Returns the counts of the earlier runs that this run resumes, or {}.
        """

    def header_written(self) -> None:
        """Called when everything before the first band has been written."""

    def rows_written(self, rows: int) -> None:
        """Called when all pairs of the queries before query number `rows` have been written, and no other pairs.

        If the last pair written is not the last pair of its query, `rows` is 0. The same number may be passed repeatedly.
        """


class _NullCheckpointListener:
    def register_counts_function(self, get_counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        return {}

    def header_written(self) -> None:
        pass

    def rows_written(self, rows: int) -> None:
        pass


NO_CHECKPOINTS: CheckpointListener = _NullCheckpointListener()
"""Listener for outputs that cannot be resumed."""


class Progress(Protocol):
    """Receives notifications of finished work: DP cells, or comparisons of two samples' calls at a site."""

    def advance(self, work: int, /) -> Any: ...


@dataclass
class Totals:
    """Totals of a run, for its summary.

    work: number of DP cells, or of comparisons of two samples' calls at a site
    seconds: time that the run took, which is set at its end
    """

    pair_count: int
    work: int
    seconds: float = field(default=0.0, init=False)

    @property
    def rate(self) -> float:
        """Work done per second."""
        return self.work / max(self.seconds, 1e-9)

    @property
    def notes(self) -> list[str]:
        """Human-readable notes on the steps of the run."""
        return []

    @property
    def speed_text(self) -> str:
        """Human-readable work, time and speed."""
        return f"{self.work:.3g} cells in {self.seconds:.2f} s, {self.rate / 1e9:.1f} GCUPS"

    @property
    def summary_values(self) -> dict[str, object]:
        """Machine-readable totals, keyed by the names in docs/formats/summary.md."""
        return {"pairs": self.pair_count, "cells": self.work, "seconds": round(self.seconds, 6), "cells_per_second": round(self.rate)}

    def summary_with_earlier(self, pairs: int, work: int) -> dict[str, object]:
        """Return `summary_values` plus the pairs and work of the earlier runs that this run resumes."""
        figures = dict(self.summary_values)
        if pairs:
            figures |= {"pairs": self.pair_count + pairs, "pairs_in_this_run": self.pair_count}
            figures |= {name: self.work + work for name in ("cells", "comparisons") if name in figures}
        return figures


class Closable(Protocol):
    """Iterator that can be closed, such as a generator that is declared as an iterator."""

    def close(self) -> None: ...


RunPlanT = TypeVar("RunPlanT")
RunBandT = TypeVar("RunBandT")


def run_pipeline(
    plan: RunPlanT,
    bands: Iterator[RunBandT],
    sink: Sink[RunPlanT, RunBandT],
    get_completed_query_count: Callable[[RunBandT], int] = lambda band: 0,
    checkpoints: CheckpointListener = NO_CHECKPOINTS,
) -> None:
    """Write every band to the sink.

    get_completed_query_count: called after each band has been written. Returns a query number: all pairs of the queries before it have been
        written, and no other pairs. Returns 0 if the last pair written is not the last pair of its query
    checkpoints: is notified of the numbers that `get_completed_query_count` returns

    `bands` is always closed, so an error in the sink stops the engine's workers at once.
    """
    sink.begin(plan)
    checkpoints.header_written()
    with closing(cast("Closable", bands)):
        for band in bands:
            sink.write(band)
            checkpoints.rows_written(get_completed_query_count(band))
    sink.finish()
