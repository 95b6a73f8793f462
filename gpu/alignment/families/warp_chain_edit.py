"""Kernel family in chain_edit.cu, in which a chain of warps computes each pair with Myers' bit vectors. Used for edit distances without
paths if pairs are few or very long."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.families.base import KernelVariant
from gpualign.gpu.alignment.families.warp_chain_base import DEFAULT_SHARED_BYTES, WarpChainBaseVariant
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

_WORD_BITS = 32
_LANE_LAG_COLUMNS = 8  # columns that strips hand down at once, and the lag of a lane
_STRIP_GAP_COLUMNS = 48  # columns between two strips
_WARPS_PER_BLOCK = 4  # of a block: one for each scheduler of a multiprocessor
_LETTER_BYTES, _RING_BYTES = 128, 2048  # of a warp: one word for each lane; letters of 64 batches

_CLOCKS_PER_COLUMN = {1: 40.0, 2: 56.0, 4: 94.0}
"""Clocks per column, keyed by words per lane, as measured (benchmarks/log: G-065); used only to select a kernel."""


def kernel_variants(recipe: Recipe, max_query_length: int, max_target_length: int) -> Iterator[KernelVariant]:
    """Yield kernels with one, two and four words per lane. Fewer words mean more warps per pair, each of which does less work per step."""
    if not recipe.edit_distance or recipe.needs_paths:
        return
    for words, column in _CLOCKS_PER_COLUMN.items():
        if _WARPS_PER_BLOCK * (recipe.letter_count * words * _LETTER_BYTES + _RING_BYTES) > DEFAULT_SHARED_BYTES:
            continue
        macros = (
            ("WORDS", words),
            ("LETTERS", recipe.letter_count),
            ("BATCH", _LANE_LAG_COLUMNS),
            ("WARPS", _WARPS_PER_BLOCK),
            ("RESULT", recipe.c_result_type),
        )
        yield WarpChainEditVariant(
            Kernel("chain_edit.cu", "align_chain_edit", tuple((name, str(value)) for name, value in macros)),
            "edit distance, Myers' words, warps a pair",
            pairs_per_thread=1,
            carry_count=0,  # none are kept; those that strips hand down have a tag that says when they have arrived
            carry_value_bytes=0,
            strip_rows=_WORD_BITS * words,
            cells_per_clock=_WARPS_PER_BLOCK * _WORD_BITS * _WORD_BITS * words / column,  # a warp has as many lanes as a word has bits
            clocks_per_row=column / (_WORD_BITS * words),
            needs_clear_scores=True,
            warps_per_block=_WARPS_PER_BLOCK,
            lane_lag=_LANE_LAG_COLUMNS,
            strip_gap=_STRIP_GAP_COLUMNS,
        )


@dataclass(frozen=True)
class WarpChainEditVariant(WarpChainBaseVariant):
    """Variant in which each lane computes one, two or four words of a column.

    Each scheduler of a multiprocessor has one warp, because two warps together are slower than one (benchmarks/log: G-065).
    """

    def carry_words(self, columns: int) -> int:
        """Return the number of words that a strip hands down: one per `_LANE_LAG_COLUMNS` columns."""
        return -(-columns // _LANE_LAG_COLUMNS)
