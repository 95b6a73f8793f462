"""What one run of the executable is given, and what is expected of it."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

Judge = Callable[[bytes], str]
"""Takes the whole output; returns what is wrong with it, or "". Raises `reference.NoOpinion`, or `reference.Refuse` where the input
should not have been accepted."""


@dataclass
class Case:
    """words: after `gpualign`. files: by name, in the folder that the command runs in; output: the file it is to write, None is standard
    output. good: the input is in order, so that exit 0 is expected. memory: the bytes of --memory. stop: a signal, and when it is sent
    in seconds from the start; at_work: from when it begins to write. left: what a run before this one has left beside `files`,
    by name; whole: what is there instead when this one has gone on with it and is done."""

    family: str
    words: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    stdin: bytes | None = None
    output: str | None = None
    judge: Judge | None = None
    good: bool = False
    memory: int | None = None
    stop: tuple[int, float] | None = None
    at_work: bool = False
    left: dict[str, bytes] = field(default_factory=dict)
    whole: dict[str, bytes] | None = None

    @property
    def command(self) -> str:
        text = shlex.join(["gpualign", *self.words]) + (" < stdin" if self.stdin is not None else "")
        return text + (f"  # signal {self.stop[0]} after {self.stop[1]:.4f} s{' of writing' if self.at_work else ''}" if self.stop else "")
