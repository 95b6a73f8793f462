"""Interface through which a run that writes outputs reports what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from gpualign.jobs.output.stages import StageTimer
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from gpualign.core.execution.pipeline import Totals
    from gpualign.core.search.runner import GrowingProgress
    from gpualign.jobs.every_pair import DescriptionRows
    from gpualign.jobs.near_pairs import NearTotals
    from gpualign.jobs.output.run_identity import Invocation
    from gpualign.jobs.output.run_summary import RunSummary


class RunReporter(Reporter, Protocol):
    """Receives the progress and the results of a run, in addition to notes."""

    @property
    def invocation(self) -> Invocation:
        """The running command, as the user gave it."""

    @property
    def run_summary(self) -> RunSummary:
        """The summary of the run."""

    @property
    def stages(self) -> StageTimer:
        """Measures the stages of the run."""

    def plan(self, rows: DescriptionRows, /) -> None:
        """Show the plan of a run that only prints it."""

    def line_width(self, output: Path | None, /) -> int:
        """Return the characters of a human-readable line in an output; None is standard output."""

    def progress(self, work: int, output: Path | None, unit: str, /) -> AbstractContextManager[GrowingProgress]:
        """Return a progress that is notified of finished work. output: where results go meanwhile; unit: cells, pairs or comparisons."""

    def summary(
        self, sequences: int, totals: Totals, engine: str, hits: int | None = None, kept: int | None = None, earlier: int = 0
    ) -> None:
        """Report that alignments are done.

        hits: number of hits; None: no hits were sought
        kept: pairs that pass the thresholds; None: there are no thresholds
        earlier: pairs of earlier runs that this one resumes; hits and kept include them
        """

    def near_summary(self, sequences: int, totals: NearTotals, engine: str, kept: int | None, earlier: int = 0) -> None:
        """Report that pairs within a threshold are done. Parameters as for `summary`."""
