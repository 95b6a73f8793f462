"""By what processes know that they work on the same: the version of plans, and a digest of the input. Pure."""

from __future__ import annotations

import hashlib

import numpy as np

from gpualign.core.alignment.task import Task

VERSION = 4
"""Of how tiles are made of records and limits: those that a worker makes are those of the process that asks it."""


def digest_of(task: Task) -> str:
    """SHA-256, in hexadecimal, of all that results depend on: records with their ids, and the scoring."""
    sets = [task.queries] if task.targets is task.queries else [task.queries, task.targets]
    found = hashlib.sha256(f"{len(sets)} {task.mode.value} {task.detail.value} {task.end_gaps.value} {task.top} {task.within}".encode())
    if task.both_strands:
        found.update(b" both strands")
    scoring = task.scoring
    found.update(f"{task.alphabet.letters} {scoring.gap_open} {scoring.gap_extend} {scoring.edit}".encode())
    found.update(np.ascontiguousarray(scoring.substitution).astype("<i8").tobytes())
    for sequences in sets:
        for array in (sequences.offsets, sequences.ranks):
            found.update(np.ascontiguousarray(array).astype("<i8").tobytes())
        found.update(np.ascontiguousarray(sequences.codes).data)
        found.update("\n".join(sequences.ids).encode("utf-8", "surrogateescape"))
        if sequences.descriptions is not None:
            found.update("\n".join(["", *sequences.descriptions]).encode("utf-8", "surrogateescape"))
    return found.hexdigest()
