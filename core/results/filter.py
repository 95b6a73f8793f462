"""Thresholds: which pairs are written. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.identity import fraction
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results.blocks import Block

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairs


@dataclass(frozen=True)
class Filter:
    """Pairs that are written: min_score <= score <= max_score, identity >= min_identity, 1 - identity <= max_distance, and of
    either sequence a fraction of min_coverage or more of its letters in pairs, equal or unequal; None is no bound. groups: of records,
    whose pairs are wanted or not.

    nearest: of each query only so many of them, the nearest first: by distance or identity where those are bounded, else by score; of equal
    ones the first of the file. Blocks then hold all pairs of their queries. same: query i and target i are one record, which is not its
    own neighbour.
    """

    min_score: int | None = None
    max_score: int | None = None
    min_identity: float | None = None
    max_distance: float | None = None
    min_coverage: float | None = None
    nearest: int | None = None
    same: bool = False
    groups: GroupPairs | None = None

    @property
    def by_statistics(self) -> bool:
        """Whether more than scores decides."""
        return any(bound is not None for bound in (self.min_identity, self.max_distance, self.min_coverage))

    @property
    def identity(self) -> float | None:
        """The identity that a pair has at least if it passes."""
        bounds = [self.min_identity, None if self.max_distance is None else 1 - self.max_distance]
        return max((bound for bound in bounds if bound is not None), default=None)

    def mask(self, block: Block) -> Booleans | None:
        """Which pairs of a block; None where every one is written."""
        if self == Filter():
            return None
        found = block.scores
        mask = np.ones(found.shape, dtype=bool)
        if self.groups is not None:
            mask &= self.groups.selects(block.query_records, block.target_records)
        if self.min_score is not None:
            mask &= found >= self.min_score
        if self.max_score is not None:
            mask &= found <= self.max_score
        if self.min_identity is not None:
            mask &= block.identity_fraction >= self.min_identity
        if self.max_distance is not None:
            mask &= block.distance_fraction <= self.max_distance
        if self.min_coverage is not None:
            mask &= fraction(*block.paired) >= self.min_coverage
        return mask if self.nearest is None else self._nearest(block, block.selected(mask), self.nearest)

    def _nearest(self, block: Block, mask: Booleans, most: int) -> Booleans:
        """Of the pairs to keep, the `most` nearest of each query."""
        queries, targets = block.written_records(mask)
        if self.same:
            mask[mask] = queries != targets
            queries, targets = block.written_records(mask)
        if self.identity is not None:
            far: npt.NDArray[Any] = -block.identity_fraction[mask]
        else:
            far = block.scores[mask] if block.task.scoring.edit else -block.scores[mask].astype(np.int64)
        order = np.lexsort((targets, far, queries))
        ordered = queries[order]
        place = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # among the pairs of its query
        chosen = np.zeros(len(order), dtype=np.bool_)
        chosen[order] = place < most
        mask[mask] = chosen
        return mask
