"""Condensed distance matrices of groups of records, from a list of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gpualign.core.clustering.edges import Chunk, EdgeList, Indices, concatenate_chunks
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.condensed_form import condensed_index


def condensed_matrices(edges: EdgeList, groups: Sequence[Integers]) -> Iterator[Reals]:
    """Yield the distances within each group in scipy's condensed form: float64[pairs of the group], nan for pairs that are not in `edges`.

    groups: records of each group, int64[members], ascending; no record is in two groups

    At most one part of `edges` (`EdgeList.part_pairs`) is copied at a time; the pairs of a group that exceeds a part are not copied.
    """
    number = np.full(edges.record_count, -1, dtype=np.int64)
    place = np.empty(edges.record_count, dtype=np.int64)
    for k, members in enumerate(groups):
        number[members], place[members] = k, np.arange(len(members))

    def group_of_pair(i: Indices, j: Indices) -> Integers:
        return np.where(number[i] == number[j], number[i], -1)

    counts = np.zeros(len(groups), dtype=np.int64)
    for i, j, _ in edges.chunks():
        own = group_of_pair(i, j)
        counts += np.bincount(own[own >= 0], minlength=len(groups))
    done = 0
    for start, stop, chunks in edges.parts(group_of_pair, counts):
        for members in groups[done:start]:
            yield _condensed(len(members), place, [])
        if stop - start == 1:
            yield _condensed(len(groups[start]), place, chunks)
        else:
            i, j, distance = concatenate_chunks(chunks)
            order = np.argsort(number[i], kind="stable")
            i, j, distance = i[order], j[order], distance[order]
            ends = np.cumsum(counts[start:stop])
            for k, first, last in zip(range(start, stop), (ends - counts[start:stop]).tolist(), ends.tolist(), strict=True):
                yield _condensed(len(groups[k]), place, [(i[first:last], j[first:last], distance[first:last])])
        done = stop
    for members in groups[done:]:
        yield _condensed(len(members), place, [])


def _condensed(member_count: int, place: Integers, chunks: Iterable[Chunk]) -> Reals:
    """Return the condensed distances of `member_count` records. place: number of each record among these; chunks: pairs of these."""
    condensed = np.full(member_count * (member_count - 1) // 2, np.nan)
    for one, other, distance in chunks:
        condensed[condensed_index(place[one], place[other], member_count)] = distance
    return condensed
