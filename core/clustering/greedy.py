"""Greedy centroids, as vsearch and its relatives make them, but with no filter: every centroid that is near enough is seen.

The orders are those of vsearch 2 (its manual, "Clustering options": --cluster_fast is by decreasing length, --cluster_size by decreasing
abundance; records that are equal in that, and where it stays open the abundance, follow by label and then as in the input).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from gpualign.core.clustering.edges import Edges
from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, parameter

ORDERS = ("length", "size", "input")

_SORTED, _PASSES = 1 << 18, 16
"""Pairs that are sorted at a time at least, and times that a long list is gone through."""

_SIZE = re.compile(r"(?:^|;)size=(\d+)(?:;|$)")


def abundances(ids: Sequence[str]) -> list[int] | None:
    """What `;size=` says in each id, 1 where it says nothing; None where no id says anything."""
    found = [_SIZE.search(name) for name in ids]
    return [int(one[1]) if one else 1 for one in found] if any(found) else None


def ranked(order: str, ids: Sequence[str], lengths: Integers | None) -> Integers:
    """Records in the order in which they are looked at: int64[count].

    length: longest first, of one length the most abundant; size: the most abundant first; both then by the bytes of the ids, then as they
    are in the input; input: as they are. Raises `InputError` where lengths or abundances are wanted that are not known.
    """
    if order == "input":
        return np.arange(len(ids), dtype=np.int64)
    sizes = abundances(ids)
    if order == "size" and sizes is None:
        raise InputError(f"{parameter('order', 'size')}: no id has its abundance, as in 'a;size=12'; the first is {ids[0]!r}")
    if order == "length" and lengths is None:
        lengths_first, as_given = parameter("order", "length"), parameter("order", "input")
        raise InputError(f"{lengths_first}: the lengths are not known; give the sequences too, or {as_given} or size")
    known = sizes or [1] * len(ids)
    first = lengths.tolist() if order == "length" and lengths is not None else [0] * len(ids)
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    return np.array(sorted(range(len(ids)), key=lambda k: (-first[k], -known[k], names[k], k)), dtype=np.int64)


def first_copies(order: Integers, of: Integers) -> tuple[Integers, Integers]:
    """Of copies that are looked at in this order: (the order of what they are copies of, the first copy of each).

    of: int64[copies], of which record each is a copy, each number below int64[records] once or more.
    """
    _, first = np.unique(of[order], return_index=True)
    return of[order[np.sort(first)]], order[first]


def greedy(edges: Edges, order: Integers) -> Integers:
    """The centroid of each record, int64[count]: a centroid's is itself.

    Records are taken in this order (a permutation, int64[count]). Each joins the nearest of the centroids that are there and near, the
    earliest of several that are equally near; where none is near, it becomes one.
    """
    count = edges.count
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    chosen = np.arange(count)
    is_centroid = np.ones(count, dtype=bool)
    for later, earlier in _by_choice(edges, rank):
        starts = np.flatnonzero(np.concatenate(([True], later[1:] != later[:-1])))
        for one, candidates in zip(later[starts].tolist(), np.split(earlier, starts[1:]), strict=True):
            there = is_centroid[candidates]
            best = int(there.argmax())
            if there[best]:
                chosen[one] = candidates[best]
                is_centroid[one] = False
    centroids: Integers = order[chosen[rank]]
    return centroids


def _by_choice(edges: Edges, rank: Integers) -> Iterator[tuple[Integers, Integers]]:
    """(ranks of records, ascending; of earlier ones that are near them, the nearest first): some records' pairs at a time, so that they
    take little memory beside the list."""
    pairs = np.zeros(edges.count, dtype=np.int64)
    for i, j, _ in edges.parts():
        pairs += np.bincount(np.maximum(rank[i], rank[j]), minlength=edges.count)
    before = np.concatenate(([0], np.cumsum(pairs)))
    start, most = 0, max(_SORTED, len(edges) // _PASSES)
    while before[start] < before[-1]:
        stop = max(start + 1, int(np.searchsorted(before, before[start] + most, side="right")) - 1)
        parts = []
        for i, j, distance in edges.parts():
            one, other = rank[i], rank[j]
            later = np.maximum(one, other)
            wanted = (later >= start) & (later < stop)
            parts.append((later[wanted], np.minimum(one, other)[wanted], distance[wanted]))
        later, earlier, far = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.lexsort((earlier, far, later))
        if len(order):
            yield later[order], earlier[order]
        start = stop
