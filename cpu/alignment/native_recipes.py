"""Recipes as the compiled kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpualign.cpu.alignment import _kernels

if TYPE_CHECKING:
    from gpualign.cpu.alignment.local_recipe import LocalRecipe
    from gpualign.cpu.alignment.path_recipe import PathRecipe
    from gpualign.cpu.alignment.recipe import Recipe


def _native(recipe: Recipe) -> _kernels.Recipe:
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
    out.set_table(np.ascontiguousarray(recipe.table))
    return out


def native_recipes(recipe: Recipe, vector_bytes: int) -> _kernels.Recipes:
    """The recipe as the extension takes it."""
    return _kernels.Recipes(_native(recipe), _native(recipe.rest or recipe), recipe.rest_below(vector_bytes))


def native_paths(recipe: PathRecipe, worker_bytes: int) -> _kernels.PathRecipe:
    """The recipe for paths as the extension takes it, with `worker_bytes` of scratch for one worker."""
    out = _kernels.PathRecipe()
    out.differences = _native(recipe.differences)
    for name in ("extend", "free_query", "free_target", "negate", "sliced", "banded"):
        setattr(out, name, getattr(recipe, name))
    out.worker_bytes = worker_bytes
    out.set_usable(recipe.usable)
    return out


def native_local(recipe: LocalRecipe) -> _kernels.LocalRecipe:
    """The recipe for local scores as the extension takes it."""
    out = _kernels.LocalRecipe()
    for name in ("letters", "padding", "open", "extend", "byte_scores", "narrowest", "widest", "few_lanes", "long_letters", "most_columns"):
        setattr(out, name, getattr(recipe, name))
    out.set_table(np.ascontiguousarray(recipe.table))
    return out
