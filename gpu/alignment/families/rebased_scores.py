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
    pairs: number of pairs with a score in one word
    max_value: largest representable value
    """

    name: str
    bits: int
    pairs: int
    max_value: int


_SCORE_TYPES = (
    ScoreType("U16x2", 16, 2, 2**16 - 1),
    ScoreType("H16x2", 16, 2, 0x7C00),  # infinity as a half float; larger values are not numbers
    ScoreType("S32", 32, 1, 2**31 - 1),
    ScoreType("S64", 64, 1, 2**63 - 1),
)


def usable_score_types(recipe: Recipe, longest_query: int, longest_target: int) -> list[ScoreType]:
    """Return the types that hold all values for pairs of up to these lengths, narrowest first; none if the recipe has no rebased form.

    Of the types with two scores per word, only the recipe's type is returned. Raises `OverflowError` if 64 bits are not enough.
    """
    form = recipe.form
    if form is None:
        return []
    largest = form.max_value(longest_query, longest_target + 4)
    small = fits_profile(recipe.table())
    cells = [c for c in _SCORE_TYPES if largest <= c.max_value and (c.pairs == 1 or (small and c.name == recipe.packed))]
    if not cells:
        raise OverflowError(f"{largest} does not fit 64 bits")
    return cells


def doubled(recipe: Recipe) -> bool:
    """Return whether a profile's signed bytes can hold twice the scores (cuda_src/alignment/score.cuh). If not, no byte may be negative."""
    return fits_bytes(recipe.table(), 2)


def macros(recipe: Recipe, score_type: ScoreType, rows: int, tile: int) -> Macros:
    """Return the macros for a kernel with strips of `rows` rows and checkpoints every `tile` columns."""
    form = recipe.form
    assert form is not None
    values = {
        "CELL": score_type.name,
        "IS_LOCAL": str(form.is_local).lower(),
        "IS_AFFINE": str(recipe.affine).lower(),
        "ROWS": rows,
        "LETTERS": recipe.letters + 1,
        "RESULT": recipe.c_result,
        "OPEN": form.gap_open,
        "EXTEND": form.gap_extend,
        "LIFT": form.lift,
        "LEVEL": form.level,
        "PATHS": int(recipe.paths),
        "TILE": tile,
        "FREE_QUERY": int(recipe.free_query),
        "FREE_TARGET": int(recipe.free_target),
    }
    return tuple((name, str(value)) for name, value in values.items())


def trace_kernel(recipe: Recipe, file: str, function: str, forward: Macros) -> Kernel | None:
    """Return the traceback kernel for a kernel with the macros `forward`; None if no paths are requested."""
    return Kernel(file, function, (*forward, ("SIGN", "-1" if recipe.edit else "1"))) if recipe.paths else None


def title(recipe: Recipe, score_type: ScoreType, how: str) -> str:
    """Return a human-readable name for a kernel. how: how pairs are assigned to threads."""
    checkpoints = ", with checkpoints" if recipe.paths else ""
    if recipe.host_traceback:
        checkpoints = ", matrices traced by the host"
    return f"{'affine' if recipe.affine else 'linear'} gaps, {score_type.bits}-bit scores{checkpoints}, {how}"


def carries(recipe: Recipe) -> int:
    """Return the number of values per column passed to the next strip."""
    return 2 if recipe.affine else 1


def direction_words(recipe: Recipe, rows: int) -> int:
    """Return the number of words needed for the directions in one column of a strip."""
    return -(-rows // (8 if recipe.affine else 16))
