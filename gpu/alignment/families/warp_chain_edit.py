"""chain_edit.cu: warps a pair, in Myers' words. For edit distances without paths of few or very long pairs."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.families.base import Variant
from gpualign.gpu.alignment.families.warp_chain_base import SHARED_BYTES, Chained
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

_BITS = 32
_BATCH = 8  # columns that strips hand over at once, and by which lanes are behind each other
_GAP = 48  # columns between two strips
_WARPS = 4  # of a block: one for each scheduler of a multiprocessor
_LETTER_BYTES, _RING_BYTES = 128, 2048  # of a warp: a word of all lanes; letters of 64 batches

_COLUMN = {1: 40.0, 2: 56.0, 4: 94.0}
"""Clocks from one column to the next, by words of a lane, as measured (benchmarks/LOG.md); they only steer the choice."""


def variants(recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
    """With one, two and four words a lane: fewer make more warps of a pair, which do less for each step."""
    if not recipe.edit or recipe.paths:
        return
    for words, column in _COLUMN.items():
        if _WARPS * (recipe.letters * words * _LETTER_BYTES + _RING_BYTES) > SHARED_BYTES:
            continue
        macros = (("WORDS", words), ("LETTERS", recipe.letters), ("BATCH", _BATCH), ("WARPS", _WARPS), ("RESULT", recipe.c_result))
        yield Words(
            Kernel("chain_edit.cu", "align_chain_edit", tuple((name, str(value)) for name, value in macros)),
            "edit distance, Myers' words, warps a pair",
            pairs=1,
            carries=0,  # what strips hand down says itself when it is there
            carry_bytes=0,
            rows=_BITS * words,
            rate=_WARPS * _BITS * _BITS * words / column,  # as many lanes as bits
            latency=column / (_BITS * words),
            clears=True,
            warps=_WARPS,
            lag=_BATCH,
            gap=_GAP,
        )


@dataclass(frozen=True)
class Words(Chained):
    """Lanes of one to four words. A warp a scheduler: two together do less than one (benchmarks/LOG.md)."""

    def handed_words(self, columns: int) -> int:
        """One of each batch of columns."""
        return -(-columns // _BATCH)
