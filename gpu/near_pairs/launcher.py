"""Launches a rectangle's kernels (gather, screen, verify) and download, all on one stream and without waiting for the host."""

from __future__ import annotations

import numpy as np

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.filter_cascade import diagonal_word_count
from gpualign.gpu.distance.kernels import CHUNK_WORDS
from gpualign.gpu.kernels.argument_structs import (
    DISTANCE,
    NEAR_BOUND,
    NEAR_COUNTERS,
    NEAR_DISTANCE,
    NEAR_GATHER,
    NEAR_PAIR,
    NEAR_SCREEN,
    NEAR_VERIFY,
    QUEUE_BYTES,
    arguments,
)
from gpualign.gpu.near_pairs.kernels import GATHER, THREADS, Screen, verifier
from gpualign.gpu.near_pairs.recipe import NearRecipe
from gpualign.gpu.near_pairs.rectangles import Rectangle, Rows
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_GATHER_WAVES = 4  # number of blocks, in multiples of those that fill a device

PAIR_BYTES = NEAR_PAIR.itemsize, NEAR_DISTANCE.itemsize
"""Device memory per candidate, and per pair within the bound, bytes."""


@dataclass(frozen=True)
class Capacity:
    """Capacities of the pair lists.

    candidates: pairs not excluded by the screen
    near_pairs: pairs within the bound
    """

    candidates: int
    near_pairs: int


@dataclass(frozen=True)
class Counts:
    """Pair counts for a rectangle. If there are more candidates than the candidate list holds, no pair has been verified.

    candidates: pairs not excluded by the screen
    near_pairs: pairs within the bound
    wrong_order: pairs whose lengths are within the bound, but whose target precedes the query's first target
    """

    candidates: int
    near_pairs: int
    wrong_order: int


class Launcher:
    """Launches a task's rectangles on the device that holds the records. records: as from `make_records`."""

    def __init__(self, recipe: NearRecipe, screen: Screen, records: dict[str, np.void]) -> None:
        bound = recipe.bound
        self._recipe = recipe
        self._records = records
        self._bound = arguments(NEAR_BOUND, **{name: getattr(bound, name) for name in NEAR_BOUND.names or ()})
        self._screen = screen

    def submit(self, slot: StreamBuffers, rectangle: Rectangle, rows: Rows, capacity: Capacity, scratch: int) -> None:
        """Queue all kernels and copies on the slot's stream. Raises `OutOfMemory` before anything is launched.

        scratch: memory for the distance bands, bytes. The events in `slot.passed` mark the start, the end of the screen, the end of the
        verification, and the end.
        """
        count, sketch_bytes = sum(rectangle.shape), self._recipe.sketch_bytes
        kernel = verifier(self._recipe.planes, diagonal_word_count(rows.max_edits))
        grid = slot.blocks(kernel.kernel, kernel.threads)
        if kernel.scratch_bytes:
            grid = max(1, min(grid, scratch // (kernel.scratch_bytes * kernel.threads)))
        arrays = {
            "rows": rows.rows,
            "records": np.concatenate([rectangle.queries, rectangle.targets]).astype(np.int32),
            "beside": rows.beside,
        }
        staged = slot.stage(arrays)
        places = {
            "counters": slot.address("queue", QUEUE_BYTES),
            "candidates": slot.address("candidates", capacity.candidates * NEAR_PAIR.itemsize),
        }
        found = slot.address("found", capacity.near_pairs * NEAR_DISTANCE.itemsize)
        bands = slot.address("bands", grid * kernel.threads * kernel.scratch_bytes)
        sketches, sizes = slot.address("sketches", count * sketch_bytes), slot.address("sizes", 4 * count)

        slot.begin()
        slot.upload_staged()
        slot.fill(places["counters"], 0, QUEUE_BYTES)
        gather = arguments(
            NEAR_GATHER,
            **self._records,
            **staged,
            sketches=sketches,
            sizes=sizes,
            counters=places["counters"],
            row_count=rectangle.shape[0],
            column_count=rectangle.shape[1],
            beside_count=len(rows.beside),
            sketch_words=sketch_bytes // 4,
        )
        slot.launch(GATHER, _GATHER_WAVES * slot.blocks(GATHER, THREADS), THREADS, gather)
        screen = arguments(
            NEAR_SCREEN,
            **self._records,
            **places,
            product=_product(rectangle, sketches, sketch_bytes),
            bound=self._bound,
            records=staged["records"],
            sizes=sizes,
            rows=staged["rows"],
            capacity=capacity.candidates,
            q=self._recipe.steps.q,
        )
        tiles = -(-rectangle.shape[0] // self._screen.rows) * -(-rectangle.shape[1] // self._screen.columns)
        slot.launch(self._screen.kernel, tiles, self._screen.threads, screen, self._screen.shared)
        slot.mark()
        verify = arguments(
            NEAR_VERIFY,
            **self._records,
            **places,
            bound=self._bound,
            found=found,
            scratch=bands,
            capacity=capacity.candidates,
            found_capacity=capacity.near_pairs,
            words=kernel.words,
        )
        slot.launch(kernel.kernel, grid, kernel.threads, verify)
        slot.mark()
        slot.download("queue", NEAR_COUNTERS.itemsize)
        slot.mark()

    @staticmethod
    def counts(slot: StreamBuffers) -> Counts:
        """Return the counts for the finished rectangle."""
        counters = slot.host("queue", NEAR_COUNTERS.itemsize).view(NEAR_COUNTERS)[0]
        return Counts(int(counters["candidates"]), int(counters["found"]), int(counters["unwanted"]))

    @staticmethod
    def download(slot: StreamBuffers, count: int) -> None:
        """Start downloading `count` pairs. The download has finished when the last event in `slot.passed` has happened."""
        slot.download_list("found", count * NEAR_DISTANCE.itemsize)
        slot.mark()

    @staticmethod
    def pairs(slot: StreamBuffers, count: int) -> NearPairs:
        """Return the downloaded pairs."""
        found = slot.host("found", count * NEAR_DISTANCE.itemsize).view(np.int32).reshape(count, 3).astype(np.int64)
        return NearPairs(*np.ascontiguousarray(found.T))


def _product(rectangle: Rectangle, sketches: int, sketch_bytes: int) -> np.void:
    """Return the product of the queries' sketches and the targets' sketches, stored consecutively. Only the screen uses the counts."""
    assert sketch_bytes % (CHUNK_WORDS * 8) == 0
    rows, columns = rectangle.shape
    return arguments(
        DISTANCE,
        planes=sketches,
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
