"""Input files as named by users: @LIST is a text file with one file name per line, and "-" is standard input."""

from __future__ import annotations

import os
import stat

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted

LIST_PREFIX = "@"
"""Prefix of an argument that names a list. A file whose own name begins with @ must be given as ./@NAME."""

_MAX_NAME_LENGTH = 4095
"""Maximum length of a path in bytes on Linux."""


@dataclass(frozen=True)
class InputFiles:
    """Files named by an argument.

    paths: the files, in order
    list_path: the list file, None if the argument itself is the input file
    """

    paths: tuple[str, ...]
    list_path: str | None = None

    @property
    def all_paths(self) -> tuple[str, ...]:
        """Return all files to be read, including the list."""
        return self.paths if self.list_path is None else (self.list_path, *self.paths)


def input_files(argument: str) -> InputFiles:
    """Return the files named by an argument: the argument itself, or with @ the files in the list; @- is a list from standard input.

    Names are relative to the working directory. Blank lines and lines that begin with # are skipped. Raises an `InputError` that names the
    list and the line.
    """
    if not argument.startswith(LIST_PREFIX):
        return InputFiles((argument,))
    from gpualign.core.files.decompression import open_decompressed
    from gpualign.core.files.paths import STDIO, open_input

    listed = argument.removeprefix(LIST_PREFIX)
    if not listed:
        raise InputError("expected the name of a list of files after @, as in @files.txt")
    with open_input(listed) as (stream, source):
        lines = open_decompressed(stream, source)[1].read().removeprefix(b"\xef\xbb\xbf").splitlines()
    named = [(number, os.fsdecode(line.strip())) for number, line in enumerate(lines, 1)]
    named = [(number, name) for number, name in named if name and not name.startswith("#")]
    if not named:
        raise InputError(f"{source}: names no files; expected the name of a file on each line")
    for number, name in named:
        if name != STDIO and listed != STDIO and (name == listed or (_exists(name) and os.path.samefile(name, listed))):
            raise InputError(f"{source}: line {number} is the list itself")
        if name != STDIO and not _exists(name):
            if number == named[0][0] and name.startswith(">"):
                raise InputError(f"{source}: line {number} is FASTA; expected a list of files after @: leave out the @")
            if "\0" in name or len(name) > _MAX_NAME_LENGTH:
                raise InputError(f"{source}: line {number} is not the name of a file: {quoted(name)}; expected a list of files after @")
            raise InputError(
                f"{source}: line {number}: {name!a}: no such file; names in a list are relative to the working directory, {os.getcwd()}"
            )
    return InputFiles(tuple(name for _, name in named), listed)


def check_stdin(*paths: str | None) -> None:
    """Raise `InputError` if more than one input is standard input. /dev/stdin counts if it is a pipe; a file is opened anew."""
    from gpualign.core.files.paths import STDIO

    if sum(path is not None and (path == STDIO or _is_pipe_of_stdin(path)) for path in paths) > 1:
        raise InputError("only one input can be standard input")


def _is_pipe_of_stdin(path: str) -> bool:
    try:
        status = os.stat(path)
        return stat.S_ISFIFO(status.st_mode) and os.path.samestat(status, os.fstat(0))
    except (OSError, ValueError):
        return False


def _exists(name: str) -> bool:
    try:
        return os.path.exists(name)
    except ValueError:  # a name with a null character
        return False
