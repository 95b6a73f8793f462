"""Kernel family in threads.cu, in which each thread computes one pair, or two pairs with 16-bit scores. Used for many pairs, with any
integer scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences.alphabet import DNA
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.alignment.families import rebased_scores as rebased
from gpualign.gpu.alignment.families.base import BatchDimensions, DeviceBatch, KernelVariant, Launcher, Traceback, best_strip_rows
from gpualign.gpu.alignment.families.strip_queue import (
    StripQueueVariant,
    group_maxima,
    group_offsets,
    launch_packing,
    pipeline_arguments,
    selected_items,
)
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel

PACK_LETTERS_KERNEL = Kernel("pack.cu", "pack_letters")
MAX_BLOCK_THREADS = 64
"""Maximum number of threads per block. Small blocks leave few threads idle if there are few targets."""

_CHECKPOINT_INTERVAL = 32
"""Columns between two path checkpoints. In the traceback, all lanes of a warp take as long as the lane that recomputes the most of these
intervals."""

# Rows of a strip, by (bits of a score, affine, local), that fill the registers of a thread without spilling on compute capability 9.0 (on
# 8.0, affine DNA with checkpoints spills a little). Fewer rows are used if they pad the queries less.
STRIP_ROWS = {
    (16, False, False): (60, 56, 52, 48),
    (16, True, False): (56, 52, 48, 44, 40),
    (16, False, True): (48, 44, 40, 36),
    (16, True, True): (48, 44, 40, 36),
}
WIDE_SCORE_STRIP_ROWS = {32: (32, 24, 16), 64: (16, 12, 8)}

# Blocks of 64 threads for which a multiprocessor has registers; 1 leaves it to the compiler.
BLOCKS_PER_SM = {(16, False, False): 8, (16, True, False): 6, (16, False, True): 8, (16, True, True): 6}

# Cells per clock and multiprocessor by (bits of a score, affine), as measured (benchmarks/log: G-001, G-071); used only to select a
# kernel.
_CELLS_PER_CLOCK = {
    (16, False): 50.0,
    (16, True): 30.0,
    (32, False): 20.0,
    (32, True): 12.0,
    (64, False): 5.0,
    (64, True): 3.0,
}
_CLOCKS_PER_ROW = 14.0


def kernel_variants(recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
    """Yield the kernel with the narrowest sufficient score type, if the recipe has a rebased form."""
    for cell in rebased.usable_score_types(recipe, max_query_length, max_target_length)[:1]:
        yield _make_kernel_variant(recipe, cell)


def _make_kernel_variant(recipe: Recipe, score_type: rebased.ScoreType) -> KernelVariant:
    kind = score_type.bits, recipe.affine_gaps, recipe.is_local
    rows = best_strip_rows(recipe.query_lengths, STRIP_ROWS.get(kind) or WIDE_SCORE_STRIP_ROWS[score_type.bits])
    macros = rebased.kernel_macros(recipe, score_type, rows, _CHECKPOINT_INTERVAL)
    on_host = ("MATRICES", str(int(recipe.host_traceback)))
    forward = {
        "BLOCKS": BLOCKS_PER_SM.get(kind, 1),
        # There are few nucleotides, and most columns have no other letters.
        "PAIRED": int(score_type.scores_per_word == 2 and recipe.letter_count <= len(DNA)),
        "DOUBLED": int(score_type.scores_per_word == 2 and rebased.doubled_scores_fit_bytes(recipe)),
    }
    return ThreadPerPairVariant(
        Kernel("threads.cu", "align_threads", (*macros, *((name, str(value)) for name, value in forward.items()))),
        rebased.kernel_title(recipe, score_type, "a pair a thread"),
        pairs_per_thread=score_type.scores_per_word,
        carry_count=rebased.carry_count(recipe),
        carry_value_bytes=max(4, score_type.bits // 8),
        strip_rows=rows,
        cells_per_clock=_CELLS_PER_CLOCK[score_type.bits, recipe.affine_gaps],
        clocks_per_row=_CLOCKS_PER_ROW,
        needs_clear_scores=recipe.is_local,
        trace_kernel=rebased.make_trace_kernel(recipe, "trace_threads.cu", "trace_threads", (*macros, on_host)),
        checkpoint_interval=_CHECKPOINT_INTERVAL,
        direction_words=rebased.direction_words(recipe, rows),
    )


@dataclass(frozen=True)
class ThreadPerPairVariant(StripQueueVariant):
    """Variant in which an item consists of one query and the targets that a block of threads computes together with it."""

    def target_group_size(self, warp_lanes: int) -> int:
        return self.pairs_per_thread * warp_lanes

    def min_block_threads(self, warp_lanes: int) -> int:
        return warp_lanes

    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> BatchLayout:
        needed = -(-len(dimensions.targets) // self.pairs_per_thread)
        threads = min(MAX_BLOCK_THREADS, -(-needed // capacity.warp_lanes) * capacity.warp_lanes)
        size = threads * self.pairs_per_thread
        in_word = 4 // self.pairs_per_thread
        columns = -(-group_maxima(dimensions.target_lengths, size) // in_word) * in_word
        words = group_offsets(columns // in_word * threads)
        items = selected_items(arrays, dimensions.targets, size)
        arrays["items"] = items
        arrays["block_letters"] = words
        arrays["block_columns"] = columns.astype(np.int32)
        strips = self.strip_counts(dimensions.query_lengths)[items % len(dimensions.query_lengths)]
        longest = int(columns.max())
        carry_bytes = longest * self.carry_count * threads * self.carry_value_bytes
        schedule = capacity.schedule(strips, columns[items // len(dimensions.query_lengths)], threads, carry_bytes)
        # The kernel loads letters one word in advance.
        layout = self.lay_out_queue(arrays, (int(words[-1]) + threads) * 4, threads, longest, schedule)
        if not recipe.host_traceback:
            return layout
        return replace(
            layout,
            matrix_count=len(items) * self.pairs_per_thread,
            matrix_stride=layout.carry_stride // self.carry_count * self.direction_words,
        )

    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        layout = device_batch.layout
        blocks, items = len(layout.arrays["block_columns"]), len(layout.arrays["items"])
        launch_packing(
            device_batch,
            launcher,
            PACK_LETTERS_KERNEL,
            structs.PACK_LETTERS_ARGS,
            blocks,
            block_letters=device_batch.array_addresses["block_letters"],
            letters=device_batch.packed_targets_address,
            blocks=blocks,
            threads=layout.threads,
            pairs=self.pairs_per_thread,
            # Beyond a target's end local scores must not rise. Global scores have been read before, so any letter is good enough.
            padding=device_batch.recipe.letter_count if device_batch.recipe.is_local else 0,
        )
        filled = pack_arguments(
            structs.THREAD_ARGS,
            **device_batch.shared_arguments,
            letters=device_batch.packed_targets_address,
            pipeline=pipeline_arguments(device_batch),
            query_count=device_batch.query_count,
            one=1,
            **device_batch.addresses("items", "block_letters", "block_columns", "target_lengths", "table"),
        )
        launcher.launch(self.kernel, device_batch.max_blocks, layout.threads, filled)
        # For the host the directions of all cells are written; each strip is a unit of its own.
        strips = layout.max_strips if device_batch.recipe.host_traceback else 1
        traceback.trace(structs.TRACE_THREAD_ARGS, filled, items * self.pairs_per_thread * strips, items=items)

    def matrix_locations(self, batch: Batch, layout: BatchLayout) -> tuple[npt.NDArray[np.int64], tuple[npt.NDArray[np.int64], ...]]:
        block, query = np.divmod(layout.arrays["items"].astype(np.int64), len(batch.queries))
        unit, half, thread = (axis.reshape(-1) for axis in np.indices((len(block), self.pairs_per_thread, layout.threads)))
        target = (block[unit] * self.pairs_per_thread + half) * layout.threads + thread
        valid = target < len(batch.targets)
        unit, half, thread, target = unit[valid], half[valid], thread[valid], target[valid]
        selected = batch.targets[target] >= layout.arrays["first_targets"][query[unit]]
        unit, half, thread, target = unit[selected], half[selected], thread[selected], target[selected]
        matrix = (unit * self.pairs_per_thread + half) * layout.matrix_stride
        columns = layout.arrays["block_columns"][block[unit]]
        places = np.stack([batch.queries[query[unit]], batch.targets[target], matrix, thread, columns], axis=1).astype(np.int64)
        return places, (layout.arrays["rows"][query[unit]].astype(np.int64), target)
