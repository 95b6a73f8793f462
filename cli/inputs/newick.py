"""Trees that a user names."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

from gpualign.core.files.decompression import unpack
from gpualign.core.sequences.ids import changed_ids, describe_changed
from gpualign.core.trees.newick import parse_newick
from gpualign.core.trees.tree import Tree
from gpualign.jobs.output.atomic_files import open_input


def read_tree(path: str, ids: Sequence[str], warn: Callable[[str], None]) -> Tree:
    """Read the only tree of a file; - is standard input. ids: of the records that its leaves should be, which it may write with
    underscores for blanks. Raises `InputError` as `parse_newick` does."""
    with open_input(path) as (stream, source):
        text = io.TextIOWrapper(unpack(stream, source)[1], encoding="utf-8-sig", errors="surrogateescape").read()
    tree = parse_newick(text, source)
    changed = changed_ids(tree.ids, ids)
    if not changed:
        return tree
    warn(describe_changed(changed, path))
    return replace(tree, ids=[changed.get(name, name) for name in tree.ids])
