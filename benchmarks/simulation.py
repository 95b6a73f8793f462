"""Simulates runs on several GPUs and machines: the real planner and load balancing on a simulated clock. No threads, devices or files.

Real: plans, tiles that shrink near the end, which worker gets which tile (core/execution/tile_queue.py, core/execution/load_balancing.py),
how a node splits a tile that it is sent (core/execution/retiling.py), limits of engines and of a cluster. Simulated: the time of each step.
A worker does its steps one after the other, and so does the coordinator; nothing else waits for anything.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from itertools import count

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.remote.coordinator import CALLS_PER_WORKER, MAX_CALLS_AHEAD_FACTOR
from gpualign.core.execution.retiling import split_by_limits
from gpualign.core.execution.tile_queue import LoadBalancing, TileQueue
from gpualign.core.planning.tile_plan import MAX_TILES_PER_WORKER, Plan, Tile, TileLimits

IN_FLIGHT = 2
"""Most batches that a GPU's thread has submitted (gpu/alignment/worker.py); one more is laid out meanwhile."""

WAITING = 2
"""Results for each GPU that may wait for the coordinator (gpu/alignment/engine.py)."""

_PIECES = 4  # of an excerpt, before its end
_TILES_A_WORKER = 16  # at least, of each piece
_BANDS = 4  # at least, of each piece
_ENDS = 3  # length of an excerpt's end, in multiples of the cells that remain when tiles begin to shrink


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    rate: cells a second
    tile_seconds: seconds for each tile in which it does not compute
    ready: seconds until it takes its first tile
    """

    rate: float
    tile_seconds: float = 0.0
    ready: float = 0.0


@dataclass(frozen=True)
class Sink:
    """Times of the coordinator.

    gather: seconds a pair for copying a tile into its band
    write: seconds a requested pair for writing a band, once it and all bands before it are complete
    """

    gather: float = 0.0
    write: float = 0.0


@dataclass(frozen=True)
class Node:
    """A machine of a cluster.

    seconds: returns the seconds that it takes for a tile
    ready: seconds until it has the task and its GPUs are started
    again: additional seconds for a tile that arrives after the previous one is done
    """

    seconds: Callable[[Tile], float] = field(repr=False)
    ready: float = 0.0
    again: float = 0.0


@dataclass(frozen=True)
class Link:
    """The network between the coordinator and all nodes.

    seconds: latency of a message
    rate: bytes a second of all results together
    pair_bytes: bytes of the result of a pair
    call_seconds: seconds of the coordinator for each call, in addition to the sink's
    """

    seconds: float = 0.0
    rate: float = float("inf")
    pair_bytes: float = 0.0
    call_seconds: float = 0.0


FREE = Sink()
AT_ONCE = Link()


@dataclass(frozen=True)
class Gap:
    """Bands of a plan that an excerpt leaves out.

    first, before: the piece of the excerpt before the gap has its bands [first, before)
    cells: cells that are left out
    """

    first: int
    before: int
    cells: int


@dataclass(frozen=True)
class Excerpt:
    """Pieces of a plan, and what is left out between them.

    tiles: their bands are numbered without a gap
    pairs_a_cell: pairs of the plan divided by its cells
    """

    tiles: Sequence[Tile] = field(repr=False)
    gaps: Sequence[Gap]
    pairs_a_cell: float


def excerpt(plan: Plan, workers: int, pieces: int = _PIECES) -> Excerpt:
    """Some pieces of a plan for `workers` workers, each long enough for a steady rate, and all of its end, where tiles shrink; a plan that
    is not much longer is taken whole. Bands of the plan must cover whole queries."""
    share = MAX_TILES_PER_WORKER * max(plan.limits.worker_count, workers) * plan.limits.tile_cells
    left = plan.row_cells[plan.start : plan.query_stop][::-1].cumsum()[::-1]  # cells of this query and all later ones

    def start_of(cells: float) -> int:
        """First query of the last band at whose start more than `cells` cells remain."""
        return plan.start + max(0, int((left > cells).sum()) - 1) // plan.band_rows * plan.band_rows

    last = start_of(_ENDS * share)
    tiles: list[Tile] = []
    gaps: list[Gap] = []
    first = bands = 0
    at = plan.start
    for piece in range(pieces + 1):
        start = max(at, min(last, start_of(left[0] * (1 - piece / pieces))))
        if start > at:
            gaps.append(Gap(first, bands, plan.for_queries(at, start).cells))
            first = bands
        number, piece_bands = len(tiles), 0
        at = start
        for tile in plan.for_queries(start, plan.query_stop).tiles():
            if tile.band.index == piece_bands:
                steady = piece_bands >= _BANDS and len(tiles) - number >= _TILES_A_WORKER * workers
                if start < last and (steady or tile.band.start >= last):
                    break
                piece_bands += 1
                at = tile.band.stop
            band = replace(tile.band, index=bands + tile.band.index)
            tiles.append(replace(tile, number=number + tile.number, band=band))
        bands += piece_bands
        if at == plan.query_stop:
            break
    return Excerpt(tiles, gaps, plan.pair_count / plan.cells)


def whole(plan: Plan) -> Excerpt:
    """Every tile of a plan."""
    return Excerpt(list(plan.tiles()), [], plan.pair_count / plan.cells)


class _Bands:
    """The coordinator: gathers tiles into bands, writes bands in order, and records when each was written."""

    def __init__(self, part: Excerpt, sink: Sink) -> None:
        self._sink = sink
        self._pairs_a_cell = part.pairs_a_cell
        self._missing: dict[int, int] = {}
        self._cells: dict[int, int] = {}
        self._following = 0
        self.written: list[tuple[float, int]] = []
        """(when, cells of it) of each band."""

    def seconds(self, tile: Tile, now: float) -> float:
        """Seconds of taking a tile at `now`, and of writing the bands that are complete then."""
        rows, targets = tile.shape
        taken = self._sink.gather * rows * targets
        band = tile.band.index
        self._missing[band] = self._missing.get(band, tile.band.tile_count) - 1
        self._cells[band] = self._cells.get(band, 0) + tile.cells
        while self._missing.get(self._following) == 0:
            cells = self._cells.pop(self._following)
            del self._missing[self._following]
            taken += self._sink.write * cells * self._pairs_a_cell
            self.written.append((now + taken, cells))
            self._following += 1
        return taken


def _total(part: Excerpt, bands: _Bands, end: float) -> float:
    """Seconds of the whole plan. A gap is assumed to take as long per cell as the later halves of the pieces around it; the last gap, as
    that of the piece before it."""
    paces = []
    for gap in part.gaps:
        middle = (gap.first + gap.before) // 2
        (since, _), (until, _) = bands.written[middle - 1], bands.written[gap.before - 1]
        paces.append((until - since) / sum(cells for _, cells in bands.written[middle : gap.before]))
    following = [*paces[1:], *paces[-1:]]
    return end + sum(gap.cells * (pace + after) / 2 for gap, pace, after in zip(part.gaps, paces, following, strict=True))


class _GpuThread:
    """A GPU and its thread of the host (gpu/alignment/worker.py)."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.flying: deque[Tile] = deque()
        self.done = 0  # of these, that are computed
        self.laid_out: Tile | None = None
        self.free = gpu.ready  # when it has computed what is in flight
        self.blocked = False  # no room for its result


class _Pool:
    """GPUs of one machine, whose threads pull tiles, and the coordinator, which takes results from a queue
    (core/execution/worker_pool.py)."""

    def __init__(self, part: Excerpt, gpus: Sequence[Gpu], sink: Sink, load_balancing: LoadBalancing | None) -> None:
        self._pulling = TileQueue(iter(part.tiles), len(gpus), load_balancing)
        self._threads = [_GpuThread(gpu) for gpu in gpus]
        self._lone = load_balancing is None
        self._room = WAITING * len(gpus)
        self._waiting: deque[Tile] = deque()
        self._blocked: deque[int] = deque()
        self._busy = False
        self._events: list[tuple[float, int, int]] = []  # when, order, thread; -1: the coordinator has done a tile
        self._order = count()
        self.bands = _Bands(part, sink)

    def run(self) -> float:
        """Time at which everything is written."""
        now = 0.0
        for number, thread in enumerate(self._threads):
            self._at(thread.gpu.ready, number)
        started: set[int] = set()
        while self._events:
            now, _, number = heapq.heappop(self._events)
            if number < 0:
                self._busy = False
                self._consume(now)
            elif number not in started:
                started.add(number)
                self._pull(number, now)
            else:
                self._threads[number].done += 1
                if not self._threads[number].blocked:
                    self._deliver(number, now)
        return now

    def _at(self, when: float, number: int) -> None:
        heapq.heappush(self._events, (when, next(self._order), number))

    def _pull(self, number: int, now: float) -> None:
        thread = self._threads[number]
        while thread.laid_out is None and (tile := self._pulling.take(number, now)) is not None:
            if len(thread.flying) < IN_FLIGHT:
                self._submit(number, tile, now)
            else:
                thread.laid_out = tile

    def _submit(self, number: int, tile: Tile, now: float) -> None:
        thread = self._threads[number]
        thread.flying.append(tile)
        thread.free = max(thread.free, now) + thread.gpu.tile_seconds + tile.cells / thread.gpu.rate
        self._at(thread.free, number)

    def _deliver(self, number: int, now: float) -> None:
        """Pass computed tiles to the coordinator, as long as its queue has room."""
        thread = self._threads[number]
        while thread.done:
            if len(self._waiting) == self._room:
                thread.blocked = True
                self._blocked.append(number)
                return
            thread.blocked = False
            thread.done -= 1
            tile = thread.flying.popleft()
            self._waiting.append(tile)
            self._pulling.deliver(number, tile, now)
            if thread.laid_out is not None:
                following, thread.laid_out = thread.laid_out, None
                self._submit(number, following, now)
            # A worker that was refused a tile asks again when another one has delivered.
            for other in [number] if self._lone else range(len(self._threads)):
                if self._threads[other].gpu.ready <= now:
                    self._pull(other, now)
            self._consume(now)

    def _consume(self, now: float) -> None:
        if self._busy or not self._waiting:
            return
        self._busy = True
        self._at(now + self.bands.seconds(self._waiting.popleft(), now), -1)
        if self._blocked:
            self._deliver(self._blocked.popleft(), now)


def pool_seconds(part: Excerpt, gpus: Sequence[Gpu], sink: Sink = FREE, load_balancing: LoadBalancing | None = None) -> float:
    """Seconds from the start until all is written, by the GPUs of one machine. load_balancing: as for `run_workers`."""
    pool = _Pool(part, gpus, sink, load_balancing)
    return _total(part, pool.bands, pool.run())


class _Fleet:
    """Nodes, and the coordinator, which sends calls and takes answers one after the other (core/execution/remote/coordinator.py). A call
    goes to the node with the fewest open calls; a node answers its calls in order."""

    def __init__(self, part: Excerpt, nodes: Sequence[Node], link: Link, sink: Sink) -> None:
        self._tiles = iter(part.tiles)
        self._nodes = nodes
        self._link = link
        self._sent = [0] * len(nodes)  # calls that have no answer
        self._free = [node.ready for node in nodes]
        self._line = 0.0  # when the link has carried what it has been given
        self._computed: list[tuple[float, int, int, Tile]] = []  # when, place, node, tile
        self._answers: deque[tuple[float, int, int, Tile]] = deque()
        self._places: set[int] = set()
        self._following = 0
        self.bands = _Bands(part, sink)

    def run(self) -> float:
        """Time at which everything is written."""
        now = self._send(0.0)
        while self._computed or self._answers:
            self._carry(now)
            if not self._answers:
                now = max(now, self._carry_one())
            # All that have arrived by now, before anything is sent.
            now = max(now, self._answers[0][0])
            self._carry(now)
            for _ in range(sum(1 for answer in self._answers if answer[0] <= now)):
                _, place, node, tile = self._answers.popleft()
                self._places.discard(place)
                self._sent[node] -= 1
                now += self._link.call_seconds
                now += self.bands.seconds(tile, now)
            now = self._send(now)
        return now

    def _send(self, now: float) -> float:
        room = CALLS_PER_WORKER * len(self._nodes)
        while len(self._places) < room and self._following < min(self._places, default=self._following) + MAX_CALLS_AHEAD_FACTOR * room:
            if (tile := next(self._tiles, None)) is None:
                break
            node = min(range(len(self._nodes)), key=self._sent.__getitem__)
            self._sent[node] += 1
            arrival, free = now + self._link.seconds, self._free[node]
            begin = free if arrival <= free else arrival + self._nodes[node].again
            self._free[node] = begin + self._nodes[node].seconds(tile)
            heapq.heappush(self._computed, (self._free[node], self._following, node, tile))
            self._places.add(self._following)
            self._following += 1
        return now

    def _carry(self, now: float) -> None:
        """Send the results computed by now over the link, in the order of computation."""
        while self._computed and self._computed[0][0] <= now:
            self._carry_one()

    def _carry_one(self) -> float:
        when, place, node, tile = heapq.heappop(self._computed)
        rows, targets = tile.shape
        self._line = max(self._line, when) + rows * targets * self._link.pair_bytes / self._link.rate
        self._answers.append((self._line + self._link.seconds, place, node, tile))
        return self._answers[-1][0]


def fleet_seconds(part: Excerpt, nodes: Sequence[Node], link: Link = AT_ONCE, sink: Sink = FREE) -> float:
    """Seconds from the start until all is written, by the nodes of a cluster."""
    fleet = _Fleet(part, nodes, link, sink)
    return _total(part, fleet.bands, fleet.run())


def node_seconds(task: Task, limits: TileLimits, gpus: Sequence[Gpu], sink: Sink = FREE) -> Callable[[Tile], float]:
    """Seconds of a node for one of many tiles that it is sent (core/execution/remote/task_server.py). The node splits the tile by the
    `limits` of its engine; its GPUs continue with the next tile at once, and gathering results (`Sink.gather`) overlaps with computing."""
    known: dict[tuple[int, int, int], float] = {}

    def seconds(tile: Tile) -> float:
        rows, targets = tile.shape
        kind = (rows, targets, tile.cells)
        if kind not in known:
            parts = len(split_by_limits(task, replace(tile, remaining_cells=2 * tile.cells), limits))  # another one waits
            pace = sum(1 / (tile.cells / gpu.rate + parts * gpu.tile_seconds) for gpu in gpus)
            known[kind] = max(1 / pace, sink.gather * rows * targets)
        return known[kind]

    return seconds
