"""Interfaces of jobs: planned work that can be described, split by query and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from gpualign.core.common.arrays import Reals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpualign.core.alignment.task import Task
    from gpualign.core.execution.engine import Engine
    from gpualign.core.execution.totals import Progress, Totals
    from gpualign.core.planning.tile_plan import Plan
    from gpualign.jobs.pair_sample import SampledPairs

WorkPerQuery: TypeAlias = Reals

DescriptionRows = list[tuple[str, str]]
"""Human-readable rows: (name, value)."""

J = TypeVar("J", bound="Job")


class Job(Protocol):
    """Planned work, together with everything that is needed to run it. It can be run any number of times."""

    @property
    def pair_count(self) -> int:
        """Number of pairs computed."""

    @property
    def total_work(self) -> int:
        """Amount of work, in units of `work_unit`, as counted for progress."""

    @property
    def work_unit(self) -> str:
        """Unit of `total_work`: cells, pairs or comparisons."""

    @property
    def row_work(self) -> WorkPerQuery:
        """Approximate work for each query: float64[queries]."""

    @property
    def hardware(self) -> str:
        """Human-readable name of the hardware used."""

    @property
    def kernel(self) -> str:
        """Human-readable name of the kernel used."""

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""

    def for_queries(self: J, start: int, stop: int, /) -> J:
        """Return a job for only queries [start, stop)."""


class PairJob(Job, Protocol):
    """A job that aligns pairs or finds near pairs."""

    def counting_neighbours(self) -> PairJob:
        """Return a job whose results need only suffice to count the near pairs of each query (`NeighbourCountsSink`)."""

    @property
    def is_joined(self) -> bool:
        """True if the pairs are joined from those of several runs. Such a job cannot be sampled, and repeats all of these runs when it is
        resumed."""

    @property
    def task(self) -> Task:
        """The user's task."""

    @property
    def engine(self) -> Engine:
        """The engine that computes every pair; in a job that finds near pairs, the engine that would otherwise compute every pair."""

    @property
    def plan(self) -> Plan: ...

    @property
    def text_threads(self) -> int:
        """Number of threads that may format text at the same time."""

    @property
    def sample(self) -> SampledPairs:
        """A sample of the pairs. Computing it takes a moment."""

    def run(self, progress: Progress, /) -> tuple[Iterator[Any], Totals]:
        """Return (results in order, as `BandResults` or `NearPairResults`, which are computed as they are requested; the totals, complete
        when all results have been requested). Closing the iterator stops all work."""


def describe_bands(band_count: int, band_rows: int, rows: str = "queries") -> str:
    """Return the number and size of bands as text. rows: what the rows of a band are"""
    return f"1 band of all {rows}" if band_count == 1 else f"{band_count:,} bands of up to {band_rows:,} {rows}"
