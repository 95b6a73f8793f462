"""Options that say which columns and cells of a table of calls are read."""

from __future__ import annotations

import os
from typing import Any

from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.paths import open_input


def title_files(*named: str | None) -> list[str]:
    """Return the option values that name files of column titles. named: values of --columns and --ignore-columns; None: not given."""
    return [one for one in named if one is not None and os.path.isfile(one)]


def _read_titles(argument: str) -> tuple[str, ...]:
    """Return column titles from a comma-separated list, or from a file with one per line. Raises `InputError` for an empty file."""
    if not os.path.isfile(argument):
        return tuple(title.strip() for title in argument.split(","))
    with open_input(argument) as (stream, source):
        text = open_decompressed(stream, source)[1].read().decode("utf-8", "surrogateescape")
    titles = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not titles:
        raise InputError(f"{source}: no titles; expected one per line")
    return titles


def column_choice(columns: str | None, ignore_columns: str | None) -> dict[str, Any]:
    """Return the fields of `CallOptions` for --columns and --ignore-columns; None: not given. Raises `InputError` for an empty file."""
    return {
        "columns": None if columns is None else _read_titles(columns),
        "ignore_columns": () if ignore_columns is None else _read_titles(ignore_columns),
    }


def missing_codes(argument: str | None) -> tuple[str, ...]:
    """Return the values of --missing-code; None: not given."""
    return tuple(code.strip() for code in argument.split(",")) if argument else ()
