"""The CPU distance engine: threads that compute counts for tiles of pairs, with compiled kernels that release the GIL.

Near pairs are selected tile by tile: a tile's counts stay in a core's cache through all panels, and only the counts of selected pairs are
copied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, Measure, Operation, Term
from gpualign.core.distance.engine import WORD_BITS, Panel, PreparedCounter, SelectedPairsStream
from gpualign.core.distance.grm import SUM_NAME, RelationshipTerms, TermArray, relationship_term, sum_dtype
from gpualign.core.distance.pair_selection import (
    COMPARED,
    PairSelectionRule,
    SelectedPairs,
    count_undefined_pairs,
    select_pairs_in_bands,
    selected_pair_bytes,
)
from gpualign.cpu.distance import _distance
from gpualign.cpu.processor import describe_cpu, pick_instruction_set, usable_cpu_count

_CACHE_LINE_WORDS = 8
_COMPARISONS_PER_SECOND = 1.5e11  # comparisons per second of a core with AVX2

_TILE_ROWS = 64
"""Number of rows per tile: as many as the kernel keeps in the L2 cache."""

_MAX_TILE_COMPARISONS = 20_000_000_000
"""Maximum number of comparisons per tile: a few hundredths of a second."""

_SELECTION_TILE_COLUMNS = 496
"""Number of columns per tile when selecting near pairs: the tile's counts, 124 KB per matrix, also stay in the L2 cache. Rows with an odd
number of cache lines do not share cache sets."""

_RELATIONSHIP_TILE_ROWS, _RELATIONSHIP_TILE_COLUMNS = 1024, 128
"""Numbers of rows and columns in a tile of relationships: building a table for the columns takes as long as a few dozen rows, and all rows
use this table."""

_MAX_COUNT = (1 << 31) - 1

_CountLimits = list[tuple[CountMatrix, int]]
"""(count matrix, limit) for some of the counts. A pair may be skipped if its counts exceed all these limits."""


def instruction_sets() -> list[tuple[str, bool]]:
    """Return (name, whether this machine supports it) for all kernel variants in this build, fastest first."""
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
        if not request.selected_pairs_only or request.measure is Measure.RELATIONSHIP:
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
            chooser = _TilePairSelector(self.instruction_set, panels, names, rule)
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
                    width = max(_TILE_ROWS, _MAX_TILE_COMPARISONS // max(1, panel.site_count * _TILE_ROWS))
                    size = (_RELATIONSHIP_TILE_COLUMNS, _RELATIONSHIP_TILE_ROWS) if relates else (width, _TILE_ROWS)
                    # Each tile, with all of its terms, belongs to one thread: no other writes there.
                    work = [workers.submit(self._count_tile, panel, band, tile, counts, terms) for tile in _tiles(band, *size)]
                    try:
                        for done in as_completed(work):
                            on_progress(done.result())
                    finally:
                        for remaining in work:
                            remaining.cancel()
                if SUM_NAME in counts:
                    counts[SUM_NAME] = relationship.sums_as_floats(counts[SUM_NAME])
                yield band, counts

    def _count_tile(
        self, panel: Panel, band: SampleBand, tile: SampleBand, counts: dict[str, npt.NDArray[Any]], terms: TermArray | None
    ) -> int:
        """Add all of a panel's terms to the counts of a tile, and return the number of comparisons.

        terms: the panel's genotype terms (`RelationshipTerms.panel_terms`); required if the panel has a term of Operation.RELATE,
            otherwise unused
        """
        position = tile.start - band.start, tile.first_target - band.first_target
        rows, columns = (tile.start, tile.stop), (tile.first_target, tile.target_stop)
        for term in panel.recipe.terms:
            matrix = counts[term.count_name]
            if term.operation is not Operation.RELATE:
                _add_term_counts(self.instruction_set, panel, term, tile, matrix, position, [])
                continue
            assert terms is not None
            (one, two), called = term.left, -1 if term.mask is None else term.mask
            where = rows, columns, matrix, *position, tile.upper_triangle
            _distance.relate(self.instruction_set, panel.bits, one, two, called, panel.site_count, terms, *where)
        return tile.pair_count * panel.site_count


def _tiles(band: SampleBand, width: int, height: int) -> Iterator[SampleBand]:
    """Split a band into tiles of up to `width` targets and `height` rows."""
    for start in range(band.start, band.stop, height):
        stop = min(band.stop, start + height)
        for first in range(max(start, band.first_target) if band.upper_triangle else band.first_target, band.target_stop, width):
            yield SampleBand(start, stop, first, min(band.target_stop, first + width), band.upper_triangle and first < stop)


def _add_term_counts(
    instruction_set: str, panel: Panel, term: Term, tile: SampleBand, counts: CountMatrix, position: tuple[int, int], limits: _CountLimits
) -> None:
    """Add a panel's term to the counts of a tile's pairs, which start at `position` (row, column) in `counts`. Pairs that exceed all
    `limits` may be skipped."""
    where = ((tile.start, tile.stop), (tile.first_target, tile.target_stop), counts, *position, term.weight, tile.upper_triangle, limits)
    if term.operation is Operation.DIFFER:
        _distance.differ(instruction_set, panel.bits, list(term.left), -1 if term.mask is None else term.mask, *where)
    else:
        _distance.both(instruction_set, panel.bits, list(term.left), list(term.right), *where)


@dataclass(frozen=True)
class _TilePairSelector:
    """Accumulates a tile's counts over all panels and selects its pairs by a rule. Once the count that the rule limits exceeds the limit
    (`PairSelectionRule.cap`), the pair is skipped, unless its number of compared sites is still needed."""

    instruction_set: str
    panels: Sequence[Panel]
    count_names: tuple[str, ...]
    selection_rule: PairSelectionRule

    @cached_property
    def _terms(self) -> list[tuple[Panel, Term]]:
        """Every (panel, term), in panel order. Within a panel, the terms of the count that the selection rule limits
        (`PairSelectionRule.cap`) come first: once a pair exceeds this limit, its remaining terms can be skipped."""
        return [
            (panel, term)
            for panel in self.panels
            for term in sorted(
                panel.recipe.terms, key=lambda term: self.selection_rule.cap is None or term.count_name != self.selection_rule.cap[0]
            )
        ]

    @cached_property
    def _count_cap(self) -> tuple[int, int] | None:
        """(index of the count that the selection rule limits, the limit). None if the rule limits no count, or if the count can
        decrease."""
        if self.selection_rule.cap is None:
            return None
        name, cap = self.selection_rule.cap
        if any(term.count_name == name and (term.operation is not Operation.DIFFER or term.weight < 0) for _, term in self._terms):
            return None
        return self.count_names.index(name), min(cap, _MAX_COUNT)

    def _count_limits(self, term: Term, counts: CountMatrix) -> _CountLimits:
        """Return the limits above which pairs can be skipped while a term is counted. A pair that exceeds the rule's limit is not selected,
        but the rule must still know whether the pair has enough compared sites."""
        if self._count_cap is None:
            return []
        number, cap = self._count_cap
        limits = [(counts[number], cap)]
        if term.count_name == COMPARED and self.selection_rule.min_compared is not None:
            limits.append((counts[self.count_names.index(COMPARED)], self.selection_rule.min_compared - 1))
        return limits

    def select_pairs(self, tile: SampleBand) -> SelectedPairs:
        """Return the pairs in a tile that satisfy the rule."""
        rows, columns = tile.shape
        counts = np.zeros((len(self.count_names), rows, columns), dtype=np.int32)
        for panel, term in self._terms:
            _add_term_counts(
                self.instruction_set,
                panel,
                term,
                tile,
                counts[self.count_names.index(term.count_name)],
                (0, 0),
                self._count_limits(term, counts),
            )
        rule, offsets = self.selection_rule, self.selection_rule.offsets
        row, column, pair_counts, lacking = _distance.choose(
            counts,
            np.array([rule.weights.get(name, 0) for name in self.count_names], dtype=np.int64),
            np.zeros(rows, dtype=np.int64) if offsets is None else offsets[tile.start : tile.stop],
            np.zeros(columns, dtype=np.int64) if offsets is None else offsets[tile.first_target : tile.target_stop],
            rule.max_sum,
            -1 if rule.min_compared is None else self.count_names.index(COMPARED),
            0 if rule.min_compared is None else rule.min_compared,
            tile.start - tile.first_target if tile.upper_triangle else -rows,
        )
        queries, targets = np.arange(tile.start, tile.stop), np.arange(tile.first_target, tile.target_stop)
        undefined = count_undefined_pairs(rule, queries, targets, tile.upper_triangle, dict(zip(self.count_names, counts, strict=True)))
        return SelectedPairs(queries[row], targets[column], dict(zip(self.count_names, pair_counts, strict=True)), lacking, undefined)


class _Progress:
    """Reports finished work. Work that has to be repeated is reported only once."""

    def __init__(self, on_progress: Callable[[int], None]) -> None:
        self._on_progress = on_progress
        self._reported = self._done = 0

    def advance(self, work: int) -> None:
        self._done += work
        if self._done > self._reported:
            self._on_progress(self._done - self._reported)
            self._reported = self._done

    def subtract_repeated(self, work: int) -> None:
        """Remove from the finished work the part that will be repeated."""
        self._done -= work


def _select_band_pairs(
    selector: _TilePairSelector, band: SampleBand, max_pairs: int, workers: ThreadPoolExecutor, progress: _Progress
) -> Iterator[SelectedPairs]:
    """Yield the selected pairs of a band. They are yielded together or, if there are more than `max_pairs`, for each half of the band in
    turn."""
    site_count = sum(panel.site_count for panel in selector.panels)
    work = {
        workers.submit(selector.select_pairs, tile): tile.pair_count * site_count
        for tile in _tiles(band, _SELECTION_TILE_COLUMNS, _TILE_ROWS)
    }
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
