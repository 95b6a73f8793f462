"""Memory that a run may use in addition to the data being compared. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Budget:
    """Memory budget for a run, in bytes.

    result_bytes: memory for results in transit from an engine to the output
    scratch_bytes: memory for the engine itself
    text_bytes: memory for results formatted as text by several threads (core/output/table.py)
    """

    result_bytes: int
    scratch_bytes: int
    text_bytes: int = 0

    @classmethod
    def from_total(cls, memory: int) -> Budget:
        """Return a budget that divides `memory` bytes among the three purposes. No other code decides how memory is divided."""
        scratch, text = memory // 2, memory // 16
        return cls(memory - scratch - text, scratch, text)
