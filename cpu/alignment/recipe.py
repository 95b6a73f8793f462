"""Which kernel computes a scoring, and the constants that turn its sums into scores. Pure.

The rule (measured in benchmarks/):
- edit distance: bit-sliced over the targets;
- linear gaps, two-valued scores and a unary form of at most four steps (2/-1/1, 1/-1/1, ...): bit-sliced, if no target has
  over 65,536 letters and the masks fit the memory of a worker, for targets that fill two thirds of a vector's bits, and for fewer
  where several queries that share a vector take fewer steps than bytes;
- everything else: the difference recurrence in the narrowest element that provably holds it (core/scoring/recurrence_forms.py).

Where targets are fewer than bits, or a set is compared with itself, several queries share a vector, with 16 or 32 targets
each (cpu/alignment/src/query_slices.hpp; AVX2 and AVX-512). Where a query meets few targets in a block, and in edit distance for very long
targets, a kernel of single pairs takes over: Myers' words for edit distance, a wavefront of byte differences else
(cpu/alignment/src/pairs.cpp compares their steps).
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
"""The largest unary form for which bit-slicing is compiled; beyond it bytes are as fast."""

_SHARED_VECTOR_BYTES, _SHARING_QUERIES = 32, 16  # of the smallest vectors that several queries share; of each
_COLUMN_MULTIPLE = 4
_LONGEST_SLICED = 65_536  # sets of longer records seldom fill the lanes, and making their masks would take seconds
_LEAST_SLICE_COLUMNS = 4096  # some five megabytes, which any budget has
_KEPT_BYTES = 32 << 20  # kKeptBytes of cpu/alignment/src/pairs.cpp


def queries_together(vector_bytes: int) -> int:
    """Of a bit-sliced vector that several queries share; 1 where vectors are too small for that."""
    return _SHARING_QUERIES if vector_bytes >= _SHARED_VECTOR_BYTES else 1


def targets_together(vector_bytes: int) -> int:
    """Of each of these queries; 0 where a vector has one."""
    return vector_bytes * 8 // _SHARING_QUERIES if vector_bytes >= _SHARED_VECTOR_BYTES else 0


@dataclass(frozen=True)
class Recipe:
    """The kernel's parameters, named as in cpu/src/work.hpp.

    score = sum_factor * (kernel's sum) + per_letter * (m + n) + constant
    """

    kernel: str
    bitsliced: bool = False
    width: int = 8
    table: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=np.uint32), repr=False)
    letters: int = TABLE_SIZE
    open_extra: int = 0
    match_steps: int = 0
    mismatch_steps: int = 0
    pairs: str = ""
    slice_columns: int = 0
    sum_factor: int = 1
    per_letter: int = 0
    constant: int = 0
    rest: Recipe | None = None
    """Computes the last targets of a tile where they are fewer than `rest_below` and queries that share vectors take longer."""

    def rest_below(self, vector_bytes: int) -> int:
        """Targets that are too few for the lanes; 0 without another recipe for them."""
        return 2 * self.lanes(vector_bytes) // 3 if self.rest else 0

    def lanes(self, vector_bytes: int) -> int:
        """Targets that one pass takes."""
        return vector_bytes * 8 if self.bitsliced else vector_bytes * 8 // self.width

    def scratch_bytes(self, vector_bytes: int, longest: int) -> int:
        """Memory of one worker whose longest target has `longest` letters."""
        columns = longest + _COLUMN_MULTIPLE
        if self.rest:
            return replace(self, rest=None).scratch_bytes(vector_bytes, longest) + self.rest.scratch_bytes(vector_bytes, longest)
        if not self.bitsliced:
            boundaries = 2 * vector_bytes
            return columns * (self.lanes(vector_bytes) + boundaries) + (_pair_bytes(longest) if self.pairs else 0)
        sliced = min(columns, self.slice_columns) if self.pairs else columns
        return sliced * _slice_column_bytes(self, vector_bytes) + (_pair_bytes(longest) if self.pairs else 0)


def _pair_bytes(longest: int) -> int:
    """Kernels of single pairs: at most five planes of one target and its steps; targets kept packed between queries."""
    return 7 * longest + _KEPT_BYTES


def _slice_column_bytes(recipe: Recipe, vector_bytes: int) -> int:
    """Masks of every letter and of none, live lanes, and the boundary's planes of one column; where several queries share a vector, two
    tables, live targets, and of two rows the letters.
    """
    return vector_bytes * (recipe.letters + 2 + recipe.match_steps) + 4 * vector_bytes + 4


def difference_recipe(scoring: Scoring, letters: int, form: DifferenceForm) -> Recipe:
    """The recipe of the difference recurrence in a form of it."""
    table = np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=np.uint32)
    table[: len(form.shifted), : len(form.shifted)] = form.shifted & 0xFFFFFFFF
    gaps = "linear" if scoring.linear else "affine"
    return Recipe(
        f"{gaps} gaps, {form.width}-bit differences",
        width=form.width,
        table=table,
        letters=letters,
        pairs="wavefront" if form.width == 8 else "",
        open_extra=form.open_extra,
        per_letter=-scoring.gap_extend,
        constant=-form.open_extra,
    )


def make_recipe(scoring: Scoring, letters: int, targets: int, longest: int, vector_bytes: int, worker_bytes: int) -> Recipe:
    """The recipe for sequences that use the codes 0 .. letters-1 and `targets` targets of up to `longest` letters, with about
    `worker_bytes` of scratch memory for each worker."""
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
        columns = max(_LEAST_SLICE_COLUMNS, (worker_bytes - _pair_bytes(longest)) // _slice_column_bytes(recipe, vector_bytes))
        name = "edit distance, bit-sliced or Myers' words"
        return replace(recipe, kernel=name, pairs="myers", slice_columns=columns, sum_factor=-1, per_letter=1)
    rest = difference_recipe(scoring, letters, difference_form(scoring))
    recipe = replace(recipe, rest=rest)
    enough = targets >= recipe.rest_below(vector_bytes) or vector_bytes >= _SHARED_VECTOR_BYTES
    return recipe if enough and longest <= _LONGEST_SLICED and recipe.scratch_bytes(vector_bytes, longest) <= worker_bytes else rest
