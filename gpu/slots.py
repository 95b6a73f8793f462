"""A slot: one stream with the buffers of one batch. Two of them take turns, so that copies and host work overlap kernels."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Task
from gpualign.gpu import arguments as structs
from gpualign.gpu.arguments import arguments
from gpualign.gpu.batches import Batch, Layout, aligned, batch_bytes
from gpualign.gpu.device import Bytes, Device, Event, Function, Memory, OutOfMemory, Stream, wait_for
from gpualign.gpu.kernels import PACK_LETTERS, PACK_PLANES, SELECT, Kernel, Recipe, Shape, Variant
from gpualign.gpu.results import Scores
from gpualign.gpu.selection import HitPlan
from gpualign.gpu.tracing import PathPlan, PathResults, trace_on_host

_QUEUE_BYTES = 256
_PACK_THREADS = 256
_SELECT_THREADS = 512
_STOP = 0x3F  # every byte of the queue's counter: as many units as no queue has
_MOST_UNITS = 10**9  # of a launch: they are counted in 32 bits, and fewer than _STOP makes of a counter


@dataclass(frozen=True)
class Resident:
    """Where a set's sequences lie on the device: codes and offsets of all records."""

    codes: int
    offsets: int


@dataclass(frozen=True)
class Job:
    """A batch on its way to the device, and all that its kernel needs to know."""

    batch: Batch
    layout: Layout
    variant: Variant
    recipe: Recipe
    resident: tuple[Resident, Resident] | None
    dtype: np.dtype[np.signedinteger]
    paths: PathPlan | None = None
    hits: HitPlan | None = None

    @property
    def score_bytes(self) -> int:
        """Of the scores of all pairs."""
        return self.batch.pairs * self.dtype.itemsize

    @property
    def result_bytes(self) -> int:
        """Of what comes back."""
        if self.hits:
            return self.hits.result_bytes
        return self.paths.result_bytes if self.paths else self.score_bytes

    @property
    def least_bytes(self) -> int:
        """Device memory that the batch takes at least."""
        chained = self.variant.shape in (Shape.CHAIN, Shape.CHAIN_EDIT)
        slots = self.layout.slots if self.paths and not chained else 2
        return self.fixed_bytes + slots * self.layout.slot_bytes

    @property
    def matrix_stride(self) -> int:
        """Words of directions of a block of threads, where the host traces; 0 where the device does."""
        return self.layout.carry_stride // self.variant.carries * self.variant.words if self.recipe.host_traceback else 0

    @property
    def matrix_bytes(self) -> int:
        """Of all directions, where the host traces."""
        return 4 * self.matrix_stride * len(self.layout.arrays["items"]) * self.variant.pairs if self.recipe.host_traceback else 0

    @property
    def fixed_bytes(self) -> int:
        """Device memory beside carries and checkpoints."""
        results = self.paths.device_bytes if self.paths else aligned(self.result_bytes)
        if self.hits:
            results += aligned(self.score_bytes)
        return batch_bytes(self.layout) + results + self.matrix_bytes + _QUEUE_BYTES


@dataclass(frozen=True)
class _Placed:
    """A job whose memory is there. fields: arguments that all kernels share; arrays: address of each array of the layout."""

    job: Job
    function: Function
    fields: dict[str, int]
    arrays: dict[str, int]
    targets: Resident
    packed: int
    path: np.void | None


class Slot:
    """Buffers grow as batches need and are kept for the next.

    passed: events before the upload, between upload and kernels, between kernels and download, and after it.
    """

    def __init__(self, device: Device, number: int) -> None:
        self.number = number
        self._device = device
        self._stream = device.stream()
        self._memory: dict[str, tuple[Memory, int]] = {}
        self._pinned: dict[str, Bytes] = {}
        self._scores: Scores | None = None
        self._job: Job | None = None
        self._trace_grid = 0
        self.passed: list[Event] = []

    def release(self) -> None:
        """Free every buffer; the stream must be idle."""
        for memory, _ in self._memory.values():
            memory.free()
        self._memory.clear()
        self._pinned.clear()
        self._scores = None
        self._job = None

    def submit(self, job: Job, memory: int) -> None:
        """Put a batch on the stream, within `memory` bytes. Raises `OutOfMemory`, with nothing launched."""
        function = self._device.function(job.variant.kernel)
        left = memory - job.fixed_bytes
        chained = job.variant.shape in (Shape.CHAIN, Shape.CHAIN_EDIT)
        slots = job.layout.slots
        if chained:  # launches of as many pairs as fit
            slots = min(slots, left // job.layout.slot_bytes, _MOST_UNITS // job.layout.strips)
        if slots < 1 or slots * job.layout.slot_bytes > left:
            raise OutOfMemory(f"{memory:,} bytes do not hold a batch")
        grid = min(function.resident_blocks(job.layout.threads) * self._device.hardware.multiprocessors, max(1, job.layout.units))

        host, arrays = self._stage(job.layout)
        host_results = self._host("results", job.result_bytes)
        packed = self._address("packed", max(job.layout.packed_bytes, 1))
        if job.resident is None:
            queries = Resident(arrays["query_codes"], arrays["query_offsets"])
            targets = Resident(arrays["target_codes"], arrays["target_offsets"])
        else:
            queries, targets = job.resident
        results = self._address("results", job.result_bytes)
        fields = {
            "query_codes": queries.codes,
            "query_offsets": queries.offsets,
            "queries": arrays["queries"],
            "rows": arrays["rows"],
            "carries": self._address("carries", slots * job.layout.carry_bytes),
            "scores": self._address("scores", job.score_bytes) if job.hits else results,
            "target_count": len(job.batch.targets),
            "edges": self._address("edges", max(slots * job.layout.edge_bytes, 1)),
            "edge_stride": job.layout.edge_stride,
        }
        path = self._path_arguments(job, arrays, targets, fields["scores"]) if job.paths else None
        queue = self._address("queue", _QUEUE_BYTES)
        progress = self._address("progress", max(job.layout.progress_bytes, 1))
        placed = _Placed(job, function, fields, arrays, targets, packed, path)

        self.passed = [self._stream.record()]
        self._stream.upload(self._memory["arrays"][0].address, host)
        self._stream.fill(queue, 0, _QUEUE_BYTES)
        if not chained:
            self._stream.fill(progress, 0, job.layout.progress_bytes)
        if chained or job.recipe.local or job.paths:
            self._stream.fill(fields["scores"], 0, job.score_bytes if job.hits else job.result_bytes)
        self.passed.append(self._stream.record())
        if chained:
            self._chains(placed, slots, grid, queue)
        else:
            pipeline = arguments(
                structs.PIPELINE,
                next_unit=queue,
                progress=progress,
                carry_stride=job.layout.carry_stride,
                unit_count=job.layout.units,
                strips=job.layout.strips,
                **{name: arrays[name] for name in ("units", "slots", "before")},
            )
            launch = self._threads if job.variant.shape is Shape.THREADS else self._slices
            launch(placed, pipeline, grid)
        if job.hits:
            self._select(placed, job.hits, results)
        self.passed.append(self._stream.record())
        self._stream.download(host_results, results)
        if job.matrix_bytes:
            self._stream.download(self._host("matrices", job.matrix_bytes), self._memory["directions"][0].address)
        self.passed.append(self._stream.record())
        self._job = job
        if not job.paths and not job.hits:
            self._scores = host_results.view(job.dtype).reshape(len(job.batch.rows), len(job.batch.targets))

    def fetch_paths(self, task: Task, wait: Callable[[Event], bool], pool: ThreadPoolExecutor, threads: int) -> PathResults:
        """Of the batch that has finished. Runs are fetched now that their length is known; `wait` waits for an event; the host traces
        with `threads` threads of a pool."""
        job = self._job
        assert job is not None
        plan = job.paths
        assert plan is not None
        host = self._host("results", plan.result_bytes)
        if job.matrix_bytes:
            matrices = self._host("matrices", job.matrix_bytes).view(np.uint32)
            return trace_on_host(task, job.batch, job.layout, job.variant, plan, host, matrices, job.matrix_stride, pool, threads)
        data = self._host("runs", plan.used(host))
        if len(data):
            self._stream.download(data, self._memory["runs"][0].address)
            wait(self._stream.record())
        return plan.results(host, data)

    def scores(self) -> Scores:
        """Of the batch that has finished: [rows][targets], valid until the next one is submitted."""
        assert self._scores is not None
        return self._scores

    def hits(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Scores and columns of the hits of the batch that has finished, [rows][hits]."""
        assert self._job is not None
        assert self._job.hits is not None
        return self._job.hits.results(self._host("results", self._job.hits.result_bytes))

    def stop(self, other: Stream) -> None:
        """Make the running kernel's queue look empty, through another stream."""
        if "queue" in self._memory:
            other.fill(self._memory["queue"][0].address, _STOP, _QUEUE_BYTES)

    def wait(self) -> None:
        """Until everything on the stream has happened."""
        wait_for(self._stream.record())

    def _address(self, name: str, nbytes: int) -> int:
        memory, size = self._memory.get(name, (None, 0))
        if memory is None or size < nbytes:
            if memory is not None:
                del self._memory[name]
                memory.free()
            memory = self._device.allocate(aligned(nbytes))
            self._memory[name] = memory, aligned(nbytes)
        return memory.address

    def _host(self, name: str, nbytes: int) -> Bytes:
        if name not in self._pinned or self._pinned[name].nbytes < nbytes:
            self._pinned.pop(name, None)
            self._pinned[name] = self._device.pinned(aligned(nbytes))
        return self._pinned[name][:nbytes]

    def _stage(self, layout: Layout) -> tuple[Bytes, dict[str, int]]:
        """All arrays in one piece of pinned memory, and where each will lie on the device."""
        host = self._host("arrays", layout.upload_bytes)
        start = self._address("arrays", layout.upload_bytes)
        places: dict[str, int] = {}
        at = 0
        for name, array in layout.arrays.items():
            places[name] = start + at
            host[at : at + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            at += aligned(array.nbytes)
        return host, places

    def _path_arguments(self, job: Job, arrays: dict[str, int], targets: Resident, results: int) -> np.void:
        plan, layout = job.paths, job.layout
        assert plan is not None
        assert job.variant.trace is not None
        trace = self._device.function(job.variant.trace)
        threads = _trace_threads(job)
        blocks = trace.resident_blocks(threads) * self._device.hardware.multiprocessors
        self._trace_grid = max(1, min(blocks, layout.units * job.variant.pairs))
        directions = job.matrix_bytes or self._trace_grid * threads * job.variant.tile * job.variant.words * 4
        return arguments(
            structs.PATH,
            target_codes=targets.codes,
            target_offsets=targets.offsets,
            **{name: arrays[name] for name in ("targets", "target_numbers", "first_targets", "usable")},
            **{name: results + plan.places[name][0] for name in ("statistics", "starts", "sizes", "cursor")},
            scratch=self._address("scratch", max(plan.run_bytes, 1)),
            runs=self._address("runs", max(plan.run_bytes, 1)),
            directions=self._address("directions", directions),
            capacity=plan.capacity,
            matrix_stride=job.matrix_stride,
            detail=plan.native_detail,
        )

    def _select(self, placed: _Placed, plan: HitPlan, results: int) -> None:
        """Only hits go back."""
        filled = arguments(
            structs.SELECT,
            scores=placed.fields["scores"],
            ranks=placed.arrays["ranks"],
            hit_scores=results,
            hit_columns=results + plan.columns_at,
            rows=plan.rows,
            target_count=placed.fields["target_count"],
            hits=plan.hits,
        )
        grid = min(plan.rows, 4 * self._device.hardware.multiprocessors)
        self._stream.launch(self._device.function(SELECT), grid, _SELECT_THREADS, filled)

    def _trace(self, placed: _Placed, filled: np.void, units: int) -> None:
        """The way back."""
        if not units:
            return
        variant = placed.job.variant
        assert variant.trace is not None
        self._stream.launch(self._device.function(variant.trace), min(self._trace_grid, units), _trace_threads(placed.job), filled)

    def _pack(self, kernel: Kernel, struct: np.dtype[np.void], units: int, placed: _Placed, **values: int) -> None:
        filled = arguments(
            struct,
            codes=placed.targets.codes,
            offsets=placed.targets.offsets,
            targets=placed.arrays["targets"],
            target_count=placed.fields["target_count"],
            **values,
        )
        grid = min(units, 8 * self._device.hardware.multiprocessors)
        self._stream.launch(self._device.function(kernel), grid, _PACK_THREADS, filled)

    def _threads(self, placed: _Placed, pipeline: np.void, grid: int) -> None:
        arrays, layout = placed.arrays, placed.job.layout
        blocks = len(layout.arrays["block_columns"])
        self._pack(
            PACK_LETTERS,
            structs.PACK_LETTERS,
            blocks,
            placed,
            block_letters=arrays["block_letters"],
            letters=placed.packed,
            blocks=blocks,
            threads=layout.threads,
            pairs=placed.job.variant.pairs,
            padding=placed.job.recipe.letters,
        )
        filled = arguments(
            structs.THREADS,
            **placed.fields,
            letters=placed.packed,
            pipeline=pipeline,
            query_count=len(placed.job.batch.rows),
            one=1,
            **{name: arrays[name] for name in ("items", "block_letters", "block_columns", "target_lengths", "table")},
        )
        self._stream.launch(placed.function, grid, layout.threads, filled)
        if placed.path is not None:
            items = len(layout.arrays["items"])
            trace = arguments(structs.TRACE_THREADS, forward=filled, path=placed.path, items=items)
            parts = layout.strips if placed.job.recipe.host_traceback else 1
            self._trace(placed, trace, items * placed.job.variant.pairs * parts)

    def _slices(self, placed: _Placed, pipeline: np.void, grid: int) -> None:
        arrays, layout, recipe = placed.arrays, placed.job.layout, placed.job.recipe
        groups = len(layout.arrays["group_columns"])
        self._pack(
            PACK_PLANES,
            structs.PACK_PLANES,
            groups,
            placed,
            group_planes=arrays["group_planes"],
            planes=placed.packed,
            groups=groups,
            plane_count=recipe.planes,
        )
        filled = arguments(
            structs.SLICES,
            **placed.fields,
            planes=placed.packed,
            pipeline=pipeline,
            query_count=len(placed.job.batch.rows),
            sum_factor=recipe.sum_factor,
            per_letter=recipe.per_letter,
            **{name: arrays[name] for name in ("lanes", "item_strips", "group_planes", "group_columns", "target_lengths")},
        )
        self._stream.launch(placed.function, grid, layout.threads, filled)
        if placed.path is not None:
            items = len(layout.arrays["item_strips"])
            self._trace(placed, arguments(structs.TRACE_SLICES, forward=filled, path=placed.path, items=items), items * layout.threads)

    def _chains(self, placed: _Placed, pairs: int, grid: int, queue: int) -> None:
        """Launches of as many pairs as have room for their carries, one after the other."""
        arrays, layout, fields = placed.arrays, placed.job.layout, placed.fields
        progress_bytes = 4 * layout.strips
        progress = fields["carries"] + pairs * (layout.carry_bytes - progress_bytes)
        total = placed.job.batch.pairs
        for first in range(0, total, pairs):
            count = min(pairs, total - first)
            self._stream.fill(progress, 0, count * progress_bytes)
            if first:
                self._stream.fill(queue, 0, _QUEUE_BYTES)
            filled = arguments(
                structs.CHAIN,
                **fields,
                first_targets=arrays["first_targets"],
                next_item=queue,
                carry_stride=layout.carry_stride,
                target_codes=placed.targets.codes,
                target_offsets=placed.targets.offsets,
                targets=arrays["targets"],
                target_numbers=arrays["target_numbers"],
                table=arrays.get("table", 0),
                progress=progress,
                first_pair=first,
                pairs=count,
                strips=layout.strips,
            )
            self._stream.launch(placed.function, min(grid, count * layout.strips), layout.threads, filled)
            if placed.path is not None:
                self._trace(placed, arguments(structs.TRACE_CHAIN, forward=filled, path=placed.path), count)


def _trace_threads(job: Job) -> int:
    """Threads of a block on the way back: of slices, one a target of a lane."""
    return 32 if job.variant.shape is Shape.SLICES else job.layout.threads
