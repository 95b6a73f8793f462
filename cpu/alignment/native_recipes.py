"""Converts recipes to the types used by the compiled kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualign.cpu.alignment import _kernels

if TYPE_CHECKING:
    from gpualign.cpu.alignment.local_recipe import LocalRecipe
    from gpualign.cpu.alignment.path_recipe import PathRecipe
    from gpualign.cpu.alignment.recipe import Recipe


def _native_recipe(recipe: Recipe) -> _kernels.Recipe:
    out = _kernels.Recipe()
    for name in (
        "bitsliced",
        "width",
        "letters",
        "open_extra",
        "match_steps",
        "mismatch_steps",
        "pairs",
        "slice_columns",
        "sum_factor",
        "per_letter",
        "constant",
    ):
        setattr(out, name, getattr(recipe, name))
    out.set_table(np.ascontiguousarray(recipe.score_table))
    return out


def native_recipes(recipe: Recipe, vector_bytes: int) -> _kernels.Recipes:
    """Convert the recipe to the type of the compiled extension."""
    return _kernels.Recipes(
        _native_recipe(recipe), _native_recipe(recipe.remainder_recipe or recipe), recipe.remainder_threshold(vector_bytes)
    )


def native_path_recipe(recipe: PathRecipe, worker_bytes: int) -> _kernels.PathRecipe:
    """Convert the path recipe to the type of the compiled extension, with `worker_bytes` of scratch memory per worker."""
    out = _kernels.PathRecipe()
    out.differences = _native_recipe(recipe.differences)
    for name in ("extend", "free_query", "free_target", "negate", "sliced", "banded"):
        setattr(out, name, getattr(recipe, name))
    out.worker_bytes = worker_bytes
    out.set_usable(recipe.usable)
    return out


def native_local_recipe(recipe: LocalRecipe) -> _kernels.LocalRecipe:
    """Convert the local-score recipe to the type of the compiled extension."""
    out = _kernels.LocalRecipe()
    for name in ("letters", "padding", "open", "extend", "byte_scores", "narrowest", "widest", "column_steps", "most_columns"):
        setattr(out, name, getattr(recipe, name))
    out.set_table(np.ascontiguousarray(recipe.table))
    return out
