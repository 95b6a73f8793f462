"""Scratch files for data that does not fit into memory. They are deleted when the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

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
            return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile(dir=sibling and sibling.parent)))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        """Return (file, path) of a new named file, for libraries that open files themselves."""
        import tempfile

        with signals_deferred():
            file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name


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
