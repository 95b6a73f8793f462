"""Record sets in the kernels' format: bit planes and sketches, built on the device from codes that are then discarded."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import ranges_of_limited_size
from gpualign.core.common.scatter import copy_bytes
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.kernels.argument_structs import NEAR_RECORDS_ARGS, NEAR_RECORDS_STRUCT, pack_arguments
from gpualign.gpu.near_pairs.kernels import BLOCK_THREADS, RECORDS_KERNEL
from gpualign.gpu.near_pairs.recipe import NearPairRecipe
from gpualign.gpu.near_pairs.sketches import hash_shift
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline

_LETTERS_PER_COPY = 32 << 20  # letters that are copied to a device at a time (approximate)
_COPY_THREADS = 8  # threads that copy letters to pinned memory; one alone copies five gigabytes per second
_WAVES_PER_LAUNCH = 8  # number of blocks, in multiples of those that fill a device


def plane_starts(lengths: npt.NDArray[np.int64], plane_count: int) -> npt.NDArray[np.int64]:
    """Return the index of each record's first word in the bit planes, followed by the total number of words: int64[records + 1]."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(-(-lengths // 32) * plane_count, out=starts[1:])
    return starts


def record_device_bytes(task: Task, recipe: NearPairRecipe) -> int:
    """Return the device memory needed for a task's records, in bytes."""
    sets = {id(s): s for s in (task.queries, task.targets)}.values()
    planes = sum(4 * int((-(-s.lengths // 32)).sum()) * recipe.bits_per_letter for s in sets)
    pieces = 2 * max(_LETTERS_PER_COPY, *(s.max_length for s in sets))
    return planes + sum(len(s) for s in sets) * (recipe.sketch_bytes + 28) + min(pieces, 2 * max(len(s.codes) for s in sets))


def make_device_records(pipeline: StreamPipeline, task: Task, recipe: NearPairRecipe) -> dict[str, np.void]:
    """Build a task's records on the device, and return a `NEAR_RECORDS_STRUCT` for each of "queries" and "targets".

    The records are stored only once if queries and targets are the same set. Raises `OutOfMemory` if they do not fit on the device.
    """
    query_letters, target_letters = task.ambiguity_letter_counts
    queries = _make_device_set(pipeline, "query", task.queries, query_letters, recipe)
    if task.targets is task.queries:
        return {"queries": queries, "targets": queries}
    return {"queries": queries, "targets": _make_device_set(pipeline, "target", task.targets, target_letters, recipe)}


def _make_device_set(
    pipeline: StreamPipeline, name: str, records: SequenceSet, ambiguity_letters: npt.NDArray[np.int64], recipe: NearPairRecipe
) -> np.void:
    """Build the bit planes and sketches of all records on the device, and return their `NEAR_RECORDS_STRUCT`.

    The codes are copied to the device in pieces, and the streams take turns in copying them.

    name: prefix of the buffers' names
    ambiguity_letters: number of ambiguity letters in each record that may hide edits
    """
    resident, steps = pipeline.resident, recipe.cascade
    starts = plane_starts(records.lengths, recipe.bits_per_letter)
    device_records = pack_arguments(
        NEAR_RECORDS_STRUCT,
        planes=resident.address(f"{name} planes", 4 * int(starts[-1]), max_bytes=0),
        starts=resident.copy(f"{name} starts", starts[:-1]),
        lengths=resident.copy(f"{name} lengths", records.lengths.astype(np.int32)),
        sketches=resident.address(f"{name} sketches", len(records) * recipe.sketch_bytes, max_bytes=0),
        sizes=resident.address(f"{name} sizes", 4 * len(records), max_bytes=0),
        ambiguous=resident.copy(f"{name} ambiguity letters", ambiguity_letters.astype(np.int32)),
    )
    offsets, ranks = resident.copy("offsets", records.offsets), resident.copy("ranks", recipe.letter_ranks)
    for (first, stop), stream in zip(ranges_of_limited_size(records.offsets, _LETTERS_PER_COPY), cycle(pipeline.streams), strict=False):
        stream.wait()
        codes = records.codes[records.offsets[first] : records.offsets[stop]]
        copy_bytes(stream.host_buffer("codes", codes.nbytes), np.asarray(codes), _COPY_THREADS)
        stream.upload("codes", codes.nbytes)
        filled = pack_arguments(
            NEAR_RECORDS_ARGS,
            records=device_records,
            codes=stream.address("codes", codes.nbytes),
            offsets=offsets,
            ranks=ranks,
            first=first,
            count=stop - first,
            planes=recipe.bits_per_letter,
            radix=recipe.letter_count,
            q=steps.q,
            sketch_words=steps.sketch_bits // 32,
            shift=hash_shift(steps.sketch_bits) if steps.q else 0,
        )
        stream.launch(
            RECORDS_KERNEL,
            min(stop - first, _WAVES_PER_LAUNCH * stream.resident_blocks(RECORDS_KERNEL, BLOCK_THREADS)),
            BLOCK_THREADS,
            filled,
        )
    for stream in pipeline.streams:
        stream.wait()
    return device_records
