"""Runs several distance engines in parallel. Bands are split into pieces. An engine that is free takes the next piece, and results stay in
order."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.reorder_buffer import ReorderBuffer
from gpualign.core.distance.bands import CountedBands, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest
from gpualign.core.distance.engine import DistanceEngine, Panel, PreparedCounter, SelectedPairsStream
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, selected_pair_bytes
from gpualign.core.execution.tile_queue import LoadBalancing
from gpualign.core.execution.worker_pool import WorkerFunction, WorkerHandle, describe_failed_device, run_workers
from gpualign.core.planning.tile_plan import Band, Pairing, Tile

_MIN_PIECES_PER_ENGINE = 4
"""Minimum number of pieces per engine in a run: with fewer, most engines would be idle while the last pieces are computed."""

MIN_ROWS_PER_PIECE = 128
"""Minimum rows per piece when splitting bands to reach `_MIN_PIECES_PER_ENGINE`: one block of a GPU kernel handles this many rows."""

_PIECES_IN_FLIGHT_PER_ENGINE = 2
"""Number of pieces in flight per engine: one is being computed, and one waits for its turn."""

_POLL_SECONDS = 0.002

_ZERO_COUNTS = np.zeros(3, dtype=np.int64)
"""Initial counts, all 0: numbers of selected pairs, of pairs with too few compared sites, and of pairs without a value."""

BandResultsFactory: TypeAlias = Callable[[PreparedCounter, SampleBands, Callable[[int], None]], Generator[Any, None, None]]
"""Function that takes (an engine's counter, bands, on_progress), and yields the results for each band, in one or more pieces. The
function requests the next band only after it has yielded all results for the previous one."""


@dataclass(frozen=True)
class _TileResults:
    """Results from one engine for one piece.

    tile: the piece
    engine_number: index of the engine
    results: all or some of the piece's results
    is_last: whether these are the last results for the piece
    """

    tile: Tile
    engine_number: int
    results: Sequence[Any] = field(repr=False)
    is_last: bool


class _RunEnded(Exception):
    """Raised in an engine that must stop because the run has ended."""


class MultiDeviceDistanceEngine:
    """Distance engine that runs several engines in parallel; implements `gpualign.core.distance.engine.DistanceEngine`.

    If an engine fails, the remaining engines, if any, do its work.

    engines: at least one engine
    note: receives a message about each engine that is left out because it has failed
    """

    def __init__(self, engines: Sequence[DistanceEngine], note: Callable[[str], None]) -> None:
        if not engines:
            raise ValueError("expected at least one engine, found none")
        self._engines = engines
        self._note = note

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        # Counts of the pieces in flight take less than the bands were planned with, since a plan includes distances.
        share = memory // (len(self._engines) + 1)
        counters = [engine.prepare(request, share) for engine in self._engines]
        products_only = any(counter.products_only for counter in counters)
        first = counters[0]
        band_bytes = first.band_bytes if request.selected_pairs_only else min(counter.band_bytes for counter in counters)
        # Whole chunks of a GPU's kernels are also whole vectors of a CPU's.
        words = max(counters, key=lambda counter: counter.words_per_sample(1)).words_per_sample
        run = _EngineGroup(counters, share, self._note)
        return PreparedCounter(
            request,
            products_only,
            words,
            band_bytes,
            max(counter.threads for counter in counters),
            " and ".join(dict.fromkeys(counter.kernel for counter in counters)),
            _describe_hardware([counter.hardware for counter in counters]),
            run.count,
            run.select_pairs if request.selected_pairs_only else None,
            sum(counter.comparisons_per_second for counter in counters),
        )


def _describe_hardware(names: Sequence[str]) -> str:
    """Return a human-readable list of the hardware. A name that occurs several times is listed once, with its count."""
    counts = {name: names.count(name) for name in names}
    return " + ".join(name if count == 1 else f"{count} x {name}" for name, count in counts.items())


@dataclass(frozen=True)
class _EngineGroup:
    """The engines of a run, which share its work and act as a single engine.

    counters: the prepared engines
    memory_per_engine: memory for the pairs selected by one engine, in bytes
    on_engine_lost: receives a message about each engine that is left out because it has failed
    """

    counters: Sequence[PreparedCounter]
    memory_per_engine: int
    on_engine_lost: Callable[[str], None]

    def count(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        """Return the counts of all bands, computed by all engines; implements `gpualign.core.distance.engine.CountFunction`."""

        def begin(counter: PreparedCounter, some: SampleBands, on_progress: Callable[[int], None]) -> CountedBands:
            return counter.count_function(panels, some, names, on_progress)

        return self._distribute(panels, bands, begin, on_progress, 4 * len(names), None)

    def select_pairs(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        on_progress: Callable[[int], None],
    ) -> SelectedPairsStream:
        """Return the selected pairs of all bands, computed by all engines; implements `gpualign.core.distance.engine.PairSelector`."""

        def begin(counter: PreparedCounter, some: SampleBands, on_progress: Callable[[int], None]) -> SelectedPairsStream:
            return counter.select_pairs(panels, some, names, rule, on_progress)

        max_pairs = max(1, self.memory_per_engine // selected_pair_bytes(len(names)))
        return self._distribute(panels, bands, begin, on_progress, 4 * len(names), max_pairs)

    def _distribute(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        make_results: BandResultsFactory,
        on_progress: Callable[[int], None],
        pair_bytes: int,
        max_pairs: int | None,
    ) -> Generator[Any, None, None]:
        """Distribute the bands among the engines, and yield the results for all bands in order.

        make_results: computes the results of bands on one engine
        pair_bytes: memory per pair in an engine's results, in bytes
        max_pairs: maximum number of selected pairs that an engine may hold; None: there is no limit, because the results are count matrices
        """
        every = list(bands)
        needed = -(-_MIN_PIECES_PER_ENGINE * len(self.counters) // max(1, len(every)))
        pieces = [piece for band in every for piece in band.split(max(1, min(needed, band.shape[0] // MIN_ROWS_PER_PIECE)))]
        output, progress = _OrderedOutput(), _DeduplicatedProgress(on_progress)
        sites = sum(panel.site_count for panel in panels)
        workers = [
            _make_worker(number, make_results, counter, pieces, pair_bytes, max_pairs, output, progress)
            for number, counter in enumerate(self.counters)
        ]

        def lost(number: int, error: RunError) -> None:
            which = f"device {number + 1} of {len(workers)} ({self.counters[number].hardware})"
            self.on_engine_lost(describe_failed_device(which, error))

        sharing = LoadBalancing([counter.comparisons_per_second for counter in self.counters], _PIECES_IN_FLIGHT_PER_ENGINE * len(workers))
        results = run_workers(_tiles(pieces, sites), workers, 1, "gpualign-distances", on_worker_failure=lost, load_balancing=sharing)
        with closing_iterator(results):
            for share in results:
                yield from output.add(share)
        if (complete := output.merge.following) != len(pieces):
            raise RuntimeError(f"results are missing: {len(pieces) - complete} of {len(pieces)} parts are incomplete")


def _tiles(pieces: Sequence[SampleBand], sites: int) -> Iterator[Tile]:
    """Yield each piece as a tile for the workers to share. Each tile is in a band of its own, and its cost is its number of comparisons."""
    costs = [max(1, piece.pair_count * sites) for piece in pieces]
    left = sum(costs)
    for number, (piece, cost) in enumerate(zip(pieces, costs, strict=True)):
        band = Band(piece.start, piece.stop, piece.first_target, piece.target_stop, number, 1)
        pairing = Pairing.ABOVE_OR_EQUAL if piece.upper_triangle else Pairing.ALL
        targets = partial(np.arange, piece.first_target, piece.target_stop)
        yield Tile(number, band, piece.start, piece.stop, piece.shape[1], targets, pairing, cost, left)
        left -= cost


def _make_worker(
    number: int,
    make_results: BandResultsFactory,
    counter: PreparedCounter,
    pieces: Sequence[SampleBand],
    pair_bytes: int,
    max_pairs: int | None,
    output: _OrderedOutput,
    progress: _DeduplicatedProgress,
) -> WorkerFunction[_TileResults]:
    """Return a worker that runs one engine on pieces, splitting pieces that are too large for the engine.

    number: index of the engine
    pieces: all pieces of the run; the tiles that the worker takes refer to them by number
    pair_bytes: memory per pair, in bytes
    max_pairs: maximum number of selected pairs that the engine may hold; None: no limit
    """

    def work(handle: WorkerHandle[_TileResults]) -> None:
        items: list[Any] = []
        tile: Tile | None = None

        def bands() -> Iterator[SampleBand]:
            nonlocal tile, items
            while (tile := handle.next_tile()) is not None:
                progress.begin(tile.number)
                yield from _split_to_fit(pieces[tile.number], counter.band_bytes // pair_bytes)
                handle.deliver(_TileResults(tile, number, items, True))  # an engine that requests the next band has yielded all of this one
                items = []

        def on_progress(work: int) -> None:
            if handle.stopped():
                raise _RunEnded
            assert tile is not None
            progress.advance(tile.number, work)

        largest = SampleBands.of(pieces)
        try:
            with closing(make_results(counter, SampleBands(bands(), largest.max_pairs, largest.max_columns), on_progress)) as results:
                for item in results:
                    assert tile is not None
                    items.append(item)
                    if max_pairs is not None and sum(map(len, items)) > max_pairs and output.wait_for_turn(tile.number, handle.stopped):
                        handle.deliver_partial(_TileResults(tile, number, items, False))
                        items = []
        except _RunEnded:
            pass
        except RunError:
            output.failed = True
            raise

    return work


def _split_to_fit(piece: SampleBand, max_pairs: int) -> Iterable[SampleBand]:
    """Split a piece into smaller pieces, each with at most `max_pairs` pairs, but at least one row."""
    rows, columns = piece.shape
    return piece.split(-(-rows // max(1, max_pairs // max(1, columns))))


class _OrderedOutput:
    """Puts the results of the engines into the order of the pieces.

    If there are too many pairs to hold, selected pairs of the piece that is next in order may be passed on before the piece is complete. If
    the engine then fails, another engine recomputes the piece. Results that have already been passed on are skipped, because every engine
    returns the same results in the same order.

    merge: holds pieces with complete results until their turn; `merge.following` is the number of the piece that is next in order
    failed: whether an engine has failed
    """

    def __init__(self) -> None:
        self.merge = ReorderBuffer[_TileResults]()
        self.failed = False
        self._engine: int | None = None  # the last engine that delivered results of the piece that is next in order
        self._passed_on = _ZERO_COUNTS  # counts of the results of this piece that have been passed on
        self._repeated = _ZERO_COUNTS  # how many of these `_engine` has yet to repeat

    def wait_for_turn(self, number: int, stopped: Callable[[], bool]) -> bool:
        """Block until the piece `number` is next in order, and return True.

        Returns False early if the run stops, or if an engine fails: the failed engine may have had the piece that is next in order, and no
        other engine may have taken over that piece yet.
        """
        while self.merge.following != number and not stopped() and not self.failed:
            time.sleep(_POLL_SECONDS)
        return self.merge.following == number

    def add(self, piece_results: _TileResults) -> Iterator[Any]:
        """Store results, and yield the results that may be passed on."""
        if not piece_results.is_last:
            yield from self._new_results(piece_results)
            return
        for following in self.merge.add(piece_results.tile.number, piece_results):
            yield from self._new_results(following)
            self._engine, self._passed_on, self._repeated = None, _ZERO_COUNTS, _ZERO_COUNTS

    def _new_results(self, piece_results: _TileResults) -> Iterator[Any]:
        """Yield the results, leaving out those that were passed on before another engine took over."""
        if piece_results.engine_number != self._engine:
            self._engine, self._repeated = piece_results.engine_number, self._passed_on
        for item in piece_results.results:
            yield self._drop_repeated(item) if isinstance(item, SelectedPairs) else item

    def _drop_repeated(self, selected: SelectedPairs) -> SelectedPairs:
        """Return the selected pairs without those that were passed on before another engine took over."""
        delivered = np.array([len(selected), selected.too_few_sites_count, selected.undefined_count])
        known = np.minimum(self._repeated, delivered)
        self._repeated = self._repeated - known
        self._passed_on = self._passed_on + delivered - known
        if not known.any():
            return selected
        pairs, (_, lacking, undefined) = int(known[0]), (delivered - known).tolist()
        counts = {name: values[pairs:] for name, values in selected.counts.items()}
        return SelectedPairs(selected.queries[pairs:], selected.targets[pairs:], counts, lacking, undefined)


class _DeduplicatedProgress:
    """Reports progress. Work that is repeated after the failure of an engine counts only once."""

    def __init__(self, on_progress: Callable[[int], None]) -> None:
        self._on_progress = on_progress
        self._reported: dict[int, int] = {}
        self._now: dict[int, int] = {}

    def begin(self, number: int) -> None:
        """Record that a piece has been started, possibly again."""
        self._now[number] = 0

    def advance(self, number: int, work: int) -> None:
        """Add `work` to the work done on a piece, and report the work that has not been reported before."""
        self._now[number] += work
        if (more := self._now[number] - self._reported.get(number, 0)) > 0:
            self._reported[number] = self._now[number]
            self._on_progress(more)
