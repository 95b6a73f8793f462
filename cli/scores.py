"""Local scores of all pairs, for `gpualign sw --all`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.cli.formats import pick_format
from gpualign.cli.masking import mask_queries
from gpualign.cli.options import SCORE_FORMATS
from gpualign.cli.output import OutputOptions, OutputSpec, output_spec, write_every_pair
from gpualign.cli.plans import Run, budget_left
from gpualign.cli.search import HitOptions
from gpualign.core.engine import Detail, Task
from gpualign.core.errors import InputError
from gpualign.core.plan import Pairing
from gpualign.core.runner import plan_task
from gpualign.core.search.masking import NONE
from gpualign.core.search.strands import BOTH, make_strands


def scores_spec(o: HitOptions, strand: str | None, one_set: bool, with_self: bool) -> OutputSpec:
    """Check what the user asked for. Raises `InputError` for options of hits."""
    of_hits = {
        "--max-hits": o.max_hits,
        "--max-evalue": o.max_evalue,
        "--min-identity": o.min_identity,
        "--evalue": o.evalue,
        "--no-traceback": o.no_traceback or None,
    }
    for name, value in of_hits.items():
        if value is not None:
            raise InputError(f"{name} is about hits; it does not go with --all, which writes scores alone")
    if one_set and o.mask not in (None, NONE):
        raise InputError(f"--mask {o.mask} masks queries, and with one file and --all each record is query and target: give the file twice")
    if strand == BOTH:
        raise InputError("--all writes one score a pair: --strand plus or --strand minus")
    format, _ = pick_format(o.output, o.format, SCORE_FORMATS)
    if format not in SCORE_FORMATS:
        raise InputError(f"--format {format} holds alignments of hits; --all writes {', '.join(SCORE_FORMATS)}")
    spec = output_spec(OutputOptions(o.output, format, o.fields, min_score=o.min_score), False, one_set, with_self)
    if spec.detail is not Detail.SCORE:
        raise InputError("--all writes scores alone; --fields can have query, target, score, qlen and tlen")
    return spec


def score_all(spec: OutputSpec, task: Task, strand: str, with_self: bool, method: str, run: Run) -> None:
    """Compute and write them, in the order of the files."""
    one_set = task.targets is task.queries
    task = mask_queries(task, method, run.messages)
    targets = task.targets
    if targets.places is not None:  # an index, in order of length
        targets = targets.select(np.argsort(targets.places))
    pairing = Pairing.ALL
    if strand == "plus":
        task = replace(task, queries=targets if one_set else task.queries, targets=targets)
        if one_set:
            pairing = Pairing.ABOVE_OR_EQUAL if with_self or spec.is_matrix else Pairing.ABOVE
    else:  # the score of i's reverse complement with j is that of j's with i only for most matrices
        task = replace(task, queries=make_strands(task.queries, task.alphabet, strand).queries, targets=targets)
    left = budget_left(task, run.memory)
    plan = plan_task(task, pairing, run.engine, left)
    run.messages.detail(f"{run.engine.kernel(task, left)}; {plan.band_count} bands of up to {plan.band_rows} queries")
    write_every_pair(spec, task, plan, run, left)
