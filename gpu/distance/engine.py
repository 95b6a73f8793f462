"""CUDA distance engine, which multiplies bit planes, one band after another, and overlaps copies with computation.

If only near pairs are requested, counts stay on the device, which selects the pairs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, cycle

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.count_recipe import CountRequest, Operation, Term
from gpualign.core.distance.engine import Panel, PreparedCounter, SelectedPairsStream
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, selected_pair_bytes
from gpualign.gpu.distance.kernels import (
    CHUNK_WORDS,
    DIFFER_KERNEL,
    DistanceKernel,
    LaunchPlan,
    plan_launch,
    split_into_launches,
    usable_kernels,
)
from gpualign.gpu.distance.pair_selection import MAX_RECORDS, DevicePairSelector, needed_counts
from gpualign.gpu.distance.plane_pieces import (
    COMPARISONS_PER_PIECE,
    PIECE_BYTES,
    BundledPlanes,
    PlanePiece,
    cut_panels,
    padded_words,
    plane_bytes,
)
from gpualign.gpu.kernels.argument_structs import DIFFER_ARGS, DISTANCE_ARGS, WGMMA_ARGS, pack_arguments
from gpualign.gpu.runtime.device import Device, Event, OutOfMemory, wait_for
from gpualign.gpu.runtime.kernel_timing import KernelLog, log_kernel_time
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline
from gpualign.gpu.runtime.tensor_map import TENSOR_MAP_BYTES

_MAX_PIECES_IN_FLIGHT = 2  # streams that take turns, and pinned buffers
_MIN_STAGING_BYTES, _MIN_USES_PER_BUFFER = 4 << 20, 8
"""Minimum size, in bytes, of a pinned buffer, and minimum number of times that it is used. Allocating a buffer takes ten times as long as a
copy."""


class _DistanceWorker:
    """Computes counts on one device, which keeps the counts and, if there is room, the planes.

    kernel: kernel for products of planes
    thread_count: number of host threads that copy planes
    is_stopped: called between pieces of planes; once it returns True, nothing more is computed
    log: see `CudaDistanceEngine`
    """

    def __init__(
        self,
        device: Device,
        kernel: DistanceKernel,
        thread_count: int,
        is_stopped: Callable[[], bool],
        log: KernelLog | None,
    ) -> None:
        self._device = device
        self._kernel = kernel
        self._copiers = ThreadPool(thread_count)
        self._stopped = is_stopped
        self._log = log
        self._exit_stack = ExitStack()
        self._copied: dict[str, Event] = {}  # end of the copy from each pinned buffer, which may then be filled again

    def open(self, panels: Sequence[Panel], pair_count: int, matrix_count: int, near_arguments: _NearPairArguments | None) -> None:
        """Open the device and allocate memory for `matrix_count` count matrices of `pair_count` pairs.

        Planes stay on the device if all of them fit in addition to the counts.

        near_arguments: arguments for selecting near pairs on the device, which keeps the counts; None: counts are copied to the host
        """
        device = self._device
        self._pipeline = self._exit_stack.enter_context(open_pipeline(device, _MAX_PIECES_IN_FLIGHT, is_stopped=self._stopped))
        resident = self._pipeline.resident
        for operation in {term.operation for panel in panels for term in panel.recipe.terms}:
            resident.load((DIFFER_KERNEL if operation is Operation.DIFFER else self._kernel).kernel)
        count_bytes = 4 * matrix_count * pair_count
        self._counts = resident.address("counts", count_bytes, max_bytes=0)
        self._selector: DevicePairSelector | None = None
        if near_arguments is None:
            resident.set_host_buffer("counts", device.allocate_pinned(count_bytes))
        else:
            self._selector = DevicePairSelector(
                resident, near_arguments.count_names, near_arguments.device_count_names, near_arguments.rule, near_arguments.max_records
            )
        self._resident: dict[int, int] | None = {} if plane_bytes(panels) <= device.free_memory() * 3 // 4 else None
        sites = 0 if self._resident is None else COMPARISONS_PER_PIECE // pair_count
        self._pieces = list(cut_panels(panels, PIECE_BYTES, sites))
        self._largest = max((piece.nbytes for piece in self._pieces), default=0)
        row_bytes = max((8 * piece.word_count for piece in self._pieces), default=1)
        staged = min(self._largest, PIECE_BYTES)
        if self._resident is not None:  # each byte is copied once
            staged = min(staged, max(_MIN_STAGING_BYTES, plane_bytes(panels) // (_MIN_USES_PER_BUFFER * _MAX_PIECES_IN_FLIGHT)))
        elif self._largest:
            for stream in self._pipeline.streams:
                self._piece_address(stream)
        self._staging_bytes = max(row_bytes, staged, TENSOR_MAP_BYTES)
        names = [f"staging {number}" for number in range(_MAX_PIECES_IN_FLIGHT)]
        for name in names:
            resident.set_host_buffer(name, device.allocate_pinned(self._staging_bytes))
        self._stagings = cycle(names)

    def close(self) -> None:
        # No object of the device may outlive its context.
        self._copied.clear()
        self._selector = None
        self._copiers.close()
        self._exit_stack.close()

    def count_band(self, band: SampleBand, names: tuple[str, ...], on_progress: Callable[[int], None]) -> dict[str, CountMatrix]:
        """Return the counts for a band by name, in host memory. Returns an empty dictionary if the run was stopped."""
        self.multiply_planes(band, names, on_progress)
        if self._stopped():
            return {}
        rows, columns = band.shape
        counts = self._pipeline.resident.fetch("counts", (len(names), rows, columns), np.int32)
        return {name: counts[k].copy() for k, name in enumerate(names)}

    def select_pairs(self, band: SampleBand, start: int, stop: int) -> SelectedPairs | None:
        """Return the near pairs in rows start .. stop - 1 of the band whose counts are on the device; None if there are too many pairs."""
        assert self._selector is not None
        return self._selector.select(self._counts, band, start, stop)

    def multiply_planes(self, band: SampleBand, names: tuple[str, ...], on_progress: Callable[[int], None]) -> None:
        """Compute the counts for a band on the device by summing over all pieces of the planes.

        If the run is stopped, the sums are incomplete.
        """
        rows, columns = band.shape
        nbytes = 4 * rows * columns
        resident = self._pipeline.resident
        resident.fill(self._counts, 0, len(names) * nbytes)
        resident.wait()
        places = {name: self._counts + k * nbytes for k, name in enumerate(names)}
        for number, piece in enumerate(self._pieces):
            self._pipeline.start(partial(self._submit_piece, number, piece, band, places, on_progress))
        self._pipeline.drain()

    def _submit_piece(
        self,
        piece_number: int,
        piece: PlanePiece | BundledPlanes,
        band: SampleBand,
        count_addresses: dict[str, int],
        on_progress: Callable[[int], None],
        stream: StreamBuffers,
    ) -> None:
        """Queue the copies and kernels that add the counts of a piece of the planes.

        count_addresses: device addresses of the count matrices, by name
        """
        stream.begin_batch()
        planes = self._upload_piece(stream, piece_number, piece)
        if self._stopped():
            return
        rows, columns = band.shape
        launches = list(self._kernel_launches(piece, planes, band, count_addresses))
        with log_kernel_time(self._pipeline, stream, rows * columns * piece.site_count, self._log):
            for kernel, arguments, grid in launches:
                stream.launch(kernel.kernel, grid, kernel.threads, arguments, kernel.shared_bytes)
        stream.mark_event()
        on_progress(band.pair_count * piece.site_count)

    def _upload_piece(self, stream: StreamBuffers, piece_number: int, piece: PlanePiece | BundledPlanes) -> int:
        """Copy a piece's planes to the device unless they are already there, and return their address.

        If the kernel needs a tensor map, the map is stored after the planes.
        """
        if self._resident is None:
            address = self._piece_address(stream)
        elif piece_number in self._resident:
            return self._resident[piece_number]
        else:
            address = self._resident[piece_number] = self._pipeline.resident.address(
                f"planes {piece_number}", piece.nbytes + TENSOR_MAP_BYTES, max_bytes=0
            )
        row_bytes = 8 * piece.word_count
        for start in range(0, piece.row_count, step := max(1, self._staging_bytes // row_bytes)):
            if self._stopped():
                break
            stop = min(piece.row_count, start + step)
            with self._staged_upload(stream, address + start * row_bytes, (stop - start) * row_bytes) as buffer:
                rows = buffer.view(np.uint64).reshape(stop - start, piece.word_count)

                def copy(share: tuple[int, int], start: int = start, rows: npt.NDArray[np.uint64] = rows) -> None:
                    first, count = share
                    piece.copy_rows(start + first, rows[first : first + count])

                self._copiers.map(copy, self._copiers.split_rows(stop - start))
        if self._kernel.box_samples:
            with self._staged_upload(stream, address + piece.nbytes, TENSOR_MAP_BYTES) as buffer:
                buffer[:] = self._device.tensor_map(address, (piece.row_count, row_bytes), (self._kernel.box_samples, 8 * CHUNK_WORDS))
        return address

    def _piece_address(self, stream: StreamBuffers) -> int:
        """Return the address of the device memory in which a stream holds one piece, for planes that do not stay on the device."""
        return stream.address("planes", self._largest + TENSOR_MAP_BYTES, max_bytes=0)

    @contextmanager
    def _staged_upload(self, stream: StreamBuffers, address: int, nbytes: int) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield `nbytes` bytes of pinned memory for the caller to fill, then queue their copy to a device address."""
        name = next(self._stagings)
        if name in self._copied:
            wait_for(self._copied[name])
        buffer = self._pipeline.resident.host_buffer(name, nbytes)
        yield buffer
        stream.send(buffer, address)
        self._copied[name] = stream.record_event()

    def _kernel_launches(
        self, piece: PlanePiece | BundledPlanes, planes_address: int, band: SampleBand, count_addresses: dict[str, int]
    ) -> Iterator[tuple[DistanceKernel, np.void, int]]:
        """Yield the launches that add the counts of a piece for all pairs of a band: (kernel, its arguments, number of blocks).

        planes_address: device address of the piece's planes
        count_addresses: device addresses of the count matrices, by name
        """
        multiprocessors = self._device.hardware.multiprocessor_count
        assert piece.word_count % CHUNK_WORDS == 0
        chunks = piece.word_count // CHUNK_WORDS
        for term in piece.recipe.terms:
            addresses = planes_address, count_addresses[term.count_name]
            if term.operation is Operation.DIFFER:
                launch = plan_launch(DIFFER_KERNEL, band, chunks, multiprocessors)
                pairs = _pair_arguments(piece, addresses, band, term, launch, (0,), (0,))
                mask = -1 if term.mask is None else term.mask
                yield (
                    DIFFER_KERNEL,
                    pack_arguments(DIFFER_ARGS, pairs=pairs, bits=term.left, bit_count=len(term.left), mask=mask),
                    launch.grid,
                )
                continue
            for left, right in split_into_launches(term.left, term.right):
                launch = plan_launch(self._kernel, band, len(left) * chunks, multiprocessors)
                pairs = _pair_arguments(piece, addresses, band, term, launch, left, right)
                if self._kernel.box_samples:
                    pairs = pack_arguments(WGMMA_ARGS, map=planes_address + piece.nbytes, pairs=pairs)
                yield self._kernel, pairs, launch.grid


def _pair_arguments(
    piece: PlanePiece | BundledPlanes,
    addresses: tuple[int, int],
    band: SampleBand,
    term: Term,
    launch: LaunchPlan,
    left: Sequence[int],
    right: Sequence[int],
) -> np.void:
    """Return the kernels' arguments for a band's pairs, as a `DISTANCE_ARGS` struct.

    addresses: device addresses of the piece's planes and of the count matrix
    left, right: the term's planes in this launch
    """
    rows, columns = band.shape
    sample_bytes = piece.word_count * 8
    return pack_arguments(
        DISTANCE_ARGS,
        planes=addresses[0],
        out=addresses[1],
        plane_bytes=piece.sample_count * sample_bytes,
        sample_bytes=sample_bytes,
        out_stride=columns,
        left=left,
        right=right,
        count=len(left),
        row_start=band.start,
        row_count=rows,
        column_start=band.first_target,
        column_count=columns,
        splits=launch.split_count,
        weight=term.weight,
        upper=band.upper_triangle,
    )


@dataclass(frozen=True)
class _NearPairArguments:
    """Arguments with which a `DevicePairSelector` is created.

    count_names: names of all counts in the results
    device_count_names: names of the counts that the device needs to apply the rule
    max_records: maximum number of pairs selected in one step
    """

    count_names: tuple[str, ...]
    device_count_names: tuple[str, ...]
    rule: PairSelectionRule
    max_records: int


class CudaDistanceEngine:
    """Implements `gpualign.core.distance.engine.DistanceEngine` on one device; each device has its own engine.

    threads: number of host threads that copy planes
    kernel: kernel from gpu/distance/kernels.py to use; None: the fastest
    log: called for each piece with the kernel time in seconds and the number of comparisons; copies and kernels then do not overlap
    """

    def __init__(
        self,
        device: Device,
        threads: int,
        kernel: DistanceKernel | None = None,
        log: KernelLog | None = None,
    ) -> None:
        usable = usable_kernels(device.arch)
        if kernel is not None and kernel not in usable:
            raise RunError(f"{device.name} ({device.arch}) does not run the kernel {kernel.title}")
        self._threads = threads
        self._device = device
        self._kernel = kernel or usable[0]
        self._log = log

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        device_bytes = self._device.total_memory // 4
        hardware = self._device.hardware
        kernel, products_only = (DIFFER_KERNEL, False) if request.multiallelic else (self._kernel, True)
        rate = kernel.comparisons_per_clock * hardware.multiprocessor_count * hardware.clock_hz
        labels = self._threads, kernel.title, f"cuda ({self._device.name})"
        if not request.selected_pairs_only:
            return PreparedCounter(
                request, products_only, padded_words, min(memory, device_bytes), *labels, self._count_bands, comparisons_per_second=rate
            )

        def select_pairs(
            panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], rule: PairSelectionRule, on_progress: Callable[[int], None]
        ) -> SelectedPairsStream:
            return self._select_near_pairs(panels, bands, names, rule, memory // selected_pair_bytes(len(names)), on_progress)

        # Counts stay on the device, so host memory does not limit a band.
        return PreparedCounter(request, products_only, padded_words, device_bytes, *labels, self._count_bands, select_pairs, rate)

    @contextmanager
    def _open_worker(
        self, panels: Sequence[Panel], pair_count: int, matrix_count: int, near_arguments: _NearPairArguments | None
    ) -> Iterator[tuple[_DistanceWorker, ThreadPoolExecutor]]:
        """Yield a worker with an opened device, and a pool with the only thread that may use the worker.

        The device's context belongs to this thread. Memory is allocated for `matrix_count` count matrices of `pair_count` pairs. Raises
        `RunError` if the device has too little memory.
        """
        stop = threading.Event()
        worker = _DistanceWorker(self._device, self._kernel, self._threads, stop.is_set, self._log)
        pool = ThreadPoolExecutor(1, thread_name_prefix="gpualign-cuda")
        try:
            pool.submit(worker.open, panels, pair_count, matrix_count, near_arguments).result()
            yield worker, pool
        except OutOfMemory as error:
            lower = f"lower {parameter('memory')}, which makes bands smaller"
            raise RunError(f"the CUDA device has too little memory ({error}); {lower}") from None
        finally:
            stop.set()  # after an error or an interrupt the device is still working
            try:
                pool.submit(worker.close).result()
            finally:
                pool.shutdown()

    def _count_bands(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        remaining = iter(bands)
        if (first := next(remaining, None)) is None:
            return
        with self._open_worker(panels, bands.max_pairs, len(names), None) as (worker, pool):
            for band in chain([first], remaining):
                yield band, pool.submit(worker.count_band, band, names, on_progress).result()

    def _select_near_pairs(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        max_pairs: int,
        on_progress: Callable[[int], None],
    ) -> SelectedPairsStream:
        """Yield the near pairs of all bands. max_pairs: maximum number of pairs yielded in one step, unless a single row has more."""
        remaining = iter(bands)
        if (first := next(remaining, None)) is None:
            return
        device_count_names = needed_counts(names, {term.count_name for panel in panels for term in panel.recipe.terms}, rule)
        near = _NearPairArguments(names, device_count_names, rule, max(min(max_pairs, MAX_RECORDS), bands.max_columns))
        with self._open_worker(panels, bands.max_pairs, len(device_count_names), near) as (worker, pool):
            for band in chain([first], remaining):
                pool.submit(worker.multiply_planes, band, device_count_names, on_progress).result()
                yield from _near_pairs_in_rows(worker, pool, band, band.start, band.stop)


def _near_pairs_in_rows(
    worker: _DistanceWorker, pool: ThreadPoolExecutor, band: SampleBand, start: int, stop: int
) -> Iterator[SelectedPairs]:
    """Yield the near pairs in rows start .. stop - 1 of a band whose counts a worker has computed.

    If there are too many pairs to select in one step, each half of the rows is processed separately.
    """
    pairs = pool.submit(worker.select_pairs, band, start, stop).result()
    if pairs is not None:
        yield pairs
        return
    middle = (start + stop) // 2
    yield from _near_pairs_in_rows(worker, pool, band, start, middle)
    yield from _near_pairs_in_rows(worker, pool, band, middle, stop)
