"""Kernel family in chain.cu: a chain of warps per pair, one warp per strip of a few hundred rows. For few or very long pairs."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import fits_bytes
from gpualign.gpu.alignment.batch_layout import Layout
from gpualign.gpu.alignment.families import rebased_scores as rebased
from gpualign.gpu.alignment.families.base import Variant
from gpualign.gpu.alignment.families.warp_chain_base import SHARED_BYTES, WarpChainBase
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

# Lag of a lane: the three parts of a lane's rows have one column each, and one is on its way to the next lane.
_BATCH_COLUMNS = 4
_GAP_COLUMNS = 64  # columns between two strips
_TILE_COLUMNS = 256  # columns between two checkpoints
_LANES = 32
_WARPS = 4  # of a multiprocessor, one for each scheduler; in several blocks if the profiles of all are too large for one block
_RING_BYTES = 2048  # rings of a warp: letters and carries

_CLOCKS_PER_COLUMN = {12: (85.0, 135.0), 24: (125.0, 215.0)}
"""Clocks per column with linear and with affine gaps, keyed by rows per lane, as measured (benchmarks/LOG.md); used only to select a
kernel."""
_SLOWDOWN_FACTORS = {"S32": 1.25, "S64": 3.0}  # factor of the clocks if scores stay in the table, by type


def variants(recipe: Recipe, longest_query: int, longest_target: int) -> Iterator[Variant]:
    """Yield variants with few and with many rows per lane, with the narrowest sufficient score type among those with one score per word.

    Fewer rows per lane mean more warps per pair, each of which does less work per column that it hands down.
    """
    if recipe.host_traceback:
        return
    cells = [cell for cell in rebased.usable_score_types(recipe, longest_query, longest_target) if cell.pairs == 1]
    for cell in cells[:1]:
        for rows in _CLOCKS_PER_COLUMN:
            yield _variant(recipe, cell, rows)


def _variant(recipe: Recipe, score_type: rebased.ScoreType, rows: int) -> Variant:
    carries, letters = rebased.carries(recipe), recipe.letters + 1
    in_bytes = score_type.name == "S32" and fits_bytes(recipe.table(), 1)
    table = 4 * letters * letters
    warp = _RING_BYTES + (letters * rows * _LANES if in_bytes else 0)
    warps = next(warps for warps in (_WARPS, 2, 1) if warps * warp + table <= SHARED_BYTES or warps == 1)
    macros = rebased.macros(recipe, score_type, rows, _TILE_COLUMNS)
    column = _CLOCKS_PER_COLUMN[rows][recipe.affine] * (1.0 if in_bytes else _SLOWDOWN_FACTORS[score_type.name])
    return WarpChainVariant(
        Kernel("chain.cu", "align_chain", (*macros, ("WARPS", str(warps)), ("BYTES", str(int(in_bytes))))),
        rebased.title(recipe, score_type, "warps a pair"),
        pairs_per_thread=1,
        carry_count=carries,
        carry_bytes=score_type.bits // 8,
        rows=rows,
        rate=_WARPS * _LANES * rows / column,
        latency=column / rows,
        needs_clear_scores=True,
        trace_kernel=rebased.trace_kernel(recipe, "trace_chain.cu", "trace_chain", macros),
        tile=_TILE_COLUMNS,
        direction_words=rebased.direction_words(recipe, rows),
        warps=warps,
        blocks=_WARPS // warps,
        lag=_BATCH_COLUMNS,
        gap=_GAP_COLUMNS,
    )


@dataclass(frozen=True)
class WarpChainVariant(WarpChainBase):
    """Variant whose lanes have three parts."""

    def handed_down_words(self, columns: int) -> int:
        """Return the number of words for the carries, with a tag for every 32 bits."""
        return columns * self.carry_count * self.carry_bytes // 4 * 2

    def trace_threads(self, layout: Layout) -> int:
        """Return the number of threads in one warp."""
        return layout.threads // self.warps
