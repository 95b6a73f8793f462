"""Reads record tables: one id per line, and a group, number or date in each additional column."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.paths import STDIO, input_name, open_input
from gpualign.core.files.quoting import unquoted_text
from gpualign.core.files.row_numbers import INDEX_TITLES, are_row_numbers
from gpualign.core.files.square_matrices import parse_number
from gpualign.core.sequences.ids import is_id_title, match_changed_ids, may_be_id_title, refuse_control_characters
from gpualign.core.sequences.receptor_titles import ID_TITLE
from gpualign.core.sequences.record_tables import has_receptor_titles
from gpualign.core.sequences.table_comments import without_comments
from gpualign.jobs.plotting.quantities import Quantity, parse_days, parse_quantity
from gpualign.jobs.record_groups import Grouping, group_pairs, make_grouping, match_ids, match_order

if TYPE_CHECKING:
    from gpualign.core.clustering.linkage_writer import RecordDates
    from gpualign.core.planning.group_pairs import GroupPairSelector

_MAX_COLUMNS_IN_MESSAGE = 20
"""Maximum number of table columns named in a message."""


@dataclass(frozen=True)
class _RecordTable:
    """Selected columns of a table.

    titles: titles of the selected columns
    cells: cells for each id in these columns, in line order
    """

    titles: Sequence[str]
    cells: dict[str, list[str]]

    def columns(self, ids: Sequence[str]) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield (title, all cells, cells for the records `ids`, "" for ids not in the table) for each column."""
        for k, title in enumerate(self.titles):
            own = [self.cells[name][k] if name in self.cells else "" for name in ids]
            yield title, [cells[k] for cells in self.cells.values()], own


def split_file_and_columns(argument: str) -> tuple[str, list[str] | None]:
    """Return (file, column names) for FILE:COLUMN,..., or (file, None) if the whole argument is a file. A name with a comma may be in
    double quotes. If the argument has several colons, the file name ends at the last colon preceded by the name of an existing file."""
    if _exists(argument):
        return argument, None
    ends = [at for at in range(len(argument) - 1, 0, -1) if argument[at] == ":"]
    end = next((at for at in ends if _exists(argument[:at])), None)
    if end is None:
        return argument, None
    names = next(csv.reader([argument[end + 1 :]], skipinitialspace=True), None) or [""]
    return argument[:end], [name.strip() for name in names]


def _exists(path: str) -> bool:
    return path == STDIO or os.path.exists(path)


def read_columns(path: str, columns: Sequence[str], ids: Sequence[str], warn: Callable[[str], None]) -> list[Grouping | Quantity]:
    """Read some columns of a table, in the order of `columns`. The format is the same as for `read_groups`, but line 1 must name the
    columns. Columns with only numbers or only dates become quantities; all other columns become groups. Raises the same errors as
    `read_groups`, and an `InputError` that lists the existing columns if a column is not in the table."""
    table = _read_table(path, ids, warn, "the matrix", columns)
    return [parse_quantity(title, own) or make_grouping(title, cells, own) for title, cells, own in table.columns(ids)]


def read_dates(argument: str, ids: Sequence[str], warn: Callable[[str], None]) -> RecordDates:
    """Read the dates of the records `ids` from a table in the format of `read_groups`.

    argument: FILE or FILE:COLUMN; without a column, the table must have exactly one whose cells are dates and not all of them numbers

    Raises the same errors as `read_columns`, and an `InputError` if there is not one column of dates.
    """
    from gpualign.core.clustering.linkage_writer import RecordDates  # other readers of tables do not need it

    path, columns = split_file_and_columns(argument)
    table = _read_table(path, ids, warn, "the records", columns)
    parsed = [(title, own, parse_days(own)) for title, _, own in table.columns(ids)]
    found = [(own, days) for _, own, days in parsed if days is not None and (columns or not all(map(_is_number_or_empty, own)))]
    if len(found) == 1:
        return RecordDates(found[0][1], found[0][0])
    shown = ", ".join(quoted(title) for title, _, days in parsed if columns or days is not None)
    if columns or not found:
        named = f"column {shown}" if columns else "no column"
        raise InputError(f"{path}: {named}: expected dates of the records, such as 2026-11-27, in one column, which TABLE:COLUMN names")
    raise InputError(f"{path}: {len(found)} columns have dates, {shown}; choose one with TABLE:COLUMN")


def _is_number_or_empty(cell: str) -> bool:
    return not cell or parse_number(cell) is not None


def read_groups(path: str, ids: Sequence[str], warn: Callable[[str], None], ids_source: str = "the matrix") -> list[Grouping]:
    """Read the groupings of the records `ids`, one per column after the first. Columns are delimited by tabs, commas, semicolons or
    blanks; - is standard input.

    Line 1 names the columns, unless it begins with one of the ids. In a table of receptors the ids are in the column `sequence_id`, and
    every other column is a grouping. The table may contain extra records and omit some. An empty cell or NA means that the record has no
    group. ids_source: name for the source of the records, for messages. Raises an `InputError` that names the line if the table is invalid,
    or if no record is in the table.
    """
    return [make_grouping(*column) for column in _read_table(path, ids, warn, ids_source).columns(ids)]


def _read_table(
    path: str, ids: Sequence[str], warn: Callable[[str], None], ids_source: str, columns: Sequence[str] | None = None
) -> _RecordTable:
    """Read the columns `columns` of a table; None: all columns."""
    with open_input(path) as (stream, source):
        text = without_comments(open_decompressed(stream, source)[1], source, set(ids))
        lines = [row for row in open_delimited(text, source).rows() if any(row[1])]
    if not lines:
        raise InputError(f"{source}: empty; expected a table with an id and a group per line")
    if has_receptor_titles(lines[0][1]):
        place = lines[0][1].index(ID_TITLE)
        lines = [(line, [*cells[place : place + 1], *cells[:place], *cells[place + 1 :]]) for line, cells in lines]
    first, known = lines[0][1], set(ids)
    if len(lines) > 1 and len(lines[1][1]) == len(first) + 1:
        if not any(cells[-1] for _, cells in lines[1:]):
            lines = [lines[0], *((line, cells[: len(first)]) for line, cells in lines[1:])]
        elif not is_id_title(first[0]) or _begins_with_row_numbers([["", *first], *(cells for _, cells in lines[1:])], known):
            first.insert(0, "")  # R writes no title above row names
    if _begins_with_row_numbers([cells for _, cells in lines], known):
        lines = [(line, cells[1:]) for line, cells in lines]
    width = len(lines[0][1])
    if width < 2:
        raise InputError(
            f"{source}: line {lines[0][0]} has one column; expected an id and a group, delimited by a tab, a comma, a semicolon or blanks"
        )
    headed = columns is not None or (lines[0][1][0] not in known and not match_changed_ids([lines[0][1][0]], ids))
    titles = lines[0][1][1:] if headed else [f"group {k}" if width > 2 else "group" for k in range(1, width)]
    places = range(width - 1) if columns is None else [_column_index(name, titles, source) for name in dict.fromkeys(columns)]
    records: dict[str, tuple[int, list[str]]] = {}
    for line, cells in lines[headed:]:
        if len(cells) != width:
            raise InputError(f"{source}: line {line} has {len(cells):,} columns, line {lines[0][0]} has {width:,}")
        selected = [cells[1 + k] for k in places]
        before = records.setdefault(cells[0], (line, selected))
        if before[1] != selected:
            raise InputError(f"{source}: lines {before[0]} and {line} put {cells[0]!a} in different groups")
    changed = match_ids(list(records), ids, source, ids_source, warn)
    records = {changed.get(name, name): row for name, row in records.items()}
    return _RecordTable([titles[k] for k in places], {name: cells for name, (_, cells) in records.items()})


def _begins_with_row_numbers(rows: Sequence[Sequence[str]], known: set[str]) -> bool:
    """Return whether the first column of a table numbers its rows, and the ids are in the second. known: ids of the records."""
    if rows[0][0] not in INDEX_TITLES or min(map(len, rows)) < 3:
        return False
    numbers, ids = [cells[0] for cells in rows[1:]], [cells[1] for cells in rows[1:]]
    return are_row_numbers(numbers) and known.isdisjoint(numbers) and not known.isdisjoint(ids)


def _column_index(name: str, titles: Sequence[str], source: str) -> int:
    """Return the index of the column `name`. Raises `InputError` if there is no such column, or more than one."""
    if titles.count(name) == 1:
        return titles.index(name)
    if name in titles:
        raise InputError(f"{source}: {titles.count(name)} columns are called {quoted(name)}; give them different names")
    shown = ", ".join(map(quoted, titles[:_MAX_COLUMNS_IN_MESSAGE])) + (
        f" and {len(titles) - _MAX_COLUMNS_IN_MESSAGE:,} more" if len(titles) > _MAX_COLUMNS_IN_MESSAGE else ""
    )
    raise InputError(f"{source}: no column is called {quoted(name)}; besides the ids its columns are {shown}{did_you_mean(name, titles)}")


def read_group_pairs(
    path: str, within: bool, queries: Sequence[str], targets: Sequence[str], warn: Callable[[str], None]
) -> GroupPairSelector:
    """Return the pairs selected according to the group of each record, from a table in the format of `read_groups`. Raises the same
    errors as `read_groups`, and an `InputError` for records without a group."""
    ids = list(dict.fromkeys([*queries, *targets]))
    return group_pairs(read_groups(path, ids, warn, "the sequences"), ids, (queries, targets), within, f"--groups {path}")


def read_ids(path: str) -> dict[str, int]:
    """Read a list of ids, one per line and possibly in quotes, and return the line number for each id. Raises `InputError` for repeated ids
    and an empty list."""
    with open_input(path) as (stream, source):
        text = io.TextIOWrapper(open_decompressed(stream, source)[1], encoding="utf-8-sig", errors="surrogateescape")
        places: dict[str, int] = {}
        for line, name in enumerate((unquoted_text(line.strip()) for line in text), 1):
            if name and places.setdefault(name, line) != line:
                raise InputError(f"{source}: {name!a} is on lines {places[name]} and {line}")
    if not places:
        raise InputError(f"{source}: no ids; expected one per line")
    return places


def read_record_ids(path: str) -> list[str]:
    """Read the ids of all records, one per line. Raises `InputError` for repeated ids, control characters in them such as the tabs of a
    table, an empty list, and a title in the first line."""
    places = read_ids(path)
    for name, line in places.items():
        refuse_control_characters(name, f"{input_name(path)}: line {line}")
    ids = list(places)
    if may_be_id_title(ids[0]):
        raise InputError(
            f"{input_name(path)}: {ids[0]!a} in the first line may be a title; delete it, or begin with another id if a record has that"
            " name"
        )
    return ids


def read_order(path: str, ids: Sequence[str], warn: Callable[[str], None]) -> dict[str, int]:
    """Read a list of ids, one per line, and return the position of each id in it. ids: ids that the list must contain. Raises `InputError`
    for repeated or missing ids."""
    return match_order(read_ids(path), ids, path, warn)
