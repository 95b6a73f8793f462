"""The loop that writes the results of a job, and the interfaces of what it writes to and notifies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from gpualign.core.common.iterators import closing_iterator
from gpualign.jobs.output.stages import WRITING


class Results(Protocol):
    """Results for some pairs, such as those of a band."""

    @property
    def completed_query_count(self) -> int:
        """Number of a query. When these results have been written, all pairs of the queries before it have been, and no other pairs. 0 if
        the last pair is not the last pair of its query."""


PlanT = TypeVar("PlanT", contravariant=True)
ResultsT = TypeVar("ResultsT", bound=Results, contravariant=True)


class Sink(Protocol[PlanT, ResultsT]):
    """Receives all results of a plan, in order."""

    def begin(self, plan: PlanT, /) -> None:
        """Called once, before the first results."""

    def write(self, results: ResultsT, /) -> None: ...

    def finish(self) -> None:
        """Called once, after all results have been written."""


class CheckpointListener(Protocol):
    """Receives notifications of an output's progress, so that a later run can resume it."""

    def register_counts_function(self, get_counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        """Register a function that returns the summary counts for everything written so far; it may be called at any checkpoint.

        Returns the counts of the earlier runs that this run resumes, or {}.
        """

    def header_written(self) -> None:
        """Called when everything before the first results has been written."""

    def rows_written(self, rows: int) -> None:
        """Called when all pairs of the queries before query number `rows` have been written, and no other pairs.

        If the last pair written is not the last pair of its query, `rows` is 0. The same number may be passed repeatedly.
        """


class _NullCheckpointListener:
    def register_counts_function(self, get_counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        return {}

    def header_written(self) -> None:
        pass

    def rows_written(self, rows: int) -> None:
        pass


NO_CHECKPOINTS: CheckpointListener = _NullCheckpointListener()
"""Listener for outputs that cannot be resumed."""

RunPlanT = TypeVar("RunPlanT")
RunResultsT = TypeVar("RunResultsT", bound=Results)


def write_results(
    sink: Sink[RunPlanT, RunResultsT],
    plan: RunPlanT,
    results: Iterator[RunResultsT],
    checkpoints: CheckpointListener = NO_CHECKPOINTS,
    within: Callable[[str], AbstractContextManager[Any]] = nullcontext,
    begins_with_results: bool = False,
) -> float:
    """Write all results to the sink, and return how many seconds computing and writing them took.

    checkpoints: is notified of the queries that are completely written
    within: returns a context for a stage of the run (`stages`), to which the time spent in it is attributed
    begins_with_results: whether nothing, not even a header, is written before the first result, because input may still be refused

    `results` is always closed, so an error in the sink stops the engine's workers at once.
    """
    start = time.perf_counter()
    with closing_iterator(results):
        first = list(islice(results, 1)) if begins_with_results else []
        with within(WRITING):
            sink.begin(plan)
        checkpoints.header_written()
        for one in chain(first, results):
            with within(WRITING):
                sink.write(one)
            checkpoints.rows_written(one.completed_query_count)
    with within(WRITING):
        sink.finish()
    return time.perf_counter() - start
