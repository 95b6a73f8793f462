"""Kernel family in chain.cu, in which a chain of warps computes each pair, one warp per strip of a few hundred rows. Used for few or very
long pairs. For local alignments, long sequences may be divided into windows, each of which is then computed like a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import fits_bytes
from gpualign.gpu.alignment.batch_layout import BatchLayout, DeviceCapacity
from gpualign.gpu.alignment.families import rebased_scores as rebased
from gpualign.gpu.alignment.families.base import BatchDimensions, KernelVariant
from gpualign.gpu.alignment.families.warp_chain_base import DEFAULT_SHARED_BYTES, WarpChainBaseVariant
from gpualign.gpu.alignment.recipe import Lengths, Recipe
from gpualign.gpu.alignment.sequence_windows import WHOLE_SEQUENCES, Windows, window_choices
from gpualign.gpu.kernels.argument_structs import NamedArrays
from gpualign.gpu.kernels.kernel import Hardware, Kernel

# Lag of a lane: the three parts of a lane's rows have one column each, and one is on its way to the next lane.
_LANE_LAG_COLUMNS = 4
_STRIP_GAP_COLUMNS = 64  # columns between two strips
_CHECKPOINT_INTERVAL = 256  # columns between two checkpoints
_WARP_LANES = 32
_WARPS_PER_SM = 4  # of a multiprocessor, one for each scheduler; in several blocks if the profiles of all are too large for one block
_RING_BYTES = 2048  # rings of a warp: letters and carries

_CLOCKS_PER_COLUMN = {12: (85.0, 135.0), 24: (125.0, 215.0)}
"""Clocks per column with linear and with affine gaps, keyed by rows per lane, as measured (benchmarks/log: G-084); used only to select a
kernel."""
_SLOWDOWN_FACTORS = {"S32": 1.25, "S64": 3.0}  # factor of the clocks if scores stay in the table, by type


def kernel_variants(recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
    """Yield variants with few and with many rows per lane, for whole sequences and for any windows into which local alignments can be
    divided. All have the narrowest sufficient score type with one score per word.

    Fewer rows per lane, and shorter windows, mean more warps per pair, each of which does less work.
    """
    if recipe.host_traceback:
        return
    cells = [cell for cell in rebased.usable_score_types(recipe, max_query_length, max_target_length) if cell.scores_per_word == 1]
    for cell in cells[:1]:
        variants = [_make_kernel_variant(recipe, cell, rows) for rows in _CLOCKS_PER_COLUMN]
        yield from variants
        form = recipe.rebased_form
        if form is not None and form.is_local:
            for queries, targets in window_choices(form, max_query_length, max_target_length):
                for variant in variants:
                    yield replace(variant, query_windows=queries, target_windows=targets)


def _make_kernel_variant(recipe: Recipe, score_type: rebased.ScoreType, rows: int) -> WarpChainVariant:
    carries, letters = rebased.carry_count(recipe), recipe.letter_count + 1
    in_bytes = score_type.name == "S32" and fits_bytes(recipe.make_score_table(), 1)
    table = 4 * letters * letters
    warp = _RING_BYTES + (letters * rows * _WARP_LANES if in_bytes else 0)
    warps = next(warps for warps in (_WARPS_PER_SM, 2, 1) if warps * warp + table <= DEFAULT_SHARED_BYTES or warps == 1)
    macros = rebased.kernel_macros(recipe, score_type, rows, _CHECKPOINT_INTERVAL)
    column = _CLOCKS_PER_COLUMN[rows][recipe.affine_gaps] * (1.0 if in_bytes else _SLOWDOWN_FACTORS[score_type.name])
    return WarpChainVariant(
        Kernel("chain.cu", "align_chain", (*macros, ("WARPS", str(warps)), ("BYTES", str(int(in_bytes))))),
        rebased.kernel_title(recipe, score_type, "warps a pair"),
        pairs_per_thread=1,
        carry_count=carries,
        carry_value_bytes=score_type.bits // 8,
        strip_rows=rows,
        cells_per_clock=_WARPS_PER_SM * _WARP_LANES * rows / column,
        clocks_per_row=column / rows,
        needs_clear_scores=True,
        trace_kernel=rebased.make_trace_kernel(recipe, "trace_chain.cu", "trace_chain", macros),
        checkpoint_interval=_CHECKPOINT_INTERVAL,
        direction_words=rebased.direction_words(recipe, rows),
        warps_per_block=warps,
        blocks_per_sm=_WARPS_PER_SM // warps,
        lane_lag=_LANE_LAG_COLUMNS,
        strip_gap=_STRIP_GAP_COLUMNS,
    )


@dataclass(frozen=True)
class WarpChainVariant(WarpChainBaseVariant):
    """Variant of chain.cu, in which the rows of each lane are divided into three parts.

    query_windows, target_windows: windows of the sequences; windows other than whole sequences only for local alignments
    """

    query_windows: Windows = WHOLE_SEQUENCES
    target_windows: Windows = WHOLE_SEQUENCES

    def estimate_clocks(self, query_lengths: Lengths, target_lengths: Lengths, hardware: Hardware) -> float:
        return super().estimate_clocks(self.query_windows.lengths(query_lengths), self.target_windows.lengths(target_lengths), hardware)

    def lay_out_items(self, arrays: NamedArrays, dimensions: BatchDimensions, recipe: Recipe, capacity: DeviceCapacity) -> BatchLayout:
        if recipe.is_local:
            rows, query_ranges = self.query_windows.divide(dimensions.query_lengths)
            columns, target_ranges = self.target_windows.divide(dimensions.target_lengths)
            for name in ("queries", "rows", "first_targets"):
                arrays[name] = arrays[name][rows]
            for name in ("targets", "target_numbers"):
                arrays[name] = arrays[name][columns]
            arrays["columns"] = columns.astype(np.int32)
            arrays["query_windows"], arrays["target_windows"] = query_ranges.astype(np.int32), target_ranges.astype(np.int32)
            query_lengths, target_lengths = (ranges[:, 1] - ranges[:, 0] for ranges in (query_ranges, target_ranges))
            dimensions = BatchDimensions(dimensions.targets[columns], target_lengths, query_lengths)
        return super().lay_out_items(arrays, dimensions, recipe, capacity)

    def carry_words(self, columns: int) -> int:
        """Return the size, in 32-bit words, of the carries of `columns` columns, with one tag per 32 bits of carries.

        A tag is the number of the strip that is to read the carries.
        """
        return columns * self.carry_count * self.carry_value_bytes // 4 * 2

    def trace_threads(self, layout: BatchLayout) -> int:
        """Return the number of threads in one warp."""
        return layout.threads // self.warps_per_block
