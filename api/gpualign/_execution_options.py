"""Options common to all functions: device, threads, memory and progress; and the log that receives notes."""

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
from gpualign.core.common.errors import InputError, InputWarning, python_message
from gpualign.core.sequences.ids import id_text
from gpualign.jobs.devices.resources import Resources, checked_resources

if TYPE_CHECKING:
    from concurrent.futures import Executor

ProgressCallback = Callable[[int, int], object]
"""Called with (work done, total work), in DP cells or call comparisons."""

_log = logging.getLogger("gpualign")
_log.addHandler(logging.NullHandler())


class Log:
    """Sends notes to the logger "gpualign": choices, omissions and findings at INFO, details of the computation at DEBUG. Guesses about
    an input are issued as `InputWarning`."""

    def note(self, text: str) -> None:
        _log.info(python_message(text))

    def warn(self, text: str) -> None:
        warnings.warn(python_message(text), InputWarning, stacklevel=_levels_to_caller())

    def detail(self, text: str) -> None:
        _log.debug(python_message(text))


def _levels_to_caller() -> int:
    """Return the number of stack levels from `Log.warn` to the code that called gpualign."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gpualign":
        level, frame = level + 1, frame.f_back
    return level


LOG = Log()


class ProgressReporter:
    """Reports progress to a function given by the caller. Raises `InputError` if the object given is not callable."""

    def __init__(self, on_progress: ProgressCallback | None) -> None:
        if on_progress is not None and not callable(on_progress):
            raise InputError(f"progress {_format_argument(on_progress)}: expected a function of the work done and of all work")
        self._on_progress = on_progress
        self._done = self._all = 0

    def expect(self, work: int) -> None:
        self._all += work

    def advance(self, work: int) -> None:
        self._done += work
        if self._on_progress is not None:
            self._on_progress(self._done, self._all)


_MAX_COUNT = (1 << 63) - 1
_DECIMALS = 12
"""Number of decimals of a fraction that a caller is taken to mean if it differs by a rounding error only."""

_MAX_SCORE = 1 << 62
"""Greater than any score."""

_MAX_SHOWN_CHARS = 60
"""Maximum number of characters of an invalid argument that a message shows."""


def _format_argument(value: object) -> str:
    """Return an argument as shown in messages: the `repr` if short and on one line, else only the type."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN_CHARS and "\n" not in text else f"({type(value).__name__})"


def checked_choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return `value` if it is one of the words in `known`. Raises `InputError` for anything else."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} {_format_argument(value)}: expected one of {', '.join(words)}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """Return the argument as a bool. Raises `InputError` for anything but True, False, 1 and 0."""
    if not isinstance(value, (bool, int, np.bool_)) or value not in (True, False):
        raise InputError(f"{name} {_format_argument(value)}: expected True or False")
    return bool(value)


def checked_items(name: str, value: Any, item_name: str) -> list[Any]:
    """Return the items of a list. item_name: name of the items in messages. Raises `InputError` for anything but a list of single
    items, for example for text."""
    if isinstance(value, (str, bytes)) or not is_iterable(value):
        raise InputError(f"{name} {_format_argument(value)}: expected a list of {item_name}")
    items = list(value)
    for item in items:
        if not isinstance(item, (str, bytes)) and is_iterable(item):
            raise InputError(f"{name}: expected a list of {item_name}; one of them is {_format_argument(item)}")
    return items


def checked_names(name: str, value: Any, item_name: str) -> tuple[str, ...]:
    """Return the items of a list as strings. Raises the same errors as `checked_items`, and `InputError` for a missing item (None, nan)."""
    items = checked_items(name, value, item_name)
    for number, item in enumerate(items):
        if is_missing(item):
            raise InputError(f"{name}: expected a list of {item_name}; item {number} is {item!r}")
    return tuple(map(id_text, items))


def checked_titles(name: str, value: Any, item_name: str = "titles") -> tuple[str, ...]:
    """Return titles of columns, given as a list or as text in which commas delimit them; none for None. Raises the same errors as
    `checked_items`, and `InputError` for text without titles. item_name: what the items are called in messages"""
    titles = [] if value is None else value.split(",") if isinstance(value, str) else checked_names(name, value, item_name)
    names = tuple(dict.fromkeys(title.strip() for title in titles if title.strip()))
    if isinstance(value, str) and not names:
        raise InputError(f"{name} {value!r}: expected {item_name}, with commas between several")
    return names


def is_iterable(value: Any) -> bool:
    """Return whether the object can be iterated over. False for zero-dimensional arrays, although they define `__iter__`."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def is_missing(cell: object) -> bool:
    """Return whether an object is None, nan, or pandas.NA, which compares neither equal nor unequal to anything."""
    if cell is None:
        return True
    unequal = cell != cell
    return not isinstance(unequal, (bool, np.bool_)) or bool(unequal)


def checked_identity_definition(value: Any) -> int:
    """Return `value` if it is a valid identity definition number. Raises `InputError` otherwise."""
    number = checked_count("identity_def", value)
    if number not in DEFINITIONS:
        raise InputError(f"identity_def {number}: expected a number from 0 to 4")
    return number


def checked_count(name: str, value: int | None, minimum: int | None = None) -> int | None:
    """Return `value`, as an int, or None for None. Raises `InputError` if it is not an integer, is less than `minimum` (None: no minimum),
    or has a magnitude above `_MAX_COUNT`."""
    if value is None:
        return None
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} {_format_argument(value)}: expected a whole number") from None
    if minimum is not None and number < minimum:
        raise InputError(f"{name} {number}: expected {minimum} or more")
    if abs(number) > _MAX_COUNT:
        raise InputError(f"{name} {number}: expected at most {_MAX_COUNT:,}")
    return number


def checked_number(name: str, value: float | None) -> float | None:
    """Return a number of any type as a float, integers as they are, and None for None. Raises `InputError` for anything else."""
    if value is None:
        return None
    if math.isnan(number := _to_float(value)):
        raise InputError(f"{name} {_format_argument(value)}: expected a number")
    return value if isinstance(value, int) else number


def checked_fraction(name: str, value: float | None) -> float | None:
    """Return a number as `checked_number` does, without the rounding error of arithmetic: 0.1 for 1 - 0.9, which is a little less."""
    number = checked_number(name, value)
    if number is None or isinstance(number, int):
        return number
    rounded = round(number, _DECIMALS)
    return rounded if rounded and abs(number - rounded) <= sys.float_info.epsilon else number


def checked_score(name: str, value: float | None) -> int | None:
    """Return the lowest integer score that reaches the threshold; None for None. Raises `InputError` for anything but a finite number."""
    if value is None:
        return None
    if not math.isfinite(number := _to_float(value)):
        raise InputError(f"{name} {_format_argument(value)}: expected a number")
    return max(-_MAX_SCORE, min(math.ceil(number), _MAX_SCORE))


def _to_float(value: Any) -> float:
    """Return the number, or nan for anything else, including text that spells a number. A float32 of 0.1 is 0.1, as NumPy prints it."""
    try:
        return math.nan if isinstance(value, (str, bytes)) else float(str(value) if isinstance(value, np.floating) else value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def make_resources(device: str, threads: int | None, memory: int | None, executor: Executor | None = None) -> Resources:
    """Return validated resources. executor: executor whose workers do the computing; None: this process does it.

    Raises `InputError` for an invalid device, number of threads, number of bytes or executor.
    """
    if not isinstance(device, str):
        raise InputError(f"device {_format_argument(device)}: expected a name: auto, cpu, cuda, cuda:0 and so on")
    threads, memory = checked_count("threads", threads, 1), checked_count("memory", memory, 1)
    if executor is None:
        return checked_resources(device, threads, memory, LOG)
    if not callable(getattr(executor, "submit", None)):
        raise InputError(
            f"executor {_format_argument(executor)}: expected the interface of concurrent.futures.Executor (Dask: client.get_executor())"
        )
    return replace(checked_resources(device, None, memory, LOG), executor=executor, worker_threads=threads)
