"""Trees: the work of `gpualign tree` between option parsing and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.clustering.edge_builder import collect_edges
from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.precomputed import ListedPairs, MatrixOfPairs, Threshold
from gpualign.core.common.errors import InputError, RunError, parameter, quoted
from gpualign.core.common.libraries import check_room_for_library
from gpualign.core.common.suggestions import nearest_names
from gpualign.core.sequences.ids import describe_changed_ids, match_changed_ids
from gpualign.core.trees.methods import dense_spanning_tree, neighbour_joining, sparse_spanning_tree, upgma
from gpualign.core.trees.newick import parse_newick
from gpualign.core.trees.rooting import root_at_midpoint, root_at_outgroup
from gpualign.core.trees.tree import Tree

if TYPE_CHECKING:
    from gpualign.jobs.reporter import Reporter

TREE_METHODS = ("nj", "upgma", "mst")

MIDPOINT_ROOT = "midpoint"
"""Root parameter for a root halfway between the two most distant records."""

_MAX_SUGGESTED_IDS = 3
"""Maximum number of similar ids suggested for an unknown id."""


def check_libraries() -> None:
    """Raise `RunError` if scipy is missing, or if there is no room for it."""
    if find_spec("scipy") is None:
        raise RunError("trees need scipy: pip install 'gpualign[linkage]'")
    check_room_for_library("scipy")


def check_root(root: str | None, method: str) -> None:
    """Raise `InputError` for a root if the method determines the root itself."""
    if root is None or method == "nj":
        return
    why = "UPGMA's tree has its root where all records are equally far away" if method == "upgma" else "a spanning tree's is a record"
    raise InputError(f"{parameter('root')} is for neighbour joining, whose tree has no root of its own; {why}")


def make_tree(pairs: ListedPairs | MatrixOfPairs, are_identities: bool, method: str, reporter: Reporter, root: str | None = None) -> Tree:
    """Return a tree of all records, built with one of `TREE_METHODS`; mst builds one tree per connected component. Identities become 1 -
    identity.

    root: root of a tree built with nj: None (the node where the last three nodes meet), `MIDPOINT_ROOT`, or the id of the outgroup

    Raises `InputError` if the method needs the distance of a pair that has none, or if the root is not a record.
    """
    outgroup = None if root in (None, MIDPOINT_ROOT) else _record_index(root, pairs.ids)
    if root == MIDPOINT_ROOT and root in pairs.ids:
        raise InputError(f"{parameter('root', root)}: a record is called so too, and either could be meant; rename the record")
    no_threshold = Threshold(np.inf, None, are_identities)
    if method == "mst":
        if isinstance(pairs, MatrixOfPairs):
            tree = dense_spanning_tree(pairs.ids, no_threshold.distances(pairs.condensed_values()))
        else:
            edges = collect_edges(len(pairs.ids), pairs.near_chunks(no_threshold), None)
            assert isinstance(edges, Edges)  # without storage they are in memory
            tree = sparse_spanning_tree(pairs.ids, edges)
        if (parts := len(tree.roots)) > 1:
            reporter.note(f"{parts:,} trees, as no known distance leads from one to the other")
        return tree
    why = f"{parameter('method', method)} needs the distances of all pairs ({parameter('method', 'mst')} does not)"
    condensed = no_threshold.distances(next(pairs.condensed_values_of_groups([np.arange(len(pairs.ids))], why)))
    if method == "upgma":
        return upgma(pairs.ids, condensed)
    tree, negative = neighbour_joining(pairs.ids, condensed).without_negative_lengths()
    if negative:
        branches = "1 branch has" if negative == 1 else f"{negative:,} branches have"
        reporter.note(f"{branches} a negative length, as happens where distances are not those of a tree; 0 is written")
    # Without negative lengths, so that the rooted tree has the distances of the one without a root.
    if root == MIDPOINT_ROOT:
        return root_at_midpoint(tree)
    return tree if outgroup is None else root_at_outgroup(tree, outgroup)


def parse_tree(text: str, ids: Sequence[str], source: str, warn: Callable[[str], None]) -> Tree:
    """Return the only tree in `text`, which is in Newick format.

    ids: ids of the records expected as leaves; leaf names with underscores instead of blanks are replaced with the ids, and reported to
        `warn`

    Raises the same errors as `parse_newick`.
    """
    tree = parse_newick(text, source)
    changed = match_changed_ids(tree.ids, ids)
    if not changed:
        return tree
    warn(describe_changed_ids(changed, source))
    return replace(tree, ids=[changed.get(name, name) for name in tree.ids])


def _record_index(root: str, ids: Sequence[str]) -> int:
    """Return the index of the record with this id. Raises an `InputError` that names similar ids if there is no such record."""
    if root in ids:
        return ids.index(root)
    near = nearest_names(root, ids, _MAX_SUGGESTED_IDS)
    similar = f"similar ids: {', '.join(map(quoted, near))}" if near else f"the first id is {quoted(ids[0])}"
    raise InputError(f"{parameter('root')}: no record is called {quoted(root)}; {similar}")
