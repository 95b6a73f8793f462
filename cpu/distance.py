"""The CPU's engine of distances: threads that count tiles of pairs with the GIL released."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from gpualign.core.distance.engine import WORD_BITS, Band, CountedBands, Counter, CountMatrix, Panel
from gpualign.core.distance.recipe import Operation, Wanted
from gpualign.cpu import _distance
from gpualign.cpu.machine import describe_cpu, pick_instruction_set, usable_cpus

_LINE_WORDS = 8

_TILE_ROWS = 64
"""As many as the kernel keeps in the L2 cache."""

_TILE_COMPARISONS = 20_000_000_000
"""Some hundredths of a second."""


def instruction_sets() -> list[tuple[str, bool]]:
    """(name, runs on this machine) of all variants of this build, fastest first."""
    return [(name, supported) for name, _, _, supported in _distance.instruction_sets()]


class CpuDistanceEngine:
    """Implements `gpualign.core.distance.engine.DistanceEngine`.

    threads, instruction_set: as for `gpualign.cpu.engine.CpuEngine`; the variant `avx512popcnt` is of distances alone.
    Raises `InputError` for a variant that this build or processor does not have.
    """

    def __init__(self, threads: int | None = None, instruction_set: str | None = None) -> None:
        self.threads = threads or usable_cpus()
        self.instruction_set = pick_instruction_set([name for name, supported in instruction_sets() if supported], instruction_set)

    def prepare(self, wanted: Wanted, memory: int) -> Counter:
        kernel = "bit planes, vector popcount" if self.instruction_set == "avx512popcnt" else "bit planes, carry-save adders"
        hardware = describe_cpu(self.instruction_set, self.threads)
        return Counter(wanted, False, _padded_words, memory, self.threads, kernel, hardware, self._count)

    def _count(
        self, panels: Sequence[Panel], bands: Iterable[Band], names: tuple[str, ...], advance: Callable[[int], None]
    ) -> CountedBands:
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
            for band in bands:
                counts = {name: np.zeros(band.shape, dtype=np.int32) for name in names}
                for panel in panels:
                    # A tile is one thread's, with all of its terms: nobody else writes there.
                    work = [workers.submit(self._count_tile, panel, band, tile, counts) for tile in _tiles(band, panel.sites)]
                    try:
                        for done in as_completed(work):
                            advance(done.result())
                    finally:
                        for left in work:
                            left.cancel()
                yield band, counts

    def _count_tile(self, panel: Panel, band: Band, tile: Band, counts: dict[str, CountMatrix]) -> int:
        for term in panel.recipe.terms:
            place = (
                (tile.start, tile.stop),
                (tile.first_target, tile.target_stop),
                counts[term.count],
                tile.start - band.start,
                tile.first_target - band.first_target,
                term.weight,
                tile.upper,
            )
            if term.operation is Operation.DIFFER:
                _distance.differ(self.instruction_set, panel.bits, list(term.left), -1 if term.mask is None else term.mask, *place)
            else:
                _distance.both(self.instruction_set, panel.bits, list(term.left), list(term.right), *place)
        return tile.pairs * panel.sites


def _padded_words(sites: int) -> int:
    """Whole cache lines, and an odd number of them, so that samples do not share cache sets."""
    lines = -(-sites // (_LINE_WORDS * WORD_BITS))
    return _LINE_WORDS * (lines + (lines % 2 == 0))


def _tiles(band: Band, sites: int) -> Iterator[Band]:
    _, columns = band.shape
    width = max(_TILE_ROWS, min(columns, _TILE_COMPARISONS // max(1, sites * _TILE_ROWS)))
    for start in range(band.start, band.stop, _TILE_ROWS):
        stop = min(band.stop, start + _TILE_ROWS)
        for first in range(max(start, band.first_target) if band.upper else band.first_target, band.target_stop, width):
            yield Band(start, stop, first, min(band.target_stop, first + width), band.upper and first < stop)
