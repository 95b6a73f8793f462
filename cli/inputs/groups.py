"""Reads which groups records belong to: a table with an id per line, and a group in each further column."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpualign.cli.outputs.files import open_input
from gpualign.core.dataclass import dataclass
from gpualign.core.errors import InputError
from gpualign.core.files.delimited import open_delimited
from gpualign.core.ids import changed_ids, describe_changed, is_id_title
from gpualign.core.unpack import unpack

if TYPE_CHECKING:
    from gpualign.core.group_pairs import GroupPairs

_NO_GROUP = ("", "NA", "nan")


@dataclass(frozen=True)
class Grouping:
    """Groups of the rows of a matrix.

    title: what the groups are
    labels: names of the groups
    of: for each row of the matrix the index of its label, -1 without a group
    """

    title: str
    labels: Sequence[str]
    of: Sequence[int]


def read_groups(path: str, ids: Sequence[str], warn: Callable[[str], None], of: str = "the matrix") -> list[Grouping]:
    """The groupings of records with these ids, one per column after the first. Tabs, commas, semicolons or blanks delimit columns; - is
    standard input.

    Line 1 names the columns, unless it begins with one of the ids. Other records may be in the table, records may lack in it, and an empty
    cell (or NA) is no group. of: what holds the records, for messages. Raises `InputError` naming the line, or where no record is in the
    table.
    """
    with open_input(path) as (stream, source):
        lines = [row for row in open_delimited(unpack(stream, source)[1], source).rows() if any(row[1])]
    if not lines:
        raise InputError(f"{source}: empty; expected a table with an id and a group per line")
    first = lines[0][1]
    if len(lines) > 1 and len(lines[1][1]) == len(first) + 1:
        if not any(cells[-1] for _, cells in lines[1:]):
            lines = [lines[0], *((line, cells[: len(first)]) for line, cells in lines[1:])]
        elif not is_id_title(first[0]):
            first.insert(0, "")  # R writes no title over the names of rows
    width = len(lines[0][1])
    if width < 2:
        raise InputError(
            f"{source}: line {lines[0][0]} has one column; expected an id and a group, delimited by a tab, a comma, a semicolon or blanks"
        )
    known = set(ids)
    headed = lines[0][1][0] not in known and not changed_ids([lines[0][1][0]], ids)
    titles = lines[0][1][1:] if headed else [f"group {k}" if width > 2 else "group" for k in range(1, width)]
    found: dict[str, tuple[int, list[str]]] = {}
    for line, cells in lines[headed:]:
        if len(cells) != width:
            raise InputError(f"{source}: line {line} has {len(cells):,} columns, line {lines[0][0]} has {width:,}")
        before = found.setdefault(cells[0], (line, cells[1:]))
        if before[1] != cells[1:]:
            raise InputError(f"{source}: lines {before[0]} and {line} put {cells[0]!a} in different groups")
    if changed := changed_ids(list(found), ids):
        found = {changed.get(name, name): row for name, row in found.items()}
        warn(describe_changed(changed, path))
    if not known & found.keys():
        raise InputError(f"{source}: none of its ids is one of {of}, whose first is {ids[0]!a}")
    return [_grouping(title, [cells[k] for _, cells in found.values()], found, ids, k) for k, title in enumerate(titles)]


def check_groups(table: str | None, between: bool, within: bool) -> None:
    """Raises `InputError` for options that lack each other, or contradict each other."""
    if between and within:
        raise InputError("--between and --within are all pairs together; give one of them, or neither")
    if table is None and (between or within):
        raise InputError(f"--{'within' if within else 'between'} wants to know the group of each record: --groups TABLE")
    if table is not None and not (between or within):
        raise InputError("--groups chooses pairs with --between (different groups) or --within (the same group)")


def read_group_pairs(path: str, within: bool, queries: Sequence[str], targets: Sequence[str], warn: Callable[[str], None]) -> GroupPairs:
    """Which pairs of records are wanted, by the one group of each in a table as `read_groups` takes it. Raises `InputError` as that does,
    and for records without a group."""
    from gpualign.core.group_pairs import GroupPairs

    ids = list(dict.fromkeys([*queries, *targets]))
    groupings = read_groups(path, ids, warn, "the sequences")
    if len(groupings) > 1:
        columns = ", ".join(repr(one.title) for one in groupings)
        raise InputError(f"--groups {path}: {len(groupings)} columns of groups, {columns}; a table of an id and one group is wanted")
    number = dict(zip(ids, groupings[0].of, strict=True))
    if missing := [name for name in ids if number[name] < 0]:
        raise InputError(
            f"--groups {path}: {len(missing):,} of {len(ids):,} records have no group, {missing[0]!r} the first; give each one"
        )
    own, theirs = (np.array([number[name] for name in names], dtype=np.int64) for names in (queries, targets))
    return GroupPairs(own, theirs, within)


def _grouping(title: str, named: Sequence[str], found: dict[str, tuple[int, list[str]]], ids: Sequence[str], column: int) -> Grouping:
    """Of a column. Groups without a record of the matrix are left out."""
    own = [found[name][1][column] if name in found else "" for name in ids]
    labels = [label for label in dict.fromkeys(named) if label not in _NO_GROUP and label in set(own)]
    number = {label: k for k, label in enumerate(labels)}
    return Grouping(title, labels, [number.get(label, -1) for label in own])


def read_ids(path: str) -> dict[str, int]:
    """Read a list of ids, one per line, each with the number of its line. Raises `InputError` for repeated ids, and for none."""
    with open_input(path) as (stream, source):
        text = io.TextIOWrapper(unpack(stream, source)[1], encoding="utf-8-sig", errors="surrogateescape")
        places: dict[str, int] = {}
        for line, name in enumerate((line.strip() for line in text), 1):
            if name and places.setdefault(name, line) != line:
                raise InputError(f"{source}: {name!a} is on lines {places[name]} and {line}")
    if not places:
        raise InputError(f"{source}: no ids; expected one per line")
    return places


def read_order(path: str, ids: Sequence[str], warn: Callable[[str], None]) -> dict[str, int]:
    """Read the place of each id in a list, one per line. Raises `InputError` for ids that are twice or not in it."""
    source, places = path, read_ids(path)
    if changed := changed_ids(list(places), ids):
        places = {changed.get(name, name): line for name, line in places.items()}
        warn(describe_changed(changed, path))
    if missing := [name for name in ids if name not in places]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} ids of the matrix are not in it, {missing[0]!a} first")
    return places
