"""The end of every road: bands of results, in order, into a sink; and what a run did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, Protocol, TypeVar, cast

from gpualign.core.dataclass import dataclass

Plan = TypeVar("Plan", contravariant=True)
Band = TypeVar("Band", contravariant=True)


class Sink(Protocol[Plan, Band]):
    """Takes all bands of a plan, one after the other in the plan's order."""

    def begin(self, plan: Plan, /) -> None:
        """Called once, before the first band."""

    def write(self, band: Band, /) -> None: ...

    def finish(self) -> None:
        """Called once, when every band has been written."""


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


class Closable(Protocol):
    """A generator, where its type is that of an iterator."""

    def close(self) -> None: ...


P = TypeVar("P")
B = TypeVar("B")


def deliver(plan: P, bands: Iterator[B], sink: Sink[P, B]) -> None:
    """Hand every band to the sink. Whatever happens, `bands` is closed, so that an error in the sink stops the engine's workers at once."""
    sink.begin(plan)
    with closing(cast("Closable", bands)):
        for band in bands:
            sink.write(band)
    sink.finish()
