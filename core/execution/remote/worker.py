"""Worker side: answers remote calls, and caches the shared arguments between calls."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import GpualignError
from gpualign.core.execution.remote.protocol import Answer, Failure, MissingArguments, RemoteCall, Success, software_version, worker_name

_MAX_CACHED_ARGUMENT_SETS = 2
"""Maximum number of runs whose shared arguments a worker caches. A search alternates between two runs."""

RequestHandler = Callable[[Any], Any]
"""Function that returns the result of a request. It is made from the shared arguments."""


@dataclass(frozen=True)
class _CachedHandler:
    argument_names: tuple[str, ...]
    serve: RequestHandler


class WorkerNode:
    """Answers remote calls. `answer` may be called from any thread.

    make_handler: makes a request handler, which may be called from any thread, from the shared arguments; both functions may raise
        `GpualignError`
    """

    def __init__(self, make_handler: Callable[[list[Any]], RequestHandler]) -> None:
        self._make_handler = make_handler
        self._lock = threading.Lock()
        self._arguments: dict[str, Any] = {}
        self._cached: dict[str, _CachedHandler] = {}  # by name, least recently used first

    def answer(self, call: RemoteCall, *payload: bytes) -> Answer:
        """Answer a remote call. payload: the pickled arguments named in `call.sent_names`, in this order"""
        if call.software_version != (own := software_version()):
            return Failure(
                worker_name(), f"has {own}, but this is {call.software_version}; install the same version there", retryable=False
            )
        try:
            with self._lock:
                if call.shared_name not in self._cached:
                    if missing := self._store_arguments(call, payload):
                        return MissingArguments(missing)
                    self._cached[call.shared_name] = _CachedHandler(
                        call.argument_names, self._make_handler([self._arguments[name] for name in call.argument_names])
                    )
                cached = self._cached[call.shared_name] = self._cached.pop(call.shared_name)
            return Success(cached.serve(call.request))
        except GpualignError as error:
            return Failure(worker_name(), error.message, retryable=True)
        except MemoryError:
            return Failure(worker_name(), "out of memory", retryable=True)

    def _store_arguments(self, call: RemoteCall, payload: tuple[bytes, ...]) -> tuple[str, ...]:
        """Evict the shared arguments of older runs, and store those sent with a call. Returns the names of those arguments that the call
        needs and that are still missing."""
        for name in list(self._cached)[: 1 - _MAX_CACHED_ARGUMENT_SETS]:
            del self._cached[name]
        used = {*call.argument_names, *(name for cached in self._cached.values() for name in cached.argument_names)}
        self._arguments = {name: argument for name, argument in self._arguments.items() if name in used}
        for name, pickled in zip(call.sent_names, payload, strict=True):
            if name not in self._arguments:
                self._arguments[name] = pickle.loads(pickled)
        return tuple(name for name in call.argument_names if name not in self._arguments)


def one_at_a_time(serve: RequestHandler) -> RequestHandler:
    """Return a request handler that passes requests to `serve` one after the other, even if several threads call it."""
    lock = threading.Lock()

    def serve_alone(request: Any) -> Any:
        with lock:
            return serve(request)

    return serve_alone
