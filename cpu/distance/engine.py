"""The CPU distance engine: threads that compute counts for tiles of pairs, with compiled kernels that release the GIL.

Near pairs are selected tile by tile: a tile's counts stay in a core's cache through all panels, and only the counts of selected pairs are
copied out.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, Measure, Operation, Term
from gpualign.core.distance.engine import WORD_BITS, Panel, PreparedCounter, SelectedPairsStream
from gpualign.core.distance.grm import SUM_NAME, RelationshipTerms, TermArray, relationship_term, sum_dtype
from gpualign.core.distance.pair_selection import (
    COMPARED,
    FAR_OFFSET,
    PairSelectionRule,
    SelectedPairs,
    select_pairs_in_bands,
    selected_pair_bytes,
)
from gpualign.cpu.distance import _distance
from gpualign.cpu.processor import describe_cpu, pick_instruction_set, usable_cpu_count

_CACHE_LINE_WORDS = 8
_COMPARISONS_PER_SECOND = 1.5e11  # comparisons per second of a core with AVX2

TILE_ROWS = 64
"""Number of rows per tile: as many as the kernel keeps in the L2 cache."""

MAX_TILE_COMPARISONS = 20_000_000_000
"""Maximum number of comparisons per tile: a few hundredths of a second."""

SELECTION_TILE_ROWS, SELECTION_TILE_COLUMNS = 192, 496
"""Minimum numbers of rows and columns per tile when selecting near pairs; multiples of them make whole blocks in pair_selector.hpp."""

_MAX_SELECTION_TILE_COMPARISONS = 5_000_000_000
"""Maximum number of comparisons in selection tiles that are larger than the minimum: a few hundredths of a second."""

_SELECTION_TILES_PER_THREAD = 8
"""Minimum number of tiles per thread, if there are enough pairs, so that all threads finish at about the same time."""

_REDUCED_TILES_PER_THREAD = 4
"""Maximum number of tiles per thread that are selected and reduced before the first of them is consumed."""

_RELATIONSHIP_TILE_ROWS, _RELATIONSHIP_TILE_COLUMNS = 1024, 128
"""Numbers of rows and columns in a tile of relationships: building a table for the columns takes as long as a few dozen rows, and all rows
use this table."""

_MAX_COUNT = (1 << 31) - 1

_Planes: TypeAlias = "npt.NDArray[np.uint64] | _distance.PlaneRows"


def instruction_sets() -> list[tuple[str, bool]]:
    """Return (name, whether this machine supports it) of each kernel variant in this build, fastest first."""
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
        takes_rows = request.measure is not Measure.RELATIONSHIP
        counter = PreparedCounter(
            request,
            False,
            _padded_word_count,
            memory,
            self.threads,
            "bit planes, vector popcount" if self.instruction_set == "avx512popcnt" else "bit planes, carry-save adders",
            describe_cpu(self.instruction_set, self.threads),
            self._count_bands,
            comparisons_per_second=_COMPARISONS_PER_SECOND * self.threads,
            takes_rows=takes_rows,
        )
        if not request.selected_pairs_only or not takes_rows:
            return counter
        half = memory // 2  # for selected pairs; the other half is for matrices of counts, if these are made
        select, reduce = partial(self._select_pairs, half), partial(self._reduce_pairs, half)
        return replace(counter, band_bytes=half, pair_selector=select, pair_reducer=reduce)

    def _select_pairs(
        self,
        memory: int,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        on_progress: Callable[[int], None],
    ) -> SelectedPairsStream:
        if not all(panel.in_memory for panel in panels):  # panels on disk are read once per band, not once per tile
            yield from select_pairs_in_bands(rule, self._count_bands(panels, bands, names, on_progress))
            return
        selector = _TilePairSelector(self.instruction_set, panels, names, rule)
        max_pairs = memory // selected_pair_bytes(len(names))
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
            for band in bands:
                yield from _select_band_pairs(selector, band, max_pairs, self.threads, workers, _Progress(on_progress))

    def _reduce_pairs(
        self,
        memory: int,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        reduce: Callable[[SelectedPairs], Any],
        on_progress: Callable[[int], None],
    ) -> Generator[Any, None, None]:
        if not all(panel.in_memory for panel in panels):
            with closing(self._select_pairs(memory, panels, bands, names, rule, on_progress)) as pieces:
                yield from map(reduce, pieces)
            return
        selector = _TilePairSelector(self.instruction_set, panels, names, rule)
        max_pairs = memory // selected_pair_bytes(len(names))
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
            for band in _join_bands(bands):
                tiles = _selection_tiles(band, selector.site_count, max_pairs // self.threads, self.threads)
                yield from _reduce_tiles(selector, tiles, _REDUCED_TILES_PER_THREAD * self.threads, workers, reduce, on_progress)

    def _count_bands(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        with ThreadPoolExecutor(self.threads, thread_name_prefix="gpualign-cpu") as workers:
            relationship = RelationshipTerms(panels)
            planes = [_planes(panel) for panel in panels]
            for band in bands:
                counts: dict[str, npt.NDArray[Any]] = {name: np.zeros(band.shape, dtype=sum_dtype(name)) for name in names}
                for number, panel in enumerate(panels):
                    relates = relationship_term(panel) is not None
                    terms = relationship.panel_terms(number) if relates else None
                    width = max(TILE_ROWS, MAX_TILE_COMPARISONS // max(1, panel.site_count * TILE_ROWS))
                    size = (_RELATIONSHIP_TILE_COLUMNS, _RELATIONSHIP_TILE_ROWS) if relates else (width, TILE_ROWS)
                    # Each tile, with all of its terms, belongs to one thread: no other writes there.
                    work = [
                        workers.submit(self._count_tile, panel, planes[number], band, tile, counts, terms) for tile in _tiles(band, *size)
                    ]
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
        self,
        panel: Panel,
        planes: _Planes,
        band: SampleBand,
        tile: SampleBand,
        counts: dict[str, npt.NDArray[Any]],
        terms: TermArray | None,
    ) -> int:
        """Add all of a panel's terms to the counts of a tile, and return the number of comparisons.

        planes: planes of the panel, as kernels take them
        terms: the panel's genotype terms (`RelationshipTerms.panel_terms`); required if the panel has a term of Operation.RELATE,
            otherwise unused
        """
        position = tile.start - band.start, tile.first_target - band.first_target
        rows, columns = (tile.start, tile.stop), (tile.first_target, tile.target_stop)
        for term in panel.recipe.terms:
            matrix = counts[term.count_name]
            if term.operation is not Operation.RELATE:
                _add_term_counts(self.instruction_set, panel.site_count, planes, term, tile, matrix, position)
                continue
            assert terms is not None
            (one, two), called = term.left, -1 if term.mask is None else term.mask
            where = rows, columns, matrix, *position, tile.upper_triangle
            _distance.relate(self.instruction_set, panel.bits, one, two, called, panel.site_count, terms, *where)
        return tile.pair_count * panel.site_count


def _planes(panel: Panel) -> _Planes:
    """Return the planes of a panel as kernels take them."""
    if panel.rows is None:
        return panel.bits
    return _distance.PlaneRows(list(panel.rows.parts), panel.rows.first_word, panel.rows.words)


def _tiles(band: SampleBand, width: int, height: int) -> Iterator[SampleBand]:
    """Split a band into tiles of up to `width` targets and `height` rows."""
    for start in range(band.start, band.stop, height):
        stop = min(band.stop, start + height)
        for first in range(max(start, band.first_target) if band.upper_triangle else band.first_target, band.target_stop, width):
            yield SampleBand(start, stop, first, min(band.target_stop, first + width), band.upper_triangle and first < stop)


def _add_term_counts(
    instruction_set: str, sites: int, planes: _Planes, term: Term, tile: SampleBand, counts: CountMatrix, position: tuple[int, int]
) -> None:
    """Add a panel's term to the counts of a tile's pairs, which start at `position` (row, column) in `counts`."""
    ranges = (tile.start, tile.stop), (tile.first_target, tile.target_stop)
    where = sites, *ranges, counts, *position, term.weight, tile.upper_triangle
    if term.operation is Operation.DIFFER:
        _distance.differ(instruction_set, planes, list(term.left), -1 if term.mask is None else term.mask, *where)
    else:
        _distance.both(instruction_set, planes, list(term.left), list(term.right), *where)


class _TilePairSelector:
    """Selects the pairs of tiles by a rule. Once the count that the rule limits exceeds the limit (`PairSelectionRule.cap`), a pair is
    skipped, unless its number of compared sites is still needed."""

    def __init__(self, instruction_set: str, panels: Sequence[Panel], count_names: tuple[str, ...], rule: PairSelectionRule) -> None:
        self.count_names = count_names
        self.site_count = sum(panel.site_count for panel in panels)
        terms = [
            (
                *(_planes(panel), panel.site_count, term.operation is Operation.DIFFER),
                *(list(term.left), list(term.right), -1 if term.mask is None else term.mask),
                *(term.weight, count_names.index(term.count_name)),
            )
            for panel in panels
            # The terms of the limited count come first: once a pair exceeds the limit, its remaining terms can be skipped.
            for term in sorted(panel.recipe.terms, key=lambda term: rule.cap is None or term.count_name != rule.cap[0])
        ]
        never_decreases = rule.cap is not None and not any(
            term.count_name == rule.cap[0] and (term.operation is not Operation.DIFFER or term.weight < 0)
            for panel in panels
            for term in panel.recipe.terms
        )
        cap = (count_names.index(rule.cap[0]), min(rule.cap[1], _MAX_COUNT)) if rule.cap is not None and never_decreases else (-1, 0)
        compared = (-1, 0) if rule.min_compared is None else (count_names.index(COMPARED), rule.min_compared)
        floors = [rule.floors.get(name, -_MAX_COUNT) for name in count_names] if rule.floors else []
        weights = [rule.weights.get(name, 0) for name in count_names]
        self._selector = _distance.PairSelector(
            instruction_set, terms, weights, rule.offsets, rule.max_sum, compared, cap, floors, FAR_OFFSET
        )

    def select_pairs(self, tile: SampleBand) -> SelectedPairs:
        """Return the pairs in a tile that satisfy the rule, in no particular order."""
        queries, targets, counts, lacking, undefined = self._selector.select(
            (tile.start, tile.stop), (tile.first_target, tile.target_stop), tile.upper_triangle
        )
        return SelectedPairs(queries, targets, dict(zip(self.count_names, counts, strict=True)), lacking, undefined)


def _selection_tiles(band: SampleBand, site_count: int, max_tile_pairs: int, threads: int) -> Iterator[SampleBand]:
    """Split a band into tiles in which pairs are selected, so that up to `max_tile_pairs` of each are in memory. Larger tiles have less
    overhead."""
    rows, columns = band.shape
    pairs = min(
        _MAX_SELECTION_TILE_COMPARISONS // max(1, site_count),
        rows * columns // (_SELECTION_TILES_PER_THREAD * threads),
        max_tile_pairs,
    )
    scale = max(1, math.isqrt(pairs // (SELECTION_TILE_ROWS * SELECTION_TILE_COLUMNS)))
    return _tiles(band, scale * SELECTION_TILE_COLUMNS, scale * SELECTION_TILE_ROWS)


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
    selector: _TilePairSelector, band: SampleBand, max_pairs: int, threads: int, workers: ThreadPoolExecutor, progress: _Progress
) -> Iterator[SelectedPairs]:
    """Yield the selected pairs of a band. They are yielded together or, if there are more than `max_pairs`, for each half of the band in
    turn."""
    work = {
        workers.submit(selector.select_pairs, tile): tile.pair_count * selector.site_count
        for tile in _selection_tiles(band, selector.site_count, max_pairs // (2 * threads), threads)
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
        yield from _select_band_pairs(selector, half, max_pairs, threads, workers, progress)


def _join_bands(bands: SampleBands) -> Iterator[SampleBand]:
    """Yield the bands, with consecutive ones joined."""
    joined: SampleBand | None = None
    for band in bands:
        if joined is not None:
            longer = replace(joined, stop=band.stop)
            if band.start == joined.stop and longer.select_rows(band.start, band.stop) == band:
                joined = longer
                continue
            yield joined
        joined = band
    if joined is not None:
        yield joined


def _reduce_tiles(
    selector: _TilePairSelector,
    tiles: Iterator[SampleBand],
    max_tiles: int,
    workers: ThreadPoolExecutor,
    reduce: Callable[[SelectedPairs], Any],
    on_progress: Callable[[int], None],
) -> Iterator[Any]:
    """Yield what `reduce`, called by the workers, returns for the selected pairs of each tile. max_tiles: maximum number of tiles whose
    results are in memory."""

    def work_on(tile: SampleBand) -> tuple[Any, int]:
        return reduce(selector.select_pairs(tile)), tile.pair_count * selector.site_count

    pending = deque[Future[tuple[Any, int]]]()

    def next_result() -> Any:
        result, work = pending.popleft().result()
        on_progress(work)
        return result

    try:
        for tile in tiles:
            if len(pending) >= max_tiles:
                yield next_result()
            pending.append(workers.submit(work_on, tile))
        while pending:
            yield next_result()
    finally:
        for remaining in pending:
            remaining.cancel()


def _padded_word_count(sites: int) -> int:
    """Return the number of words for the bits of `sites` sites, rounded up to an odd number of cache lines, so that samples do not share
    cache sets."""
    lines = -(-sites // (_CACHE_LINE_WORDS * WORD_BITS))
    return _CACHE_LINE_WORDS * (lines + (lines % 2 == 0))
