"""Recipe for a task, read by every kernel family before the lengths in a batch are known. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Detail, Mode, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import RebasedForm, UnaryForm, rebased_form, unary_form, usable_letter_pair_mask
from gpualign.core.scoring.scoring import Scoring
from gpualign.gpu.kernels.kernel import compute_capability

Lengths = npt.NDArray[np.int64]

_MAX_MATCH_STEPS = 4  # of a bit-sliced kernel
_DPX_CAPABILITY, _HALF_MAX_CAPABILITY = 90, 80  # compute capabilities


U16X2, H16X2 = "U16x2", "H16x2"


def packed_score_type(archs: Iterable[str]) -> str | None:
    """Return the score type with two scores per word for which all of these architectures can compute maxima with one instruction.

    Compute capability 9.0 has such instructions for unsigned 16-bit numbers (U16X2), and 8.0 for half-precision floats (H16X2); None is
    returned for older architectures. The types are in cuda_src/alignment/score.cuh.

    archs: compiler names of the architectures; an unknown name, or no name, counts as a current architecture
    """
    oldest = min((compute_capability(arch) or _DPX_CAPABILITY for arch in archs), default=_DPX_CAPABILITY)
    return U16X2 if oldest >= _DPX_CAPABILITY else H16X2 if oldest >= _HALF_MAX_CAPABILITY else None


@dataclass(frozen=True)
class Recipe:
    """How a task is computed.

    letter_count: number of letter codes in use, 0 .. letter_count - 1
    result_dtype: type of the scores that kernels write
    rebased_form: rebased form of the recurrence; None for edit distances without paths
    unary_form: unary form of the recurrence; None if a bit-sliced kernel cannot compute it
    sum_factor, gap_cost_per_letter: numbers f and g with which a bit-sliced kernel computes a score: f times the sum of the steps along the
        last row, plus g times the sum of both lengths
    query_lengths: distinct query lengths, and the number of queries for each length
    needs_paths: whether path checkpoints are kept for the traceback
    host_traceback: whether the host traces paths, using complete direction matrices
    usable_pair_bits: uint32[letters + 1], bit t of word q tells whether a path may pair query letter q with target letter t; None if
        there are no paths
    packed_score_type: score type with two scores per word, as returned by the function `packed_score_type`
    """

    letter_count: int
    result_dtype: np.dtype[np.integer]
    affine_gaps: bool
    rebased_form: RebasedForm | None
    unary_form: UnaryForm | None
    edit_distance: bool
    sum_factor: int
    gap_cost_per_letter: int
    query_lengths: tuple[Lengths, Lengths]
    needs_paths: bool = False
    host_traceback: bool = False
    free_query_ends: bool = False
    free_target_ends: bool = False
    usable_pair_bits: npt.NDArray[np.uint32] | None = None
    packed_score_type: str | None = U16X2

    @property
    def is_local(self) -> bool:
        return self.rebased_form is not None and self.rebased_form.is_local

    @property
    def c_result_type(self) -> str:
        return f"{self.result_dtype.name}_t"

    @property
    def bits_per_letter(self) -> int:
        """Number of bits in a letter's code."""
        return max(1, (self.letter_count - 1).bit_length())

    def make_score_table(self) -> npt.NDArray[np.int32]:
        """Return the score table for the kernels, int32[letters + 1][letters + 1]. The last row and column are for the padding."""
        assert self.rebased_form is not None
        codes = [*range(self.letter_count), len(self.rebased_form.table) - 1]
        return self.rebased_form.table[np.ix_(codes, codes)].astype(np.int32)


def make_recipe(task: Task, host_traceback: bool = False, packed_score_type: str | None = U16X2) -> Recipe:
    """Return the recipe for a task.

    host_traceback: whether the host traces paths
    packed_score_type: score type with two scores per word, as returned by the function `packed_score_type`
    """
    scoring = task.scoring
    local = task.mode is Mode.LOCAL
    unary = None if local else unary_form(scoring)
    if unary is not None and unary.match_steps > _MAX_MATCH_STEPS:
        unary = None
    return Recipe(
        letter_count=int(max(task.queries.used_codes[-1], task.targets.used_codes[-1])) + 1,
        result_dtype=_result_dtype(task),
        affine_gaps=not scoring.has_linear_gaps,
        rebased_form=None
        if scoring.edit and not task.needs_more_than_final_cell
        else rebased_form(scoring, local, task.end_gaps.query_gaps_are_free),
        unary_form=unary,
        edit_distance=scoring.edit,
        sum_factor=0 if unary is None else -1 if scoring.edit else unary.factor,
        gap_cost_per_letter=1 if scoring.edit else -scoring.gap_open,
        query_lengths=np.unique(task.queries.lengths, return_counts=True),
        needs_paths=task.needs_more_than_final_cell,
        host_traceback=host_traceback and task.detail is not Detail.SCORE,
        free_query_ends=task.end_gaps.query_gaps_are_free,
        free_target_ends=task.end_gaps.target_gaps_are_free,
        usable_pair_bits=_usable_pair_bits(scoring) if task.needs_more_than_final_cell else None,
        packed_score_type=packed_score_type,
    )


def _result_dtype(task: Task) -> np.dtype[np.integer]:
    """Return the type of the scores that kernels write.

    If only global scores are copied back, it is the narrowest sufficient type, because the scores of short reads take longer to copy than
    to compute. Otherwise it is the task's type: local scores are maxima to which many threads contribute with an atomic instruction,
    which exists only for 32 and 64 bits.
    """
    if task.mode is Mode.LOCAL or task.top_count is not None or task.needs_more_than_final_cell:
        return task.score_dtype
    low, high = task.scoring.score_bounds(task.queries.max_length, task.targets.max_length)
    narrow: tuple[np.dtype[np.integer], ...] = np.dtype(np.uint8), np.dtype(np.int16)
    return next((dtype for dtype in narrow if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max), task.score_dtype)


def _usable_pair_bits(scoring: Scoring) -> npt.NDArray[np.uint32]:
    """Return `usable_letter_pair_mask` as bits: one word per letter, then 0 for the padding."""
    bits = usable_letter_pair_mask(scoring).astype(np.uint32) << np.arange(len(scoring.substitution), dtype=np.uint32)
    return np.append(bits.sum(axis=1), 0).astype(np.uint32)
