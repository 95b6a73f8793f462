"""Annotations of records, as given in Python: groups, numbers and dates."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpualign._execution_options import LOG, is_missing
from gpualign._sequences import is_default_index
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.ids import id_text
from gpualign.jobs.options import check_same_columns
from gpualign.jobs.record_groups import check_groups, group_pairs, make_grouping, match_ids
from gpualign.jobs.shared_annotations import shared_annotation_pairs

if TYPE_CHECKING:
    import pandas as pd

    from gpualign.core.planning.group_pairs import GroupPairSelector
    from gpualign.jobs.nw import NwOptions
    from gpualign.jobs.plotting.quantities import Quantity
    from gpualign.jobs.record_groups import Grouping
    from gpualign.jobs.sequence_loading import Inputs

GroupsInput: TypeAlias = "Mapping[str, Hashable] | Mapping[str, Mapping[str, Hashable]] | pd.Series | pd.DataFrame"
"""Group for each id; or several such columns, keyed by title, as a mapping or a DataFrame with the ids as its index."""

_DEFAULT_TITLE = "group"
"""Title for a column without a title. Numbers in such a column are group names."""


def group_pair_selector(
    groups: GroupsInput | None, between: bool, within: bool, options: NwOptions
) -> Callable[[Inputs], GroupPairSelector | None]:
    """Return a function that selects pairs by group, or by columns in which records must agree, to be called once the sequences have been
    read.

    options: name these columns

    Raises `InputError` immediately for missing or contradictory arguments and for anything but groups. The returned function raises
    `InputError` for records without a group.
    """
    for name, value in (("between", between), ("within", within)):
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{parameter(name)}: expected True or False; found {value!r}")
    check_groups(groups is not None, bool(between), bool(within))
    same = options.read_options.columns.same
    check_same_columns(same, options.alleles, groups is not None)
    if same:
        return lambda inputs: shared_annotation_pairs(inputs.queries, inputs.targets, same, options.alleles, LOG)
    if groups is None:
        return lambda inputs: None
    _columns_of_groups(groups, None)

    def chosen(inputs: Inputs) -> GroupPairSelector:
        sets = inputs.queries.ids, inputs.targets.ids
        ids = list(dict.fromkeys([*sets[0], *sets[1]]))
        own = [make_grouping(*column) for column in _cells_of_records(_columns_of_groups(groups, ids), ids, "the sequences")]
        return group_pairs(own, ids, sets, bool(within), parameter("groups"))

    return chosen


def row_annotations(groups: GroupsInput | None, ids: Sequence[str]) -> list[Grouping | Quantity]:
    """Return columns to draw next to the matrix rows: a quantity if a titled column has only numbers or only dates, else groups.

    Raises `InputError` for anything but groups, or if no record in the matrix has a group.
    """
    if groups is None:
        return []
    from gpualign.jobs.plotting.quantities import parse_quantity

    columns = _cells_of_records(_columns_of_groups(groups, ids), ids, "the matrix")
    return [
        (parse_quantity(title, own) if title != _DEFAULT_TITLE else None) or make_grouping(title, cells, own)
        for title, cells, own in columns
    ]


_TitledColumns: TypeAlias = "list[tuple[str, dict[str, str]]]"
"""(title, cell for each id) for each column."""


def _cells_of_records(columns: _TitledColumns, ids: Sequence[str], ids_source: str) -> list[tuple[str, list[str], list[str]]]:
    """Return (title, all cells, cells of the records with these ids) for each column; the cell of a record that is not in the column is
    empty. ids_source: name of the input that has the ids, for messages."""
    names = list(dict.fromkeys(name for _, cells in columns for name in cells))
    changed = match_ids(names, ids, parameter("groups"), ids_source, LOG.warn)
    matched = []
    for title, cells in columns:
        by_id = {changed.get(name, name): cell for name, cell in cells.items()}
        matched.append((title, list(by_id.values()), [by_id.get(name, "") for name in ids]))
    return matched


def _columns_of_groups(groups: Any, ids: Sequence[str] | None) -> _TitledColumns:
    """Return the columns of groups. ids: ids of the records; None: not known yet, so that of a DataFrame only the cells are checked"""
    dimensions = getattr(groups, "ndim", None) if hasattr(groups, "iloc") else None
    if dimensions == 1:  # a Series
        title = _DEFAULT_TITLE if groups.name is None else str(groups.name)
        columns = [(title, _cells(zip(groups.index, groups, strict=True)))]
    elif dimensions == 2:
        columns = _dataframe_columns(groups, ids)
    elif not isinstance(groups, Mapping):
        raise InputError(
            f"{parameter('groups')}: expected a dict of ids and their groups, or a pandas.DataFrame with the ids as its index;"
            f" found {type(groups).__name__}"
        )
    elif groups and all(hasattr(one, "items") for one in groups.values()):
        columns = [(str(title), _cells(one.items())) for title, one in groups.items()]
    else:
        columns = [(_DEFAULT_TITLE, _cells(groups.items()))]
    if not any(cells for _, cells in columns):
        raise InputError(f"{parameter('groups')}: empty; expected ids and their groups")
    return columns


def _dataframe_columns(dataframe: Any, record_ids: Sequence[str] | None) -> _TitledColumns:
    """Return the columns of a DataFrame. With pandas' default index, or what sorting and dropping rows have left of it, and several
    columns, the first column contains the ids. record_ids: as in `_columns_of_groups`"""
    titles = [str(title) for title in dataframe.columns]
    columns = [dataframe.iloc[:, k].tolist() for k in range(len(titles))]
    ids = list(range(len(dataframe))) if record_ids is None else dataframe.index.tolist()
    is_of_numbers = getattr(dataframe.index.dtype, "kind", "") in "iu" and not {*map(str, ids)}.intersection(record_ids or ())
    if record_ids is not None and len(titles) > 1 and (is_default_index(dataframe.index) or is_of_numbers):
        ids, titles, columns = columns[0], titles[1:], columns[1:]
    return [(title, _cells(zip(ids, column, strict=True))) for title, column in zip(titles, columns, strict=True)]


def _cells(items: Iterable[tuple[object, object]]) -> dict[str, str]:
    """Return the cell for each id, as text. Raises `InputError` for ids with conflicting cells, and for values that cannot name a group."""
    cells: dict[str, str] = {}
    for key, value in items:
        name, cell = id_text(key), _cell_text(value)
        if cells.setdefault(name, cell) != cell:
            raise InputError(f"{parameter('groups')}: {name!a} is in different groups, {cells[name]!a} and {cell!a}")
    return cells


def _cell_text(value: object) -> str:
    """Return a cell as table text, empty if missing. Whole floats become integers, because pandas stores integers with gaps as floats."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Hashable) or isinstance(value, (tuple, frozenset, bytes)):
        raise InputError(f"{parameter('groups')}: expected text, a number, a date or None as a group; found {value!r}")
    if is_missing(value):
        return ""
    return f"{value:.0f}" if isinstance(value, (float, np.floating)) and value == value // 1 else str(value)
