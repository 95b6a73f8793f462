"""Measures the time of repeated work."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from gpualign.core.common.dataclass import dataclass

_LONG_ENOUGH = 20.0
"""Seconds after which work is not repeated again."""


@dataclass(frozen=True)
class Timing:
    """Seconds of several runs.

    median: of the runs
    lower, upper: quartiles around it
    runs: number of runs
    """

    median: float
    lower: float
    upper: float
    runs: int


def summarise(seconds: list[float]) -> Timing:
    """Return the timing of at least one run."""
    if len(seconds) < 2:
        return Timing(seconds[0], seconds[0], seconds[0], 1)
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return Timing(median, lower, upper, len(seconds))


def repeat(runs: int, work: Callable[[int], float]) -> Timing:
    """Time work(k), which returns its seconds, for k from 0 to `runs` - 1. A first run, of work(0), warms up and does not count."""
    work(0)
    start = time.perf_counter()
    seconds = []
    for k in range(runs):
        seconds.append(work(k))
        if time.perf_counter() - start > _LONG_ENOUGH:
            break
    return summarise(seconds)


def wall(action: Callable[[], object]) -> float:
    """Return the seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class KernelClock:
    """Adds up the seconds of kernels, by events, that engines report of their launches together with the work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, seconds: float, work: int) -> None:
        self.seconds += seconds

    def of(self, action: Callable[[], object]) -> float:
        """Return the seconds of kernels in an action."""
        self.seconds = 0.0
        action()
        return self.seconds
