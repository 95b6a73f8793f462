"""Opens input files named by the user; "-" is standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from gpualign.core.common.errors import InputError
from gpualign.core.files.paths import STDIN_NAME, STDIO, open_file


@contextmanager
def open_input(path: str) -> Iterator[tuple[BinaryIO, str]]:
    """Yield (binary stream, name for messages) for a file or, for "-", standard input. Raises `InputError` if opening fails."""
    if path == STDIO:
        yield sys.stdin.buffer, STDIN_NAME
        return
    with open_file(path) as stream:
        yield stream, path


def open_inputs(paths: Iterable[str]) -> Iterator[tuple[BinaryIO, str]]:
    """Yield what `open_input` yields for each path in turn. Each file is closed when the next one is requested."""
    for path in paths:
        with open_input(path) as opened:
            yield opened


def check_stdin(*paths: str | None) -> None:
    """Raise `InputError` if more than one input is standard input."""
    if paths.count(STDIO) > 1:
        raise InputError("only one input can be standard input")
