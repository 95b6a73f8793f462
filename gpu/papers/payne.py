"""Distance engine with the kernels of Payne et al. 2010, which use one block per pair of samples, and an int or a byte per call.

The file cuda_src/papers/payne.cu describes each kernel and cites the corresponding section of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand, SampleBands
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import CountRequest, Operation
from gpualign.core.distance.engine import WORD_BITS, Panel, PreparedCounter
from gpualign.gpu.kernels.argument_structs import PAYNE_ARGS, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.papers.base import SingleDeviceEngine, device_session
from gpualign.gpu.runtime.device import ByteArray, Device
from gpualign.gpu.runtime.kernel_timing import KernelLog, log_kernel_time
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline

DEFAULT_BLOCK_THREADS = 128
"""Threads per block, as in section 6 of the paper."""

METHODS = ("naive", "coalesced", "char", "register", "shared")
"""Methods in the paper's order."""

_MAX_BLOCKS_PER_LAUNCH = (1 << 31) - 1
PIECE_BYTES = 256 << 20  # size of the calls that are on the device at a time

_ONLY_DIFFERENCES_MESSAGE = (
    f"the kernels of Payne 2010 count differing calls: {parameter('metric', 'hamming')}, without {parameter('compared')}"
)


def decode_calls(panel: Panel) -> Codes:
    """Return a panel's calls as codes, decoded from its bit planes: uint8[samples][sites], numbered from 0; MISSING for missing calls.

    The panel's recipe must count call differences: at most one term, with Operation.DIFFER. Raises `InputError` for any other operation.
    """
    _, samples, words = panel.bits.shape
    codes: Codes = np.zeros((samples, words * WORD_BITS), dtype=np.uint8)
    for term in panel.recipe.terms:
        if term.operation is not Operation.DIFFER:
            raise InputError(_ONLY_DIFFERENCES_MESSAGE)
        for number, plane in enumerate(term.left):
            codes |= _unpack_plane(panel, plane) << number
        if term.mask is not None:
            codes[_unpack_plane(panel, term.mask) == 0] = MISSING
    return codes[:, : panel.site_count]


def _unpack_plane(panel: Panel, plane: int) -> npt.NDArray[np.uint8]:
    return np.unpackbits(panel.bits[plane].view(np.uint8), axis=1, bitorder="little")


def _padded_words(sites: int) -> int:
    """Return the number of words per sample in a plane of `sites` sites, padded to whole cache lines."""
    return -(-sites // (8 * WORD_BITS)) * 8


def lay_out_codes(codes: Codes, method: str) -> tuple[ByteArray, int]:
    """Return (bytes of the codes in the layout that a method's kernel reads, number of codes per row of this layout)."""
    if method == "naive":
        transposed = np.ascontiguousarray(codes.T.astype(np.int32))
        return transposed.view(np.uint8).reshape(-1), codes.shape[0]
    if method == "coalesced":
        return codes.astype(np.int32).view(np.uint8).reshape(-1), codes.shape[1]
    samples, sites = codes.shape
    padded = np.full((samples, -(-sites // 4) * 4), MISSING, dtype=np.uint8)
    padded[:, :sites] = codes
    return padded.reshape(-1), padded.shape[1]


class PayneEngine(SingleDeviceEngine):
    """Implements `gpualign.core.distance.engine.DistanceEngine` only for counts of differing calls.

    method: one of METHODS
    threads: number of host threads
    block_threads: threads per block
    log: called with the kernel time in seconds and the number of comparisons for each launch
    """

    def __init__(
        self, device: Device, method: str, threads: int, block_threads: int = DEFAULT_BLOCK_THREADS, log: KernelLog | None = None
    ) -> None:
        super().__init__(device, log)
        self._threads = threads
        self._method = method
        self._block = block_threads
        self._kernel = Kernel("payne.cu", f"payne_{method}", (("THREADS", str(block_threads)),))

    def prepare(self, request: CountRequest, memory: int) -> PreparedCounter:
        if request.multiallelic:
            raise InputError(
                f"the kernels of Payne 2010 compare genotypes and letters, not alleles of loci; leave out {parameter('kernel')}"
            )
        band_bytes = min(memory, self._device.total_memory // 4)
        return PreparedCounter(
            request,
            False,
            _padded_words,
            band_bytes,
            self._threads,
            f"Payne 2010, {self._method}",
            self.describe_hardware(),
            self._count_bands,
        )

    def _count_bands(
        self, panels: Sequence[Panel], bands: SampleBands, names: tuple[str, ...], on_progress: Callable[[int], None]
    ) -> CountedBands:
        if names != ("differences",):
            raise InputError(
                f"{_ONLY_DIFFERENCES_MESSAGE}, and with enough calls of each sample to be sure that all pairs have "
                f"{parameter('min_compared')} sites"
            )
        with device_session(self._device) as pipeline:
            for band in bands:
                yield band, {"differences": self._count_differences(pipeline, panels, band, on_progress)}

    def _count_differences(
        self, pipeline: StreamPipeline, panels: Sequence[Panel], band: SampleBand, on_progress: Callable[[int], None]
    ) -> CountMatrix:
        buffers, nbytes = pipeline.resident, 4 * band.shape[0] * band.shape[1]
        distances = buffers.address("distances", nbytes)
        buffers.fill(distances, 0, nbytes)
        for panel in panels:
            if panel.recipe.terms:
                codes = decode_calls(panel)
                step = max(4, PIECE_BYTES // (4 * len(codes)) // 4 * 4)
                for start in range(0, codes.shape[1], step):
                    self._launch_kernel(pipeline, codes[:, start : start + step], band, distances)
            on_progress(band.pair_count * panel.site_count)
        counts: CountMatrix = buffers.fetch("distances", band.shape, np.int32).copy()
        return counts

    def _launch_kernel(self, pipeline: StreamPipeline, codes: Codes, band: SampleBand, distances_address: int) -> None:
        """Add the differences at some sites to the distances of a band. codes: uint8[samples][sites]"""
        buffers = pipeline.resident
        data, stride = lay_out_codes(codes, self._method)
        address = buffers.copy("codes", data)
        rows, columns = band.shape
        max_rows = max(1, _MAX_BLOCKS_PER_LAUNCH // columns)
        for first in range(0, rows, max_rows):
            count = min(max_rows, rows - first)
            arguments = pack_arguments(
                PAYNE_ARGS,
                data=address,
                distance=distances_address + 4 * first * columns,
                stride=stride,
                attributes=codes.shape[1],
                first_row=band.start + first,
                first_column=band.first_target,
                columns=columns,
            )
            buffers.load(self._kernel)
            with log_kernel_time(pipeline, buffers, count * columns * codes.shape[1], self._log):
                buffers.launch(self._kernel, count * columns, self._block, arguments)
        buffers.wait()
