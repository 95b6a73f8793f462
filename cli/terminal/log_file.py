"""`--log FILE`: all messages of a run with timestamps, including messages that -q suppresses on stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import click

from gpualign import __version__
from gpualign.core.common import signals
from gpualign.core.common.errors import InputError
from gpualign.core.files.paths import descriptor_of


class Log:
    """Log file, written line by line, so that the log is complete whenever and however the run ends.

    Lines recorded before `open` are buffered, because the file may turn out to be an input.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._closed = False
        self._waiting: list[bytes] = []
        import shlex
        from datetime import datetime

        self._now = datetime.now
        self.record(f"gpualign {__version__}: {shlex.join(['gpualign', *sys.argv[1:]])}")

    def open(self, append: bool) -> None:
        """Create or truncate the file, or append to it. Raises `OSError`."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | (0 if append else os.O_TRUNC)
        with signals.signals_deferred():  # the last message of a run that ends here comes after the buffered lines
            # Opening a pipe without a reader is an error; it must not block.
            number = descriptor_of(self.path)
            self._descriptor = os.open(self.path, flags | os.O_NONBLOCK, 0o666) if number is None else os.dup(number)
            if number is None:
                os.set_blocking(self._descriptor, True)
            self._write(b"".join(self._waiting))

    def record(self, text: str) -> None:
        """Write each line of `text` with a timestamp. Safe to call from a signal handler; never raises."""
        now = self._now().astimezone().isoformat(timespec="seconds")
        lines = "".join(f"{now} {line}\n" for line in text.rstrip("\n").split("\n")).encode(errors="surrogateescape")
        if self._descriptor is None:
            self._waiting.append(lines)
        elif not self._closed:
            self._write(lines)

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        try:
            os.write(self._descriptor, data)
        except OSError as error:
            # A full disk does not end the run: if it matters, writing the output fails as well.
            self.close()
            with suppress(OSError):
                click.echo(f"gpualign: {self.path} ends here: {error.strerror or error}", err=True)

    def close(self) -> None:
        """Close the file; later lines are ignored."""
        if self._descriptor is not None and not self._closed:
            os.close(self._descriptor)
        self._closed = True


class _CurrentLog:
    log: Log | None = None


def start_log(path: str | None) -> Log | None:
    """Start the log of the current command and return it, or None if `path` is None. Raises `InputError` if `path` is not a file."""
    if path == "-":
        raise InputError("--log: name a file; stderr has the same messages anyway")
    if _CurrentLog.log is not None:
        _CurrentLog.log.close()  # of an earlier command in this process
    _CurrentLog.log = None if path is None else Log(Path(path))
    signals.set_exit_message_hook(append_to_log)
    return _CurrentLog.log


def append_to_log(text: str) -> None:
    """Write `text` to the log of the current command, if there is one."""
    if _CurrentLog.log is not None:
        _CurrentLog.log.record(text)
