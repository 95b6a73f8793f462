"""Interface between panels of sites and the hardware that compares pairs of samples."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import CountedBands, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, PanelRecipe, count_names
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, select_pairs_in_bands

BitPlanes: TypeAlias = npt.NDArray[np.uint64]

WORD_BITS = 64
_CACHE_LINE_BYTES = 64

SITES_PER_LINE = 8 * _CACHE_LINE_BYTES
"""Number of sites whose bits fill a cache line."""


def whole_line_words(site_count: int) -> int:
    """Return the number of words of whole cache lines that hold a bit for each site."""
    return -(-site_count // SITES_PER_LINE) * (SITES_PER_LINE // WORD_BITS)


@dataclass(frozen=True)
class PlaneRows:
    """Bit planes of samples in several arrays, one part for each.

    parts: (planes, uint64[rows][planes][words of a row]; rows of consecutive samples, int64[samples])
    first_word: first word of a row that belongs to the panel, a multiple of 8
    words: number of words of a row that belong to the panel, a multiple of 8
    """

    parts: Sequence[tuple[BitPlanes, npt.NDArray[np.int64]]] = field(repr=False)
    first_word: int
    words: int


@dataclass(frozen=True)
class Panel:
    """Some sites of all samples as bit planes.

    bits: uint64[planes][samples][words]; site 64 w + k is bit k of word w; bits beyond `site_count` are 0; empty if there are `rows`
    site_count: number of sites
    recipe: the meaning of the planes, and how counts are computed from them
    founders: mask of the samples from which allele frequencies are computed, bool[samples]; None: all samples
    rows: the planes where they are stored, for an engine that takes rows (`PreparedCounter.takes_rows`); otherwise None
    """

    bits: BitPlanes = field(repr=False)
    site_count: int
    recipe: PanelRecipe
    founders: npt.NDArray[np.bool_] | None = field(default=None, repr=False)
    rows: PlaneRows | None = field(default=None, repr=False)

    @property
    def in_memory(self) -> bool:
        """True if the planes are in memory rather than in a scratch file."""
        return not isinstance(self.bits, np.memmap)


def empty_planes(planes: int, samples: int, words: int) -> BitPlanes:
    """Return uninitialised bit planes aligned to a cache line, because loading vectors that straddle two lines halves the speed."""
    size = planes * samples * words * 8
    buffer = np.empty(size + _CACHE_LINE_BYTES, dtype=np.uint8)
    start = -buffer.ctypes.data % _CACHE_LINE_BYTES
    return buffer[start : start + size].view(np.uint64).reshape(planes, samples, words)


CountFunction: TypeAlias = Callable[[Sequence[Panel], SampleBands, tuple[str, ...], Callable[[int], None]], CountedBands]
"""Function that takes (panels, bands, names of the count matrices, on_progress), and yields the counts for each band, summed over the
panels. `on_progress` receives the number of comparisons done (pairs x sites). The function requests the next band only after all results
for the previous one have been consumed. It raises `RunError` if the hardware fails. A `PairSelector` behaves in the same way."""

SelectedPairsStream: TypeAlias = Generator[SelectedPairs, None, None]
"""Generator that yields the selected pairs of each band, in order, in one or more pieces per band. Closing the generator stops the work at
once, and frees the memory that it uses."""

PairSelector: TypeAlias = Callable[
    [Sequence[Panel], SampleBands, tuple[str, ...], PairSelectionRule, Callable[[int], None]], SelectedPairsStream
]
"""Function that takes (panels, bands, names of the counts, rule, on_progress), and yields the pairs that the rule selects
(`PreparedCounter.select_pairs`)."""

ReducedT = TypeVar("ReducedT")

PairReducer: TypeAlias = Callable[
    [Sequence[Panel], SampleBands, tuple[str, ...], PairSelectionRule, Callable[[SelectedPairs], Any], Callable[[int], None]],
    Generator[Any, None, None],
]
"""Function that takes (panels, bands, names of the counts, rule, reduce, on_progress), and yields what `reduce` returns for pieces of the
selected pairs, in any order (`PreparedCounter.reduce_pairs`). `reduce` is called by several threads at the same time."""


@dataclass(frozen=True)
class PreparedCounter:
    """An engine prepared for a request: its decisions, as data, and the functions that run it.

    request: the counts to compute
    products_only: whether recipes may use only `Operation.AND`
    words_per_sample: returns how many words per sample the kernels expect in a plane, given its number of sites
    band_bytes: host memory for the counts of one band, in bytes
    threads: host threads that build bit planes
    kernel: the kernel to run, human-readable
    hardware: the hardware to run on, human-readable
    count_function: computes count matrices
    pair_selector: selects pairs, for a request with `selected_pairs_only`; None: the engine computes count matrices, from which the host
        selects pairs
    comparisons_per_second: estimated speed; a comparison is one pair at one site
    pair_reducer: selects pairs and reduces them piece by piece; None: the pieces that are selected in order are reduced
    takes_rows: whether planes may stay where they are stored (`Panel.rows`)
    """

    request: CountRequest
    products_only: bool
    words_per_sample: Callable[[int], int] = field(repr=False)
    band_bytes: int
    threads: int
    kernel: str
    hardware: str
    count_function: CountFunction = field(repr=False)
    pair_selector: PairSelector | None = field(default=None, repr=False)
    comparisons_per_second: float = 1.0
    pair_reducer: PairReducer | None = field(default=None, repr=False)
    takes_rows: bool = False

    @cached_property
    def count_names(self) -> tuple[str, ...]:
        """Names of the count matrices that the request needs."""
        return count_names(self.request, self.products_only)

    def select_pairs(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        on_progress: Callable[[int], None],
    ) -> SelectedPairsStream:
        """Return the pairs that the rule selects in each band; implements `PairSelector`. If the engine has no pair selector, the host
        selects the pairs from the counts.

        names: names of the counts to compute
        """
        if self.pair_selector is not None:
            return self.pair_selector(panels, bands, names, rule, on_progress)
        return select_pairs_in_bands(rule, self.count_function(panels, bands, names, on_progress))

    def reduce_pairs(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        reduce: Callable[[SelectedPairs], ReducedT],
        on_progress: Callable[[int], None],
    ) -> Generator[ReducedT, None, None]:
        """Yield what `reduce` returns for pieces of the pairs that the rule selects, in any order. The pairs need not all be in memory.

        names: names of the counts to compute
        reduce: may be called by several threads at the same time
        """
        if self.pair_reducer is not None:
            yield from self.pair_reducer(panels, bands, names, rule, reduce, on_progress)
            return
        with closing(self.select_pairs(panels, bands, names, rule, on_progress)) as pieces:
            for pairs in pieces:
                yield reduce(pairs)


class DistanceEngine(Protocol):
    """Interface of the engines, each of which compares pairs of samples on one kind of hardware."""

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        """Return a counter for a request. Has no side effects.

        memory: host memory available for the counts of a band, or for the pairs selected from it, in bytes
        """
