"""Greedy centroid clustering as in vsearch and related tools, but without a filter: every centroid within the threshold is considered.

The clustering orders are those of vsearch 2 (manual, "Clustering options": --cluster_fast sorts by decreasing length, --cluster_size by
decreasing abundance; ties are broken by abundance where abundance is not the key, then by label, then by input order).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.clustering.abundances import abundances, check_abundances
from gpualign.core.clustering.edges import EdgeList, concatenate_chunks
from gpualign.core.common.arrays import Integers
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.receptor_titles import ABUNDANCE_TITLE

CLUSTERING_ORDERS = ("length", "size", "input")


def clustering_order(order: str, ids: Sequence[str], lengths: Integers | None, sizes: Sequence[int] | None = None) -> Integers:
    """Return the indices of the records in the order in which they are clustered: int64[records].

    order: "length" (longest first, ties by abundance), "size" (most abundant first), or "input" (input order); remaining ties are broken by
        id (bytewise), then by input order
    lengths: lengths of the records; None if unknown
    sizes: abundances of the records; None: those in the ids

    Raises `InputError` if the order needs unknown lengths or abundances.
    """
    if order == "input":
        return np.arange(len(ids), dtype=np.int64)
    if order == "size" and sizes is None:
        check_abundances(ids)
    sizes = abundances(ids) if sizes is None else sizes
    if order == "size" and sizes is None:
        raise InputError(
            f"{parameter('order', 'size')}: no id has an abundance, such as 'a;size=12', and no column {ABUNDANCE_TITLE} of a table has"
            f" them; the first id is {ids[0]!r}"
        )
    if order == "length" and lengths is None:
        by_length, as_input = parameter("order", "length"), parameter("order", "input")
        raise InputError(f"{by_length}: the lengths are not known; give the sequences too, or {as_input} or size")
    known = sizes or [1] * len(ids)
    first = lengths.tolist() if order == "length" and lengths is not None else [0] * len(ids)
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    return np.array(sorted(range(len(ids)), key=lambda k: (-first[k], -known[k], names[k], k)), dtype=np.int64)


def first_copies(order: Integers, record_of_copy: Integers) -> tuple[Integers, Integers]:
    """Return (order of the records, first copy of each record), given the order in which the copies of records are clustered.

    order: indices of the copies, in clustering order
    record_of_copy: int64[copies], the record that each copy duplicates; every record has at least one copy
    """
    _, first = np.unique(record_of_copy[order], return_index=True)
    return record_of_copy[order[np.sort(first)]], order[first]


def greedy_centroids(edges: EdgeList, order: Integers) -> Integers:
    """Return the index of each record's centroid: int64[records]. For a centroid, this is its own index.

    Records are processed in the given order. Each record joins the nearest existing centroid to which `edges` has a pair (the earliest if
    tied). If there is none, the record becomes a centroid.
    """
    from gpualign.core.clustering._greedy import join_centroids

    count = edges.record_count
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    pairs = np.zeros(count, dtype=np.int64)
    for i, j, _ in edges.chunks():
        pairs += np.bincount(np.maximum(rank[i], rank[j]), minlength=count)
    chosen = np.arange(count)
    for start, stop, chunks in edges.parts(lambda i, j: np.maximum(rank[i], rank[j]), pairs):
        join_centroids(*concatenate_chunks(chunks), rank, start, stop, chosen)
    centroids: Integers = order[chosen[rank]]
    return centroids


def centroid_pair_count(edges: EdgeList, order: Integers, centroids: Integers, copies: Integers) -> int:
    """Return the number of near pairs of a centroid with a record that is clustered later, copies included.

    edges: at least these pairs
    order: numbers of the records in clustering order
    centroids: centroid of each record, int64[records]
    copies: number of copies of each record, int64[records]; the first one is clustered as the record, the others join it
    """
    rank, is_centroid = np.empty(len(order), dtype=np.int64), centroids == np.arange(len(order))
    rank[order] = np.arange(len(order))
    count = int((copies[is_centroid] - 1).sum())
    for i, j, _ in edges.chunks():
        is_first = rank[i] < rank[j]
        count += int(copies[np.where(is_first, j, i)[is_centroid[np.where(is_first, i, j)]]].sum())
    return count
