"""Cost of computing pairs of given lengths, in cells: DP cells of the pairs' matrices, or another unit of work. Pure."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpualign.core.common.arrays import Integers, Reals

Lengths = Integers


class Cost(Protocol):
    """Computes the cost of pairs for one kind of task.

    ignores_lengths: whether the cost depends only on the number of records, not on their lengths
    """

    ignores_lengths: bool

    def cumulative_cells(self, query_lengths: Lengths, target_lengths: Lengths) -> Reals:
        """Return the approximate number of cells for all queries with the first 0, 1, 2 ... targets: float64[targets + 1]. Work is split
        into tiles by these numbers."""

    def cells_by_query(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> Reals:
        """Return the approximate number of cells for each query: float64[queries].

        first_targets: for each query, the first target to include; all later targets are included too. If None, all targets are included
        """

    def cells(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> int:
        """Return the exact number of cells for all queries.

        first_targets: for each query, the first target to include; all later targets are included too. If it is the number of targets, no
            target is included. If None, all targets are included
        """


class FullMatrixCost:
    """Cost of computing each pair's full matrix: query length x target length cells."""

    ignores_lengths = False

    def cumulative_cells(self, query_lengths: Lengths, target_lengths: Lengths) -> Reals:
        # The lengths are added before they are multiplied, because adding integers takes a twentieth of the time.
        letters = np.zeros(len(target_lengths) + 1, dtype=np.int64)
        np.cumsum(target_lengths, out=letters[1:])
        return np.multiply(letters, float(query_lengths.sum()), dtype=np.float64)

    def cells_by_query(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> Reals:
        letters = target_lengths.sum() if first_targets is None else _length_suffix_sums(target_lengths)[first_targets]
        return query_lengths.astype(np.float64) * letters

    def cells(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> int:
        if first_targets is None:
            return int(query_lengths.sum()) * int(target_lengths.sum())
        letters_from = _length_suffix_sums(target_lengths)
        # With Python's integers: a sum of products can exceed 64 bits.
        return sum(a * b for a, b in zip(query_lengths.tolist(), letters_from[first_targets].tolist(), strict=True))


def _length_suffix_sums(lengths: Lengths) -> Lengths:
    """Return, for each record, the total length of this record and all later ones, followed by 0: int64[records + 1]."""
    return np.concatenate((np.cumsum(lengths[::-1])[::-1], [0]))


FULL_MATRIX_COST = FullMatrixCost()


class UnitPairCost:
    """Cost of work that examines pairs and rejects most of them immediately: one cell per pair."""

    ignores_lengths = True

    def cumulative_cells(self, query_lengths: Lengths, target_lengths: Lengths) -> Reals:
        return float(len(query_lengths)) * np.arange(len(target_lengths) + 1, dtype=np.float64)

    def cells_by_query(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> Reals:
        targets = len(target_lengths)
        return np.full(len(query_lengths), float(targets)) if first_targets is None else (targets - first_targets).astype(np.float64)

    def cells(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> int:
        targets = len(target_lengths)
        return len(query_lengths) * targets if first_targets is None else int((targets - first_targets).sum())


UNIT_PAIR_COST = UnitPairCost()


class BothStrandsCost:
    """Cost of comparing both strands of each query: twice the cost of one strand."""

    def __init__(self, strand_cost: Cost) -> None:
        self._one = strand_cost
        self.ignores_lengths = strand_cost.ignores_lengths

    def cumulative_cells(self, query_lengths: Lengths, target_lengths: Lengths) -> Reals:
        return 2 * self._one.cumulative_cells(query_lengths, target_lengths)

    def cells_by_query(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> Reals:
        return 2 * self._one.cells_by_query(query_lengths, target_lengths, first_targets)

    def cells(self, query_lengths: Lengths, target_lengths: Lengths, first_targets: Lengths | None = None) -> int:
        return 2 * self._one.cells(query_lengths, target_lengths, first_targets)
