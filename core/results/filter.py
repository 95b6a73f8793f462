"""Thresholds that select the pairs to write. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.identity import fraction
from gpualign.core.alignment.task import Detail
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results.blocks import Block

if TYPE_CHECKING:
    from gpualign.core.planning.group_pairs import GroupPairSelector


@dataclass(frozen=True)
class Filter:
    """Conditions that pairs must meet to be written. None means no bound.

    min_score, max_score: bounds on the score, inclusive
    min_identity: minimum identity
    max_distance: maximum distance, which is 1 - identity
    min_coverage: minimum fraction of a sequence's letters that are aligned with a letter, equal or not
    coverage_of: sequence to which `min_coverage` applies
    nearest_count: number of pairs to write per query, nearest first. Pairs are compared by distance or identity if either is bounded, else
        by score; ties are broken by file order. Each block must then hold all pairs of its queries
    one_set: whether query i and target i are the same record; a record is then not counted among its own nearest records
    groups: groups of records that determine which pairs are written; None: all pairs
    """

    min_score: int | None = None
    max_score: int | None = None
    min_identity: float | None = None
    max_distance: float | None = None
    min_coverage: float | None = None
    coverage_of: CoveredSequence = CoveredSequence.BOTH
    nearest_count: int | None = None
    one_set: bool = False
    groups: GroupPairSelector | None = None

    @property
    def needs_statistics(self) -> bool:
        """True if any condition depends on values other than scores."""
        return any(bound is not None for bound in (self.min_identity, self.max_distance, self.min_coverage))

    @property
    def detail(self) -> Detail:
        """How much of each alignment the conditions need."""
        return Detail.STATISTICS if self.needs_statistics else Detail.SCORE

    @property
    def lowest_identity(self) -> float | None:
        """Lowest identity of pairs that pass, or None if identity is not bounded."""
        bounds = [self.min_identity, None if self.max_distance is None else 1 - self.max_distance]
        return max((bound for bound in bounds if bound is not None), default=None)

    def mask(self, block: Block) -> Booleans | None:
        """Return a mask of the pairs in a block that are written; None if all are written."""
        if self == Filter():
            return None
        scores = block.scores
        mask = np.ones(scores.shape, dtype=bool)
        if self.groups is not None:
            mask &= self.groups.selection_mask(block.query_record_numbers, block.target_record_numbers)
        if self.min_score is not None:
            mask &= scores >= self.min_score
        if self.max_score is not None:
            mask &= scores <= self.max_score
        if self.min_identity is not None:
            mask &= block.identity_fraction >= self.min_identity
        if self.max_distance is not None:
            mask &= block.identity_distance <= self.max_distance
        if self.min_coverage is not None:
            mask &= fraction(*block.paired_letter_counts(self.coverage_of)) >= self.min_coverage
        if self.nearest_count is not None:
            return self._nearest_mask(block, block.output_mask(mask), self.nearest_count)
        return None if mask.all() else mask  # most near pairs were found by the same thresholds

    def _nearest_mask(self, block: Block, mask: Booleans, limit: int) -> Booleans:
        """Return a mask of the pairs in `mask` that are among the `limit` nearest pairs of their query."""
        queries, targets = block.written_record_numbers(mask)
        if self.one_set:
            mask[mask] = queries != targets
            queries, targets = block.written_record_numbers(mask)
        if self.lowest_identity is not None:
            farness: npt.NDArray[Any] = -block.identity_fraction[mask]
        else:
            farness = block.scores[mask] if block.task.scoring.edit else -block.scores[mask].astype(np.int64)
        order = np.lexsort((targets, farness, queries))
        ordered = queries[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # among the pairs of its query
        chosen = np.zeros(len(order), dtype=np.bool_)
        chosen[order] = rank < limit
        mask[mask] = chosen
        return mask
