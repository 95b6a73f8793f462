"""Plans alignments, and has an engine compute the tiles of a plan, as whole bands in order."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate, cycle, pairwise, takewhile

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Codes
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.band_collectors import PairCollector, bands_in_order
from gpualign.core.execution.engine import Engine, PreparedTask, TimedPreparedTask
from gpualign.core.execution.totals import NullProgress, Progress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, Plan, Tile, make_plan
from gpualign.core.sequences.sequence_set import SequenceSet

_MAX_SAMPLE_RECORDS = 2_000, 50_000
"""Maximum numbers of queries and targets in the first sample on which speed is measured."""

_MAX_SAMPLE_GROWTH = 16
"""Maximum factor by which a sample grows after a measurement."""

_MIN_START_FRACTION = 0.05
"""Minimum start-up time that is taken into account, as a fraction of a sample's time. Start-up, such as opening a GPU, takes no longer in a
longer run."""

_MIN_DIFFERENCE_FRACTION = 0.1
"""Minimum difference between the times of a sample and of half the sample, as a fraction of the sample's time, from which a speed is
computed. Smaller differences may be noise."""

_MAX_TIMES = 5
"""Maximum number of times that a sample is timed if it is too small to be timed accurately once."""

_SAMPLE_PARTS = 32
"""Number of places from which a sample is taken."""

_WARM_UP_FRACTION = 0.25
"""Fraction of the time of a measurement that is ignored when the speed for the remaining tiles is computed, because the first tiles do not
overlap with others."""

_GOLDEN_RATIO = (1 + math.sqrt(5)) / 2


def plan_task(prepared: PreparedTask, pairing: Pairing, group_size: int = 1) -> Plan:
    """Plan a prepared task. group_size: number of consecutive queries that form a group and must stay in one band"""
    task = prepared.task
    return make_plan(task.queries.lengths, task.targets.lengths, pairing, prepared.limits, task.cost, group_size)


def compute_pair_bands(plan: Plan, prepared: PreparedTask, progress: Progress, threads: int = 1) -> Iterator[BandResults]:
    """Compute every tile of the plan and yield whole bands in order. Closing the iterator stops all work.

    threads: number of threads for copying results into a band
    """
    return bands_in_order(plan, prepared.run(plan.tiles()), partial(PairCollector, prepared.task, threads), progress)


def time_plan(plan: Plan, prepared: PreparedTask) -> float:
    """Compute every tile of the plan, discard the results, and return the seconds taken."""
    start = time.perf_counter()
    computed = prepared.run(plan.tiles()) if prepared.task.top_count is not None else compute_pair_bands(plan, prepared, NullProgress())
    for _ in computed:
        pass
    return time.perf_counter() - start


def estimate_seconds(plan: Plan, prepared: TimedPreparedTask, min_seconds: float, max_letters: int | None = None) -> float | None:
    """Estimate how long it takes to compute a plan, by computing tiles from all parts of its middle band. Returns None if there are no
    tiles, or if the engine estimates that one of them takes longer than `min_seconds`.

    min_seconds: minimum time of the measurement, unless all tiles of the band take less
    max_letters: maximum number of letters in the targets of all tiles, which are computed once before the measurement, so that their
        targets are in memory, and then again and again. None: tiles from all parts are computed once, which includes reading their targets
    """
    start = time.perf_counter()
    first = max(plan.start, (plan.start + plan.query_stop - plan.band_rows) // 2)
    tiles = list(plan.for_queries(first, min(plan.query_stop, first + plan.band_rows)).tiles())
    planning = time.perf_counter() - start
    max_cells = min_seconds * plan.for_queries(0, plan.query_count).cells / prepared.estimated_seconds
    if not tiles or max(tile.cells for tile in tiles) > max_cells:
        return None
    # However many of them are computed, they are spread evenly.
    spread = [tiles[k] for k in sorted(range(len(tiles)), key=lambda number: number * _GOLDEN_RATIO % 1)]
    warm_up, timed = spread[:1], iter(spread)
    if max_letters is not None:
        warm_up = _first_tiles(plan, spread, max_letters, max_cells)
        timed = _repeated_tiles(warm_up)
    for _ in prepared.run(iter(warm_up)):
        pass  # kernels are compiled now, if they must be
    cells, warm_up_cells, warm_up_seconds, start = 0, 0, 0.0, time.perf_counter()
    with closing_iterator(prepared.run(timed)) as results:
        for result in results:
            cells, seconds = cells + result.tile.cells, time.perf_counter() - start
            if not warm_up_cells and seconds >= _WARM_UP_FRACTION * min_seconds:
                warm_up_cells, warm_up_seconds = cells, seconds
            if seconds >= min_seconds or cells >= plan.cells:
                break
    rate = (cells - warm_up_cells) / (seconds - warm_up_seconds) if cells > warm_up_cells > 0 else cells / seconds
    return planning + seconds + (plan.cells - cells) / rate


def _first_tiles(plan: Plan, tiles: list[Tile], max_letters: int, max_cells: float) -> list[Tile]:
    """Return the first tile, and those that follow as long as all of them have at most `max_cells` cells, and their targets at most
    `max_letters` letters."""
    letters = accumulate(int(plan.target_lengths[tile.targets].sum()) for tile in tiles)
    cells = accumulate(tile.cells for tile in tiles)
    count = sum(1 for _ in takewhile(lambda sums: sums[0] <= max_letters and sums[1] <= max_cells, zip(letters, cells, strict=True)))
    return tiles[: max(1, count)]


def _repeated_tiles(tiles: list[Tile]) -> Iterator[Tile]:
    """Yield the tiles again and again, each time as a band of its own."""
    for number, tile in enumerate(cycle(tiles)):
        yield replace(tile, number=number, band=replace(tile.band, index=number // len(tiles), tile_count=len(tiles)))


def measure_cell_rate(
    task: Task,
    engine: Engine,
    budget: Budget,
    max_length: int = 2000,
    letters: tuple[int, int] = (40_000, 1_000_000),
    min_seconds: float = 0.0,
) -> float:
    """Measure the engine's speed, in DP cells per second, on a sample of the task: records from all parts of the sets, truncated to
    `max_length` letters. If half a sample takes clearly more than half the time, the rest is start-up, and the speed is computed from the
    difference between the two times.

    letters: approximate total number of letters in the sample's queries, and in its targets. Sets of very short records have fewer:
        their sample is limited by its pairs, because results are then most of the work
    min_seconds: minimum time of the measurement: if a sample takes less, one with more targets is measured instead, as long as there are
        more and they take no more memory than the engine; a smaller one is then timed several times
    """
    queries = _sample(task.queries, letters[0], _MAX_SAMPLE_RECORDS[0], max_length)
    target_letters, max_records = letters[1], _MAX_SAMPLE_RECORDS[1]
    max_letters = max(letters[1], budget.scratch_bytes)

    def prepare_sample(target_letters: int, max_records: int) -> tuple[Plan, PreparedTask]:
        targets = _sample(task.targets, target_letters, max_records, max_length)
        top_count = None if task.top_count is None else min(task.top_count, len(targets))
        prepared = engine.prepare(replace(task, queries=queries, targets=targets, top_count=top_count), budget)
        return plan_task(prepared, Pairing.ALL), prepared

    while True:
        plan, prepared = prepare_sample(target_letters, max_records)
        is_complete = plan.target_count == len(task.targets)
        seconds = _shortest_time(plan, prepared, 0.0)
        if 0 < min_seconds <= seconds:  # the first time may include compiling kernels
            seconds = min(seconds, _shortest_time(plan, prepared, 0.0))
        growth = min(_MAX_SAMPLE_GROWTH, 1.25 * min_seconds / seconds, max_letters / target_letters)
        if seconds >= min_seconds or growth <= 1 or is_complete:
            break
        target_letters, max_records = math.ceil(growth * target_letters), math.ceil(growth * max_records)
    cells = plan.cells
    if min_seconds > 0 and not is_complete:
        if seconds < min_seconds:
            seconds = min(seconds, _shortest_time(plan, prepared, min_seconds))
        del plan, prepared  # frees memory for half a sample
        plan, prepared = prepare_sample(target_letters // 2, max_records // 2)
        less_seconds = min(_shortest_time(plan, prepared, 0.0), _shortest_time(plan, prepared, min_seconds))
        if plan.cells < cells and seconds - less_seconds > _MIN_DIFFERENCE_FRACTION * seconds:
            more = (cells - plan.cells) / (seconds - less_seconds)
            if seconds - cells / more > _MIN_START_FRACTION * seconds:
                return more
    return cells / seconds


def _shortest_time(plan: Plan, prepared: PreparedTask, total_seconds: float) -> float:
    """Time a plan once, or up to `_MAX_TIMES` times until the times add up to `total_seconds`, and return the shortest time in seconds."""
    times = [time_plan(plan, prepared)]
    while len(times) < _MAX_TIMES and sum(times) < total_seconds:
        times.append(time_plan(plan, prepared))
    return max(min(times), 1e-9)


def _sample(sequences: SequenceSet, letters: int, max_records: int, max_length: int) -> SequenceSet:
    """Return a sample of the records, truncated to `max_length` letters: the same number of records from each of `_SAMPLE_PARTS` places,
    because records may be sorted, and reading many scattered records from a disk would take long.

    letters: approximate total number of letters in the sample
    """
    mean = min(max_length, int(sequences.offsets[-1]) / len(sequences))
    count = min(max_records, max(1, math.ceil(letters / mean)), len(sequences))
    parts = min(count, _SAMPLE_PARTS)
    ends = np.arange(1, parts + 1) * len(sequences) // parts
    sizes = np.minimum(np.diff(np.arange(parts + 1) * count // parts), np.diff(ends, prepend=0))
    starts = ends - (np.diff(ends, prepend=0) + sizes + 1) // 2
    records = np.concatenate([np.arange(start, start + size) for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)])
    lengths = np.minimum(sequences.lengths[records], max_length)
    codes = np.concatenate([_first_letters(sequences, start, start + size, max_length) for start, size in zip(starts, sizes, strict=True)])
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return SequenceSet(sequences.source, sequences.id_column.select(records), codes, offsets)


def _first_letters(sequences: SequenceSet, start: int, stop: int, max_length: int) -> Codes:
    """Return the codes of records [start, stop), one after another, each truncated to `max_length` letters."""
    offsets, codes = sequences.offsets[start : stop + 1], sequences.codes
    if sequences.lengths[start:stop].max() <= max_length:
        return codes[offsets[0] : offsets[-1]]
    return np.concatenate([codes[first : min(first + max_length, end)] for first, end in pairwise(offsets.tolist())])
