"""Time per stage of a run. A run is in exactly one stage at any time, so that the seconds add up to the total."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpualign.jobs.output.stages import COMPUTING, PLANNING, READING, STARTING, WRITING


class RunStageTimer:
    """Stage timer of a run. Computation in other threads and devices overlaps with writing: only the time spent waiting for results
    counts as computing."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys((STARTING, READING, PLANNING, COMPUTING, WRITING), 0.0)
        self._stage, self._since = STARTING, time.perf_counter()

    def enter(self, stage: str) -> str:
        """Start a stage, and return the previous one."""
        before, now = self._stage, time.perf_counter()
        self._seconds[before] += now - self._since
        self._stage, self._since = stage, now
        return before

    @contextmanager
    def within(self, stage: str) -> Iterator[None]:
        """Attribute the time spent in the body to `stage`."""
        before = self.enter(stage)
        try:
            yield
        finally:
            self.enter(before)

    def stage_seconds(self) -> dict[str, float]:
        """Return the seconds spent in each stage so far."""
        self.enter(self._stage)
        return dict(self._seconds)
