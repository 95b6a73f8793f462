"""Groups of records, from the cells of a column: colours beside a heat map, and the choice of pairs to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.ids import changed_ids, describe_changed

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairs

_NO_GROUP = ("", "NA", "nan")


@dataclass(frozen=True)
class Grouping:
    """Groups of the rows of a matrix.

    title: what the groups are
    labels: names of the groups
    of: index of the label of each row, -1 without a group
    """

    title: str
    labels: Sequence[str]
    of: Sequence[int]

    def ranks(self) -> list[int]:
        """Return the index of the label of each row; rows without a group come last."""
        return [len(self.labels) if number < 0 else number for number in self.of]


def grouping(title: str, cells: Iterable[str], own: Sequence[str]) -> Grouping:
    """Return the groups of the records of a matrix. cells: all cells of the column; own: those of the matrix's records. Groups without a
    record are left out."""
    existing = set(own)
    labels = [label for label in dict.fromkeys(cells) if label not in _NO_GROUP and label in existing]
    number = {label: k for k, label in enumerate(labels)}
    return Grouping(title, labels, [number.get(label, -1) for label in own])


def match_ids(names: Sequence[str], ids: Sequence[str], source: str, of: str, warn: Callable[[str], None]) -> dict[str, str]:
    """Return ids by names that another format has made of them, as `changed_ids` does, and report them to `warn`.

    names: those that `source` has groups for
    of: name of the input that holds the records with `ids`, for messages

    Raises `InputError` if no name is one of the ids.
    """
    changed = changed_ids(names, ids)
    if changed:
        warn(describe_changed(changed, source))
    elif set(ids).isdisjoint(names):
        raise InputError(f"{source}: none of its ids is one of {of}, whose first is {ids[0]!a}")
    return changed


def match_order(places: Mapping[str, int], ids: Sequence[str], source: str, warn: Callable[[str], None]) -> dict[str, int]:
    """Return the place of each id. Names that another format has made of ids are matched, and reported to `warn`.

    places: place of each name in `source`

    Raises `InputError` for ids that have none.
    """
    changed = changed_ids(list(places), ids)
    if changed:
        warn(describe_changed(changed, source))
    place_of = {changed.get(name, name): place for name, place in places.items()}
    if missing := [name for name in ids if name not in place_of]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} ids of the matrix are not in it, {missing[0]!a} first")
    return place_of


def check_groups(has_groups: bool, between: bool, within: bool) -> None:
    """Raise `InputError` for parameters that need or contradict each other. has_groups: whether there are groups."""
    groups, different, same = (parameter(name) for name in ("groups", "between", "within"))
    if between and within:
        raise InputError(f"{different} and {same} together select all pairs; give one of them, or neither")
    if not has_groups and (between or within):
        raise InputError(f"{same if within else different} needs the group of each record: give {groups} too")
    if has_groups and not (between or within):
        raise InputError(f"{groups} chooses pairs with {different} (different groups) or {same} (the same group)")


def group_pairs(
    groupings: Sequence[Grouping], ids: Sequence[str], sets: tuple[Sequence[str], Sequence[str]], within: bool, source: str
) -> GroupPairs:
    """Return the selection of pairs by the group of each record: pairs within one group (within), or between two.

    groupings: of records with these ids, each id once
    sets: ids of the queries and of the targets
    source: of the groups, begins messages

    Raises `InputError` if there are several groupings, and for records without a group.
    """
    from gpualign.core.planning.group_pairs import GroupPairs

    if len(groupings) > 1:
        columns = ", ".join(repr(one.title) for one in groupings)
        raise InputError(f"{source}: {len(groupings)} columns of groups, {columns}; expected a table of an id and one group")
    number = dict(zip(ids, groupings[0].of, strict=True))
    if missing := [name for name in ids if number[name] < 0]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} records have no group, {missing[0]!r} the first; give each one")
    own, theirs = (np.array([number[name] for name in names], dtype=np.int64) for names in sets)
    return GroupPairs(own, theirs, within)
