"""The part of a job that one run computes (the whole job, a shard, or the rest of an earlier run), and the output session of this part."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.output.formats.registry import ResultKind
from gpualign.jobs.options import Shard
from gpualign.jobs.output.atomic_files import OutputFiles
from gpualign.jobs.output.result_writing import NO_CHECKPOINTS, CheckpointListener
from gpualign.jobs.output.run_identity import ResumePolicy, can_resume

if TYPE_CHECKING:
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.job import J, Job
    from gpualign.jobs.output.shard_file import PartFile


@dataclass(frozen=True)
class JobPart:
    """The part of a job that one run computes, and its output.

    query_count: number of queries in the whole job
    span: range [start, stop) of the queries that the run writes
    shard: shard that the queries form; None: the whole job
    path: output file; None: standard output
    format: output format of the whole job
    results: kind of results
    """

    query_count: int
    span: tuple[int, int]
    shard: Shard | None
    path: Path | None
    format: str
    results: ResultKind

    @classmethod
    def for_job(cls, job: Job, query_count: int, shard: Shard | None, output: Path | None, format: str, results: ResultKind) -> JobPart:
        """Return the part that one run computes. output: output path of the whole job. The output must have passed `check_resumable`."""
        if shard is None:
            return cls(query_count, (0, query_count), None, output, format, results)
        from gpualign.core.planning.sharding import shard_boundaries

        assert output is not None
        bounds = shard_boundaries(job.row_work, shard.count)
        return cls(query_count, (bounds[shard.number - 1], bounds[shard.number]), shard, shard.part_path(output), format, results)

    def restrict(self, job: J, start: int = 0) -> J:
        """Return the job for this part, starting at query `start`."""
        span = max(self.span[0], start), self.span[1]
        return job if span == (0, self.query_count) else job.for_queries(*span)

    def open(
        self, files: OutputFiles, resume_policy: ResumePolicy | None, note: Callable[[str], None], plot_path: Path | None = None
    ) -> OutputSession | None:
        """Open the output and return its session, or report that nothing remains to be done and return None.

        resume_policy: how the output can be resumed; None: it cannot be
        plot_path: file of the picture to be drawn from the output

        Raises `InputError` if this run cannot resume the existing output.
        """
        checkpoints = files.make_resumable(self.path, resume_policy if can_resume(self.format, self.results) else None, self.span)
        if checkpoints is None:
            if plot_path is not None:
                note(f"{plot_path} is as that run left it; `gpualign plot` draws it again")
            return None
        part = None
        if self.shard is not None:
            start, stop = self.span
            which = (
                f"queries {start + 1:,} to {stop:,} of {self.query_count:,}"
                if start < stop
                else f"none of the {self.query_count:,} queries"
            )
            note(f"share {self.shard.number:,} of {self.shard.count:,}: {which}, to {self.path}")
            from gpualign.jobs.output.shard_file import PartDescription, PartFile

            assert self.path is not None  # check_resumable() requires both
            assert resume_policy is not None
            if checkpoints is NO_CHECKPOINTS:
                raise RunError(f"cannot write {self.path}: a part needs a file of its own, not a device or a pipe")
            shard = self.shard.number, self.shard.count
            part = PartFile(files, self.path, PartDescription(resume_policy.compute_identity(), shard, self.span, self.format))
        return OutputSession(self, files, files.completed_query_count, checkpoints, part)


@dataclass(frozen=True)
class OutputSession:
    """An open output for a range of queries.

    job_part: the part of the job, which says what the range is
    files: output files of the run
    completed_query_count: number of completed queries, counted from the first query
    checkpoints: listener to be notified of progress
    part_file: part file of a shard; None: the output itself is written
    """

    job_part: JobPart
    files: OutputFiles
    completed_query_count: int
    checkpoints: CheckpointListener
    part_file: PartFile | None

    @property
    def row_range(self) -> tuple[int, int] | None:
        """Range [start, stop) of the queries in the part_file file; None if the output itself is written."""
        return None if self.part_file is None else self.job_part.span

    def earlier_pairs_and_work(self, job: Job, rest: Job) -> tuple[int, int]:
        """Return the (pairs, work) of a job completed by earlier runs. rest: the job that remains for this run."""
        if self.completed_query_count <= self.job_part.span[0]:
            return 0, 0
        whole = self.job_part.restrict(job)
        return whole.pair_count - rest.pair_count, whole.total_work - rest.total_work

    def restrict(self, job: J) -> J:
        """Return the part of the whole job that remains to be done."""
        return self.job_part.restrict(job, self.completed_query_count)

    def open_text(self) -> AbstractContextManager[ByteWriter]:
        """Return a context manager that yields a writer for text that grows query by query."""
        return self.files.open_row_writer(self.job_part.path) if self.part_file is None else self.part_file.open_row_writer()
