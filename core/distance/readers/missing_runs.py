"""Runs of missing calls in the rows of an alignment. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.metrics import CountArray


@dataclass(frozen=True)
class MissingRuns:
    """Runs of missing calls in the rows of an alignment, over all sites of the alignment.

    ends: end of each row's runs in `runs`, int64[rows]
    runs: first site and last site + 1 of each run, uint32[runs][2]
    """

    ends: npt.NDArray[np.int64] = field(repr=False)
    runs: npt.NDArray[np.uint32] = field(repr=False)

    @classmethod
    def joined(cls, parts: Sequence[MissingRuns]) -> MissingRuns:
        """Return the runs of the rows of all parts."""
        lengths = np.concatenate([np.diff(part.ends, prepend=0) for part in parts])
        return cls(np.cumsum(lengths), np.concatenate([part.runs for part in parts]))

    def select(self, mask: npt.NDArray[np.bool_]) -> MissingRuns:
        """Return the runs of the rows that `mask` (bool[rows]) selects."""
        lengths = np.diff(self.ends, prepend=0)
        return MissingRuns(np.cumsum(lengths[mask]), self.runs[np.repeat(mask, lengths)])

    def count_missing(self, length: int) -> CountArray:
        """Return the number of rows without a call at each site: int64[length]."""
        changes = np.bincount(self.runs[:, 0], minlength=length + 1) - np.bincount(self.runs[:, 1], minlength=length + 1)
        return np.cumsum(changes[:length])

    def count_missing_at(self, chosen: npt.NDArray[np.uint8]) -> CountArray:
        """Return the number of chosen sites at which each row has no call: int64[rows]. chosen: 1 or 0, uint8[sites]."""
        before = np.append(0, np.cumsum(chosen, dtype=np.int64))
        missing = before[self.runs[:, 1]] - before[self.runs[:, 0]]
        up_to = np.append(0, np.cumsum(missing))
        return np.diff(up_to[self.ends], prepend=0)

    def mask_at(self, sites: npt.NDArray[np.uint32], first: int, last: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the missing calls of the rows [first, last) at some ascending sites: bool[rows][sites]."""
        start, stop = self.ends[first - 1] if first else 0, self.ends[last - 1] if last else 0
        runs = self.runs[start:stop]
        rows = np.repeat(np.arange(last - first), np.diff(self.ends[first:last], prepend=start))
        begin, end = np.searchsorted(sites, runs[:, 0]), np.searchsorted(sites, runs[:, 1])
        changes = np.zeros((last - first, len(sites) + 1), dtype=np.int8)
        has_sites = begin < end
        # No index is repeated, because the runs of a row do not touch.
        changes[rows[has_sites], begin[has_sites]] += 1
        changes[rows[has_sites], end[has_sites]] -= 1
        return np.cumsum(changes[:, :-1], axis=1, dtype=np.int8).view(np.bool_)
