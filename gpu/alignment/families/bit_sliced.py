"""Kernel family in bitsliced.cu, in which each pair takes one bit of a thread's registers. Used for edit distances, and for linear gaps
with small weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import UnaryForm
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity
from gpualign.gpu.alignment.families.base import BatchDimensions, DeviceBatch, KernelVariant, Launcher, Traceback, best_strip_rows
from gpualign.gpu.alignment.families.bit_slice_lanes import assign_lanes
from gpualign.gpu.alignment.families.strip_queue import StripQueueVariant, group_maxima, group_offsets, launch_packing, pipeline_arguments
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels import argument_structs as structs
from gpualign.gpu.kernels.argument_structs import NamedArrays, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel

PACK_PLANES_KERNEL = Kernel("pack.cu", "pack_planes")

# Rows of a strip, and blocks for which a multiprocessor has registers, by steps.
STRIP_ROWS_BY_STEPS = {
    1: (48, 40, 32),
    2: (40, 38, 36, 34, 32, 30, 28, 26, 25),
    3: (24, 22, 20, 18, 16),
    4: (30, 28, 27, 26, 25, 24, 22, 20, 18, 17, 16, 15, 14, 12),
}
BLOCKS_PER_SM_BY_STEPS = {1: 7, 2: 6, 3: 6, 4: 4}

_BLOCK_THREADS = 64
_COLUMNS_AT_A_TIME = {1: 1, 2: 1, 3: 2, 4: 2}  # columns that are computed together, by steps
_PAIRS_PER_WORD = 32  # bits of a word
_GROUP_ALIGNMENT_WORDS = 4  # words; groups of packed targets are aligned to it
_MAX_TARGET_LENGTH = 65_536
_CELLS_PER_CLOCK = {1: 600.0, 2: 320.0, 3: 150.0, 4: 85.0}  # as measured (benchmarks/log: G-024), by steps; used only to select a kernel
_CLOCKS_PER_ROW = 20.0
_TRACE_THREADS = 32  # one per target of a lane
_CHECKPOINT_INTERVAL = _TRACE_THREADS  # columns between two checkpoints


def kernel_variants(recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
    """Yield one kernel if the recipe has a unary form and the targets are short enough. Paths are supported only for edit distances."""
    if (
        recipe.unary_form is not None
        and (recipe.edit_distance or not recipe.needs_paths)
        and max_target_length <= _MAX_TARGET_LENGTH
        and not recipe.host_traceback
    ):
        yield _make_kernel_variant(recipe, recipe.unary_form)


def _make_kernel_variant(recipe: Recipe, unary_form: UnaryForm) -> KernelVariant:
    steps = unary_form.match_steps
    # In the traceback the rows of a strip share a word.
    rows = best_strip_rows(recipe.query_lengths, tuple(r for r in STRIP_ROWS_BY_STEPS[steps] if r <= 32 or not recipe.needs_paths))
    values = {
        "STEPS": steps,
        "MISMATCH": unary_form.mismatch_steps,
        "ROWS": rows,
        "COLUMNS": _COLUMNS_AT_A_TIME[steps],
        "PLANES": recipe.bits_per_letter,
        "LETTERS": recipe.letter_count,
        "THREADS": _BLOCK_THREADS,
        "BLOCKS": BLOCKS_PER_SM_BY_STEPS[steps],
        "RESULT": recipe.c_result_type,
        "PATHS": int(recipe.needs_paths),
        "TILE": _CHECKPOINT_INTERVAL,
        "FREE_QUERY": int(recipe.free_query_ends),
        "FREE_TARGET": int(recipe.free_target_ends),
    }
    macros = tuple((name, str(value)) for name, value in values.items())
    return BitSlicedVariant(
        Kernel("bitsliced.cu", "align_slices", macros),
        f"{'edit distance' if recipe.edit_distance else 'linear gaps'}, bit-sliced in {steps} steps, {_PAIRS_PER_WORD} pairs a thread",
        pairs_per_thread=_PAIRS_PER_WORD,
        carry_count=steps,
        carry_value_bytes=4,
        strip_rows=rows,
        cells_per_clock=_CELLS_PER_CLOCK[steps],
        clocks_per_row=_CLOCKS_PER_ROW,
        needs_clear_scores=False,
        trace_kernel=Kernel("trace_slices.cu", "trace_slices", macros) if recipe.needs_paths else None,
        checkpoint_interval=_CHECKPOINT_INTERVAL,
    )


@dataclass(frozen=True)
class BitSlicedVariant(StripQueueVariant):
    """Variant in which each thread of an item's block computes one lane: a query with a group of 32 targets."""

    def target_group_size(self, warp_lanes: int) -> int:
        return self.pairs_per_thread

    def min_block_threads(self, warp_lanes: int) -> int:
        return _BLOCK_THREADS

    def diagonal_group_size(self) -> int:
        return self.pairs_per_thread

    def trace_threads(self, layout: BatchLayout) -> int:
        return _TRACE_THREADS

    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> BatchLayout:
        step = _COLUMNS_AT_A_TIME[self.carry_count]
        columns = -(-group_maxima(dimensions.target_lengths, self.pairs_per_thread) // step) * step
        width = _words_per_column(recipe.bits_per_letter)
        words = group_offsets(-(-columns * width // _GROUP_ALIGNMENT_WORDS) * _GROUP_ALIGNMENT_WORDS)
        first_targets = arrays["first_targets"].astype(np.int64)
        lanes = assign_lanes(first_targets, group_maxima(dimensions.targets, self.pairs_per_thread), columns, _BLOCK_THREADS)
        strips = lanes.strips_per_item(self.strip_counts(dimensions.query_lengths))
        longest = columns[lanes.first_lanes // len(dimensions.query_lengths)]
        arrays["item_lanes"], arrays["listed_lanes"] = lanes.item_lanes, lanes.listed_lanes
        arrays["item_strips"] = strips.astype(np.int32)
        arrays["group_planes"] = words
        arrays["group_columns"] = columns.astype(np.int32)
        max_columns = int(columns.max())
        schedule = capacity.schedule(
            strips, longest, _BLOCK_THREADS, max_columns * self.carry_count * _BLOCK_THREADS * self.carry_value_bytes
        )
        # A lane reads on after its own targets while other lanes of the item have longer ones, and it loads columns in advance.
        return self.lay_out_queue(arrays, (int(words[-1]) + (max_columns + step) * width) * 4, _BLOCK_THREADS, max_columns, schedule)

    def launch(self, device_batch: DeviceBatch, launcher: Launcher, traceback: Traceback) -> None:
        layout, recipe = device_batch.layout, device_batch.recipe
        groups, items = len(layout.arrays["group_columns"]), len(layout.arrays["item_strips"])
        launch_packing(
            device_batch,
            launcher,
            PACK_PLANES_KERNEL,
            structs.PACK_PLANES_ARGS,
            groups,
            **device_batch.addresses("group_planes", "group_columns"),
            planes=device_batch.packed_targets_address,
            groups=groups,
            plane_count=recipe.bits_per_letter,
            together=_COLUMNS_AT_A_TIME[self.carry_count],
        )
        filled = pack_arguments(
            structs.SLICE_ARGS,
            **device_batch.shared_arguments,
            planes=device_batch.packed_targets_address,
            pipeline=pipeline_arguments(device_batch),
            query_count=device_batch.query_count,
            sum_factor=recipe.sum_factor,
            per_letter=recipe.gap_cost_per_letter,
            **device_batch.addresses("item_lanes", "listed_lanes", "item_strips", "group_planes", "group_columns", "target_lengths"),
        )
        launcher.launch(self.kernel, device_batch.max_blocks, layout.threads, filled)
        traceback.trace(structs.TRACE_SLICE_ARGS, filled, items * layout.threads, items=items)


def _words_per_column(planes: int) -> int:
    """Return the number of words per column of 32 packed targets (pack.cu).

    There is one word per plane and one for the mask of the targets that reach the column, plus two words if there are more than two planes.
    """
    return planes + 1 if planes <= 2 else planes + 3
