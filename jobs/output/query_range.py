"""Which queries of a job a run writes, into what, and with which marks: all of them, a share, or what an earlier run has left."""

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
    """Work of which a run may do a part."""

    @property
    def row_work(self) -> Work:
        """What each query takes, about: float64[queries]."""

    def part(self: J, start: int, stop: int, /) -> J:
        """The same for queries [start, stop) alone."""


class Counted(Job, Protocol):
    """Work that says how much it is."""

    @property
    def pairs(self) -> int: ...

    @property
    def work(self) -> int: ...


@dataclass(frozen=True)
class QueryRange:
    """What of a job a run is asked for. queries: of the whole job; span: those that it writes, start and stop; shard: the share that they
    are, None: all. path: what is written, None: standard output; format, results: of the output of the whole job, and what it is of."""

    queries: int
    span: tuple[int, int]
    shard: Shard | None
    path: Path | None
    format: str
    results: Results

    @classmethod
    def of(cls, job: Job, queries: int, shard: Shard | None, output: Path | None, format: str, results: Results) -> QueryRange:
        """output: of the whole job. What cannot be had in shares is refused before (`check_shard`)."""
        if shard is None:
            return cls(queries, (0, queries), None, output, format, results)
        assert output is not None
        return cls(queries, shard.rows(job.row_work), shard, shard.path(output), format, results)

    def cut(self, job: J, start: int = 0) -> J:
        """What this portion is of a job, from a query on."""
        span = max(self.span[0], start), self.span[1]
        return job if span == (0, self.queries) else job.part(*span)

    def begin(
        self, files: OutputFiles, keeping: ResumePolicy | None, note: Callable[[str], None], picture: Path | None = None
    ) -> OutputSession | None:
        """None: nothing is left to do, and that is told. keeping: None where no other run can go on; picture: that is to be drawn of the
        output. Raises `InputError` where this one cannot go on with what is there."""
        marks = files.resumable(self.path, keeping if can_resume(self.format, self.results) else None, self.span)
        if marks is None:
            if picture is not None:
                note(f"{picture} is as that run left it; `gpualign plot` draws it anew")
            return None
        part = None
        if self.shard is not None:
            note(self.shard.describe(self.span, self.queries, self.path))
            from gpualign.jobs.output.shard_file import PartFile

            part = PartFile.of(files, self.path, keeping, self.shard, self.span, self.format)
        return OutputSession(self, files, files.rows_done, marks, part)


@dataclass(frozen=True)
class OutputSession:
    """A portion on its way. done: queries before this one are there; marks: told how far it is; part: the part file that is written, None:
    the output itself."""

    portion: QueryRange
    files: OutputFiles
    done: int
    marks: CheckpointListener
    part: PartFile | None

    @property
    def rows(self) -> tuple[int, int] | None:
        """Queries of the part, start and stop."""
        return None if self.part is None else self.part.span

    def earlier(self, job: Counted, rest: Counted) -> tuple[int, int]:
        """(pairs, work) that runs before this one have done of a job, of which this one does the rest."""
        if self.done <= self.portion.span[0]:
            return 0, 0
        whole = self.portion.cut(job)
        return whole.pairs - rest.pairs, whole.work - rest.work

    def rest(self, job: J) -> J:
        """What is left to do of the whole job."""
        return self.portion.cut(job, self.done)

    @contextmanager
    def text(self) -> Iterator[tuple[ByteWriter, CheckpointListener]]:
        """A writer of text that grows query by query, and what is to be told how far it is."""
        if self.part is not None:
            with self.part.rows(self.marks) as growing:
                yield growing
            return
        with self.files.rows(self.portion.path) as stream:
            yield stream, self.marks
