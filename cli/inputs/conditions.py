"""Conditions on annotations of records, as given to --where."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from gpualign.core.common.errors import InputError
from gpualign.jobs.target_selection import Condition


def parse_conditions(values: Sequence[str]) -> list[Condition]:
    """Parse values such as taxid=9606,10090. A text with a comma may be in double quotes. Raises `InputError` for other values."""
    conditions = []
    for value in values:
        name, sign, texts = value.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--where {value}: expected a column and its values, as in taxid=9606,10090")
        cells = next(csv.reader([texts], skipinitialspace=True), None) or [""]
        conditions.append(Condition(name.strip(), [cell.strip() for cell in cells]))
    return conditions
