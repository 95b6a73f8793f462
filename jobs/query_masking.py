"""Masking the queries of a search, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import parameter
from gpualign.core.scoring.masking import NONE, mask, mask_scoring
from gpualign.jobs.reporter import Reporter


def mask_queries(task: Task, method: str, notes: Reporter, per_record: int = 1, masked_before: bool = False) -> Task:
    """The task with masked queries, and with a scoring by which masked letters are worth nothing; notes how many there are.

    method: as `check_method` has approved; per_record: queries that are of one record, and are told as one. masked_before: whether letters
    have been masked when they were read. Targets stay as they are: of a task with one set, `targets is queries` holds no longer.
    """
    if masked_before:
        task = replace(task, scoring=mask_scoring(task.scoring, task.alphabet))
    if method == NONE:
        return task
    masked = mask(task.queries, task.alphabet)
    if not masked.letters:
        return task
    total = int(task.queries.offsets[-1])
    notes.note(
        f"masked {masked.letters:,} of {total:,} query letters of low complexity ({method}; {parameter('mask', NONE)} searches them)"
    )
    whole = np.flatnonzero(np.bincount(masked.whole // per_record) == per_record)
    if len(whole):
        first = task.queries.ids[int(whole[0]) * per_record]
        who = f"query {first!r} is" if len(whole) == 1 else f"{len(whole):,} queries, {first!r} the first, are"
        notes.note(f"{who} of low complexity throughout and can have no hits")
    return replace(task, queries=masked.sequences, scoring=mask_scoring(task.scoring, task.alphabet))
