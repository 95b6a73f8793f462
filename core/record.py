"""A plan written down: whole numbers, names and a digest of the input, by which another process makes the same tiles. Pure.

What is recorded decides the tiles together with the lengths of the records, which the digest stands for.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, fields

import numpy as np

from gpualign.core.engine import Task
from gpualign.core.errors import InputError
from gpualign.core.plan import Limits, Pairing, Plan

VERSION = 3
"""Of the record, and of how tiles are made from it."""


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


def record_plan(plan: Plan, digest: str) -> dict[str, int | str]:
    """The plan of a task with this digest."""
    limits = {f"limits.{name}": int(value) for name, value in asdict(plan.limits).items()}
    sizes = {"queries": plan.queries, "targets": plan.targets, "band_rows": plan.band_rows, "panel": plan.panel}
    return {"version": VERSION, "input": digest, "pairing": plan.pairing.value, **sizes, **limits}


def plan_of(record: dict[str, int | str], task: Task, digest: str) -> Plan:
    """The plan that was recorded, for the task that has this digest. Raises `InputError` for a record of something else."""
    if record.get("version") != VERSION:
        raise InputError(f"a plan of version {record.get('version')}; this gpualign makes tiles by version {VERSION}")
    if record.get("input") != digest:
        raise InputError("the plan was made for other sequences, or another scoring")
    numbers = {name: value for name, value in record.items() if isinstance(value, int) and not isinstance(value, bool)}
    wanted = ["queries", "targets", "band_rows", "panel", *(f"limits.{one.name}" for one in fields(Limits))]
    pairings = {one.value: one for one in Pairing}
    if any(numbers.get(name, -1) < 0 for name in wanted) or record.get("pairing") not in pairings:
        raise InputError("damaged: the plan lacks a number, or has a negative one")
    if (numbers["queries"], numbers["targets"]) != (len(task.queries), len(task.targets)) or 0 in (
        numbers[name] for name in ("band_rows", "panel", "limits.lanes", "limits.tile_cells", "limits.query_lanes")
    ):
        raise InputError("damaged: the plan is of other numbers of records than the input has, or cuts them into nothing")
    limits = Limits(**{one.name: numbers[f"limits.{one.name}"] for one in fields(Limits)})
    pairing = pairings[str(record["pairing"])]
    return Plan(task.queries.lengths, task.targets.lengths, pairing, limits, numbers["band_rows"], numbers["panel"], task.cost)
