"""Rectangle in the pair matrix."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Rect:
    """Queries [start, stop) against targets [first_target, target_stop)."""

    start: int
    stop: int
    first_target: int
    target_stop: int

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, targets)."""
        return self.stop - self.start, self.target_stop - self.first_target
