"""Leaves out the comments above a table of records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, takewhile

from gpualign.core.files.delimited import open_delimited
from gpualign.core.sequences.ids import may_be_id_title


def without_comments(lines: Iterator[bytes], source: str, known: Collection[str] = ()) -> Iterator[bytes]:
    """Return the lines of a table, with empty ones instead of the comments above it. A header may begin with # too.

    lines: decompressed text
    known: ids of the records, if known, because an id may begin with # too
    """
    above: list[bytes] = []
    for line in lines:
        above.append(line)
        if not _may_be_comment(line):
            break
    marked = list(takewhile(_may_be_comment, above))
    if len(marked) == len(above) or any(_first_row(line, source)[0] in known for line in marked):
        return chain(above, lines)
    table = b"".join(above[len(marked) :])
    rows = [_first_row(line + table, source) if line.strip() else [""] for line in marked]
    count = len(rows)  # of comments
    if not (_begins_with_title(table, source, known) and all(len(row) == 1 or _is_sentence(row) for row in rows)):
        has_header = rows and bool(name := rows[-1][0].lstrip("# ")) and may_be_id_title(name)
        count = count - 1 if has_header else sum(1 for _ in takewhile(_is_sentence, rows))
    return chain([b"\n"] * count, above[count:], lines)


def _begins_with_title(table: bytes, source: str, known: Collection[str]) -> bool:
    title = _first_row(table, source)[0]
    return may_be_id_title(title) and title not in known


def _is_sentence(row: list[str]) -> bool:
    """Return whether a row that begins with # is a comment for certain. R writes a header of one title above rows with names."""
    text, *others = row
    return not text or (not any(others) and " " in text) or (text.startswith("# ") and " " in text.lstrip("# "))


def _may_be_comment(line: bytes) -> bool:
    text = line.removeprefix(b"\xef\xbb\xbf").lstrip()
    return not text or text.startswith(b"#")


def _first_row(text: bytes, source: str) -> list[str]:
    """Return the cells of the first row of a text, at least one."""
    return next(open_delimited(iter(text.splitlines(keepends=True)), source).rows(), (0, [""]))[1]
