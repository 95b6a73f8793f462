"""Output of `gpualign sw` for all pairs: local scores."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import Results, formats_of
from gpualign.core.scoring.masking import NONE
from gpualign.core.sequences.strands_frames import BOTH
from gpualign.jobs.output.format_selection import pick_format
from gpualign.jobs.output.hits import HitOptions
from gpualign.jobs.output.pairs import OutputOptions, output_spec
from gpualign.jobs.output.specs import OutputSpec


def scores_spec(o: HitOptions, strand: str | None, one_set: bool, with_self: bool) -> OutputSpec:
    """Return the requested output. Raises `InputError` for options that apply only to hits."""
    of_hits = {
        parameter("max_hits"): o.max_hits,
        parameter("max_evalue"): o.max_evalue,
        parameter("min_identity"): o.min_identity,
        parameter("evalue"): o.evalue,
        parameter("no_traceback"): o.no_traceback or None,
        parameter("translate"): o.translate,
    }
    for name, value in of_hits.items():
        if value is not None:
            raise InputError(f"{name} applies to hits; it cannot be combined with {parameter('all')}, which writes only scores")
    if one_set and o.mask not in (None, NONE):
        raise InputError(
            f"{parameter('mask', o.mask)} masks queries, and with one file and {parameter('all')} each record is query and target: give"
            " the file twice"
        )
    if strand == BOTH:
        raise InputError(f"{parameter('all')} writes one score per pair: {parameter('strand', 'plus')} or {parameter('strand', 'minus')}")
    format, _ = pick_format(o.output, o.format, Results.SCORES)
    if format not in formats_of(Results.SCORES):
        raise InputError(
            f"{parameter('format', format)} holds alignments of hits; {parameter('all')} writes {', '.join(formats_of(Results.SCORES))}"
        )
    if "strand" in (name.strip() for name in (o.fields or "").split(",")):
        raise InputError(
            f"{parameter('fields', 'strand')} applies to hits; {parameter('all')} writes scores of the one strand that"
            f" {parameter('strand')} names"
        )
    spec = output_spec(
        OutputOptions(o.output, format, o.fields, min_score=o.min_score, resume=o.resume, shard=o.shard), False, one_set, with_self
    )
    if spec.detail is not Detail.SCORE:
        raise InputError(
            f"{parameter('all')} writes only scores; {parameter('fields')} can have query, target, score, qlen, tlen, qtitle and ttitle"
        )
    return spec
