"""Messages between the coordinator and the workers, sent through any executor that pickles calls and answers.

The arguments shared by all calls of a run form a parcel of a few parts, each pickled once. A call names its parcel. A worker that lacks
some parts answers `MissingArguments`, and the call is sent again together with the missing parts.
"""

from __future__ import annotations

import os
import socket
from typing import Any, TypeAlias

from gpualign import __version__
from gpualign.core.alignment.task_fingerprint import VERSION
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Call:
    """Request to any worker.

    software: software of the coordinator, as returned by `software()`
    number: unique number, because Dask computes equal calls only once
    parcel: name of the shared arguments
    parts: names of the parts of the shared arguments
    sent: names of the parts sent with the call as additional, pickled arguments
    """

    software: str
    number: int
    parcel: str
    parts: tuple[str, ...]
    sent: tuple[str, ...]
    request: Any


@dataclass(frozen=True)
class Done:
    """Result of a request."""

    value: Any


@dataclass(frozen=True)
class MissingArguments:
    """Names of the parts that the worker lacks."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    """Failure of a worker to serve a request.

    text: human-readable reason
    again: whether a retry may succeed
    """

    worker: str
    text: str
    again: bool


Answer: TypeAlias = Done | MissingArguments | Failed


def software() -> str:
    """Software version, which must be the same on the coordinator and all workers of a run."""
    return f"gpualign {__version__} (plans of version {VERSION})"


def this_worker() -> str:
    """Human-readable name of this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"
