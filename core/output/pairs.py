"""What sinks share that write pairs one after the other, in input order: filters, and blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.identity import DEFAULT
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.writer import ByteWriter
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.blocks import Block, NearBlock, PairBlock
from gpualign.core.results.filter import Filter

if TYPE_CHECKING:
    from gpualign.core.results.near_results import NearResults

_BLOCK_PAIRS = 1 << 15
"""Pairs that a thread formats at a time: a megabyte or two of text where it has no paths, which a processor's cache holds. A band has
several such blocks, so that several threads end it together."""

_BLOCK_RUNS = 1 << 19
"""Bytes of runs that a thread formats at a time, of which letters make ten times as many. Of 5,000 genes a row has four times as many, and
a band has fewer rows than a server has threads."""

BLOCK_RUNS_OF_CIGARS = 1 << 20
"""The same of rows without letters: CIGARs make twice as many bytes, faster than Python puts several blocks on their way."""


@dataclass(frozen=True)
class _Most:
    """Of a block, about. runs: bytes of runs and of titles; titles: bytes of those of each query and of each target, which rows repeat;
    whole_rows: all pairs of a query are in one block, whatever they take."""

    pairs: int
    runs: int
    titles: tuple[Integers, Integers] | None
    whole_rows: bool

    def cut(self, results: BandResults) -> Iterator[BandResults]:
        """A band in parts: of several rows, or of a row or a part of it."""
        rows, targets = results.scores.shape
        sizes = np.zeros(rows, dtype=np.int64) if results.runs is None else results.runs.sizes.sum(axis=1, dtype=np.int64)
        if self.titles is not None:
            first, band = results.band.first_target, results.band
            sizes = sizes + targets * self.titles[0][band.start : band.start + rows] + self.titles[1][first : first + targets].sum()
        start, held = 0, 0
        for row, size in enumerate(sizes.tolist()):
            if row > start and ((row + 1 - start) * targets > self.pairs or held + size > self.runs):
                yield from self._cut_rows(results, start, row, held)
                start, held = row, 0
            held += size
        yield from self._cut_rows(results, start, rows, held)

    def _cut_rows(self, results: BandResults, start: int, stop: int, held: int) -> Iterator[BandResults]:
        """Some rows; a single one in parts where it is too long, unless rows are to be whole. held: bytes of their runs and titles."""
        targets = results.scores.shape[1]
        parts = max(1, -(-targets // self.pairs), -(-held // self.runs)) if stop - start == 1 and not self.whole_rows else 1
        step = max(1, -(-targets // parts))
        for first in range(0, max(1, targets), step):
            yield results.part(slice(start, stop), slice(first, min(targets, first + step)))

    def cut_list(self, results: NearResults) -> Iterator[NearResults]:
        """A list of pairs in parts."""
        titles = None if self.titles is None else self.titles[0][results.pairs.queries] + self.titles[1][results.pairs.targets]
        return results.parts(self.pairs, self.runs, titles)


def blocks_of(
    task: Task,
    identity_definition: int,
    results: BandResults | NearResults,
    pairing: Pairing,
    threads: int = 1,
    runs: int = _BLOCK_RUNS,
    whole_rows: bool = False,
) -> Iterator[Block]:
    """A band in blocks of bounded size, in input order. threads: that will make text of a block together; runs: bytes of them that each
    takes; whole_rows: a block has all pairs of its queries that the band has."""
    most = _Most(threads * _BLOCK_PAIRS, threads * runs, titles_of(task), whole_rows)
    if task.both_strands:
        yield from _of_better_strands(task, identity_definition, results, pairing, most)
        return
    if isinstance(results, BandResults):
        for part in most.cut(results):
            yield PairBlock(task, identity_definition, part, pairing)
    else:
        for near in most.cut_list(results):
            yield NearBlock(task, identity_definition, near.pairs, near.aligned)


def titles_of(task: Task) -> tuple[Integers, Integers] | None:
    """Bytes of the titles of queries and targets, None where they were not read: that is, where rows do not have them."""
    queries, targets = task.queries.descriptions, task.targets.descriptions
    return None if queries is None or targets is None else (queries.lengths, targets.lengths)


def _of_better_strands(
    task: Task, identity_definition: int, results: BandResults | NearResults, pairing: Pairing, most: _Most
) -> Iterator[Block]:
    """The same where each pair is of one strand or the other: as lists, because a rectangle's rows are one sequence each."""
    from gpualign.core.alignment.aligned_pairs import Aligned
    from gpualign.core.results.hit_blocks import BetterStrandBlock
    from gpualign.core.sequences.strands_frames import QueryTargetFrames, untranslated

    sides = QueryTargetFrames(task.strands, untranslated(task.targets))
    ambiguous = None if task.ambiguous is None else task.ambiguous.of_strands()
    strands = replace(task, queries=task.strands.sequences, both_strands=False, ambiguous=ambiguous)

    def block(queries: Integers, targets: Integers, aligned: Aligned) -> Block:
        assert aligned.is_reverse_complement is not None
        return BetterStrandBlock(strands, identity_definition, sides, 2 * queries + aligned.is_reverse_complement, targets, aligned)

    if not isinstance(results, BandResults):
        for near in most.cut_list(results):
            yield block(near.pairs.queries, near.pairs.targets, near.aligned)
        return
    for part in most.cut(results):
        wanted = PairBlock(task, identity_definition, part, pairing).selected(None)
        rows, columns = (places.astype(np.int64) for places in np.nonzero(wanted))
        statistics = None if part.statistics is None else part.statistics[wanted]
        minus = None if part.is_reverse_complement is None else part.is_reverse_complement[wanted]
        aligned = Aligned(part.scores[wanted], statistics, part.runs and part.runs.part(wanted), minus)
        yield block(rows + part.band.start, columns + part.band.first_target, aligned)


class PairsSink:
    """Base of the sinks that write pairs. They say what stands in front (`header`) and how a block becomes bytes (`write_block`); what is
    more than a run of bytes says how it begins (`open`) and ends (`finish`).

    kept: pairs that the filter has let pass, where they are counted: whoever wants to know sets it to 0 before.
    """

    block_threads = 1
    """That make the text of a block together."""
    block_runs = _BLOCK_RUNS
    """Bytes of runs of which each of these makes text."""

    def __init__(self, stream: ByteWriter, task: Task, filter: Filter | None = None, identity_definition: int = DEFAULT) -> None:
        self.stream = stream
        self.task = task
        self._filter = filter or Filter()
        self._identity_definition = identity_definition
        self.kept: int | None = None

    def header(self) -> bytes:
        """Text before the first pair."""
        return b""

    def open(self) -> None:
        """Write what stands before the first pair."""
        self.stream.write(self.header())

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        """Write the block's wanted pairs, but only those that `keep` has (None: all of them)."""
        raise NotImplementedError

    def begin(self, plan: Plan) -> None:
        self._plan = plan
        self.open()

    def write(self, results: BandResults | NearResults) -> None:
        for block, mask in self.filtered(results):
            self.write_block(block, mask)

    def filtered(self, results: BandResults | NearResults) -> Iterator[tuple[Block, Booleans | None]]:
        """The blocks of a band, each with the pairs that the filter keeps (None: all of them)."""
        pairing, threads, runs = self._plan.pairing, self.block_threads, self.block_runs
        whole = self._filter.nearest is not None  # the nearest are those of all pairs of a query
        for block in blocks_of(self.task, self._identity_definition, results, pairing, threads, runs, whole):
            mask = self._filter.mask(block)
            if self.kept is not None:
                self.kept += int(np.count_nonzero(block.selected(mask)))
            yield block, mask

    def finish(self) -> None:
        pass
