"""Files for what does not fit in memory: they go when the run ends."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import BinaryIO, Protocol, cast

Scratch = Callable[[], BinaryIO]
"""Makes an unnamed file."""


class ScratchFiles(Protocol):
    """Where a run finds room."""

    def scratch(self) -> BinaryIO:
        """An unnamed file."""

    def named_scratch(self, suffix: str, /) -> tuple[BinaryIO, str]:
        """The same with a name, for libraries that open files themselves: (file, path)."""


class TemporaryFiles:
    """`ScratchFiles` in the system's folder for such files, until its context is left."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> TemporaryFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def scratch(self) -> BinaryIO:
        """As `ScratchFiles` says, like the next one."""
        return cast(BinaryIO, self._stack.enter_context(tempfile.TemporaryFile()))

    def named_scratch(self, suffix: str) -> tuple[BinaryIO, str]:
        file = self._stack.enter_context(tempfile.NamedTemporaryFile(suffix=suffix))  # noqa: SIM115  closed with the stack
        return cast(BinaryIO, file), file.name
