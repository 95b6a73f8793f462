"""Queues a rectangle's kernels (gather, screen, verify) on one stream, without waiting between them, and downloads the results."""

from __future__ import annotations

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.filter_cascade import diagonal_word_count
from gpualign.gpu.distance.kernels import CHUNK_WORDS
from gpualign.gpu.kernels.argument_structs import (
    DISTANCE_ARGS,
    NEAR_BOUND_STRUCT,
    NEAR_COUNTERS_STRUCT,
    NEAR_DISTANCE_STRUCT,
    NEAR_GATHER_ARGS,
    NEAR_PAIR_STRUCT,
    NEAR_ROW_STRUCT,
    NEAR_SCREEN_ARGS,
    NEAR_SCREEN_WGMMA_ARGS,
    NEAR_VERIFY_ARGS,
    QUEUE_BYTES,
    pack_arguments,
)
from gpualign.gpu.near_pairs.kernels import BLOCK_THREADS, GATHER_KERNEL, ScreeningKernel, plan_screen, verification_kernel
from gpualign.gpu.near_pairs.recipe import NearPairRecipe
from gpualign.gpu.near_pairs.rectangles import QueryRows, Rectangle
from gpualign.gpu.runtime.device import Device
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_GATHER_WAVES_PER_LAUNCH = 4  # number of blocks, in multiples of those that fill a device

BYTES_PER_LISTED_PAIR = NEAR_PAIR_STRUCT.itemsize, NEAR_DISTANCE_STRUCT.itemsize
"""Device memory, in bytes, for each candidate, and for each pair within the bound."""


@dataclass(frozen=True)
class ListCapacities:
    """Capacities of the lists of pairs on the device.

    max_candidates: maximum number of candidates
    max_near_pairs: maximum number of pairs within the bound
    """

    max_candidates: int
    max_near_pairs: int


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs in a rectangle. If there are more candidates than the list of candidates can hold, no pair has been verified.

    candidate_count: pairs not excluded by the screen
    near_pair_count: pairs within the bound
    wrong_order_count: pairs that are not to be compared because the target precedes the query's first target, although their lengths are
        within the bound
    """

    candidate_count: int
    near_pair_count: int
    wrong_order_count: int


class RectangleLauncher:
    """Launches a task's rectangles on a device. device_records: the task's records on this device, as returned by `make_device_records`"""

    def __init__(
        self, device: Device, recipe: NearPairRecipe, screening_kernel: ScreeningKernel, device_records: dict[str, np.void]
    ) -> None:
        bound = recipe.bound
        self._device = device
        self._recipe = recipe
        self._records = device_records
        self._bound = pack_arguments(
            NEAR_BOUND_STRUCT,
            **{
                name: getattr(bound, name)
                for name in ("per_letter", "per_shorter", "constant", "inside", "coverage", "coverage_of_shorter")
            },
            equal_gain=bound.pairing.equal,
            other_gain=bound.pairing.other,
            ordinary=recipe.ordinary_ranks,
        )
        self._screen = screening_kernel

    def submit(
        self, stream: StreamBuffers, rectangle: Rectangle, query_rows: QueryRows, capacities: ListCapacities, scratch_bytes: int
    ) -> None:
        """Queue all kernels for a rectangle on the stream, and the download of the numbers of pairs.

        Raises `OutOfMemory`, before anything is launched, if there is too little device memory.

        The events in `stream.events` mark the start, the end of the screen, the end of the verification, and the end of all work.

        query_rows: limits for the rectangle's queries
        scratch_bytes: maximum size of the scratch memory for diagonal bands of the matrix that do not fit in registers
        """
        count, sketch_bytes = sum(rectangle.shape), self._recipe.sketch_bytes
        kernel = verification_kernel(
            self._recipe.bits_per_letter, diagonal_word_count(query_rows.max_diagonals), bool(self._recipe.bound.coverage)
        )
        grid = stream.resident_blocks(kernel.kernel, kernel.threads)
        if kernel.scratch_bytes:
            grid = max(1, min(grid, scratch_bytes // (kernel.scratch_bytes * kernel.threads)))
        sketches = stream.address("sketches", count * sketch_bytes)
        queries = rectangle.queries
        arrays = {
            "limits": query_rows.limits,
            "length_numbers": queries.length_numbers,
            "first_targets": queries.first_target_numbers,
            "records": np.concatenate([queries.records, rectangle.targets], dtype=np.int32, casting="same_kind"),
            "beside": query_rows.partial_columns,
        }
        if self._screen.box_records:
            box = self._screen.box_records, 8 * CHUNK_WORDS
            arrays["map"] = self._device.tensor_map(sketches, (count, sketch_bytes), box)
        staged = stream.stage(arrays)
        map_address = staged.pop("map", 0)
        rows = stream.address("rows", rectangle.shape[0] * NEAR_ROW_STRUCT.itemsize)
        places = {
            "counters": stream.address("queue", QUEUE_BYTES),
            "candidates": stream.address("candidates", capacities.max_candidates * NEAR_PAIR_STRUCT.itemsize),
        }
        found = stream.address("found", capacities.max_near_pairs * NEAR_DISTANCE_STRUCT.itemsize)
        bands = stream.address("bands", grid * kernel.threads * kernel.scratch_bytes)
        gathered = {name: stream.address(name, 4 * count) for name in ("sizes", "ambiguous")}

        stream.begin_batch()
        stream.upload_staged()
        stream.fill(places["counters"], 0, QUEUE_BYTES)
        gather = pack_arguments(
            NEAR_GATHER_ARGS,
            **self._records,
            **staged,
            **gathered,
            rows=rows,
            sketches=sketches,
            counters=places["counters"],
            row_count=rectangle.shape[0],
            column_count=rectangle.shape[1],
            beside_count=len(query_rows.partial_columns),
            sketch_words=sketch_bytes // 4,
            q=self._recipe.cascade.q,
        )
        stream.launch(GATHER_KERNEL, _GATHER_WAVES_PER_LAUNCH * stream.resident_blocks(GATHER_KERNEL, BLOCK_THREADS), BLOCK_THREADS, gather)
        screen = pack_arguments(
            NEAR_SCREEN_ARGS,
            **self._records,
            **places,
            product=_product_arguments(rectangle, sketches, sketch_bytes),
            bound=self._bound,
            **gathered,
            records=staged["records"],
            rows=rows,
            capacity=capacities.max_candidates,
            q=self._recipe.cascade.q,
        )
        plan = plan_screen(self._screen, rectangle.shape, self._device.hardware.multiprocessor_count)
        if self._screen.box_records:
            screen = pack_arguments(NEAR_SCREEN_WGMMA_ARGS, map=map_address, screen=screen, segment=plan.segment)
        shared = self._screen.block_shared_bytes(sketch_bytes)
        stream.launch(self._screen.kernel, plan.grid, self._screen.threads, screen, shared)
        stream.mark_event()
        verify = pack_arguments(
            NEAR_VERIFY_ARGS,
            **self._records,
            **places,
            bound=self._bound,
            found=found,
            scratch=bands,
            capacity=capacities.max_candidates,
            found_capacity=capacities.max_near_pairs,
            words=kernel.band_words,
        )
        stream.launch(kernel.kernel, grid, kernel.threads, verify)
        stream.mark_event()
        stream.download("queue", NEAR_COUNTERS_STRUCT.itemsize)
        stream.mark_event()

    @staticmethod
    def pair_counts(stream: StreamBuffers) -> PairCounts:
        """Return the numbers of pairs that `stream` has counted in the rectangle submitted last.

        Call it once the stream has finished that rectangle.
        """
        counters = stream.host_buffer("queue", NEAR_COUNTERS_STRUCT.itemsize).view(NEAR_COUNTERS_STRUCT)[0]
        return PairCounts(int(counters["candidates"]), int(counters["found"]), int(counters["unwanted"]))

    @staticmethod
    def download_pairs(stream: StreamBuffers, count: int) -> None:
        """Start downloading `count` near pairs. The download has finished when the last event in `stream.events` has happened."""
        stream.download_list("found", count * NEAR_DISTANCE_STRUCT.itemsize)
        stream.mark_event()

    @staticmethod
    def downloaded_pairs(stream: StreamBuffers, count: int) -> NearPairs:
        """Return the `count` near pairs that `download_pairs` has downloaded."""
        found = stream.host_buffer("found", count * NEAR_DISTANCE_STRUCT.itemsize).view(NEAR_DISTANCE_STRUCT)
        return NearPairs(*(found[name].astype(np.int64) for name in ("query", "target", "distance")))


def _product_arguments(rectangle: Rectangle, sketches_address: int, sketch_bytes: int) -> np.void:
    """Return the arguments for multiplying the queries' sketches by the targets' sketches, which follow them in memory.

    No address is given for the resulting counts, because only the screen itself uses them.
    """
    assert sketch_bytes % (CHUNK_WORDS * 8) == 0
    rows, columns = rectangle.shape
    return pack_arguments(
        DISTANCE_ARGS,
        planes=sketches_address,
        out=0,
        plane_bytes=0,
        sample_bytes=sketch_bytes,
        out_stride=0,
        left=[0],
        right=[0],
        count=1,
        row_start=0,
        row_count=rows,
        column_start=rows,
        column_count=columns,
        splits=1,
        weight=1,
        upper=0,
    )
