"""Rule that every engine uses to select pairs from their counts, and the selected pairs. Pure."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass

if TYPE_CHECKING:
    from gpualign.core.distance.bands import CountedBands, CountMatrix, SampleBand

COMPARED = "compared"

_PAIRS_PER_STEP = 1 << 22
_SELECTED_PAIRS_PER_STEP = 1 << 18
"""Number of pairs that are processed in one step if a rule selects every pair."""


FAR_OFFSET = 1 << 61
"""Offset that a rule gives to a sample so that no pair with the sample is selected."""


def selected_pair_bytes(counts: int) -> int:
    """Return the maximum memory per selected pair, in bytes. While pieces are joined, memory holds three copies of a pair, and a sort key.

    counts: number of counts of each pair
    """
    return 3 * (16 + 4 * counts) + 16


@dataclass(frozen=True)
class PairSelectionRule:
    """Selects a pair i, j with counts n if  sum(weights[c] n[c]) + offsets[i] + offsets[j] <= max_sum  and  n["compared"] >= min_compared.

    All numbers are 64-bit integers; the function that builds a rule ensures that no sum overflows.

    weights: factor for each count
    max_sum: maximum sum
    offsets: amount to add for each panel row, int64[rows]; None: nothing is added
    min_compared: minimum number of compared sites; None: any number
    cap: (count, maximum value): a pair above the maximum is not selected, regardless of the remaining counts. If the count never decreases
        (all of its terms are Operation.DIFFER), an engine may drop the pair as soon as the count exceeds the cap. None: no cap
    floors: minimum values of some counts; a pair with a lower count has no value, and is counted in `SelectedPairs.undefined_count`
    """

    weights: Mapping[str, int]
    max_sum: int
    offsets: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    min_compared: int | None = None
    cap: tuple[str, int] | None = None
    floors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class SelectedPairs:
    """Selected pairs from one piece of a band, in ascending order of query, then target.

    queries, targets: panel rows, int64[pairs]
    counts: counts for each pair, by name, int32[pairs]
    too_few_sites_count: number of pairs in this piece with fewer compared sites than the rule's minimum
    undefined_count: number of additional pairs with a count below its minimum in `PairSelectionRule.floors`, excluding pairs with samples
        that have FAR_OFFSET
    complete_rows: index of a panel row, or 0 if unknown. Once these pairs have been delivered, all pairs of the earlier rows have been, too
    """

    queries: npt.NDArray[np.int64] = field(repr=False)
    targets: npt.NDArray[np.int64] = field(repr=False)
    counts: dict[str, npt.NDArray[np.int32]] = field(repr=False)
    too_few_sites_count: int
    undefined_count: int = 0
    complete_rows: int = 0

    def __len__(self) -> int:
        return len(self.queries)

    @classmethod
    def joined(cls, pieces: Sequence[SelectedPairs], names: Sequence[str], rows: int = 0) -> SelectedPairs:
        """Join pieces into one, in ascending order of query, then target. This is fast if each piece is sorted.

        names: names of the counts to join
        rows: `complete_rows` of the result
        """
        empty = np.zeros(0, dtype=np.int64)
        queries, targets = (np.concatenate([empty, *arrays]) for arrays in ([p.queries for p in pieces], [p.targets for p in pieces]))
        order = np.argsort(queries * (targets.max(initial=0) + 1) + targets, kind="stable")
        counts = {name: np.concatenate([empty.astype(np.int32), *(piece.counts[name] for piece in pieces)])[order] for name in names}
        lacking, undefined = sum(piece.too_few_sites_count for piece in pieces), sum(piece.undefined_count for piece in pieces)
        return cls(queries[order], targets[order], counts, lacking, undefined, rows)


def select_pairs(rule: PairSelectionRule, band: SampleBand, counts: Mapping[str, CountMatrix]) -> Iterator[SelectedPairs]:
    """Yield the pairs that a rule selects in a band, given the count matrices, int32[rows][targets].

    In an upper-triangle band, each row is paired only with later rows. Engines that cannot select pairs themselves use this
    function, and the others are compared with it.
    """
    rows, columns = band.shape
    step = max(1, (_PAIRS_PER_STEP if rule.weights else _SELECTED_PAIRS_PER_STEP) // max(1, columns))
    for first in range(0, rows, step):
        some = slice(first, min(rows, first + step))
        queries = np.arange(band.start + some.start, band.start + some.stop)
        targets = np.arange(band.first_target, band.target_stop)
        total = np.zeros((len(queries), columns), dtype=np.int64)
        for name, weight in rule.weights.items():
            total += weight * counts[name][some].astype(np.int64)
        if rule.offsets is not None:
            total += rule.offsets[queries][:, None] + rule.offsets[targets][None, :]
        mask = targets[None, :] > queries[:, None] if band.upper_triangle else np.ones(total.shape, dtype=np.bool_)
        lacks = (
            mask & (counts[COMPARED][some] < rule.min_compared) if rule.min_compared is not None else np.zeros(total.shape, dtype=np.bool_)
        )
        i, j = np.nonzero(mask & ~lacks & (total <= rule.max_sum))
        chosen = {name: matrix[some][i, j] for name, matrix in counts.items()}
        undefined = count_undefined_pairs(
            rule, queries, targets, band.upper_triangle, {name: matrix[some] for name, matrix in counts.items()}
        )
        yield SelectedPairs(queries[i], targets[j], chosen, int(np.count_nonzero(lacks)), undefined, band.start + some.stop)


def count_undefined_pairs(
    rule: PairSelectionRule,
    queries: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    upper_triangle: bool,
    counts: Mapping[str, CountMatrix],
) -> int:
    """Return the number of pairs that have enough compared sites but no distance, because a count is below its minimum in `rule.floors`.

    queries, targets: panel rows
    upper_triangle: whether only pairs of a query with later targets are counted
    counts: count matrices, int32[queries][targets]
    """
    if not rule.floors:
        return 0
    below = np.zeros((len(queries), len(targets)), dtype=np.bool_)
    for name, floor in rule.floors.items():
        below |= counts[name] < floor
    if rule.min_compared is not None:
        below &= counts[COMPARED] >= rule.min_compared
    if rule.offsets is not None:
        below &= rule.offsets[queries][:, None] + rule.offsets[targets][None, :] < FAR_OFFSET
    if upper_triangle:
        below &= targets[None, :] > queries[:, None]
    return int(np.count_nonzero(below))


def select_pairs_in_bands(rule: PairSelectionRule, counted: CountedBands) -> Generator[SelectedPairs, None, None]:
    """Yield the pairs that a rule selects in each band (`select_pairs`). Closing the generator closes `counted`."""
    with closing(counted):
        for band, counts in counted:
            yield from select_pairs(rule, band, counts)
