"""Reads trees in Newick's format, through Biopython."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from gpualign.cli.outputs.files import open_input
from gpualign.core.errors import InputError
from gpualign.core.trees.tree import Tree
from gpualign.core.unpack import unpack


def read_tree(path: str) -> Tree:
    """The only tree of a file; - is standard input. Its leaves are the records, in their order; branches without a length have 1 each if
    none has one. Raises `InputError` where it is none, or has a name twice or a leaf without one."""
    from Bio.Phylo.NewickIO import NewickError, Parser

    with open_input(path) as (stream, source):
        text = io.TextIOWrapper(unpack(stream, source)[1], encoding="utf-8-sig", errors="surrogateescape").read()
    try:
        parse: Any = Parser  # which has no types
        trees = list(parse(io.StringIO(text)).parse())
    except (NewickError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise InputError(f"{source}: no tree in Newick's format: {error}") from None
    if not text.lstrip().startswith("("):  # any text is the name of a tree's only node
        raise InputError(f"{source}: no tree in Newick's format, which begins with '(' and ends with ';'")
    if len(trees) != 1:
        raise InputError(f"{source}: {len(trees):,} trees; one is wanted")
    return _tree(trees[0].root, source)


def _tree(root: Any, source: str) -> Tree:
    """Biopython's clades as nodes: leaves in their order, then the others, each after its children; the root is the last."""
    clades = [root]
    for clade in clades:  # which grows: parents before children
        clades.extend(clade.clades)
    leaves = []
    waiting = [root]
    while waiting:
        clade = waiting.pop()
        leaves += [] if clade.clades else [clade]
        waiting.extend(reversed(clade.clades))
    ids = [leaf.name or "" for leaf in leaves]
    if "" in ids:
        raise InputError(f"{source}: a leaf has no name")
    if repeated := next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None:
        raise InputError(f"{source}: two leaves are called {repeated!a}")
    nodes = leaves + [clade for clade in reversed(clades) if clade.clades]
    number = {id(clade): k for k, clade in enumerate(nodes)}
    parents, lengths = np.full(len(nodes), -1, dtype=np.int64), np.zeros(len(nodes))
    some = any(clade.branch_length is not None for clade in nodes[:-1])
    for clade in nodes:
        for child in clade.clades:
            parents[number[id(child)]] = number[id(clade)]
            lengths[number[id(child)]] = (child.branch_length or 0.0) if some else 1.0
    if not all(math.isfinite(length) for length in lengths.tolist()):
        raise InputError(f"{source}: a branch has a length that is no finite number")
    return Tree(ids, parents, lengths)
