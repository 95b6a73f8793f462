"""Bands of pairs of samples, and the counts that an engine makes of them. Pure."""

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
class Band(Rect):
    """A rectangle of the rows of panels. upper: only pairs of a row with a later one, or itself, are wanted; the others may hold
    anything."""

    upper_triangle: bool

    @property
    def pairs(self) -> int:
        """Pairs that are wanted."""
        rows, columns = self.shape
        if not self.upper_triangle:
            return rows * columns
        return sum(self.target_stop - max(self.first_target, row) for row in range(self.start, min(self.stop, self.target_stop)))

    def rows(self, start: int, stop: int) -> Band:
        """These rows, with the targets that they want."""
        first = max(start, self.first_target) if self.upper_triangle else self.first_target
        return replace(self, start=start, stop=stop, first_target=first)

    def halves(self) -> tuple[Band, Band]:
        """Of two or more rows: the upper and the lower ones."""
        middle = (self.start + self.stop) // 2
        return self.rows(self.start, middle), self.rows(middle, self.stop)

    def pieces(self, rows: int) -> Iterator[Band]:
        """In parts of up to so many rows, in order."""
        for start in range(self.start, self.stop, rows):
            yield self.rows(start, min(self.stop, start + rows))

    def split(self, parts: int) -> list[Band]:
        """In at most so many parts of whole rows, about equally many pairs each."""
        out: list[Band] = []
        rows, columns = self.shape
        # Of one set, row r of a band that begins on the diagonal has columns - r pairs.
        weights = [columns - r if self.upper_triangle else columns for r in range(rows)]
        total, done, start = sum(weights), 0, 0
        for row, weight in enumerate(weights, 1):
            done += weight
            if done * parts >= total * (len(out) + 1) or row == rows:
                out.append(self.rows(self.start + start, self.start + row))
                start = row
        return out


@dataclass(frozen=True)
class Bands:
    """Bands in turn, which may be made as they are asked for. pairs, columns: rows times columns, and columns, of one at most."""

    bands: Iterable[Band]
    pairs: int
    columns: int

    @classmethod
    def of(cls, bands: Iterable[Band]) -> Bands:
        """Bands that are all known."""
        every = list(bands)
        pairs, columns = (max(sizes, default=0) for sizes in ([b.shape[0] * b.shape[1] for b in every], [b.shape[1] for b in every]))
        return cls(every, pairs, columns)

    def __iter__(self) -> Iterator[Band]:
        return iter(self.bands)


CountedBands: TypeAlias = Generator[tuple[Band, dict[str, CountMatrix]], None, None]
"""Bands in turn with the counts of their pairs by name: int32[rows][targets]. Closing it stops all work soon and frees everything."""
