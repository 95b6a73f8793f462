"""Groups of records, by the cells of a column: colours beside a heat map, and pairs that are compared."""

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
    of: for each row of the matrix the index of its label, -1 without a group
    """

    title: str
    labels: Sequence[str]
    of: Sequence[int]

    def ranks(self) -> list[int]:
        """For each row the index of its label; those without a group come last."""
        return [len(self.labels) if number < 0 else number for number in self.of]


def grouping(title: str, cells: Iterable[str], own: Sequence[str]) -> Grouping:
    """Of the cells of a column, and of those that the records of the matrix have: groups without a record of the matrix are left out."""
    there = set(own)
    labels = [label for label in dict.fromkeys(cells) if label not in _NO_GROUP and label in there]
    number = {label: k for k, label in enumerate(labels)}
    return Grouping(title, labels, [number.get(label, -1) for label in own])


def match_ids(names: Sequence[str], ids: Sequence[str], source: str, of: str, warn: Callable[[str], None]) -> dict[str, str]:
    """Return ids by names that another format has made of them, as `changed_ids` does, and report them to `warn`.

    names: those that `source` has groups for. of: what holds the records with `ids`, for messages. Raises `InputError` where no name is one
    of the ids.
    """
    changed = changed_ids(names, ids)
    if changed:
        warn(describe_changed(changed, source))
    elif set(ids).isdisjoint(names):
        raise InputError(f"{source}: none of its ids is one of {of}, whose first is {ids[0]!a}")
    return changed


def match_order(places: Mapping[str, int], ids: Sequence[str], source: str, warn: Callable[[str], None]) -> dict[str, int]:
    """Return the place of each id, of names that another format may have made of them, which `warn` is told.

    places: of the names, as `source` has them. Raises `InputError` for ids that have none.
    """
    changed = changed_ids(list(places), ids)
    if changed:
        warn(describe_changed(changed, source))
    found = {changed.get(name, name): place for name, place in places.items()}
    if missing := [name for name in ids if name not in found]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} ids of the matrix are not in it, {missing[0]!a} first")
    return found


def check_groups(given: bool, between: bool, within: bool) -> None:
    """Raises `InputError` for parameters that lack each other, or contradict each other. given: whether there are groups."""
    groups, different, same = (parameter(name) for name in ("groups", "between", "within"))
    if between and within:
        raise InputError(f"{different} and {same} are all pairs together; give one of them, or neither")
    if not given and (between or within):
        raise InputError(f"{same if within else different} wants to know the group of each record: give {groups} too")
    if given and not (between or within):
        raise InputError(f"{groups} chooses pairs with {different} (different groups) or {same} (the same group)")


def group_pairs(
    groupings: Sequence[Grouping], ids: Sequence[str], sets: tuple[Sequence[str], Sequence[str]], within: bool, source: str
) -> GroupPairs:
    """Return which pairs of records are wanted, by the one group of each: those of one group (within), or of two.

    groupings: of records with these ids, each id once; sets: ids of the queries and of the targets. source: of the groups, begins messages.
    Raises `InputError` where there are several groupings, and for records without a group.
    """
    from gpualign.core.planning.group_pairs import GroupPairs

    if len(groupings) > 1:
        columns = ", ".join(repr(one.title) for one in groupings)
        raise InputError(f"{source}: {len(groupings)} columns of groups, {columns}; a table of an id and one group is wanted")
    number = dict(zip(ids, groupings[0].of, strict=True))
    if missing := [name for name in ids if number[name] < 0]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} records have no group, {missing[0]!r} the first; give each one")
    own, theirs = (np.array([number[name] for name in names], dtype=np.int64) for names in sets)
    return GroupPairs(own, theirs, within)
