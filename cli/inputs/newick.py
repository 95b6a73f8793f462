"""Reads tree files."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.paths import open_input
from gpualign.core.trees.tree import Tree
from gpualign.jobs.tree import parse_tree


def read_tree(path: str, ids: Sequence[str], warn: Callable[[str], None]) -> Tree:
    """Read the only tree in a file; - is standard input. ids: ids expected as leaves; blanks in them may be underscores in the file.

    Raises the same errors as `parse_tree`.
    """
    with open_input(path) as (stream, source):
        text = io.TextIOWrapper(open_decompressed(stream, source)[1], encoding="utf-8-sig", errors="surrogateescape").read()
    return parse_tree(text, ids, source, warn)
