"""Selects the pairs of records that agree in columns of their tables, such as receptors with the same V gene."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.planning.group_pairs import GroupPairSelector, pack_labels
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.gene_calls import are_gene_calls, gene_names
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs.reporter import Reporter


def shared_annotation_pairs(
    queries: SequenceSet, targets: SequenceSet, same: Sequence[str], alleles: bool, reporter: Reporter
) -> GroupPairSelector:
    """Return the pairs of records that share a value in each of some columns. A call of several genes has each of them as a value, and an
    empty cell has none, so that its record agrees with no other.

    same: titles of the columns
    alleles: whether columns of gene calls are compared by allele instead of by gene

    Raises `InputError` if records have no such column, because their file is not a table.
    """
    sides = [queries] if targets is queries else [queries, targets]
    codes_of: list[Integers] = []
    values_of: list[list[frozenset[str]]] = []
    for title in same:
        codes, values = _distinct_values([_column(one, title) for one in sides], title, alleles)
        if without := int(np.count_nonzero(codes == values.index(frozenset()))) if frozenset() in values else 0:
            reporter.note(f"{without:,} of {len(codes):,} records have no {title}, and agree with no other")
        codes_of.append(codes)
        values_of.append(values)
    groups = np.zeros(sum(map(len, sides)), dtype=np.int64)  # records with the same values of all columns
    for codes, values in zip(codes_of, values_of, strict=True):
        groups = np.unique(groups * len(values) + codes, return_inverse=True)[1]
    own, others = groups[: len(queries)], groups[-len(targets) :]
    if all(len(value) == 1 for values in values_of for value in values):
        return GroupPairSelector(own, others, within_groups=True)
    firsts = np.unique(groups, return_index=True)[1]
    labels = []
    for codes, values in zip(codes_of, values_of, strict=True):
        number = {name: k for k, name in enumerate(sorted(frozenset().union(*values)))}
        numbered = [frozenset(number[name] for name in value) for value in values]
        labels.append(pack_labels([numbered[code] for code in codes[firsts].tolist()], len(number)))
    return GroupPairSelector(own, others, within_groups=True, labels=tuple(labels))


def _column(records: SequenceSet, title: str) -> AnnotationColumn:
    if title not in records.annotations:
        raise InputError(
            f"{parameter('same')} compares columns of a table, and {records.source} is no table of records with a column '{title}'"
        )
    return records.annotations[title]


def _distinct_values(columns: Sequence[AnnotationColumn], title: str, alleles: bool) -> tuple[Integers, list[frozenset[str]]]:
    """Return (index of each record's value, distinct values), for the records of all columns, one after the other. A value is the set of
    genes of a call, or the text of any other cell."""
    numbers: dict[frozenset[str], int] = {}
    is_call = are_gene_calls(title, chain.from_iterable(column.values for column in columns))
    codes = []
    for column in columns:
        values = [gene_names(text, alleles) if is_call else frozenset({text} - {""}) for text in column.values]
        codes.append(np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)[column.codes])
    return np.concatenate(codes), list(numbers)
