"""Cuts the pairs into bands of queries whose counts fit in memory. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.distance.bands import Band


@dataclass(frozen=True)
class DistancePlan:
    """queries x targets in bands of `rows` queries. upper: the queries are the first of the targets, each with itself and later ones.
    pair_bytes: of memory. start, stop: the queries whose pairs are wanted, if not all of them are (None: up to the last)."""

    queries: int
    targets: int
    upper_triangle: bool
    rows: int
    pair_bytes: int
    start: int = 0
    stop: int | None = None

    def part(self, start: int, stop: int) -> DistancePlan:
        """The same for queries [start, stop) alone."""
        return replace(self, start=start, stop=stop)

    @property
    def end(self) -> int:
        """Behind the last query whose pairs are wanted."""
        return self.queries if self.stop is None else self.stop

    def bands(self) -> Iterator[Band]:
        """In order. Targets of a second set come behind the queries in the panels."""
        first = 0 if self.upper_triangle else self.queries
        for start in range(self.start, self.end, self.rows):
            stop = min(self.end, start + self.rows)
            yield Band(start, stop, start if self.upper_triangle else first, first + self.targets, self.upper_triangle)

    @property
    def count(self) -> int:
        return -(-(self.end - self.start) // self.rows)

    @property
    def bytes(self) -> int:
        """Memory of the largest band."""
        return self.rows * self.targets * self.pair_bytes

    @property
    def pairs(self) -> int:
        """Pairs that are computed, those of a sample with itself included."""
        return sum(band.pairs for band in self.bands())


def plan_bands(queries: int, targets: int, upper_triangle: bool, memory: int, pair_bytes: int) -> DistancePlan:
    """Bands of about equally many rows. Raises `TooLittleMemory` where not even one row fits."""
    most = memory // max(1, targets * pair_bytes)
    if most < 1:
        needed = targets * pair_bytes
        raise TooLittleMemory(
            f"the memory budget is too small: a row of {targets:,} pairs takes {needed:,} bytes, {memory:,} are left", needed
        )
    bands = -(-queries // min(most, queries))
    return DistancePlan(queries, targets, upper_triangle, -(-queries // bands), pair_bytes)
