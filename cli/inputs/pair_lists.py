"""Reads lists of pairs with distances or identities, as written by `nw` and `dist`."""

from __future__ import annotations

import itertools
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan, nan

import numpy as np

from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage, distinct_edges
from gpualign.core.clustering.edges import EdgeList
from gpualign.core.clustering.precomputed import ListedPairs
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, different_numbers, parameter, quoted
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.kinds import OTHER_PAIR_TITLES, FileKind, kind_of
from gpualign.core.files.matrix_text import NumberedRow, read_matrix_rows
from gpualign.core.files.paths import open_input
from gpualign.core.files.row_numbers import INDEX_TITLES
from gpualign.core.files.square_matrices import LOWEST_IDENTITY, are_whole, may_be_percent_identities, number_advice, parse_number
from gpualign.core.files.watched_stream import CUT_NOTE, watch_line_end
from gpualign.core.sequences.ids import refuse_control_characters

_ID_TITLES = ("query", "target")

_EXTRA_CELLS_PATTERN = re.compile(r"|[0-9]+|[^\t]+\t[0-9]+/[0-9]+")
"""Columns that may follow the distance in a list without a header: none, the compared sites, or the last two columns of mash output."""

_MAX_EXAMINED_ROWS = 20
"""Number of rows used to recognise the layout of a list."""

_WHOLE_PERCENT_NOTE = (
    "its whole numbers from 70 to 100, without a title, are taken for distances; if they are percent identities, write 100 - value"
)

_ROUNDING_TOLERANCE = 1e-6
"""Maximum accepted difference from 0 and 1 at the ends of their range, and from 0 of a record's distance from itself: programs compute in
single precision too, and write the result of 1 - 1."""
_PAIRS_PER_BLOCK = 1 << 16
"""Number of pairs that are added to the list together."""
_MAX_MAGNITUDE = 1e100
"""Maximum accepted value, so that sums of values stay finite."""


@dataclass(frozen=True)
class PairList:
    """Pairs from a list.

    pairs: pairs and values
    are_identities: whether the values are identities, not distances
    notes: assumptions made when reading the list, and whether its end may be missing
    """

    pairs: ListedPairs
    are_identities: bool
    notes: list[str]


@dataclass(frozen=True)
class _ListLayout:
    """Layout of a list.

    query, target, value: column indices of the two ids and the value
    column_count: number of columns
    value_title: title of the value column
    has_header: whether line 1 is a header
    """

    query: int
    target: int
    value: int
    column_count: int
    value_title: str
    has_header: bool


def read_pair_list(
    path: str, edit: bool | None, wants_identities: bool, ids: Sequence[str] | None = None, storage: EdgeStorage | None = None
) -> PairList:
    """Read a pair list: a table whose header (possibly repeated) names the columns query, target and distance, identity or score; or,
    without a header, two ids and a distance. Columns are delimited by tabs, commas, semicolons or blanks; - is standard input.

    edit: True: scores are edit distances; False or None: a list of scores is rejected, because scores are not distances (None: the command
        has no --edit to suggest)
    wants_identities: whether to read identities
    ids: ids of all records; None: use the records in the list, in order of appearance, which omits records without near pairs
    storage: place of the pairs; None: in memory, without a limit

    Raises an `InputError` that names the line if the list is invalid.
    """
    with open_input(path) as (stream, source):
        start, unpacked = open_decompressed(stream, source)
        if b"\0" in start:
            raise InputError(f"{source}: a binary file; expected a list of pairs, as .tsv or .csv")
        unpacked, watched = watch_line_end(stream, unpacked)
        rows = open_delimited(_without_comments(unpacked, source), source).rows()
        first = next((row for row in rows if any(row[1])), None)
        if first is None:
            raise InputError(f"{source}: empty file; expected a list of pairs")
        columns = _detect_layout(first, edit, wants_identities, source)
        head = [row for row in itertools.islice(rows, _MAX_EXAMINED_ROWS) if any(row[1])]
        if not columns.has_header:
            head.insert(0, first)
            _reject_small_matrix(head, source)
        elif head and len(head[0][1]) == len(first[1]) + 1:
            columns = _skip_row_names(columns, head, first, source)
        pairs = _parse_pairs(itertools.chain(head, rows), columns, first[1] if columns.has_header else None, ids, source, storage)
        may_be_percents = not columns.has_header and _may_be_percent_identities(pairs, source)
    may_be_cut = watched is not None and not watched.at_line_end
    notes = [*([_WHOLE_PERCENT_NOTE] if may_be_percents else []), *([CUT_NOTE] if may_be_cut else [])]
    return PairList(pairs, columns.value_title == "identity", notes)


def _may_be_percent_identities(pairs: ListedPairs, source: str) -> bool:
    """Return whether whole numbers without a title, which are taken for distances, may be percent identities. Raises `InputError` if
    fractions may be: those from 1 to 100."""
    bounds = np.array(pairs.value_range or ())
    if all(are_whole(values) for _, _, values in pairs.chunks()):
        return may_be_percent_identities(bounds)
    if may_be_percent_identities(bounds, LOWEST_IDENTITY):
        raise InputError(
            f"{source}: fractions from 1 to 100 without a title may be percent identities (BLAST, fastANI); write 100 - value if they are,"
            " and in any case a header: query, target, distance"
        )
    return False


def _without_comments(lines: Iterator[bytes], source: str) -> Iterator[bytes]:
    """Return the lines, with empty ones instead of comments above a header, which may begin like a comment itself. Without a header every
    line is kept, because an id may begin with #."""
    comments: list[bytes] = []
    for line in lines:
        text = line.removeprefix(b"\xef\xbb\xbf")
        if _is_header(text.lstrip(b"# "), source):
            return itertools.chain([b"\n"] * len(comments), [text.lstrip(b"# ")], lines)
        comments.append(line)
        if text.strip() and not text.startswith(b"#"):
            break
    return itertools.chain(comments, lines)


def _is_header(line: bytes, source: str) -> bool:
    titles = next(open_delimited(iter([line]), source).rows(), None)
    return titles is not None and set(_ID_TITLES) <= set(_known_titles(titles[1]))


def _known_titles(titles: Sequence[str]) -> list[str]:
    """Return titles of a list of pairs as gpualign writes them, where other programs have capitals or other words."""
    lowered = [title.lower() for title in titles]
    names = lowered if len(set(lowered)) == len(set(titles)) else list(titles)
    start = 1 if titles[0] in INDEX_TITLES else 0
    if tuple(lowered[start : start + 2]) in OTHER_PAIR_TITLES:
        names[start : start + 2] = _ID_TITLES
    return names


def refuse_pair_lists(paths: Sequence[str]) -> None:
    """Raise `InputError` if a file that should hold sequences is a list of pairs or a matrix. Only regular files are looked at."""
    for path in paths:
        if os.path.isfile(path):
            with open_input(path) as (stream, source):
                kind = kind_of(open_decompressed(stream, source)[0])
            if kind in (FileKind.PAIRS, FileKind.NUMPY):
                option = parameter("edges" if kind is FileKind.PAIRS else "distances")
                raise InputError(f"{source} is {kind.value}; read it with {option}: gpualign cluster {option} {source}")


def _reject_small_matrix(rows: Sequence[NumberedRow], source: str) -> None:
    """Raise `InputError` if the first rows of a list without a header are ambiguous: each may be two ids and a distance, or a row of a
    small matrix, or begin with a row number; or the first may have the numbers of columns. A larger matrix has more columns than a list,
    and is not mistaken for one."""
    if len(rows) < _MAX_EXAMINED_ROWS and len(rows[0][1]) == len(_ID_TITLES) + 1 and _looks_like_matrix(rows, source):
        raise InputError(f"{source}: line {rows[0][0]} may begin a list of pairs or a matrix; write a header: query, target, distance")
    if len(rows) > 1 and rows[0][1] == ["0", "1", "2"] and not any(cell.isdecimal() for _, cells in rows[1:] for cell in cells[:2]):
        raise InputError(
            f"{source}: line {rows[0][0]} may be a pair, or the numbers of columns as pandas writes them; write a header: query, target,"
            " distance"
        )
    counting = [cells[0] for _, cells in rows] == [str(k) for k in range(1, len(rows) + 1)]
    if counting and len(rows[0][1]) == len(_ID_TITLES) + 2:
        raise InputError(f"{source}: its rows may begin with ids or with row numbers; write a header: query, target, distance")


def _looks_like_matrix(rows: Sequence[NumberedRow], source: str) -> bool:
    try:
        parsed = read_matrix_rows(rows, source)
    except InputError:
        return False
    return parsed.row_ids == parsed.column_ids


def _skip_row_names(columns: _ListLayout, rows: Sequence[NumberedRow], header: NumberedRow, source: str) -> _ListLayout:
    """Return the layout with the columns shifted past the row names, for which R writes no title. Raises `InputError` if the first cells
    are neither row numbers nor different names before cells that hold values only if they are shifted."""
    names = [cells[0] for _, cells in rows]
    shifted = replace(
        columns, query=columns.query + 1, target=columns.target + 1, value=columns.value + 1, column_count=columns.column_count + 1
    )
    fits = all(
        len(cells) == shifted.column_count
        and _parse_number(cells[shifted.value]) is not None
        and _parse_number(cells[columns.value]) is None
        for _, cells in rows
    )
    if len(set(names)) < len(names) or not (fits or all(name.isdecimal() for name in names)):
        line, cells = rows[0]
        raise InputError(f"{source}: line {line} has {len(cells):,} columns; expected {len(header[1]):,}, as in line {header[0]}")
    return shifted


def _detect_layout(first: NumberedRow, edit: bool | None, wants_identities: bool, source: str) -> _ListLayout:
    """Return the layout according to the first line. first: its line number and cells; edit, wants_identities: as in `read_pair_list`."""
    line, names = first
    known = _known_titles(names)
    if set(_ID_TITLES) <= set(known):
        kind = _value_title(names, known, edit, wants_identities, source)
        for name in (*_ID_TITLES, kind):
            if known.count(name) > 1:
                raise InputError(f"{source}: {known.count(name)} columns are called {quoted(name)}; delete or rename all but one")
        query, target, value = (known.index(name) for name in (*_ID_TITLES, kind))
        return _ListLayout(query, target, value, len(known), kind, True)
    if len(names) > 2 and (advice := number_advice(names[2])) and _parse_number(names[2]) is None:
        raise InputError(f"{source}: line {line}: expected a distance, found {quoted(names[2])}{advice}")
    if len(names) < 3 or _parse_number(names[2]) is None:
        raise InputError(
            f"{source}: line {line} is {quoted(', '.join(names))}; expected a header with the columns query and target, or lines of two ids"
            " and a distance, delimited by tabs, commas, semicolons or blanks"
        )
    if not _EXTRA_CELLS_PATTERN.fullmatch("\t".join(names[3:])):
        raise InputError(
            f"{source}: {len(names):,} columns without names; expected two ids and a distance (and with --compared the sites) in a list"
            " without a header: write one with names (nw --fields, dist --max-distance), or cut out these columns"
        )
    if wants_identities:
        raise InputError(f"{source}: a list without a header holds distances; --min-identity needs a column called identity")
    return _ListLayout(0, 1, 2, len(names), "distance", False)


def _value_title(titles: Sequence[str], names: Sequence[str], edit: bool | None, wants_identities: bool, source: str) -> str:
    """Return the title of the distance, identity or edit distance column. Raises `InputError` if there is no such column.

    titles: as in the file
    names: the same by `_known_titles`
    """
    wanted = ["identity"] if wants_identities else ["distance", "score"] if edit else ["distance", "identity"]
    for name in wanted:
        if name in names:
            return name
    columns = f"{source}: the columns are {', '.join(titles)}"
    if "score" in names and not wants_identities:
        advice = "write distance or identity" if edit is None else "say --edit if they are edit distances, or write distance or identity"
        raise InputError(f"{columns}; scores are not distances: {advice}")
    if kinds := {"kinship", "relationship"} & set(names):
        raise InputError(f"{columns}; {kinds.pop()}s are not distances: write distances, with --metric ibs")
    advice = "" if {"distance", "identity"} & set(names) else "; give this title to the column that holds it"
    raise InputError(f"{columns}; expected a column {' or '.join(wanted)}{advice}")


def _parse_number(cell: str) -> float | None:
    """Return the number in a cell, nan for NA and similar, None for any other text and for values that are too large."""
    try:
        value = float(cell)
    except ValueError:
        return parse_number(cell)
    return None if abs(value) > _MAX_MAGNITUDE or "_" in cell else value  # Python takes _ for a separator of thousands


def _parse_pairs(
    rows: Iterator[NumberedRow],
    columns: _ListLayout,
    header: list[str] | None,
    ids: Sequence[str] | None,
    source: str,
    storage: EdgeStorage | None,
) -> ListedPairs:
    """Parse the rows. header: cells of the header, which may be repeated in lists joined with cat; None if there is no header."""
    number = {} if ids is None else {name: k for k, name in enumerate(ids)}
    listed, lines = EdgeListBuilder(storage), _LineNumbers()
    a, b, values = array("i"), array("i"), array("d")

    def add_block() -> None:
        one, other = np.frombuffer(a, dtype=np.int32), np.frombuffer(b, dtype=np.int32)
        listed.add(np.minimum(one, other), np.maximum(one, other), np.frombuffer(values))

    for line, cells in rows:
        if len(cells) != columns.column_count:
            if cells == header or not any(cells):
                continue
            raise InputError(f"{source}: line {line} has {len(cells):,} columns; expected {columns.column_count:,}, as in the first line")
        value = _parse_number(cells[columns.value])
        if value is None and (cells == header or not any(cells)):
            continue
        if header is not None and not cells[columns.value]:  # as pandas writes nan
            value = nan
        for name in (cells[columns.query], cells[columns.target]):
            if name not in number:
                if ids is not None:
                    what = f"{quoted(name)}, which is not among the given records"
                    raise InputError(f"{source}: line {line} names {what}; {parameter('ids')} FILE or SEQS must name all")
                if not name:
                    raise InputError(f"{source}: line {line} has an empty id")
                refuse_control_characters(name, f"{source}: line {line}")
                number[name] = len(number)
        one, other = number[cells[columns.query]], number[cells[columns.target]]
        if value is None or value < 0 or (columns.value_title == "identity" and value > 1):
            if value is None or not -_ROUNDING_TOLERANCE <= value <= 1 + _ROUNDING_TOLERANCE:
                raise _bad_value_error(cells[columns.value], columns.value_title, value is None, f"{source}: line {line}")
            value = 0.0 if value < 0 else 1.0
        if one == other:
            if value > _ROUNDING_TOLERANCE and columns.value_title != "identity":
                name = quoted(cells[columns.query])
                raise InputError(
                    f"{source}: line {line}: {name} is at a distance of {value:g} from itself; two records may have this id, or the values"
                    " are not distances"
                )
            continue
        a.append(one)
        b.append(other)
        values.append(value)
        lines.append(line)
        if len(a) == _PAIRS_PER_BLOCK:
            add_block()
            a, b, values = array("i"), array("i"), array("d")
    add_block()
    names = list(number)
    every = listed.finish(len(names))
    distinct, contradiction = distinct_edges(every, storage)
    if contradiction is not None:
        raise InputError(f"{source}: {_describe_contradiction(every, contradiction, lines, names)}; a pair has one value")
    return ListedPairs(names, distinct)


def _bad_value_error(cell: str, title: str, is_text: bool, place: str) -> InputError:
    expected = "an identity from 0 to 1" if title == "identity" else "a distance, a number of 0 or more"
    return InputError(f"{place}: expected {expected}, found {quoted(cell)}{number_advice(cell) if is_text else ''}")


class _LineNumbers:
    """Line number of each pair. Memory grows only with the number of lines between pairs that have none."""

    def __init__(self) -> None:
        self._pairs, self._lines = array("q"), array("q")  # where a line does not follow the line before
        self._next_pair, self._next_line = 0, -1

    def append(self, line: int) -> None:
        """Add the line of the next pair."""
        if line != self._next_line:
            self._pairs.append(self._next_pair)
            self._lines.append(line)
        self._next_pair, self._next_line = self._next_pair + 1, line + 1

    def __getitem__(self, pair: int) -> int:
        at = bisect_right(self._pairs, pair) - 1
        return self._lines[at] + pair - self._pairs[at]


def _describe_contradiction(listed: EdgeList, pair: tuple[int, int], lines: _LineNumbers, names: Sequence[str]) -> str:
    """Return a message that names the first two lines with different values for a pair of records."""
    first: tuple[int, float] | None = None
    start = 0
    for i, j, values in listed.chunks():
        for at in np.flatnonzero((i == pair[0]) & (j == pair[1])).tolist():
            line, value = lines[start + at], float(values[at])
            if first is None:
                first = line, value
            elif value != first[1] and not (isnan(value) and isnan(first[1])):
                records = " and ".join(quoted(names[record]) for record in pair)
                return f"lines {first[0]} and {line} have {' and '.join(different_numbers(first[1], value))} for {records}"
        start += len(i)
    raise AssertionError("no pair of the list has two values")
