"""How far a run is: a bar on a terminal, a line a minute where there is none, and a line whenever SIGUSR1 asks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType

from gpualign.cli import signals

PERIOD = 60.0
"""Seconds between two lines, and before the first."""


class ProgressBar:
    """Work done (DP cells, comparisons), its rate and the time left.

    command: whose it is; unit, rate: what work is counted in, and how a billion of it a second is called. bar: draw one. tell: takes a line
    for people once in `PERIOD`. answer: takes the line that SIGUSR1 asks for, and may be called between any two steps of the program.
    """

    def __init__(self, work: int, unit: str, rate: str, bar: bool, tell: Callable[[str], None], answer: Callable[[str], None]) -> None:
        self._work = work
        self._unit = unit
        self._rate = rate
        self._shown = bar
        self._tell = tell
        self._answer = answer

    def __enter__(self) -> ProgressBar:
        self._start = self._told = time.perf_counter()
        self._done = 0
        if self._shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._work / 1e9,
                file=sys.stderr,
                leave=False,
                bar_format=f"{{percentage:3.0f}}% |{{bar}}| {{n:,.0f}}/{{total:,.0f}} G{self._unit}{{postfix}} [{{elapsed}}<{{remaining}}]",
            )
        signals.ask(lambda: self._answer(self.line()))
        return self

    def expect(self, work: int) -> None:
        """There is more to do than was said."""
        self._work += work
        if self._shown:
            self._bar.total += work / 1e9

    def advance(self, work: int) -> None:
        self._done += work
        now = time.perf_counter()
        if self._shown:
            rate = self._done / max(now - self._start, 1e-9) / 1e9
            self._bar.set_postfix_str(f"{rate:.1f} {self._rate}", refresh=False)
            self._bar.update(work / 1e9)
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
        return f"{text}, {self._done / max(seconds, 1e-9) / 1e9:.3g} {self._rate}, {_clock(left)} left"

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
