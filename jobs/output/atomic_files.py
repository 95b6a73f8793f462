"""The only module that opens what a user names. Outputs appear under their names when they are complete, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.signals import cleaning_up, signals_deferred, uninterrupted
from gpualign.core.execution.pipeline import NO_CHECKPOINTS, CheckpointListener
from gpualign.core.files.paths import descriptor_of, open_file

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, NpyArray, NumberType
    from gpualign.core.output.resumable_files import TextFile
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.output.checkpoint import CheckpointedOutput, TextKind
    from gpualign.jobs.output.commit import PendingFile
    from gpualign.jobs.output.run_identity import ResumePolicy

STDIO = "-"
STDIN_NAME = "standard input"
_MOST_PACKERS = 4


class ClosedPipe(RunError):
    """The reader of standard output, or of another pipe, has gone away."""


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """(binary stream, name for messages) of a file or, for "-", of standard input. Raises `InputError`."""
    if path == STDIO:
        yield sys.stdin.buffer, STDIN_NAME
        return
    with open_file(path) as stream:
        yield stream, path


def open_inputs(paths: Iterable[str]) -> Iterator[tuple[BinaryIO, str]]:
    """As `open_input`, one after the other; each is closed when the next one is asked for."""
    for path in paths:
        with open_input(path) as opened:
            yield opened


def check_stdin(*paths: str | None) -> None:
    """Raises `InputError` where more than one input is standard input."""
    if paths.count(STDIO) > 1:
        raise InputError("only one input can be standard input")


def digest_files(paths: Iterable[str]) -> str:
    """SHA-256, in hexadecimal, of what each of these files holds, in their order."""
    import hashlib

    found = hashlib.sha256()
    for path in paths:
        found.update(bytes.fromhex(digest_file(path)[0]))
    return found.hexdigest()


def digest_file(path: str) -> tuple[str, int]:
    """(SHA-256 in hexadecimal, bytes) of what a file holds."""
    import hashlib

    found, size = hashlib.sha256(), 0
    with open_file(path) as stream:
        while part := stream.read(1 << 20):
            found.update(part)
            size += len(part)
    return found.hexdigest(), size


def check_outputs(inputs: Iterable[object], outputs: Iterable[Path | None]) -> None:
    """Raises `InputError` where an output is an input, or another output, be it by another name, a link or a redirection. inputs: names,
    which the message has ("-" is standard input), paths and open files; everything else is no file. None as an output is standard
    output."""
    outputs = list(outputs)
    read = {_identity(given): given for given in inputs}
    for output in outputs:
        found = _identity(STDIO if output is None else output, writing=True)
        if found is not None and found in read:
            name, there = read[found], "standard output" if output is None else str(output)
            source = "" if name == there or not isinstance(name, str) else " (standard input)" if name == STDIO else f" ({name})"
            raise InputError(f"the output {there} is also an input{source} and would overwrite it; choose another name")
    written: dict[object, str] = {}
    for output in outputs:
        there = "standard output" if output is None else str(output)
        what = _identity(STDIO if output is None else output, writing=True) or (output and not output.exists() and output.resolve())
        if what and what in written:
            both = f"{there} is" if written[what] == there else f"{written[what]} and {there} are the same file,"
            raise InputError(f"{both} named for two outputs; each wants its own")
        written[what] = there


def _identity(given: Any, writing: bool = False) -> tuple[int, int] | None:
    """Device and inode of a regular file, by its name or open, or None for what is none."""
    try:
        if isinstance(given, str) and given == STDIO:
            found = os.fstat(1 if writing else 0)
        else:
            found = os.stat(given) if isinstance(given, (str, os.PathLike)) else os.fstat(given.fileno())
    except (AttributeError, OSError, TypeError, ValueError):  # ValueError: a null character, or a file that is closed
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def naming_output(path: Path | None) -> Iterator[None]:
    """Errors of the system while an output is written name that output; None is standard output."""
    try:
        yield
    except OSError as error:
        kind = ClosedPipe if isinstance(error, BrokenPipeError) else RunError
        raise kind(f"cannot write {path or 'standard output'}: {error.strerror or error}") from None


def check_place(path: Path) -> None:
    """Raises `OSError` where there could be no file of this name, before a run takes its time."""
    if _is_plain(path) and not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder")


def _packers() -> int:
    """Threads that pack an output: a few do as much as other work leaves them to do."""
    from gpualign.jobs.devices.resources import Resources

    return min(_MOST_PACKERS, Resources().host_threads)


def output_path(output: str) -> Path | None:
    """What an option for an output names; None is standard output, whatever it is called, but for a link whose name tells a format. Raises
    `RunError` for what can be no name."""
    path = Path(output)
    if output == STDIO or (descriptor_of(output) == 1 and not path.suffix):
        return None
    if not path.name:  # of which no other name can be made
        raise RunError(f"cannot write {output}: {os.strerror(errno.EISDIR)}")
    return path


def is_file_name(path: Path) -> bool:
    """Whether an output is a file by its own name, or none yet, and not a device, a pipe or what is open already."""
    return descriptor_of(path) is None and (path.is_file() or not path.exists())


def _is_plain(path: Path) -> bool:
    """Whether an output is a file that can be written, or none yet, and not a device or a pipe. Raises `OSError`."""
    if descriptor_of(path) is not None:
        return False
    if not path.exists():
        return True
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return True


class OutputFiles:
    """Files of one run. On leaving without an error all of them take their names; after an error or a signal none is left behind, but for
    those with which another run can go on (`resumable`).

    note: told of what an earlier run, which was killed, has left beside an output.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._stack = ExitStack()
        self._pending: list[PendingFile] = []
        self._direct: list[Path | None] = []  # what is written under its name: standard output, devices and pipes
        self._complete: list[Path] = []  # what an earlier run has written, which lacked but names
        self._resumption: CheckpointedOutput | None = None
        self._resumed: Path | None = None
        self._refused = False  # the input was wrong: nothing to go on with
        self._succeeded = False

    def __enter__(self) -> OutputFiles:
        self._guard = cleaning_up(self._put_away)
        self._guard.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._refused = isinstance(error, InputError)
        try:
            if kind is None:
                self._take_names()
                self._succeeded = True
        finally:
            try:
                self._put_away()
            finally:
                self._guard.__exit__(None, None, None)

    def _put_away(self) -> None:
        """What has not taken its name, but for what another run can go on with. Called again where a signal came in its midst, or
        before its first step."""
        completed = self._resumption is not None and self._resumption.completed  # by a journal: another run can give them their names
        for one in self._pending:
            try:
                one.file.close()
            except OSError:
                pass  # a full disk: the part is thrown away anyway
            if not completed:
                one.part.unlink(missing_ok=True)
        if self._resumption is not None:
            self._resumption.close(kept=not self._succeeded and not self._refused)
        try:
            self._stack.close()
        except OSError:
            if self._succeeded:
                raise  # otherwise an error is on its way that says the same

    def _take_names(self) -> None:
        """All is written. Where there is a journal nothing is lost whatever ends the run, and the machine, in between (commit.py)."""
        resumption, output = self._resumption, self._resumed
        files = [*self._pending, *(resumption.stores if resumption else ())]
        if not files and resumption is None:
            return  # all of it went to standard output, a device or a pipe
        for one in files:
            with naming_output(one.final or output):
                one.file.flush()
                if resumption is not None and resumption.has_journal and one.final is not None:
                    os.fsync(one.file.fileno())
        beside: list[PendingFile] = []
        elsewhere: list[PendingFile] = []  # of these the journal does not tell: pictures
        for one in files:
            (beside if output is not None and (one.final or output).parent == output.parent else elsewhere).append(one)
        with uninterrupted():
            self._rename((one.part, one.final) for one in elsewhere)
            if resumption is not None:
                with naming_output(output):
                    resumption.complete(beside)
            self._rename((one.part, one.final) for one in beside)
            self._finish(one.final.parent for one in files if one.final is not None)

    def _rename(self, parts: Iterable[tuple[Path, Path | None]]) -> None:
        from gpualign.jobs.output.commit import commit

        for part, final in parts:
            with naming_output(final or self._resumed):
                commit(part, final)

    def _finish(self, folders: Iterable[Path]) -> None:
        if self._resumption is not None:
            with naming_output(self._resumed):
                self._resumption.finish(set(folders))

    def resumable(self, path: Path | None, keeping: ResumePolicy | None, span: tuple[int, int]) -> CheckpointListener | None:
        """From here on another run can go on with the output `path`, where that is a file and there is `keeping`; what is returned is told
        how far it is, None: it is complete now, as all of it was there but for names. span: its queries, start and stop. Raises
        `InputError` where this run cannot go on with what is there."""
        with naming_output(path):
            if path is None or keeping is None or not _is_plain(path):
                return NO_CHECKPOINTS
        from gpualign.jobs.output.checkpoint import CheckpointedOutput

        self._resumed, self._resumption = path, CheckpointedOutput(path, keeping, span, self._note)
        if self._resumption.left is None:
            return self._resumption
        self._complete = self._resumption.complete_files
        with uninterrupted():
            self._rename(self._resumption.left)
            self._finish([path.parent])
        self._resumption.close(kept=False)
        self._resumption = None
        self._note(f"{path} is complete: the run before was ended while its files took their names")
        return None

    @property
    def rows_done(self) -> int:
        """Queries that an earlier run has done, with which this one goes on."""
        return 0 if self._resumption is None else self._resumption.rows

    def written(self) -> list[tuple[Path | None, int | None]]:
        """(name, bytes) of each file until now; None is standard output, and how much is not known of what is no file."""
        found: list[tuple[Path | None, int | None]] = [(path, None) for path in self._direct]
        found += [(path, path.stat().st_size) for path in self._complete]
        for one in [*(self._resumption.stores if self._resumption else ()), *self._pending]:
            if one.final is not None:
                with naming_output(one.final):
                    one.file.flush()
                found.append((one.final, os.fstat(one.file.fileno()).st_size))
        return found

    def open(self, path: Path) -> BinaryIO:
        """A new file, readable and writable, that will be `path`. Devices and pipes are written directly, and where a descriptor stands."""
        with naming_output(path):
            if not _is_plain(path):
                self._direct.append(path)
                number = descriptor_of(path)
                return cast(BinaryIO, self._stack.enter_context(open(path if number is None else os.dup(number), "wb")))
            from gpualign.jobs.output.commit import PendingFile
            from gpualign.jobs.output.stale_files import create_part, remove_stale_part_files

            remove_stale_part_files(path, self._note)
            with signals_deferred():  # what a signal leaves here nobody knows of
                file, part = create_part(path)
                self._pending.append(PendingFile(file, part, path))
        return file

    def array(self, name: str, final: Path | None, beside: Path | None) -> tuple[ArrayMaker, BinaryIO]:
        """(what makes an array that is filled row by row, the file where it is). name: what it is; final: the file that it is in the end,
        None: it is something to make others of, beside an output."""
        from gpualign.core.output.matrix_files import NpyArray

        if self._resumption is None:
            file = self.open(final) if final is not None else self.scratch(beside)
            if final in self._direct and os.fstat(file.fileno()).st_size:
                raise RunError(f"cannot write {final}: an array is a file of its own, and something stands in this one")
            return partial(NpyArray, file), file
        resumption = self._resumption
        with naming_output(final or beside):
            file, _ = resumption.store(name, final)

        def make(shape: tuple[int, ...], dtype: NumberType) -> NpyArray:
            array = NpyArray(file, shape, dtype)
            resumption.writes(name, array)
            return array

        return make, file

    def spool(self, name: str, beside: Path | None) -> BinaryIO:
        """A file that grows row by row, to make an output of; name: what it holds."""
        if self._resumption is None:
            return self.scratch(beside)
        with naming_output(beside):
            file, _ = self._resumption.store(name)
        from gpualign.core.output.resumable_files import GrowingFile

        self._resumption.writes(name, GrowingFile(file))
        return file

    def growing_text(self, name: str, beside: Path) -> tuple[TextFile, BinaryIO]:
        """(a writer of text that grows row by row, its file), to make an output of; name: what it holds."""
        from gpualign.core.output.resumable_files import TextFile

        if self._resumption is None:
            file = self.scratch(beside)
            return TextFile(file, None, lambda: False), file
        with naming_output(beside):
            return self._resumption.text(TextFile, name)

    @contextmanager
    def rows(self, path: Path | None) -> Iterator[ByteWriter]:
        """A writer of text that grows row by row, to a file, gzip by its suffix, or to standard output (None)."""
        if self._resumption is None or path is None:
            with self.text(path) as stream:
                yield stream
            return
        from gpualign.core.output.resumable_files import PackedFile, TextFile

        kind: TextKind[PackedFile | TextFile] = partial(PackedFile, threads=_packers()) if path.suffix == ".gz" else TextFile
        with naming_output(path):
            text, _ = self._resumption.text(kind, final=path)
        yield text
        text.finish()

    def scratch(self, beside: Path | None = None) -> BinaryIO:
        """An unnamed file for intermediate results, beside an output that is a file or in the system's folder for such files."""
        import tempfile

        folder = beside.parent if beside is not None and is_file_name(beside) else None
        with signals_deferred():
            return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile(dir=folder)))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        """The same with a name, for libraries that open files themselves: (file, path)."""
        import tempfile

        with signals_deferred():
            file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name

    @contextmanager
    def text(self, path: Path | None) -> Iterator[ByteWriter]:
        """A writer of bytes to a file, gzip by its suffix, or to standard output (None)."""
        if path is not None and path.suffix == ".gz":
            from gpualign.core.output.bgzf import BgzfWriter

            packed = BgzfWriter(self.open(path), threads=_packers())
            yield packed
            packed.finish()
            return
        with self.binary(path) as stream:
            if path is None or path in self._direct:
                yield stream  # of a pipe that nobody reads the end would have to wait for the other thread
                return
            from gpualign.core.output.background_file import BackgroundFile

            behind = BackgroundFile(stream)
            yield behind
            behind.close()

    @contextmanager
    def binary(self, path: Path | None) -> Iterator[BinaryIO]:
        """The same, never packed."""
        stream = self.open(path) if path is not None else sys.stdout.buffer
        if path is None:
            self._direct.append(None)
        yield stream
        stream.flush()
