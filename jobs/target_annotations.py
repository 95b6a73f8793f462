"""Annotates the records of a database, from a table and from the titles of its records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.paths import open_input
from gpualign.core.files.row_numbers import INDEX_TITLES, are_row_numbers
from gpualign.core.results.columns import annotation_names
from gpualign.core.sequences.annotations import TITLE_KEYS, AnnotationColumn, annotations_from_titles
from gpualign.core.sequences.ids import is_id_title
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.table_comments import without_comments
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs
from gpualign.jobs.target_selection import Condition

_MAX_TITLES_IN_MESSAGE = 20
"""Maximum number of table columns named in a message."""


@dataclass(frozen=True)
class AnnotationTable:
    """Some columns of a table of records.

    source: name of the file, for messages
    titles: titles of all columns but the first
    first_title: title of the first column, that of the ids
    rows: row of each id
    columns: columns that were read, by title
    second_cells: cell of each row in the second column, if the first may be the row numbers that R and pandas write; otherwise empty
    """

    source: str
    titles: Sequence[str]
    first_title: str
    rows: Mapping[str, int]
    columns: Mapping[str, AnnotationColumn]
    second_cells: Sequence[str] = ()

    def for_records(self, records: SequenceSet) -> dict[str, AnnotationColumn]:
        """Return the columns with a text for each record, empty if the record is not in the table. Raises `InputError` if no record is."""
        ids = records.file_ids
        rows = _rows_of(ids, self.rows)
        if rows.max() < 0 and are_row_numbers(list(self.rows)) and len(set(self.second_cells)) == len(self.second_cells) > 0:
            rows = _rows_of(ids, {name: row for row, name in enumerate(self.second_cells)})
        if self.first_title in ids:
            raise InputError(f"{self.source}: the first line begins with the id of a record; expected the titles of the columns")
        if rows.max() < 0:
            raise InputError(f"{self.source}: none of its ids is one of {records.source}, whose first is {quoted(ids[0])}")
        return {title: column.select(rows) for title, column in self.columns.items()}


def _rows_of(ids: Iterable[str], rows: Mapping[str, int]) -> Integers:
    """Return the row of each id, -1 if it has none."""
    return np.array([rows.get(name, -1) for name in ids], dtype=np.int64)


def read_annotation_table(path: str, needed: Collection[str]) -> AnnotationTable:
    """Read a table whose first line has the titles of its columns, and whose first column has ids, or numbers of rows before the ids.

    needed: titles of the columns to read

    R writes no title above the names of rows, unless it delimits by commas or semicolons.

    Raises an `InputError` that names the line if the table is invalid.
    """
    with open_input(path) as (stream, source):
        table = open_delimited(without_comments(open_decompressed(stream, source)[1], source), source)
        rows = table.rows()
        number, (first_title, *titles) = next(rows, (0, [""]))
        if not number:
            raise InputError(f"{source}: empty; expected a line with the titles of the columns, and an id in each line that follows")
        if (below := next(rows, None)) is not None:
            is_longer = len(below[1]) == len(titles) + 2 and bool(below[1][-1])
            if is_longer and table.delimiter not in ",;" and (not is_id_title(first_title) or are_row_numbers([below[1][0]])):
                first_title, titles = "", [first_title, *titles]
            rows = chain([below], rows)
        if not titles:
            raise InputError(f"{source}: line {number} has one column; expected an id and its annotations, delimited by tabs")
        chosen = [k for k, title in enumerate(titles) if title in needed]
        for k in chosen:
            if titles.count(titles[k]) > 1:
                raise InputError(f"{source}: {titles.count(titles[k])} columns are called {quoted(titles[k])}; give them different names")
        row_of: dict[str, int] = {}
        cells_of: list[tuple[str, ...]] = []
        lines: list[int] = []
        second_cells: list[str] = []
        known: dict[tuple[str, ...], tuple[str, ...]] = {}  # rows of one organism share their cells
        for line, (name, *cells) in rows:
            if len(cells) != len(titles):
                raise InputError(f"{source}: line {line} has {1 + len(cells):,} columns, line {number} has {1 + len(titles):,}")
            selected = tuple(cells[k] for k in chosen)
            row = row_of.setdefault(name, len(cells_of))
            if row == len(cells_of):
                cells_of.append(known.setdefault(selected, selected))
                lines.append(line)
                if first_title in INDEX_TITLES:
                    second_cells.append(cells[0])
            elif cells_of[row] != selected:
                raise InputError(f"{source}: lines {lines[row]} and {line} differ in the annotations of {quoted(name)}")
    if not row_of:
        raise InputError(f"{source}: only a line of titles; expected an id in each line that follows")
    columns = {titles[k]: AnnotationColumn.from_texts(cells[at] for cells in cells_of) for at, k in enumerate(chosen)}
    return AnnotationTable(source, titles, first_title, row_of, columns, second_cells)


@dataclass(frozen=True)
class AnnotationPlan:
    """Annotations that a search needs, and where they come from.

    table: table of annotations, if one was given
    names: names of the annotations
    shadowed: columns of the table that have the name of another field, which was requested
    """

    table: AnnotationTable | None
    names: Collection[str]
    shadowed: Sequence[str]

    @property
    def titles(self) -> Sequence[str]:
        """Titles of the table's columns."""
        return [] if self.table is None else self.table.titles

    @property
    def from_titles(self) -> list[str]:
        """Names of the annotations that come from the titles of records, because the table has no such column."""
        return [name for name in TITLE_KEYS if name in self.names and name not in self.titles]

    def annotate(self, inputs: Inputs, keep_descriptions: bool, reporter: Reporter = SILENT_REPORTER) -> Inputs:
        """Return the inputs with annotations of the targets. keep_descriptions: whether anything but annotations needs the descriptions

        Raises `InputError` if the descriptions are needed but not known, and if no record is in the table.
        """
        targets, annotations = inputs.targets, dict[str, AnnotationColumn]()
        if self.table is not None:
            annotations = self.table.for_records(targets)
            for name in self.shadowed:
                reporter.note(f"{self.table.source}: column {quoted(name)} is not shown, because {name} is another field; rename it")
            if not annotations:
                chosen_by = f"{parameter('fields')} and {parameter('where')}"
                reporter.note(f"{self.table.source}: no column is used; {chosen_by} choose among {_describe_titles(self.titles)}")
        queries, from_titles = inputs.queries, self.from_titles
        if from_titles:
            if targets.descriptions is None:
                raise InputError(
                    f"{targets.source}: no titles are known from which {' and '.join(from_titles)} could be taken; search a FASTA file, or"
                    f" give a table with {'this column' if len(from_titles) == 1 else 'these columns'}: {parameter('annotate')}"
                )
            annotations |= annotations_from_titles(targets.descriptions, from_titles)
            if not keep_descriptions:
                queries, targets = replace(queries, descriptions=None), replace(targets, descriptions=None)
        if not annotations:
            return inputs
        targets = replace(targets, annotations=annotations)
        return replace(inputs, queries=targets if inputs.one_set else queries, targets=targets)


def plan_annotations(path: str | None, fields: str | None, conditions: Sequence[Condition]) -> AnnotationPlan:
    """Return the plan for the annotations that fields and conditions name.

    path: table of annotations, which is read; None: there is none
    fields: requested columns of the output, comma-separated

    Raises `InputError` if the table is invalid, and if a condition names neither a column of the table nor an annotation that titles have.
    """
    shown, named = [name.strip() for name in (fields or "").split(",")], [one.name for one in conditions]
    table = None if path is None else read_annotation_table(path, {*shown, *named})
    titles = [] if table is None else table.titles
    for name in named:
        if name not in titles and name not in TITLE_KEYS:
            known = [*titles, *(one for one in TITLE_KEYS if one not in titles)]
            raise InputError(
                f"{parameter('where')}: no column is called {quoted(name)}; there are {_describe_titles(known)}{did_you_mean(name, known)}"
            )
    own = annotation_names(fields, titles)
    return AnnotationPlan(table, {*own, *named}, [name for name in shown if name in titles and name not in own])


def _describe_titles(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - _MAX_TITLES_IN_MESSAGE:,} more" if len(titles) > _MAX_TITLES_IN_MESSAGE else ""
    return ", ".join(titles[:_MAX_TITLES_IN_MESSAGE]) + more
