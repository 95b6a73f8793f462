"""Record groups, derived from a table column: used for colours beside a heat map and to choose which pairs to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.ids import describe_changed_ids, match_changed_ids

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairSelector

_NO_GROUP_WORDS = ("", "NA", "nan")


@dataclass(frozen=True)
class Grouping:
    """Groups for the rows of a matrix.

    title: what the groups are
    labels: group names
    label_indices: index of each row's label, -1 for rows without a group
    """

    title: str
    labels: Sequence[str]
    label_indices: Sequence[int]

    def sort_keys(self) -> list[int]:
        """Return the index of each row's label; rows without a group come last."""
        return [len(self.labels) if number < 0 else number for number in self.label_indices]


def make_grouping(title: str, cells: Iterable[str], record_cells: Sequence[str]) -> Grouping:
    """Return the groups for the records of a matrix. cells: all cells in the column; record_cells: one cell per record of the matrix.
    Groups with no records are left out."""
    existing = set(record_cells)
    labels = [label for label in dict.fromkeys(cells) if label not in _NO_GROUP_WORDS and label in existing]
    number = {label: k for k, label in enumerate(labels)}
    return Grouping(title, labels, [number.get(label, -1) for label in record_cells])


def match_ids(names: Sequence[str], ids: Sequence[str], source: str, ids_source: str, warn: Callable[[str], None]) -> dict[str, str]:
    """Return a mapping from ids that other formats have changed (`A_b` for `A b`) to the original ids, and report the changes to `warn`.

    names: ids as they are in `source`, the input that has groups
    ids_source: name of the input that holds the records with `ids`, for messages

    Raises `InputError` if no name matches any id.
    """
    changed = match_changed_ids(names, ids)
    if changed:
        warn(describe_changed_ids(changed, source))
    elif set(ids).isdisjoint(names):
        raise InputError(f"{source}: none of its ids is one of {ids_source}, whose first is {ids[0]!a}")
    return changed


def match_order(positions: Mapping[str, int], ids: Sequence[str], source: str, warn: Callable[[str], None]) -> dict[str, int]:
    """Return the position of each id in a list. Names that another format has altered (`A_b` for `A b`) are replaced with the original ids,
    and the changes are reported to `warn`.

    positions: position of each name in `source`

    Raises `InputError` for ids without a position.
    """
    changed = match_changed_ids(list(positions), ids)
    if changed:
        warn(describe_changed_ids(changed, source))
    place_of = {changed.get(name, name): place for name, place in positions.items()}
    if missing := [name for name in ids if name not in place_of]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} ids of the matrix are not in it, {missing[0]!a} first")
    return place_of


def check_groups(has_groups: bool, between: bool, within: bool) -> None:
    """Raise `InputError` for parameters that contradict each other or lack a parameter that they need. has_groups: whether groups are
    given."""
    groups, different, same = (parameter(name) for name in ("groups", "between", "within"))
    if between and within:
        raise InputError(f"{different} and {same} together select all pairs; give one of them, or neither")
    if not has_groups and (between or within):
        raise InputError(f"{same if within else different} needs the group of each record: give {groups} too")
    if has_groups and not (between or within):
        raise InputError(f"{groups} chooses pairs with {different} (different groups) or {same} (the same group)")


def group_pairs(
    groupings: Sequence[Grouping], ids: Sequence[str], sets: tuple[Sequence[str], Sequence[str]], within: bool, source: str
) -> GroupPairSelector:
    """Return a selection of pairs according to the groups of their records: pairs within the same group (`within`), or between different
    groups.

    groupings: groups of the records with these ids, each id once
    sets: ids of the queries and of the targets
    source: where the groups come from, used as the start of messages

    Raises `InputError` if there are several groupings, or if a record has no group.
    """
    from gpualign.core.planning.group_pairs import GroupPairSelector

    if len(groupings) > 1:
        columns = ", ".join(repr(one.title) for one in groupings)
        raise InputError(f"{source}: {len(groupings)} columns of groups, {columns}; expected a table of an id and one group")
    number = dict(zip(ids, groupings[0].label_indices, strict=True))
    if missing := [name for name in ids if number[name] < 0]:
        raise InputError(f"{source}: {len(missing):,} of {len(ids):,} records have no group, {missing[0]!r} the first; give each one")
    own, theirs = (np.array([number[name] for name in names], dtype=np.int64) for names in sets)
    return GroupPairSelector(own, theirs, within)
