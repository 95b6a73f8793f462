"""What computes counts of pairs: the interface between panels of sites and the hardware."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import Band, Bands, CountedBands
from gpualign.core.distance.count_recipe import CountRequest, PanelRecipe, count_names
from gpualign.core.distance.pair_selection import ChosenPairs, PairSelectionRule, choose_of_bands

Bits: TypeAlias = npt.NDArray[np.uint64]

WORD_BITS = 64
_CACHE_LINE = 64


@dataclass(frozen=True)
class Panel:
    """Some sites of all samples as bit planes.

    bits: uint64[planes][samples][words], site 64 w + k is bit k of word w; bits beyond `sites` are 0. founders: as of `Samples`.
    """

    bits: Bits = field(repr=False)
    sites: int
    recipe: PanelRecipe
    founders: npt.NDArray[np.bool_] | None = field(default=None, repr=False)

    @property
    def in_memory(self) -> bool:
        """Or in a scratch file."""
        return not isinstance(self.bits, np.memmap)


def empty_planes(planes: int, samples: int, words: int) -> Bits:
    """Room for bit planes that begins on a cache line: vectors that straddle two lines halve the speed."""
    size = planes * samples * words * 8
    room = np.empty(size + _CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % _CACHE_LINE
    return room[start : start + size].view(np.uint64).reshape(planes, samples, words)


Count: TypeAlias = Callable[[Sequence[Panel], Bands, tuple[str, ...], Callable[[int], None]], CountedBands]
"""(panels, bands, names of the count matrices, advance) -> counts of each band, summed over panels; see `PreparedCounter.run`. A band is
asked for
when all of the one before has been taken; so it is of `Pick`."""

ChosenParts: TypeAlias = Generator[ChosenPairs, None, None]
"""The chosen pairs of bands in turn, of each in one or more parts, in order. Closing it stops all work soon and frees everything."""

Pick: TypeAlias = Callable[[Sequence[Panel], Bands, tuple[str, ...], PairSelectionRule, Callable[[int], None]], ChosenParts]
"""(panels, bands, names of the counts, rule, advance) -> the pairs that it chooses; see `PreparedCounter.near`."""


@dataclass(frozen=True)
class PreparedCounter:
    """An engine that is prepared for what is wanted: all that it decided, as data, and the way to run it.

    products_only: recipes must do with Operation.AND. words: from sites to the words of a sample in a plane, as the kernels want them.
    band_bytes: memory of the host for the counts of a band. threads: of the host, for making bit planes. kernel, hardware: what runs, and
    on what, for people. pick: for a `wanted` that says so; None: matrices are counted, and the host chooses. rate: comparisons
    a second, by estimate.
    """

    wanted: CountRequest
    products_only: bool
    words: Callable[[int], int] = field(repr=False)
    band_bytes: int
    threads: int
    kernel: str
    hardware: str
    count: Count = field(repr=False)
    pick: Pick | None = field(default=None, repr=False)
    rate: float = 1.0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The matrices that are counted."""
        return count_names(self.wanted, self.products_only)

    def run(self, panels: Sequence[Panel], bands: Iterable[Band], on_progress: Callable[[int], None]) -> CountedBands:
        """Counts of each band. advance is told of comparisons (pairs x sites). Raises `RunError` where the hardware fails."""
        return self.count(panels, Bands.of(bands), self.names, on_progress)

    def near(
        self, panels: Sequence[Panel], bands: Iterable[Band], rule: PairSelectionRule, on_progress: Callable[[int], None]
    ) -> ChosenParts:
        """The pairs of each band that a rule chooses. Otherwise as `run`."""
        if self.pick is not None:
            return self.pick(panels, Bands.of(bands), self.names, rule, on_progress)
        return choose_of_bands(rule, self.run(panels, bands, on_progress))


class DistanceEngine(Protocol):
    """One kind of hardware at work."""

    def prepare(self, wanted: CountRequest, memory: int) -> PreparedCounter:
        """memory: bytes of the host that counts of a band may take, or the pairs that are chosen of it. Asking changes nothing."""
