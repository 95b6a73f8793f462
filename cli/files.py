"""The only module that opens what a user names. Outputs appear under their names when they are complete, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from gpualign.cli.leftovers import create_part, remove_leftovers
from gpualign.cli.signals import cleaning_up, uninterrupted
from gpualign.core.errors import InputError, RunError
from gpualign.core.opening import open_file

STDIO = "-"


class ClosedPipe(Exception):
    """The reader of standard output has gone away."""


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """(binary stream, name for messages) of a file or, for "-", of standard input. Raises `InputError`."""
    if path == STDIO:
        yield sys.stdin.buffer, "standard input"
        return
    with open_file(path) as stream:
        yield stream, path


def open_inputs(*paths: str | None) -> Iterator[tuple[BinaryIO, str]]:
    """As `open_input`, one after the other; each is closed when the next one is asked for. None is left out."""
    for path in paths:
        if path is not None:
            with open_input(path) as opened:
                yield opened


def check_stdin(*paths: str | None) -> None:
    """Raises `InputError` where more than one input is standard input."""
    if paths.count(STDIO) > 1:
        raise InputError("only one of the two inputs can be standard input")


def check_outputs(inputs: Iterable[str | None], outputs: Iterable[Path | None]) -> None:
    """Raises `InputError` where an output is an input, be it by another name, a link or a redirection. None is no input, but as an output
    standard output."""
    read = {_identity(path): path for path in inputs if path is not None}
    for output in outputs:
        name = read.get(_identity(STDIO if output is None else str(output), writing=True) or (0, 0))
        if name is not None:
            there = "standard output" if output is None else str(output)
            source = "" if name == there else " (standard input)" if name == STDIO else f" ({name})"
            raise InputError(f"the output {there} is also an input{source} and would overwrite it; choose another name")


def _identity(path: str, writing: bool = False) -> tuple[int, int] | None:
    """Device and inode of a regular file, or None for what is none."""
    try:
        found = os.fstat(1 if writing else 0) if path == STDIO else os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


@contextmanager
def naming_output(path: Path | None) -> Iterator[None]:
    """Errors of the system while an output is written name that output; None is standard output."""
    try:
        yield
    except BrokenPipeError:
        raise ClosedPipe from None
    except OSError as error:
        raise RunError(f"cannot write {path or 'standard output'}: {error.strerror or error}") from None


class OutputFiles:
    """Files of one run. On leaving without an error all of them take their names; after an error or a signal none is left behind.

    note: told of what an earlier run, which was killed, has left beside an output.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._stack = ExitStack()
        self._pending: list[tuple[BinaryIO, Path, Path]] = []

    def __enter__(self) -> OutputFiles:
        self._guard = cleaning_up()
        self._guard.__enter__()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._close(kind is None)
        finally:
            self._guard.__exit__(None, None, None)

    def _close(self, good: bool) -> None:
        try:
            if good:
                for file, _, final in self._pending:
                    with naming_output(final):
                        file.flush()
                with uninterrupted():
                    for _, part, final in self._pending:
                        with naming_output(final):
                            os.replace(part, final)
        finally:
            for file, part, _ in self._pending:
                try:
                    file.close()
                except OSError:
                    pass  # a full disk: the part is thrown away anyway
                part.unlink(missing_ok=True)
            try:
                self._stack.close()
            except OSError:
                if good:
                    raise  # otherwise an error is on its way that says the same

    def open(self, path: Path) -> BinaryIO:
        """A new file, readable and writable, that will be `path`. Devices and pipes are written directly."""
        with naming_output(path):
            if path.exists() and not stat.S_ISREG(path.stat().st_mode):
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                return cast(BinaryIO, self._stack.enter_context(open(path, "wb")))
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            remove_leftovers(path, self._note)
            file, part = create_part(path)
        self._pending.append((file, part, path))
        return file

    def scratch(self, beside: Path | None = None) -> BinaryIO:
        """An unnamed file for intermediate results, beside an output or in the system's folder for such files."""
        import tempfile

        return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile(dir=beside.parent if beside else None)))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        """The same with a name, for libraries that open files themselves: (file, path)."""
        import tempfile

        file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name

    @contextmanager
    def text(self, path: Path | None) -> Iterator[BinaryIO]:
        """A writer of bytes to a file, gzip by its suffix, or to standard output (None)."""
        if path is not None and path.suffix == ".gz":
            import gzip

            # No name and no time in the header: the same results are the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=self.open(path), mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            with self.binary(path) as stream:
                yield stream

    @contextmanager
    def binary(self, path: Path | None) -> Iterator[BinaryIO]:
        """The same, never packed."""
        stream = sys.stdout.buffer if path is None else self.open(path)
        yield stream
        stream.flush()
