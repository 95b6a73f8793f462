"""Output of `gpualign sw` for all pairs: local scores."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.common.errors import InputError, parameter, quoted
from gpualign.core.output.formats.registry import ResultKind, format_names
from gpualign.core.scoring.masking import NONE
from gpualign.core.sequences.strands_frames import BOTH
from gpualign.jobs.nw import NwOptions
from gpualign.jobs.options import PairThresholds
from gpualign.jobs.output.format_selection import pick_format
from gpualign.jobs.output.pairs import output_spec
from gpualign.jobs.output.specs import OutputSpec
from gpualign.jobs.sw import SwOptions

_FIELDS = ("query", "target", "score", "qlen", "tlen", "qtitle", "ttitle")
"""Columns that tables of scores can have."""


def scores_spec(o: SwOptions, one_set: bool) -> OutputSpec:
    """Return the specification of the requested output. Raises `InputError` for options that apply only to hits."""
    for name in (
        "max_hits",
        "max_hsps",
        "max_evalue",
        "min_identity",
        "evalue",
        "evalue_letters",
        "composition",
        "no_traceback",
        "translate",
    ):
        if getattr(o, name) != getattr(SwOptions, name):  # its default
            raise InputError(f"{parameter(name)} applies to hits; it cannot be combined with {parameter('all')}, which writes only scores")
    if one_set and (o.mask or NONE) != (o.mask_target or NONE):
        raise InputError(
            f"with one file and {parameter('all')} each record is query and target: give {parameter('mask')} and"
            f" {parameter('mask_target')} the same method, or the file twice"
        )
    o.make_hit_filter(one_set)
    if o.strand == BOTH:
        raise InputError(f"{parameter('all')} writes one score per pair: {parameter('strand', 'plus')} or {parameter('strand', 'minus')}")
    format, _ = pick_format(o.output_options.output, o.output_options.format, ResultKind.SCORES)
    if format not in (names := format_names(ResultKind.SCORES)):
        raise InputError(f"{parameter('format', format)} holds alignments of hits; {parameter('all')} writes {', '.join(names)}")
    fields = (name.strip() for name in (o.output_options.fields or "").split(","))
    if others := [name for name in fields if name and name not in _FIELDS]:
        raise InputError(
            f"{parameter('fields')} {quoted(others[0])}: {parameter('all')} writes only scores; there are {', '.join(_FIELDS)}"
        )
    writing, thresholds = replace(o.output_options, format=format), PairThresholds(o.min_score)
    return output_spec(NwOptions(thresholds=thresholds, output_options=writing, with_self=o.with_self), one_set)
