"""Trees: what `gpualign tree` does between its options and its output."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.cluster.given import ListedPairs, MatrixOfPairs, Threshold
from gpualign.core.errors import RunError
from gpualign.core.trees.methods import neighbour_joining, spanning, spanning_all, upgma
from gpualign.core.trees.tree import Tree

if TYPE_CHECKING:
    from gpualign.jobs.notes import Notes

METHODS = ("nj", "upgma", "mst")


def check_libraries() -> None:
    """Raises `RunError` where scipy is missing."""
    if find_spec("scipy") is None:
        raise RunError("trees need scipy: pip install 'gpualign[linkage]'")


def make_tree(given: ListedPairs | MatrixOfPairs, of_identities: bool, method: str, notes: Notes) -> Tree:
    """A tree of all records, by one of `METHODS`; of mst one for each connected part. Identities become 1 - identity.

    Raises `InputError` where a pair has no distance that the method wants.
    """
    everything = Threshold(np.inf, None, of_identities)
    if method == "mst":
        if isinstance(given, MatrixOfPairs):
            tree = spanning_all(given.ids, everything.distances(given.every()))
        else:
            tree = spanning(given.ids, given.near(everything))
        if (parts := len(tree.roots)) > 1:
            notes.note(f"{parts:,} trees, as no known distance leads from one to the other")
        return tree
    condensed = everything.distances(
        given.among(np.arange(len(given.ids)), f"--method {method} (not mst) takes the distances of all pairs")
    )
    if method == "upgma":
        return upgma(given.ids, condensed)
    tree, negative = neighbour_joining(given.ids, condensed).without_negative_lengths()
    if negative:
        branches = "1 branch has" if negative == 1 else f"{negative:,} branches have"
        notes.note(f"{branches} a negative length, as happens where distances are not those of a tree; 0 is written")
    return tree
