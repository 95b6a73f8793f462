"""Distances that somebody has: lists of pairs and matrices, and which of them are near."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.clustering.edges import Edges, GrowingEdges
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter

_ROUNDING = 2.0**-52
"""A distance that was computed as 1 - identity is no farther from the quotient of whole numbers that it stands for. Two such quotients are
that near each other only if their denominators are beyond 10^7."""


_WITHOUT_THEM = (
    f"make the matrix without such records, as gpualign dist does with {parameter('min_called', '0.5')} or {parameter('exclude', 'ID')}"
)


@dataclass(frozen=True)
class Threshold:
    """Threshold at which pairs are near.

    max_distance: the largest distance of near pairs, None with min_identity
    min_identity: the least identity of near pairs, None with max_distance
    of_identities: whether values are identities, whose distance is 1 - identity
    """

    max_distance: float | None
    min_identity: float | None
    of_identities: bool

    def keeps(self, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Select the values, of any type of numbers, that are near; nan, which is no value, is not.

        A value that differs from the threshold by no more than the rounding of its type, or of 1 - identity, is near.
        """
        if self.min_identity is not None or self.of_identities:
            least = self.min_identity if self.min_identity is not None else float(1 - Fraction(str(self.max_distance)))
            return values >= min(least, _rounded(least, values.dtype))
        most = self.max_distance or 0.0
        fractional = _ROUNDING if 0 < most < 1 else 0.0
        return values <= max(most + fractional, _rounded(most, values.dtype))

    def distances(self, values: Reals) -> Reals:
        """Distances of the values."""
        return 1 - values if self.of_identities else values


@dataclass(frozen=True)
class ListedPairs:
    """Values of some pairs, each pair once. ids: of the records; pairs: their values as `distance`, nan where a pair has none."""

    ids: Sequence[str] = field(repr=False)
    pairs: Edges

    @property
    def known(self) -> int:
        """Pairs with a value."""
        return int(np.count_nonzero(~np.isnan(self.pairs.distance)))

    @property
    def are_fractions(self) -> bool:
        """Whether all values are from 0 to 1, and some of them lie between."""
        return _are_fractions([self.pairs.distance])

    def near(self, threshold: Threshold, memory: int | None = None) -> Edges:
        """The near pairs. Raises `RunError` where they take more than so many bytes; None: as many as they take."""
        found = GrowingEdges(len(self.ids), memory)
        for i, j, values in self.pairs.parts():
            keep = threshold.keeps(values)
            if keep.any():
                found.add(i[keep], j[keep], threshold.distances(values[keep]))
        return found.done()

    def among(self, members: Integers, why: str) -> Reals:
        """Values of all pairs of some records, condensed. Raises `InputError`, with why it is wanted, where one is not in the list."""
        place = np.full(len(self.ids), -1, dtype=np.int64)
        place[members] = np.arange(len(members))
        found = np.full(len(members) * (len(members) - 1) // 2, np.nan)
        for one, other, values in self.pairs.parts():
            i, j = place[one], place[other]
            there = (i >= 0) & (j >= 0)
            i, j = i[there], j[there]
            found[i * (2 * len(members) - i - 1) // 2 + j - i - 1] = values[there]
        return _complete(found, self.ids, members, why, "write all pairs, without a threshold")


@dataclass(frozen=True)
class MatrixOfPairs:
    """A symmetric matrix of values, float or integer [count][count], or the vector of its pairs i < j; nan where a pair has none."""

    ids: Sequence[str] = field(repr=False)
    values: npt.NDArray[Any] = field(repr=False)

    @property
    def known(self) -> int:
        """Pairs with a value."""
        return sum(int(np.count_nonzero(~np.isnan(self._row(k)))) for k in range(len(self.ids)))

    @property
    def are_fractions(self) -> bool:
        """Whether all values are from 0 to 1, and some of them lie between."""
        return _are_fractions(self._row(k) for k in range(len(self.ids)))

    def _row(self, k: int) -> Reals:
        """Values of record k and each later one."""
        return np.asarray(self._values_of(k), dtype=np.float64)

    def _values_of(self, k: int) -> npt.NDArray[Any]:
        """Values of record k and each later one, of the type that they have."""
        if self.values.ndim == 2:
            return self.values[k, k + 1 :]
        count = len(self.ids)
        start = k * (2 * count - k - 1) // 2
        return self.values[start : start + count - k - 1]

    def near(self, threshold: Threshold, memory: int | None = None) -> Edges:
        """The near pairs. Raises `RunError` where they take more than so many bytes; None: as many as they take."""
        found = GrowingEdges(len(self.ids), memory)
        for k in range(len(self.ids)):
            places = np.flatnonzero(threshold.keeps(self._values_of(k)))
            if len(places):
                found.add(np.full(len(places), k), places + k + 1, threshold.distances(self._row(k)[places]))
        return found.done()

    def every(self) -> Reals:
        """Values of all pairs, condensed; nan where a pair has none."""
        return np.concatenate([self._row(k) for k in range(len(self.ids))])

    def among(self, members: Integers, why: str) -> Reals:
        """Values of all pairs of some records, condensed. Raises `InputError`, with why it is wanted, where one has none."""
        rows = [self._row(k)[members[place + 1 :] - k - 1] for place, k in enumerate(members.tolist())]
        return _complete(np.concatenate(rows), self.ids, members, why, _WITHOUT_THEM)


def _rounded(limit: float, dtype: np.dtype[Any]) -> float:
    """The limit as values of this type have it, such as float32(0.18), which is larger than 0.18."""
    return float(dtype.type(limit)) if dtype.kind == "f" else limit


def _are_fractions(parts: Iterable[Reals]) -> bool:
    some = False
    for part in parts:
        if (part > 1).any() or (part < 0).any():
            return False
        some = some or bool(((part > 0) & (part < 1)).any())
    return some


def _complete(condensed: Reals, ids: Sequence[str], members: Integers, why: str, reason: str) -> Reals:
    missing = np.isnan(condensed)
    if missing.any():
        i, j = np.triu_indices(len(members), 1)
        at = int(missing.argmax())
        one, other = ids[members[i[at]]], ids[members[j[at]]]
        raise InputError(f"{why}, and {one!r} and {other!r} have none: {reason}")
    return condensed
