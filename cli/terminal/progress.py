"""Progress of a run: a bar on a terminal, otherwise one line per minute; also a line whenever SIGUSR1 arrives."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType

from gpualign.core.common import signals
from gpualign.core.common.units import fitting_unit

REPORT_INTERVAL_SECONDS = 60.0
"""Seconds before the first line and between lines."""

_RATE_UNITS = {"cells": "CUPS", "pairs": " pairs/s", "comparisons": "/s"}
"""Rate unit for each unit of work."""


class ProgressBar:
    """Shows the work done (DP cells, comparisons), the rate and the time left.

    work: total work, 0 if not yet known
    unit: unit of the work, one of `_RATE_UNITS`
    show_bar: whether to draw a bar
    report_line: receives a human-readable line every `REPORT_INTERVAL_SECONDS` seconds
    write_answer: receives the line requested with SIGUSR1; may be called at any point in the program
    """

    def __init__(
        self, work: int, unit: str, show_bar: bool, report_line: Callable[[str], None], write_answer: Callable[[str], None]
    ) -> None:
        self._work = work
        self._unit = unit
        self._is_bar_shown = show_bar
        self._report_line = report_line
        self._write_answer = write_answer

    def __enter__(self) -> ProgressBar:
        self._start = self._reported = time.perf_counter()
        self._done = 0
        if self._is_bar_shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._work,
                file=sys.stderr,
                leave=False,
                desc=self._format_work(),
                bar_format="{percentage:3.0f}% |{bar}| {desc}{postfix} [{elapsed}<{remaining}]",
            )
        signals.set_progress_hook(lambda: self._write_answer(self.format_line()))
        return self

    def expect(self, work: int) -> None:
        """Add `work` to the total, or take away what turned out to be needless if it is negative."""
        self._work += work
        if self._is_bar_shown:
            self._bar.total = self._work

    def advance(self, work: int) -> None:
        """Add `work` to the work done, and show it."""
        self._done += work
        now = time.perf_counter()
        if self._is_bar_shown:
            self._bar.set_description_str(self._format_work(), refresh=False)
            self._bar.set_postfix_str(self._format_rate(now - self._start), refresh=False)
            self._bar.update(work)
        if now - self._reported >= REPORT_INTERVAL_SECONDS:
            self._reported = now
            self._report_line(self.format_line())

    def format_line(self) -> str:
        """Return the progress as a human-readable line."""
        seconds = time.perf_counter() - self._start
        if not self._work:
            return f"at work for {_format_duration(seconds)}"
        text = f"{min(1.0, self._done / self._work):.1%} done in {_format_duration(seconds)}"
        if not self._done:
            return text
        left = max(0, self._work - self._done) * seconds / self._done
        return f"{text}, {self._format_rate(seconds)}, {_format_duration(left)} left"

    def _format_work(self) -> str:
        size, prefix = fitting_unit(self._work)
        return f"{self._done / size:,.1f}/{self._work / size:,.1f} {prefix}{self._unit}"

    def _format_rate(self, seconds: float) -> str:
        rate = self._done / max(seconds, 1e-9)
        size, prefix = fitting_unit(rate)
        return f"{rate / size:.3g} {(prefix + _RATE_UNITS[self._unit]).lstrip()}"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        signals.set_progress_hook(None)
        if self._is_bar_shown:
            self._bar.close()


def write_now(text: str) -> None:
    """Write a line to stderr from a signal handler. Bypasses Python's buffer, which may contain part of a line, and erases any progress
    bar on the current terminal line."""
    start = "\r\033[K" if os.isatty(2) else ""
    try:
        os.write(2, f"{start}{text}\n".encode())
    except OSError:
        pass  # the terminal is gone


def _format_duration(seconds: float) -> str:
    """Return hours, minutes and seconds as H:MM:SS."""
    minutes, remaining = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{remaining:02}"
