"""Signals that end a run: at any moment a message and an exit code, and nothing half-written.

SIGINT ends with 130, SIGTERM and SIGHUP with 143. As long as nothing has to be put away the process ends on the spot, because an exception
in the middle of an import, or of a library's own code, can be swallowed or come out as another one. Within `cleaning_up()` a signal is the
exception `Stopped` instead; it may come in the first step of the very function that puts things away, so the command's end calls
`run_cleanups()` for what is left. A second signal is heard when the first is some seconds old, and ends the putting away. A signal that the
process was started to ignore (`nohup`, a background job) stays ignored. What comes before `install()`, in the few milliseconds in which
Python itself starts, is Python's to answer.

SIGUSR1 ends nothing: it asks how far the run is (`ask`), and is ignored as long as there is nothing to say.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ClassVar

_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_CODES = {"SIGINT": 130, "SIGHUP": 143, "SIGTERM": 143}
_ASKING = getattr(signal, "SIGUSR1", None)  # not every system has it
_PATIENCE = 2.0
"""Seconds in which a second signal does not disturb the cleaning up after the first."""


class Stopped(BaseException):
    """A signal came. No error: nothing that handles errors is to catch it."""


class _State:
    cleaners: ClassVar[list[Callable[[], object]]] = []
    name: str | None = None
    since = 0.0
    heard_again = False
    advice: str | None = None
    written = False
    postponing = 0
    pending: int | None = None
    asked = False
    answer: Callable[[], None] | None = None
    told: Callable[[str], None] | None = None


def install() -> None:
    """From now on signals end the run as described above. For the main thread, before anything is imported that takes time."""
    for name in _CODES:
        number = getattr(signal, name, None)  # not every system has SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    if _ASKING is not None and signal.getsignal(_ASKING) is signal.SIG_DFL:  # which would kill the process
        # Ignored, and not handled: so it is by the processes of a cluster that are started now, and no system call is cut short.
        signal.signal(_ASKING, signal.SIG_IGN)
        _State.asked = True


def ask(answer: Callable[[], None] | None) -> None:
    """What SIGUSR1 calls from now on, in the main thread between any two of its steps; None: nothing. It does so where `install` has been
    called, and the process was not started to ignore the signal."""
    _State.answer = answer
    if answer is not None and _ASKING is not None and _State.asked and signal.getsignal(_ASKING) is signal.SIG_IGN:
        signal.signal(_ASKING, _answer)  # it stays: a signal that comes while a handler goes away would be an error


def _answer(number: int, frame: FrameType | None) -> None:
    if (answer := _State.answer) is not None:
        answer()


def finished() -> None:
    """The exit code is known: a signal comes too late. (While it ends, Python gives back its default to every signal that a function
    handles, and one that comes then would kill the process.)"""
    for name in (*_CODES, "SIGUSR1"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    if _State.written:
        return  # all is done, and the process about to end
    if _State.postponing:
        if _State.pending is None:
            _State.pending = number
        return
    if _State.name is not None:
        if time.monotonic() - _State.since < _PATIENCE:
            return
        _State.heard_again = True
    _State.name, _State.since = signal.Signals(number).name, time.monotonic()
    if _State.cleaners:
        raise Stopped
    message, code = ending() or ("", 1)
    text = f"gpualign: error: {message}"
    try:
        os.write(2, f"{text}\n".encode())
    except OSError:
        pass  # the terminal has gone away
    if _State.told is not None:
        _State.told(text)
    os._exit(code)


@contextmanager
def cleaning_up(cleaner: Callable[[], object]) -> Iterator[None]:
    """While something has to be put away when a signal comes. cleaner: does so, or what is left of it: when a signal has come, whoever puts
    away may have been stopped in it, or before its first step, so `run_cleanups` calls the cleaner behind it."""
    _State.cleaners.append(cleaner)
    try:
        yield
    finally:
        if _State.name is None:
            _State.cleaners.remove(cleaner)


def run_cleanups() -> None:
    """What is left to put away when a signal has ended the run, if none has come again: then somebody is tired of waiting for just that.
    One that comes now ends the process on the spot."""
    if _State.name is None:
        return
    cleaners, _State.cleaners = _State.cleaners, []
    if _State.heard_again:
        return
    for cleaner in reversed(cleaners):
        with suppress(Exception):  # the run has ended; a disk that is full too may say so
            cleaner()


@contextmanager
def signals_deferred() -> Iterator[None]:
    """For steps that belong together: a signal waits for the last of them."""
    _State.postponing += 1
    try:
        yield
    finally:
        _State.postponing -= 1
        if not _State.postponing and _State.pending is not None:
            number, _State.pending = _State.pending, None
            _stop(number, None)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """For the moment in which finished files take their names: all of them do, and a signal then comes too late."""
    numbers = [getattr(signal, name) for name in _CODES if hasattr(signal, name)]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        with signals_deferred():  # the mask is this thread's, and the system gives a signal to any thread
            yield
            _State.written = True
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ending() -> tuple[str, int] | None:
    """(message, exit code) of the signal that came, or None. Whatever exception it has become on its way, this is what ended the run."""
    if _State.name is None:
        return None
    advice = _State.advice or "no output file was written. Run the same command to start again."
    return f"{_WORDS[_State.name]}; {advice}", _CODES[_State.name]


def set_exit_message_hook(told: Callable[[str], None]) -> None:
    """Who is also told the message with which a signal ends the process on the spot."""
    _State.told = told


def advise(text: str) -> None:
    """How to go on with what this run leaves behind, for the message with which it ends."""
    _State.advice = text


def advice() -> str:
    """That, as the end of another message; nothing where nothing is left."""
    return f"; {_State.advice}" if _State.advice else ""
