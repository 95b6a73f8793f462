"""chain_edit.cu: warps a pair, in Myers' words. For edit distances without paths of few or very long pairs."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.dataclass import dataclass
from gpualign.gpu.families.base import Variant
from gpualign.gpu.families.chained import Chained
from gpualign.gpu.kernels import Hardware, Kernel
from gpualign.gpu.recipe import Lengths, Recipe

_BITS = 32
_BATCH = 8  # columns that lanes and strips hand over at once
_LAG = 8  # batches between two strips, beyond one a lane
_WARPS = 4  # of a block: one for each scheduler of a multiprocessor, so that a chain's warps are spread evenly
_TOGETHER = 2  # warps of one pair at most on a scheduler: they keep it busy, and of more many wait for each other
_SHARED_BYTES = 48 << 10  # of a block, without asking for more
_LETTER_BYTES, _RING_BYTES = 128, 512  # of a warp: a word of all lanes, two at least; letters of 64 batches

# By words of a lane, as measured (benchmarks/LOG.md); they only steer the choice: cells a clock and multiprocessor, and clocks from one
# column to the next of a warp that has a scheduler for itself.
_RATE = {1: 92.0, 2: 122.0, 4: 139.0}
_COLUMN = {1: 65.0, 2: 73.0, 4: 130.0}


def variants(recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
    """With one, two and four words a lane: fewer make more warps of a pair, which do less for each step."""
    if not recipe.edit or recipe.paths:
        return
    for words in _RATE:
        if _WARPS * (recipe.letters * max(words, 2) * _LETTER_BYTES + _RING_BYTES) > _SHARED_BYTES:
            continue
        macros = (("WORDS", words), ("LETTERS", recipe.letters), ("BATCH", _BATCH), ("WARPS", _WARPS), ("RESULT", recipe.result))
        yield Words(
            Kernel("chain_edit.cu", "align_chain_edit", tuple((name, str(value)) for name, value in macros)),
            "edit distance, Myers' words, warps a pair",
            pairs=1,
            carries=0,  # what strips hand down says itself when it is there
            carry_bytes=0,
            rows=_BITS * words,
            rate=_RATE[words],
            latency=_COLUMN[words] / (_BITS * words),
            clears=True,
            warps=_WARPS,
        )


@dataclass(frozen=True)
class Words(Chained):
    """Lanes of one to four words."""

    def progress_words(self, strips: int, columns: int) -> int:
        """One of each batch of columns, for all strips."""
        return -(-columns // _BATCH)

    def blocks(self, pairs: int, strips: int, multiprocessors: int) -> int:
        """No more of a pair with very many strips than work well together: the next strips are taken when the first ones end."""
        most = _TOGETHER * multiprocessors
        return most if strips > most * _WARPS else super().blocks(pairs, strips, multiprocessors)

    def clocks(self, queries: Lengths, targets: Lengths, hardware: Hardware) -> float:
        """The strips of the longest pair that run together go at one speed, that of a scheduler with most of them."""
        height = hardware.lanes * self.rows
        strips = -(-queries // height)
        padded = float(targets.sum()) * float(strips.sum()) * height
        schedulers = _WARPS * hardware.multiprocessors
        together = min(int(strips.max()), _TOGETHER * schedulers)
        column = max(self.rows * self.latency, -(-together // schedulers) * _WARPS * height / self.rate)
        columns = int(targets.max()) + together * (hardware.lanes + _LAG) * _BATCH
        return max(padded / (self.rate * hardware.multiprocessors), columns * column)
