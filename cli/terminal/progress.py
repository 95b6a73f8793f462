"""How far a run is: a bar on a terminal, a line a minute where there is none, and a line whenever SIGUSR1 asks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType

from gpualign.core.common import signals
from gpualign.core.common.units import fitting_unit

PERIOD = 60.0
"""Seconds between two lines, and before the first."""

_RATES = {"cells": "CUPS", "pairs": " pairs/s", "comparisons": "/s"}
"""How one of these a second is called."""


class ProgressBar:
    """Work done (DP cells, comparisons), its rate and the time left.

    unit: what work is counted in, one of `_RATES`. bar: draw one. tell: takes a line for people once in `PERIOD`. answer: takes the line
    that SIGUSR1 asks for, and may be called between any two steps of the program.
    """

    def __init__(self, work: int, unit: str, bar: bool, tell: Callable[[str], None], answer: Callable[[str], None]) -> None:
        self._work = work
        self._unit = unit
        self._shown = bar
        self._tell = tell
        self._answer = answer

    def __enter__(self) -> ProgressBar:
        self._start = self._told = time.perf_counter()
        self._done = 0
        if self._shown:
            from tqdm import tqdm

            # Of work that is not known yet, most is billions of cells.
            self._size, prefix = fitting_unit(self._work or 1e9)
            self._bar = tqdm(
                total=self._work / self._size,
                file=sys.stderr,
                leave=False,
                bar_format="{percentage:3.0f}% |{bar}| {n:,.1f}/{total:,.1f} " + prefix + self._unit + "{postfix} [{elapsed}<{remaining}]",
            )
        signals.ask(lambda: self._answer(self.line()))
        return self

    def expect(self, work: int) -> None:
        """There is more to do than was said."""
        self._work += work
        if self._shown:
            self._bar.total += work / self._size

    def advance(self, work: int) -> None:
        self._done += work
        now = time.perf_counter()
        if self._shown:
            self._bar.set_postfix_str(self._rate(now - self._start), refresh=False)
            self._bar.update(work / self._size)
        if now - self._told >= PERIOD:
            self._told = now
            self._tell(self.line())

    def line(self) -> str:
        """How far it is, for people."""
        seconds = time.perf_counter() - self._start
        if not self._work:
            return f"at work for {_clock(seconds)}"
        text = f"{min(1.0, self._done / self._work):.1%} done in {_clock(seconds)}"
        if not self._done:
            return text
        left = max(0, self._work - self._done) * seconds / self._done
        return f"{text}, {self._rate(seconds)}, {_clock(left)} left"

    def _rate(self, seconds: float) -> str:
        rate = self._done / max(seconds, 1e-9)
        size, prefix = fitting_unit(rate)
        return f"{rate / size:.3g} {(prefix + _RATES[self._unit]).lstrip()}"

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        signals.ask(None)
        if self._shown:
            self._bar.close()


def write_now(text: str) -> None:
    """A line on stderr, from wherever a signal comes: past Python's own buffer, which may be in the midst of a line. What a bar has drawn
    in this line of a terminal goes."""
    start = "\r\033[K" if os.isatty(2) else ""
    try:
        os.write(2, f"{start}{text}\n".encode())
    except OSError:
        pass  # the terminal has gone away


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
