"""The coordinator's side: calls to the workers of an executor, a bounded number at a time."""

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
"""That are on their way: one that the worker is at, the next one, with which it goes on, and one whose answer travels."""

AHEAD = 2
"""So many times the calls on their way may be between the oldest of them and the next one: their answers wait for that one."""

_UNKNOWN_WORKERS = 16
"""Taken to be there where an executor does not tell."""

_TRIES = 3
"""Of a call that is lost on its way, together with what others have lost. Of one that fails on a worker there are two."""

_LOOK_SECONDS = 5.0  # how often workers are counted


class Part:
    """Something that workers keep, pickled when the first of them lacks it."""

    def __init__(self, content: object) -> None:
        self.name = uuid.uuid4().hex
        self._content = content
        self._pickled: bytes | None = None
        self._shared: Any = None

    def argument(self, share: Callable[[bytes], Any] | None) -> Any:
        """What stands for it among the arguments of a call."""
        if self._shared is None:
            pickled = self._pickled or pickle.dumps(self._content, protocol=pickle.HIGHEST_PROTOCOL)
            if share is None:
                self._pickled = self._shared = pickled
            else:
                self._shared = share(pickled)
        return self._shared

    def lose(self) -> None:
        """It may not be where it was shared any more."""
        self._shared = None


@dataclass(frozen=True)
class SharedArguments:
    """Parts, by a name that no other parcel has."""

    name: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: Part) -> SharedArguments:
        return cls(uuid.uuid4().hex, parts)


class _Sent(Generic[Item]):
    """A call that has no answer yet. place: among those of its stream."""

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
    """Workers that serve calls.

    serve: what they run, as `Node.answer`; a function that a worker can import by its name. workers: counts them, None where that is not
    known; share: puts bytes where workers find them, and gives what stands for these among the arguments of a call; None: bytes go with
    the call. check: raises `RunError` where the executor has lost its workers for good. note: told of what a user would want to know.
    """

    executor: Executor
    serve: Callable[..., Answer]
    workers: Callable[[], int | None]
    share: Callable[[bytes], Any] | None = None
    check: Callable[[], None] = _unchecked
    note: Callable[[str], None] = lambda text: None

    def count(self) -> int:
        """Workers, at least 1."""
        found = self.workers()
        return _UNKNOWN_WORKERS if found is None else max(1, found)

    def ask(self, parcel: SharedArguments, request: Any) -> Any:
        """What one worker answers. Raises as `stream` does."""
        return next(self.stream(parcel, [request], lambda item: item, first=True))[1]

    def stream(
        self, parcel: SharedArguments, items: Iterable[Item], request: Callable[[Item], Any], first: bool = False
    ) -> Iterator[tuple[Item, Any]]:
        """(item, what a worker answers to its request) in the order of the answers. Items are taken as workers become free, and none long
        before earlier ones are answered. When the iterator is closed, finished or fails, what no worker has begun is cancelled, and the
        rest is not waited for. first: the parcel goes with the calls at once.

        Raises `RunError` where a worker fails twice at a call, has other software, or the executor fails.
        """
        source, following = iter(items), 0
        waiting: dict[Future[Answer], _Sent[Item]] = {}
        room, more, told = CALLS_A_WORKER * self.count(), True, False
        try:
            while True:
                oldest = min((sent.place for sent in waiting.values()), default=following)
                while more and len(waiting) < room and following < oldest + AHEAD * room:
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
                done, _ = wait(waiting, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                if not done:
                    self.check()
                    room = CALLS_A_WORKER * self.count()
                    if self.workers() == 0 and not told:
                        self.note("the cluster has no worker at the moment; waiting for one")
                        told = True
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
            raise RunError(f"the cluster takes no more work: {_described(error)}") from error

    def _answer(self, future: Future[Answer], parcel: SharedArguments, sent: _Sent[Item]) -> Done | None:
        """None: the call is to be sent again. Raises `RunError`."""
        try:
            answer = future.result()
        except CancelledError as error:  # by the executor: what the call needs was lost with a worker, or everything is
            self.check()
            sent.lost += 1
            if sent.lost == _TRIES:
                raise RunError(f"the cluster has cancelled the same work {_TRIES} times, and says no more") from error
            for part in parcel.parts:
                part.lose()
            sent.parts = {part.name for part in parcel.parts}
            return None
        except BrokenExecutor as error:
            raise RunError(f"a worker has ended in the middle of its work, and its pool with it: {error}") from error
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
    """An error of somebody else's code, for people."""
    text = str(error).strip()
    if isinstance(error, (ImportError, AttributeError)):
        text += "; workers need the same gpualign as this machine"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
