"""Selects which samples of an input to compare, and reports omitted samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.call_coverage import min_site_count
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.readers.base import Source
from gpualign.jobs.call_rate_report import list_poorest_samples
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True)
class SampleFilters:
    """Filters that leave samples out.

    exclude: excluded ids, each with text, for messages, that says where the id was listed
    min_called: minimum number, or fraction, of sites at which a sample must have a call; None: any number
    """

    exclude: Mapping[str, str] = field(default_factory=dict)
    min_called: int | Fraction | None = None


@dataclass(frozen=True)
class SampleCounts:
    """Sample counts for an input, before and after filtering.

    read_count: number of samples in the input
    removed_by_filter: number of samples removed by each requested filter, in filter order
    """

    read_count: int
    removed_by_filter: dict[str, int] = field(default_factory=dict)


def drop_excluded(source: Source, exclude: Mapping[str, str], reporter: Reporter) -> Source:
    """Return the source without the samples whose ids are excluded (as in `SampleFilters`), from both inputs if there are two.

    Raises `InputError` for an id that no sample has, or if no sample is left.
    """
    ids = source.samples.ids
    known = set(ids)
    for name, where in exclude.items():
        if name not in known:
            raise InputError(f"{where}: no sample {name!r}{did_you_mean(name, ids)}")
    mask = np.array([name not in exclude for name in ids], dtype=np.bool_)
    _require_samples(source, mask, f"{parameter('exclude')} names all of them")
    out = len(ids) - int(np.count_nonzero(mask))
    reporter.note(f"{parameter('exclude')} leaves out {out:,} of {len(ids):,} samples")
    return source.select_samples(mask)


def drop_with_few_calls(source: Source, min_called: int | Fraction, panel_bytes: int, workers: ThreadPool, reporter: Reporter) -> Source:
    """Return the source without the samples that have calls at fewer sites than `min_called`, a number or a fraction of the sites.

    panel_bytes: number of bytes of calls to read in each step

    Raises `InputError` if no sample is left.
    """
    called, sites, ids = source.count_called(panel_bytes, workers), source.site_count, source.samples.ids
    fewest = min_site_count(min_called, sites)
    mask = called >= fewest
    option = parameter("min_called")
    if mask.all():
        return source
    _require_samples(
        source, mask, f"{option} asks for calls at {fewest:,} of {sites:,} sites, and the most that a sample has is {called.max():,}"
    )
    out = np.flatnonzero(~mask)
    reporter.note(
        f"{option} leaves out {len(out):,} of {len(ids):,} samples, with calls at fewer than {fewest:,} sites:"
        f" {list_poorest_samples(ids, called, out, sites)}"
    )
    return source.select_samples(mask)


def report_nonfounders(samples: Samples, option_name: str, reporter: Reporter) -> None:
    """If not all samples are founders, report that an option uses founder allele frequencies. option_name: name of the option.

    Raises `InputError` if no sample is a founder.
    """
    if samples.founders is None or samples.founders.all():
        return
    founders, option = int(np.count_nonzero(samples.founders)), parameter("nonfounders")
    if not founders:
        raise InputError(
            f"{option_name} takes the allele frequencies of founders, and each of the {samples.row_count:,} samples has a parent;"
            f" {option} takes those of all samples"
        )
    reporter.note(f"allele frequencies are those of {founders:,} founders of {samples.row_count:,} samples; {option} takes all samples")


def _require_samples(source: Source, mask: npt.NDArray[np.bool_], reason: str) -> None:
    """Raise `InputError` if no sample of an input is left. mask: bool[samples], samples that pass; reason: reason for the message."""
    samples = source.samples
    inputs = [("", mask)]
    if not samples.is_one_set:
        first = len(samples.queries)
        inputs = [(" of the first input", mask[:first]), (" of the second input", mask[first:])]
    for which, passing in inputs:
        if not passing.any():
            raise InputError(f"no sample{which} is left: {reason}")
