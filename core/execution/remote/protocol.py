"""Messages between the coordinator and the workers, through any executor that pickles calls and answers.

The arguments that all calls of a run share are a parcel of a few parts, each pickled once. A call names its parcel. A worker that lacks
some of the parts answers `MissingArguments`, and the call is sent again together with these.
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

    software: software of the coordinator, as `software()` describes it
    number: unique, because Dask computes equal calls only once
    parcel: name of the shared arguments
    parts: names of their parts
    sent: names of those parts that are sent with the call as further arguments, pickled
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
    again: whether another try may succeed
    """

    worker: str
    text: str
    again: bool


Answer: TypeAlias = Done | MissingArguments | Failed


def software() -> str:
    """Version of the software, which must be the same for the coordinator and all workers of a run."""
    return f"gpualign {__version__} (plans of version {VERSION})"


def this_worker() -> str:
    """Human-readable name of this process."""
    return f"{socket.gethostname()}, process {os.getpid()}"
