"""Memory budget for a distance run. Pure."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import TooLittleMemory


@dataclass(frozen=True)
class DistanceBudget:
    """Memory for each purpose, in bytes.

    reading_bytes: calls held while reading
    panel_bytes: calls that are converted to bit planes in one step
    plane_bytes: bit planes of all sites; any excess goes to a scratch file
    count_bytes: counts and distances for a band of pairs
    """

    reading_bytes: int
    panel_bytes: int
    plane_bytes: int
    count_bytes: int

    @classmethod
    def of(cls, memory: int, call_bytes: int = 0) -> DistanceBudget:
        """Divide `memory` bytes among the purposes. Calls that have already been read take up `call_bytes` of these bytes.

        Raises `TooLittleMemory` if the calls leave too little memory.
        """
        left = memory - call_bytes
        if left < memory // 4:
            problem = f"the memory budget is too small: the calls alone take {call_bytes:,} bytes of {memory:,}"
            # With more memory up to a quarter of it is taken by calls that now go to a file, and another must be left.
            raise TooLittleMemory(problem, call_bytes, available_bytes=memory // 2)
        return cls(memory // 4, left // 8, left // 2, left // 4)
