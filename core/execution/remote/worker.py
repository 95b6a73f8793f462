"""Worker side: answers calls and caches shared arguments between calls."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import GpualignError
from gpualign.core.execution.remote.protocol import Answer, Call, Done, Failed, MissingArguments, software, this_worker

_KEPT = 2
"""Number of shared-argument sets that a worker caches: a search alternates between two."""

RequestHandler = Callable[[Any], Any]
"""Function that answers requests, built from the contents of shared arguments."""


@dataclass(frozen=True)
class _Cached:
    parts: tuple[str, ...]
    serve: RequestHandler


class WorkerNode:
    """Answers calls, from any thread.

    open: builds, from the parts of shared arguments, a function that answers requests from any thread; both may raise `GpualignError`
    """

    def __init__(self, open: Callable[[list[Any]], RequestHandler]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._parts: dict[str, Any] = {}
        self._cached: dict[str, _Cached] = {}  # by name, least recently used first

    def answer(self, call: Call, *payload: bytes) -> Answer:
        """Answer a call. payload: the pickled parts that the call lists as sent."""
        if call.software != (own := software()):
            return Failed(this_worker(), f"has {own}, but this is {call.software}; install the same version there", again=False)
        try:
            with self._lock:
                if call.parcel not in self._cached:
                    if missing := self._take(call, payload):
                        return MissingArguments(missing)
                    self._cached[call.parcel] = _Cached(call.parts, self._open([self._parts[name] for name in call.parts]))
                cached = self._cached[call.parcel] = self._cached.pop(call.parcel)
            return Done(cached.serve(call.request))
        except GpualignError as error:
            return Failed(this_worker(), error.message, again=True)
        except MemoryError:
            return Failed(this_worker(), "out of memory", again=True)

    def _take(self, call: Call, payload: tuple[bytes, ...]) -> tuple[str, ...]:
        """Evict old shared arguments and store the parts that were sent. Returns the names of the parts still missing."""
        for parcel in list(self._cached)[: 1 - _KEPT]:
            del self._cached[parcel]
        used = {*call.parts, *(name for cached in self._cached.values() for name in cached.parts)}
        self._parts = {name: part for name, part in self._parts.items() if name in used}
        for name, pickled in zip(call.sent, payload, strict=True):
            if name not in self._parts:
                self._parts[name] = pickle.loads(pickled)
        return tuple(name for name in call.parts if name not in self._parts)


def serialized(serve: RequestHandler) -> RequestHandler:
    """Wrap a request handler so that it answers one request at a time."""
    lock = threading.Lock()

    def serve_alone(request: Any) -> Any:
        with lock:
            return serve(request)

    return serve_alone
