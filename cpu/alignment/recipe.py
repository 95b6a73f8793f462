"""Selects the kernel for a scoring, and the constants that convert the kernel's sums to scores. Pure.

Rules (measured in benchmarks/):
- edit distance: bit-sliced across targets;
- linear gaps, with a match score and a mismatch score that take at most four steps to count (`unary_form`; match/mismatch/gap 2/-1/1,
  1/-1/1, ...): bit-sliced, if no target has more than 65,536 letters and the masks fit in a worker's memory; used for targets that fill two
  thirds of a vector's bits, and for fewer targets if several queries that share a vector take fewer steps than with bytes;
- everything else: the difference recurrence in the narrowest element type that provably holds the differences
  (core/scoring/recurrence_forms.py).

If there are fewer targets than bits, or a set is compared with itself, several queries share a vector, with 16 or 32 targets each
(cpu/alignment/src/query_slices.hpp; AVX2 and AVX-512). If a query has few targets in a block, and for edit distance with very long targets,
a single-pair kernel takes over: Myers' words for edit distance, otherwise a wavefront of byte differences (cpu/alignment/src/tile.cpp
compares the costs).
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import DifferenceForm, difference_form, unary_form
from gpualign.core.scoring.scoring import Scoring

TABLE_SIZE = 32
MAX_MATCH_STEPS = 4
"""Maximum number of match steps (`unary_form`) for which bit-sliced kernels are compiled. With more steps, kernels with one byte per pair
are as fast."""

_SHARED_VECTOR_BYTES, _SHARING_QUERIES = 32, 16  # size of the smallest vectors that queries share; number of these queries
_COLUMN_MULTIPLE = 4
_MAX_SLICED_LETTERS = 65_536  # sets of longer records rarely fill the lanes, and making their masks would take seconds
_MIN_SLICE_COLUMNS = 4096  # some five megabytes, which fit any budget
_CACHED_TARGET_BYTES = 32 << 20  # kCachedBytes of cpu/alignment/src/pairs.cpp


def queries_per_vector(vector_bytes: int) -> int:
    """Return the number of queries that share a bit-sliced vector; 1 if vectors are too small to be shared."""
    return _SHARING_QUERIES if vector_bytes >= _SHARED_VECTOR_BYTES else 1


def targets_per_query(vector_bytes: int) -> int:
    """Return the number of targets per query in a shared vector; 0 if vectors are not shared."""
    return vector_bytes * 8 // _SHARING_QUERIES if vector_bytes >= _SHARED_VECTOR_BYTES else 0


@dataclass(frozen=True)
class Recipe:
    """Parameters of the score kernels.

    kernel: human-readable description of the kernel
    bitsliced: whether each pair takes one bit of a vector; otherwise the difference recurrence is used, with one element per pair
    width: bits of an element
    score_table: scores of letter pairs as the difference recurrence uses them (core/scoring/recurrence_forms.py), uint32[32][32]
    letters: number of codes in use
    open_extra: cost of opening a gap minus cost of extending it
    match_steps, mismatch_steps: scores of a match and of a mismatch as the bit-sliced kernel counts them
    pairs: kernel for single pairs: "myers", "wavefront", or "" if there is none
    slice_columns: maximum length of bit-sliced targets, so that memory suffices; longer targets are left to the kernel for single pairs
    sum_factor, per_letter, constant: for sequences of m and n letters, the score is sum_factor * (the kernel's sum) + per_letter * (m + n)
        + constant
    remainder_recipe: recipe for the last targets of a tile, if fewer than `remainder_threshold` are left, and if it takes less time than
        queries that share vectors
    """

    kernel: str
    bitsliced: bool = False
    width: int = 8
    score_table: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=np.uint32), repr=False)
    letters: int = TABLE_SIZE
    open_extra: int = 0
    match_steps: int = 0
    mismatch_steps: int = 0
    pairs: str = ""
    slice_columns: int = 0
    sum_factor: int = 1
    per_letter: int = 0
    constant: int = 0
    remainder_recipe: Recipe | None = None

    def remainder_threshold(self, vector_bytes: int) -> int:
        """Return the number of targets below which `remainder_recipe` is used; 0 if there is none."""
        return 2 * self.lane_count(vector_bytes) // 3 if self.remainder_recipe else 0

    def lane_count(self, vector_bytes: int) -> int:
        """Return the number of targets that are aligned side by side."""
        return vector_bytes * 8 if self.bitsliced else vector_bytes * 8 // self.width

    def scratch_bytes(self, vector_bytes: int, max_target_length: int) -> int:
        """Return the scratch memory, in bytes, that a worker needs if its longest target has `max_target_length` letters."""
        columns = max_target_length + _COLUMN_MULTIPLE
        if self.remainder_recipe:
            return replace(self, remainder_recipe=None).scratch_bytes(
                vector_bytes, max_target_length
            ) + self.remainder_recipe.scratch_bytes(vector_bytes, max_target_length)
        if not self.bitsliced:
            boundaries = 2 * vector_bytes
            return columns * (self.lane_count(vector_bytes) + boundaries) + (_pair_bytes(max_target_length) if self.pairs else 0)
        sliced = min(columns, self.slice_columns) if self.pairs else columns
        return sliced * _slice_column_bytes(self, vector_bytes) + (_pair_bytes(max_target_length) if self.pairs else 0)


def _pair_bytes(max_target_length: int) -> int:
    """Return the memory, in bytes, that the kernels for single pairs need: up to five planes of a target, its steps, and targets that stay
    packed for several queries."""
    return 7 * max_target_length + _CACHED_TARGET_BYTES


def _slice_column_bytes(recipe: Recipe, vector_bytes: int) -> int:
    """Return the memory, in bytes, that a bit-sliced kernel needs per column. A kernel always needs one mask per letter, one empty mask,
    the mask of lanes in use, and the boundary planes. If several queries share a vector, it also needs two lookup tables, the targets in
    use, and the letters of two rows."""
    return vector_bytes * (recipe.letters + 2 + recipe.match_steps) + 4 * vector_bytes + 4


def difference_recipe(scoring: Scoring, letters: int, form: DifferenceForm) -> Recipe:
    """Return the recipe for one form of the difference recurrence."""
    table = np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=np.uint32)
    table[: len(form.rebased_scores), : len(form.rebased_scores)] = form.rebased_scores & 0xFFFFFFFF
    gaps = "linear" if scoring.has_linear_gaps else "affine"
    return Recipe(
        f"{gaps} gaps, {form.width}-bit differences",
        width=form.width,
        score_table=table,
        letters=letters,
        pairs="wavefront" if form.width == 8 else "",
        open_extra=form.open_extra,
        per_letter=-scoring.gap_extend,
        constant=-form.open_extra,
    )


def make_recipe(scoring: Scoring, letters: int, target_count: int, max_target_length: int, vector_bytes: int, worker_bytes: int) -> Recipe:
    """Return the recipe for sequences that use the codes 0 .. letters-1.

    target_count: number of targets
    max_target_length: number of letters in the longest target
    vector_bytes: vector size in bytes
    worker_bytes: approximate scratch memory per worker, in bytes
    """
    unary = unary_form(scoring)
    if unary is None or unary.match_steps > MAX_MATCH_STEPS:
        return difference_recipe(scoring, letters, difference_form(scoring))
    recipe = Recipe(
        f"linear gaps, bit-sliced in {unary.match_steps} steps",
        bitsliced=True,
        letters=letters,
        match_steps=unary.match_steps,
        mismatch_steps=unary.mismatch_steps,
        sum_factor=unary.factor,
        per_letter=-scoring.gap_open,
    )
    if scoring.edit:
        columns = max(_MIN_SLICE_COLUMNS, (worker_bytes - _pair_bytes(max_target_length)) // _slice_column_bytes(recipe, vector_bytes))
        name = "edit distance, bit-sliced or Myers' words"
        return replace(recipe, kernel=name, pairs="myers", slice_columns=columns, sum_factor=-1, per_letter=1)
    differences = difference_recipe(scoring, letters, difference_form(scoring))
    recipe = replace(recipe, remainder_recipe=differences)
    enough = target_count >= recipe.remainder_threshold(vector_bytes) or vector_bytes >= _SHARED_VECTOR_BYTES
    return (
        recipe
        if enough and max_target_length <= _MAX_SLICED_LETTERS and recipe.scratch_bytes(vector_bytes, max_target_length) <= worker_bytes
        else differences
    )
