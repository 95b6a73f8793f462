"""Whether another run can go on with the output of this one, and what it must have in common with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign import __version__
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, Layout, Results

if TYPE_CHECKING:
    from gpualign.core.alignment.task import Task
    from gpualign.core.files.journal import Identity
    from gpualign.core.planning.group_pairs import GroupPairs

_OF_NO_ACCOUNT = {
    *("device", "threads", "memory", "cluster", "kernel", "transfer", "traceback"),  # how, not what: results are the same
    *("dry_run", "quiet", "verbose", "log", "summary", "resume", "shard", "plot"),
    *("matrix", "output"),  # the digest has what it holds; the journal is beside it
}
"""Parameters of commands on which no byte of the output depends, or only through the input."""

_INPUTS = {"seqs", "seqs2", "query", "db", "samples", "others", "add", "groups"}
"""The digest has what they hold, whatever their names are, but not which of them were given."""

_DIGEST_BYTES = 1e9
"""Of input that a second digests."""


@dataclass(frozen=True)
class Invocation:
    """Command that a user has given.

    command: its name
    parameters: their values, by the names that the command has for them
    options: the same values by the long names of the options
    words: of the command line, without the name of the program
    """

    command: str
    parameters: Mapping[str, object]
    options: Mapping[str, object]
    words: Sequence[str]


@dataclass(frozen=True)
class ResumePolicy:
    """resume: whether to go on with what is there. identity: says what the run is; seconds: that this takes, about, the first time; words:
    of its command line."""

    resume: bool
    identity: Callable[[], Identity]
    seconds: float
    words: Sequence[str]


def check_resume(resume: bool, path: Path | None, format: str, results: Results) -> None:
    """Raises `InputError` for a run that goes on with an output with which no run can go on."""
    if not resume:
        return
    if path is None:
        raise InputError(f"{parameter('resume')} goes on with a file; name it with -o")
    if not can_resume(format, results):
        raise InputError(f"{parameter('resume')}: {format} is written in one piece; a run can go on with text, matrices, npy, npz and csr")


def can_resume(format: str, results: Results) -> bool:
    """Whether a run can go on with an output in this format."""
    return FORMATS[format].layouts[results] is not Layout.COLUMNS


def keeping_of(invocation: Invocation, resume: bool, rows: int, digest: Callable[[], str], nbytes: int) -> ResumePolicy:
    """For a command that is being carried out. rows: queries; digest: of its input, of so many bytes."""
    found = invocation.parameters.items()
    given = {name: value for name, value in sorted(found) if name not in _OF_NO_ACCOUNT and value is not None and value is not False}
    # Of an option that may be given several times, a list, as JSON has it; none of them: it was not given.
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items() if value != ()}
    options = {name: value for name, value in given.items() if name not in _INPUTS}
    inputs = [name for name in given if name in _INPUTS]

    @cache  # a share is asked for it, and so is a run that goes on
    def identity() -> Identity:
        from gpualign.core.files.journal import Identity

        return Identity(__version__, invocation.command, options, " ".join([digest(), *inputs]), rows)

    return ResumePolicy(resume, identity, nbytes / _DIGEST_BYTES, invocation.words)


def keeping_of_task(invocation: Invocation, resume: bool, task: Task, groups: GroupPairs | None = None) -> ResumePolicy:
    """The same of alignments. groups: whose pairs alone are wanted."""

    from gpualign.jobs.devices.memory import sequence_bytes

    def digest() -> str:
        from gpualign.core.alignment.fingerprint import digest_of

        return digest_of(task) if groups is None else f"{digest_of(task)} {groups.digest}"

    return keeping_of(invocation, resume, len(task.queries), digest, sequence_bytes(task))
