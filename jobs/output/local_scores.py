"""What `gpualign sw --all` may write: local scores of all pairs."""

from __future__ import annotations

from gpualign.core.alignment.task import Detail
from gpualign.core.common.errors import InputError
from gpualign.core.output.formats.registry import Results, formats_of
from gpualign.core.scoring.masking import NONE
from gpualign.core.sequences.strands_frames import BOTH
from gpualign.jobs.output.format_selection import pick_format
from gpualign.jobs.output.hits import HitOptions
from gpualign.jobs.output.pairs import OutputOptions, OutputSpec, output_spec


def scores_spec(o: HitOptions, strand: str | None, one_set: bool, with_self: bool) -> OutputSpec:
    """Check what the user asked for. Raises `InputError` for options of hits."""
    of_hits = {
        "--max-hits": o.max_hits,
        "--max-evalue": o.max_evalue,
        "--min-identity": o.min_identity,
        "--evalue": o.evalue,
        "--no-traceback": o.no_traceback or None,
        "--translate": o.translate,
    }
    for name, value in of_hits.items():
        if value is not None:
            raise InputError(f"{name} is about hits; it cannot be combined with --all, which writes only scores")
    if one_set and o.mask not in (None, NONE):
        raise InputError(f"--mask {o.mask} masks queries, and with one file and --all each record is query and target: give the file twice")
    if strand == BOTH:
        raise InputError("--all writes one score a pair: --strand plus or --strand minus")
    format, _ = pick_format(o.output, o.format, Results.SCORES)
    if format not in formats_of(Results.SCORES):
        raise InputError(f"--format {format} holds alignments of hits; --all writes {', '.join(formats_of(Results.SCORES))}")
    if "strand" in (name.strip() for name in (o.fields or "").split(",")):
        raise InputError("--fields strand is of hits; --all writes scores of the one strand that --strand names")
    spec = output_spec(
        OutputOptions(o.output, format, o.fields, min_score=o.min_score, resume=o.resume, shard=o.shard), False, one_set, with_self
    )
    if spec.detail is not Detail.SCORE:
        raise InputError("--all writes only scores; --fields can have query, target, score, qlen, tlen, qtitle and ttitle")
    return spec
