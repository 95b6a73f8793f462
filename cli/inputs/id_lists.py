"""Reads lists of ids, given one by one or in files."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.paths import STDIO, open_input
from gpualign.core.files.quoting import is_quoted, unquoted_text


def id_files(values: Sequence[str]) -> list[str]:
    """Return the files among the values of an option that takes ids and files of ids; - is standard input."""
    return [one for one in values if one == STDIO or (os.path.exists(one) and not os.path.isdir(one))]


def listed_ids(values: Sequence[str], option: str) -> dict[str, str]:
    """Return the ids that an option names, each with text, for messages, that says where it is named. The values are ids, or files with one
    id per line.

    Raises `InputError` for files without ids.
    """
    files, named = id_files(values), dict[str, str]()
    for one in values:
        named |= _read_listed_ids(one, option) if one in files else {one: f"{option} {one} (which is no file)"}
    return named


def _read_listed_ids(path: str, option: str) -> dict[str, str]:
    """Return the ids in a file, each with the file and line that name it. Blank lines and lines that begin with # are skipped. Quotes are
    removed if every id is in quotes, as R writes them."""
    with open_input(path) as (stream, source):
        text = open_decompressed(stream, source)[1].read().decode("utf-8-sig", "surrogateescape")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, name) for number, name in lines if name and not name.startswith("#")]
    if all(is_quoted(name) for _, name in lines):
        lines = [(number, unquoted_text(name)) for number, name in lines]
    named = {name: f"{source}: line {number}" for number, name in lines}
    if not named:
        raise InputError(f"{option} {source}: no ids; expected one per line")
    return named
