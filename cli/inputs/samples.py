"""Selects the samples for `gpualign dist` according to the options."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpualign.core.common.errors import InputError
from gpualign.core.common.parameter_fractions import site_count_or_fraction
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.paths import open_input
from gpualign.jobs.sample_selection import SampleFilters


def excluded_id_files(exclude: Sequence[str]) -> list[str]:
    """Return the id files among the values of --exclude."""
    return [one for one in exclude if os.path.isfile(one)]


def sample_filters(exclude: Sequence[str], min_called: str | None) -> SampleFilters:
    """Return the filters for --exclude and --min-called. Raises an `InputError` that names the option or the file if a value or a file is
    invalid."""
    named: dict[str, str] = {}
    for one in exclude:
        named |= _read_listed_ids(one) if os.path.isfile(one) else {one: "--exclude"}
    return SampleFilters(named, None if min_called is None else site_count_or_fraction("min_called", min_called))


def _read_listed_ids(path: str) -> dict[str, str]:
    """Return the ids in a file, one per line, each with the file and line that name it, as text for messages. Blank lines and lines that
    begin with # are skipped."""
    with open_input(path) as (stream, source):
        text = open_decompressed(stream, source)[1].read().decode("utf-8-sig", "surrogateescape")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    named = {name: f"{source}: line {number}" for number, name in lines if name and not name.startswith("#")}
    if not named:
        raise InputError(f"--exclude {source}: no ids; expected one per line")
    return named
