"""Near pairs of cells: receptors whose chains of two loci, such as TRB and TRA, are both near. `core/near_pairs/paired_chains.py` joins the
near pairs of chains that this module finds for each locus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.units import format_bytes, format_count
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.totals import Progress
from gpualign.core.near_pairs.deduplication import DuplicateGroups, group_copies, select_distinct, split_groups
from gpualign.core.near_pairs.index_lists import IndexLists, equal_items
from gpualign.core.near_pairs.paired_chains import ENTRY_BYTES, LocusPairs, NearChainsBuilder, near_cells
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.filter import Filter
from gpualign.core.results.near_results import NearPairResults
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.core.sequences.cells import Cells, find_cells
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs import nw
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.job import DescriptionRows, PairJob, WorkPerQuery
from gpualign.jobs.near_pair_totals import NearPairTotals
from gpualign.jobs.near_pairs import RECORD_BYTES
from gpualign.jobs.pairs_as_arrays import passing_blocks
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs
from gpualign.jobs.shared_annotations import shared_annotation_pairs

if TYPE_CHECKING:
    from gpualign.jobs.pair_sample import SampledPairs


@dataclass(frozen=True)
class LocusSearch:
    """Search for the near chains of one locus.

    name: the locus
    job: finds the near pairs of distinct chains
    filter: conditions that they must meet
    max_distance: largest distance of near chains
    queries, targets: distinct chains of each query cell and of each target cell
    near_themselves: for one set, the distinct chains whose copies are near each other, because they agree in all columns
    chain_count: number of chains of all these cells
    """

    name: str
    job: PairJob
    filter: Filter
    max_distance: int
    queries: IndexLists
    targets: IndexLists
    near_themselves: Integers = field(repr=False)
    chain_count: int

    @property
    def distinct_count(self) -> int:
        """Number of distinct chains."""
        task = self.job.task
        return len(task.queries) + (0 if task.targets is task.queries else len(task.targets))

    def run(self, progress: Progress, max_bytes: int, identity_definition: int) -> LocusPairs:
        """Return the near chains. max_bytes: memory for them. Raises `TooLittleMemory` if they take more."""
        task = self.job.task
        one_set = task.targets is task.queries
        found = NearChainsBuilder(len(task.queries), len(task.targets), one_set, self.max_distance, max_bytes, self.name)
        with closing_iterator(passing_blocks(self.job, self.filter, identity_definition, progress)) as blocks:
            for i, j, distances in blocks:
                found.add(i, j, distances)
        return LocusPairs(self.queries, self.targets, found.finish(self.near_themselves))


@dataclass(frozen=True)
class PairedChainJob:
    """A plan to find the near pairs of cells, together with everything that is needed to run it. It can be run any number of times.

    task: the cells as records, with the letters of their first chain
    pairing: which pairs of cells are compared
    loci: search for the near chains of each locus
    filter: conditions that pairs of cells must meet; the score is the sum of both distances
    list_bytes: memory for the near chains of both loci
    identity_definition: number of the identity definition
    """

    task: Task
    pairing: Pairing
    loci: tuple[LocusSearch, LocusSearch]
    filter: Filter
    list_bytes: int
    identity_definition: int
    is_joined: ClassVar[bool] = True

    @property
    def engine(self) -> Engine:
        return self.loci[0].job.engine

    @property
    def hardware(self) -> str:
        return self.loci[0].job.hardware

    @property
    def kernel(self) -> str:
        return "; ".join(f"{locus.name}: {locus.job.kernel}" for locus in self.loci)

    @property
    def text_threads(self) -> int:
        return self.loci[0].job.text_threads

    @cached_property
    def plan(self) -> Plan:
        """Plan of the first search, with the cells as records."""
        lengths = self.task.queries.lengths, self.task.targets.lengths
        return replace(self.loci[0].job.plan, query_lengths=lengths[0], target_lengths=lengths[1], pairing=self.pairing)

    @property
    def work_unit(self) -> str:
        """Unit of `total_work`: pairs, or DP cells if a distance is so large that no pair of chains can be skipped."""
        return "pairs" if all(locus.job.work_unit == "pairs" for locus in self.loci) else "cells"

    @property
    def total_work(self) -> int:
        return sum(locus.job.total_work for locus in self.loci)

    @property
    def row_work(self) -> WorkPerQuery:
        raise NotImplementedError("a joined job is not divided")

    @property
    def sample(self) -> SampledPairs:
        raise NotImplementedError("a joined job is not sampled")

    @property
    def pair_count(self) -> int:
        """Number of pairs of cells to classify as near or not."""
        return self.pairing.pair_count(len(self.task.queries), len(self.task.targets))

    def for_queries(self, start: int, stop: int) -> PairedChainJob:
        raise NotImplementedError("a joined job is not divided")

    def counting_neighbours(self) -> PairedChainJob:
        return self

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including the time estimates of both searches."""
        task, one_set = self.task, self.task.targets is self.task.queries
        cells = f"{len(task.queries):,}" if one_set else f"{len(task.queries):,} x {len(task.targets):,}"
        rows = [("cells", cells), ("pairs", f"{self.pair_count:,}"), ("scoring", task.scoring.name), ("engine", self.hardware)]
        for locus in self.loci:
            of_locus = dict(locus.job.describe())
            chains = f"{locus.chain_count:,} chains, {locus.distinct_count:,} distinct"
            rows += [(locus.name, f"{chains}; {locus.job.kernel}"), (f"{locus.name} time", of_locus["estimate"])]
        both_ways = ENTRY_BYTES * (1 + one_set)
        held = f"up to {self.list_bytes // both_ways:,} near pairs of distinct chains, {both_ways} bytes each"
        return [*rows, ("memory", f"{held}: {format_bytes(self.list_bytes)}")]

    def run(self, progress: Progress) -> tuple[Iterator[NearPairResults], NearPairTotals]:
        """Return (the near pairs of cells, in order, each item for some of the queries; the totals). The near chains of both loci are found
        when the first pairs are requested, and held until the last ones are."""
        totals = NearPairTotals(self.pair_count, self.total_work, Counter(), sum(locus.distinct_count for locus in self.loci))
        return self._iterate(progress, totals.survivors), totals

    def _iterate(self, progress: Progress, survivors: Counter[str]) -> Iterator[NearPairResults]:
        one, other = self.loci
        first = one.run(progress, self.list_bytes, self.identity_definition)
        left = self.list_bytes - ENTRY_BYTES * len(first.near)
        near = first, other.run(progress, left, self.identity_definition)
        both_ways = 1 + (self.task.targets is self.task.queries)
        survivors.update(
            {locus.name: (len(pairs.near) - len(locus.near_themselves)) // both_ways for locus, pairs in zip(self.loci, near, strict=True)}
        )
        first_target = None if self.pairing is Pairing.ALL else self.pairing.first_target(0)
        for found, stop in near_cells(near, first_target, self.filter.max_score):
            scores = found.pairs.distances.astype(self.task.score_dtype)
            yield NearPairResults(found.pairs, PairAlignments(scores, None, None, part_scores=found.locus_distances), stop)

    def equal_cells(self) -> DuplicateGroups:
        """Return groups of the cells of one set that have equal chains, so that their distance is 0."""
        groups = equal_items([locus.queries for locus in self.loci])
        near_copies = np.ones(len(groups.group_of), dtype=np.bool_)
        for locus in self.loci:
            is_near = np.isin(locus.queries.values, locus.near_themselves)
            near_copies &= np.logical_or.reduceat(is_near, locus.queries.offsets[:-1])
        return split_groups(groups, np.where(near_copies, 0, 1 + np.arange(len(near_copies))))

    def select(self, cells: Integers) -> PairedChainJob:
        """Return a job for only some of the cells of one set, in the order of `cells`, whose numbers its results have."""
        loci = [replace(locus, queries=(chosen := locus.queries.select(cells)), targets=chosen) for locus in self.loci]
        records = self.task.queries.select(cells)
        return replace(self, task=replace(self.task, queries=records, targets=records), loci=(loci[0], loci[1]))


def prepare(
    inputs: Inputs, options: nw.NwOptions, filter: Filter, pairing: Pairing, reporter: Reporter = SILENT_REPORTER
) -> tuple[PairedChainJob, Cells]:
    """Return (the job that finds the near pairs of cells, the query cells).

    filter: conditions that chains must meet at each locus
    pairing: which pairs of cells are compared, within one set

    Raises the same errors as `nw.prepare`, and `InputError` if there are no cells with both chains.
    """
    columns, allow_duplicates = options.read_options.columns, options.read_options.allow_duplicates
    sets = [inputs.queries] if inputs.one_set else [inputs.queries, inputs.targets]
    cells = [find_cells(one, (columns.locus, columns.and_locus), allow_duplicates) for one in sets]
    names = [" or ".join(loci) for loci in (columns.locus, columns.and_locus)]
    for some in cells:
        _report_cells(some, names, reporter)
    nbytes = sum(one.nbytes for one in sets)
    memory = options.resources.memory or default_memory(nbytes + RECORD_BYTES * sum(map(len, sets)))
    list_bytes = max(0, memory - nbytes) // 2
    searching = replace(options, resources=options.resources.with_memory(memory - list_bytes, memory))
    chains = replace(filter, nearest_count=None, one_set=False)
    loci = [
        _prepare_locus(name, inputs, _chains(sets, cells, number), searching, chains, reporter, plan_reporter)
        for number, (name, plan_reporter) in enumerate(zip(names, (reporter, SILENT_REPORTER), strict=True))
    ]
    assert filter.max_score is not None  # `check_loci` requires a maximum distance
    near = loci[0].job.task
    max_sum = filter.max_score * (1 if near.scoring.listed_distance is ListedDistance.TCRDIST else len(loci))
    records = [_cell_records(*one) for one in zip(sets, cells, strict=True)]
    task = replace(near, queries=records[0], targets=records[-1])
    job = PairedChainJob(
        task,
        pairing if inputs.one_set else Pairing.ALL,
        (loci[0], loci[1]),
        replace(filter, max_score=max_sum),
        list_bytes,
        options.identity_def,
    )
    return job, cells[0]


@dataclass(frozen=True)
class _Chains:
    """Chains of one locus of the cells of one set.

    records: the chains
    cells: cell of each chain
    cell_count: number of cells
    """

    records: SequenceSet
    cells: Integers
    cell_count: int


def _chains(sets: Sequence[SequenceSet], cells: Sequence[Cells], locus: int) -> list[_Chains]:
    return [_Chains(one.select(some.records[locus]), some.cells[locus], len(some)) for one, some in zip(sets, cells, strict=True)]


def _prepare_locus(
    name: str,
    inputs: Inputs,
    chains: Sequence[_Chains],
    options: nw.NwOptions,
    filter: Filter,
    reporter: Reporter,
    plan_reporter: Reporter,
) -> LocusSearch:
    """Plan the search for the near chains of one locus.

    chains: chains of the query cells and, unless there is only one set, of the target cells
    filter: conditions that near chains must meet
    plan_reporter: receives what is the same for both loci
    """
    threads, same = options.resources.host_threads, options.read_options.columns.same
    groups = [group_copies(one.records, options.scoring.v_genes, threads) for one in chains]
    near_themselves = np.arange(len(groups[0]) if len(chains) == 1 else 0, dtype=np.int64)
    if same:
        selector = shared_annotation_pairs(chains[0].records, chains[-1].records, same, options.alleles, reporter)
        groups = [split_groups(one, keys) for one, keys in zip(groups, (selector.queries, selector.targets), strict=False)]
        firsts = groups[0].first_records, groups[-1].first_records
        selector = replace(selector, queries=selector.queries[firsts[0]], targets=selector.targets[firsts[1]])
        filter = replace(filter, groups=selector)
        if len(chains) == 1:
            numbers = np.arange(len(groups[0]), dtype=np.int64)
            near_themselves = np.flatnonzero(selector.selection_mask(numbers, numbers))
    distinct = [select_distinct(one.records, some, threads) for one, some in zip(chains, groups, strict=True)]
    job = nw.prepare_filtered(
        replace(inputs, queries=distinct[0], targets=distinct[-1]), options, filter, filter.detail, Pairing.ABOVE, plan_reporter
    )
    lists = [IndexLists.from_pairs(one.cells, some.group_of, one.cell_count) for one, some in zip(chains, groups, strict=True)]
    assert filter.max_score is not None  # `check_loci` requires a maximum distance
    count = sum(len(one.records) for one in chains)
    return LocusSearch(name, job, filter, filter.max_score, lists[0], lists[-1], near_themselves, count)


def _cell_records(records: SequenceSet, cells: Cells) -> SequenceSet:
    """Return the cells as records, each with the letters of its first chain of the first locus."""
    firsts = np.unique(cells.cells[0], return_index=True)[1]
    return replace(records.select(cells.records[0][firsts]), ids=cells.ids, annotations={})


def _report_cells(cells: Cells, names: Sequence[str], reporter: Reporter) -> None:
    """Report how many cells have both chains, and what is left out. names: the loci"""
    text = f"{len(cells):,} {'cell has' if len(cells) == 1 else 'cells have'} chains of both {names[0]} and {names[1]}"
    left_out = [f"{count:,} without {name}" for name, count in zip(names, cells.lacking, strict=True) if count]
    if cells.without_cell:
        left_out.append(f"{format_count(cells.without_cell, 'chain')} without a cell")
    reporter.note(f"{text}; left out {' and '.join(left_out)}" if left_out else text)
