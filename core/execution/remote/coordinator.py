"""Coordinator side: sends remote calls to the workers of an executor, with a bounded number of calls in flight."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from itertools import count
from typing import Any, Generic, TypeVar

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.remote.protocol import Answer, Failure, MissingArguments, RemoteCall, Success, software_version

Item = TypeVar("Item")

CALLS_PER_WORKER = 3
"""Number of calls in flight per worker: the call being computed, the next call, and a call whose answer is in transit."""

MAX_CALLS_AHEAD_FACTOR = 2
"""How far the next call may be ahead of the oldest call without an answer, as a multiple of the number of calls in flight. (Later answers
have to wait for the oldest one.)"""

_ASSUMED_WORKER_COUNT = 16
"""Number of workers assumed if an executor does not report how many it has."""

_MAX_LOST_ATTEMPTS = 3
"""Number of times a call may get lost together with a worker before the run fails. A call that fails on a worker is tried twice."""

_POLL_SECONDS = 5.0  # how often workers are counted


class CachedArgument:
    """Shared argument, which workers cache. It is pickled when a worker lacks it for the first time."""

    def __init__(self, content: object) -> None:
        self.name = uuid.uuid4().hex
        self._content = content
        self._pickled: bytes | None = None
        self._shared: Any = None

    def call_value(self, share: Callable[[bytes], Any] | None) -> Any:
        """Return what a call contains in place of the argument: its pickled bytes or, if `share` is given, the value that `share` returns
        for these bytes."""
        if self._shared is None:
            pickled = self._pickled or pickle.dumps(self._content, protocol=pickle.HIGHEST_PROTOCOL)
            if share is None:
                self._pickled = self._shared = pickled
            else:
                self._shared = share(pickled)
        return self._shared

    def discard_shared_copy(self) -> None:
        """Forget the shared copy, which may have been lost."""
        self._shared = None


@dataclass(frozen=True)
class SharedArguments:
    """Arguments that all calls of a run have in common. name: unique name, under which workers cache the request handler that they make
    from the arguments"""

    name: str
    arguments: tuple[CachedArgument, ...]

    @classmethod
    def of(cls, *arguments: CachedArgument) -> SharedArguments:
        return cls(uuid.uuid4().hex, arguments)


class _SentCall(Generic[Item]):
    """Call that has no answer yet.

    position: index of the item in the stream of items
    argument_names: names of the shared arguments to send with the call
    """

    def __init__(self, position: int, item: Item, request: Any, argument_names: set[str]) -> None:
        self.position = position
        self.item = item
        self.request = request
        self.argument_names = argument_names
        self.failure_count = self.lost_count = 0


def _no_check() -> None:
    pass


@dataclass(frozen=True)
class WorkerPoolClient:
    """Client for a pool of workers that serve calls.

    serve: function that workers run, with the signature of `WorkerNode.answer`; a worker must be able to import it by name
    count_workers: counts the workers; returns None if the number is unknown
    share: stores bytes where workers can find them, and returns the value that a call contains in their place; None: calls contain the
        bytes
    check_executor: raises `RunError` if the executor has lost its workers for good
    on_note: receives notes for the user
    """

    executor: Executor
    serve: Callable[..., Answer]
    count_workers: Callable[[], int | None]
    share: Callable[[bytes], Any] | None = None
    check_executor: Callable[[], None] = _no_check
    on_note: Callable[[str], None] = lambda text: None

    def worker_count(self) -> int:
        """Return the number of workers, at least 1. If the number is unknown, return an assumed one."""
        workers = self.count_workers()
        return _ASSUMED_WORKER_COUNT if workers is None else max(1, workers)

    def max_held_answers(self) -> int:
        """Return the maximum number of answers that a caller holds while waiting for the answer to the oldest call."""
        return MAX_CALLS_AHEAD_FACTOR * CALLS_PER_WORKER * self.worker_count()

    def describe_workers(self, hardware: str) -> str:
        """Return a human-readable description of the workers: how many there are, each with this hardware."""
        workers = self.count_workers()
        return ("workers, each" if workers is None else "1 worker," if workers == 1 else f"{workers} workers, each") + f" {hardware}"

    def ask(self, shared: SharedArguments, request: Any) -> Any:
        """Send one call with a request and return the answer. Raises the same errors as `stream`. shared: shared arguments of the call"""
        return next(self.stream(shared, [request], lambda item: item, send_arguments_first=True))[1]

    def stream(
        self, shared: SharedArguments, items: Iterable[Item], make_request: Callable[[Item], Any], send_arguments_first: bool = False
    ) -> Iterator[tuple[Item, Any]]:
        """Send a call for each item. Yields (item, answer) in the order in which answers arrive.

        shared: shared arguments of the calls
        make_request: returns the request for an item
        send_arguments_first: whether to send the shared arguments with every call, instead of only when a worker lacks them

        Items are consumed as workers become free, and never far ahead of unanswered items. When the iterator is closed, finishes or fails,
        calls not yet started by a worker are cancelled; calls already started are not waited for.

        Raises `RunError` if a call fails twice on a worker, if a worker has a different version of the software, or if the executor fails.
        """
        source, following = iter(items), 0
        waiting: dict[Future[Answer], _SentCall[Item]] = {}
        room, more, notified = CALLS_PER_WORKER * self.worker_count(), True, False
        try:
            while True:
                oldest = min((sent.position for sent in waiting.values()), default=following)
                while more and len(waiting) < room and following < oldest + MAX_CALLS_AHEAD_FACTOR * room:
                    try:
                        item = next(source)
                    except StopIteration:
                        more = False
                        break
                    sent = _SentCall(
                        following, item, make_request(item), {one.name for one in shared.arguments} if send_arguments_first else set()
                    )
                    waiting[self._submit(shared, sent)] = sent
                    following += 1
                if not waiting:
                    return
                done, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                if not done:
                    self.check_executor()
                    room = CALLS_PER_WORKER * self.worker_count()
                    if self.count_workers() == 0 and not notified:
                        self.on_note("the cluster has no worker at the moment; waiting for one")
                        notified = True
                for future in done:
                    sent = waiting.pop(future)
                    answer = self._read_answer(future, shared, sent)
                    if isinstance(answer, Success):
                        yield sent.item, answer.value
                    else:
                        waiting[self._submit(shared, sent)] = sent
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, shared: SharedArguments, sent: _SentCall[Item]) -> Future[Answer]:
        arguments = [one for one in shared.arguments if one.name in sent.argument_names]
        names = tuple(one.name for one in shared.arguments)
        call = RemoteCall(software_version(), next(_call_numbers), shared.name, names, tuple(one.name for one in arguments), sent.request)
        try:
            return self.executor.submit(self.serve, call, *(one.call_value(self.share) for one in arguments))
        except RunError:
            raise
        except Exception as error:
            raise RunError(f"the cluster accepts no more work: {_describe_error(error)}") from error

    def _read_answer(self, future: Future[Answer], shared: SharedArguments, sent: _SentCall[Item]) -> Success | None:
        """Return the answer to a call, or None if the call has to be sent again. Raises `RunError` if sending it again would not help."""
        try:
            answer = future.result()
        except CancelledError as error:  # by the executor: it has lost what the call needs together with a worker, or everything
            self.check_executor()
            sent.lost_count += 1
            if sent.lost_count == _MAX_LOST_ATTEMPTS:
                raise RunError(f"the cluster has cancelled the same work {_MAX_LOST_ATTEMPTS} times and gives no reason") from error
            for argument in shared.arguments:
                argument.discard_shared_copy()
            sent.argument_names = {one.name for one in shared.arguments}
            return None
        except BrokenExecutor as error:
            raise RunError(f"a worker process ended during its work, and its pool with it: {error}") from error
        except Exception as error:
            self.check_executor()
            raise RunError(f"a worker of the cluster failed: {_describe_error(error)}") from error
        if isinstance(answer, Success):
            return answer
        if isinstance(answer, MissingArguments):
            sent.argument_names.update(answer.argument_names)
            return None
        assert isinstance(answer, Failure)
        sent.failure_count += 1
        if not answer.retryable or sent.failure_count == 2:
            raise RunError(f"worker {answer.worker_name}: {answer.message}")
        return None


_call_numbers = count()


def _describe_error(error: BaseException) -> str:
    """Return a human-readable description of an error raised by third-party code."""
    text = str(error).strip()
    if isinstance(error, (ImportError, AttributeError)):
        text += "; workers need the same version of gpualign as this machine"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
