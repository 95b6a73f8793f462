"""Writes problems of clusters as a table (docs/formats/problems.md)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpualign.core.clustering.given_clusters import GivenClusters
from gpualign.core.clustering.verification import Problems
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.output.listed_rows import write_listed_rows
from gpualign.core.output.writer import ByteWriter
from gpualign.core.results._rows import Column
from gpualign.core.sequences.string_column import StringColumn

_TITLES = ("problem", "cluster", "id", "other_cluster", "other", "distance")
_ROWS_PER_BLOCK = 1 << 16


def write_problems(stream: ByteWriter, ids: Sequence[str], given: GivenClusters, problems: Problems, are_counts: bool) -> None:
    """Write one row per problem: its kind, a record and its cluster, the other record and its cluster, and the distance between both (nan
    if unknown). Cells of a record or cluster that does not exist are empty.

    ids: ids of the records
    are_counts: whether distances are counts; otherwise they have six decimals
    """
    stream.write(("\t".join(_TITLES) + "\n").encode())
    names, clusters = StringColumn.from_strings([*ids, ""]), StringColumn.from_strings([*given.clusters, ""])
    labels = np.append(given.labels, -1)  # so that record -1 is in no cluster

    def text_of(column: StringColumn, numbers: np.ndarray) -> Column:
        return Column.listed_text(column.text, column.offsets, np.where(numbers < 0, len(column) - 1, numbers).astype(np.int64))

    for kind, records, others, distances in problems.chunks():
        for start in range(0, len(records), _ROWS_PER_BLOCK):
            some = slice(start, start + _ROWS_PER_BLOCK)
            one, other = records[some].astype(np.int64), others[some].astype(np.int64)
            columns = [
                Column.constant(kind.value),
                text_of(clusters, labels[one]),
                text_of(names, one),
                text_of(clusters, labels[other]),
                text_of(names, other),
                Column.pair_fixed(np.ascontiguousarray(distances[None, some]), 0 if are_counts else FRACTION_DECIMALS),
            ]
            write_listed_rows(stream, columns, "\t", len(one))
