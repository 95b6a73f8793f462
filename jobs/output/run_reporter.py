"""Interface through which a run with outputs reports what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpualign.jobs.output.stages import StageTimer
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gpualign.core.distance.runner import DistanceTotals
    from gpualign.core.execution.totals import ExtendableProgress, Totals
    from gpualign.jobs.job import DescriptionRows
    from gpualign.jobs.output.run_identity import Invocation
    from gpualign.jobs.output.run_summary import RunSummary


class RunReporter(Reporter, Protocol):
    """Receives the progress and results of a run, in addition to notes."""

    @property
    def invocation(self) -> Invocation:
        """The running command, as given by the user."""

    @property
    def run_summary(self) -> RunSummary:
        """The summary of the run."""

    @property
    def stages(self) -> StageTimer:
        """Stage timer of the run."""

    def print_plan(self, rows: DescriptionRows, /) -> None:
        """Print the plan, for a dry run."""

    def line_width(self, output: Path | None, /) -> int:
        """Return the width, in characters, of human-readable lines written to `output` (None: standard output)."""

    def progress(self, work: int, output: Path | None, unit: str, /) -> AbstractContextManager[ExtendableProgress]:
        """Return a progress object to notify as work finishes. output: where results are written; unit: cells, pairs or comparisons."""

    def report_alignments(
        self,
        sequence_count: int,
        totals: Totals,
        engine: str,
        hit_count: int | None = None,
        passed_pairs: int | None = None,
        earlier_pairs: int = 0,
    ) -> None:
        """Report that all alignments are finished.

        hit_count: number of hits; None: the run did not search for hits
        passed_pairs: number of pairs that pass the thresholds; None: no thresholds
        earlier_pairs: number of pairs from the earlier runs that this run resumes, included in `hit_count` and `passed_pairs`
        """

    def report_distances(self, sample_count: int, totals: DistanceTotals, engine: str, earlier_pairs: int = 0) -> None:
        """Report that all distances are finished. earlier_pairs: number of pairs from the earlier runs that this run resumes."""
