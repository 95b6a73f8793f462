"""Pairs as rows, in any of the formats of gpualign.core.formats."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import format_block
from gpualign.core.engine import Task
from gpualign.core.fields import BlockData
from gpualign.core.formats.base import RowFormat
from gpualign.core.identity import DEFAULT
from gpualign.core.sinks.pairs import Filter, PairsSink
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

    def write_block(self, data: BlockData, firsts: list[int], keep: npt.NDArray[np.bool_] | None) -> None:
        rows, targets = data.results.scores.shape
        wanted = np.arange(targets)[None, :] >= np.array(firsts)[:, None]
        if keep is not None:
            wanted &= keep
        self.stream.write(format_block(self._format.columns(data, wanted), data.first_query, rows, targets, firsts, keep))
