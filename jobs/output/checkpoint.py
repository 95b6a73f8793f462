"""Outputs with which another run can go on: their parts, and the journal beside them.

A run that takes longer than a moment gives its parts names that last: `NAME.part` for the output NAME, `NAME.WHAT.part` for what it is made
of, and `NAME.journal` (core/files/journal.py). They go when the run is done (commit.py), and stay when it ends in another way, so that the
run which goes on finds them. Before that parts are hidden, as those of every output (stale_files.py).
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
from gpualign.core.files.journal import (
    SUMMED,
    Complete,
    Identity,
    Mark,
    Resumed,
    Sum,
    chained,
    first_line,
    last_line,
    mark_line,
    process_line,
    read_journal,
    synced_line,
)
from gpualign.core.files.piece import Piece
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.resumable_files import ResumePosition
from gpualign.jobs.output.commit import PendingFile, sync_folder, without_names
from gpualign.jobs.output.run_identity import ResumePolicy
from gpualign.jobs.output.stale_files import Lock, create_part, is_file, is_ours, lock, remove_stale_part_files

_WAIT = 2.0
"""Seconds after which a run is worth a journal."""

_SHARE = 100
"""The digest of the input takes one part in so many of the time at most."""

_PAUSE, _SYNC_PAUSE = 0.2, 1.0
"""Seconds between marks, and between the end of a wait for the disk and the next one, at least."""

_MOST_BYTES = 1 << 30
"""Of a journal that is read."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Growing(Protocol):
    """What writes a file of a resumable output."""

    def position(self) -> tuple[int, int, int]:
        """(bytes, text, at) as core/files/journal.py says. Everything has then left this process."""


W = TypeVar("W", bound=Growing)

TextKind = Callable[[BinaryIO, ResumePosition | None, Callable[[], bool]], W]
"""A writer of text on a file, as those of core/output/resumable_files.py are made."""


@dataclass
class _Store(PendingFile):
    """A file of the output, or of what it is made of."""

    writer: Growing | NpyArray | None = None


class CheckpointedOutput:
    """The files of one output. Implements `gpualign.core.execution.pipeline.CheckpointListener`.

    span: its queries, start and stop. rows: queries that are complete from the beginning on, when it begins. left: of an output that is
    complete, what has yet to take its name, as for `naming.take_name`, and nothing else is to be done than that and `finish`; None: of any
    other. complete_files: all of such an output, by their names. completed: whether the journal says that it is. Raises `InputError` where
    what is there is of another run.
    """

    def __init__(self, path: Path, keeping: ResumePolicy, span: tuple[int, int], note: Callable[[str], None]) -> None:
        self._path = path
        self._span = span
        self._keeping = keeping
        self._note = note
        self._stores: dict[str, _Store] = {}
        self._journal: BinaryIO | None = None
        self._emptied: BinaryIO | None = None  # the journal of a run of which nothing is left, until this one keeps it
        self._identity: Identity | None = None
        self._resumed: Resumed | None = None
        self._start = self._marked = self._synced = time.monotonic()
        self._aside = BackgroundTask()  # waits for the disk
        self._begun: Mark | None = None
        self._rows = 0
        self._counts: Callable[[], Mapping[str, int]] = dict  # of what this run has written
        self._summed: dict[str, int] = {}  # bytes of files that grow of which the marks have checksums
        self._summed_rows: int | None = None  # queries of arrays of which they have them, None: not even of what stands before the values
        self._muted = False
        self.rows = 0
        self._silent = False  # no journal is kept
        self._check = ""
        self._torn = False
        self._finished = self._folder_synced = False
        self.completed = False
        self.left: list[tuple[Path, Path | None]] | None = None
        self.complete_files: list[Path] = []
        there = self._journal_path.exists()
        if keeping.resume and not there:
            note(f"{path}: there is nothing to go on with; this run starts from the beginning")
        elif keeping.resume:
            self._go_on()
        elif there:
            self._refuse_second()
            self._silent = True
            note(
                f"{self._journal_path}, of a run that was interrupted, and what belongs to it are left alone;"
                f" {parameter('resume')} goes on with them. This run starts from the beginning, and keeps no journal"
            )

    @property
    def _journal_path(self) -> Path:
        return self._path.with_name(f"{self._path.name}.journal")

    def _lasting(self, name: str) -> Path:
        return self._path.with_name(f"{self._path.name}{name and '.' + name}.part")

    def _refuse_second(self) -> None:
        """Raises `RunError` where the journal is of a run that is at work on the output now."""
        try:
            journal = _opened(self._journal_path)
        except (OSError, InputError, RunError):
            return
        with journal:
            self._take_lock(journal, self._journal_path)

    def _go_on(self) -> None:
        journal = _opened(self._journal_path)
        self._take_lock(journal, self._journal_path)
        raw = journal.read(_MOST_BYTES)
        found, resumed = read_journal(raw, str(self._journal_path), _boot())
        if found is not None:
            self._identity = self._keeping.identity()
            self._identity.check(found, str(self._journal_path))
        if isinstance(resumed, Complete):
            self._journal, self.completed = journal, True
            self._rows = self._span[1]
            self.left = without_names(resumed.files, self._path, self._journal_path)
            self.complete_files = [self._path.with_name(one.final) for one in resumed.files if one.final is not None]
            return
        if found is None or resumed is None or resumed.rows > found.rows:
            journal.truncate(0)
            journal.seek(0)
            self._emptied = journal
            self._note(f"{self._path}: nothing of it is sure to be there; this run starts from the beginning")
            return
        self._check_parts(resumed)
        self._journal, self._resumed = journal, resumed
        self.rows = self._rows = self._summed_rows = resumed.rows
        self._summed = {name: size for name, (size, _, _) in resumed.files.items()}
        self._muted = True
        journal.truncate(resumed.length)
        journal.seek(resumed.length)
        self._check = resumed.check
        self._write(process_line(_boot()) + (b"" if resumed.synced is None else synced_line(resumed.synced)))
        query = max(self._span[0], resumed.rows)
        where = f"goes on from query {query + 1:,} of {found.rows:,}"
        self._note(f"{self._path}: {where if query < self._span[1] else 'every query is there, and only the end is left to write'}")

    def _check_parts(self, resumed: Resumed) -> None:
        """Raises `InputError` where what the journal tells of is not there, before anything is changed."""
        for name, sums in resumed.sums.items():
            part, size = self._lasting(name), sums[-1].size
            with _opened(part) as file:
                found = os.fstat(file.fileno()).st_size
                if found < size or (found > size and name not in resumed.files):
                    raise _damaged(part, f"has {found:,} bytes, of which its journal says {size:,}")
                for one in sums:
                    if one.piece.checksum(file.fileno()) != one.check:
                        raise _damaged(part, f"is not what its journal says, between its bytes {one.piece.start:,} and {one.piece.stop:,}")

    def store(self, name: str = "", final: Path | None = None) -> tuple[BinaryIO, ResumePosition | None]:
        """(a file, readable and writable; how much of it holds, as `Resumed.files` has it, None: it is new or has its full size).

        name: what it is among the files of the output; final: the name it takes in the end, None: it is thrown away.
        """
        if self._resumed is None:
            hidden = self._path.with_name(f"{self._path.name}{name and '.' + name}")
            remove_stale_part_files(hidden, self._note)
            if self._emptied is not None:
                self._lasting(name).unlink(missing_ok=True)
            with signals.signals_deferred():  # what a signal leaves here nobody knows of
                file, part = create_part(hidden)
                self._stores[name] = _Store(file, part, final)
            return file, None
        part = self._lasting(name)
        file = _opened(part)
        self._take_lock(file, part)
        self._stores[name] = _Store(file, part, final)
        kept = self._resumed.files.get(name)
        if kept is not None:
            file.truncate(kept[0])
            file.seek(kept[0])
        elif sums := self._resumed.sums.get(name):
            file.truncate(max(one.piece.stop for one in sums))
            file.truncate(sums[-1].size)  # as in a new one, no values stand where none may be written
        return file, kept

    def _take_lock(self, file: BinaryIO, path: Path) -> None:
        if lock(file.fileno()) is Lock.TAKEN or not is_file(file.fileno(), path):
            raise RunError(f"another run is at work on {self._path}")

    def writes(self, name: str, writer: Growing | NpyArray) -> None:
        """What writes a store."""
        self._stores[name].writer = writer

    def text(self, kind: TextKind[W], name: str = "", final: Path | None = None) -> tuple[W, BinaryIO]:
        """(a writer of text that grows, of this kind; its file). name, final: as for `store`."""
        file, kept = self.store(name, final)
        text = kind(file, kept, lambda: self._muted)
        self.writes(name, text)
        return text, file

    def counting(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        before = {} if self._resumed is None else self._resumed.counts
        self._counts = lambda: {name: count + before.get(name, 0) for name, count in counts().items()}
        return before

    def header_written(self) -> None:
        self._begun = self._take(self.rows)
        self._muted = False

    def mark(self, rows: int) -> None:
        now = time.monotonic()
        if rows <= self._rows or self._silent or now - self._marked < _PAUSE:
            return
        if self._journal is None:
            if now - self._start < _WAIT + _SHARE * self._keeping.seconds:
                return
            self._begin_journal()
        mark = self._take(rows)  # may wait for a disk, and be interrupted
        self._rows, self._marked = rows, now
        self._write_mark(mark)
        if self._journal is not None and not self._aside.busy and now - self._synced >= _SYNC_PAUSE:
            with signals.signals_deferred():  # a thread that a signal keeps from starting cannot be waited for
                self._aside.begin(partial(self._sync, self._journal, rows))

    def _take(self, rows: int) -> Mark:
        files = {}
        for name, store in self._stores.items():
            if isinstance(store.writer, NpyArray):
                store.writer.flush()
            elif store.writer is not None:
                files[name] = store.writer.position()
        return Mark(rows, files, counts=self._counts())

    def _write_mark(self, mark: Mark) -> None:
        """With checksums of what was written since the one before."""
        sums = {}
        for name, store in self._stores.items():
            descriptor = store.file.fileno()
            if name in mark.files:
                size = mark.files[name][0]
                piece = Piece(start := self._summed.get(name, 0), size - start)
                self._summed[name] = size
            elif isinstance(store.writer, NpyArray):
                size = os.fstat(descriptor).st_size
                rows = None if self._summed_rows is None else (max(self._span[0], self._summed_rows), mark.rows)
                piece = store.writer.piece(rows)
            else:
                continue
            piece = piece.ending(SUMMED)
            sums[name] = Sum(size, piece, piece.checksum(descriptor))
        self._summed_rows = mark.rows
        self._write(mark_line(replace(mark, sums=sums)))

    def _begin_journal(self) -> None:
        """Parts take names that last: while they do, the journal is there and empty."""
        if taken := [part for name in self._stores if os.path.lexists(part := self._lasting(name))]:
            self._note(f"{taken[0]} is left alone, as there is no journal of it; this run keeps none")
            self._silent = True
            return
        try:
            self._identity = self._keeping.identity()
        except InputError:
            self._silent = True  # the input has gone, and no run can go on without it
            return
        assert self._begun is not None
        with signals.signals_deferred():
            self._journal, self._emptied = self._emptied or self._new_journal(), None
            if self._journal is None:
                self._silent = True  # of another run that came before
                return
            for name, store in self._stores.items():
                os.replace(store.part, lasting := self._lasting(name))
                store.part = lasting
            self._write(first_line(self._identity) + process_line(_boot()))
            self._write_mark(self._begun)

    def _new_journal(self) -> BinaryIO | None:
        """Locked; None where another run has one."""
        try:
            descriptor = os.open(self._journal_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return None
        # A run that goes on may have found it before it was locked.
        if lock(descriptor) is Lock.TAKEN or not is_file(descriptor, self._journal_path):
            os.close(descriptor)
            return None
        return cast(BinaryIO, os.fdopen(descriptor, "w+b"))

    def _write(self, lines: bytes) -> None:
        """Append lines. Nothing follows what an error or a signal has cut off, since it could not be checked."""
        if self._journal is None:
            return
        with self._aside.alone:
            if self._torn:
                return
            self._torn = True
            checked, check = chained(lines, self._check)
            self._journal.write(checked)
            self._journal.flush()
            self._check, self._torn = check, False

    def _sync(self, journal: BinaryIO, rows: int) -> None:
        """The mark of so many rows is one that a power cut does not take back."""
        for store in list(self._stores.values()):
            os.fsync(store.file.fileno())
        if not self._folder_synced:  # the names of the journal and the parts
            sync_folder(self._path.parent)
            self._folder_synced = True
        self._write(synced_line(rows))
        os.fsync(journal.fileno())
        self._synced = time.monotonic()

    @property
    def stores(self) -> Sequence[PendingFile]:
        """The files that were asked for."""
        return list(self._stores.values())

    @property
    def has_journal(self) -> bool:
        """Whether one says what is done."""
        return self._journal is not None

    def complete(self, files: Iterable[PendingFile]) -> None:
        """All is on the disk, and these files, beside the output, are about to take their names."""
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
        """All files have their names, in these folders. The journal goes last, so that a finished output is never lost."""
        if self._journal is not None:
            for folder in folders:
                sync_folder(folder)
        if self._journal is not None or self._emptied is not None:
            self._journal_path.unlink(missing_ok=True)
        self._finished = True

    def close(self, kept: bool) -> None:
        """The run is at its end. kept: what is there stays, if another one can go on with it; what this one went on with stays anyway."""
        with suppress(OSError):  # what marks say is there, is there
            self._aside.wait()
        stays = self._journal is not None and not self._finished and (kept or self.completed or self._resumed is not None)
        for store in self._stores.values():
            try:
                store.file.close()
            except OSError:
                pass  # a full disk: what matters is what marks say is there
            if not stays and not self._finished:  # else the name may be another run's by now
                store.part.unlink(missing_ok=True)
        for journal in (self._journal, self._emptied):
            if journal is None:
                continue
            try:
                journal.close()
            except OSError:
                pass  # a full disk: a line that is not whole does not count
            if not stays and not self._finished:
                self._journal_path.unlink(missing_ok=True)
            elif stays and kept:
                start, stop = self._span
                command = _command(self._keeping.words)
                signals.advise(
                    f"{max(0, self._rows - start):,} of {stop - start:,} queries of {self._path} are done; go on with: {command}"
                )
        self._stores.clear()  # writers know this object


def _damaged(part: Path, why: str) -> InputError:
    return InputError(f"{part} {why}; remove both, and start without {parameter('resume')}")


def _opened(path: Path) -> BinaryIO:
    """A file of an earlier run. Raises `InputError` where it is missing, or somebody else's."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{parameter('resume')}: {path}: {error.strerror or error}; start without {parameter('resume')}") from None
    if not is_ours(descriptor):
        os.close(descriptor)
        raise InputError(f"{parameter('resume')}: {path} is no file of yours; start without {parameter('resume')}")
    return cast(BinaryIO, os.fdopen(descriptor, "r+b"))


def _command(words: Sequence[str]) -> str:
    """That goes on with the one of these words."""
    import shlex

    resume = for_command_line(parameter("resume"))
    return shlex.join(["gpualign", *words, *([] if resume in words else [resume])])


def _boot() -> str | None:
    """The id of this boot of this machine, where the system tells it."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return None
