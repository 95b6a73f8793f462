"""Reads and writes tables of cluster names, and the logs of merges beside them (docs/formats/names.md)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import BinaryIO

import numpy as np

from gpualign.core.clustering.names import ClusterNames, Merge
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.output.writer import ByteWriter, write_lines

_MAX_CODE_DIGITS = 18
_LOG_TITLES = "date\tlevel\tkept\tmerged\tsamples"
_LEVEL_PATTERN = r"[0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)?"
_CODE_PATTERN = rf"[0-9]{{1,{_MAX_CODE_DIGITS}}}"
_LOG_HEADER = re.compile(
    rf"# names: levels=({_LEVEL_PATTERN}(?:,{_LEVEL_PATTERN})*) codes=({_CODE_PATTERN}(?:,{_CODE_PATTERN})*) sha256=([0-9a-f]{{64}})"
)
_LOG_LINE = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}\t{_LEVEL_PATTERN}\t{_CODE_PATTERN}\t{_CODE_PATTERN}\t[^\t]*")


@dataclass(frozen=True)
class MergeLog:
    """A log of merges.

    levels: thresholds, descending, as text
    code_counts: number of codes given so far at each level
    digest: digest of the names that the log belongs to (`names_digest`)
    lines: a line for each merge so far, without line ends
    """

    levels: tuple[str, ...]
    code_counts: tuple[int, ...]
    digest: str
    lines: tuple[str, ...] = field(repr=False)


def level_text(level: float) -> str:
    """Return a threshold as text: 5 for 5.0."""
    return str(int(level)) if level == int(level) else repr(level)


def level_title(level: float) -> str:
    """Return the title of a level's column, as in snapperdb: t5 for 5.0."""
    return f"t{level_text(level)}"


def names_digest(levels: Sequence[float], names: ClusterNames, lines: Sequence[str]) -> str:
    """Return a digest (SHA-256, in hexadecimal) of names and their merges, which does not depend on the order of the records.

    levels: thresholds
    lines: lines of the log
    """
    import hashlib  # other commands do not need it

    digest = hashlib.sha256(",".join(map(level_text, levels)).encode())
    digest.update(",".join(map(str, names.code_counts.tolist())).encode())
    for row in sorted(_rows(names)):
        digest.update(_encode(row))
    digest.update(_encode("\n".join(lines)))
    return digest.hexdigest()


def write_names(stream: ByteWriter, levels: Sequence[float], names: ClusterNames) -> None:
    """Write a table: id, address (the codes of all levels, coarsest first, with dots between them), and the code at each level."""
    stream.write(("\t".join(["id", "address", *map(level_title, levels)]) + "\n").encode())

    def rows() -> Iterator[str]:
        for name, codes in zip(names.ids, names.codes.T.tolist(), strict=True):
            texts = [*map(str, codes)]
            yield "\t".join((name, ".".join(texts), *texts)) + "\n"

    write_lines(stream, rows())


def write_merge_log(stream: ByteWriter, levels: Sequence[float], names: ClusterNames, lines: Sequence[str]) -> None:
    """Write the log of merges that belongs to a table of these names. lines: a line for each merge, without line ends."""
    counts = ",".join(map(str, names.code_counts.tolist()))
    header = f"# names: levels={','.join(map(level_text, levels))} codes={counts} sha256={names_digest(levels, names, lines)}"
    stream.write(_encode("".join(f"{line}\n" for line in (header, _LOG_TITLES, *lines))))


def merge_line(merge: Merge, levels: Sequence[float], date: str) -> str:
    """Return the line of a merge in the log. date: day of the merge, in ISO 8601."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(merge.new_ids)
    return f"{date}\t{level_text(levels[merge.level])}\t{merge.kept}\t{merge.merged}\t{text.getvalue()}"


def read_names(stream: BinaryIO, source: str, levels: Sequence[float], log: MergeLog, log_source: str) -> ClusterNames:
    """Read a table written by `write_names`. Its rows may have been reordered, and columns added.

    source: name of the table, for messages
    levels: expected thresholds
    log: log beside the table
    log_source: name of the log, for messages

    Raises `InputError` if the table has other levels, if a line is malformed, or if the log belongs to other names.
    """
    expected = tuple(map(level_text, levels))
    if log.levels != expected:
        earlier, now = parameter("levels", ",".join(log.levels)), parameter("levels", ",".join(expected))
        raise InputError(f"{source}: its names are those of {earlier}, and stay only at the same levels; found {now}")
    rows = open_delimited(open_decompressed(stream, source)[1], source).rows()
    _, titles = next(rows, (0, [""]))
    places = [titles.index(title) if titles.count(title) == 1 else None for title in ("id", *map(level_title, levels))]
    if None in places:
        lacking = ("id", *map(level_title, levels))[places.index(None)]
        raise InputError(f"{source}: expected a table of names, with one column {quoted(lacking)}, as cluster writes it")
    ids, codes = _read_rows(rows, [place for place in places if place is not None], len(titles), source)
    names = ClusterNames(ids, codes, np.array(log.code_counts, dtype=np.int64))
    if names_digest(levels, names, log.lines) != log.digest:
        raise InputError(
            f"{source}: {log_source} does not belong to it: one of them was changed, or is of another run, or of one that was killed while"
            " its files got their names; run it again with its own earlier names, or restore both"
        )
    return names


def _read_rows(rows: Iterator[tuple[int, list[str]]], places: Sequence[int], width: int, source: str) -> tuple[list[str], np.ndarray]:
    lines: dict[str, int] = {}
    codes: list[list[int]] = []
    for line, cells in rows:
        if len(cells) != width:
            raise InputError(f"{source}: line {line} has {len(cells):,} columns, the header has {width:,}")
        name, *own = (cells[place] for place in places)
        if lines.setdefault(name, line) != line:
            raise InputError(f"{source}: {quoted(name)} is on lines {lines[name]} and {line}")
        for cell in own:
            if not (cell.isascii() and cell.isdigit() and len(cell) <= _MAX_CODE_DIGITS):
                raise InputError(f"{source}: line {line}: expected the number of a cluster, found {quoted(cell)}")
        codes.append(list(map(int, own)))
    return list(lines), np.array(codes, dtype=np.int64).reshape(len(lines), len(places) - 1).T


def read_merge_log(stream: BinaryIO, source: str) -> MergeLog:
    """Read a log written by `write_merge_log`. source: name of the log, for messages. Raises `InputError` for any other file."""
    text = stream.read().decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")
    header = _LOG_HEADER.fullmatch(text[0])
    if header is None or text[1:2] != [_LOG_TITLES]:
        raise InputError(f"{source}: not a log of merges, as cluster writes it beside a table of names")
    levels, counts = tuple(header[1].split(",")), tuple(map(int, header[2].split(",")))
    if len(counts) != len(levels):
        raise InputError(f"{source}: line 1 is damaged")
    for number, line in enumerate(text[2:], 3):
        if _LOG_LINE.fullmatch(line) is None:
            raise InputError(f"{source}: line {number} is damaged; found {quoted(line)}")
    return MergeLog(levels, counts, header[3], tuple(text[2:]))


def _rows(names: ClusterNames) -> Iterator[str]:
    """Yield a line for each record: its id and codes, separated by tabs."""
    for name, codes in zip(names.ids, names.codes.T.tolist(), strict=True):
        yield "\t".join((name, *map(str, codes))) + "\n"


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
