"""Numbers of neighbours: for each query, how many other records pass the thresholds. Only one number per record is kept in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.output.listed_rows import write_listed_rows
from gpualign.core.output.matrix_files import IdentifiedRecords
from gpualign.core.output.pairs import FilteredBlocks, PairsSink, split_into_blocks
from gpualign.core.output.writer import ByteWriter
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block
from gpualign.core.results.filter import Filter
from gpualign.core.results.near_results import NearPairResults

_ROWS_PER_BLOCK = 1 << 16


class NeighbourCounts:
    """Counts the neighbours of each query.

    query_count: number of queries
    queries_are_targets: whether the queries are the first targets and each pair is added only once; a pair of two queries then counts for
        both, and a query is not a neighbour of itself. Otherwise, each pair counts for its query
    """

    def __init__(self, query_count: int, queries_are_targets: bool) -> None:
        self.counts = np.zeros(query_count, dtype=np.int64)
        self._queries_are_targets = queries_are_targets

    def add_pairs(self, queries: Integers, targets: Integers) -> None:
        """Add pairs: indices of their queries and targets, each [pairs]."""
        if self._queries_are_targets:
            other = queries != targets
            queries, targets = queries[other], targets[other]
            self._add(targets)
        self._add(queries)

    def _add(self, records: Integers) -> None:
        """Add 1 to the count of each record, as often as it is listed."""
        if len(records):
            first = int(records.min())
            self.add_counts(first, np.bincount(records - first))

    def add_counts(self, first: int, counts: Integers) -> None:
        """Add numbers of neighbours of consecutive records, from record `first` on. Records that are not queries are ignored."""
        counts = counts[: max(0, len(self.counts) - first)]
        self.counts[first : first + len(counts)] += counts


def write_neighbour_counts(stream: ByteWriter, queries: IdentifiedRecords, counts: Integers, separator: str, threads: int = 1) -> None:
    """Write a header, and a line for each query: its id and its number of neighbours.

    counts: int64[queries]
    separator: column separator; a comma puts ids with commas or quotes in quotes, as in CSV
    threads: threads for formatting text
    """
    ids = queries.id_column.csv_quoted if separator == "," else queries.id_column
    stream.write(f"query{separator}neighbours\n".encode())
    for start in range(0, len(counts), _ROWS_PER_BLOCK):
        rows = np.arange(start, min(len(counts), start + _ROWS_PER_BLOCK), dtype=np.int64)
        columns = [Column.listed_text(ids.text, ids.offsets, rows), Column.target_numbers(counts[rows])]
        write_listed_rows(stream, columns, separator, len(rows), threads)


class GroupedResults(Protocol):
    """Results that each stand for several pairs of records."""

    def add_neighbours(self, passing: Callable[[NearPairResults], Booleans], counts: Integers, /) -> None:
        """Add the numbers of neighbours to the counts of the queries, int64[queries].

        passing: returns which pairs in a list of results pass the thresholds
        """


class NeighbourCountsSink(PairsSink):
    """Counts the pairs that pass the filter, and writes the counts when all pairs are known.

    queries_are_targets: whether the queries are the first targets, as in `NeighbourCounts`
    separator: column separator
    threads: threads for formatting text
    """

    def __init__(
        self,
        stream: ByteWriter,
        task: Task,
        queries_are_targets: bool,
        separator: str,
        filter: Filter | None = None,
        identity_definition: int = DEFAULT_DEFINITION,
        threads: int = 1,
    ) -> None:
        super().__init__(stream, task, filter, identity_definition)
        self._neighbours = NeighbourCounts(len(task.queries), queries_are_targets)
        self._queries_are_targets = queries_are_targets
        self._separator = separator
        self._threads = threads

    def write(self, results: BandResults | NearPairResults | FilteredBlocks | GroupedResults) -> None:
        if isinstance(results, BandResults | NearPairResults | FilteredBlocks):
            super().write(results)
            return
        before = int(self._neighbours.counts.sum())
        results.add_neighbours(self._passing, self._neighbours.counts)
        if self.passed_pairs is not None:
            self.passed_pairs += (int(self._neighbours.counts.sum()) - before) // (1 + self._queries_are_targets)

    def _passing(self, results: NearPairResults) -> Booleans:
        """Return a mask of the pairs that pass the filter."""
        blocks = split_into_blocks(self.task, self._identity_definition, results, self._plan.pairing)
        return np.concatenate([np.zeros(0, dtype=np.bool_), *(block.output_mask(self._filter.mask(block)) for block in blocks)])

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        self._neighbours.add_pairs(*block.written_record_numbers(mask))

    def finish(self) -> None:
        write_neighbour_counts(self.stream, self.task.queries, self._neighbours.counts, self._separator, self._threads)
