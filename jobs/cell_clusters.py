"""Clusters cells whose chains of two loci are near, for `cluster`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.clustering.edge_builder import EdgeListBuilder, EdgeStorage
from gpualign.core.common.arrays import Integers, Reals
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.execution.totals import ExtendableProgress
from gpualign.core.near_pairs.deduplication import DuplicateGroups
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.sequences.cells import Cells
from gpualign.jobs import paired_chains
from gpualign.jobs.cluster import ClusterJob, ClusterOptions
from gpualign.jobs.cluster_distances import near_pair_memory
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.job import DescriptionRows
from gpualign.jobs.near_pairs import RECORD_BYTES
from gpualign.jobs.paired_chains import PairedChainJob
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs

if TYPE_CHECKING:
    from gpualign.core.clustering.edges import Chunk, EdgeList


@dataclass(frozen=True)
class CellDistances:
    """Computes distances between cells (implements `gpualign.jobs.cluster_distances.DistanceSource`).

    cells: the cells
    duplicates: groups of cells with equal chains
    job: finds the near pairs of one cell of each group
    pair_bytes: memory for the near pairs of cells
    """

    cells: Cells = field(repr=False)
    duplicates: DuplicateGroups
    job: PairedChainJob
    pair_bytes: int

    @property
    def task(self) -> Task:
        return self.job.task

    @property
    def work_unit(self) -> str:
        return self.job.work_unit

    @property
    def pair_count(self) -> int:
        """Number of pairs of cells, including pairs of cells with equal chains."""
        return Pairing.ABOVE.pair_count(len(self.cells), len(self.cells))

    def near_pair_bytes(self, memory: int) -> int:
        return self.pair_bytes

    def find_near_pairs(self, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        progress.expect(self.job.total_work)
        edges = EdgeListBuilder(storage)
        with closing_iterator(self.job.run(progress)[0]) as results:
            for one in results:
                edges.add(one.pairs.queries, one.pairs.targets, one.pairs.distances.astype(np.float64))
        return edges.finish(len(self.duplicates))

    def find_centroid_pairs(self, order: Integers, progress: ExtendableProgress, storage: EdgeStorage) -> EdgeList:
        return self.find_near_pairs(progress, storage)

    def distance_limits(self, levels: Sequence[float]) -> Reals:
        return np.array(levels, dtype=np.float64)

    @property
    def rounding_error(self) -> float:
        return 0.0

    def distances_within(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Reals]:
        raise NotImplementedError("only near pairs of cells have a distance")

    def distances_of(self, i: Integers, j: Integers, progress: ExtendableProgress) -> Reals:
        raise NotImplementedError("only near pairs of cells have a distance")

    def known_pairs(self, groups: Sequence[Integers], progress: ExtendableProgress) -> Iterator[Chunk]:
        return iter(())  # only near pairs have distances, and the caller has those

    def describe(self, order: Integers | None) -> DescriptionRows:
        """Return the rows that describe the job's plan, which covers distinct cells only."""
        counts = {"cells": f"{len(self.cells):,}", "distinct": f"{len(self.duplicates):,}", "pairs": f"{self.pair_count:,}"}
        return list({**counts, **dict(self.job.describe()), **counts}.items())


def prepare(inputs: Inputs, options: ClusterOptions, reporter: Reporter = SILENT_REPORTER) -> tuple[ClusterJob, CellDistances]:
    """Return (the job, the source of its distances) for the cells of one set.

    Raises the same errors as `paired_chains.prepare`, and `InputError` for options that do not go with cells.
    """
    options.check(aligned=True)
    given = options.alignment_options
    nbytes = inputs.queries.nbytes
    memory = given.resources.memory or default_memory(nbytes + 2 * RECORD_BYTES * len(inputs.queries))
    pair_bytes = near_pair_memory(nbytes, memory)
    searching = replace(given, resources=given.resources.with_memory(memory - pair_bytes, memory))
    job, cells = paired_chains.prepare(inputs, searching, given.make_filter(), Pairing.ABOVE, reporter)
    duplicates = job.equal_cells()
    if duplicates.repeated_count:
        reporter.detail(f"{duplicates.repeated_count:,} cells with the same chains as earlier ones")
        job = job.select(duplicates.first_records)
    distances = CellDistances(cells, duplicates, job, pair_bytes)
    order = np.arange(len(cells), dtype=np.int64) if options.method == "greedy" else None
    assert job.filter.max_score is not None  # `check_loci` requires a maximum distance
    return ClusterJob(distances, options.method, order, job.filter.max_score, memory), distances


def check_cell_options(options: ClusterOptions, formats: Sequence[str]) -> None:
    """Raise `InputError` for options of `cluster` that do not go with cells. formats: formats of all outputs"""
    name = parameter("and", ",".join(options.alignment_options.read_options.columns.and_locus))
    if options.method == "greedy" and options.order not in (None, "input"):
        order = parameter("order", options.order)
        raise InputError(f"{name} clusters cells, which are visited in input order; it cannot be combined with {order}")
    if unfit := [format for format in formats if format in ("uc", "fasta")]:
        raise InputError(f"{name} clusters cells, which are no sequences; it cannot be combined with {unfit[0]}")
