"""Greedy centroids, as vsearch and its relatives make them, but with no filter: every centroid that is near enough is seen.

The orders are those of vsearch 2 (its manual, "Clustering options": --cluster_fast is by decreasing length, --cluster_size by decreasing
abundance; records that are equal in that, and where it stays open the abundance, follow by label and then as in the input).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from gpualign.core.cluster.edges import Edges, Integers
from gpualign.core.errors import InputError

ORDERS = ("length", "size", "input")

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
        raise InputError(f"--order size: no id has its abundance, as in 'a;size=12'; the first is {ids[0]!r}")
    if order == "length" and lengths is None:
        raise InputError("--order length: the lengths are not known; give the sequences too, or --order input or size")
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
    first, second = rank[edges.i], rank[edges.j]
    earlier, later = np.minimum(first, second), np.maximum(first, second)
    by_choice = np.lexsort((earlier, edges.distance, later))
    earlier, later = earlier[by_choice], later[by_choice]
    starts = np.searchsorted(later, np.arange(count + 1)).tolist()
    chosen = np.arange(count)
    is_centroid = np.ones(count, dtype=bool)
    for one in np.unique(later).tolist():
        candidates = earlier[starts[one] : starts[one + 1]]
        there = is_centroid[candidates]
        best = int(there.argmax())
        if there[best]:
            chosen[one] = candidates[best]
            is_centroid[one] = False
    centroids: Integers = order[chosen[rank]]
    return centroids
