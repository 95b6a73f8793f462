"""Notes, progress and summary: all human-readable messages, on stderr."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpualign.cli.terminal.log_file import Log, append_to_log, start_log
from gpualign.cli.terminal.progress import ProgressBar, write_now
from gpualign.cli.terminal.stage_timer import RunStageTimer
from gpualign.core.common.errors import InputError, command_line_message
from gpualign.core.common.units import format_count
from gpualign.jobs.output.atomic_files import check_outputs, check_uncompressed, check_writable, translate_output_errors
from gpualign.jobs.output.run_identity import Invocation
from gpualign.jobs.output.run_summary import RunSummary
from gpualign.jobs.output.stages import COMPUTING, READING, WRITING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpualign.core.clustering.given_clusters import GivenClusters
    from gpualign.core.clustering.verification import Problems
    from gpualign.core.distance.runner import DistanceTotals
    from gpualign.core.execution.totals import Totals
    from gpualign.jobs.cluster import NearPairGraph
    from gpualign.jobs.cluster_names import NamedClusters
    from gpualign.jobs.job import DescriptionRows


class ConsoleReporter:
    """Implements `gpualign.jobs.output.run_reporter.RunReporter`.

    verbosity: -1: only errors; 0: notes and summary; 1: also the plan
    """

    @classmethod
    def from_options(
        cls, command: str, quiet: bool, verbose: bool = False, log: str | None = None, summary: str | None = None
    ) -> ConsoleReporter:
        """Return the reporter for -q, -v, --log and --summary. Raises `InputError` if the log or summary is not a file."""
        return cls(command, -1 if quiet else 1 if verbose else 0, start_log(log), summary)

    def __init__(self, command: str, verbosity: int, log: Log | None = None, summary: str | None = None) -> None:
        self._command = command
        self.verbosity = verbosity
        self._log = log
        self.stages = RunStageTimer()
        self.run_summary = RunSummary(summary, self.stages, lambda: self.invocation)

    @property
    def invocation(self) -> Invocation:
        """The running command, as given by the user."""
        context = click.get_current_context()

        def long_name(parameter: click.Parameter) -> str:
            return max(parameter.opts, key=len).removeprefix("--").replace("-", "_")

        options = {long_name(one): context.params.get(one.name or "") for one in context.command.params}
        return Invocation(context.command.name or "", options, sys.argv[1:])

    def begin(self, inputs: Iterable[str | None], outputs: Iterable[Path | None], resume: bool = False) -> None:
        """Check the files of the run and open the log, which a dry run leaves alone. resume: append to the log. Raises `InputError` if an
        output is also an input, or if two outputs are the same file, and `RunError` if an output cannot be written."""
        inputs, outputs, log, summary = list(inputs), list(outputs), self._log, self.run_summary
        message_paths = {"--log": log.path if log else None, "--summary": summary.path}
        check_outputs(inputs, [*outputs, *(path for path in message_paths.values() if path)])
        for option, path in message_paths.items():
            if path is None:
                continue
            check_uncompressed(path, f"the file of {option}")
            from gpualign.jobs.output.commit import is_resume_file

            if any(output is not None and is_resume_file(output, path) for output in outputs):
                raise InputError(f"{option} {path}: this name is reserved for resume files; choose another")
        for path in (*outputs, *message_paths.values()):
            if path is not None:
                with translate_output_errors(path):
                    check_writable(path, is_replaced=path is not message_paths["--log"])
        summary.begin(inputs)
        if log is not None and not self.invocation.options.get("dry_run"):
            with translate_output_errors(log.path):
                log.open(append=resume)
        self.stages.enter(READING)

    def note(self, text: str) -> None:
        self._print(text, 0)

    def warn(self, text: str) -> None:
        """Print a warning, which states what was assumed about an input, in the same form as a note."""
        self._print(text, 0)

    def detail(self, text: str) -> None:
        self._print(text, 1)

    def _print(self, text: str, verbosity: int) -> None:
        line = f"gpualign {self._command}: {command_line_message(text)}"
        if self.verbosity >= verbosity:
            with suppress(OSError):  # a full disk or a closed pipe: a note alone must not end the run
                click.echo(line, err=True)
        if max(self.verbosity, 0) >= verbosity:
            append_to_log(line)

    def print_plan(self, rows: DescriptionRows) -> None:
        """Print the plan for --dry-run on standard output, because the plan is the result."""
        with translate_output_errors(None):
            for name, value in rows:
                click.echo(f"{name:<10} {value}")

    def line_width(self, output: Path | None) -> int:
        """Return the width, in characters, of human-readable lines written to `output`: the terminal width if this is standard output
        (None) and a terminal, else 80."""
        if output is None and sys.stdout.isatty():
            import shutil

            return shutil.get_terminal_size().columns
        return 80

    def report_alignments(
        self,
        sequence_count: int,
        totals: Totals,
        engine: str,
        hit_count: int | None = None,
        passed_pairs: int | None = None,
        earlier_pairs: int = 0,
    ) -> None:
        """Print the summary of an alignment run.

        hit_count: number of hits; None: the run did not search for hits
        passed_pairs: number of pairs that pass the thresholds; None: no thresholds
        earlier_pairs: number of pairs from the earlier runs that this run resumes, included in `hit_count` and `passed_pairs`
        """
        for note in totals.notes:
            self.note(note)
        results = (
            f"{passed_pairs:,} kept, " if passed_pairs is not None else "" if hit_count is None else f"{format_count(hit_count, 'hit')}, "
        )
        self.note(
            f"{format_count(sequence_count, 'sequence')}, {_format_pairs(totals.pair_count, earlier_pairs)}, "
            f"{results}{totals.speed_text}, {engine}"
        )

    def report_distances(self, sample_count: int, totals: DistanceTotals, engine: str, earlier_pairs: int = 0) -> None:
        """Print the summary of a distance run. earlier_pairs: number of pairs from the earlier runs that this run resumes."""
        pairs = _format_pairs(totals.pair_count, earlier_pairs)
        counts = f"{format_count(sample_count, 'sample')}, {format_count(totals.site_count, 'site')}, {pairs}"
        self.note(f"{counts}, {totals.speed_text}, {engine}")

    def report_clusters(self, cluster_sizes: list[int], near: NearPairGraph, engine: str | None, changed_count: int | None = None) -> None:
        """Print the summary of a clustering.

        cluster_sizes: number of records in each cluster
        engine: name of the hardware that aligned records; None: nothing was aligned
        changed_count: number of records that have another representative than in given clusters; None: none were given
        """
        changed = "" if changed_count is None else f", {format_count(changed_count, 'record')} changed"
        self.note(
            f"{format_count(sum(cluster_sizes), 'record')}, {format_count(near.count, 'near pair')}"
            f"{'' if near.order is None else ' with a centroid'}, "
            f"{format_count(len(cluster_sizes), 'cluster')}: {format_count(cluster_sizes.count(1), 'singleton')}, "
            f"the largest of {max(cluster_sizes, default=0):,}{changed}{f', {engine}' if engine else ''}"
        )

    def report_problems(self, given: GivenClusters, problems: Problems, near_pair_count: int, engine: str | None) -> None:
        """Print the summary of a verification of clusters. engine: as for `report_clusters`."""
        counts = ", ".join(f"{count:,} {kind.value}" for kind, count in problems.counts.items())
        self.note(
            f"{format_count(len(given.labels), 'record')}, {format_count(near_pair_count, 'near pair')}, "
            f"{format_count(len(given.clusters), 'cluster')}; problems: {counts}{f', {engine}' if engine else ''}"
        )

    def report_names(self, named: NamedClusters, near_pair_count: int, log: Path | None, engine: str | None) -> None:
        """Print the summary of a run that names clusters. log: log of the merges; None: not written. engine: as for `report_clusters`."""
        merges = f", {format_count(named.merge_count, 'merge')}{f' (in {log})' if log else ''}" if named.merge_count else ""
        counts = ", ".join(f"{count:,} at {title[1:]}" for title, count in named.cluster_counts.items())
        self.note(
            f"{format_count(len(named.names.ids), 'record')}, {named.added_count:,} of them new, "
            f"{format_count(near_pair_count, 'near pair')}; clusters: {counts}{merges}{f', {engine}' if engine else ''}"
        )

    @contextmanager
    def progress(self, work: int, output: Path | None, unit: str) -> Iterator[ProgressBar]:
        """Report progress while the body runs, as a bar or as lines.

        output: result file; None: standard output. No bar is drawn if results go to a terminal, because they would mix with it.
        unit: unit of the work: cells, pairs or comparisons
        """
        is_terminal = sys.stderr.isatty()
        show_bar = self.verbosity >= 0 and is_terminal and (output is not None or not sys.stdout.isatty())
        report_line = self._log_progress if is_terminal else self.note
        self.stages.enter(COMPUTING)
        with ProgressBar(work, unit, show_bar, report_line, self._print_progress_line) as progress:
            yield progress
        self.stages.enter(WRITING)

    def _log_progress(self, text: str) -> None:
        """Write a progress line to the log only, because on a terminal the bar shows the same."""
        append_to_log(f"gpualign {self._command}: {text}")

    def _print_progress_line(self, text: str) -> None:
        """Print the progress line requested with SIGUSR1, even with -q."""
        write_now(f"gpualign {self._command}: {text}")
        self._log_progress(text)


def _format_pairs(count: int, earlier_pairs: int) -> str:
    """Format the number of pairs, noting how many belong to this run if it resumes an earlier run."""
    return f"{format_count(count + earlier_pairs, 'pair')}, {count:,} of them in this run" if earlier_pairs else format_count(count, "pair")
