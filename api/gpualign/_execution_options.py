"""What calls have in common: device, threads, memory, progress, and whom notes go to."""

from __future__ import annotations

import logging
import math
import operator
import sys
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign.core.alignment.identity import DEFINITIONS
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
    """Tells a caller's function of progress. Raises `InputError` for what is no function."""

    def __init__(self, tell: Progress | None) -> None:
        if tell is not None and not callable(tell):
            raise InputError(f"progress {_shown(tell)}: expected a function of the work done and of all work")
        self._tell = tell
        self._done = self._all = 0

    def expect(self, work: int) -> None:
        self._all += work

    def advance(self, work: int) -> None:
        self._done += work
        if self._tell is not None:
            self._tell(self._done, self._all)


_LARGEST = (1 << 63) - 1
_HIGHEST = 1 << 62
"""Above every score."""

_SHOWN = 60
"""Characters of a wrong argument that a message shows."""


def _shown(given: object) -> str:
    """An argument, for a message: numbers and text as they are written, the type of anything else that is long."""
    text = repr(given)
    return text if len(text) <= _SHOWN and "\n" not in text else f"({type(given).__name__})"


def checked_choice(name: str, given: Any, known: Iterable[str]) -> str:
    """One of the known words. Raises `InputError` for anything else."""
    words = list(known)
    if not isinstance(given, str) or given not in words:
        raise InputError(f"{name} {_shown(given)}: {', '.join(words)} are known")
    return given


def checked_flag(name: str, given: Any) -> bool:
    """True or False. Raises `InputError` for what is neither, nor 1 or 0."""
    if not isinstance(given, (bool, int, np.bool_)) or given not in (True, False):
        raise InputError(f"{name} {_shown(given)}: expected True or False")
    return bool(given)


def checked_items(name: str, given: Any, what: str) -> list[Any]:
    """The items of a list; what: they are, for messages. Raises `InputError` for what is no list, such as a single text."""
    if isinstance(given, (str, bytes)) or not is_iterable(given):
        raise InputError(f"{name} {_shown(given)}: expected a list of {what}")
    items = list(given)
    for item in items:
        if not isinstance(item, (str, bytes)) and is_iterable(item):
            raise InputError(f"{name}: expected a list of {what}; one of them is {_shown(item)}")
    return items


def checked_names(name: str, given: Any, what: str) -> tuple[str, ...]:
    """The items as text. Raises as `checked_items` does."""
    return tuple(map(str, checked_items(name, given, what)))


def is_iterable(given: Any) -> bool:
    """Tell whether there are items. An array without dimensions has the methods, but none."""
    try:
        iter(given)
    except TypeError:
        return False
    return True


def checked_definition(given: Any) -> int:
    """The number of a definition of identity. Raises `InputError` for any other."""
    number = checked_count("identity_def", given)
    if number not in DEFINITIONS:
        raise InputError(f"identity_def {number}: a number from 0 to 4 is wanted")
    return number


def checked_count(name: str, given: int | None, least: int | None = None) -> int | None:
    """A whole number, of at least `least`, or None. Raises `InputError` for what is none."""
    if given is None:
        return None
    try:
        number = operator.index(given)
    except TypeError:
        raise InputError(f"{name} {_shown(given)}: a whole number is wanted") from None
    if least is not None and number < least:
        raise InputError(f"{name} {number}: {least} or more is wanted")
    if abs(number) > _LARGEST:
        raise InputError(f"{name} {number}: at most {_LARGEST:,} is possible")
    return number


def check_numbers(**given: float | None) -> None:
    """Raises `InputError` for what is neither None nor a number."""
    for name, one in given.items():
        if one is not None and math.isnan(_number(one)):
            raise InputError(f"{name} {_shown(one)}: a number is wanted")


def checked_score(name: str, given: float | None) -> int | None:
    """The least score that passes a threshold, or None. Raises `InputError` for what is no finite number."""
    if given is None:
        return None
    if not math.isfinite(number := _number(given)):
        raise InputError(f"{name} {_shown(given)}: a number is wanted")
    return max(-_HIGHEST, min(math.ceil(number), _HIGHEST))


def _number(given: Any) -> float:
    """nan for what is none; text that says one is text."""
    try:
        return math.nan if isinstance(given, (str, bytes)) else float(given)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def resources(device: str, threads: int | None, memory: int | None, executor: Executor | None = None) -> Resources:
    """Checked; executor: whose workers compute. Raises `InputError` for what is no device, number of threads or bytes, or executor."""
    if not isinstance(device, str):
        raise InputError(f"device {_shown(device)}: a name is wanted: auto, cpu, cuda, cuda:0 and so on")
    threads, memory = checked_count("threads", threads, 1), checked_count("memory", memory, 1)
    if executor is None:
        return checked_resources(device, threads, memory, LOG)
    if not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"executor {_shown(executor)}: what has the interface of concurrent.futures.Executor is wanted (of Dask: client.get_executor())"
        )
    return replace(checked_resources(device, None, memory, LOG), executor=executor, worker_threads=threads)
