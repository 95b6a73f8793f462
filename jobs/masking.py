"""Masking the queries of a search, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

from gpualign.core.engine import Task
from gpualign.core.search.masking import NONE, mask, mask_scoring
from gpualign.jobs.notes import Notes


def mask_queries(task: Task, method: str, notes: Notes) -> Task:
    """The task with masked queries, and with a scoring by which masked letters are worth nothing; notes how many there are.

    method: as `check_method` has approved. Targets stay as they are: of a task with one set, `targets is queries` holds no longer.
    """
    if method == NONE:
        return task
    masked = mask(task.queries, task.alphabet)
    if not masked.letters:
        return task
    total = int(task.queries.offsets[-1])
    notes.note(f"masked {masked.letters:,} of {total:,} query letters of low complexity ({method}; --mask none searches them)")
    if len(masked.whole):
        first = task.queries.ids[int(masked.whole[0])]
        who = f"query {first!r} is" if len(masked.whole) == 1 else f"{len(masked.whole):,} queries, {first!r} the first, are"
        notes.note(f"{who} of low complexity throughout and can have no hits")
    return replace(task, queries=masked.sequences, scoring=mask_scoring(task.scoring, task.alphabet))
