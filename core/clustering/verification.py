"""Compares clusters with near pairs, and lists what breaks the threshold.

Equal records are at distance 0; lists of near pairs do not contain them. Of equal representatives, only the first is compared with unequal
ones, and the others are near the first. Equal records in several clusters are treated in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from enum import Enum
from functools import cached_property

import numpy as np

from gpualign.core.clustering.edge_builder import EdgeStorage, collect_edges, sorted_parts
from gpualign.core.clustering.edges import CHUNK_PAIRS, Chunk, EdgeList, Indices, concatenate_chunks, pair_distances
from gpualign.core.clustering.given_clusters import GivenClusters
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.deduplication import DuplicateGroups


class ProblemKind(Enum):
    """Kinds of problems, each with its name in files.

    FAR: a record is not near its representative
    NEAR: two representatives are near each other
    SPLIT: no chain of near pairs connects a record with the first record of its cluster
    JOINED: two records of different clusters are near each other
    MISSING: a record is in no cluster
    """

    FAR = "far"
    NEAR = "near"
    SPLIT = "split"
    JOINED = "joined"
    MISSING = "missing"


@dataclass(frozen=True)
class Problems:
    """Problems of clusters.

    pairs: pairs of records by the kind of problem, those of a kind in the order of their records; NEAR with i < j
    missing: records in no cluster
    """

    pairs: dict[ProblemKind, EdgeList | Chunk] = field(repr=False)
    missing: Integers = field(repr=False)

    @cached_property
    def counts(self) -> dict[ProblemKind, int]:
        """Number of problems of each kind that was looked for."""
        counts = {kind: len(pairs) if isinstance(pairs, EdgeList) else len(pairs[0]) for kind, pairs in self.pairs.items()}
        return {**counts, ProblemKind.MISSING: len(self.missing)}

    @property
    def summary(self) -> dict[str, object]:
        """Numbers for the summary: how many problems of each kind there are."""
        return {kind.value: count for kind, count in self.counts.items()}

    def chunks(self) -> Iterator[tuple[ProblemKind, Indices, Indices, Reals]]:
        """Yield (kind, records, other records, distances) of problems, in the order in which they are written. A problem without another
        record has -1 there, and an unknown distance is nan."""
        for kind, pairs in self.pairs.items():
            if not isinstance(pairs, EdgeList):
                yield kind, *pairs
            else:
                yield from ((kind, i, j, distance) for i, j, distance, _ in sorted_parts(pairs))
        yield ProblemKind.MISSING, self.missing, np.full(len(self.missing), -1), np.full(len(self.missing), np.nan)


def member_distances(representative_of: Integers, groups: DuplicateGroups, chunks: Iterable[Chunk]) -> Reals:
    """Return the distance between each record and its representative, float64[records]; nan if the two are not a near pair, or there is no
    representative.

    representative_of: representative of each record, int64[records]; -1 for none
    groups: groups of equal records
    chunks: near pairs of groups
    """
    distances = np.full(len(representative_of), np.nan)
    members = np.flatnonzero(representative_of >= 0)
    own, other = groups.group_of[members], groups.group_of[representative_of[members]]
    distances[members[own == other]] = 0
    members, own, other = members[own != other], own[own != other], other[own != other]
    distances[members] = pair_distances(own, other, len(groups), chunks)
    return distances


def near_representatives(representatives: Integers, groups: DuplicateGroups, edges: EdgeList, storage: EdgeStorage | None) -> EdgeList:
    """Return the pairs of representatives that are near each other. Of equal representatives, only the first has pairs with unequal ones.

    representatives: records that represent clusters
    groups: groups of equal records
    edges: near pairs of groups
    storage: place of the pairs; None: in memory, without a limit
    """
    return collect_edges(groups.record_count, _pairs_among(np.sort(representatives), groups, edges), storage)


def _pairs_among(records: Integers, groups: DuplicateGroups, edges: EdgeList) -> Iterator[Chunk]:
    """Yield the near pairs among some records, i < j; pairs of equal records are as in `near_representatives`. records: ascending"""
    first = np.full(len(groups), -1, dtype=np.int64)
    first[groups.group_of[records[::-1]]] = records[::-1]
    first_equal = first[groups.group_of[records]]
    repeated = first_equal != records
    yield first_equal[repeated], records[repeated], np.zeros(np.count_nonzero(repeated))
    for i, j, distance in edges.chunks():
        one, other = first[i], first[j]
        both = (one >= 0) & (other >= 0)
        one, other = one[both], other[both]
        yield np.minimum(one, other), np.maximum(one, other), distance[both]


FarDistances = Callable[[Integers, Integers], Reals]
"""Function that returns the distances of pairs of groups that are not near, given the lower and the higher group of each different pair:
float64[pairs]; nan if unknown."""


def find_representative_problems(
    given: GivenClusters, groups: DuplicateGroups, edges: EdgeList, storage: EdgeStorage | None, far_distances: FarDistances
) -> Problems:
    """Return the members that are far from their representatives, the representatives that are near each other, and the missing records.

    given: clusters with representatives
    groups: groups of equal records
    edges: near pairs of groups
    storage: place of pairs of representatives; None: in memory, without a limit
    far_distances: returns distances that are not among the near ones
    """
    assert given.representatives is not None
    representative_of = given.representative_of
    far = np.flatnonzero(np.isnan(member_distances(representative_of, groups, edges.chunks())) & (given.labels >= 0))
    own, other = groups.group_of[far], groups.group_of[representative_of[far]]
    keys, key_of = np.unique(np.minimum(own, other) * len(groups) + np.maximum(own, other), return_inverse=True)
    distances = far_distances(*np.divmod(keys, len(groups)))[key_of.reshape(-1)]
    near = near_representatives(given.representatives, groups, edges, storage)
    pairs: dict[ProblemKind, EdgeList | Chunk] = {
        ProblemKind.FAR: (far, representative_of[far], distances),
        ProblemKind.NEAR: near,
    }
    return Problems(pairs, given.missing_records)


def find_connection_problems(given: GivenClusters, groups: DuplicateGroups, edges: EdgeList, components: Integers) -> Problems:
    """Return the differences between clusters and those of single linkage.

    SPLIT: for each cluster, the first record of every further component in it, with the first record of the cluster
    JOINED: for every two clusters with near pairs between them, the nearest of these pairs, the first one if tied
    MISSING: the records in no cluster

    given: clusters
    groups: groups of equal records
    edges: near pairs of groups
    components: component of each group in the graph of near pairs, int64[groups]
    """
    clustered = np.flatnonzero(given.labels >= 0)
    first = np.full(len(given.clusters), -1, dtype=np.int64)
    first[given.labels[clustered[::-1]]] = clustered[::-1]
    component = components[groups.group_of]
    part_keys = given.labels[clustered] * (component.max(initial=0) + 1) + component[clustered]
    leaders = np.sort(clustered[np.unique(part_keys, return_index=True)[1]])  # first record of each component in each cluster
    split = leaders[leaders != first[given.labels[leaders]]]
    pairs: dict[ProblemKind, EdgeList | Chunk] = {
        ProblemKind.SPLIT: (split, first[given.labels[split]], np.full(len(split), np.nan)),
        ProblemKind.JOINED: _nearest_pairs(given.labels, _pairs_among(clustered, groups, edges), len(given.clusters)),
    }
    return Problems(pairs, given.missing_records)


def _nearest_pairs(labels: Integers, chunks: Iterable[Chunk], cluster_count: int) -> Chunk:
    """Return the nearest pair between every two clusters, the first one if tied. Pairs are in the order of their records.

    labels: cluster of each record
    chunks: pairs of records
    cluster_count: number of clusters
    """

    def reduce(chunks: list[Chunk]) -> Chunk:
        i, j, distance = concatenate_chunks(chunks)
        keys = np.minimum(labels[i], labels[j]) * cluster_count + np.maximum(labels[i], labels[j])
        order = np.lexsort((j, i, distance, keys))
        nearest = np.sort(order[np.unique(keys[order], return_index=True)[1]])
        return i[nearest], j[nearest], distance[nearest]

    none = np.empty(0, dtype=np.int64)
    found: Chunk = none, none, np.empty(0)
    held, held_pairs = [found], 0
    for i, j, distance in chunks:
        apart = labels[i] != labels[j]
        held.append((i[apart], j[apart], distance[apart]))
        held_pairs += len(held[-1][0])
        if held_pairs > max(CHUNK_PAIRS, len(found[0])):
            found = reduce(held)
            held, held_pairs = [found], 0
    i, j, distance = reduce(held)
    order = np.lexsort((j, i))
    return i[order], j[order], distance[order]
