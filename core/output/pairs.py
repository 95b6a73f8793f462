"""Base class for sinks that write pairs one after the other in input order: filtering, and splitting into blocks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.writer import ByteWriter
from gpualign.core.planning.tile_plan import Pairing, Plan
from gpualign.core.results.blocks import Block, NearPairBlock, RectangleBlock
from gpualign.core.results.filter import Filter

if TYPE_CHECKING:
    from gpualign.core.results.near_results import NearPairResults

_BLOCK_PAIRS = 1 << 15
"""Number of pairs that a thread formats together. Without paths, they give a megabyte or two of text, which fits in a processor's cache. A
band has several such blocks, so that its threads finish at the same time."""

_BLOCK_RUN_BYTES = 1 << 19
"""Bytes of CIGAR runs that a thread formats together; aligned letters take ten times as many bytes of text. In a comparison of 5,000 genes,
a row has four times as many bytes of runs, and a band has fewer rows than a server has threads."""

CIGAR_BLOCK_RUN_BYTES = 1 << 20
"""Like `_BLOCK_RUN_BYTES`, but for rows without letters. CIGARs take twice as many bytes of text as runs, and smaller blocks would be
formatted faster than Python can pass them to the threads."""


@dataclass(frozen=True)
class _BlockLimits:
    """Approximate limits on the size of a block.

    max_pairs: maximum number of pairs in a block
    max_cigar_bytes: maximum number of bytes of CIGAR runs and titles in a block
    title_bytes: bytes of the title of each query and of each target, which is repeated in every row; None: rows show no titles
    whole_rows: whether to keep all pairs of a query in one block, however large
    """

    max_pairs: int
    max_cigar_bytes: int
    title_bytes: tuple[Integers, Integers] | None
    whole_rows: bool

    def split_band(self, results: BandResults) -> Iterator[BandResults]:
        """Split a band into pieces: several rows, one row, or part of a row."""
        rows, targets = results.scores.shape
        sizes = np.zeros(rows, dtype=np.int64) if results.runs is None else results.runs.sizes.sum(axis=1, dtype=np.int64)
        if self.title_bytes is not None:
            first, band = results.band.first_target, results.band
            sizes = (
                sizes + targets * self.title_bytes[0][band.start : band.start + rows] + self.title_bytes[1][first : first + targets].sum()
            )
        start, held = 0, 0
        for row, size in enumerate(sizes.tolist()):
            if row > start and ((row + 1 - start) * targets > self.max_pairs or held + size > self.max_cigar_bytes):
                yield from self._split_rows(results, start, row, held)
                start, held = row, 0
            held += size
        yield from self._split_rows(results, start, rows, held)

    def _split_rows(self, results: BandResults, start: int, stop: int, held_bytes: int) -> Iterator[BandResults]:
        """Yield the rows [start, stop) of a band as one piece. A single row that exceeds the limits is split further, unless rows must stay
        whole.

        held_bytes: bytes of CIGAR runs and titles in these rows
        """
        targets = results.scores.shape[1]
        pieces = (
            max(1, -(-targets // self.max_pairs), -(-held_bytes // self.max_cigar_bytes))
            if stop - start == 1 and not self.whole_rows
            else 1
        )
        step = max(1, -(-targets // pieces))
        for first in range(0, max(1, targets), step):
            yield results.select(slice(start, stop), slice(first, min(targets, first + step)))

    def split_list(self, results: NearPairResults) -> Iterator[NearPairResults]:
        """Split a list of pairs into pieces."""
        titles = (
            None if self.title_bytes is None else self.title_bytes[0][results.pairs.queries] + self.title_bytes[1][results.pairs.targets]
        )
        return results.split(self.max_pairs, self.max_cigar_bytes, titles)


def split_into_blocks(
    task: Task,
    identity_definition: int,
    results: BandResults | NearPairResults,
    pairing: Pairing,
    threads: int = 1,
    run_bytes: int = _BLOCK_RUN_BYTES,
    whole_rows: bool = False,
) -> Iterator[Block]:
    """Split a band into blocks of bounded size, in input order. pairing: selects the pairs of a rectangle that belong to the output.

    threads: number of threads that format a block together
    run_bytes: bytes of CIGAR runs per thread
    whole_rows: whether to keep all of a query's pairs in the band in one block
    """
    limits = _BlockLimits(threads * _BLOCK_PAIRS, threads * run_bytes, title_byte_counts(task), whole_rows)
    if task.both_strands:
        yield from _better_strand_blocks(task, identity_definition, results, pairing, limits)
        return
    if isinstance(results, BandResults):
        for piece in limits.split_band(results):
            yield RectangleBlock(task, identity_definition, piece, pairing)
    else:
        for near in limits.split_list(results):
            yield NearPairBlock(task, identity_definition, near.pairs, near.alignments)


def title_byte_counts(task: Task) -> tuple[Integers, Integers] | None:
    """Return the size of the title (description) of each query and of each target, in bytes; None if titles were not read because rows do
    not show them."""
    queries, targets = task.queries.descriptions, task.targets.descriptions
    return None if queries is None or targets is None else (queries.lengths, targets.lengths)


def _better_strand_blocks(
    task: Task, identity_definition: int, results: BandResults | NearPairResults, pairing: Pairing, limits: _BlockLimits
) -> Iterator[Block]:
    """Split a band, in which each pair is aligned on its own better strand, into blocks. The blocks are lists of pairs, because all pairs
    in a row of a rectangle would share one query sequence."""
    from gpualign.core.alignment.aligned_pairs import PairAlignments
    from gpualign.core.results.hit_blocks import BetterStrandBlock
    from gpualign.core.sequences.strands_frames import QueryTargetFrames, untranslated_frames

    sides = QueryTargetFrames(task.strands, untranslated_frames(task.targets))
    ambiguous = None if task.ambiguity is None else task.ambiguity.for_both_strands()
    strands = replace(task, queries=task.strands.sequences, both_strands=False, ambiguity=ambiguous)

    def block(queries: Integers, targets: Integers, aligned: PairAlignments) -> Block:
        assert aligned.is_reverse_complement is not None
        return BetterStrandBlock(strands, identity_definition, sides, 2 * queries + aligned.is_reverse_complement, targets, aligned)

    if not isinstance(results, BandResults):
        for near in limits.split_list(results):
            yield block(near.pairs.queries, near.pairs.targets, near.alignments)
        return
    for piece in limits.split_band(results):
        selected = RectangleBlock(task, identity_definition, piece, pairing).output_mask(None)
        rows, columns = (places.astype(np.int64) for places in np.nonzero(selected))
        statistics = None if piece.statistics is None else piece.statistics[selected]
        is_reverse_complement = None if piece.is_reverse_complement is None else piece.is_reverse_complement[selected]
        aligned = PairAlignments(piece.scores[selected], statistics, piece.runs and piece.runs.select(selected), is_reverse_complement)
        yield block(rows + piece.band.start, columns + piece.band.first_target, aligned)


@dataclass(frozen=True)
class FilteredBlocks:
    """Blocks that need no further filtering, such as the hits of a search.

    blocks: blocks, each with a mask of the pairs to write (None: all of them)
    completed_query_count: number of a query, or 0 if unknown; once these blocks have been delivered, all pairs of the queries before it
        have been
    """

    blocks: Sequence[tuple[Block, Booleans | None]]
    completed_query_count: int = 0


class PairsSink:
    """Base class for sinks that write pairs.

    A subclass defines the text before the first pair (`header`) and how a block is written (`write_block`). If that is not enough, the
    subclass also defines how the output begins (`write_header`) and ends (`finish`).

    passed_pairs: number of pairs that passed the filter; None: every pair passes
    """

    block_threads = 1
    """Number of threads that format a block together."""
    block_run_bytes = _BLOCK_RUN_BYTES
    """Bytes of CIGAR runs that each of the `block_threads` threads formats in a block."""

    def __init__(self, stream: ByteWriter, task: Task, filter: Filter | None = None, identity_definition: int = DEFAULT_DEFINITION) -> None:
        self.stream = stream
        self.task = task
        self._filter = filter or Filter()
        self._identity_definition = identity_definition
        self.passed_pairs = None if self._filter == Filter() else 0

    def header(self) -> bytes:
        """Return the text before the first pair."""
        return b""

    def write_header(self) -> None:
        """Write the text before the first pair."""
        self.stream.write(self.header())

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        """Write the selected pairs of a block that are in `mask` (None: all of them)."""
        raise NotImplementedError

    def begin(self, plan: Plan) -> None:
        self._plan = plan
        self.write_header()

    def write(self, results: BandResults | NearPairResults | FilteredBlocks) -> None:
        for block, mask in self.filtered_blocks(results):
            self.write_block(block, mask)

    def filtered_blocks(self, results: BandResults | NearPairResults | FilteredBlocks) -> Iterator[tuple[Block, Booleans | None]]:
        """Yield the blocks of a band, each with a mask of the pairs that pass the filter (None: all of them)."""
        if isinstance(results, FilteredBlocks):
            yield from results.blocks
            return
        pairing, threads, runs = self._plan.pairing, self.block_threads, self.block_run_bytes
        whole = self._filter.nearest_count is not None  # the nearest are chosen among all pairs of a query
        for block in split_into_blocks(self.task, self._identity_definition, results, pairing, threads, runs, whole):
            mask = self._filter.mask(block)
            if self.passed_pairs is not None:
                self.passed_pairs += int(np.count_nonzero(block.output_mask(mask)))
            yield block, mask

    def finish(self) -> None:
        pass
