"""Memory that a run may take in addition to the data that it compares. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Budget:
    """Memory budget of a run, in bytes.

    results: for results in transit from an engine to the output
    scratch: for the engine itself
    text: for the text that several threads make of results (core/output/table.py)
    """

    results: int
    scratch: int
    text: int = 0

    @classmethod
    def of(cls, memory: int) -> Budget:
        """Divide `memory` bytes among the purposes. No other code decides on this."""
        scratch, text = memory // 2, memory // 16
        return cls(memory - scratch - text, scratch, text)
