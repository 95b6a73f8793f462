"""chain.cu: warps a pair, one a strip of 512 rows. For few or very long pairs."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.gpu.families import rebased
from gpualign.gpu.families.base import Variant
from gpualign.gpu.families.chained import Chained
from gpualign.gpu.kernels import Kernel
from gpualign.gpu.recipe import Recipe

_ROWS = 16  # of a lane
_TILE = 256  # columns between two checkpoints
_RATE = {"S32": 10.0, "S64": 4.0}  # as measured (benchmarks/LOG.md); it only steers the choice
_LATENCY = 16.0


def variants(recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
    """With the narrowest scores of which a word holds one."""
    if recipe.host_traceback:
        return
    cells = [cell for cell in rebased.usable_cells(recipe, longest_query, longest_target) if cell.pairs == 1]
    for cell in cells[:1]:
        yield _variant(recipe, cell)


def _variant(recipe: Recipe, cell: rebased.Cell) -> Variant:
    macros = rebased.macros(recipe, cell, _ROWS, _TILE)
    return Chained(
        Kernel("chain.cu", "align_chain", macros),
        rebased.title(recipe, cell, "warps a pair"),
        pairs=1,
        carries=rebased.carries(recipe),
        carry_bytes=cell.bits // 8,
        rows=_ROWS,
        rate=_RATE[cell.name],
        latency=_LATENCY,
        clears=True,
        trace=rebased.trace_kernel(recipe, "trace_chain.cu", "trace_chain", macros),
        tile=_TILE,
        words=rebased.direction_words(recipe, _ROWS),
    )
