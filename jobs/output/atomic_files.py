"""Opens the output files named by users. They appear under their final names only when complete, otherwise not at all."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.signals import cleanup_on_signal, signals_blocked
from gpualign.core.files.decompression import COMPRESSION_SUFFIXES
from gpualign.core.files.paths import STDIO, descriptor_of, has_gzip_suffix
from gpualign.core.files.scratch import ScratchFiles
from gpualign.jobs.output.result_writing import NO_CHECKPOINTS, CheckpointListener

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, NpyArray, NumberType
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.output.checkpoint import CheckpointedOutput
    from gpualign.jobs.output.commit import PendingFile
    from gpualign.jobs.output.run_identity import ResumePolicy

_MAX_COMPRESSION_THREADS = 4
_UNWRITTEN_COMPRESSIONS = {*COMPRESSION_SUFFIXES, ".zip"} - {".gz"}


class ClosedPipeError(RunError):
    """Raised if the reader of standard output or another pipe has closed the pipe."""


def check_outputs(inputs: Iterable[object], outputs: Iterable[Path | None]) -> None:
    """Raise `InputError` if an output is also an input or a second output, even under a different name, via a link or a redirection, or
    if its suffix promises a compression that is not written.

    inputs: names, which messages quote ("-" is standard input), paths and open files; anything else is ignored
    outputs: paths; None: standard output
    """
    outputs = list(outputs)
    for output in outputs:
        if output is not None and output.suffix.lower() in _UNWRITTEN_COMPRESSIONS and is_file_name(output):
            raise InputError(f"{output}: text is compressed for the suffix .gz only; choose another name")
    read = {_file_identity(one): one for one in inputs}
    for output in outputs:
        identity = _file_identity(STDIO if output is None else output, writing=True)
        if identity is not None and identity in read:
            name, shown = read[identity], "standard output" if output is None else str(output)
            source = "" if name == shown or not isinstance(name, str) else " (standard input)" if name == STDIO else f" ({name})"
            raise InputError(f"the output {shown} is also an input{source} and would overwrite it; choose another name")
    written: dict[object, str] = {}
    for output in outputs:
        shown = "standard output" if output is None else str(output)
        key = _file_identity(STDIO if output is None else output, writing=True) or (
            output and not output.exists() and os.path.realpath(output)
        )
        if key and key in written:
            both = f"{shown} is" if written[key] == shown else f"{written[key]} and {shown} are the same file,"
            raise InputError(f"{both} named for two outputs; each needs its own")
        written[key] = shown


def check_uncompressed(path: Path | None, content: str) -> None:
    """Raise `InputError` if the suffix of an output promises compressed text, which `content` is not."""
    if path is not None and has_gzip_suffix(path):
        raise InputError(f"{path}: {content} is not compressed with gzip; leave out {path.suffix}")


def _file_identity(file: Any, writing: bool = False) -> tuple[int, int] | None:
    """Return the device and inode of a regular file, given as a name or an open file, or None for anything else. writing: whether the name
    "-" means standard output instead of standard input."""
    try:
        if isinstance(file, str) and file == STDIO:
            status = os.fstat(1 if writing else 0)
        else:
            status = os.stat(file) if isinstance(file, (str, os.PathLike)) else os.fstat(file.fileno())
    except (AttributeError, OSError, TypeError, ValueError):  # ValueError: a null character, or a file that is closed
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


@contextmanager
def translate_output_errors(path: Path | None) -> Iterator[None]:
    """Turn OS errors into a `RunError` that names the output (None: standard output), and a closed pipe into a `ClosedPipeError`."""
    try:
        yield
    except OSError as error:
        kind = ClosedPipeError if isinstance(error, BrokenPipeError) else RunError
        reason = error.strerror or str(error)
        if path is not None and error.errno == errno.ENOENT and not path.parent.is_dir():
            reason = f"there is no folder {path.parent}"
        if isinstance(error, io.UnsupportedOperation):
            reason = "it is a pipe, and this format needs a file; name a file, or choose another format"
        raise kind(f"cannot write {path or 'standard output'}: {reason}") from None


def check_writable(path: Path, is_replaced: bool = True) -> None:
    """Raise `OSError` if a file with this name cannot be written, so that a run fails before it reads anything. is_replaced: whether
    a file of this name is replaced by another, which needs a folder that takes files"""
    if not _is_plain_file(path) or (not is_replaced and path.exists()):
        return
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, f"files cannot be created in the folder {path.parent}")
    if not is_replaced:
        return
    from gpualign.jobs.output.stale_files import PART_NAME_BYTES

    if len(os.fsencode(path.name)) > (most := os.pathconf(path.parent, "PC_NAME_MAX") - PART_NAME_BYTES):
        raise OSError(errno.ENAMETOOLONG, f"the name is too long; it may have {most:,} bytes")


def _compression_thread_count() -> int:
    """Return the number of threads for compressing an output. A few threads keep up with the rest of a run."""
    from gpualign.jobs.devices.resources import Resources

    return min(_MAX_COMPRESSION_THREADS, Resources().host_threads)


def output_path(output: str) -> Path | None:
    """Return the path named by an output option, or None for standard output under any name. A link to standard output
    counts as a path if its name has a suffix, which then determines the format.

    Raises `RunError` for a path without a file name.
    """
    path = Path(output)
    if output == STDIO or (descriptor_of(output) == 1 and not path.suffix):
        return None
    if not path.name or output.endswith(os.sep):  # part files derive their names from it
        raise RunError(f"cannot write {output}: {os.strerror(errno.EISDIR)}")
    return path


def is_file_name(path: Path) -> bool:
    """Return whether a path names a regular file or does not exist yet; False for folders, devices, pipes and open descriptors, such as
    /dev/fd/3."""
    return descriptor_of(path) is None and (path.is_file() or not path.exists())


def _is_plain_file(path: Path) -> bool:
    """Return whether an output is a writable file or does not exist yet; False for devices, pipes and open descriptors.

    Raises `OSError` for a folder, and for a file without write permission.
    """
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


class OutputFiles(ScratchFiles):
    """Output files of one run, as a context manager. On exit without an error, all files are renamed to their final names. After an error
    or a signal, all files are deleted except the files that a later run can resume (`make_resumable`).

    note: receives notes, for example on files that a killed run left next to an output
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note
        self._files: list[PendingFile] = []
        self._direct: list[Path | None] = []  # written directly: standard output, devices and pipes
        self._complete: list[Path] = []  # files of an earlier run that had yet to be renamed only
        self._checkpoints: CheckpointedOutput | None = None
        self._refused = False  # the input was wrong: nothing to resume
        self._committed = False

    def __enter__(self) -> OutputFiles:
        self._guard = cleanup_on_signal(self._delete_uncommitted)
        self._guard.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._refused = isinstance(error, InputError)
        try:
            if kind is None:
                self._commit()
        finally:
            try:
                self._delete_uncommitted()
            finally:
                self._guard.__exit__(None, None, None)

    def _delete_uncommitted(self) -> None:
        """Delete uncommitted files, except the files that a later run can resume. Idempotent: called again if a signal arrives while it is
        running or before its first step."""
        checkpoints = self._checkpoints
        if checkpoints is not None:
            checkpoints.stop(keep_resumable=not self._committed and not self._refused)
        for one in self._files:
            with suppress(OSError):  # a full disk: only what checkpoints record matters
                one.file.close()
            if not self._committed and (checkpoints is None or not checkpoints.keeps(one)):
                one.part_path.unlink(missing_ok=True)
        if checkpoints is not None:
            checkpoints.close()
        try:
            self._stack.close()
        except OSError:
            if self._committed:
                raise  # otherwise an error with the same message is being raised

    def _commit(self) -> None:
        """Commit all files, once everything is written. With a journal, nothing is lost if the run or machine dies midway (commit.py)."""
        checkpoints, output = self._checkpoints, self._resumable_output
        if not self._files and checkpoints is None:
            self._committed = True  # all of it went to standard output, a device or a pipe
            return
        for one in self._files:
            with translate_output_errors(one.final_path or output):
                one.file.flush()
                if checkpoints is not None and checkpoints.has_journal and one.final_path is not None:
                    os.fsync(one.file.fileno())
        beside: list[PendingFile] = []
        elsewhere: list[PendingFile] = []  # not in the journal: pictures
        for one in sorted(self._files, key=lambda one: one.name is not None):
            (beside if output is not None and (one.final_path or output).parent == output.parent else elsewhere).append(one)
        with signals_blocked():
            self._rename((one.part_path, one.final_path) for one in elsewhere)
            if checkpoints is not None:
                with translate_output_errors(output):
                    checkpoints.complete(beside)
            self._rename((one.part_path, one.final_path) for one in beside)
            self._finish_journal(one.final_path.parent for one in self._files if one.final_path is not None)
            self._committed = True

    @property
    def _resumable_output(self) -> Path | None:
        """Path of the resumable output; None: no output is resumable."""
        return None if self._checkpoints is None else self._checkpoints.path

    def _rename(self, files: Iterable[tuple[Path, Path | None]]) -> None:
        """Rename part files to their final paths, or delete them where the path is None."""
        for part, final in files:
            with translate_output_errors(final or self._resumable_output):
                if final is None:
                    part.unlink(missing_ok=True)
                else:
                    with suppress(OSError):  # a file that is replaced keeps its permissions
                        os.chmod(part, stat.S_IMODE(final.stat().st_mode))
                    os.replace(part, final)

    def _finish_journal(self, folders: Iterable[Path]) -> None:
        if self._checkpoints is not None:
            with translate_output_errors(self._resumable_output):
                self._checkpoints.finish(set(folders))

    def make_resumable(self, path: Path | None, resume_policy: ResumePolicy | None, span: tuple[int, int]) -> CheckpointListener | None:
        """Make `path` resumable if it is a file and `resume_policy` is not None, and return its checkpoint listener.

        If an earlier run has written everything, do its pending renames and return None. span: range [start, stop) of the queries in the
        output. Raises `InputError` if this run cannot resume the existing output.
        """
        with translate_output_errors(path):
            if path is None or resume_policy is None or not _is_plain_file(path):
                return NO_CHECKPOINTS
        from gpualign.jobs.output.checkpoint import CheckpointedOutput

        self._checkpoints = CheckpointedOutput(path, resume_policy, span, self._files, self._note)
        earlier = self._checkpoints.resumed
        if earlier is None or earlier.pending_renames is None:
            return self._checkpoints
        self._complete = earlier.complete_files
        with signals_blocked():
            self._rename(earlier.pending_renames)
            self._finish_journal([path.parent])
        self._checkpoints.close()
        self._checkpoints = None
        self._note(f"{path} is complete: the previous run stopped during its final renames, which are done now")
        return None

    @property
    def completed_query_count(self) -> int:
        """Number of queries completed by the earlier run that this run resumes."""
        return 0 if self._checkpoints is None else self._checkpoints.rows

    def written_files(self) -> list[tuple[Path | None, int | None]]:
        """Return (path, bytes so far) for each file. Path None: standard output; bytes None: not a file, so the size is unknown."""
        sizes: list[tuple[Path | None, int | None]] = [(path, None) for path in self._direct]
        sizes += [(path, path.stat().st_size) for path in self._complete]
        for one in sorted(self._files, key=lambda one: one.name is None):
            if one.final_path is not None:
                with translate_output_errors(one.final_path):
                    one.file.flush()
                sizes.append((one.final_path, os.fstat(one.file.fileno()).st_size))
        return sizes

    def open(self, path: Path) -> BinaryIO:
        """Return a new file, readable and writable, that will be renamed to `path`. Devices and pipes are written directly, and so are open
        descriptors, such as /dev/fd/3, at their current position."""
        with translate_output_errors(path):
            if not _is_plain_file(path):
                self._direct.append(path)
                number = descriptor_of(path)
                return cast(BinaryIO, self._stack.enter_context(open(path if number is None else os.dup(number), "wb")))
            from gpualign.jobs.output.commit import add_pending

            return add_pending(self._files, path, path, self._note).file

    def open_array(self, name: str, final_path: Path | None, beside: Path | None) -> tuple[ArrayMaker, BinaryIO]:
        """Return (array maker, its file) for an array filled row by row.

        name: name that tells this array from the other files of the output
        final_path: path of the finished file; None: an intermediate file
        beside: output next to which an intermediate file is placed
        """
        from gpualign.core.output.matrix_files import NpyArray

        if self._checkpoints is None:
            file = self.open(final_path) if final_path is not None else self.new_scratch(beside)
            if final_path in self._direct and os.fstat(file.fileno()).st_size:
                raise RunError(f"cannot write {final_path}: an array needs a file of its own, and this one has content already")
            return partial(NpyArray, file), file
        with translate_output_errors(final_path or beside):
            store, _ = self._checkpoints.open_file(name, final_path)

        def make(shape: tuple[int, ...], dtype: NumberType) -> NpyArray:
            store.writer = array = NpyArray(store.file, shape, dtype)
            return array

        return make, store.file

    def open_spool(self, name: str, beside: Path | None) -> BinaryIO:
        """Return an intermediate file that grows row by row.

        name: name that tells this file from the other files of the output
        beside: output next to which the file is placed
        """
        if self._checkpoints is None:
            return self.new_scratch(beside)
        with translate_output_errors(beside):
            store, _ = self._checkpoints.open_file(name)
        from gpualign.core.output.resumable_files import ResumableFile

        store.writer = ResumableFile(store.file)
        return store.file

    @contextmanager
    def open_row_writer(self, path: Path | None) -> Iterator[ByteWriter]:
        """Yield a text writer for output that grows row by row: a file, which is compressed with gzip if its suffix is .gz, or standard
        output (path None)."""
        if self._checkpoints is None or path is None:
            with self.open_text(path) as stream:
                yield stream
            return
        from gpualign.core.output.resumable_files import GzipTextFile, TextFile

        with translate_output_errors(path):
            store, position = self._checkpoints.open_file("", path)
        packed = has_gzip_suffix(path)
        store.writer = text = GzipTextFile(store.file, position, _compression_thread_count()) if packed else TextFile(store.file, position)
        yield text
        text.finish()

    def new_scratch(self, sibling: Path | None = None) -> BinaryIO:
        """Return an unnamed temporary file, next to the output `sibling` if that is a file, else in the system's temporary folder."""
        return super().new_scratch(sibling if sibling is not None and is_file_name(sibling) else None)

    @contextmanager
    def open_text(self, path: Path | None) -> Iterator[ByteWriter]:
        """Yield a text writer for a file, which is compressed with gzip if its suffix is .gz, or for standard output (path None)."""
        if path is not None and has_gzip_suffix(path):
            from gpualign.core.output.bgzf import BgzfWriter

            packed = BgzfWriter(self.open(path), threads=_compression_thread_count())
            yield packed
            packed.finish()
            return
        with self.open_binary(path) as stream:
            if path is None or path in self._direct:
                yield stream  # the end of the run would wait for the other thread while a pipe is not read
                return
            from gpualign.core.output.resumable_files import BackgroundFile

            background = BackgroundFile(stream)
            yield background
            background.close()

    @contextmanager
    def open_binary(self, path: Path | None) -> Iterator[BinaryIO]:
        """Yield a binary stream for a file or standard output (None), never compressed."""
        stream = self.open(path) if path is not None else sys.stdout.buffer
        if path is None:
            self._direct.append(None)
        yield stream
        stream.flush()
