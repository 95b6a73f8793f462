"""Messages between the coordinator and the workers, sent through any executor that pickles calls and answers.

All calls of a run share a few arguments, each pickled once, and a call names them. A worker that lacks some of them answers
`MissingArguments`, and the call is sent again together with the missing arguments.
"""

from __future__ import annotations

import os
import socket
from typing import Any, TypeAlias

from gpualign import __version__
from gpualign.core.alignment.task_fingerprint import PLAN_VERSION
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Call:
    """Request to any worker.

    software_version: version of the coordinator, as returned by `software_version()`
    number: unique number, because Dask computes equal calls only once
    shared_name: name of the set of shared arguments
    argument_names: name of each shared argument
    sent_names: names of the shared arguments sent with the call, pickled
    """

    software_version: str
    number: int
    shared_name: str
    argument_names: tuple[str, ...]
    sent_names: tuple[str, ...]
    request: Any


@dataclass(frozen=True)
class Success:
    """Result of a request."""

    value: Any


@dataclass(frozen=True)
class MissingArguments:
    """Names of the shared arguments that the worker lacks."""

    argument_names: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """Failure of a worker to serve a request.

    message: human-readable reason
    retryable: whether a retry may succeed
    """

    worker_name: str
    message: str
    retryable: bool


Answer: TypeAlias = Success | MissingArguments | Failure


def software_version() -> str:
    """Software version, which must be the same on the coordinator and all workers of a run."""
    return f"gpualign {__version__} (plans of version {PLAN_VERSION})"


def worker_name() -> str:
    """Human-readable name of this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"
