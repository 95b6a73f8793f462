"""Scratch files for data that does not fit into memory. They are deleted when the run ends."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

from gpualign.core.common.errors import RunError
from gpualign.core.common.signals import signals_deferred

MakeScratch = Callable[[], BinaryIO]
"""Function that creates an unnamed file."""


class ScratchFiles:
    """Context manager that creates scratch files, and deletes them when the context is exited."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> ScratchFiles:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._stack.close()

    def new_scratch(self, sibling: Path | None = None) -> BinaryIO:
        """Return a new unnamed file, in the folder of the file `sibling` or, if that is None, in the system's temporary folder."""
        import tempfile

        with signals_deferred():
            if sibling is not None:
                return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile(dir=sibling.parent)))
            with translate_scratch_errors(), tempfile.TemporaryFile(buffering=0) as file:
                return self._open_again(file.fileno())

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        """Return (file, path) of a new named file, for libraries that open files themselves."""
        import tempfile

        with signals_deferred():
            with translate_scratch_errors():
                file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
            return self._open_again(file.fileno()), file.name

    def _open_again(self, descriptor: int) -> BinaryIO:
        return cast(BinaryIO, self._stack.enter_context(io.BufferedRandom(_TemporaryFile(os.dup(descriptor), "w+"))))


class _TemporaryFile(io.FileIO):
    """File in the system's temporary folder, which is named if the file cannot be written."""

    def write(self, data: Any) -> int:
        with translate_scratch_errors():
            return super().write(data)


def naming_folder_of(file: BinaryIO) -> AbstractContextManager[None]:
    """Return a context in which OS errors of this file name the folder, if it is the system's temporary folder."""
    return translate_scratch_errors() if isinstance(getattr(file, "raw", None), _TemporaryFile) else nullcontext()


@contextmanager
def translate_scratch_errors() -> Iterator[None]:
    """Turn OS errors of scratch files in the system's temporary folder into a `RunError` that names the folder."""
    try:
        yield
    except OSError as error:
        import tempfile

        folder = tempfile.tempdir or "a temporary folder"  # None: no folder can be written
        raise RunError(
            f"cannot write a temporary file in {folder}: {error.strerror or error}; set the environment variable TMPDIR to a folder with"
            " room"
        ) from None
