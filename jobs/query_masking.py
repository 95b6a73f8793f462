"""Masks the queries in a search and reports what was masked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import parameter
from gpualign.core.scoring.masking import NONE, mask, mask_scoring
from gpualign.jobs.reporter import Reporter


def mask_queries(task: Task, method: str, reporter: Reporter, *, queries_per_record: int = 1, already_masked: bool = False) -> Task:
    """Return the task with masked queries, and with a scoring in which masked letters score nothing; report how many letters
    were masked.

    method: masking method, which has passed `check_method`
    queries_per_record: number of queries that belong to one record, and are reported together
    already_masked: whether letters were masked when they were read

    Targets are not changed, so in a one-set task `targets is queries` no longer holds.
    """
    if already_masked:
        task = replace(task, scoring=mask_scoring(task.scoring, task.alphabet))
    if method == NONE:
        return task
    masked = mask(task.queries, task.alphabet)
    if not masked.masked_letter_count:
        return task
    total = int(task.queries.offsets[-1])
    reporter.note(
        f"masked {masked.masked_letter_count:,} of {total:,} query letters of low complexity"
        f" ({method}; {parameter('mask', NONE)} searches them)"
    )
    whole = np.flatnonzero(np.bincount(masked.fully_masked_records // queries_per_record) == queries_per_record)
    if len(whole):
        first = task.queries.ids[int(whole[0]) * queries_per_record]
        who = f"query {first!r} is" if len(whole) == 1 else f"{len(whole):,} queries, {first!r} the first, are"
        reporter.note(f"{who} of low complexity throughout and can have no hits")
    return replace(task, queries=masked.sequences, scoring=mask_scoring(task.scoring, task.alphabet))
