"""Converts alignments in CLUSTAL and PHYLIP format, read with Biopython, to FASTA."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from gpualign.core.common.errors import InputError
from gpualign.core.files.kinds import FileKind
from gpualign.core.files.scratch import MakeScratch

_PARSER_NAMES = {FileKind.CLUSTAL: ("clustal",), FileKind.PHYLIP: ("phylip-relaxed", "phylip", "phylip-sequential")}
"""Names of the formats in Biopython. PHYLIP ids end at a blank or after ten letters, and rows may be split into blocks in two ways."""

_PHYLIP_HEADER_PATTERN = re.compile(r"(\s*\d+[ \t]+\d+)[ \t]+[IS][ \t]*(?=[\r\n])")
"""First line of PHYLIP with the letter for interleaved or sequential rows, which Biopython does not recognise. Both kinds are tried in any
case."""

_MAX_READS_AT_END = 10
"""A parser that reads past the end of a file more often than this is stuck in a loop."""

AlignmentRows = list[tuple[str, str]]


def as_fasta(stream: BinaryIO, kind: FileKind, source: str, scratch: MakeScratch, warn: Callable[[str], None]) -> BinaryIO:
    """Return a scratch file with the alignment's rows as FASTA. Blanks in ids become underscores, with a warning.

    Raises `InputError` if the text is not valid in any variant of the format, or has different meanings in two of them.
    """
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape").read()
    text = _PHYLIP_HEADER_PATTERN.sub(r"\1", text, count=1) if kind is FileKind.PHYLIP else _strip_column_marks(text)
    variants: list[AlignmentRows] = []
    reason = ""
    for name in _PARSER_NAMES[kind]:
        try:
            rows = _parse_rows(text, name)
        except (ValueError, IndexError, AssertionError) as error:
            reason = reason or " ".join(str(error).split())
            continue
        if rows not in variants:
            variants.append(rows)
    sequential = _sequential_rows(text) if kind is FileKind.PHYLIP else None
    if sequential is not None and sequential not in variants:
        variants.append(sequential)
    if not variants:
        expected = (
            "expected {:,} rows of {:,} letters each".format(*_stated_counts(text))
            if kind is FileKind.PHYLIP
            else reason or "its rows differ"
        )
        raise InputError(f"{source} is {kind.value} that cannot be read ({expected}); write it as FASTA")
    if any("." in letters for _, letters in variants[0]):
        raise InputError(
            f"{source} is {kind.value} with '.', which may be a gap, or the letter of the first row; write gaps as '-', and letters"
        )
    if len(variants) > 1:
        raise InputError(f"{source} is {kind.value} whose ids or blocks can be read in two ways; write it as FASTA")
    out = scratch()
    changed = []
    for name, letters in variants[0]:
        written = "_".join(name.split())
        if written != name:
            changed.append((name, written))
        out.write(f">{written}\n{letters}\n".encode("utf-8", "surrogateescape"))
    if changed:
        warn(f"{source}: blanks in ids are written as underscores, such as {changed[0][0]!r} as {changed[0][1]!r}")
    out.seek(0)
    return out


def _strip_column_marks(text: str) -> str:
    """Return CLUSTAL text without the column marks below each block: if an editor has stripped blanks there, Biopython miscounts lines."""
    lines = (line if line[:1].strip() else "" for line in text.split("\n"))
    return "\n".join([*lines, ""]).lstrip()


class _ReadLimitedText(io.StringIO):
    """Text stream that raises `ValueError` on repeated reads past its end, because Biopython's parsers would otherwise loop forever on a
    truncated file."""

    _ends = 0

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # in later Pythons None is a size too
        line = super().readline(size)
        self._ends += not line
        if self._ends > _MAX_READS_AT_END:
            raise ValueError("it ends too early")
        return line


def _parse_rows(text: str, parser_name: str) -> AlignmentRows:
    """Return the rows read by Biopython, with ids as in the file.

    Raises `ValueError` if the text is not in this format, or holds more than one alignment.
    """
    from Bio import AlignIO

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read: Any = AlignIO.parse
        alignments = list(read(_ReadLimitedText(text), parser_name))
    if len(alignments) != 1:
        raise ValueError(f"{len(alignments)} alignments")
    rows = [(str(record.id).strip(), str(record.seq)) for record in alignments[0]]
    if parser_name != "clustal":
        _check_counts(text, rows)
    return rows


def _stated_counts(text: str) -> tuple[int, int]:
    """Return (number of rows, letters per row) from PHYLIP's first line."""
    rows, letters = text.split(None, 2)[:2]
    return int(rows), int(letters)


def _check_counts(text: str, rows: AlignmentRows) -> None:
    """Raise `ValueError` if the rows do not match the counts in PHYLIP's first line, or if more text follows the rows."""
    count, sites = _stated_counts(text)
    characters = sum(len("".join(name.split())) + len(letters) for name, letters in rows)
    if len("".join(text.split()[2:])) != characters and len(rows) == count:
        raise ValueError(f"there is more than the {count:,} rows that the first line says")
    for name, letters in rows:
        if len(letters) != sites or any(letter.isdigit() for letter in letters):
            raise ValueError(f"{name!r} has {len(letters):,} letters, the first line says {sites:,}")
    if len(rows) != count:
        raise ValueError(f"{len(rows):,} rows, the first line says {count:,}")


def _sequential_rows(text: str) -> AlignmentRows | None:
    """Return the rows of sequential relaxed PHYLIP, as written by RAxML and PhyML, each spanning as many lines as needed; None for other
    text."""
    lines = [line for line in text.splitlines() if line.strip()]
    sites = _stated_counts(text)[1]
    rows: AlignmentRows = []
    at = 1
    while at < len(lines):
        name, *parts = lines[at].split()
        letters, at = "".join(parts), at + 1
        while len(letters) < sites and at < len(lines):
            letters, at = letters + "".join(lines[at].split()), at + 1
        rows.append((name, letters))
    try:
        _check_counts(text, rows)
    except ValueError:
        return None
    return rows
