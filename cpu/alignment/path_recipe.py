"""Constants for computing paths, statistics and free end gaps. Pure.

Edit distances without free end gaps are bit-sliced. All other scorings use the difference recurrence, in the narrowest element type that
holds the differences: directions cost more than cells, so bit-slicing the cells would gain little.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from gpualign.core.alignment.task import EndGaps
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import difference_form, usable_pair_mask
from gpualign.core.scoring.scoring import Scoring
from gpualign.cpu.alignment.recipe import TABLE_SIZE, Recipe, difference_recipe


@dataclass(frozen=True)
class PathRecipe:
    """Kernel parameters, named as in cpu/alignment/src/path.hpp. usable: bool[letters][letters], letter pairs that a path may contain."""

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
        """Return the number of targets in a block."""
        return vector_bytes * 8 if self.sliced else self.differences.lane_count(vector_bytes)


def make_path_recipe(scoring: Scoring, letters: int, end_gaps: EndGaps) -> PathRecipe:
    """Return the recipe for sequences that use the codes 0 .. letters-1."""
    form = difference_form(scoring, free_ends=end_gaps is not EndGaps.PENALISED)
    differences = difference_recipe(scoring, letters, form)
    usable = np.zeros((TABLE_SIZE, TABLE_SIZE), dtype=bool)
    usable[: len(form.rebased_scores), : len(form.rebased_scores)] = usable_pair_mask(scoring)
    sliced = scoring.edit and end_gaps is EndGaps.PENALISED
    kernel = "edit distance, bit-sliced" if sliced else differences.kernel
    return PathRecipe(
        f"{kernel}, with directions",
        differences,
        scoring.gap_extend,
        end_gaps.free_query,
        end_gaps.free_target,
        scoring.edit,
        sliced,
        differences.width == 8 and end_gaps is EndGaps.PENALISED,  # a path with free ends may leave any band at no cost
        usable,
    )
