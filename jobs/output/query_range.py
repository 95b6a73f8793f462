"""Range of queries that a run writes: all of a job, a shard, or those that an earlier run has left; and the output session for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.pipeline import CheckpointListener
from gpualign.core.output.formats.registry import Results
from gpualign.jobs.output.atomic_files import OutputFiles
from gpualign.jobs.output.run_identity import ResumePolicy, can_resume

if TYPE_CHECKING:
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.every_pair import Work
    from gpualign.jobs.output.shard_file import PartFile
    from gpualign.jobs.output.shards import Shard

J = TypeVar("J", bound="Job")


class Job(Protocol):
    """Work that can be divided by queries."""

    @property
    def row_work(self) -> Work:
        """Approximate work of each query: float64[queries]."""

    def part(self: J, start: int, stop: int, /) -> J:
        """Return the job of queries [start, stop) alone."""


class Counted(Job, Protocol):
    """Work whose amount is known, in pairs and in units of work."""

    @property
    def pairs(self) -> int: ...

    @property
    def work(self) -> int: ...


@dataclass(frozen=True)
class QueryRange:
    """The part of a job that a run does, and its output.

    queries: number of queries of the whole job
    span: queries that the run writes, start and stop
    shard: the shard that they are; None: all
    path: file that is written; None: standard output
    format: format of the output of the whole job
    results: kind of results of the job
    """

    queries: int
    span: tuple[int, int]
    shard: Shard | None
    path: Path | None
    format: str
    results: Results

    @classmethod
    def of(cls, job: Job, queries: int, shard: Shard | None, output: Path | None, format: str, results: Results) -> QueryRange:
        """Return the range of a run. output: path for the whole job. `check_shard` has refused outputs that cannot be sharded."""
        if shard is None:
            return cls(queries, (0, queries), None, output, format, results)
        assert output is not None
        return cls(queries, shard.rows(job.row_work), shard, shard.path(output), format, results)

    def cut(self, job: J, start: int = 0) -> J:
        """Return the job of this range, from query `start` on."""
        span = max(self.span[0], start), self.span[1]
        return job if span == (0, self.queries) else job.part(*span)

    def begin(
        self, files: OutputFiles, keeping: ResumePolicy | None, note: Callable[[str], None], picture: Path | None = None
    ) -> OutputSession | None:
        """Open the output and return its session, or None if nothing remains to be done, which is noted.

        keeping: None if no later run can resume the output
        picture: picture that will be drawn of the output

        Raises `InputError` if this run cannot resume the existing output.
        """
        checkpoints = files.resumable(self.path, keeping if can_resume(self.format, self.results) else None, self.span)
        if checkpoints is None:
            if picture is not None:
                note(f"{picture} is as that run left it; `gpualign plot` draws it again")
            return None
        part = None
        if self.shard is not None:
            note(self.shard.describe(self.span, self.queries, self.path))
            from gpualign.jobs.output.shard_file import PartFile

            part = PartFile.of(files, self.path, keeping, self.shard, self.span, self.format)
        return OutputSession(self, files, files.rows_done, checkpoints, part)


@dataclass(frozen=True)
class OutputSession:
    """An open output of a range of queries.

    query_range: the range
    files: the output files of the run
    done: number of queries, from the first, that are complete
    checkpoints: is notified of progress
    part: the part file of a shard; None: the output itself is written
    """

    query_range: QueryRange
    files: OutputFiles
    done: int
    checkpoints: CheckpointListener
    part: PartFile | None

    @property
    def rows(self) -> tuple[int, int] | None:
        """Queries of the part file, start and stop; None if the output itself is written."""
        return None if self.part is None else self.part.span

    def done_before(self, job: Counted, rest: Counted) -> tuple[int, int]:
        """Return (pairs, work) that earlier runs have done of a job. rest: the job that remains for this run."""
        if self.done <= self.query_range.span[0]:
            return 0, 0
        whole = self.query_range.cut(job)
        return whole.pairs - rest.pairs, whole.work - rest.work

    def remaining(self, job: J) -> J:
        """Return the part of the whole job that remains to be done."""
        return self.query_range.cut(job, self.done)

    @contextmanager
    def text(self) -> Iterator[tuple[ByteWriter, CheckpointListener]]:
        """Yield a writer of text that grows query by query, and the listener that is notified of its progress."""
        if self.part is not None:
            with self.part.rows(self.checkpoints) as growing:
                yield growing
            return
        with self.files.rows(self.query_range.path) as stream:
            yield stream, self.checkpoints
