"""Checkpoints of an output: a journal, next to part files with persistent names.

Part files are hidden at first, as for every output (stale_files.py). After a few seconds, a run gives the files persistent names:
`NAME.part` for the output NAME, `NAME.WHAT.part` for the intermediate files, and `NAME.journal` (core/files/journal.py). When the run
finishes, these files are renamed or deleted (commit.py). If the run ends any other way, they are kept, so that a later run can resume
(interrupted_run.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from gpualign.core.common import signals
from gpualign.core.common.errors import InputError, command_line_message, parameter
from gpualign.core.common.threads import BackgroundTask
from gpualign.core.files.file_pieces import StridedRange
from gpualign.core.files.journal import (
    MAX_CHECKSUM_BYTES,
    CompleteOutput,
    FileChecksum,
    Mark,
    ResumePoint,
    completion_line,
    header_line,
    mark_line,
    process_line,
    read_journal,
    sync_line,
)
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.resumable_files import ResumePosition
from gpualign.jobs.output.commit import PendingFile, add_pending, journal_path, resumable_part_path, sync_folder
from gpualign.jobs.output.interrupted_run import InterruptedRun, open_locked
from gpualign.jobs.output.journal_file import JournalFile, boot_id
from gpualign.jobs.output.run_identity import ResumePolicy

MIN_SECONDS_TO_JOURNAL = 2.0
"""Minimum seconds before a run starts a journal."""

MIN_RUN_TO_DIGEST_RATIO = 100
"""A journal, which needs a digest of the input, is started only when the run has taken this many times as long as the digest will take."""

CHECKPOINT_PAUSE_SECONDS, SYNC_PAUSE_SECONDS = 0.2, 1.0
"""Minimum seconds between checkpoints, and between the end of one disk sync and the start of the next."""


class CheckpointedOutput:
    """The journal of an output that is being written. Implements `gpualign.jobs.output.result_writing.CheckpointListener`.

    path: output path
    resume_policy: whether this run resumes an earlier run, and the identity that both must share
    span: range [start, stop) of the queries in the output
    files: list of all files of the run, to which `open_file` appends new files; files with a name are recorded in the journal
    note: receives notes

    Attributes:
    resumed: the earlier run that this run resumes; None: no such run
    rows: number of queries, counted from the first, that were complete when this run started
    completed: whether the output is complete according to the journal

    Raises `InputError` if the existing journal belongs to a different run.
    """

    def __init__(
        self, path: Path, resume_policy: ResumePolicy, span: tuple[int, int], files: list[PendingFile], note: Callable[[str], None]
    ) -> None:
        self.path = path
        self._span = span
        self._resume_policy = resume_policy
        self._files = files
        self._note = note
        self._journal: JournalFile | None = None  # empty until this run writes to it
        self._start = self._checkpointed = self._synced = time.monotonic()
        self._aside = BackgroundTask()  # waits for the disk
        self._header_checkpoint: Mark | None = None
        self._counts: Callable[[], Mapping[str, int]] = dict  # counts of what this run has written
        self._summed: dict[str, int] = {}  # bytes of growing files that are covered by checksums of checkpoints
        self._summed_rows: int | None = None  # queries of arrays that are covered; None: not even the header of the array
        self._silent = False  # no journal is kept
        self._finished = self._folder_synced = False
        self._is_kept: bool | None = None
        self.resumed: InterruptedRun | None = None
        self.rows = self._rows = 0
        self.completed = False
        journal, resume = journal_path(path), parameter("resume")
        if not journal.exists():
            if resume_policy.resume:
                note(f"{path}: nothing to resume; starting from scratch")
        elif resume_policy.resume:
            self._resume(InterruptedRun(path, resume_policy))
        else:
            with suppress(OSError, InputError), open_locked(journal, path):
                pass  # no run is writing this output, or a `RunError` was raised
            self._silent = True
            note(
                f"{journal} exists: it and its part files are left alone; {resume} resumes the interrupted run that they are of. This run"
                " starts from scratch and cannot be resumed"
            )

    def _resume(self, earlier: InterruptedRun) -> None:
        self.resumed, self._journal, point = earlier, earlier.journal, earlier.point
        if earlier.pending_renames is not None:
            self._rows, self.completed = self._span[1], True
        elif point is None:
            self._note(f"{self.path}: none of the earlier output is known to have reached the disk; starting from scratch")
        else:
            self.rows = self._rows = self._summed_rows = point.rows
            self._summed = {name: size for name, (size, _, _) in point.files.items()}
            query = max(self._span[0], point.rows)
            where = f"resuming at query {query + 1:,} of {self._resume_policy.compute_identity().rows:,}"
            self._note(f"{self.path}: {where if query < self._span[1] else 'all queries are done; only the final step remains'}")

    @property
    def _resume_point(self) -> ResumePoint | None:
        """Point at which this run resumes the output; None: it writes everything."""
        return None if self.resumed is None else self.resumed.point

    @property
    def _journal_files(self) -> Sequence[tuple[str, PendingFile]]:
        """Files in the journal, with their names."""
        return [(one.name, one) for one in self._files if one.name is not None]

    @property
    def has_journal(self) -> bool:
        """True if a journal records the completed work."""
        return self._journal is not None and not self._journal.is_empty

    def open_file(self, name: str = "", final_path: Path | None = None) -> tuple[PendingFile, ResumePosition | None]:
        """Return (file, its resume position). The file is readable and writable. The position is as in `ResumePoint.files`, or None if the
        file is new or an array.

        name: name that tells this file from the other files of the output; "" for the main file
        final_path: path of the finished file; None: the file is deleted at the end of the run
        """
        if self.resumed is not None and self._resume_point is not None:
            file, part, position = self.resumed.open_part(name)
            self._files.append(PendingFile(file, part, final_path, name))
            return self._files[-1], position
        if self.resumed is not None:
            resumable_part_path(self.path, name).unlink(missing_ok=True)
        hidden = self.path.with_name(f"{self.path.name}{name and '.' + name}")
        return add_pending(self._files, hidden, final_path, self._note, name), None

    def register_counts_function(self, get_counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        before = {} if self._resume_point is None else self._resume_point.counts
        self._counts = lambda: {name: count + before.get(name, 0) for name, count in get_counts().items()}
        return before

    def header_written(self) -> None:
        self._header_checkpoint = self._make_mark(self.rows)
        for _, store in self._journal_files:
            if not isinstance(store.writer, NpyArray | None):
                store.writer.header_written()

    def rows_written(self, rows: int) -> None:
        now = time.monotonic()
        if rows <= self._rows or self._silent or now - self._checkpointed < CHECKPOINT_PAUSE_SECONDS:
            return
        if not self.has_journal:
            if now - self._start < MIN_SECONDS_TO_JOURNAL + MIN_RUN_TO_DIGEST_RATIO * self._resume_policy.digest_seconds:
                return
            self._begin_journal()
        if self._silent:
            return
        checkpoint = self._make_mark(rows)  # may wait for a disk, and be interrupted
        self._rows, self._checkpointed = rows, now
        self._write_checkpoint(checkpoint)
        if self._journal is not None and not self._aside.busy and now - self._synced >= SYNC_PAUSE_SECONDS:
            with signals.signals_deferred():  # a thread that a signal keeps from starting cannot be waited for
                self._aside.start(partial(self._sync, self._journal, rows))

    def _make_mark(self, rows: int) -> Mark:
        files = {}
        for name, store in self._journal_files:
            if isinstance(store.writer, NpyArray):
                store.writer.flush()
            elif store.writer is not None:
                files[name] = store.writer.resume_position()
        return Mark(rows, files, counts=self._counts())

    def _write_checkpoint(self, checkpoint: Mark) -> None:
        """Write a checkpoint, with checksums of the data written since the previous checkpoint."""
        sums = {}
        for name, store in self._journal_files:
            descriptor = store.file.fileno()
            if name in checkpoint.files:
                size = checkpoint.files[name][0]
                piece = StridedRange(start := self._summed.get(name, 0), size - start)
                self._summed[name] = size
            elif isinstance(store.writer, NpyArray):
                size = os.fstat(descriptor).st_size
                rows = None if self._summed_rows is None else (max(self._span[0], self._summed_rows), checkpoint.rows)
                piece = store.writer.locate_bytes(rows)
            else:
                continue
            piece = piece.tail(MAX_CHECKSUM_BYTES)
            sums[name] = FileChecksum(size, piece, piece.checksum(descriptor))
        self._summed_rows = checkpoint.rows
        self._write(mark_line(replace(checkpoint, sums=sums)))

    def _begin_journal(self) -> None:
        """Give part files persistent names. While the files are being renamed, the journal exists but is empty."""
        if taken := [part for name, _ in self._journal_files if os.path.lexists(part := resumable_part_path(self.path, name))]:
            self._note(f"{taken[0]} exists without a journal and is left alone; this run cannot be resumed")
            self._silent = True
            return
        try:
            identity = self._resume_policy.compute_identity()
        except InputError:
            self._silent = True  # the input has gone, and no run can be resumed without it
            return
        assert self._header_checkpoint is not None
        with signals.signals_deferred():
            self._journal = self._journal or JournalFile.create(journal_path(self.path))
            if self._journal is None:
                self._silent = True  # another run was first
                return
            for name, store in self._journal_files:
                os.replace(store.part_path, lasting := resumable_part_path(self.path, name))
                store.part_path = lasting
            self._write(header_line(identity) + process_line(boot_id()))
            self._write_checkpoint(self._header_checkpoint)

    def _write(self, lines: bytes) -> None:
        """Append lines to the journal, if there is one."""
        if self._journal is not None:
            with self._aside.lock:
                self._journal.append(lines)

    def _sync(self, journal: JournalFile, rows: int) -> None:
        """Make the checkpoint of `rows` durable, so that a power cut cannot undo it."""
        for _, store in self._journal_files:
            os.fsync(store.file.fileno())
        if not self._folder_synced:  # the names of the journal and the part files
            sync_folder(self.path.parent)
            self._folder_synced = True
        self._write(sync_line(rows))
        journal.sync()
        self._synced = time.monotonic()

    def complete(self, files: Iterable[PendingFile]) -> None:
        """Record that everything is on disk and that these files, in the folder of the output, are about to be renamed."""
        if self._journal is None or not self.has_journal:
            return
        self._aside.wait()
        self._rows, self.completed = self._span[1], True
        sync_folder(self.path.parent)
        try:
            self._write(completion_line(one.finished_entry() for one in files))
            self._journal.sync()
        except OSError:
            pass  # a full disk: names take no room on it

    def finish(self, folders: Iterable[Path]) -> None:
        """Remove the journal, once all files in these folders have their final names.

        The journal is removed last, so that a finished output is never lost.
        """
        if self.has_journal:
            for folder in folders:
                sync_folder(folder)
        if self._journal is not None:
            self._journal.remove()
        self._finished = True

    def stop(self, keep_resumable: bool) -> None:
        """Wait for the disk at the end of the run, and decide whether files are kept for a later run.

        keep_resumable: whether files that a later run can resume are kept; files that this run resumed are always kept
        """
        with suppress(OSError):  # what checkpoints record has been written
            self._aside.wait()
        if self._is_kept is None:
            is_needed = keep_resumable or self.completed or self._resume_point is not None
            self._is_kept = self.has_journal and not self._finished and is_needed
        if self._is_kept and keep_resumable:
            start, stop = self._span
            done = f"{max(0, self._kept_rows() - start):,} of {stop - start:,} queries of {self.path} are done"
            signals.set_resume_hint(f"{done}; resume with: {_resume_command(self._resume_policy.arguments)}")

    def _kept_rows(self) -> int:
        """Return the number of queries, counted from the first, that a later run keeps. A compressed file lacks some of the rows
        written last."""
        try:
            _, found = read_journal(journal_path(self.path).read_bytes(), "", boot_id())
        except (OSError, InputError):
            return self._rows
        return self._rows if isinstance(found, CompleteOutput) else 0 if found is None else found.rows

    def keeps(self, one: PendingFile) -> bool:
        """Return whether `stop` has kept a file for a later run. The later run resumes the file, or only renames it if the output is
        complete."""
        return bool(self._is_kept) and (one.name is not None or self.completed)

    def close(self) -> None:
        """Close the journal, and delete it unless files are kept for a later run."""
        if self._journal is not None:
            self._journal.close()
            if not self._is_kept and not self._finished:
                self._journal.remove()


def _resume_command(arguments: Sequence[str]) -> str:
    """Return the command line that resumes the run. arguments: words of its command line, without the program name."""
    import shlex

    resume = command_line_message(parameter("resume"))
    return shlex.join(["gpualign", *arguments, *([] if resume in arguments else [resume])])
