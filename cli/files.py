"""The only module that opens what a user names. Outputs appear under their names when they are complete, or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from gpualign.core.errors import InputError, RunError

STDIO = "-"


class ClosedPipe(Exception):
    """The reader of standard output has gone away."""


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """(binary stream, name for messages) of a file or, for "-", of standard input. Raises `InputError`."""
    if path == STDIO:
        yield sys.stdin.buffer, "standard input"
        return
    try:
        stream = open(path, "rb")  # noqa: SIM115  closed below, outside the try
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: a directory; a sequence file is wanted") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it") from None
    with stream:
        yield stream, path


def check_stdin(*paths: str | None) -> None:
    """Raises `InputError` where more than one input is standard input."""
    if paths.count(STDIO) > 1:
        raise InputError("only one of the two inputs can be standard input")


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
    """Files of one run. On leaving without an error all of them take their names; after an error none is left behind."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._pending: list[tuple[BinaryIO, Path, Path]] = []

    def __enter__(self) -> OutputFiles:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                for file, _, final in self._pending:
                    with naming_output(final):
                        file.close()
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
                if kind is None:
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
            descriptor, part = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(part, 0o666 & ~umask)
        file = cast(BinaryIO, os.fdopen(descriptor, "w+b"))
        self._pending.append((file, Path(part), path))
        return file

    def scratch(self, beside: Path | None) -> BinaryIO:
        """An unnamed file for intermediate results, beside an output or in the system's folder for such files."""
        return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile(dir=beside.parent if beside else None)))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        """The same with a name, for libraries that open files themselves: (file, path)."""
        file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name

    @contextmanager
    def text(self, path: Path | None) -> Iterator[BinaryIO]:
        """A writer of bytes to a file, gzip by its suffix, or to standard output (None)."""
        if path is not None and path.suffix == ".gz":
            # No name and no time in the header: the same results are the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=self.open(path), mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            stream = sys.stdout.buffer if path is None else self.open(path)
            yield stream
            stream.flush()
