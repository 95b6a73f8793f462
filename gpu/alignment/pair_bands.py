"""Plans the bands of listed pairs, and batches of pairs whose bands have the same width. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.families.rebased_scores import kernel_macros, usable_score_types
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

CELLS_PER_LANE = 1, 2, 3, 4, 6, 8, 12, 16, 24
"""Numbers of cells of an antidiagonal that a lane may compute. A band has twice as many diagonals as a warp has such cells."""

_ANTIDIAGONALS_PER_WORD = 8  # whose directions a word holds, for each cell of a lane


@dataclass(frozen=True)
class BandBatch:
    """Pairs whose bands have the same width.

    cells_per_lane: number of cells of an antidiagonal that each lane of a warp computes
    indices: indices into the list of pairs, the longest pairs first
    lowest: first diagonal (target position minus query position) of each pair's band; its parity is not that of the letters in both
        sequences
    slacks: number of diagonals by which each band extends beyond the diagonals of both corners
    max_letters: maximum number of letters in both sequences of a pair
    """

    cells_per_lane: int
    indices: Integers = field(repr=False)
    lowest: Integers = field(repr=False)
    slacks: Integers = field(repr=False)
    max_letters: int

    def halves(self) -> tuple[BandBatch, BandBatch]:
        """Split the batch into two of about the same size."""
        half = len(self.indices) // 2
        one, other = (
            replace(self, indices=self.indices[part], lowest=self.lowest[part], slacks=self.slacks[part])
            for part in (slice(half), slice(half, None))
        )
        return one, other

    @property
    def words_per_lane(self) -> int:
        """Number of 32-bit words for the directions of one pair, for each lane of a warp."""
        return (self.max_letters // _ANTIDIAGONALS_PER_WORD + 1) * self.cells_per_lane


def plan_batches(
    lengths: tuple[Integers, Integers], indices: Integers, slacks: Integers, warp_lanes: int, max_pairs: int
) -> list[BandBatch]:
    """Return batches of at most `max_pairs` pairs. Pairs whose bands are too wide are left out.

    lengths: lengths of the query and of the target of each pair in the list
    indices: indices of the pairs to plan
    slacks: number of diagonals by which the band of each of these pairs must extend beyond the diagonals of both corners
    warp_lanes: number of lanes of a warp
    """
    m, n = (one[indices] for one in lengths)
    needed = np.abs(n - m) + 2 * slacks + 2  # one more, as the parity of the first is given
    widths = 2 * warp_lanes * np.array(CELLS_PER_LANE)
    kinds = np.searchsorted(widths, needed)
    batches: list[BandBatch] = []
    for kind, cells in enumerate(CELLS_PER_LANE):
        chosen = np.flatnonzero(kinds == kind)
        chosen = chosen[np.argsort(-(m + n)[chosen], kind="stable")]
        for start in range(0, len(chosen), max_pairs):
            part = chosen[start : start + max_pairs]
            slack = (widths[kind] - 2 - np.abs(n - m)[part]) // 2
            lowest = np.minimum(0, (n - m)[part]) - slack
            lowest -= (lowest + (m + n)[part] + 1) % 2
            batches.append(BandBatch(cells, indices[part], lowest, slack, int((m + n)[part[0]])))
    return batches


def band_kernel(recipe: Recipe, cells_per_lane: int) -> Kernel:
    """Return the kernel for pairs in bands. recipe: of a task with paths, whose scores fit in 32 bits"""
    score_type = next(one for one in usable_score_types(recipe, 1, 1) if one.name == "S32")
    macros = dict(kernel_macros(recipe, score_type, 1, 1))
    kept = [(name, macros[name]) for name in ("LETTERS", "RESULT", "OPEN", "EXTEND", "LIFT", "LEVEL", "FREE_QUERY", "FREE_TARGET")]
    sign = "-1" if recipe.edit_distance else "1"
    return Kernel("trace_bands.cu", "trace_bands", (("CELLS", str(cells_per_lane)), *kept, ("SIGN", sign)))


def batches_by_weight(batches: Sequence[BandBatch]) -> list[BandBatch]:
    """Return the batches, those with the most work first."""
    return sorted(batches, key=lambda batch: -len(batch.indices) * batch.words_per_lane)
