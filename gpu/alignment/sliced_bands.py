"""Plans bands of listed pairs for a kernel that aligns groups of 32 pairs with the same band, one bit for each pair. Pure."""

from __future__ import annotations

from math import gcd
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment.pair_bands import BandBatch
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Hardware, Kernel

LETTER_CODES = 4
"""Codes of letters that the kernel can align are below this number."""

SLICED_WIDTHS = 1, 2, 3, 4, 6
"""Widths of bands, numbers as in `BAND_WIDTHS`. In wider bands the values of a lane do not fit in its registers."""

MIN_WARPS = 4
"""Minimum number of warps of each multiprocessor that must have a group at the same time; with fewer, trace_bands.cu is faster
(benchmarks/log: G-105)."""

MAX_GROUPED_PAIRS = 1 << 17  # in a batch

_BLOCKS = {1: 6, 2: 4, 3: 3}  # per multiprocessor by width, else 2: as many as leave a thread the registers that it needs
_MAX_BITS = 5  # of a number
_WORDS_PER_CELL = 4  # for the directions of all pairs of a group
_GRID_STEPS = 8  # in the width of a band, of the grid on which first diagonals lie


@dataclass(frozen=True)
class SlicedScores:
    """A scoring as the kernel needs it (cuda_src/alignment/sliced_cells.cuh).

    equal, different: rebased scores of equal and of other letters, S and X
    opening: additional cost of opening a gap, o
    bits: number of bits of a difference, W
    """

    equal: int
    different: int
    opening: int
    bits: int


def sliced_scores(recipe: Recipe) -> SlicedScores | None:
    """Return the scoring of a recipe; None if the kernel cannot align with it. A common factor is divided out."""
    form, usable = recipe.rebased_form, recipe.usable_pair_bits
    assert form is not None
    assert usable is not None
    letters = min(recipe.letter_count, LETTER_CODES)
    table = recipe.make_score_table()[:letters, :letters]
    equal, others = np.unique(table.diagonal()), np.unique(table[~np.eye(letters, dtype=np.bool_)])
    if len(equal) > 1 or len(others) != 1:
        return None
    high, low, opening = int(equal[0]), int(others[0]), form.gap_open - form.gap_extend
    if high <= max(low, 0) or low < -opening or (~usable[:letters] & (1 << letters) - 1).any():
        return None
    factor = gcd(high, low, opening)
    high, low, opening = high // factor, low // factor, opening // factor
    bits = max(2 * opening + low - 1, high - low).bit_length() + 1
    return SlicedScores(high, low, opening, bits) if bits <= _MAX_BITS else None


@dataclass(frozen=True)
class GroupLimits:
    """Limits of batches of groups on a device.

    min_pairs: minimum number of pairs with bands of the same width
    max_pairs: maximum number of pairs in a batch
    max_team_words: maximum number of 32-bit words that a group needs
    """

    min_pairs: int
    max_pairs: int
    max_team_words: int


def group_limits(hardware: Hardware, free_bytes: int) -> GroupLimits:
    """Return the limits for a device. free_bytes: device memory for all batches that are aligned at the same time"""
    warps = MIN_WARPS * hardware.multiprocessor_count
    return GroupLimits(warps * SlicedBandBatch.group_pairs, MAX_GROUPED_PAIRS, free_bytes // (4 * max(1, warps)))


@dataclass(frozen=True)
class SlicedBandBatch(BandBatch):
    """Groups of pairs whose bands have the same width. The pairs of a group have the same band, whose first diagonal is odd."""

    group_pairs: ClassVar[int] = 32

    def words_per_team(self, warp_lanes: int) -> int:
        return (self.max_letters + 1) * _words_per_antidiagonal(self.width, warp_lanes)

    def kernel(self, recipe: Recipe) -> Kernel:
        return sliced_band_kernel(recipe, self.width)


def _words_per_antidiagonal(width: int, warp_lanes: int) -> int:
    """Return the number of 32-bit words that a group needs for each antidiagonal: for its directions, and four for letters."""
    return width * warp_lanes * _WORDS_PER_CELL + 4


def plan_sliced_batches(
    lengths: tuple[Integers, Integers], indices: Integers, slacks: Integers, warp_lanes: int, limits: GroupLimits
) -> tuple[list[BandBatch], Integers]:
    """Return (batches of groups of 32 with the same band; positions in `indices` of the pairs that are left out).

    lengths: lengths of the query and of the target of each pair in the list
    indices: indices of the pairs to plan
    slacks: for each of these pairs, how many diagonals its band must extend beyond those of both corners
    warp_lanes: number of lanes of a warp
    """
    m, n = (one[indices].astype(np.int32) for one in lengths)
    letters, slacks = m + n, slacks.astype(np.int32)
    first, last = np.minimum(0, n - m) - slacks, np.maximum(0, n - m) + slacks
    diagonals = 2 * warp_lanes * np.array(SLICED_WIDTHS, dtype=np.int32)
    steps = diagonals // _GRID_STEPS
    kinds = np.searchsorted(diagonals - steps, last - first)  # wide enough wherever on the grid the band begins
    fits = kinds < len(SLICED_WIDTHS)
    kinds = np.minimum(kinds, len(SLICED_WIDTHS) - 1)
    max_letters = np.array([limits.max_team_words // _words_per_antidiagonal(width, warp_lanes) - 1 for width in SLICED_WIDTHS])
    usable = np.flatnonzero(fits & (letters <= max_letters[kinds]))
    grid_places = (first - 1) // steps[kinds]
    lowest = grid_places * steps[kinds] + 1
    room = np.minimum(first - lowest, lowest + diagonals[kinds] - 1 - last)
    bands = (kinds + 1) * _GRID_STEPS + grid_places  # a band that fits contains diagonal 0, so its place is one of -_GRID_STEPS .. -1
    groups = _whole_groups(usable, bands[usable], letters[usable])
    is_left = np.ones(len(indices), dtype=np.bool_)
    batches: list[BandBatch] = []
    groups_per_batch = max(1, limits.max_pairs // SlicedBandBatch.group_pairs)
    for kind, width in enumerate(SLICED_WIDTHS):
        own = groups[kinds[groups[:, 0]] == kind]
        if own.size < max(limits.min_pairs, 1):
            continue
        is_left[own] = False
        own = own[np.argsort(-letters[own[:, 0]], kind="stable")]
        for start in range(0, len(own), groups_per_batch):
            part = own[start : start + groups_per_batch].ravel()
            lows, slack = lowest[part].astype(np.int64), (slacks[part] + room[part]).astype(np.int64)
            batches.append(SlicedBandBatch(width, False, indices[part], lows, slack, int(letters[part[0]])))
    return batches, np.flatnonzero(is_left)


def _whole_groups(pairs: Integers, bands: Integers, letters: npt.NDArray[np.int32]) -> Integers:
    """Return the pairs in groups with the same band and similar numbers of letters, int64[groups][pairs of a group], in each the longest
    first. The last pairs of a band, which do not fill a group, are left out.

    bands, letters: band, and number of letters, of each pair
    """
    order = np.argsort(bands << 32 | (letters.max(initial=0) - letters))
    bands, size = bands[order], SlicedBandBatch.group_pairs
    starts = np.flatnonzero(np.diff(bands, prepend=-1))
    counts = np.diff(starts, append=len(bands))
    rank = np.arange(len(bands)) - np.repeat(starts, counts)
    groups: Integers = pairs[order[rank < np.repeat(counts // size * size, counts)]].reshape(-1, size)
    return groups


def sliced_band_kernel(recipe: Recipe, width: int) -> Kernel:
    """Return the kernel for groups. recipe: of a task with paths, which has `sliced_scores`; width: one of `SLICED_WIDTHS`"""
    form, scores = recipe.rebased_form, sliced_scores(recipe)
    assert form is not None
    assert scores is not None
    table = recipe.make_score_table() - 2 * form.gap_extend
    macros = {
        "EQUAL": scores.equal,
        "DIFFERENT": scores.different,
        "OPENING": scores.opening,
        "BITS": scores.bits,
        "CELLS": width,
        "BLOCKS": _BLOCKS.get(width, 2),
        "MATCH": table[0, 0],
        "MISMATCH": table[0, 1],
        "OPEN": form.gap_open,
        "EXTEND": form.gap_extend,
        "RESULT": recipe.c_result_type,
        "SIGN": -1 if recipe.edit_distance else 1,
    }
    return Kernel("trace_sliced_bands.cu", "trace_sliced_bands", tuple((name, str(value)) for name, value in macros.items()))
