"""CUDA distance engine: multiplies bit planes, one band of pairs at a time, and overlaps copies with computation.

If only near pairs are requested, counts stay on the device and pairs are selected there.
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
from gpualign.core.distance.engine import Panel, PreparedCounter, SelectedPieces
from gpualign.core.distance.pair_selection import PairSelectionRule, SelectedPairs, record_bytes
from gpualign.gpu.distance.kernels import (
    CHUNK_WORDS,
    DIFFER,
    PIECE_BYTES,
    PIECE_COMPARISONS,
    DistanceKernel,
    Launch,
    Piece,
    cut_panels,
    in_launches,
    padded_words,
    plan_launch,
    plane_bytes,
    usable_kernels,
)
from gpualign.gpu.distance.pair_selection import MAX_RECORDS, DeviceChooser, needed_counts
from gpualign.gpu.kernels.argument_structs import DIFFER as DIFFER_ARGUMENTS
from gpualign.gpu.kernels.argument_structs import DISTANCE, WGMMA, arguments
from gpualign.gpu.runtime.device import Device, Event, OutOfMemory, wait_for
from gpualign.gpu.runtime.kernel_timing import KernelLog, timed
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import open_pipeline
from gpualign.gpu.runtime.tensor_map import MAP_BYTES

_SLOTS = 2  # for planes on the device, and for page-locked memory
_MIN_STAGED, _USES = 4 << 20, 8
"""Minimum size of a page-locked buffer, bytes, and minimum number of uses per buffer: allocation takes ten times as long as a copy."""


class _Worker:
    """One device with counts and planes. `stopped` is called between pieces."""

    def __init__(
        self,
        device: Device,
        kernel: DistanceKernel,
        threads: int,
        stopped: Callable[[], bool],
        log: KernelLog | None,
    ) -> None:
        self._device = device
        self._kernel = kernel
        self._copiers = ThreadPool(threads)
        self._stopped = stopped
        self._log = log
        self._opened = ExitStack()
        self._copied: dict[str, Event] = {}  # when page-locked memory may be filled again

    def open(self, panels: Sequence[Panel], pairs: int, counts: int, near: _Near | None) -> None:
        """Open the device and allocate memory for `counts` count matrices of `pairs` pairs.

        Planes stay on the device if all of them fit in addition to the counts. near: if given, counts stay there too; if None, counts are
        copied back.
        """
        device = self._device
        self._pipeline = self._opened.enter_context(open_pipeline(device, _SLOTS, stopped=self._stopped))
        resident = self._pipeline.resident
        for operation in {term.operation for panel in panels for term in panel.recipe.terms}:
            resident.load((DIFFER if operation is Operation.DIFFER else self._kernel).kernel)
        count_bytes = 4 * counts * pairs
        self._counts = resident.address("counts", count_bytes, max_bytes=0)
        self._chooser: DeviceChooser | None = None
        if near is None:
            resident.set_host("counts", device.pinned(count_bytes))
        else:
            self._chooser = DeviceChooser(resident, near.names, near.counted, near.rule, near.capacity)
        self._resident: dict[int, int] | None = {} if plane_bytes(panels) <= device.free_memory() * 3 // 4 else None
        sites = 0 if self._resident is None else PIECE_COMPARISONS // pairs
        self._pieces = list(cut_panels(panels, PIECE_BYTES, sites))
        self._largest = max((piece.nbytes for piece in self._pieces), default=0)
        row_bytes = max((8 * piece.words for piece in self._pieces), default=1)
        staged = min(self._largest, PIECE_BYTES)
        if self._resident is not None:  # each byte is copied once
            staged = min(staged, max(_MIN_STAGED, plane_bytes(panels) // (_USES * _SLOTS)))
        elif self._largest:
            for stream in self._pipeline.streams:
                self._piece_address(stream)
        self._staged = max(row_bytes, staged, MAP_BYTES)
        names = [f"staging {number}" for number in range(_SLOTS)]
        for name in names:
            resident.set_host(name, device.pinned(self._staged))
        self._stagings = cycle(names)

    def close(self) -> None:
        # No object of the device may outlive its context.
        self._copied.clear()
        self._chooser = None
        self._copiers.close()
        self._opened.close()

    def count(self, band: SampleBand, names: tuple[str, ...], on_progress: Callable[[int], None]) -> dict[str, CountMatrix]:
        """Return the counts for a band, in host memory; an empty dictionary if the run was stopped, because they would not be used."""
        self.multiply(band, names, on_progress)
        if self._stopped():
            return {}
        rows, columns = band.shape
        counts = self._pipeline.resident.fetch("counts", (len(names), rows, columns), np.int32)
        return {name: counts[k].copy() for k, name in enumerate(names)}

    def choose(self, band: SampleBand, start: int, stop: int) -> SelectedPairs | None:
        """Return the near pairs in rows start .. stop - 1 of the band whose counts are on the device; None if there are too many."""
        assert self._chooser is not None
        return self._chooser.choose(self._counts, band, start, stop)

    def multiply(self, band: SampleBand, names: tuple[str, ...], on_progress: Callable[[int], None]) -> None:
        """Compute the counts for a band on the device: sums over all pieces, or over only some pieces if the run is stopped."""
        rows, columns = band.shape
        nbytes = 4 * rows * columns
        resident = self._pipeline.resident
        resident.fill(self._counts, 0, len(names) * nbytes)
        resident.wait()
        places = {name: self._counts + k * nbytes for k, name in enumerate(names)}
        for number, piece in enumerate(self._pieces):
            self._pipeline.start(partial(self._submit, number, piece, band, places, on_progress))
        self._pipeline.drain()

    def _submit(
        self, number: int, piece: Piece, band: SampleBand, places: dict[str, int], on_progress: Callable[[int], None], stream: StreamBuffers
    ) -> None:
        """Add the counts of a piece. places: device addresses of the counts."""
        stream.begin()
        planes = self._upload(stream, number, piece)
        if self._stopped():
            return
        rows, columns = band.shape
        launches = list(self._launches(piece, planes, band, places))
        with timed(self._pipeline, stream, rows * columns * piece.sites, self._log):
            for kernel, filled, grid in launches:
                stream.launch(kernel.kernel, grid, kernel.threads, filled, kernel.shared)
        stream.mark()
        on_progress(band.pairs * piece.sites)

    def _upload(self, stream: StreamBuffers, number: int, piece: Piece) -> int:
        """Copy a piece's planes to the device unless they are there, and return their address. The tensor map follows the planes."""
        if self._resident is None:
            address = self._piece_address(stream)
        elif number in self._resident:
            return self._resident[number]
        else:
            address = self._resident[number] = self._pipeline.resident.address(f"planes {number}", piece.nbytes + MAP_BYTES, max_bytes=0)
        row_bytes = 8 * piece.words
        for start in range(0, piece.rows, step := max(1, self._staged // row_bytes)):
            if self._stopped():
                break
            stop = min(piece.rows, start + step)
            with self._sending(stream, address + start * row_bytes, (stop - start) * row_bytes) as buffer:
                rows = buffer.view(np.uint64).reshape(stop - start, piece.words)

                def copy(share: tuple[int, int], start: int = start, rows: npt.NDArray[np.uint64] = rows) -> None:
                    first, count = share
                    piece.copy(start + first, rows[first : first + count])

                self._copiers.map(copy, self._copiers.shares(stop - start))
        if self._kernel.box:
            with self._sending(stream, address + piece.nbytes, MAP_BYTES) as buffer:
                buffer[:] = self._device.tensor_map(address, (piece.rows, row_bytes), (self._kernel.box, 8 * CHUNK_WORDS))
        return address

    def _piece_address(self, stream: StreamBuffers) -> int:
        """Return the address of a stream's memory for a piece, if planes do not stay on the device."""
        return stream.address("planes", self._largest + MAP_BYTES, max_bytes=0)

    @contextmanager
    def _sending(self, stream: StreamBuffers, address: int, nbytes: int) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield `nbytes` bytes of page-locked memory to fill, then copy them to a device address."""
        name = next(self._stagings)
        if name in self._copied:
            wait_for(self._copied[name])
        buffer = self._pipeline.resident.host(name, nbytes)
        yield buffer
        stream.send(buffer, address)
        self._copied[name] = stream.record()

    def _launches(
        self, piece: Piece, planes: int, band: SampleBand, places: dict[str, int]
    ) -> Iterator[tuple[DistanceKernel, np.void, int]]:
        multiprocessors = self._device.hardware.multiprocessors
        chunks = piece.words // CHUNK_WORDS
        for term in piece.recipe.terms:
            addresses = planes, places[term.count]
            if term.operation is Operation.DIFFER:
                launch = plan_launch(DIFFER, band, chunks, multiprocessors)
                pairs = _pairs(piece, addresses, band, term, launch, (0,), (0,))
                mask = -1 if term.mask is None else term.mask
                yield DIFFER, arguments(DIFFER_ARGUMENTS, pairs=pairs, bits=term.left, bit_count=len(term.left), mask=mask), launch.grid
                continue
            for left, right in in_launches(term.left, term.right):
                launch = plan_launch(self._kernel, band, len(left) * chunks, multiprocessors)
                pairs = _pairs(piece, addresses, band, term, launch, left, right)
                if self._kernel.box:
                    pairs = arguments(WGMMA, map=planes + piece.nbytes, pairs=pairs)
                yield self._kernel, pairs, launch.grid


def _pairs(
    piece: Piece, addresses: tuple[int, int], band: SampleBand, term: Term, launch: Launch, left: Sequence[int], right: Sequence[int]
) -> np.void:
    """Return the kernels' arguments for a band's pairs. addresses: address of the planes, address of the counts."""
    rows, columns = band.shape
    sample_bytes = piece.words * 8
    return arguments(
        DISTANCE,
        planes=addresses[0],
        out=addresses[1],
        plane_bytes=piece.samples * sample_bytes,
        sample_bytes=sample_bytes,
        out_stride=columns,
        left=left,
        right=right,
        count=len(left),
        row_start=band.start,
        row_count=rows,
        column_start=band.first_target,
        column_count=columns,
        splits=launch.splits,
        weight=term.weight,
        upper=band.upper_triangle,
    )


@dataclass(frozen=True)
class _Near:
    """Arguments for a `DeviceChooser`."""

    names: tuple[str, ...]
    counted: tuple[str, ...]
    rule: PairSelectionRule
    capacity: int


class CudaDistanceEngine:
    """Implements `gpualign.core.distance.engine.DistanceEngine` on one device; each device has its own engine.

    threads: host threads
    kernel: kernel from gpu/distance/kernels.py to use instead of the fastest
    log: called with the kernel time in seconds and the number of comparisons for each piece; copies and kernels then do not overlap
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
        hardware, facts = f"cuda ({self._device.name})", self._device.hardware
        kernel, products_only = (DIFFER, False) if request.many_alleles else (self._kernel, True)
        rate = kernel.rate * facts.multiprocessors * facts.clock
        labels = self._threads, kernel.title, hardware
        if not request.selected_only:
            return PreparedCounter(request, products_only, padded_words, min(memory, device_bytes), *labels, self._count, rate=rate)

        def pick(
            panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], rule: PairSelectionRule, on_progress: Callable[[int], None]
        ) -> SelectedPieces:
            return self._pick(panels, bands, names, rule, memory // record_bytes(len(names)), on_progress)

        # Counts take no memory of the host.
        return PreparedCounter(request, products_only, padded_words, device_bytes, *labels, self._count, pick, rate)

    @contextmanager
    def _opened(self, panels: Sequence[Panel], pairs: int, counts: int, near: _Near | None) -> Iterator[tuple[_Worker, ThreadPoolExecutor]]:
        """Yield the opened device and the thread that uses it. One thread serves the whole run, because contexts belong to threads.

        Memory is allocated for `counts` count matrices of `pairs` pairs. Raises `RunError` if the device has too little memory.
        """
        stop = threading.Event()
        worker = _Worker(self._device, self._kernel, self._threads, stop.is_set, self._log)
        pool = ThreadPoolExecutor(1, thread_name_prefix="gpualign-cuda")
        try:
            pool.submit(worker.open, panels, pairs, counts, near).result()
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

    def _count(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        remaining = iter(bands)
        if (first := next(remaining, None)) is None:
            return
        with self._opened(panels, bands.pairs, len(names), None) as (worker, pool):
            for band in chain([first], remaining):
                yield band, pool.submit(worker.count, band, names, on_progress).result()

    def _pick(
        self,
        panels: Sequence[Panel],
        bands: SampleBands,
        names: tuple[str, ...],
        rule: PairSelectionRule,
        max_pairs: int,
        on_progress: Callable[[int], None],
    ) -> SelectedPieces:
        """Yield the near pairs of all bands. max_pairs: maximum number of pairs per piece; a single row may exceed it."""
        remaining = iter(bands)
        if (first := next(remaining, None)) is None:
            return
        held = needed_counts(names, {term.count for panel in panels for term in panel.recipe.terms}, rule)
        near = _Near(names, held, rule, max(min(max_pairs, MAX_RECORDS), bands.columns))
        with self._opened(panels, bands.pairs, len(held), near) as (worker, pool):
            for band in chain([first], remaining):
                pool.submit(worker.multiply, band, held, on_progress).result()
                yield from _near_rows(worker, pool, band, band.start, band.stop)


def _near_rows(worker: _Worker, pool: ThreadPoolExecutor, band: SampleBand, start: int, stop: int) -> Iterator[SelectedPairs]:
    """Yield the near pairs in some rows of a band that a worker has counted. If there are too many pairs, the rows are halved."""
    pairs = pool.submit(worker.choose, band, start, stop).result()
    if pairs is not None:
        yield pairs
        return
    middle = (start + stop) // 2
    yield from _near_rows(worker, pool, band, start, middle)
    yield from _near_rows(worker, pool, band, middle, stop)
