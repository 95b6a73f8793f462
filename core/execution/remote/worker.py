"""The worker's side: what a process keeps between calls."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import GpualignError
from gpualign.core.execution.remote.protocol import Answer, Call, Done, Failed, MissingArguments, software, this_worker

_KEPT = 2
"""Parcels that a worker keeps: a search goes back and forth between two."""

Opened = Callable[[Any], Any]
"""What a parcel's contents make: answers requests."""


@dataclass(frozen=True)
class _Kept:
    parts: tuple[str, ...]
    serve: Opened


class Node:
    """Answers calls, from any thread. open: makes of a parcel's parts what answers its requests, from any thread as well; it and that may
    raise `GpualignError`."""

    def __init__(self, open: Callable[[list[Any]], Opened]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._parts: dict[str, Any] = {}
        self._kept: dict[str, _Kept] = {}  # the last used one last

    def answer(self, call: Call, *payload: bytes) -> Answer:
        """payload: the parts that the call says are sent."""
        if call.software != (own := software()):
            return Failed(this_worker(), f"has {own}, but this is {call.software}; install the same there", again=False)
        try:
            with self._lock:
                if call.parcel not in self._kept:
                    if lacking := self._take(call, payload):
                        return MissingArguments(lacking)
                    self._kept[call.parcel] = _Kept(call.parts, self._open([self._parts[name] for name in call.parts]))
                kept = self._kept[call.parcel] = self._kept.pop(call.parcel)
            return Done(kept.serve(call.request))
        except GpualignError as error:
            return Failed(this_worker(), error.message, again=True)
        except MemoryError:
            return Failed(this_worker(), "out of memory", again=True)

    def _take(self, call: Call, payload: tuple[bytes, ...]) -> tuple[str, ...]:
        """Make room and keep what was sent; the parts that are lacking then."""
        for parcel in list(self._kept)[: 1 - _KEPT]:
            del self._kept[parcel]
        used = {*call.parts, *(name for kept in self._kept.values() for name in kept.parts)}
        self._parts = {name: part for name, part in self._parts.items() if name in used}
        for name, pickled in zip(call.sent, payload, strict=True):
            if name not in self._parts:
                self._parts[name] = pickle.loads(pickled)
        return tuple(name for name in call.parts if name not in self._parts)


def in_turn(serve: Opened) -> Opened:
    """The same, of one request at a time."""
    lock = threading.Lock()

    def waiting(request: Any) -> Any:
        with lock:
            return serve(request)

    return waiting
