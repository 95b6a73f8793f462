"""Which pairs are chosen by their counts, as every engine checks it, and what comes back of them. Pure."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass

if TYPE_CHECKING:
    from gpualign.core.distance.bands import Band, CountedBands, CountMatrix

COMPARED = "compared"

_STEP_PAIRS = 1 << 22
_CHOSEN_PAIRS = 1 << 18
"""At a time, where a rule chooses every pair."""


FAR = 1 << 61
"""An offset of samples that are near no other."""


def record_bytes(counts: int) -> int:
    """Memory that a chosen pair with so many counts takes at most: three times while parts are joined, and what its order is found by."""
    return 3 * (16 + 4 * counts) + 16


@dataclass(frozen=True)
class PairSelectionRule:
    """A pair i, j with counts n is chosen where  sum of weights[c] n[c] + offsets[i] + offsets[j] <= most  and  n["compared"] >= least.

    All numbers are integers of 64 bits; whoever makes a rule sees to it that no sum leaves them. offsets: int64, of each row of the panels,
    None: 0. least: None: whatever is compared. cap: (count, most of it), or None: a pair with more of this count is not chosen, whatever
    its other counts are, so that an engine may leave it as soon as it has more, where the count never falls (it is of Operation.DIFFER
    alone). floors: a pair with less than so much of one of these counts has no value; such pairs are counted.
    """

    weights: Mapping[str, int]
    most: int
    offsets: npt.NDArray[np.int64] | None = field(default=None, repr=False)
    least: int | None = None
    cap: tuple[str, int] | None = None
    floors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ChosenPairs:
    """Pairs in the order of (query, target). queries, targets: rows of the panels, int64[pairs]; counts: of each by name, int32[pairs].
    lacking: wanted pairs of the part of a band that was looked at that have fewer than the rule's least compared sites; undefined: others
    that have less of a count than the rule's floor of it, without those of samples that are FAR. rows: with these, all pairs of the rows
    before this one have come; 0: not known."""

    queries: npt.NDArray[np.int64] = field(repr=False)
    targets: npt.NDArray[np.int64] = field(repr=False)
    counts: dict[str, npt.NDArray[np.int32]] = field(repr=False)
    lacking: int
    undefined: int = 0
    rows: int = 0

    def __len__(self) -> int:
        return len(self.queries)

    @classmethod
    def joined(cls, parts: Sequence[ChosenPairs], names: Sequence[str], rows: int = 0) -> ChosenPairs:
        """Parts, brought into the order of pairs; that is quick where each part is in order."""
        empty = np.zeros(0, dtype=np.int64)
        queries, targets = (np.concatenate([empty, *arrays]) for arrays in ([p.queries for p in parts], [p.targets for p in parts]))
        order = np.argsort(queries * (targets.max(initial=0) + 1) + targets, kind="stable")
        counts = {name: np.concatenate([empty.astype(np.int32), *(part.counts[name] for part in parts)])[order] for name in names}
        lacking, undefined = sum(part.lacking for part in parts), sum(part.undefined for part in parts)
        return cls(queries[order], targets[order], counts, lacking, undefined, rows)


def choose(rule: PairSelectionRule, band: Band, counts: Mapping[str, CountMatrix]) -> Iterator[ChosenPairs]:
    """The pairs of a band that a rule chooses, by matrices of their counts: int32[rows][targets]; of an upper band each row with later
    ones.

    What an engine does that has no way of its own, and what the others' are compared with.
    """
    rows, columns = band.shape
    step = max(1, (_STEP_PAIRS if rule.weights else _CHOSEN_PAIRS) // max(1, columns))
    for first in range(0, rows, step):
        some = slice(first, min(rows, first + step))
        queries = np.arange(band.start + some.start, band.start + some.stop)
        targets = np.arange(band.first_target, band.target_stop)
        total = np.zeros((len(queries), columns), dtype=np.int64)
        for name, weight in rule.weights.items():
            total += weight * counts[name][some].astype(np.int64)
        if rule.offsets is not None:
            total += rule.offsets[queries][:, None] + rule.offsets[targets][None, :]
        wanted = targets[None, :] > queries[:, None] if band.upper_triangle else np.ones(total.shape, dtype=np.bool_)
        lacks = wanted & (counts[COMPARED][some] < rule.least) if rule.least is not None else np.zeros(total.shape, dtype=np.bool_)
        i, j = np.nonzero(wanted & ~lacks & (total <= rule.most))
        found = {name: matrix[some][i, j] for name, matrix in counts.items()}
        undefined = count_undefined(rule, queries, targets, band.upper_triangle, {name: matrix[some] for name, matrix in counts.items()})
        yield ChosenPairs(queries[i], targets[j], found, int(np.count_nonzero(lacks)), undefined, band.start + some.stop)


def count_undefined(
    rule: PairSelectionRule,
    queries: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    upper_triangle: bool,
    counts: Mapping[str, CountMatrix],
) -> int:
    """`ChosenPairs.undefined` of these rows of the panels, by matrices of their counts. upper: pairs of a query with later targets."""
    if not rule.floors:
        return 0
    below = np.zeros((len(queries), len(targets)), dtype=np.bool_)
    for name, floor in rule.floors.items():
        below |= counts[name] < floor
    if rule.least is not None:
        below &= counts[COMPARED] >= rule.least
    if rule.offsets is not None:
        below &= rule.offsets[queries][:, None] + rule.offsets[targets][None, :] < FAR
    if upper_triangle:
        below &= targets[None, :] > queries[:, None]
    return int(np.count_nonzero(below))


def choose_of_bands(rule: PairSelectionRule, counted: CountedBands) -> Generator[ChosenPairs, None, None]:
    """`choose` for each band. Closing it closes `counted`."""
    with closing(counted):
        for band, counts in counted:
            yield from choose(rule, band, counts)
