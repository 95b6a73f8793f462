"""The CPU distance engine: threads that compute counts for tiles of pairs with the GIL released.

Near pairs are selected tile by tile: a tile's counts stay in a core's cache through all panels, and only the counts of selected pairs are
copied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.bands import CountedBands, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, Measure, Operation
from gpualign.core.distance.engine import WORD_BITS, Panel, PreparedCounter, SelectedPairsStream
from gpualign.core.distance.grm import RelationshipTerms, TermArray, relationship_term, sum_dtype
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, select_pairs_in_bands, selected_pair_bytes
from gpualign.cpu.distance import _distance
from gpualign.cpu.distance.tiles import (
    TilePairSelector,
    add_relationship_sums,
    add_term_counts,
    count_matrix_tiles,
    pair_selection_tiles,
    relationship_tiles,
)
from gpualign.cpu.processor import describe_cpu, pick_instruction_set, usable_cpu_count

_CACHE_LINE_WORDS = 8
_COMPARISONS_PER_SECOND = 1.5e11  # comparisons per second of a core with AVX2


def instruction_sets() -> list[tuple[str, bool]]:
    """Return (name, whether supported on this machine) for all variants in this build, fastest first."""
    return [(name, supported) for name, _, _, supported in _distance.instruction_sets()]


class CpuDistanceEngine:
    """The CPU engine for distances; implements `gpualign.core.distance.engine.DistanceEngine`.

    threads: number of threads (default: the number of CPUs that this process may use minus `spare_cpus`)
    instruction_set: variant name (default: the fastest that this processor supports); `avx512popcnt` is for distances only
    spare_cpus: number of CPUs left for threads that feed other engines

    Raises `InputError` for a variant that this build or processor lacks.
    """

    def __init__(self, threads: int | None = None, instruction_set: str | None = None, spare_cpus: int = 0) -> None:
        self.threads = threads or max(1, usable_cpu_count() - spare_cpus)
        self.instruction_set = pick_instruction_set([name for name, supported in instruction_sets() if supported], instruction_set)

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        kernel = "bit planes, vector popcount" if self.instruction_set == "avx512popcnt" else "bit planes, carry-save adders"
        hardware = describe_cpu(self.instruction_set, self.threads)
        rate = _COMPARISONS_PER_SECOND * self.threads
        if not request.selected_only or request.measure is Measure.RELATIONSHIP:
            return PreparedCounter(
                request, False, _padded_word_count, memory, self.threads, kernel, hardware, self._count_bands, comparisons_per_second=rate
            )
        pairs_memory = memory // 2  # for chosen pairs; the other half is for matrices of counts, if these are made

        def pick(
            panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], rule: PairSelectionRule, on_progress: Callable[[int], None]
        ) -> SelectedPairsStream:
            if not all(panel.in_memory for panel in panels):  # panels on disk are read once per band, not once per tile
                yield from select_pairs_in_bands(rule, self._count_bands(panels, bands, names, on_progress))
                return
            chooser = TilePairSelector(self.instruction_set, panels, names, rule)
            with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
                for band in bands:
                    yield from _select_band_pairs(
                        chooser, band, pairs_memory // selected_pair_bytes(len(names)), workers, _Progress(on_progress)
                    )

        return PreparedCounter(
            request, False, _padded_word_count, pairs_memory, self.threads, kernel, hardware, self._count_bands, pick, rate
        )

    def _count_bands(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
            relationship = RelationshipTerms(panels)
            for band in bands:
                counts: dict[str, npt.NDArray[Any]] = {name: np.zeros(band.shape, dtype=sum_dtype(name)) for name in names}
                for number, panel in enumerate(panels):
                    relates = relationship_term(panel) is not None
                    terms = relationship.panel_terms(number) if relates else None
                    tiles = relationship_tiles(band) if relates else count_matrix_tiles(band, panel.sites)
                    # Each tile, with all of its terms, belongs to one thread: no other writes there.
                    work = [workers.submit(self._count_tile, panel, band, tile, counts, terms) for tile in tiles]
                    try:
                        for done in as_completed(work):
                            on_progress(done.result())
                    finally:
                        for remaining in work:
                            remaining.cancel()
                yield band, relationship.convert_sums_to_float(counts)

    def _count_tile(
        self, panel: Panel, band: SampleBand, tile: SampleBand, counts: dict[str, npt.NDArray[Any]], terms: TermArray | None
    ) -> int:
        """Add all of a panel's terms to the counts of a tile, and return the number of comparisons.

        terms: the panel's genotype terms (`RelationshipTerms.panel_terms`); required if the panel has a term of Operation.RELATE,
            otherwise unused
        """
        place = tile.start - band.start, tile.first_target - band.first_target
        for term in panel.recipe.terms:
            if term.operation is Operation.RELATE:
                assert terms is not None
                add_relationship_sums(self.instruction_set, panel, term, terms, tile, counts[term.count_name], place)
                continue
            add_term_counts(self.instruction_set, panel, term, tile, counts[term.count_name], place, [])
        return tile.pairs * panel.sites


class _Progress:
    """Reports finished work, but repeated work only once."""

    def __init__(self, on_progress: Callable[[int], None]) -> None:
        self._on_progress = on_progress
        self._reported = self._done = 0

    def advance(self, work: int) -> None:
        self._done += work
        if self._done > self._reported:
            self._on_progress(self._done - self._reported)
            self._reported = self._done

    def subtract_repeated(self, work: int) -> None:
        """Subtract work that will be repeated from the work done."""
        self._done -= work


def _select_band_pairs(
    selector: TilePairSelector, band: SampleBand, max_pairs: int, workers: ThreadPoolExecutor, progress: _Progress
) -> Iterator[SelectedPairs]:
    """Yield the selected pairs of a band: together or, if there are more than `max_pairs`, for each half of the band in turn."""
    sites = sum(panel.sites for panel in selector.panels)
    work = {workers.submit(selector.select_pairs, tile): tile.pairs * sites for tile in pair_selection_tiles(band)}
    pairs = done_work = 0
    try:
        for done in as_completed(work):
            pairs += len(done.result())
            done_work += work[done]
            progress.advance(work[done])
            if pairs > max_pairs and band.shape[0] > 1:
                break
    finally:
        for remaining in work:
            remaining.cancel()
    if pairs <= max_pairs or band.shape[0] == 1:
        yield SelectedPairs.joined([done.result() for done in work], selector.count_names, band.stop)
        return
    work.clear()
    progress.subtract_repeated(done_work)
    for half in band.halves():
        yield from _select_band_pairs(selector, half, max_pairs, workers, progress)


def _padded_word_count(sites: int) -> int:
    """Return the number of words for the bits of `sites` sites, rounded up to an odd number of cache lines, so that samples do not share
    cache sets."""
    lines = -(-sites // (_CACHE_LINE_WORDS * WORD_BITS))
    return _CACHE_LINE_WORDS * (lines + (lines % 2 == 0))
