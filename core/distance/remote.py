"""Distance engine that has an executor's workers compute the counts of bands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from typing import Any

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.reorder_buffer import ReorderBuffer
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, PanelRecipe
from gpualign.core.distance.engine import BitPlanes, DistanceEngine, Panel, PreparedCounter, SelectedPairsStream, empty_planes
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, selected_pair_bytes
from gpualign.core.execution.remote.coordinator import CachedArgument, SharedArguments, WorkerPoolClient
from gpualign.core.execution.remote.serialization import downcast_integers
from gpualign.core.execution.remote.tile_sizes import TILE_SECONDS

MAX_PIECE_BYTES = 32 << 20
"""Maximum size of the counts returned in one piece, in bytes."""

MIN_PIECES_PER_WORKER = 8
"""Minimum number of pieces per band and worker, so that all workers have work although pieces near the end of a triangle are small."""

_EXAMINED_PAIRS_FACTOR = 8
"""A worker examines this many times as many pairs as fit in an answer, because few pairs are selected."""


@dataclass(frozen=True)
class CounterProperties:
    """Properties of a worker's prepared engine (fields of `PreparedCounter`).

    products_only: whether recipes may use only `Operation.AND`
    threads: host threads that build bit planes
    kernel, hardware: human-readable descriptions
    comparisons_per_second: estimated speed; a comparison is one pair at one site
    """

    products_only: bool
    threads: int
    kernel: str
    hardware: str
    comparisons_per_second: float


@dataclass(frozen=True)
class CountSpec:
    """What workers count or select, sent to each of them once as the first shared argument; the panels follow.

    settings: settings that decide which engine the worker picks
    request: the counts to compute
    products_only: whether the panels' recipes use only `Operation.AND`
    names: names of the counts to compute
    rule: selects the pairs to return; None: the counts of all pairs are returned
    """

    settings: Any
    request: CountRequest
    products_only: bool = False
    names: tuple[str, ...] = ()
    rule: PairSelectionRule | None = None


@dataclass(frozen=True)
class WordCountRequest:
    """Request for the number of words needed for `site_count` sites (`PreparedCounter.words_per_sample`)."""

    site_count: int


@dataclass(frozen=True)
class SelectionAnswer:
    """Answer to a request to select pairs: the selected pairs in a band's rows before `stop_row`."""

    pairs: list[SelectedPairs]
    stop_row: int


class CounterServer:
    """Worker side of the engine. It answers requests one by one, because each may take all of the memory.

    The answer to None is `CounterProperties`. The answer to a `WordCountRequest` is the number of words. The answer to a band is its counts
    or, if `spec` has a rule, a `SelectionAnswer`. Raises `RunError` if this worker's engine needs bit planes other than `panels`.

    spec: what to compute for each band
    panels: bit planes of all sites
    engine: engine on this worker
    memory: memory for the counts of a band, in bytes
    """

    def __init__(self, spec: CountSpec, panels: Sequence[Panel], engine: DistanceEngine, memory: int) -> None:
        self._spec = spec
        self._counter = counter = engine.prepare(spec.request, memory)
        self._properties = CounterProperties(
            counter.products_only, counter.threads, counter.kernel, counter.hardware, counter.comparisons_per_second
        )
        if panels and counter.products_only and not spec.products_only:
            device = parameter("device", "cpu")
            raise RunError(f"{counter.hardware} needs other bit planes than the first worker; give {device} or cuda, the same for all")
        self._panels = [_with_words(panel, counter.words_per_sample(panel.site_count)) for panel in panels]

    def __call__(self, request: SampleBand | WordCountRequest | None) -> Any:
        if request is None:
            return self._properties
        if isinstance(request, WordCountRequest):
            return self._counter.words_per_sample(request.site_count)
        row_bytes = max(1, request.shape[1]) * 4 * len(self._spec.names)
        rule, rows = self._spec.rule, max(1, self._counter.band_bytes // row_bytes)
        if rule is None:
            return self._count_band(request, request.pieces(rows))
        return self._select_in_band(rule, request, request.pieces(max(1, min(rows, _EXAMINED_PAIRS_FACTOR * MAX_PIECE_BYTES // row_bytes))))

    def _count_band(self, band: SampleBand, pieces: Iterator[SampleBand]) -> dict[str, CountMatrix]:
        """Return the counts for a band, each matrix in the narrowest integer type that holds its values."""
        names = self._spec.names
        counts = {name: np.zeros(band.shape, dtype=np.int32) for name in names}
        with closing(self._counter.count_function(self._panels, SampleBands.of(pieces), names, _ignore_progress)) as results:
            for piece, some in results:
                copy_piece_counts(band, counts, piece, some)
        return {name: downcast_integers(matrix) for name, matrix in counts.items()}

    def _select_in_band(self, rule: PairSelectionRule, band: SampleBand, pieces: Iterator[SampleBand]) -> SelectionAnswer:
        """Return the selected pairs in a band. Stops after the piece that makes the answer exceed its maximum size."""
        names = self._spec.names
        pairs, stop = list[SelectedPairs](), band.start
        all_pieces = SampleBands.of(pieces)

        def until_enough() -> Iterator[SampleBand]:
            nonlocal stop
            for piece in all_pieces:
                if sum(map(len, pairs)) * selected_pair_bytes(len(names)) > MAX_PIECE_BYTES:
                    return
                stop = piece.stop
                yield piece

        some = SampleBands(until_enough(), all_pieces.max_pairs, all_pieces.max_columns)
        with closing(self._counter.select_pairs(self._panels, some, names, rule, _ignore_progress)) as chosen:
            pairs.extend(chosen)
        return SelectionAnswer(pairs, stop)


def _ignore_progress(work: int) -> None:
    """Ignore progress: the coordinator reports it when results arrive."""


class _PicklablePanel:
    """Panel in a form that can be pickled. Unpickling gives a `Panel` whose planes are aligned to a cache line."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def __reduce__(self) -> tuple[Callable[..., Panel], tuple[Any, ...]]:
        panel = self._panel
        return _unpickle_panel, (np.array(panel.bits), panel.site_count, panel.recipe)


def _unpickle_panel(bits: BitPlanes, sites: int, recipe: PanelRecipe) -> Panel:
    """Return a panel with these contents, and with planes that are aligned to a cache line."""
    return _with_words(Panel(bits, sites, recipe), bits.shape[-1], copy=True)


def _with_words(panel: Panel, words: int, copy: bool = False) -> Panel:
    """Return the panel with `words` words per sample in each plane, as the kernels expect. copy: whether to copy the planes even if no
    change is needed."""
    planes, samples, existing = panel.bits.shape
    if words == existing and not copy:
        return panel
    bits = empty_planes(planes, samples, words)
    copied = min(words, existing)  # beyond the sites both are empty
    bits[..., :copied] = panel.bits[..., :copied]
    bits[..., copied:] = 0
    return Panel(bits, panel.site_count, panel.recipe)


def copy_piece_counts(band: SampleBand, counts: dict[str, CountMatrix], piece: SampleBand, piece_counts: dict[str, CountMatrix]) -> None:
    """Copy the counts of a piece into the count matrices of its band."""
    place = slice(piece.start - band.start, piece.stop - band.start), slice(piece.first_target - band.first_target, None)
    for name, matrix in piece_counts.items():
        counts[name][place] = matrix


class RemoteDistanceEngine:
    """Distance engine that has an executor's workers compute the counts of bands. Each request is for a few rows.

    Implements `gpualign.core.distance.engine.DistanceEngine`.

    settings: settings that decide which engine a worker picks; they are pickled
    threads: threads on this machine that build bit planes
    """

    def __init__(self, pool: WorkerPoolClient, settings: object, threads: int) -> None:
        self._pool = pool
        self._settings = settings
        self._threads = threads
        self._cached_panels: dict[int, tuple[Panel, CachedArgument]] = {}

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        """Return a counter with the properties of one worker's engine. Waits for the first worker if there is none yet.

        Raises `RunError` if the executor fails.
        """
        pool, shared = self._pool, SharedArguments.of(CachedArgument(CountSpec(self._settings, request)))
        properties: CounterProperties = pool.ask(shared, None)
        piece_bytes = max(1, min(MAX_PIECE_BYTES, memory // (2 * pool.max_held_answers())))

        @cache
        def words(sites: int) -> int:
            answer: int = pool.ask(shared, WordCountRequest(sites))
            return answer

        def count(
            panels: Sequence[Panel], bands: Iterable[SampleBand], names: tuple[str, ...], on_progress: Callable[[int], None]
        ) -> CountedBands:
            spec = CountSpec(self._settings, request, properties.products_only, names)
            shared, sites = self._shared_arguments(spec, panels), _total_sites(panels)
            cut = partial(
                self._split_bands, rate=properties.comparisons_per_second / max(1, sites), pair_bytes=4 * len(names), max_bytes=piece_bytes
            )
            counts: dict[str, CountMatrix] = {}
            with closing_iterator(self._answers_in_order(shared, cut(bands))) as answers:
                for band, piece, some in answers:
                    if piece.start == band.start:
                        counts = {name: np.zeros(band.shape, dtype=np.int32) for name in names}
                    copy_piece_counts(band, counts, piece, some)
                    on_progress(piece.pair_count * sites)
                    if piece.stop == band.stop:
                        yield band, counts

        def select(
            panels: Sequence[Panel],
            bands: Iterable[SampleBand],
            names: tuple[str, ...],
            rule: PairSelectionRule,
            on_progress: Callable[[int], None],
        ) -> SelectedPairsStream:
            spec = CountSpec(self._settings, request, properties.products_only, names, rule)
            shared, sites = self._shared_arguments(spec, panels), _total_sites(panels)
            cut = self._split_bands(bands, properties.comparisons_per_second / max(1, sites))
            with closing_iterator(self._answers_in_order(shared, cut)) as answers:
                for _, piece, answer in answers:
                    yield from answer.pairs
                    while answer.stop_row < piece.stop:  # too many pairs were selected for one answer
                        answer = pool.ask(shared, piece.select_rows(answer.stop_row, piece.stop))
                        yield from answer.pairs
                    on_progress(piece.pair_count * sites)

        # Half of the memory is for pieces in flight.
        hardware, selector = pool.describe_workers(properties.hardware), select if request.selected_pairs_only else None
        return PreparedCounter(
            request, properties.products_only, words, memory // 2, self._threads, properties.kernel, hardware, count, selector
        )

    def _shared_arguments(self, spec: CountSpec, panels: Sequence[Panel]) -> SharedArguments:
        """Return the arguments that all requests of a run share. A panel is pickled only once."""
        for panel in panels:
            if id(panel) not in self._cached_panels:
                self._cached_panels[id(panel)] = panel, CachedArgument(_PicklablePanel(panel))
        return SharedArguments.of(CachedArgument(spec), *(self._cached_panels[id(panel)][1] for panel in panels))

    def _split_bands(
        self, bands: Iterable[SampleBand], rate: float, pair_bytes: int = 0, max_bytes: int = 0
    ) -> Iterator[tuple[SampleBand, SampleBand]]:
        """Split bands into pieces for the workers. Yields (band, piece).

        rate: number of pairs that a worker computes per second
        pair_bytes: size of the result for a pair, in bytes; 0: the size of a piece is not limited
        max_bytes: maximum size of the result for a piece, in bytes
        """
        share = MIN_PIECES_PER_WORKER * self._pool.worker_count()
        for band in bands:
            columns = max(1, band.shape[1])
            rows = min(int(TILE_SECONDS * rate / columns), -(-band.shape[0] // share))
            if pair_bytes:
                rows = min(rows, max_bytes // (columns * pair_bytes))
            for piece in band.pieces(max(1, rows)):
                yield band, piece

    def _answers_in_order(
        self, shared: SharedArguments, pieces: Iterator[tuple[SampleBand, SampleBand]]
    ) -> Iterator[tuple[SampleBand, SampleBand, Any]]:
        """Yield (band, piece, the worker's answer) in the order of the pieces."""
        merge = ReorderBuffer[tuple[SampleBand, SampleBand, Any]]()
        with closing_iterator(self._pool.stream(shared, enumerate(pieces), lambda item: item[1][1])) as answers:
            for (number, (band, piece)), value in answers:
                yield from merge.add(number, (band, piece, value))


def _total_sites(panels: Sequence[Panel]) -> int:
    """Return the number of sites in all panels."""
    return sum(panel.site_count for panel in panels)
