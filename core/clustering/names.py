"""Codes of clusters at several thresholds, which stay the same when records are added. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from gpualign.core.clustering.edges import Edges
from gpualign.core.clustering.linkage import single_linkage
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass

_NO_CODE = np.iinfo(np.int64).max


@dataclass(frozen=True)
class ClusterNames:
    """Codes of the clusters of records, at several thresholds (levels).

    ids: ids of the records, each once
    codes: code of each record's cluster, from 1, int64[levels][records]
    code_counts: number of codes given so far, int64[levels]; those of merged clusters are included, and never given again
    """

    ids: Sequence[str] = field(repr=False)
    codes: Integers = field(repr=False)
    code_counts: Integers


@dataclass(frozen=True)
class Merge:
    """Two clusters, each with a code of its own, that have become one.

    level: index of the level
    kept: code of the new cluster, the older of the two
    merged: code that no cluster has any longer
    new_ids: sorted ids of the added records in the new cluster
    """

    level: int
    kept: int
    merged: int
    new_ids: tuple[str, ...]


def no_names(level_count: int) -> ClusterNames:
    """Return the names before any record has one."""
    return ClusterNames((), np.empty((level_count, 0), dtype=np.int64), np.zeros(level_count, dtype=np.int64))


def extend_names(previous: ClusterNames, ids: Sequence[str], labels: Integers) -> tuple[ClusterNames, list[Merge]]:
    """Return (names of all records, merges of clusters that had different codes) after records have been added.

    previous: names of the records so far
    ids: ids of the records that are clustered now, each once, in any order; records in `previous` may be missing
    labels: clusters of these records at each level, int64[levels][records]; clusters of a level lie within those of the levels before it

    A cluster is whatever `labels` or an earlier code connects. It keeps the smallest code among its records, which is the oldest one;
    clusters without a code get the next codes of their level, in the order of their smallest ids. Records keep the order of `previous`, and
    new ones follow, sorted by their ids. So the result does not depend on the order of `ids`.
    """
    before = {name: k for k, name in enumerate(previous.ids)}
    added = sorted(name for name in ids if name not in before)
    all_ids = [*previous.ids, *added]
    place_of = before | {name: k for k, name in enumerate(added, len(before))}
    places = np.array([place_of[name] for name in ids], dtype=np.int64)
    codes, counts = np.empty((len(labels), len(all_ids)), dtype=np.int64), previous.code_counts.copy()
    merges: list[Merge] = []
    for level, own in enumerate(labels):
        earlier = previous.codes[level]
        clusters = _connect(len(all_ids), [(places, own), (np.arange(len(before)), earlier)])
        kept = np.full(len(all_ids), _NO_CODE)
        np.minimum.at(kept, clusters[: len(before)], earlier)
        unnamed = np.unique(clusters[kept[clusters] == _NO_CODE])
        first = np.full(len(all_ids), len(all_ids))
        np.minimum.at(first, clusters, np.arange(len(all_ids)))
        unnamed = unnamed[np.argsort(first[unnamed])]
        kept[unnamed] = counts[level] + 1 + np.arange(len(unnamed))
        codes[level] = kept[clusters]
        counts[level] += len(unnamed)
        merges += _merges(level, earlier, codes[level], added)
    return ClusterNames(all_ids, codes, counts), merges


def _connect(record_count: int, groupings: Sequence[tuple[Integers, Integers]]) -> Integers:
    """Return the clusters of records that are connected by equal labels of any grouping: int64[records], each less than `record_count`.

    groupings: (records, their labels)
    """
    ends = [np.empty((2, 0), dtype=np.int64)]
    for records, labels in groupings:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        leaders = records[first][inverse.reshape(-1)]
        ends.append(np.sort(np.stack((leaders, records))[:, leaders != records], axis=0))
    i, j = np.concatenate(ends, axis=1)
    return single_linkage(Edges(record_count, i, j, np.zeros(len(i))))


def _merges(level: int, earlier: Integers, codes: Integers, added: Sequence[str]) -> list[Merge]:
    """Return the merges of a level, by their merged codes.

    earlier: codes of the first records before
    codes: codes of all records now
    added: ids of the remaining records
    """
    replaced, first = np.unique(earlier, return_index=True)
    kept = codes[: len(earlier)][first]
    of_added = codes[len(earlier) :]
    return [
        Merge(level, new, old, tuple(added[k] for k in np.flatnonzero(of_added == new).tolist()))
        for old, new in zip(replaced.tolist(), kept.tolist(), strict=True)
        if new != old
    ]
