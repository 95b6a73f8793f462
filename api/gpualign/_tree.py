"""Trees built from matrices."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpualign._cluster import matrix_pairs
from gpualign._execution_options import LOG, checked_choice, checked_flag
from gpualign._results import Matrix
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.trees.newick import format_newick
from gpualign.jobs.matrix_memory import TREE_MATRIX_USES, check_memory
from gpualign.jobs.tree import TREE_METHODS, check_libraries, check_root, make_tree


@dataclass(frozen=True)
class Tree:
    """A tree whose leaves are the records of a matrix, or a spanning tree, whose nodes are the records. `str()` returns Newick text.

    newick: the tree in Newick format; several trees, one per line, if some records are not connected by known distances
    ids: record ids
    method: "nj", "upgma" or "mst"
    """

    newick: str = field(repr=False)
    ids: list[str] = field(repr=False)
    method: str

    def __str__(self) -> str:
        return self.newick

    def __repr__(self) -> str:
        return f"<Tree: {len(self.ids):,} records, {self.method}>"


def tree(matrix: Matrix, method: str = "nj", root: str | None = None, *, leaves: bool = False) -> Tree:
    """Return the tree of the records in a matrix, like `gpualign tree`.

    matrix: a `Matrix` of distances or identities returned by `nw` or `dist`; identities become distances, 1 - identity
    method: "nj" (neighbour joining), "upgma" (average linkage) or "mst" (minimum spanning tree)
    root: for neighbour joining, the id of the outgroup, or "midpoint", halfway between the two most distant records; None: the node that
        joins the last three nodes
    leaves: for "mst", whether every record becomes a leaf: inner records get a branch of length 0

    Returns a `Tree`.
    Raises `InputError` for anything but distances within one set, and for pairs without a distance (allowed for "mst"); `RunError` if there
    is not enough memory for the number of records, or if scipy is missing.

    >>> import numpy as np
    >>> ids = ["a", "b", "c"]
    >>> print(tree(Matrix(np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]]), ids, ids, "hamming", True)))
    (a:1,b:2,c:3);
    """
    if not isinstance(matrix, Matrix):
        raise InputError(f"matrix: expected a Matrix that nw or dist returned; found {type(matrix).__name__}")
    checked_choice("method", method, TREE_METHODS)
    if root is not None and not isinstance(root, str):
        raise InputError(f"root {root!r}: expected an id or 'midpoint'")
    check_root(root, method)
    if checked_flag("leaves", leaves) and method != "mst":
        raise InputError(f"{parameter('leaves')} is for the method mst; other trees have no records inside")
    if matrix.value == "score":
        raise InputError("a matrix of scores; expected distances or identities: nw(..., value='distance') has distances")
    precomputed = matrix_pairs(matrix, "tree")
    check_libraries()
    check_memory(TREE_MATRIX_USES[method], "matrix", *matrix.values.shape)
    result = make_tree(precomputed, matrix.value == "identity", method, LOG, root)
    shown = result.with_records_as_leaves() if leaves else result
    return Tree("".join(format_newick(shown)).rstrip("\n"), list(precomputed.ids), method)
