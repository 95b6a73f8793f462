"""Scratch files for data that does not fit into memory. They are deleted when the run ends."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO, Protocol, cast

MakeScratch = Callable[[], BinaryIO]
"""Function that creates an unnamed file."""


class ScratchFiles(Protocol):
    """Provides a run with scratch files."""

    def scratch(self) -> BinaryIO:
        """Return a new unnamed file."""

    def named_scratch(self, suffix: str, /) -> tuple[BinaryIO, str]:
        """Return (file, path) of a new named file, for libraries that open files themselves."""


class TemporaryFiles:
    """Implements `ScratchFiles` in the system's temporary folder. The files exist until the context is exited."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> TemporaryFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def scratch(self) -> BinaryIO:
        return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile()))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name
