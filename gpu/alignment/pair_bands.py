"""Plans the bands of listed pairs, batches of pairs whose bands have the same width, and the kernels for them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.families.rebased_scores import ScoreType, kernel_macros, score_type_by_name
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

BAND_WIDTHS = 1, 2, 3, 4, 6, 8, 12, 16, 24
"""Widths of bands: numbers of cells of an antidiagonal for each lane of a warp. A band has twice as many diagonals as such cells."""

_ANTIDIAGONALS_PER_WORD = 8  # whose directions for one such cell fit in a word
_TEAMS_PER_WARP = {1: 4, 2: 4, 3: 2, 4: 2, 6: 2, 8: 2}
"""By width, for 16-bit scores. With more teams per warp, a lane computes more cells for each exchange with its neighbours; with more than
four values per lane, the unrolled loop no longer fits in the registers."""
_OUTSIDE_32_BITS = -(1 << 29)  # OUTSIDE of 32-bit scores
_MAX_DIFFERENCE = 1 << 15  # of 16-bit scores: the kernel finds positive differences by their highest bit after adding 0x7fff


@dataclass(frozen=True)
class PackedScores:
    """How kernels for bands keep scores in 16 bits.

    score_type: type with two scores per word
    outside: value of cells that do not exist (OUTSIDE in cuda_src/alignment/band_cells.cuh)
    level: value of the first cell (LEVEL)
    max_length: maximum length of the shorter sequence of a pair
    """

    score_type: ScoreType
    outside: int
    level: int
    max_length: int


def packed_scores(recipe: Recipe) -> PackedScores | None:
    """Return how kernels for bands keep scores in 16 bits; None if the devices have no instructions for packed scores.

    The bounds, s' and o are those of cuda_src/alignment/band_cells.cuh. Values are below the level by at most three o (E and F, also of
    cells after the last row or column) and the lowest s' for each pair of letters, and above it by at most the largest s' for each pair.
    """
    form, name = recipe.rebased_form, recipe.packed_score_type
    assert form is not None
    if name is None:
        return None
    score_type, table, opening = score_type_by_name(name), recipe.make_score_table(), form.gap_open - form.gap_extend
    fall, rise = max(0, -int(table.min())), max(0, int(table.max()))
    outside = opening + fall
    largest = min(score_type.max_value, outside - fall + _MAX_DIFFERENCE)
    max_length = (largest - (outside + 3 * opening + fall + 1)) // max(1, rise + fall)
    return PackedScores(score_type, outside, outside + 3 * opening + fall * (max_length + 1) + 1, max_length)


def _teams_per_warp(width: int, packed: bool) -> int:
    return _TEAMS_PER_WARP.get(width, 1) if packed else 1


@dataclass(frozen=True)
class BandBatch:
    """Pairs whose bands have the same width.

    width: one of `BAND_WIDTHS`
    packed: whether 16 bits hold the scores of its pairs
    indices: indices into the list of pairs, the longest pairs, or groups, first
    lowest: first diagonal (target position minus query position) of each pair's band. Its parity is not that of the number of
        letters in both sequences; in groups it is odd.
    slacks: number of diagonals by which each band extends beyond the diagonals of both corners
    max_letters: maximum number of letters in both sequences of a pair
    """

    width: int
    packed: bool
    indices: Integers = field(repr=False)
    lowest: Integers = field(repr=False)
    slacks: Integers = field(repr=False)
    max_letters: int
    group_pairs: ClassVar[int] = 1  # number of consecutive pairs that a team of lanes aligns together

    def halves(self) -> tuple[BandBatch, BandBatch]:
        """Split the batch into two of about the same size."""
        half = len(self.indices) // (2 * self.group_pairs) * self.group_pairs
        one, other = (
            replace(self, indices=self.indices[part], lowest=self.lowest[part], slacks=self.slacks[part])
            for part in (slice(half), slice(half, None))
        )
        return one, other

    @property
    def teams_per_warp(self) -> int:
        """Number of teams into which the lanes of a warp are divided."""
        return _teams_per_warp(self.width, self.packed)

    def words_per_team(self, warp_lanes: int) -> int:
        """Return the number of 32-bit words that a team needs for its pairs."""
        return (self.max_letters // _ANTIDIAGONALS_PER_WORD + 1) * self.width * warp_lanes

    def kernel(self, recipe: Recipe) -> Kernel:
        """Return the kernel. recipe: of a task with paths, whose scores fit in 32 bits"""
        return band_kernel(recipe, self.width, self.packed)


def plan_batches(
    lengths: tuple[Integers, Integers], indices: Integers, slacks: Integers, warp_lanes: int, max_packed_length: int, max_pairs: int
) -> list[BandBatch]:
    """Return batches of at most `max_pairs` pairs. Pairs whose bands are too wide are left out.

    lengths: lengths of the query and of the target of each pair in the list
    indices: indices of the pairs to plan
    slacks: for each of these pairs, how many diagonals its band must extend beyond those of both corners
    warp_lanes: number of lanes of a warp
    max_packed_length: maximum length of the shorter sequence of a pair whose scores 16 bits hold
    """
    m, n = (one[indices] for one in lengths)
    needed = np.abs(n - m) + 2 * slacks + 2  # one more, as the parity of the first is given
    widths = 2 * warp_lanes * np.array(BAND_WIDTHS)
    kinds = np.searchsorted(widths, needed)
    batches: list[BandBatch] = []
    for kind, width in enumerate(BAND_WIDTHS):
        chosen = np.flatnonzero(kinds == kind)
        chosen = chosen[np.argsort(-(m + n)[chosen], kind="stable")]
        for start in range(0, len(chosen), max_pairs):
            part = chosen[start : start + max_pairs]
            slack = (widths[kind] - 2 - np.abs(n - m)[part]) // 2
            lowest = np.minimum(0, (n - m)[part]) - slack
            lowest -= (lowest + (m + n)[part] + 1) % 2
            packed = bool(np.minimum(m, n)[part].max() <= max_packed_length)
            batches.append(BandBatch(width, packed, indices[part], lowest, slack, int((m + n)[part[0]])))
    return batches


def band_kernel(recipe: Recipe, width: int, packed: bool) -> Kernel:
    """Return the kernel for batches of pairs. recipe: of a task with paths, whose scores fit in 32 bits"""
    assert recipe.rebased_form is not None
    scores = packed_scores(recipe) if packed else None
    score_type = scores.score_type if scores else score_type_by_name("S32")
    macros = dict(kernel_macros(recipe, score_type, 1, 1))
    teams = _teams_per_warp(width, packed)
    own = {
        "CELLS": width * teams // score_type.scores_per_word,
        "TEAMS": teams,
        "LEVEL": scores.level if scores else recipe.rebased_form.level,
        "OUTSIDE": scores.outside if scores else _OUTSIDE_32_BITS,
        "SIGN": -1 if recipe.edit_distance else 1,
    }
    kept = [(name, macros[name]) for name in ("CELL", "LETTERS", "RESULT", "OPEN", "EXTEND", "LIFT", "FREE_QUERY", "FREE_TARGET")]
    return Kernel("trace_bands.cu", "trace_bands", (*kept, *((name, str(value)) for name, value in own.items())))


def batches_by_weight(batches: Sequence[BandBatch]) -> list[BandBatch]:
    """Return the batches, those with the most work first."""
    return sorted(batches, key=lambda batch: -len(batch.indices) * batch.width * batch.max_letters)
