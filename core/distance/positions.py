"""Site positions in an input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.distance.intervals import OPEN_END, OPEN_START, REGION_FORMS, GenomicIntervals

_MAX_NAMES_IN_MESSAGE = 5


class Positions(Protocol):
    """Interface: positions of all sites in one input, in input order."""

    def covered_mask(self, intervals: GenomicIntervals) -> npt.NDArray[np.bool_]:
        """Return a mask of the sites that lie in one of the intervals: bool[sites].

        Raises `InputError` for intervals that cannot belong to this input.
        """

    def absent_chromosomes(self, intervals: GenomicIntervals) -> list[str]:
        """Return the chromosomes of the intervals on which the input has no site."""


@dataclass(frozen=True)
class AlignmentColumns:
    """Positions of the columns of an alignment, counted from 1. Columns have no chromosome, so intervals may use any chromosome name.

    source: name of the input
    column_count: number of columns
    """

    source: str
    column_count: int

    def covered_mask(self, intervals: GenomicIntervals) -> npt.NDArray[np.bool_]:
        if len(names := list(intervals.chromosome_intervals)) > 1:
            raise InputError(
                f"{intervals.first_interval_name(names[1])}: a second chromosome, {names[1]!r} after {names[0]!r}; {self.source} is an"
                " alignment, whose columns have no chromosomes: give intervals of its columns, all with one name"
            )
        for name, ranges in intervals.chromosome_intervals.items():
            if not intervals.is_from_file and ((ranges.starts == OPEN_START) & (ranges.stops == OPEN_END)).any():
                raise InputError(
                    f"{intervals.first_interval_name(name)}: there is no file of this name, and as a region it would be all of"
                    f" {self.source}, an alignment, whose columns have no chromosome: write columns as NAME:FROM-TO, with any name"
                )
            if (before := np.flatnonzero(ranges.starts < 0)).size:
                raise InputError(
                    f"{intervals.interval_name(int(ranges.interval_numbers[before[0]]))}: columns of an alignment count from 1"
                )
            beyond = (ranges.starts >= self.column_count) & (ranges.stops > ranges.starts)
            beyond |= (ranges.stops > self.column_count) & (ranges.stops != OPEN_END)
            if beyond.any():
                first = int(np.flatnonzero(beyond)[0])
                start, stop = int(ranges.starts[first]), int(ranges.stops[first])
                reaches = f"begins at {start + 1:,}" if stop == OPEN_END else f"reaches to {stop:,}"
                raise InputError(
                    f"{intervals.interval_name(int(ranges.interval_numbers[first]))}: the interval {reaches}, {self.source} has"
                    f" {self.column_count:,} columns; positions are those of columns: an alignment of only variable sites has lost the"
                    " genome's"
                )
            return ranges.covered_mask(np.arange(self.column_count, dtype=np.int64))
        return np.zeros(self.column_count, dtype=bool)

    def absent_chromosomes(self, intervals: GenomicIntervals) -> list[str]:
        return []


def _region_advice(name: str, intervals: GenomicIntervals) -> str:
    """Return the end of a message about a chromosome that is not there: how to write regions, if the name looks like more than a name."""
    if intervals.is_from_file or name.isalnum() or not any(region.text == name for region in intervals.regions):
        return ""
    return f"; {REGION_FORMS}"


@dataclass(frozen=True)
class VariantPositions:
    """Positions of variants: the chromosome of each site, and the position on it.

    source: name of the input
    chromosomes: names of the chromosomes
    chromosome_indices: index of each site's chromosome in `chromosomes`, int32[sites]
    positions: 1-based positions, int64[sites]; 0 is the telomere, as in VCF
    """

    source: str
    chromosomes: list[str]
    chromosome_indices: npt.NDArray[np.int32] = field(repr=False)
    positions: npt.NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, source: str, sites: Sequence[tuple[Any, ...]]) -> VariantPositions:
        """Return the site positions. Each entry in `sites` begins with chromosome and position; the rest is ignored."""
        known: dict[str, int] = {}
        numbers = np.fromiter((known.setdefault(site[0], len(known)) for site in sites), np.int32, len(sites))
        return cls(source, list(known), numbers, np.fromiter((site[1] for site in sites), np.int64, len(sites)))

    def covered_mask(self, intervals: GenomicIntervals) -> npt.NDArray[np.bool_]:
        intervals = intervals.on(self.chromosomes, self.source)
        absent = self.absent_chromosomes(intervals)
        if absent and (not intervals.is_from_file or len(absent) == len(intervals.chromosome_intervals)):
            shown = [repr(name) for name in self.chromosomes[:_MAX_NAMES_IN_MESSAGE]]
            more = len(self.chromosomes) - len(shown)
            raise InputError(
                f"{intervals.first_interval_name(absent[0])}: no site of {self.source} is on {absent[0]!r}; its chromosomes are"
                f" {', '.join(shown)}" + (f" and {more:,} more" if more else "") + _region_advice(absent[0], intervals)
            )
        covered = np.zeros(len(self.positions), dtype=bool)
        order = np.argsort(self.chromosome_indices, kind="stable")  # once for all chromosomes: a draft genome has thousands of contigs
        bounds = np.searchsorted(self.chromosome_indices[order], np.arange(len(self.chromosomes) + 1))
        for number, chromosome in enumerate(self.chromosomes):
            if (ranges := intervals.chromosome_intervals.get(chromosome)) is not None:
                some = order[bounds[number] : bounds[number + 1]]
                covered[some] = ranges.covered_mask(self.positions[some] - 1)
        return covered

    def absent_chromosomes(self, intervals: GenomicIntervals) -> list[str]:
        known = set(self.chromosomes)
        return [name for name in intervals.on(known, self.source).chromosome_intervals if name not in known]
