"""Derives the edit distance bound from the user's thresholds. Pure. The proofs are in core/scoring/edit_bounds.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.task import EndGaps, Task
from gpualign.core.common.arrays import Codes, distinct
from gpualign.core.common.errors import parameter
from gpualign.core.near_pairs.implied_bounds import COLUMNS_BOUND, COVERED_BOUND, MATCHES_BOUND, identity_bounds
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.edit_bounds import (
    EditBound,
    columns_bound,
    covered_bound,
    distance_bound,
    matches_bound,
    pairing_gains,
    score_bound,
)


def edit_bound(filter: Filter, task: Task, definition: int) -> EditBound | None:
    """Return the edit distance bound for pairs that pass the filter, or None if the thresholds imply no bound.

    definition: number of the identity definition, see core/alignment/identity.py

    If several thresholds imply bounds, the result is the bound that is lowest for sequences of mean length.
    """
    free_ends = task.end_gaps is not EndGaps.PENALISED
    bounds: list[EditBound | None] = []
    if filter.max_score is not None and task.scoring.edit and not free_ends:
        bounds.append(distance_bound(filter.max_score))
    if filter.min_score is not None:
        bounds.append(score_bound(filter.min_score, task.scoring, _used_letters(task), free_ends))
    if filter.lowest_identity is not None:
        bounds += _identity_bounds(filter.lowest_identity, filter, definition, free_ends, task)
    lengths = np.array([task.queries.lengths.mean()], dtype=np.int64), np.array([task.targets.lengths.mean()], dtype=np.int64)
    return min((one for one in bounds if one is not None), key=lambda one: int(one.max_edits(*lengths)[0]), default=None)


def _used_letters(task: Task) -> Codes:
    """Return the codes that occur in the sequences, or in the other strands of queries that are compared as well."""
    letters = distinct(np.concatenate((task.queries.used_codes, task.targets.used_codes)))
    return distinct(np.concatenate((letters, task.alphabet.complement()[letters]))) if task.both_strands else letters


def _identity_bounds(identity: float, filter: Filter, definition: int, free_ends: bool, task: Task) -> list[EditBound]:
    """Return the edit distance bounds that an identity threshold implies.

    filter: conditions whose threshold on coverage, if there is one, adds a bound
    definition: number of the identity definition, see core/alignment/identity.py
    free_ends: whether end gaps cost nothing
    """
    coverage = filter.min_coverage
    kinds = identity_bounds(definition, free_ends, bool(coverage))
    bounds = []
    if MATCHES_BOUND in kinds:
        bounds.append(matches_bound(identity))
    if COLUMNS_BOUND in kinds:
        bounds.append(columns_bound(identity))
    if coverage is not None and COVERED_BOUND in kinds:
        bound = covered_bound(identity, coverage, of_shorter=filter.coverage_of is not CoveredSequence.BOTH)
        if not free_ends:
            bound = replace(bound, pairing=pairing_gains(task.scoring, _used_letters(task), task.alphabet.unambiguous_count))
        bounds.append(bound)
    if task.ambiguity is None:
        return bounds
    return [one.with_ambiguity_letters(task.ambiguity.max_letters) for one in bounds]


def describe_missing_bound(filter: Filter, task: Task, definition: int) -> str | None:
    """Return a human-readable reason why an identity threshold does not bound the edit distance, and what the user can add.

    definition: number of the identity definition, see core/alignment/identity.py

    Returns None if there is no identity threshold, or if the thresholds do bound the distance.
    """
    if filter.lowest_identity is None or edit_bound(filter, task, definition) is not None:
        return None
    if definition == 3:
        these = parameter("identity_def", definition)
        return f"{these} counts a gap of any length as one difference; with other definitions most pairs need not be aligned"
    ends, other = "gaps at the ends are free", ""
    if task.end_gaps is EndGaps.PENALISED:
        ends = f"gaps at the ends do not count in {parameter('identity_def', 2)}"
        other = f", or {parameter('identity_def', 1)}, which counts them"
    return f"{ends}; with {parameter('min_coverage')}, say 0.8{other}, most pairs need not be aligned"
