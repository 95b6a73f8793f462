"""Memory budget of a run of distances. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory


@dataclass(frozen=True)
class DistanceBudget:
    """Memory for each purpose, bytes.

    reading: calls that are held while they are read
    panel: calls that are turned into bit planes at a time
    planes: bit planes of all sites; what exceeds it goes to a scratch file
    counts: counts of a band of pairs, with their distances
    """

    reading: int
    panel: int
    planes: int
    counts: int

    @classmethod
    def of(cls, memory: int, calls: int = 0) -> DistanceBudget:
        """Divide `memory` bytes, of which the calls that were read take `calls`. No other place decides this.

        Raises `TooLittleMemory` if the calls leave too little.
        """
        left = memory - calls
        if left < memory // 4:
            raise TooLittleMemory(f"the memory budget is too small: the calls alone take {calls:,} bytes of {memory:,}", calls)
        return cls(memory // 4, left // 8, left // 2, left // 4)
