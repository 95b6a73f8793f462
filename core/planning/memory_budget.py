"""Memory that a run may take beside what it compares. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass


@dataclass(frozen=True)
class Budget:
    """In bytes. results: for results on their way from an engine to the output; scratch: for what an engine itself takes; text: for text
    that is made of results by several threads (core/output/table.py)."""

    results: int
    scratch: int
    text: int = 0

    @classmethod
    def of(cls, memory: int) -> Budget:
        """The one place that decides how much of so many bytes is for what."""
        scratch, text = memory // 2, memory // 16
        return cls(memory - scratch - text, scratch, text)
