"""Order of the targets within a band. Pure."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from gpualign.core.common.arrays import Integers


class RecordRange:
    """The record numbers start .. stop-1. Only its slices are arrays, because an index may have more records than fit in memory."""

    def __init__(self, start: int, stop: int) -> None:
        self._numbers = range(start, stop)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, part: slice) -> Integers:
        numbers = self._numbers[part]
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)


RecordNumbers: TypeAlias = Integers | RecordRange
"""Record numbers, whose slices are arrays."""


def order_by_length(lengths: Integers) -> RecordNumbers:
    """Return the record numbers in ascending order of length. Records of equal length remain in ascending order of their numbers."""
    if not (lengths[1:] < lengths[:-1]).any():  # as in an index
        return RecordRange(0, len(lengths))
    # NumPy sorts numbers of 16 bits several times as fast as larger ones.
    keys = lengths.astype(np.uint16) if lengths.max(initial=0) <= np.iinfo(np.uint16).max else lengths
    return np.argsort(keys, kind="stable").astype(np.int64)


def records_between(order: RecordNumbers, first: int, stop: int) -> RecordNumbers:
    """Return the records with numbers in [first, stop), in the order returned by `order_by_length`.

    order: all records in that order, or at least these
    """
    if isinstance(order, RecordRange):
        return RecordRange(first, stop)
    if stop == len(order):
        return order if first == 0 else order[order >= first]
    return order[(order >= first) & (order < stop)]


def ordered_targets(order: RecordNumbers, first: int, stop: int, diagonal_stop: int, group_size: int) -> RecordNumbers:
    """Return the targets [first, stop) of a band, ordered by length or in groups.

    order: result of `order_by_length` for all targets, or at least for these
    diagonal_stop: first target after the band's diagonal
    group_size: number of targets in a group; 0: the order is simply that of `order_by_length`

    Targets before `diagonal_stop` are on the diagonal: each is selected only for earlier queries. An engine can skip a group of adjacent
    targets for all later queries. By contrast, if a group consisted of equally long targets from anywhere on the diagonal, nearly all
    queries would need it. On the diagonal, adjacent targets therefore share a group, although their lengths differ more. Groups are ordered
    by their longest target, which is the last in each group. Targets that do not fill a group are at the end.
    """
    targets = records_between(order, first, stop)
    if group_size == 0 or (neighbours := (min(diagonal_stop, stop) - first) // group_size * group_size) <= 0:
        return targets
    targets = targets[:]
    on_diagonal = targets < first + neighbours
    beside = np.flatnonzero(on_diagonal)
    beside = beside[np.argsort((targets[beside] - first) // group_size, kind="stable")]
    places = np.concatenate((beside, np.flatnonzero(~on_diagonal)))
    full = len(places) // group_size * group_size
    groups = places[:full].reshape(-1, group_size)
    groups = groups[np.argsort(groups[:, -1], kind="stable")]
    return targets[np.concatenate((groups.reshape(-1), places[full:]))]
