"""Fingerprint of a task, and version of the rules for its plan. A coordinator and its workers compare both to verify that they compute the
same task. Pure."""

from __future__ import annotations

import hashlib

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.sequences.annotations import annotation_digest

PLAN_VERSION = 5
"""Version of the rules for splitting records into tiles under given limits. A worker must build the same tiles as the coordinator."""


def fingerprint(task: Task) -> str:
    """Return the SHA-256, in hexadecimal, of everything that results depend on: records and their ids, scoring, and task options."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    digest = hashlib.sha256(
        f"{len(sets)} {task.mode.value} {task.detail.value} {task.end_gaps.value} {task.top_count} {task.edit_bound}".encode()
    )
    if task.both_strands:
        digest.update(b" both strands")
    scoring = task.scoring
    digest.update(f"{task.alphabet.letters} {scoring.gap_open} {scoring.gap_extend} {scoring.edit}".encode())
    if scoring.listed_distance is not None:
        digest.update(f" {scoring.listed_distance.value}".encode())
    if scoring.v_genes is not None:
        digest.update(f" {sorted(scoring.v_genes.loops.items())}".encode())
        digest.update("".join(annotation_digest(one.annotations) for one in sets).encode())
    digest.update(np.ascontiguousarray(scoring.substitution).astype("<i8").tobytes())
    for sequences in sets:
        for array in (sequences.offsets, sequences.file_positions):
            digest.update(np.ascontiguousarray(array, dtype="<i8").data)
        digest.update(np.ascontiguousarray(sequences.codes).data)
        digest.update(sequences.id_column.lines[:-1].data)
        if sequences.descriptions is not None:
            digest.update("\n".join(["", *sequences.descriptions]).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
