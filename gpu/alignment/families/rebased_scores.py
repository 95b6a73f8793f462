"""Parts shared by the kernel families in threads.cu and chain.cu: the macros for the rebased recurrence
(cuda_src/alignment/recurrence.cuh) and the score types. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.recurrence_forms import fits_bytes, fits_profile
from gpualign.gpu.alignment.recipe import Recipe
from gpualign.gpu.kernels.kernel import Kernel

Macros = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ScoreType:
    """Score type in cuda_src/alignment/score.cuh.

    bits: bits per score
    scores_per_word: number of scores in one word, each of a different pair
    max_value: largest representable value
    """

    name: str
    bits: int
    scores_per_word: int
    max_value: int


_SCORE_TYPES = (
    ScoreType("U16x2", 16, 2, 2**16 - 1),
    ScoreType("H16x2", 16, 2, 0x7C00),  # infinity as a half float; larger values are not numbers
    ScoreType("S32", 32, 1, 2**31 - 1),
    ScoreType("S64", 64, 1, 2**63 - 1),
)


def score_type_by_name(name: str) -> ScoreType:
    """Return the score type with a name in cuda_src/alignment/score.cuh."""
    return next(one for one in _SCORE_TYPES if one.name == name)


def usable_score_types(recipe: Recipe, max_query_length: int, max_target_length: int) -> list[ScoreType]:
    """Return the score types that can hold all values for pairs of up to these lengths, narrowest first.

    The list is empty if the recipe has no rebased form. Of the types with two scores per word, only the recipe's type is returned. Raises
    `OverflowError` if 64 bits are not enough.
    """
    form = recipe.rebased_form
    if form is None:
        return []
    largest = form.max_value(max_query_length, max_target_length + 4)
    small = fits_profile(recipe.make_score_table())
    cells = [
        c for c in _SCORE_TYPES if largest <= c.max_value and (c.scores_per_word == 1 or (small and c.name == recipe.packed_score_type))
    ]
    if not cells:
        raise OverflowError(f"{largest} does not fit 64 bits")
    return cells


def doubled_scores_fit_bytes(recipe: Recipe) -> bool:
    """Return whether twice each score in the table fits in the signed bytes of a query profile (see cuda_src/alignment/score.cuh)."""
    return fits_bytes(recipe.make_score_table(), 2)


def kernel_macros(recipe: Recipe, score_type: ScoreType, rows: int, checkpoint_interval: int) -> Macros:
    """Return the macros for a kernel with strips of `rows` rows and path checkpoints every `checkpoint_interval` columns."""
    form = recipe.rebased_form
    assert form is not None
    values = {
        "CELL": score_type.name,
        "IS_LOCAL": str(form.is_local).lower(),
        "IS_AFFINE": str(recipe.affine_gaps).lower(),
        "ROWS": rows,
        "LETTERS": recipe.letter_count + 1,
        "RESULT": recipe.c_result_type,
        "OPEN": form.gap_open,
        "EXTEND": form.gap_extend,
        "LIFT": form.lift,
        "LEVEL": form.level,
        "PATHS": int(recipe.needs_paths),
        "TILE": checkpoint_interval,
        "FREE_QUERY": int(recipe.free_query_ends),
        "FREE_TARGET": int(recipe.free_target_ends),
    }
    return tuple((name, str(value)) for name, value in values.items())


def make_trace_kernel(recipe: Recipe, file: str, function: str, forward_macros: Macros) -> Kernel | None:
    """Return the traceback kernel, or None if no paths are requested. forward_macros: macros of the alignment kernel"""
    return Kernel(file, function, (*forward_macros, ("SIGN", "-1" if recipe.edit_distance else "1"))) if recipe.needs_paths else None


def kernel_title(recipe: Recipe, score_type: ScoreType, pair_assignment: str) -> str:
    """Return a human-readable name for a kernel. pair_assignment: how pairs are assigned to threads."""
    checkpoints = ", with checkpoints" if recipe.needs_paths else ""
    if recipe.host_traceback:
        checkpoints = ", matrices traced by the host"
    return f"{'affine' if recipe.affine_gaps else 'linear'} gaps, {score_type.bits}-bit scores{checkpoints}, {pair_assignment}"


def carry_count(recipe: Recipe) -> int:
    """Return the number of values per column that a strip passes to the next strip."""
    return 2 if recipe.affine_gaps else 1


def direction_words(recipe: Recipe, rows: int) -> int:
    """Return the number of 32-bit words for the traceback directions in one column of a strip of `rows` rows."""
    return -(-rows // (8 if recipe.affine_gaps else 16))
