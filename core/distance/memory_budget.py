"""Memory that a run of distances may take. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory


@dataclass(frozen=True)
class DistanceBudget:
    """In bytes. reading: calls that are held while they are read; panel: calls that become bit planes at a time; planes: bit planes of all
    sites, beyond which they go to a scratch file; counts: of a band of pairs, with their distances."""

    reading: int
    panel: int
    planes: int
    counts: int

    @classmethod
    def of(cls, memory: int, calls: int = 0) -> DistanceBudget:
        """The one place that decides how much of `memory` bytes is for what, when the calls that were read take so many of them.

        Raises `TooLittleMemory` where they leave too little.
        """
        left = memory - calls
        if left < memory // 4:
            raise TooLittleMemory(f"the memory budget is too small: the calls alone take {calls:,} bytes of {memory:,}", calls)
        return cls(memory // 4, left // 8, left // 2, left // 4)
