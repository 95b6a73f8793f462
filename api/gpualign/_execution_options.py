"""What calls have in common: device, threads, memory, progress, and whom notes go to."""

from __future__ import annotations

import logging
import math
import operator
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpualign.core.common.errors import InputError, InputWarning, for_python
from gpualign.jobs.devices.resources import Resources, checked_resources

if TYPE_CHECKING:
    from concurrent.futures import Executor

Progress = Callable[[int, int], object]
"""Told of the work that is done and of all there is: DP cells, or comparisons of calls."""

_log = logging.getLogger("gpualign")
_log.addHandler(logging.NullHandler())


class Log:
    """Notes go to the logger "gpualign": what was chosen, left out or found at INFO, how the work is done at DEBUG. Guesses about an
    input are an `InputWarning`."""

    def note(self, text: str) -> None:
        _log.info(for_python(text))

    def warn(self, text: str) -> None:
        warnings.warn(for_python(text), InputWarning, stacklevel=_levels_to_caller())

    def detail(self, text: str) -> None:
        _log.debug(for_python(text))


def _levels_to_caller() -> int:
    """Stack levels from `Log.warn` to the code that called gpualign."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gpualign":
        level, frame = level + 1, frame.f_back
    return level


LOG = Log()


class Reporter:
    """Tells a caller's function of progress."""

    def __init__(self, tell: Progress | None) -> None:
        self._tell = tell
        self._done = self._all = 0

    def expect(self, work: int) -> None:
        self._all += work

    def advance(self, work: int) -> None:
        self._done += work
        if self._tell is not None:
            self._tell(self._done, self._all)


def checked_count(name: str, given: int | None, least: int | None = None) -> int | None:
    """A whole number, of at least `least`, or None. Raises `InputError` for what is none."""
    if given is None:
        return None
    try:
        number = operator.index(given)
    except TypeError:
        raise InputError(f"{name} {given!r}: a whole number is wanted") from None
    if least is not None and number < least:
        raise InputError(f"{name} {number}: {least} or more is wanted")
    return number


def check_numbers(**given: float | None) -> None:
    """Raises `InputError` for what is neither None nor a number."""
    for name, one in given.items():
        if one is not None and math.isnan(_number(one)):
            raise InputError(f"{name} {one!r}: a number is wanted")


def checked_score(name: str, given: float | None) -> int | None:
    """The least score that passes a threshold, or None. Raises `InputError` for what is no finite number."""
    if given is None:
        return None
    if not math.isfinite(number := _number(given)):
        raise InputError(f"{name} {given!r}: a number is wanted")
    return math.ceil(number)


def _number(given: Any) -> float:
    """nan for what is none; text that says one is text."""
    try:
        return math.nan if isinstance(given, (str, bytes)) else float(given)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def resources(device: str, threads: int | None, memory: int | None, executor: Executor | None = None) -> Resources:
    """Checked; executor: whose workers compute. Raises `InputError` for what is no device, number of threads or bytes, or executor."""
    if not isinstance(device, str):
        raise InputError(f"device {device!r}: a name is wanted: auto, cpu, cuda, cuda:0 and so on")
    threads, memory = checked_count("threads", threads, 1), checked_count("memory", memory, 1)
    if executor is None:
        return checked_resources(device, threads, memory, LOG)
    if not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"executor {executor!r}: what has the interface of concurrent.futures.Executor is wanted (of Dask: client.get_executor())"
        )
    return replace(checked_resources(device, None, memory, LOG), executor=executor, worker_threads=threads)
