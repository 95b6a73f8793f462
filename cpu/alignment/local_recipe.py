"""Constants for computing local scores. Pure.

Scores are computed in bytes first. A score that overflows is recomputed in 16 bits, and then in as many bits as the longest pair could
need. A scoring whose weights exceed a range starts with a wider type.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import MAX_SCORE, Scoring
from gpualign.cpu.alignment.recipe import TABLE_SIZE

_COLUMN_MULTIPLE = 4
_VECTORS_PER_COLUMN = 4  # for each column: its letters, H, F, and the H that a path through a cell needs

_PAIR_SEGMENTS = 256
"""Vectors of rows in a strip of the kernels for one pair (`kStripedSegments`)."""

_COLUMN_STEP_BYTES = 640
"""Overhead of each column of a pair that is aligned on its own: as long as aligning this many bytes in lanes takes. It does not depend on
the size of vectors."""


@dataclass(frozen=True)
class LocalRecipe:
    """Parameters of the local-score kernels.

    table: score of each pair of letters, negative for padding, int32[32][32]
    letters: number of codes in use, including the padding code
    padding: code with which sequences are padded
    open, extend: cost of the first and of each further letter of a gap
    byte_scores: whether the score of every pair of letters fits in a signed byte
    narrowest: smallest width, in bytes, that holds every score of two letters, and gap costs in at most three quarters of its range
    widest: smallest width, in bytes, that holds every score of the task
    column_steps: cost of each column of a pair that is aligned on its own, in cells of a vector of lanes; with it, pairs are aligned on
        their own or in lanes, whichever takes less time
    most_columns: maximum length of sequences in lanes that memory allows
    """

    table: npt.NDArray[np.int32] = field(repr=False)
    letters: int
    padding: int
    open: int
    extend: int
    byte_scores: bool
    narrowest: int
    widest: int
    column_steps: float = 0
    most_columns: int = 2**62

    @property
    def kernel(self) -> str:
        gaps = "linear" if self.open == self.extend else "affine"
        return f"local, {gaps} gaps, {8 * self.narrowest}-bit scores" + (
            ", wider where they overflow" if self.narrowest < self.widest else ""
        )

    def lane_count(self, vector_bytes: int) -> int:
        """Return the number of targets that are aligned side by side."""
        return vector_bytes // self.narrowest

    def fit_scratch(self, vector_bytes: int, worker_bytes: int, profile_letters: int = 0) -> LocalRecipe:
        """Return the recipe for workers with `worker_bytes` of scratch memory and vectors of this size. Sequences too long for this memory
        are aligned pair by pair instead of in lanes.

        profile_letters: number of codes whose scores are kept for each column
        """
        return replace(
            self,
            most_columns=worker_bytes // ((_VECTORS_PER_COLUMN + profile_letters) * vector_bytes) - _COLUMN_MULTIPLE,
            column_steps=_COLUMN_STEP_BYTES / vector_bytes,
        )

    def min_scratch_bytes(self, vector_bytes: int, max_query_length: int, max_target_length: int) -> int:
        """Return the minimum scratch memory per worker, in bytes, for sequences up to these lengths. It holds H and F of each column of the
        shorter sequence of a pair, the state of a strip of the longer one, and the scores of its rows with each letter."""
        columns, rows = sorted((max_query_length, max_target_length))
        segments = min(_PAIR_SEGMENTS, -(-rows * self.widest // vector_bytes))
        return 2 * columns * self.widest + (self.letters + 2) * segments * vector_bytes


def make_local_recipe(scoring: Scoring, letters: int, max_query_length: int, max_target_length: int) -> LocalRecipe:
    """Return the recipe for sequences up to these lengths that use the codes 0 .. letters-1."""
    # No optimal path pairs letters that cost more than two gaps.
    raised = np.maximum(scoring.substitution, -2 * scoring.gap_open)[:letters, :letters]
    lowest, largest = min(int(raised.min()), -1), int(raised.max())
    table = np.full((TABLE_SIZE, TABLE_SIZE), lowest, dtype=np.int32)
    table[:letters, :letters] = raised

    def fits(bits: int) -> bool:
        max_value = 2 ** (bits - 1) - 1
        return bool(lowest >= -max_value - 1 and largest <= max_value)

    best = scoring.score_bounds(max_query_length, max_target_length)[1]
    widest = 4 if best <= MAX_SCORE - 1 else 8

    def leaves_room(bits: int) -> bool:
        """Return whether gap costs leave a quarter of the range to scores (`zero_element` in local_scores.hpp)."""
        quarter = 1 << (bits - 2)
        return scoring.gap_open < 2 * quarter and scoring.gap_open + scoring.gap_extend < 3 * quarter - 1

    narrowest = next((n for n in (1, 2) if fits(8 * n) and leaves_room(8 * n)), widest)
    return LocalRecipe(table, letters + 1, letters, scoring.gap_open, scoring.gap_extend, fits(8), narrowest, widest)
