"""Splits the pairs into bands of queries whose counts fit in memory. Pure."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory
from gpualign.core.distance.bands import SampleBand, SampleBands


@dataclass(frozen=True)
class DistancePlan:
    """Plan that divides the pairs of queries and targets into bands.

    query_count, target_count: numbers of samples
    upper_triangle: whether the queries come first among the targets, so that each is paired only with itself and later targets
    band_rows: queries per band
    pair_bytes: memory per pair, in bytes
    start, stop: only the pairs of queries [start, stop) are computed; if `stop` is None, those up to the last query
    """

    query_count: int
    target_count: int
    upper_triangle: bool
    band_rows: int
    pair_bytes: int
    start: int = 0
    stop: int | None = None

    def for_queries(self, start: int, stop: int) -> DistancePlan:
        """Return the same plan for only the queries [start, stop)."""
        return replace(self, start=start, stop=stop)

    @property
    def query_stop(self) -> int:
        """Index after the last query whose pairs are to be computed."""
        return self.query_count if self.stop is None else self.stop

    def bands(self) -> SampleBands:
        """Return the bands in order. In the panels, the targets of a second set come after the queries."""
        first = 0 if self.upper_triangle else self.query_count
        every = SampleBand(self.start, self.query_stop, max(first, self.start), first + self.target_count, self.upper_triangle)
        return SampleBands.of(every.pieces(self.band_rows))

    @property
    def band_count(self) -> int:
        """Number of bands."""
        return -(-(self.query_stop - self.start) // self.band_rows)

    @property
    def max_band_bytes(self) -> int:
        """Memory for the largest band, in bytes."""
        return self.band_rows * self.target_count * self.pair_bytes

    @property
    def pair_count(self) -> int:
        """Number of pairs to compute, including pairs of a sample with itself."""
        return sum(band.pair_count for band in self.bands())


def plan_bands(queries: int, targets: int, upper_triangle: bool, memory: int, pair_bytes: int) -> DistancePlan:
    """Return a plan of bands with approximately equal numbers of queries. The results for each band fit in `memory` bytes. Raises
    `TooLittleMemory` if not even the results for one query fit.

    pair_bytes: memory per pair, in bytes
    """
    max_rows = memory // max(1, targets * pair_bytes)
    if max_rows < 1:
        needed = targets * pair_bytes
        raise TooLittleMemory(
            f"the memory budget is too small: a row of {targets:,} pairs takes {needed:,} bytes, {memory:,} are left",
            needed,
            available_bytes=memory,
        )
    bands = -(-queries // min(max_rows, queries))
    return DistancePlan(queries, targets, upper_triangle, -(-queries // bands), pair_bytes)
