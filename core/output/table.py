"""Pairs as rows, in any of the formats in gpualign.core.output.formats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.threads import ThreadPool
from gpualign.core.output.formats.base import MaskedBlock, RowComparison, RowFormat
from gpualign.core.output.pairs import CIGAR_BLOCK_RUN_BYTES, FilteredBlocks, PairsSink
from gpualign.core.output.writer import ByteWriter, keep_freed_memory
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block
from gpualign.core.results.filter import Filter

if TYPE_CHECKING:
    from gpualign.core.results.near_results import NearPairResults

_MAX_PYTHON_THREADS = 2

_BlockRows: TypeAlias = tuple[Block, list[Column] | None, Booleans | None]
"""A block, its columns, and a mask of the rows to write. Columns are None if they depend on no other block; the thread that formats the
rows then builds them."""


class TableSink(PairsSink):
    """Writes pairs as rows in a format to a binary stream.

    threads: threads that format a band's blocks. Two of them are Python threads, which also build columns; the others only format text,
        because more Python threads would wait for each other. The caller's thread applies the filter. If the format compares rows, the
        caller's thread also builds all columns, in order; otherwise, it builds only the columns of the first block, and with them
        everything that blocks share.
    """

    def __init__(
        self,
        stream: ByteWriter,
        task: Task,
        format: RowFormat,
        filter: Filter | None = None,
        identity_definition: int = DEFAULT_DEFINITION,
        threads: int = 1,
    ) -> None:
        super().__init__(stream, task, filter, identity_definition)
        self._format = format
        makers = min(threads, _MAX_PYTHON_THREADS)
        self._threads = ThreadPool(makers)
        self.block_threads = -(-threads // makers)
        if not format.has_letters:
            self.block_run_bytes = CIGAR_BLOCK_RUN_BYTES
        self._started = False
        if threads > _MAX_PYTHON_THREADS:
            keep_freed_memory()

    def header(self) -> bytes:
        return self._format.header(self.task)

    def write(self, results: BandResults | NearPairResults | FilteredBlocks) -> None:
        with closing_iterator(self._threads.imap(self._format_rows, self._prepare_blocks(results))) as texts:
            for text in texts:
                for piece in text:
                    self.stream.write(piece)

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        if isinstance(self._format, RowComparison):
            self._format.compare_rows([(block, mask)])
        for piece in self._format_rows((block, None, mask)):
            self.stream.write(piece)

    def finish(self) -> None:
        self._threads.close()

    def _prepare_blocks(self, results: BandResults | NearPairResults | FilteredBlocks) -> Iterator[_BlockRows]:
        blocks = self.filtered_blocks(results)
        if isinstance(self._format, RowComparison):
            for some in _group_by_query(blocks):
                self._format.compare_rows(some)
                for block, mask in some:
                    yield block, self._format.columns(block, mask), mask
            return
        for block, mask in blocks:
            columns = None if self._started else self._format.columns(block, mask)
            self._started = True
            yield block, columns, mask

    def _format_rows(self, rows: _BlockRows) -> list[bytearray]:
        block, columns, mask = rows
        return block.format_rows(self._format.columns(block, mask) if columns is None else columns, mask, self.block_threads)


def _group_by_query(blocks: Iterable[MaskedBlock]) -> Iterator[list[MaskedBlock]]:
    """Group consecutive blocks so that those with pairs of the same query are together."""
    group: list[MaskedBlock] = []
    last_query = -1
    for block, mask in blocks:
        queries = block.query_record_numbers
        if not queries.size:
            continue
        if group and int(queries.flat[0]) != last_query:
            yield group
            group = []
        group.append((block, mask))
        last_query = int(queries.flat[-1])
    if group:
        yield group
