"""Newick's format (Olsen 1990): a line for each tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpualign.core.trees.tree import Tree

_QUOTED = re.compile(r"[\s()\[\]':;,]")
"""What ends a name, or is no part of one, unless quotes are around it."""


def newick(tree: Tree) -> Iterator[str]:
    """Each tree, from its root. Lengths have up to ten digits."""
    children, lengths = tree.children(), tree.lengths.tolist()

    def label(node: int) -> str:
        name = quoted(tree.ids[node]) if node < len(tree.ids) else ""
        return name if tree.parents[node] < 0 else f"{name}:{lengths[node] + 0.0:.10g}"

    for root in tree.roots.tolist():
        # Without recursion: a chain of thousands is a tree as well.
        out: list[str] = []
        waiting: list[tuple[int, bool]] = [(root, False)]
        while waiting:
            node, done = waiting.pop()
            if done or not children[node]:
                out.append((")" if done else "") + label(node))
                continue
            out.append("(")
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(children[node]))
        yield _with_commas(out) + ";\n"


def _with_commas(parts: list[str]) -> str:
    """Between a node and the next that does not close their parent."""
    out = []
    for part, following in zip(parts, [*parts[1:], ")"], strict=True):
        out.append(part)
        if part != "(" and not following.startswith(")"):
            out.append(",")
    return "".join(out)


def quoted(name: str) -> str:
    """A name as the format wants it."""
    return "'" + name.replace("'", "''") + "'" if not name or _QUOTED.search(name) else name
