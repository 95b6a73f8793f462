"""Selects the records of a database that a search compares with the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Booleans, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs

_MAX_SUGGESTED_IDS = 10_000
"""Maximum number of ids among which a similar one is looked for, because that takes 20 us for each."""

_MAX_IDS_IN_MESSAGE = 3


@dataclass(frozen=True)
class Condition:
    """Condition that an annotation has one of some values.

    name: name of the annotation
    values: permitted texts
    """

    name: str
    values: Sequence[str]


@dataclass(frozen=True)
class TargetFilters:
    """Filters that select records of a database.

    targets: ids of the records to search, each with text, for messages, that says where the id was listed; None: all records
    exclude: ids of records to leave out, in the same form
    where: conditions that all records to search meet
    """

    targets: Mapping[str, str] | None = None
    exclude: Mapping[str, str] = field(default_factory=dict)
    where: Sequence[Condition] = ()

    @property
    def given(self) -> list[str]:
        """The parameters that were given, as text for messages."""
        given = {"targets": self.targets is not None, "exclude": bool(self.exclude), "where": bool(self.where)}
        return [parameter(name) for name, is_given in given.items() if is_given]

    def check(self, one_set: bool) -> None:
        """Raise `InputError` if there is no database. one_set: whether the queries are searched against each other."""
        if one_set and self.given:
            raise InputError(f"{self.given[0]} selects records of a database, and the queries are searched against each other: give both")


def select_targets(inputs: Inputs, filters: TargetFilters, reporter: Reporter = SILENT_REPORTER, threads: int = 1) -> Inputs:
    """Return the inputs with only the selected targets. threads: maximum number of threads.

    Raises `InputError` for ids that no target has, and if no target is left.
    """
    if not filters.given:
        return inputs
    inputs.finish_check()
    targets = inputs.targets
    mask = np.ones(len(targets), dtype=np.bool_) if filters.targets is None else _listed(targets, filters.targets)
    if filters.exclude:
        mask &= ~_listed(targets, filters.exclude)
    for condition in filters.where:
        mask &= _matching(targets, condition, reporter)
    names = " and ".join(filters.given)
    if not mask.any():
        raise InputError(f"{targets.source}: no record is left: {names} leave{'s' if len(filters.given) == 1 else ''} out all of them")
    letters = int(targets.lengths[mask].sum())
    reporter.note(f"{names}: {int(mask.sum()):,} of {len(targets):,} records of {targets.source}, with {letters:,} letters")
    return inputs if mask.all() else replace(inputs, targets=targets.keep(np.flatnonzero(mask), threads))


def _listed(targets: SequenceSet, listed: Mapping[str, str]) -> Booleans:
    """Return a mask of the targets with listed ids. Raises `InputError` for ids that no target has."""
    ids = targets.file_ids
    mask = np.fromiter((name in listed for name in ids), dtype=np.bool_, count=len(ids))
    if targets.known_file_ids is not None:  # repeated ids, or numbered ones
        mask |= np.fromiter((name in listed for name in targets.ids), dtype=np.bool_, count=len(ids))
    found = {name for names in (ids, targets.id_column) for name in names.select(np.flatnonzero(mask))}
    if unknown := [name for name in listed if name not in found]:
        raise InputError(_describe_unknown_ids(unknown, listed[unknown[0]], targets))
    return mask


def _matching(targets: SequenceSet, condition: Condition, reporter: Reporter) -> Booleans:
    """Return a mask of the targets that meet a condition, and report values that no target has."""
    column = targets.annotations[condition.name]
    existing = set(column.values.select(distinct(column.codes.astype(np.int64))))
    texts = {value: {value, f"{value}.0"} if value.isdecimal() else {value} for value in condition.values}  # 9606.0: pandas, with gaps
    if missing := [value for value in condition.values if existing.isdisjoint(texts[value])]:
        shown = ", ".join(map(quoted, missing[:_MAX_IDS_IN_MESSAGE])) + (", ..." if len(missing) > _MAX_IDS_IN_MESSAGE else "")
        reporter.note(f"{parameter('where')}: no record of {targets.source} has {condition.name} {shown}")
    return column.is_any_of(set[str]().union(*texts.values()))


def _describe_unknown_ids(unknown: list[str], where: str, targets: SequenceSet) -> str:
    """Return an error message for listed ids that no target has. where: place where the first of them is listed"""
    first, *others = unknown
    text = f"{where}: no record {quoted(first)} in {targets.source}"
    if others:
        shown = ", ".join(map(quoted, others[:_MAX_IDS_IN_MESSAGE]))
        text += f", nor {shown}" + (f" and {len(others) - _MAX_IDS_IN_MESSAGE:,} more" if len(others) > _MAX_IDS_IN_MESSAGE else "")
    if (whole := next((name for name in targets.ids if first in name.split("|")), None)) is not None:
        return f"{text}; ids are whole words such as {quoted(whole)}"
    return text + (did_you_mean(first, targets.ids) if len(targets) <= _MAX_SUGGESTED_IDS else "")
