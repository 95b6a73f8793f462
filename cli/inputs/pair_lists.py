"""Reads lists of pairs with a distance or an identity, as `nw` and `dist` write them."""

from __future__ import annotations

import itertools
import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gpualign.core.clustering.edges import unique_edges
from gpualign.core.clustering.known_distances import ListedPairs
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, TooLittleMemory, parameter, quoted
from gpualign.core.files.decompression import unpack
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.matrix_text import Row, read_matrix_rows
from gpualign.core.files.squares import number_of
from gpualign.core.sequences.ids import refuse_control
from gpualign.jobs.output.atomic_files import open_input

_ENDS = ("query", "target")

_BEHIND_DISTANCES = re.compile(r"|[0-9]+|[^\t]+\t[0-9]+/[0-9]+")
"""Of lists without a header, what may follow: nothing, the compared sites, and what mash has of each pair."""

_LOOKED_AT = 20
"""Rows that tell how a list is laid out."""

_ROUNDING = 1e-9
"""Largest distance of a record from itself that some programs write."""
_LINE_BYTES = 96
"""Of a pair: two numbers of records, a value and a line, and the keys by which repeated pairs are found, in order; or, when the list has
been read, the near pairs beside it."""
_LARGEST = 1e100
"""Beyond it sums of the values would no longer be numbers."""


@dataclass(frozen=True)
class PairList:
    """pairs: with their values, which are identities or distances."""

    pairs: ListedPairs
    of_identities: bool


@dataclass(frozen=True)
class _Columns:
    """Which columns hold the two ids and the value; width: how many there are; headed: whether line 1 names them."""

    query: int
    target: int
    value: int
    width: int
    kind: str
    headed: bool


def read_edges(path: str, edit: bool | None, by_identity: bool, ids: Sequence[str] | None = None, memory: int | None = None) -> PairList:
    """Read a list of pairs: a table with a header, which may be repeated, that names the columns query, target and distance, identity or
    score; or, without a header, two ids and a distance. Tabs, commas, semicolons or blanks delimit columns; - is standard input.

    edit: the scores are edit distances (None: there is no option to say so); other scores are no distances. by_identity: identities are
    looked for. ids: of all records; None: the records are those in the list, in the order in which they come, and none where no pair is
    near. memory: bytes that reading may take. Raises `InputError` naming the line, and `TooLittleMemory` where the list takes more than the
    memory.
    """
    with open_input(path) as (stream, source):
        start, unpacked = unpack(stream, source)
        if b"\0" in start:
            raise InputError(f"{source}: a binary file; expected a list of pairs, as .tsv or .csv")
        rows = open_delimited(unpacked, source).rows()
        first = next((row for row in rows if any(row[1])), None)
        if first is None:
            raise InputError(f"{source}: empty file; expected a list of pairs")
        columns = _columns(first, edit, by_identity, source)
        begun = [row for row in itertools.islice(rows, _LOOKED_AT) if any(row[1])]
        if not columns.headed:
            begun.insert(0, first)
            _refuse_matrix(begun, source)
        elif begun and len(begun[0][1]) == len(first[1]) + 1:
            columns = _after_row_names(columns, begun, first, source)
        found = _parse(itertools.chain(begun, rows), columns, first[1] if columns.headed else None, ids, source, memory)
    return PairList(found, columns.kind == "identity")


def _refuse_matrix(rows: Sequence[Row], source: str) -> None:
    """Raises `InputError` where the first rows are those of a small matrix, or begin with numbers of rows, and all can be two ids and a
    distance as well. A larger matrix has more columns than a list."""
    if len(rows) < _LOOKED_AT and len(rows[0][1]) == len(_ENDS) + 1 and _is_matrix(rows, source):
        raise InputError(f"{source}: line {rows[0][0]} begins a list of pairs, or a matrix; write a header, query, target, distance")
    counting = [cells[0] for _, cells in rows] == [str(k) for k in range(1, len(rows) + 1)]
    if counting and len(rows[0][1]) == len(_ENDS) + 2:
        raise InputError(f"{source}: its rows may begin with ids, or with their numbers; write a header, query, target, distance")


def _is_matrix(rows: Sequence[Row], source: str) -> bool:
    try:
        found = read_matrix_rows(rows, source)
    except InputError:
        return False
    return found.rows == found.columns


def _after_row_names(columns: _Columns, rows: Sequence[Row], header: Row, source: str) -> _Columns:
    """The columns behind the names of rows, over which R writes no title. Raises `InputError` where the first cells are no numbers of
    rows."""
    names = [cells[0] for _, cells in rows]
    if not all(name.isdecimal() for name in names) or len(set(names)) < len(names):
        line, cells = rows[0]
        raise InputError(f"{source}: line {line} has {len(cells):,} columns; expected {len(header[1]):,}, as in line {header[0]}")
    return replace(columns, query=columns.query + 1, target=columns.target + 1, value=columns.value + 1, width=columns.width + 1)


def _columns(first: Row, edit: bool | None, by_identity: bool, source: str) -> _Columns:
    """By the first line, which has this number."""
    line, names = first
    if set(_ENDS) <= set(names):
        kind = _kind(names, edit, by_identity, source)
        query, target, value = (names.index(name) for name in (*_ENDS, kind))
        return _Columns(query, target, value, len(names), kind, True)
    if len(names) < 3 or _number(names[2]) is None:
        raise InputError(
            f"{source}: line {line} is {quoted(', '.join(names))}; expected a header with the columns query and target, or lines of two ids"
            " and a distance, delimited by tabs, commas, semicolons or blanks"
        )
    if not _BEHIND_DISTANCES.fullmatch("\t".join(names[3:])):
        raise InputError(
            f"{source}: {len(names):,} columns without names; a list without a header is of two ids and a distance, with --compared of the"
            " sites too: write one with names (nw --fields, dist --max-distance), or cut these columns out of it"
        )
    if by_identity:
        raise InputError(f"{source}: a list without a header is of distances; --min-identity wants a column that is called identity")
    return _Columns(0, 1, 2, len(names), "distance", False)


def _kind(names: list[str], edit: bool | None, by_identity: bool, source: str) -> str:
    """The column that says how near a pair is."""
    wanted = ["identity"] if by_identity else ["distance", "score"] if edit else ["distance", "identity"]
    for name in wanted:
        if name in names:
            return name
    there = f"{source}: the columns are {', '.join(names)}"
    if "score" in names and not by_identity:
        advice = "write distance or identity" if edit is None else "say --edit if they are edit distances, or write distance or identity"
        raise InputError(f"{there}; scores are no distances: {advice}")
    if found := {"kinship", "relationship"} & set(names):
        raise InputError(f"{there}; {found.pop()}s are no distances: write distances, with --metric ibs")
    raise InputError(f"{there}; the column {' or '.join(wanted)} is wanted")


def _number(cell: str) -> float | None:
    """A number, nan for NA and the like; None for what is neither, and for what is too large."""
    try:
        value = float(cell)
    except ValueError:
        return number_of(cell)
    return None if abs(value) > _LARGEST or "_" in cell else value  # Python takes _ for a separator of thousands


def _parse(
    rows: Iterator[Row], columns: _Columns, header: list[str] | None, ids: Sequence[str] | None, source: str, memory: int | None
) -> ListedPairs:
    """header: cells of the header, which comes again where lists were joined by cat; None without one."""
    most = sys.maxsize if memory is None else memory // _LINE_BYTES
    number = {} if ids is None else {name: k for k, name in enumerate(ids)}
    a, b, values, lines = array("i"), array("i"), array("d"), array("q")
    for line, cells in rows:
        if len(cells) != columns.width:
            if cells == header or not any(cells):
                continue
            raise InputError(f"{source}: line {line} has {len(cells):,} columns; expected {columns.width:,}, as in the first line")
        value = _number(cells[columns.value])
        if value is None and (cells == header or not any(cells)):
            continue
        for name, end in ((cells[columns.query], a), (cells[columns.target], b)):
            if name not in number:
                if ids is not None:
                    raise InputError(f"{source}: line {line} names {quoted(name)}, which is none of the records that were given")
                if not name:
                    raise InputError(f"{source}: line {line} has an empty id")
                refuse_control(name, f"{source}: line {line}")
                number[name] = len(number)
            end.append(number[name])
        if value is None or value < 0 or (columns.kind == "identity" and value > 1):
            expected = "an identity from 0 to 1" if columns.kind == "identity" else "a distance, a number from 0 on,"
            raise InputError(f"{source}: line {line}: {quoted(cells[columns.value])} where {expected} is expected")
        if a[-1] == b[-1] and value > _ROUNDING and columns.kind != "identity":
            name = quoted(cells[columns.query])
            raise InputError(f"{source}: line {line}: {name} is at a distance of {value:g} from itself; two records may have this id")
        if len(lines) == most:
            raise TooLittleMemory(
                f"{source}: the list is too long for the memory: reading takes {_LINE_BYTES} bytes a pair, and there are more lines than"
                f" {line - 1:,}",
                _LINE_BYTES * line,
                f"raise {parameter('memory')}, or list near pairs alone, as nw and dist do with {parameter('max_distance')}",
            )
        values.append(value)
        lines.append(line)
    names = list(number)
    i, j = np.frombuffer(a, dtype=np.int32), np.frombuffer(b, dtype=np.int32)
    edges, contradiction = unique_edges(len(names), i, j, np.frombuffer(values))
    if contradiction is not None:
        one, other = contradiction
        raise InputError(
            f"{source}: lines {lines[one]} and {lines[other]} say {values[one]:g} and {values[other]:g} of {quoted(names[a[one]])} and"
            f" {quoted(names[b[one]])}; a pair has one value"
        )
    return ListedPairs(names, edges)
