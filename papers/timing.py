"""Measures the time of repeated runs, and summarises it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from gpualign.core.common.dataclass import dataclass

_MAX_REPEAT_SECONDS = 20.0
"""Total time, in seconds, after which a measurement is not repeated again."""


@dataclass(frozen=True)
class Timing:
    """Timing of several runs, in seconds.

    median: median over the runs
    lower, upper: first and third quartile
    runs: number of runs
    """

    median: float
    lower: float
    upper: float
    runs: int


def summarise_times(seconds: list[float]) -> Timing:
    """Return the timing of one or more runs."""
    if len(seconds) < 2:
        return Timing(seconds[0], seconds[0], seconds[0], 1)
    lower, median, upper = statistics.quantiles(seconds, n=4, method="inclusive")
    return Timing(median, lower, upper, len(seconds))


def time_repeatedly(run_count: int, work: Callable[[int], float]) -> Timing:
    """Return the timing of up to `run_count` runs, after a warm-up run that is not counted.

    Fewer runs are made if they take too long in total.

    work: called with the number of the run, starting from 0; returns the time taken in seconds
    """
    work(0)
    start = time.perf_counter()
    seconds = []
    for k in range(run_count):
        seconds.append(work(k))
        if time.perf_counter() - start > _MAX_REPEAT_SECONDS:
            break
    return summarise_times(seconds)


def wall_seconds(action: Callable[[], object]) -> float:
    """Return the wall-clock time of an action in seconds."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


class KernelClock:
    """Adds up kernel times in seconds. Engines call it with the time of their launches, measured with events, and the amount of work."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, seconds: float, work: int) -> None:
        self.seconds += seconds

    def measure(self, action: Callable[[], object]) -> float:
        """Return the total kernel time during an action, in seconds."""
        self.seconds = 0.0
        action()
        return self.seconds
