"""The end of every road: bands of results, in order, into a sink; and what a run did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Protocol, TypeVar, cast

from gpualign.core.common.dataclass import dataclass

Plan = TypeVar("Plan", contravariant=True)
Band = TypeVar("Band", contravariant=True)


class Sink(Protocol[Plan, Band]):
    """Takes all bands of a plan, one after the other in the plan's order."""

    def begin(self, plan: Plan, /) -> None:
        """Called once, before the first band."""

    def write(self, band: Band, /) -> None: ...

    def finish(self) -> None:
        """Called once, when every band has been written."""


class CheckpointListener(Protocol):
    """Told how far an output has come, so that another run may go on there."""

    def counting(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """Told how to ask what a summary counts of all that has been written, at any mark; returns what runs before this one, with which it
        goes on, have come to, {} where there are none."""

    def header_written(self) -> None:
        """What stands before the first band has been written."""

    def mark(self, rows: int) -> None:
        """All pairs of the queries before this one have been written, and no others; 0: that is not so of any. It may be told the same
        again."""


class _Unmarked:
    def counting(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        return {}

    def header_written(self) -> None:
        pass

    def mark(self, rows: int) -> None:
        pass


NO_CHECKPOINTS: CheckpointListener = _Unmarked()
"""For outputs with which no other run goes on."""


class Progress(Protocol):
    """Told of finished work: DP cells, or comparisons of calls."""

    def advance(self, work: int, /) -> Any: ...


@dataclass(frozen=True)
class Totals:
    """What a run did, for its summary. work: DP cells, or comparisons of calls."""

    pairs: int
    work: int
    seconds: float

    @property
    def rate(self) -> float:
        """Work a second."""
        return self.work / max(self.seconds, 1e-9)

    @property
    def figures(self) -> dict[str, object]:
        """The same for programs, as docs/formats/summary.md names it."""
        return {"pairs": self.pairs, "cells": self.work, "seconds": round(self.seconds, 6), "cells_per_second": round(self.rate)}

    def with_earlier(self, pairs: int, work: int) -> dict[str, object]:
        """The same with the pairs and the work that runs before this one have done."""
        found = dict(self.figures)
        if pairs:
            found |= {"pairs": self.pairs + pairs, "pairs_in_this_run": self.pairs}
            found |= {name: self.work + work for name in ("cells", "comparisons") if name in found}
        return found


class Closable(Protocol):
    """A generator, where its type is that of an iterator."""

    def close(self) -> None: ...


P = TypeVar("P")
B = TypeVar("B")


def run_pipeline(
    plan: P, bands: Iterator[B], sink: Sink[P, B], rows: Callable[[B], int] = lambda band: 0, marks: CheckpointListener = NO_CHECKPOINTS
) -> None:
    """Hand every band to the sink. rows: up to which query all pairs are there when a band has been written, and no others;
    0: up to none. Told to `marks`.

    Whatever happens, `bands` is closed, so that an error in the sink stops the engine's workers at once.
    """
    sink.begin(plan)
    marks.header_written()
    with closing(cast("Closable", bands)):
        for band in bands:
            sink.write(band)
            marks.mark(rows(band))
    sink.finish()
