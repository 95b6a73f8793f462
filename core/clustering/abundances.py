"""Abundances of records: by `;size=` in their ids, or by a column of their table."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from gpualign.core.common.errors import InputError, quoted
from gpualign.core.sequences.receptor_titles import ABUNDANCE_TITLE, is_missing
from gpualign.core.sequences.sequence_set import SequenceSet

_SIZE_ANNOTATION = re.compile(r"(?:^|;)size=(\d+)(?:;|$)")

_ANY_SIZE_ANNOTATION = re.compile(r";size=[^;]*", re.IGNORECASE)

_WHOLE_NUMBER = re.compile(r"(\d+)(?:\.0*)?")
"""Pattern of a whole number. pandas writes 3 as 3.0 in a column with empty cells."""


def abundances(ids: Sequence[str]) -> list[int] | None:
    """Return the abundance in each id (`;size=`), 1 for an id without an abundance; None if no id has one."""
    matches = [_SIZE_ANNOTATION.search(name) for name in ids]
    return [int(match[1]) if match else 1 for match in matches] if any(matches) else None


def check_abundances(ids: Sequence[str]) -> None:
    """Raise `InputError` for an id whose abundance is not written as `abundances` reads it, and would count as 1."""
    for name in ids:
        if (written := _ANY_SIZE_ANNOTATION.search(name)) and not _SIZE_ANNOTATION.search(name):
            raise InputError(f"record {quoted(name)}: {written[0].lstrip(';')!r} is not an abundance; expected 'size=' and a whole number")


def table_abundances(records: SequenceSet) -> list[int] | None:
    """Return the abundance of each record by the column `ABUNDANCE_TITLE` of its table, 1 where the cell is empty; None if the column was
    not read. Raises `InputError` for a cell that is not a whole number."""
    column = records.annotations.get(ABUNDANCE_TITLE)
    if column is None:
        return None
    numbers = []
    for code, text in enumerate(column.values):
        match = _WHOLE_NUMBER.fullmatch(text)
        if match is None and not is_missing(text):
            record = int(np.argmax(column.codes == code))
            raise InputError(
                f"{records.file_of(record)}: record {records.ids[record]!r}: expected a whole number in the column {ABUNDANCE_TITLE};"
                f" found {quoted(text)}"
            )
        numbers.append(int(match[1]) if match else 1)
    return [numbers[code] for code in column.codes.tolist()]
