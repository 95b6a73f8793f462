"""Bands of sample pairs, and the counts that an engine computes for each band. Pure."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.rectangle import Rect

CountMatrix: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SampleBand(Rect):
    """Band of sample pairs: a rectangle of queries and targets, which are numbered by their rows in a panel.

    upper_triangle: whether only pairs of a row with itself or a later row belong to the band; counts for the remaining pairs are arbitrary
    """

    upper_triangle: bool

    @property
    def pair_count(self) -> int:
        """Number of pairs that belong to the band."""
        rows, columns = self.shape
        if not self.upper_triangle:
            return rows * columns
        stop = max(self.start, min(self.stop, self.target_stop))
        diagonal = max(self.start, min(stop, self.first_target))  # the rows from here on are paired with themselves and later rows
        later = stop - diagonal
        return (diagonal - self.start) * columns + later * self.target_stop - later * (diagonal + stop - 1) // 2

    def select_rows(self, start: int, stop: int) -> SampleBand:
        """Return the part of the band with rows [start, stop) and only the targets that these rows are paired with."""
        first = max(start, self.first_target) if self.upper_triangle else self.first_target
        return replace(self, start=start, stop=stop, first_target=first)

    def halves(self) -> tuple[SampleBand, SampleBand]:
        """Return two bands: the first half of the rows, and the second half. The band must have at least two rows."""
        middle = (self.start + self.stop) // 2
        return self.select_rows(self.start, middle), self.select_rows(middle, self.stop)

    def pieces(self, max_rows: int) -> Iterator[SampleBand]:
        """Yield pieces of the band, each with up to `max_rows` rows, in order."""
        for start in range(self.start, self.stop, max_rows):
            yield self.select_rows(start, min(self.stop, start + max_rows))

    def split(self, max_pieces: int) -> list[SampleBand]:
        """Split the band into at most `max_pieces` pieces of whole rows, with approximately equal numbers of pairs."""
        out: list[SampleBand] = []
        rows, columns = self.shape
        # Of one set, row r of a band that begins on the diagonal has columns - r pairs.
        weights = [columns - r if self.upper_triangle else columns for r in range(rows)]
        total, done, start = sum(weights), 0, 0
        for row, weight in enumerate(weights, 1):
            done += weight
            if done * max_pieces >= total * (len(out) + 1) or row == rows:
                out.append(self.select_rows(self.start + start, self.start + row))
                start = row
        return out


@dataclass(frozen=True)
class SampleBands:
    """Bands in order, possibly generated on request.

    max_pairs: maximum product of the numbers of rows and columns in a band
    max_columns: maximum number of columns in a band
    """

    bands: Iterable[SampleBand]
    max_pairs: int
    max_columns: int

    @classmethod
    def of(cls, bands: Iterable[SampleBand]) -> SampleBands:
        """Return a `SampleBands` for bands that are all known in advance."""
        every = list(bands)
        pairs, columns = (max(sizes, default=0) for sizes in ([b.shape[0] * b.shape[1] for b in every], [b.shape[1] for b in every]))
        return cls(every, pairs, columns)

    def __iter__(self) -> Iterator[SampleBand]:
        return iter(self.bands)


CountedBands: TypeAlias = Generator[tuple[SampleBand, dict[str, CountMatrix]], None, None]
"""Generator that yields bands in order, each with its count matrices by name, int32[rows][targets]. Closing the generator stops the work at
once, and frees the memory that it uses."""
