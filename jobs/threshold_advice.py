"""Explains before a run why every pair, or every pair with a greedy centroid, must be aligned despite the thresholds, how long this takes,
and how long it would take with a minimum coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import TooLittleMemory, parameter
from gpualign.core.common.units import format_duration
from gpualign.core.execution.runner import measure_cell_rate
from gpualign.core.near_pairs.thresholds import describe_missing_bound, edit_bound
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.jobs.every_pair import EveryPairJob
from gpualign.jobs.near_pairs import NearPairJob, excludes_pairs
from gpualign.jobs.options import CLUSTER_MIN_COVERAGE

MIN_PAIR_COUNT = 100_000
"""Minimum number of pairs for which advice is given."""

MIN_CELLS = 300_000_000_000
"""Minimum number of DP cells for which times are estimated, because an estimate takes a second. Two cores compute this many cells in about
half a minute."""

_SAMPLE_LETTERS = 10_000, 250_000
"""Number of letters of the queries, and of the targets, on which a rate is measured."""


def explain_full_alignment(
    full_job: EveryPairJob,
    filter: Filter,
    identity_definition: int,
    plan_near: Callable[[EditBound], NearPairJob],
    only_centroids: bool = False,
) -> str | None:
    """Return text that explains why every pair must be aligned despite the thresholds; None if there is nothing to say.

    full_job: job that aligns every pair
    plan_near: plans the search for the pairs within a bound
    only_centroids: whether pairs without a greedy centroid are left out, so that times are upper bounds
    """
    task = full_job.task
    if full_job.pair_count < MIN_PAIR_COUNT:
        return None
    if edit_bound(filter, task, identity_definition) is not None:
        reason: str | None = "the thresholds allow as many edits as unrelated sequences have"
    else:
        reason = describe_missing_bound(filter, task, identity_definition)
    pairs, about = ("every pair with a centroid", "at most about") if only_centroids else ("every pair", "about")
    if reason is None or full_job.total_work < MIN_CELLS:
        return reason and f"{pairs} is aligned: {reason}"
    rate = measure_cell_rate(task, full_job.engine, full_job.budget, letters=_SAMPLE_LETTERS)
    text = f"{pairs} is aligned, which takes {about} {format_duration(full_job.total_work / rate)}: {reason}"
    seconds = _seconds_with_coverage(task, filter, identity_definition, plan_near)
    with_coverage = parameter("min_coverage", f"{CLUSTER_MIN_COVERAGE:g}")
    return text if seconds is None else f"{text}; {with_coverage} takes {about} {format_duration(seconds)}"


def _seconds_with_coverage(task: Task, filter: Filter, definition: int, plan_near: Callable[[EditBound], NearPairJob]) -> float | None:
    """Return the estimated seconds that the run would take if `CLUSTER_MIN_COVERAGE` were its minimum coverage.

    Returns None if the user has given a minimum coverage, if `CLUSTER_MIN_COVERAGE` would exclude no pairs, or if there is too little
    memory for an estimate. Parameters as for `explain_full_alignment`.
    """
    if filter.min_coverage:
        return None
    bound = edit_bound(replace(filter, min_coverage=CLUSTER_MIN_COVERAGE), task, definition)
    if bound is None or not excludes_pairs(task, bound):
        return None
    try:
        return plan_near(bound).sample.seconds
    except TooLittleMemory:
        return None
