"""Constants for computing paths, statistics and free end gaps. Pure.

Edit distances without free end gaps are bit-sliced. All other scorings use the difference recurrence, in the narrowest element type that
holds the differences: storing directions takes longer than computing cells, so bit-slicing the cells would gain little.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from gpualign.core.alignment.task import EndGaps
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import difference_form, usable_letter_pair_mask
from gpualign.core.scoring.scoring import Scoring
from gpualign.cpu.alignment.recipe import TABLE_SIZE, Recipe, difference_recipe


@dataclass(frozen=True)
class PathRecipe:
    """Parameters of the path kernels.

    kernel: human-readable description of the kernel
    differences: recipe for the difference recurrence; its fields that convert sums to scores are not used
    extend: cost of a letter that extends a gap
    free_query: whether gaps in the query before its first and after its last letter cost nothing
    free_target: whether gaps in the target before its first and after its last letter cost nothing
    negate: whether scores are negated, because they are edit distances
    sliced: whether vectors hold one bit per target, as for edit distances
    banded: whether a band of diagonals, with a proof that it contains the path, is tried first
    usable: mask of the letter pairs that a path may contain, bool[letters][letters]
    """

    kernel: str
    differences: Recipe
    extend: int
    free_query: bool
    free_target: bool
    negate: bool
    sliced: bool
    banded: bool
    usable: Booleans = field(repr=False)

    def lane_count(self, vector_bytes: int) -> int:
        """Return the number of targets that are aligned side by side."""
        return vector_bytes * 8 if self.sliced else self.differences.lane_count(vector_bytes)


def make_path_recipe(scoring: Scoring, letters: int, end_gaps: EndGaps) -> PathRecipe:
    """Return the recipe for sequences that use the codes 0 .. letters-1."""
    form = difference_form(scoring, free_ends=end_gaps is not EndGaps.PENALISED)
    differences = difference_recipe(scoring, letters, form)
    usable = np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=bool)
    usable[: len(form.rebased_scores), : len(form.rebased_scores)] = usable_letter_pair_mask(scoring)
    sliced = scoring.edit and end_gaps is EndGaps.PENALISED
    kernel = "edit distance, bit-sliced" if sliced else differences.kernel
    return PathRecipe(
        f"{kernel}, with directions",
        differences,
        scoring.gap_extend,
        end_gaps.query_gaps_are_free,
        end_gaps.target_gaps_are_free,
        scoring.edit,
        sliced,
        differences.width == 8 and end_gaps is EndGaps.PENALISED,  # a path with free ends may leave any band at no cost
        usable,
    )
