"""Precomputed distances: pair lists and matrices, and selection of near pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.clustering.condensed import condensed_matrices
from gpualign.core.clustering.edges import Chunk, EdgeList
from gpualign.core.common.arrays import Booleans, Integers, Reals
from gpualign.core.common.condensed_form import condensed_start
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter

_ROUNDING_TOLERANCE = 2.0**-52
"""Maximum difference between a distance computed as 1 - identity and the exact quotient of integers. Two different quotients are this close
only if their denominators exceed 10^7."""

WRITTEN_DECIMALS = 6, 9
"""Numbers of decimals of fractions that gpualign writes as text: those of alignments, and of calls."""

_NO_VALUE_REMEDY = (
    f"make the matrix without such records, as gpualign dist does with {parameter('min_called', '0.5')} or {parameter('exclude', 'ID')}"
)


@dataclass(frozen=True)
class Threshold:
    """Threshold for near pairs.

    max_distance: maximum distance of near pairs, inf if all known pairs are near; None if `min_identity` is given
    min_identity: minimum identity of near pairs; None if `max_distance` is given
    values_are_identities: whether values are identities (distance = 1 - identity)
    decimals: number of decimals to which values, and so the threshold, are rounded; None if values are not rounded
    """

    max_distance: float | None
    min_identity: float | None
    values_are_identities: bool
    decimals: int | None = None

    def near_mask(self, values: npt.NDArray[Any]) -> Booleans:
        """Return a mask of the values that are near. The values may have any numeric type; nan (no value) is not near.

        A value that differs from the threshold by no more than the rounding error of its type, or of 1 - identity, is near.
        """
        if self.min_identity is not None or self.values_are_identities:
            return values >= self._identity_limit(values.dtype)
        return values <= self._distance_limit(values.dtype)

    def _identity_limit(self, dtype: np.dtype[Any]) -> float:
        if self.max_distance == np.inf:
            return -np.inf
        min_identity = self.min_identity if self.min_identity is not None else float(1 - Fraction(str(self.max_distance)))
        return min(min_identity - _tolerance(min_identity), _rounded_limit(min_identity, dtype), self._written(min_identity))

    def _distance_limit(self, dtype: np.dtype[Any]) -> float:
        max_distance = self.max_distance or 0.0
        return max(max_distance + _tolerance(max_distance), _rounded_limit(max_distance, dtype), self._written(max_distance))

    def _written(self, limit: float) -> float:
        """Return a limit with as many decimals as the values have; 2/30 is written as 0.066667."""
        return limit if self.decimals is None else round(limit, self.decimals)

    def distance_limit(self, dtype: np.dtype[Any]) -> float:
        """Return the limit of distances: a value is near if, and only if, its distance, as returned by `distances`, does not exceed it.
        dtype: type of the values."""
        if self.min_identity is not None or self.values_are_identities:
            return float(1 - self._identity_limit(dtype))
        return self._distance_limit(dtype)

    def rounding_error(self, dtype: np.dtype[Any]) -> float:
        """Return the maximum rounding error of values of this type at the threshold. Identities are rounded as numbers up to 1, and values
        with `decimals` to these."""
        if dtype.kind != "f":
            return 0.0
        are_identities = self.min_identity is not None or self.values_are_identities
        of_type = float(np.finfo(dtype).eps) / 2 * (1.0 if are_identities else self.max_distance or 0.0)
        return of_type if self.decimals is None else of_type + 0.5 * 10.0**-self.decimals

    def distances(self, values: Reals) -> Reals:
        """Convert values to distances."""
        return 1 - values if self.values_are_identities else values


class _PairValues(ABC):
    """Values for pairs; nan for a pair without a value."""

    @abstractmethod
    def _value_chunks(self) -> Iterator[Reals]:
        """Yield the values of all pairs, in any number of parts."""

    @property
    def known_pair_count(self) -> int:
        """Number of pairs with a value."""
        return sum(int(np.count_nonzero(~np.isnan(values))) for values in self._value_chunks())

    @property
    def are_fractions(self) -> bool:
        """True if all values are between 0 and 1, and some are neither 0 nor 1."""
        has_fractions = False
        for values in self._value_chunks():
            if (values > 1).any() or (values < 0).any():
                return False
            has_fractions = has_fractions or bool(((values > 0) & (values < 1)).any())
        return has_fractions

    @property
    def are_counts(self) -> bool:
        """True if all values are whole numbers, and some exceed 1."""
        largest = 0.0
        for values in self._value_chunks():
            known = values[~np.isnan(values)]
            if (known != np.rint(known)).any():
                return False
            largest = max(largest, float(known.max(initial=0.0)))
        return largest > 1

    @property
    def decimals(self) -> int | None:
        """Number of decimals to which all values are rounded, if it is one of `WRITTEN_DECIMALS` and some value needs the last one; else
        None."""
        sufficient = {count: True for written in WRITTEN_DECIMALS for count in (written - 1, written)}
        for values in self._value_chunks():
            for count in [count for count, is_sufficient in sufficient.items() if is_sufficient]:
                unit = 10.0**count
                sufficient[count] = bool((np.isnan(values) | (np.rint(values * unit) / unit == values)).all())
            if not any(sufficient.values()):
                return None
        return next((count for count in WRITTEN_DECIMALS if sufficient[count] and not sufficient[count - 1]), None)


@dataclass(frozen=True)
class ListedPairs(_PairValues):
    """Values for some pairs, each pair once.

    ids: ids of the records
    pairs: the pairs, with values as `distance`; nan for a pair without a value
    """

    ids: Sequence[str] = field(repr=False)
    pairs: EdgeList

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(np.float64)

    def _value_chunks(self) -> Iterator[Reals]:
        return (values for _, _, values in self.pairs.chunks())

    @property
    def value_range(self) -> tuple[float, float] | None:
        """Smallest and largest value; None if there is no value."""
        smallest, largest = np.inf, -np.inf
        for values in self._value_chunks():
            smallest = min(smallest, float(np.fmin.reduce(values, initial=np.inf)))
            largest = max(largest, float(np.fmax.reduce(values, initial=-np.inf)))
        return (smallest, largest) if smallest <= largest else None

    def chunks(self) -> Iterator[Chunk]:
        """Yield the pairs with their values."""
        return self.pairs.chunks()

    def near_chunks(self, threshold: Threshold) -> Iterator[Chunk]:
        """Yield the near pairs with their distances."""
        for i, j, values in self.pairs.chunks():
            mask = threshold.near_mask(values)
            yield i[mask], j[mask], threshold.distances(values[mask])

    def are_near_distances(self, threshold: Threshold) -> bool:
        """Return whether the values are distances, all of them near, so that `pairs` are the near pairs."""
        return not threshold.values_are_identities and all(bool(threshold.near_mask(values).all()) for values in self._value_chunks())

    def condensed_values_of_groups(self, groups: Sequence[Integers], reason: str) -> Iterator[Reals]:
        """Yield the condensed values for all pairs within each group of records. No record is in two groups. Raises `InputError`, with the
        text `reason`, if a pair is missing from the list."""
        matrices = condensed_matrices(self.pairs, groups)
        for members in groups:
            yield _require_complete(next(matrices), self.ids, members, reason, "write all pairs, without a threshold")


@dataclass(frozen=True)
class MatrixOfPairs(_PairValues):
    """Values for all pairs.

    ids: ids of the records
    values: symmetric matrix [records][records] of floats or integers, or the vector of the pairs i < j, row by row; nan for a pair without
        a value
    """

    ids: Sequence[str] = field(repr=False)
    values: npt.NDArray[Any] = field(repr=False)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return self.values.dtype

    def _value_chunks(self) -> Iterator[Reals]:
        return (self._row(k) for k in range(len(self.ids)))

    def _row(self, k: int) -> Reals:
        """Return the values between record k and each later record."""
        return np.asarray(self._original_row(k), dtype=np.float64)

    def _original_row(self, k: int) -> npt.NDArray[Any]:
        """Return the values between record k and each later record, in the original type."""
        if self.values.ndim == 2:
            return self.values[k, k + 1 :]
        count = len(self.ids)
        return self.values[condensed_start(k, count) : condensed_start(k + 1, count)]

    def chunks(self) -> Iterator[Chunk]:
        """Yield the pairs with their values: for each record, its pairs with all later records."""
        for k in range(len(self.ids) - 1):
            yield np.full(len(self.ids) - k - 1, k), np.arange(k + 1, len(self.ids)), self._row(k)

    def near_chunks(self, threshold: Threshold) -> Iterator[Chunk]:
        """Yield the near pairs with their distances."""
        for k in range(len(self.ids)):
            places = np.flatnonzero(threshold.near_mask(self._original_row(k)))
            if len(places):
                yield np.full(len(places), k), places + k + 1, threshold.distances(self._row(k)[places])

    def condensed_values(self) -> Reals:
        """Return the condensed values for all pairs; nan for a pair without a value."""
        return np.concatenate([*self._value_chunks()])

    def condensed_values_of_groups(self, groups: Sequence[Integers], reason: str) -> Iterator[Reals]:
        """Yield the condensed values for all pairs within each group of records. Raises `InputError`, with the text `reason`, if a pair has
        no value."""
        for members in groups:
            yield _require_complete(self._condensed_among(members), self.ids, members, reason, _NO_VALUE_REMEDY)

    def _condensed_among(self, members: Integers) -> Reals:
        return np.concatenate([self._row(k)[members[place + 1 :] - k - 1] for place, k in enumerate(members.tolist())])


def _tolerance(limit: float) -> float:
    """Return how far a value may be beyond a limit by rounding alone. Whole numbers are exact."""
    return _ROUNDING_TOLERANCE if 0 < limit < 1 else 0.0


def _rounded_limit(limit: float, dtype: np.dtype[Any]) -> float:
    """Return the limit rounded to the type `dtype`, because values of this type are rounded too; for example, float32(0.18) is larger than
    0.18."""
    return float(dtype.type(limit)) if dtype.kind == "f" else limit


def _require_complete(condensed: Reals, ids: Sequence[str], members: Integers, reason: str, remedy: str) -> Reals:
    missing = np.isnan(condensed)
    if missing.any():
        i, j = np.triu_indices(len(members), 1)
        at = int(missing.argmax())
        one, other = ids[members[i[at]]], ids[members[j[at]]]
        raise InputError(f"{reason}, and {one!r} and {other!r} have none: {remedy}")
    return condensed
