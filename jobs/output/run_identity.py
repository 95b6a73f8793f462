"""Decides whether a later run can resume the output of this run, and what the two runs must have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign import __version__
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind

if TYPE_CHECKING:
    from gpualign.core.alignment.task import Task
    from gpualign.core.files.journal import RunIdentity
    from gpualign.core.planning.group_pairs import GroupPairSelector
    from gpualign.jobs.options import OutputOptions

_IRRELEVANT_PARAMETERS = {
    *("device", "threads", "memory", "cluster", "kernel", "transfer", "traceback"),  # how to compute: results are the same
    *("dry_run", "quiet", "verbose", "log", "summary", "resume", "shard", "plot"),
    *("matrix", "output"),  # the content of the matrix is in the digest; the journal is beside the output
}
"""Command parameters that do not affect the output, or affect it only through the input."""

_INPUT_PARAMETERS = {"seqs", "seqs2", "query", "db", "samples", "others", "add", "groups", "annotate"}
"""Parameters that name inputs. The digest covers the content of the files, whatever their names, but not which inputs were given."""

_DIGEST_BYTES_PER_SECOND = 1e9
"""Bytes of input digested per second."""


@dataclass(frozen=True)
class Invocation:
    """Command given by the user.

    command: name of the command
    options: values of options and arguments, keyed by the long name of the option
    arguments: words of the command line, without the program name
    """

    command: str
    options: Mapping[str, object]
    arguments: Sequence[str]


@dataclass(frozen=True)
class ResumePolicy:
    """How a run resumes an earlier run, and how a later run can resume it in turn.

    resume: whether the run resumes the existing output
    compute_identity: returns the identity of the run
    digest_seconds: approximate time for the first call of `compute_identity`
    arguments: words of the command line, without the program name, from which the command that resumes the run is made
    """

    resume: bool
    compute_identity: Callable[[], RunIdentity]
    digest_seconds: float
    arguments: Sequence[str]


def check_resumable(o: OutputOptions, path: Path | None, format: str, results: ResultKind) -> None:
    """Raise `InputError` if the output is to be resumed or sharded, but its destination, its format or the other options do not allow
    this."""
    resume, shard, plot = parameter("resume"), parameter("shard"), parameter("plot")
    if o.resume and path is None:
        raise InputError(f"{resume} needs a file; name it with -o")
    if o.shard is not None and path is None:
        raise InputError(f"{shard} writes a part file beside the output; name that with -o")
    if (o.resume or o.shard is not None) and not can_resume(format, results):
        option, done = (resume, "resumed") if o.resume else (shard, "sharded")
        reason = "needs the pairs of all queries" if FORMATS[format].layouts[results] is Layout.COUNTS else "is written in one piece"
        raise InputError(f"{option}: {format} {reason}; text, matrices, npy, npz and csr can be {done}")
    if o.shard is not None and o.plot is not None:
        raise InputError(
            f"{plot} draws a whole matrix, and {shard} writes a part of one; draw it with `gpualign plot` after the parts are merged"
        )


def can_resume(format: str, results: ResultKind) -> bool:
    """Return whether an output in this format can be resumed."""
    return FORMATS[format].layouts[results] not in (Layout.COLUMNS, Layout.COUNTS)


def resume_policy_of(invocation: Invocation, resume: bool, rows: int, make_digest: Callable[[], str], nbytes: int) -> ResumePolicy:
    """Return the resume policy of the running command.

    resume: whether the command resumes the existing output
    rows: number of queries
    make_digest: returns the digest of the input
    nbytes: size of the input, in bytes
    """
    given = sorted(invocation.options.items())
    relevant = {name: value for name, value in given if name not in _IRRELEVANT_PARAMETERS and value is not None and value is not False}
    # Options that may be given several times are lists, as in JSON; an empty one was not given.
    relevant = {name: list(value) if isinstance(value, tuple) else value for name, value in relevant.items() if value != ()}
    options = {name: value for name, value in relevant.items() if name not in _INPUT_PARAMETERS}
    inputs = [name for name in relevant if name in _INPUT_PARAMETERS]

    @cache  # shards and resumed runs both need it
    def identity() -> RunIdentity:
        from gpualign.core.files.journal import RunIdentity

        return RunIdentity(__version__, invocation.command, options, " ".join([make_digest(), *inputs]), rows)

    return ResumePolicy(resume, identity, nbytes / _DIGEST_BYTES_PER_SECOND, invocation.arguments)


def resume_policy_of_task(invocation: Invocation, resume: bool, task: Task, groups: GroupPairSelector | None = None) -> ResumePolicy:
    """Return the resume policy of an alignment command. groups: pairs selected according to groups; None: all pairs."""

    def digest() -> str:
        from gpualign.core.alignment.task_fingerprint import fingerprint
        from gpualign.core.sequences.annotations import annotation_digest

        digests = [fingerprint(task)]
        if groups is not None:
            digests.append(groups.digest)
        if task.targets.annotations:
            digests.append(annotation_digest(task.targets.annotations))
        return " ".join(digests)

    nbytes = task.queries.nbytes + (task.targets.nbytes if task.targets is not task.queries else 0)
    return resume_policy_of(invocation, resume, len(task.queries), digest, nbytes)
