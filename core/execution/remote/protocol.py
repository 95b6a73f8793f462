"""Messages between the coordinator and the workers, sent through any executor that pickles calls and answers.

A remote call contains a request, such as a tile to compute. All calls of a run also have a few large arguments in common, the shared
arguments: each of them is pickled once, calls contain only their names, and workers cache them. A worker that lacks some of them answers
`MissingArguments`, and the coordinator sends the call again, together with the missing arguments.
"""

from __future__ import annotations

import os
import socket
from typing import Any, TypeAlias

from gpualign import __version__
from gpualign.core.alignment.task_fingerprint import PLAN_VERSION
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class RemoteCall:
    """Remote call, which any worker can answer.

    software_version: version of the coordinator, as returned by `software_version()`
    number: unique number, because Dask computes equal calls only once
    shared_name: name of the set of shared arguments
    argument_names: name of each shared argument
    sent_names: names of the shared arguments that are sent, pickled, with the call
    request: what the worker is to answer
    """

    software_version: str
    number: int
    shared_name: str
    argument_names: tuple[str, ...]
    sent_names: tuple[str, ...]
    request: Any


@dataclass(frozen=True)
class Success:
    """Answer with the result of a request."""

    value: Any


@dataclass(frozen=True)
class MissingArguments:
    """Answer with the names of the shared arguments that the worker lacks."""

    argument_names: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """Answer of a worker that failed to serve a request.

    message: human-readable reason
    retryable: whether a retry may succeed
    """

    worker_name: str
    message: str
    retryable: bool


Answer: TypeAlias = Success | MissingArguments | Failure


def software_version() -> str:
    """Return the version of the software, which must be the same for the coordinator and all workers of a run."""
    return f"gpualign {__version__} (plans of version {PLAN_VERSION})"


def worker_name() -> str:
    """Return a human-readable name of this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"
