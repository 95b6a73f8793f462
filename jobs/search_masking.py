"""Masks parts of low complexity in a search's queries and targets, and reports what was masked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import parameter
from gpualign.core.scoring.masking import NONE, MaskedSequences, mask, mask_scoring
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs.reporter import Reporter

_KINDS = {"mask": "query", "mask_target": "target"}
"""Name of the sequences that each option masks."""


@dataclass(frozen=True)
class MaskingMethods:
    """Masking methods for a search, which have passed `check_method`.

    queries, targets: "seg", "dust" or "none"
    """

    queries: str = NONE
    targets: str = NONE


def mask_task(
    task: Task,
    methods: MaskingMethods,
    reporter: Reporter,
    *,
    queries_per_record: int = 1,
    targets_per_record: int = 1,
    already_masked: bool = False,
    threads: int = 1,
) -> Task:
    """Return the task with masked sequences, and with a scoring in which masked letters score nothing; report how many letters were
    masked.

    queries_per_record, targets_per_record: number of sequences that belong to one record, and are reported together
    already_masked: whether letters were masked when they were read
    threads: maximum number of threads

    In a one-set task, `targets is queries` holds for the result only if the methods are equal.
    """
    queries, targets = task.queries, task.targets
    if methods.queries != NONE:
        masked = mask(task.queries, task.alphabet, threads=threads)
        if masked.masked_letter_count:
            _report("mask", methods.queries, task.queries, masked, queries_per_record, reporter)
            queries = masked.sequences
    if methods.targets != NONE:
        one_set = task.targets is task.queries and methods.queries == methods.targets
        masked = masked if one_set else mask(task.targets, task.alphabet, threads=threads)
        if masked.masked_letter_count:
            _report("mask_target", methods.targets, task.targets, masked, targets_per_record, reporter)
            targets = masked.sequences
    scoring = mask_scoring(task.scoring, task.alphabet, already_masked or queries is not task.queries, targets is not task.targets)
    return replace(task, queries=queries, targets=targets, scoring=scoring)


def _report(option: str, method: str, sequences: SequenceSet, masked: MaskedSequences, per_record: int, reporter: Reporter) -> None:
    """Report what was masked. option: name of the option that masks these sequences. per_record: number of sequences per record"""
    kind, total = _KINDS[option], int(sequences.offsets[-1])
    reporter.note(
        f"masked {masked.masked_letter_count:,} of {total:,} {kind} letters of low complexity"
        f" ({method}; {parameter(option, NONE)} searches them)"
    )
    whole = np.flatnonzero(np.bincount(masked.fully_masked_records // per_record) == per_record)
    if len(whole):
        first = sequences.ids[int(whole[0]) * per_record]
        plural = {"query": "queries", "target": "targets"}[kind]
        who = f"{kind} {first!r} is" if len(whole) == 1 else f"{len(whole):,} {plural}, {first!r} the first, are"
        result = "have no hits" if kind == "query" else "be no hit"
        reporter.note(f"{who} of low complexity throughout and can {result}")
