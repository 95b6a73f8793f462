"""Coordinator's side: calls the workers of an executor, with a bounded number of calls in flight."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from itertools import count
from typing import Any, Generic, TypeVar

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError
from gpualign.core.execution.remote.protocol import Answer, Call, Done, Failed, MissingArguments, software

Item = TypeVar("Item")

CALLS_A_WORKER = 3
"""Calls in flight for each worker: one that it is computing, the next one, and one whose answer is in transit."""

MAX_LEAD_FACTOR = 2
"""The next call may be at most `MAX_LEAD_FACTOR` times the calls in flight ahead of the oldest of these: later answers wait for that
one."""

_UNKNOWN_WORKERS = 16
"""Number of workers that is assumed if an executor does not report it."""

_MAX_LOSSES = 3
"""Times that a call may get lost together with a worker before the run fails. A call that fails on a worker is tried twice."""

_POLL_SECONDS = 5.0  # how often workers are counted


class CachedArgument:
    """Argument that workers cache. It is pickled when the first worker lacks it."""

    def __init__(self, content: object) -> None:
        self.name = uuid.uuid4().hex
        self._content = content
        self._pickled: bytes | None = None
        self._shared: Any = None

    def argument(self, share: Callable[[bytes], Any] | None) -> Any:
        """Value that stands for it among the arguments of a call: its bytes, or what `share` has returned for them."""
        if self._shared is None:
            pickled = self._pickled or pickle.dumps(self._content, protocol=pickle.HIGHEST_PROTOCOL)
            if share is None:
                self._pickled = self._shared = pickled
            else:
                self._shared = share(pickled)
        return self._shared

    def lose(self) -> None:
        """Forget where it was shared: it may be lost there."""
        self._shared = None


@dataclass(frozen=True)
class SharedArguments:
    """Arguments that all calls of a run share and workers cache, under a unique name."""

    name: str
    parts: tuple[CachedArgument, ...]

    @classmethod
    def of(cls, *parts: CachedArgument) -> SharedArguments:
        return cls(uuid.uuid4().hex, parts)


class _Sent(Generic[Item]):
    """Call that has no answer yet.

    place: its position in the stream
    parts: names of the parts to send with it
    """

    def __init__(self, place: int, item: Item, request: Any, parts: set[str]) -> None:
        self.place = place
        self.item = item
        self.request = request
        self.parts = parts
        self.failed = self.lost = 0


def _unchecked() -> None:
    pass


@dataclass(frozen=True)
class WorkerPoolClient:
    """Client of a pool of workers that serve calls.

    serve: function that workers run, as `Node.answer`; a worker must be able to import it by its name
    workers: counts the workers; returns None if the number is not known
    share: stores bytes where workers find them, and returns what stands for them among the arguments of a call; None: bytes go with
        the call
    check: raises `RunError` if the executor has lost its workers for good
    note: is notified of what a user should know
    """

    executor: Executor
    serve: Callable[..., Answer]
    workers: Callable[[], int | None]
    share: Callable[[bytes], Any] | None = None
    check: Callable[[], None] = _unchecked
    note: Callable[[str], None] = lambda text: None

    def count(self) -> int:
        """Number of workers, at least 1."""
        workers = self.workers()
        return _UNKNOWN_WORKERS if workers is None else max(1, workers)

    def ask(self, parcel: SharedArguments, request: Any) -> Any:
        """Return the answer of one worker to a request. Raises `RunError` as `stream` does."""
        return next(self.stream(parcel, [request], lambda item: item, first=True))[1]

    def stream(
        self, parcel: SharedArguments, items: Iterable[Item], request: Callable[[Item], Any], first: bool = False
    ) -> Iterator[tuple[Item, Any]]:
        """Yield (item, a worker's answer to its request) in the order of the answers.

        first: send the shared arguments with the calls at once, rather than when a worker lacks them

        Items are taken as workers become free, and none long before earlier ones are answered. When the iterator is closed, finished or
        fails, calls that no worker has started are cancelled, and the others are not waited for.

        Raises `RunError` if a call fails twice on a worker, a worker has different software, or the executor fails.
        """
        source, following = iter(items), 0
        waiting: dict[Future[Answer], _Sent[Item]] = {}
        room, more, notified = CALLS_A_WORKER * self.count(), True, False
        try:
            while True:
                oldest = min((sent.place for sent in waiting.values()), default=following)
                while more and len(waiting) < room and following < oldest + MAX_LEAD_FACTOR * room:
                    try:
                        item = next(source)
                    except StopIteration:
                        more = False
                        break
                    sent = _Sent(following, item, request(item), {part.name for part in parcel.parts} if first else set())
                    waiting[self._submit(parcel, sent)] = sent
                    following += 1
                if not waiting:
                    return
                done, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
                if not done:
                    self.check()
                    room = CALLS_A_WORKER * self.count()
                    if self.workers() == 0 and not notified:
                        self.note("the cluster has no worker at the moment; waiting for one")
                        notified = True
                for future in done:
                    sent = waiting.pop(future)
                    answer = self._answer(future, parcel, sent)
                    if isinstance(answer, Done):
                        yield sent.item, answer.value
                    else:
                        waiting[self._submit(parcel, sent)] = sent
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, parcel: SharedArguments, sent: _Sent[Item]) -> Future[Answer]:
        parts = [part for part in parcel.parts if part.name in sent.parts]
        names = tuple(part.name for part in parcel.parts)
        call = Call(software(), next(_numbers), parcel.name, names, tuple(part.name for part in parts), sent.request)
        try:
            return self.executor.submit(self.serve, call, *(part.argument(self.share) for part in parts))
        except RunError:
            raise
        except Exception as error:
            raise RunError(f"the cluster accepts no more work: {_described(error)}") from error

    def _answer(self, future: Future[Answer], parcel: SharedArguments, sent: _Sent[Item]) -> Done | None:
        """Return the answer of a call, or None if the call has to be sent again. Raises `RunError`."""
        try:
            answer = future.result()
        except CancelledError as error:  # by the executor: it has lost what the call needs together with a worker, or everything
            self.check()
            sent.lost += 1
            if sent.lost == _MAX_LOSSES:
                raise RunError(f"the cluster has cancelled the same work {_MAX_LOSSES} times and gives no reason") from error
            for part in parcel.parts:
                part.lose()
            sent.parts = {part.name for part in parcel.parts}
            return None
        except BrokenExecutor as error:
            raise RunError(f"a worker process ended during its work, and its pool with it: {error}") from error
        except Exception as error:
            self.check()
            raise RunError(f"a worker of the cluster failed: {_described(error)}") from error
        if isinstance(answer, Done):
            return answer
        if isinstance(answer, MissingArguments):
            sent.parts.update(answer.parts)
            return None
        assert isinstance(answer, Failed)
        sent.failed += 1
        if not answer.again or sent.failed == 2:
            raise RunError(f"worker {answer.worker}: {answer.text}")
        return None


_numbers = count()


def _described(error: BaseException) -> str:
    """Human-readable description of an error that other code has raised."""
    text = str(error).strip()
    if isinstance(error, (ImportError, AttributeError)):
        text += "; workers need the same version of gpualign as this machine"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
