"""chain_edit.cu: warps a pair, in Myers' words. For edit distances without paths of few or very long pairs."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.gpu.families.base import Variant
from gpualign.gpu.families.chained import Chained
from gpualign.gpu.kernels import Kernel
from gpualign.gpu.recipe import Recipe

_BITS, _LANES = 32, 32
_RATE = 60.0  # as measured (benchmarks/LOG.md); it only steers the choice
_LATENCY = 50.0 / _BITS


def variants(recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
    """With as few words a lane as put the longest query into one strip, up to four."""
    if not recipe.edit or recipe.paths:
        return
    words = next((w for w in (1, 2) if longest_query <= _BITS * _LANES * w), 4)
    macros = (("WORDS", str(words)), ("LETTERS", str(recipe.letters)), ("RESULT", recipe.result))
    yield Chained(
        Kernel("chain_edit.cu", "align_chain_edit", macros),
        "edit distance, Myers' words, warps a pair",
        pairs=1,
        carries=1,
        carry_bytes=4,
        rows=_BITS * words,
        rate=_RATE,
        latency=_LATENCY,
        clears=True,
    )
