"""Resumable outputs: part files, and the journal next to them.

Part files are hidden at first, as for every output (stale_files.py). After a few seconds, a run gives the files persistent names:
`NAME.part` for the output NAME, `NAME.WHAT.part` for the intermediate files, and `NAME.journal` (core/files/journal.py). When the run
finishes, these files are renamed or deleted (commit.py). If the run ends any other way, they are kept, so that a later run can resume.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar, cast

from gpualign.core.common import signals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, for_command_line, parameter
from gpualign.core.common.threads import BackgroundTask
from gpualign.core.files.file_pieces import Piece
from gpualign.core.files.journal import (
    MAX_CHECKSUM_BYTES,
    CompleteOutput,
    FileChecksum,
    Identity,
    Mark,
    ResumePoint,
    chained,
    first_line,
    last_line,
    mark_line,
    process_line,
    read_journal,
    synced_line,
)
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.resumable_files import ResumePosition
from gpualign.jobs.output.commit import PendingFile, pending_renames, sync_folder
from gpualign.jobs.output.run_identity import ResumePolicy
from gpualign.jobs.output.stale_files import Lock, create_part, is_file, is_ours, lock, remove_stale_part_files

_WAIT = 2.0
"""Minimum seconds before a run starts a journal."""

_SHARE = 100
"""Digesting the input takes at most 1 / `_SHARE` of the run time."""

_PAUSE, _SYNC_PAUSE = 0.2, 1.0
"""Minimum seconds between checkpoints, and between the end of one disk sync and the start of the next."""

_MAX_BYTES = 1 << 30
"""Maximum number of bytes read from a journal."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Growing(Protocol):
    """Writer for a file of a resumable output."""

    def header_written(self) -> None:
        """Called when everything before the first row has been written."""

    def position(self) -> tuple[int, int, int]:
        """Return (bytes, text, at) as defined in core/files/journal.py, after passing all data to the operating system."""


W = TypeVar("W", bound=Growing)

TextKind = Callable[[BinaryIO, ResumePosition | None], W]
"""Builds a text writer for a file: the signature of the writers in core/output/resumable_files.py."""


@dataclass
class _Store(PendingFile):
    """An output file, or an intermediate file from which the output is built."""

    writer: Growing | NpyArray | None = None


class CheckpointedOutput:
    """Files of one resumable output. Implements `gpualign.core.execution.pipeline.CheckpointListener`.

    path: output path
    resume_policy: whether this run resumes an earlier run, and the identity that both must share
    span: queries in the output, start and stop
    note: receives notes

    Attributes:
    rows: number of queries, counted from the first, that were complete when this run started
    pending_renames: pending renames of a complete output, as for `commit.commit`; only these renames and `finish` remain to be done.
        None: the output is not complete
    complete_files: paths of all files of a complete output
    completed: whether the output is complete according to the journal

    Raises `InputError` if the existing journal belongs to a different run.
    """

    def __init__(self, path: Path, resume_policy: ResumePolicy, span: tuple[int, int], note: Callable[[str], None]) -> None:
        self._path = path
        self._span = span
        self._resume_policy = resume_policy
        self._note = note
        self._stores: dict[str, _Store] = {}
        self._journal: BinaryIO | None = None
        self._emptied: BinaryIO | None = None  # the journal of an earlier run without usable output, until this run keeps it
        self._identity: Identity | None = None
        self._resumed: ResumePoint | None = None
        self._start = self._checkpointed = self._synced = time.monotonic()
        self._aside = BackgroundTask()  # waits for the disk
        self._header_checkpoint: Mark | None = None
        self._rows = 0
        self._counts: Callable[[], Mapping[str, int]] = dict  # counts of what this run has written
        self._summed: dict[str, int] = {}  # bytes of growing files that are covered by checksums of checkpoints
        self._summed_rows: int | None = None  # queries of arrays that are covered; None: not even the header of the array
        self.rows = 0
        self._silent = False  # no journal is kept
        self._check = ""
        self._torn = False
        self._finished = self._folder_synced = False
        self.completed = False
        self.pending_renames: list[tuple[Path, Path | None]] | None = None
        self.complete_files: list[Path] = []
        existing = self._journal_path.exists()
        if resume_policy.resume and not existing:
            note(f"{path}: nothing to resume; starting from scratch")
        elif resume_policy.resume:
            self._resume()
        elif existing:
            self._refuse_second()
            self._silent = True
            note(
                f"{self._journal_path}, of an interrupted run, and its part files are left alone; {parameter('resume')} resumes that run."
                " This run starts from scratch and cannot be resumed"
            )

    @property
    def _journal_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.journal")

    def _lasting(self, name: str) -> Path:
        return self._path.with_name(f"{self._path.name}{name and '.' + name}.part")

    def _refuse_second(self) -> None:
        """Raise `RunError` if the journal belongs to a run that is currently writing the output."""
        try:
            journal = _opened(self._journal_path)
        except (OSError, InputError, RunError):
            return
        with journal:
            self._take_lock(journal, self._journal_path)

    def _resume(self) -> None:
        journal = _opened(self._journal_path)
        self._take_lock(journal, self._journal_path)
        raw = journal.read(_MAX_BYTES)
        earlier, resumed = read_journal(raw, str(self._journal_path), _boot())
        if earlier is not None:
            self._identity = self._resume_policy.identity()
            self._identity.check(earlier, str(self._journal_path))
        if isinstance(resumed, CompleteOutput):
            self._journal, self.completed = journal, True
            self._rows = self._span[1]
            self.pending_renames = pending_renames(resumed.files, self._path, self._journal_path)
            self.complete_files = [self._path.with_name(one.final) for one in resumed.files if one.final is not None]
            return
        if earlier is None or resumed is None or resumed.rows > earlier.rows:
            journal.truncate(0)
            journal.seek(0)
            self._emptied = journal
            self._note(f"{self._path}: none of the earlier output is known to have reached the disk; starting from scratch")
            return
        self._check_parts(resumed)
        self._journal, self._resumed = journal, resumed
        self.rows = self._rows = self._summed_rows = resumed.rows
        self._summed = {name: size for name, (size, _, _) in resumed.files.items()}
        journal.truncate(resumed.length)
        journal.seek(resumed.length)
        self._check = resumed.check
        self._write(process_line(_boot()) + (b"" if resumed.synced is None else synced_line(resumed.synced)))
        query = max(self._span[0], resumed.rows)
        where = f"resuming at query {query + 1:,} of {earlier.rows:,}"
        self._note(f"{self._path}: {where if query < self._span[1] else 'all queries are done; only the final step remains'}")

    def _check_parts(self, resumed: ResumePoint) -> None:
        """Raise `InputError` if the part files do not match the journal. Called before anything is changed."""
        for name, sums in resumed.sums.items():
            part, size = self._lasting(name), sums[-1].size
            with _opened(part) as file:
                actual = os.fstat(file.fileno()).st_size
                if actual < size:
                    raise _damaged(part, f"has {actual:,} bytes, its journal says {size:,}")
                for one in sums:
                    if one.piece.checksum(file.fileno()) != one.check:
                        raise _damaged(part, f"differs from its journal between bytes {one.piece.start:,} and {one.piece.stop:,}")

    def store(self, name: str = "", final: Path | None = None) -> tuple[BinaryIO, ResumePosition | None]:
        """Return (readable and writable file; resume position as in `ResumePoint.files`, or None if the file is new or an array).

        name: name of the file among the output's files
        final: path of the finished file; None: the file is deleted at the end of the run
        """
        if self._resumed is None:
            hidden = self._path.with_name(f"{self._path.name}{name and '.' + name}")
            remove_stale_part_files(hidden, self._note)
            if self._emptied is not None:
                self._lasting(name).unlink(missing_ok=True)
            with signals.signals_deferred():  # a signal here would leave a file that is not listed
                file, part = create_part(hidden)
                self._stores[name] = _Store(file, part, final)
            return file, None
        part = self._lasting(name)
        file = _opened(part)
        self._take_lock(file, part)
        self._stores[name] = _Store(file, part, final)
        position = self._resumed.files.get(name)
        if position is not None:
            file.truncate(position[0])
            file.seek(position[0])
        elif sums := self._resumed.sums.get(name):
            file.truncate(max(one.piece.stop for one in sums))
            file.truncate(sums[-1].size)  # as in a new file, there are no values where none may be written
        return file, position

    def _take_lock(self, file: BinaryIO, path: Path) -> None:
        if lock(file.fileno()) is Lock.TAKEN or not is_file(file.fileno(), path):
            raise RunError(f"another run is writing {self._path}")

    def writes(self, name: str, writer: Growing | NpyArray) -> None:
        """Set the writer for a file."""
        self._stores[name].writer = writer

    def text(self, kind: TextKind[W], final: Path) -> W:
        """Return a writer of this kind for the output itself, a growing text. final: its path."""
        text = kind(*self.store("", final))
        self.writes("", text)
        return text

    def register_counts(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        before = {} if self._resumed is None else self._resumed.counts
        self._counts = lambda: {name: count + before.get(name, 0) for name, count in counts().items()}
        return before

    def header_written(self) -> None:
        self._header_checkpoint = self._measure(self.rows)
        for store in self._stores.values():
            if not isinstance(store.writer, NpyArray | None):
                store.writer.header_written()

    def rows_written(self, rows: int) -> None:
        now = time.monotonic()
        if rows <= self._rows or self._silent or now - self._checkpointed < _PAUSE:
            return
        if self._journal is None:
            if now - self._start < _WAIT + _SHARE * self._resume_policy.seconds:
                return
            self._begin_journal()
        checkpoint = self._measure(rows)  # may wait for a disk, and be interrupted
        self._rows, self._checkpointed = rows, now
        self._write_checkpoint(checkpoint)
        if self._journal is not None and not self._aside.busy and now - self._synced >= _SYNC_PAUSE:
            with signals.signals_deferred():  # a thread that a signal keeps from starting cannot be waited for
                self._aside.start(partial(self._sync, self._journal, rows))

    def _measure(self, rows: int) -> Mark:
        files = {}
        for name, store in self._stores.items():
            if isinstance(store.writer, NpyArray):
                store.writer.flush()
            elif store.writer is not None:
                files[name] = store.writer.position()
        return Mark(rows, files, counts=self._counts())

    def _write_checkpoint(self, checkpoint: Mark) -> None:
        """Write a checkpoint, with checksums of the data written since the previous checkpoint."""
        sums = {}
        for name, store in self._stores.items():
            descriptor = store.file.fileno()
            if name in checkpoint.files:
                size = checkpoint.files[name][0]
                piece = Piece(start := self._summed.get(name, 0), size - start)
                self._summed[name] = size
            elif isinstance(store.writer, NpyArray):
                size = os.fstat(descriptor).st_size
                rows = None if self._summed_rows is None else (max(self._span[0], self._summed_rows), checkpoint.rows)
                piece = store.writer.piece(rows)
            else:
                continue
            piece = piece.ending(MAX_CHECKSUM_BYTES)
            sums[name] = FileChecksum(size, piece, piece.checksum(descriptor))
        self._summed_rows = checkpoint.rows
        self._write(mark_line(replace(checkpoint, sums=sums)))

    def _begin_journal(self) -> None:
        """Give part files persistent names. While the files are being renamed, the journal exists but is empty."""
        if taken := [part for name in self._stores if os.path.lexists(part := self._lasting(name))]:
            self._note(f"{taken[0]} exists without a journal and is left alone; this run cannot be resumed")
            self._silent = True
            return
        try:
            self._identity = self._resume_policy.identity()
        except InputError:
            self._silent = True  # the input has gone, and no run can be resumed without it
            return
        assert self._header_checkpoint is not None
        with signals.signals_deferred():
            self._journal, self._emptied = self._emptied or self._new_journal(), None
            if self._journal is None:
                self._silent = True  # another run was first
                return
            for name, store in self._stores.items():
                os.replace(store.part, lasting := self._lasting(name))
                store.part = lasting
            self._write(first_line(self._identity) + process_line(_boot()))
            self._write_checkpoint(self._header_checkpoint)

    def _new_journal(self) -> BinaryIO | None:
        """Return a new, locked journal, or None if a different run has created one."""
        try:
            descriptor = os.open(self._journal_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return None
        # A resuming run may have found it before it was locked.
        if lock(descriptor) is Lock.TAKEN or not is_file(descriptor, self._journal_path):
            os.close(descriptor)
            return None
        return cast(BinaryIO, os.fdopen(descriptor, "w+b"))

    def _write(self, lines: bytes) -> None:
        """Append lines. Once an error or signal has truncated a line, append nothing more, because it could not be verified."""
        if self._journal is None:
            return
        with self._aside.lock:
            if self._torn:
                return
            self._torn = True
            checked, check = chained(lines, self._check)
            self._journal.write(checked)
            self._journal.flush()
            self._check, self._torn = check, False

    def _sync(self, journal: BinaryIO, rows: int) -> None:
        """Make the checkpoint of `rows` durable, so that a power cut cannot undo it."""
        for store in list(self._stores.values()):
            os.fsync(store.file.fileno())
        if not self._folder_synced:  # the names of the journal and the part files
            sync_folder(self._path.parent)
            self._folder_synced = True
        self._write(synced_line(rows))
        os.fsync(journal.fileno())
        self._synced = time.monotonic()

    @property
    def stores(self) -> Sequence[PendingFile]:
        """Files requested with `store`."""
        return list(self._stores.values())

    @property
    def has_journal(self) -> bool:
        """True if a journal records the completed work."""
        return self._journal is not None

    def complete(self, files: Iterable[PendingFile]) -> None:
        """Record that everything is on disk and that these files, in the folder of the output, are about to be renamed."""
        if self._journal is None:
            return
        self._aside.wait()
        self._rows, self.completed = self._span[1], True
        sync_folder(self._path.parent)
        try:
            self._write(last_line(one.finished() for one in files))
            os.fsync(self._journal.fileno())
        except OSError:
            pass  # a full disk: names take no room on it

    def finish(self, folders: Iterable[Path]) -> None:
        """Remove the journal, once all files in these folders have their final names.

        The journal is removed last, so that a finished output is never lost.
        """
        if self._journal is not None:
            for folder in folders:
                sync_folder(folder)
        if self._journal is not None or self._emptied is not None:
            self._journal_path.unlink(missing_ok=True)
        self._finished = True

    def close(self, keep_resumable: bool) -> None:
        """Close all files at the end of the run, and delete the files that are not kept.

        keep_resumable: keep the files if a later run can resume them; files that this run resumed are always kept
        """
        with suppress(OSError):  # what checkpoints record has been written
            self._aside.wait()
        stays = self._journal is not None and not self._finished and (keep_resumable or self.completed or self._resumed is not None)
        for store in self._stores.values():
            try:
                store.file.close()
            except OSError:
                pass  # a full disk: only what checkpoints record matters
            if not stays and not self._finished:  # else the name may be another run's by now
                store.part.unlink(missing_ok=True)
        for journal in (self._journal, self._emptied):
            if journal is None:
                continue
            try:
                journal.close()
            except OSError:
                pass  # a full disk: an incomplete line does not count
            if not stays and not self._finished:
                self._journal_path.unlink(missing_ok=True)
            elif stays and keep_resumable:
                start, stop = self._span
                command = _command(self._resume_policy.arguments)
                signals.set_resume_hint(
                    f"{max(0, self._rows - start):,} of {stop - start:,} queries of {self._path} are done; resume with: {command}"
                )
        self._stores.clear()  # writers refer to this object


def _damaged(part: Path, why: str) -> InputError:
    return InputError(f"{part} {why}; remove both, and run without {parameter('resume')}")


def _opened(path: Path) -> BinaryIO:
    """Open a file of an earlier run. Raises `InputError` if the file is missing or belongs to a different user."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{parameter('resume')}: {path}: {error.strerror or error}; run without {parameter('resume')}") from None
    if not is_ours(descriptor):
        os.close(descriptor)
        raise InputError(f"{parameter('resume')}: {path} belongs to another user; run without {parameter('resume')}")
    return cast(BinaryIO, os.fdopen(descriptor, "r+b"))


def _command(arguments: Sequence[str]) -> str:
    """Return the command line that resumes the run. arguments: words of its command line, without the program name."""
    import shlex

    resume = for_command_line(parameter("resume"))
    return shlex.join(["gpualign", *arguments, *([] if resume in arguments else [resume])])


def _boot() -> str | None:
    """Return the boot id of this machine, or None if the system does not provide one."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return None
