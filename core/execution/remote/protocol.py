"""What a coordinator and the workers say to each other, through any executor that pickles calls and answers.

What all calls of a run need is a parcel: a few parts, each pickled once. A call names the parcel; a worker that lacks some of its parts
answers so, and the call is sent again together with those.
"""

from __future__ import annotations

import os
import socket
from typing import Any, TypeAlias

from gpualign import __version__
from gpualign.core.alignment.fingerprint import VERSION
from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Call:
    """A request to whichever worker takes it.

    software: of the coordinator, as `software()` says it; number: no two calls have the same, because Dask takes equal calls for one;
    parcel: its name; parts: the names of its parts; sent: of those, what comes with the call as further arguments, pickled.
    """

    software: str
    number: int
    parcel: str
    parts: tuple[str, ...]
    sent: tuple[str, ...]
    request: Any


@dataclass(frozen=True)
class Done:
    """What was asked for."""

    value: Any


@dataclass(frozen=True)
class MissingArguments:
    """The worker has not got these parts."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class Failed:
    """The worker could not do it. text: why, for people; again: whether another try may help."""

    worker: str
    text: str
    again: bool


Answer: TypeAlias = Done | MissingArguments | Failed


def software() -> str:
    """What must be the same for everybody who takes part in a run."""
    return f"gpualign {__version__} (plans of version {VERSION})"


def this_worker() -> str:
    """The name of this process, for people."""
    return f"{socket.gethostname()}, process {os.getpid()}"
