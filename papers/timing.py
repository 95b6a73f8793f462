"""Times of repeated work."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from gpualign.core.common.dataclass import dataclass

_LONG_ENOUGH = 20.0
"""Seconds after which work is not repeated again."""


@dataclass(frozen=True)
class Timing:
    """Seconds: the median of some runs, and the quartiles around it."""

    median: float
    lower: float
    upper: float
    runs: int


def summarise(seconds: list[float]) -> Timing:
    """Of at least one run."""
    if len(seconds) < 2:
        return Timing(seconds[0], seconds[0], seconds[0], 1)
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return Timing(median, lower, upper, len(seconds))


def repeat(runs: int, work: Callable[[int], float]) -> Timing:
    """Of work(k), which gives its seconds, for k from 0 to `runs` - 1; a first run, of work(0), warms up and does not count."""
    work(0)
    begun = time.perf_counter()
    found = []
    for k in range(runs):
        found.append(work(k))
        if time.perf_counter() - begun > _LONG_ENOUGH:
            break
    return summarise(found)


def wall(action: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class KernelClock:
    """Adds up what engines tell of their launches: seconds by events, and work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, seconds: float, work: int) -> None:
        self.seconds += seconds

    def of(self, action: Callable[[], object]) -> float:
        """Seconds of kernels in an action."""
        self.seconds = 0.0
        action()
        return self.seconds
