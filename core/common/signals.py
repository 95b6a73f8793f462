"""Handles signals that end a run. The run can end at any moment, with a message and an exit code, and leaves nothing half-written.

The exit code is 130 for SIGINT, and 143 for SIGTERM and SIGHUP. As long as there is nothing to clean up, the process ends immediately,
because an exception during an import or in library code can be swallowed or replaced by another. Within `cleanup_on_signal()`, a signal
raises the exception `Stopped` instead. The signal may arrive before a function starts to clean up, so the command calls `run_cleanups()`
at its end for the remaining cleanups. A second signal is ignored during the first few seconds after the first, and later ends the cleanup.
If the process was started to ignore a signal (`nohup`, a background job), the signal remains ignored. Before `install_handlers()`, in the
few milliseconds of startup, Python itself handles signals.

SIGUSR1 does not end the run: it asks for the run's progress (`set_progress_hook`), and is ignored as long as there is nothing to report.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ClassVar

_SIGNAL_VERBS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_EXIT_CODES = {"SIGINT": 130, "SIGHUP": 143, "SIGTERM": 143}
_PROGRESS_SIGNAL = getattr(signal, "SIGUSR1", None)  # not every system has it
GRACE_SECONDS = 2.0
"""Number of seconds after the first signal during which a second signal does not interrupt the cleanup."""


class Stopped(BaseException):
    """Raised when a signal ends the run. It is not an error: code that handles errors must not catch it."""


class _State:
    cleaners: ClassVar[list[Callable[[], object]]] = []
    signal_name: str | None = None
    signal_time = 0.0
    was_repeated = False
    resume_hint: str | None = None
    is_output_complete = False
    deferral_depth = 0
    pending_signal: int | None = None
    can_report_progress = False
    progress_hook: Callable[[], None] | None = None
    exit_message_hook: Callable[[str], None] | None = None


def install_handlers() -> None:
    """Make signals end the run as the module docstring describes. Must be called in the main thread, before slow imports."""
    for name in _EXIT_CODES:
        number = getattr(signal, name, None)  # not every system has SIGHUP
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    if _PROGRESS_SIGNAL is not None and signal.getsignal(_PROGRESS_SIGNAL) is signal.SIG_DFL:  # which would kill the process
        # Ignored rather than handled: processes of a cluster that are started now ignore it too, and no system call is interrupted.
        signal.signal(_PROGRESS_SIGNAL, signal.SIG_IGN)
        _State.can_report_progress = True


def set_progress_hook(hook: Callable[[], None] | None) -> None:
    """Set the function that reports the progress of the run when SIGUSR1 arrives; None removes the function.

    It is called in the main thread, whatever that thread is doing. Has no effect before `install_handlers`, or if the process was started
    to ignore the signal.
    """
    _State.progress_hook = hook
    if (
        hook is not None
        and _PROGRESS_SIGNAL is not None
        and _State.can_report_progress
        and signal.getsignal(_PROGRESS_SIGNAL) is signal.SIG_IGN
    ):
        signal.signal(
            _PROGRESS_SIGNAL, _report_progress
        )  # never removed: a signal that comes while the handler is removed would be an error


def _report_progress(number: int, frame: FrameType | None) -> None:
    if (hook := _State.progress_hook) is not None:
        hook()


def ignore_signals() -> None:
    """Ignore signals from now on, because the exit code is already decided.

    While Python shuts down, it restores the default action of every signal that has a handler function. Without this call, a signal that
    arrives then would kill the process.
    """
    for name in (*_EXIT_CODES, "SIGUSR1"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_IGN)


def _stop(number: int, frame: FrameType | None) -> None:
    if _State.is_output_complete:
        return  # everything is done, and the process is about to end
    if _State.deferral_depth:
        if _State.pending_signal is None:
            _State.pending_signal = number
        return
    if _State.signal_name is not None:
        if time.monotonic() - _State.signal_time < GRACE_SECONDS:
            return
        _State.was_repeated = True
    _State.signal_name, _State.signal_time = signal.Signals(number).name, time.monotonic()
    if _State.cleaners:
        raise Stopped
    message, code = exit_message_and_code() or ("", 1)
    text = f"gpualign: error: {message}"
    try:
        os.write(2, f"{text}\n".encode())
    except OSError:
        pass  # the terminal was closed
    if _State.exit_message_hook is not None:
        _State.exit_message_hook(text)
    os._exit(code)


@contextmanager
def cleanup_on_signal(cleaner: Callable[[], object]) -> Iterator[None]:
    """Make signals that arrive within this context raise `Stopped`, and register a cleanup for `run_cleanups`.

    cleaner: cleans up, or finishes a cleanup that was interrupted. It is called even if the caller cleans up itself, because a
        signal may arrive before the caller's cleanup begins, and a second signal may interrupt that cleanup
    """
    _State.cleaners.append(cleaner)
    try:
        yield
    finally:
        if _State.signal_name is None:
            _State.cleaners.remove(cleaner)


def run_cleanups() -> None:
    """Run the remaining cleanups after a signal has ended the run. A signal that arrives while they run ends the process immediately.

    The cleanups are skipped if a second signal has arrived, because the user does not want to wait.
    """
    if _State.signal_name is None:
        return
    cleaners, _State.cleaners = _State.cleaners, []
    if _State.was_repeated:
        return
    for cleaner in reversed(cleaners):
        with suppress(Exception):  # the run has ended; another error, such as a full disk, does not matter any more
            cleaner()


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals until the end of this context, so that they do not interrupt steps that belong together."""
    _State.deferral_depth += 1
    try:
        yield
    finally:
        _State.deferral_depth -= 1
        if not _State.deferral_depth and _State.pending_signal is not None:
            number, _State.pending_signal = _State.pending_signal, None
            _stop(number, None)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block signals while finished files are renamed into place, so that all of them are renamed. Signals that arrive later are ignored."""
    numbers = [getattr(signal, name) for name in _EXIT_CODES if hasattr(signal, name)]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        with signals_deferred():  # the mask holds for this thread, and the system delivers a signal to any thread
            yield
            _State.is_output_complete = True
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def exit_message_and_code() -> tuple[str, int] | None:
    """Return (message, exit code) for the signal that ended the run, or None if no signal did.

    The result does not depend on whether another exception has meanwhile replaced `Stopped`.
    """
    if _State.signal_name is None:
        return None
    resume_hint = _State.resume_hint or "no output file was written. Run the same command again."
    return f"{_SIGNAL_VERBS[_State.signal_name]}; {resume_hint}", _EXIT_CODES[_State.signal_name]


def set_exit_message_hook(hook: Callable[[str], None]) -> None:
    """Register a function that also receives the exit message when a signal ends the process immediately."""
    _State.exit_message_hook = hook


def set_resume_hint(text: str) -> None:
    """Set the resume hint: the part of the exit message that tells how to resume the run from the files that it leaves."""
    _State.resume_hint = text


def resume_hint_suffix() -> str:
    """Return the resume hint with a leading semicolon, ready to be appended to a message; "" if there is no hint."""
    return f"; {_State.resume_hint}" if _State.resume_hint else ""
