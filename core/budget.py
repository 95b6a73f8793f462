"""Memory that a run may take beside what it compares. Pure."""

from __future__ import annotations

from gpualign.core.dataclass import dataclass


@dataclass(frozen=True)
class Budget:
    """In bytes. results: for results on their way from an engine to the output; scratch: for what an engine itself takes."""

    results: int
    scratch: int

    @classmethod
    def of(cls, memory: int) -> Budget:
        """The one place that decides how much of so many bytes is for what."""
        return cls(memory - memory // 2, memory // 2)
