"""Stages of a run, and the interface that measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

STARTING, READING, PLANNING, COMPUTING, WRITING = "starting", "reading", "planning", "computing", "writing"
"""Stages of a run. A run is in exactly one stage at any time."""


class StageTimer(Protocol):
    """Measures how long each stage of a run takes."""

    def enter(self, stage: str, /) -> str:
        """Start a stage, and return the previous one."""

    def stage_seconds(self) -> Mapping[str, float]:
        """Return the seconds spent in each stage so far."""

    def within(self, stage: str, /) -> AbstractContextManager[None]:
        """Return a context that attributes the time spent in it to a stage, and then returns to the stage before."""
