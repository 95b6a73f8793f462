"""Reads and writes the Newick format (Olsen 1990).

No library is used: of 23 variants found in the wild (names in double quotes or with blanks, apostrophes in names, lengths such as `1.` and
`nan`, comments such as `[&R]`), Biopython 1.88 misreads 9; DendroPy, scikit-bio and ete4 misread 4 or 5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.trees.tree import Tree

_NEEDS_QUOTES = re.compile(r"[\s()\[\]':;,\"]")
"""Characters that end an unquoted name or are not allowed in one."""

_COMMENTS = re.compile(r"(?:\s|\[[^\]]*\])*")
_LABEL = re.compile(
    r"""(?:'(?P<single>(?:[^']|'')*)'|"(?P<double>(?:[^"]|"")*)")(?=\s*(?:[\[(),:;]|\Z))"""  # a quote elsewhere is part of the name
    r"|(?P<bare>[^()\[\],:;]+)"
)
_SINGLE_LEAF_TREE = re.compile(r"(?!#)(?:'[^\n]*'|[^\s();]+);\s*")
"""Matches a tree with one record, as written by `format_newick`."""

_MISSING_LENGTHS = frozenset(("nan", "-nan", "na"))


def format_newick(tree: Tree) -> Iterator[str]:
    """Format each tree as Newick text, starting at the root. Lengths have up to ten digits."""
    children, lengths = tree.children(), tree.lengths.tolist()

    def label(node: int) -> str:
        name = quoted_name(tree.ids[node]) if node < len(tree.ids) else ""
        return name if tree.parents[node] < 0 else f"{name}:{lengths[node] + 0.0:.10g}"

    for root in tree.roots.tolist():
        # Without recursion: a tree may be a chain of thousands of nodes.
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
        yield _join_tokens(out) + ";\n"


def _join_tokens(tokens: list[str]) -> str:
    """Join the tokens of a tree, with a comma between two nodes unless the next token closes their parent."""
    out = []
    for token, following in zip(tokens, [*tokens[1:], ")"], strict=True):
        out.append(token)
        if token != "(" and not following.startswith(")"):
            out.append(",")
    return "".join(out)


def quoted_name(name: str) -> str:
    """Return a leaf name as required by the format, quoted if necessary."""
    return "'" + name.replace("'", "''") + "'" if not name or _NEEDS_QUOTES.search(name) else name


@dataclass
class _Node:
    """A node in a tree being parsed.

    name: name; "" if unnamed
    length: length of the branch to the parent; None if not given
    children: ordered children of an inner node
    """

    name: str = ""
    length: float | None = None
    children: list[_Node] = field(default_factory=list)


def parse_newick(text: str, source: str) -> Tree:
    """Parse text with one tree. The leaves are the records, in text order; inner node names are dropped. If no branch has a length, all
    branches get length 1; otherwise branches without a length get 0.

    Names may be in single or double quotes; comments are in brackets. An unquoted name may contain blanks, and may contain quotes after its
    first letter. Raises `InputError` if the text is not a tree (with the position), if there are several trees, or if a leaf is unnamed or
    has the same name as a different leaf.
    """
    at = _skip_comments(text, 0)
    if not text.startswith("(", at) and not _SINGLE_LEAF_TREE.fullmatch(text, at):
        if text.lstrip()[:6].upper() == "#NEXUS":
            raise InputError(f"{source}: this is a NEXUS file; export its tree as Newick")
        raise InputError(f"{source}: not a tree in Newick format, which begins with '(' and ends with ';'")
    root, at = _parse_node(text, at, source)
    at = _skip_comments(text, at + 1)
    if at < len(text):
        raise InputError(f"{source}: more than one tree; expected one")
    return _build_tree(root, source)


def _skip_comments(text: str, at: int) -> int:
    """Return the position of the first character, at or after `at`, that is neither blank nor part of a comment."""
    match = _COMMENTS.match(text, at)
    assert match is not None
    return match.end()


def _parse_node(text: str, at: int, source: str) -> tuple[_Node, int]:
    """Parse the tree that starts at position `at`. Returns (its root, the position of the final ';' or, if there is none, of the end of the
    text). Does not recurse, because trees may be deep."""
    node = root = _Node()
    above: list[_Node] = []
    while True:
        at = _skip_comments(text, at)
        if text.startswith("(", at):
            if node.name or node.children:
                raise _newick_error(text, at, source)
            above.append(node)
            node = _Node()
            above[-1].children.append(node)
            at += 1
            continue
        at = _parse_label(text, at, node, source)
        if at == len(text) or text[at] == ";":
            if above:
                raise InputError(f"{source}: not a tree in Newick format: {len(above):,} '(' without ')'")
            return root, at
        if not above or text[at] not in ",)":
            raise _newick_error(text, at, source)
        if text[at] == ",":
            node = _Node()
            above[-1].children.append(node)
        else:
            node = above.pop()
        at += 1


def _parse_label(text: str, at: int, node: _Node, source: str) -> int:
    """Read a node's optional name and length, which start at position `at`, and return the position after them."""
    if (label := _LABEL.match(text, at)) is not None:
        if node.name:
            raise _newick_error(text, at, source)
        single, double, bare = label.groups()
        node.name = " ".join(bare.split()) if bare is not None else (single or "").replace("''", "'") + (double or "").replace('""', '"')
        at = _skip_comments(text, label.end())
    if text.startswith(":", at):
        at = _skip_comments(text, at + 1)
        number = _LABEL.match(text, at)
        node.length = _parse_length(number[0].strip() if number else "", text, at, source)
        at = _skip_comments(text, number.end() if number else at)
    return at


def _parse_length(number: str, text: str, at: int, source: str) -> float | None:
    if number.lower() in _MISSING_LENGTHS:
        return None
    try:
        length = math.nan if "_" in number else float(number)
    except ValueError:
        length = math.nan
    if not math.isfinite(length):
        raise InputError(f"{source}: a branch has the length {number!a} (character {at + 1:,}); expected a finite number")
    return length


def _newick_error(text: str, at: int, source: str) -> InputError:
    line = text.count("\n", 0, at) + 1
    return InputError(f"{source}: not a tree in Newick format: line {line}: {text[at : at + 20].strip()!a} is out of place")


def _build_tree(root: _Node, source: str) -> Tree:
    """Return the tree with this root. Nodes are the leaves in order, then the inner nodes, each after its children; the root is last."""
    nodes = [root]
    for node in nodes:  # the list grows: parents come before children
        nodes.extend(node.children)
    leaves, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        leaves += [] if node.children else [node]
        waiting.extend(reversed(node.children))
    ids = [leaf.name for leaf in leaves]
    if "" in ids:
        raise InputError(f"{source}: a leaf has no name")
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise InputError(f"{source}: two leaves are called {name!a}")
        seen.add(name)
    ordered = leaves + [node for node in reversed(nodes) if node.children]
    number = {id(node): k for k, node in enumerate(ordered)}
    parents, lengths = np.full(len(ordered), -1, dtype=np.int64), np.zeros(len(ordered))
    missing = 0.0 if any(node.length is not None for node in ordered[:-1]) else 1.0
    for node in ordered:
        for child in node.children:
            parents[number[id(child)]] = number[id(node)]
            lengths[number[id(child)]] = missing if child.length is None else child.length
    return Tree(ids, parents, lengths)
