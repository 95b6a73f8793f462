"""A rectangle in the pair matrix."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Rect:
    """Rectangle of the pairs of queries [start, stop) with targets [first_target, target_stop)."""

    start: int
    stop: int
    first_target: int
    target_stop: int

    @property
    def shape(self) -> tuple[int, int]:
        """(number of queries, number of targets)."""
        return self.stop - self.start, self.target_stop - self.first_target
