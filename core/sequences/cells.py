"""Cells of immune receptors: which records of a set are chains of the same cell. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from itertools import pairwise

import numpy as np

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.sequences.ids import file_of, number_repeated_ids
from gpualign.core.sequences.receptor_titles import CELL, LOCUS, is_missing
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn


@dataclass(frozen=True)
class Cells:
    """Cells that have chains of both of two loci, in the order of their first records.

    ids: id of each cell
    file_ids: id of each cell in its file, which may be repeated in another file
    files: number of each cell's file, int64[cells]
    records: records of each locus that are chains of these cells, ascending
    cells: cell of each of these records
    lacking: for each locus, number of other cells without a chain of it
    without_cell: number of records that name no cell
    """

    ids: StringColumn = field(repr=False)
    file_ids: StringColumn = field(repr=False)
    files: Integers = field(repr=False)
    records: tuple[Integers, Integers] = field(repr=False)
    cells: tuple[Integers, Integers] = field(repr=False)
    lacking: tuple[int, int]
    without_cell: int

    def __len__(self) -> int:
        return len(self.ids)

    def numbers_by_file(self, file_count: int) -> list[dict[str, int]]:
        """Return the number of each cell by its id in its file, for each of the files."""
        bounds = np.searchsorted(self.files, np.arange(file_count + 1)).tolist()  # cells are in the order of their files
        return [dict(zip(self.file_ids[start:stop], range(start, stop), strict=True)) for start, stop in pairwise(bounds)]


def find_cells(records: SequenceSet, loci: tuple[Collection[str], Collection[str]], allow_duplicates: bool) -> Cells:
    """Return the cells of a set that have chains of both loci. Records of different files are never of the same cell.

    records: set with the annotations `CELL` and `LOCUS`
    loci: names of the first locus, or of several that stand for one, and of the second
    allow_duplicates: whether cells of different files with the same id are numbered

    Raises `InputError` if there are no such cells, and for an id in two files unless `allow_duplicates` is set.
    """
    column, locus = records.annotations[CELL], records.annotations[LOCUS]
    starts = np.array([first for first, _ in records.files], dtype=np.int64)
    file_numbers = np.searchsorted(starts, np.arange(len(records)), side="right") - 1
    named = np.flatnonzero(~column.mask(is_missing))
    _, firsts, cell_of = np.unique(file_numbers[named] * len(column.values) + column.codes[named], return_index=True, return_inverse=True)
    cell_of = cell_of.reshape(-1)
    is_locus = [locus.is_any_of(names)[named] for names in loci]
    has = [np.bincount(cell_of[mask], minlength=len(firsts)) > 0 for mask in is_locus]
    chosen = np.flatnonzero(has[0] & has[1])
    names = [" or ".join(one) for one in loci]
    if not len(chosen):
        raise InputError(f"{records.source}: no cell has chains of both {names[0]} and {names[1]}")
    chosen = chosen[np.argsort(firsts[chosen])]
    first_records = named[firsts[chosen]]
    number = np.full(len(firsts), -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    of_records = number[cell_of]
    chains = [np.flatnonzero(mask & (of_records >= 0)) for mask in is_locus]
    file_ids = column.texts_of(first_records)
    return Cells(
        _unique_ids(file_ids, first_records, records, allow_duplicates),
        file_ids,
        file_numbers[first_records],
        (named[chains[0]], named[chains[1]]),
        (of_records[chains[0]], of_records[chains[1]]),
        (int(np.count_nonzero(~has[0])), int(np.count_nonzero(~has[1]))),
        len(records) - len(named),
    )


def _unique_ids(ids: StringColumn, first_records: Integers, records: SequenceSet, allow_duplicates: bool) -> StringColumn:
    """Return the ids of cells, with repeated ids numbered. first_records: first record of each cell"""
    numbers, firsts = ids.distinct()
    if len(firsts) == len(ids):
        return ids
    again = np.setdiff1d(np.arange(len(ids)), firsts)
    if not allow_duplicates:
        one, other = int(firsts[numbers[again[0]]]), int(again[0])
        files = [file_of(int(first_records[cell]), records.files) for cell in (one, other)]
        raise InputError(
            f"{files[1]}: cell {quoted(ids[other])} is in {files[0]} too; if the files are of different cells, number repeated ids with"
            f" {parameter('allow_duplicates')}; if they have chains of the same cells, join them to one table"
        )
    names = list(ids)
    number_repeated_ids(names, again.tolist())
    return StringColumn.from_strings(names)
