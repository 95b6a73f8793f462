"""Pairs as rows, in any of the formats of gpualign.core.formats."""

from __future__ import annotations

from gpualign.core.blocks import Block, Booleans
from gpualign.core.engine import Task
from gpualign.core.filter import Filter
from gpualign.core.formats.base import RowFormat
from gpualign.core.identity import DEFAULT
from gpualign.core.sinks.pairs import PairsSink
from gpualign.core.sinks.writer import ByteWriter


class TableSink(PairsSink):
    """Writes a format of rows to a binary stream."""

    def __init__(
        self, stream: ByteWriter, task: Task, format: RowFormat, filter: Filter | None = None, identity_definition: int = DEFAULT
    ) -> None:
        super().__init__(stream, task, filter, identity_definition)
        self._format = format

    def header(self) -> bytes:
        return self._format.header(self.task)

    def write_block(self, block: Block, keep: Booleans | None) -> None:
        self.stream.write(block.rows(self._format.columns(block, block.wanted(keep)), keep))
