"""Selects the samples for `gpualign dist` according to the options."""

from __future__ import annotations

from collections.abc import Sequence

from gpualign.cli.inputs.id_lists import listed_ids
from gpualign.core.common.parameter_fractions import site_count_or_fraction
from gpualign.jobs.sample_selection import SampleFilters


def sample_filters(exclude: Sequence[str], min_called: str | None) -> SampleFilters:
    """Return the filters for --exclude and --min-called. Raises an `InputError` that names the option or the file if a value or a file is
    invalid."""
    named = listed_ids(exclude, "--exclude", "--exclude (no file of this name, so an id)")
    return SampleFilters(named, None if min_called is None else site_count_or_fraction("min_called", min_called))
