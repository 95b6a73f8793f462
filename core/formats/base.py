"""What a format of rows is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import Column
from gpualign.core.engine import Detail, Task
from gpualign.core.fields import BlockData


class RowFormat(Protocol):
    """Rows of pairs in input order."""

    @property
    def detail(self) -> Detail:
        """What of each alignment the rows tell."""

    def header(self, task: Task) -> bytes:
        """What stands before the first row."""

    def columns(self, block: BlockData, wanted: npt.NDArray[np.bool_]) -> list[Column]:
        """The columns of a block's rows; wanted: bool[queries of the block][targets], pairs that are written."""


def alignment_score(block: BlockData) -> Column:
    """Scores of which larger ones are better: edit distances are negated."""
    found = block.results.scores
    return Column.pair_numbers(np.ascontiguousarray(-found if block.task.scoring.edit else found))
