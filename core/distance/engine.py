"""What computes counts of pairs: the interface between panels of sites and the hardware."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.recipe import PanelRecipe
from gpualign.core.rect import Rect

Bits: TypeAlias = npt.NDArray[np.uint64]
CountMatrix: TypeAlias = npt.NDArray[np.int32]

WORD_BITS = 64
_CACHE_LINE = 64


@dataclass(frozen=True)
class Panel:
    """Some sites of all samples as bit planes.

    bits: uint64[planes][samples][words], site 64 w + k is bit k of word w; bits beyond `sites` are 0.
    """

    bits: Bits = field(repr=False)
    sites: int
    recipe: PanelRecipe


@dataclass(frozen=True)
class Band(Rect):
    """A rectangle of the rows of panels. upper: of one set, only pairs of a row with a later one, or itself, are wanted; the others may
    hold anything."""

    upper: bool

    @property
    def pairs(self) -> int:
        """Pairs that are wanted."""
        rows, columns = self.shape
        if not self.upper:
            return rows * columns
        return sum(self.target_stop - max(self.first_target, row) for row in range(self.start, min(self.stop, self.target_stop)))


def empty_planes(planes: int, samples: int, words: int) -> Bits:
    """Room for bit planes that begins on a cache line: vectors that straddle two lines halve the speed."""
    size = planes * samples * words * 8
    room = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % _CACHE_LINE
    return room[start : start + size].view(np.uint64).reshape(planes, samples, words)


CountedBands: TypeAlias = Generator[tuple[Band, dict[str, CountMatrix]], None, None]
"""Bands in turn with the counts of their pairs by name: int32[rows][targets]. Closing it stops all work soon and frees everything."""


class DistanceEngine(Protocol):
    """One kind of hardware at work."""

    threads: int
    """Of the host, for making bit planes."""

    @property
    def products_only(self) -> bool:
        """Whether recipes must do with Operation.AND."""

    def describe(self) -> str:
        """The hardware that does the work, for people."""

    def kernel(self) -> str:
        """The kernel that runs, for people."""

    def band_bytes(self, memory: int) -> int:
        """Memory for counts of a band, of the `memory` bytes of the host that there are."""

    def padded_words(self, sites: int) -> int:
        """Words of a sample in a plane with so many sites, as the kernels want them."""

    def run(self, panels: Sequence[Panel], bands: Iterable[Band], names: tuple[str, ...], advance: Callable[[int], None]) -> CountedBands:
        """Counts of each band, summed over panels. advance is told of comparisons (pairs x sites). Raises `RunError` where the hardware
        fails."""
