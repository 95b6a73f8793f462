"""What a format of rows is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import Column
from gpualign.core.blocks import Block
from gpualign.core.engine import Detail, Task


class RowFormat(Protocol):
    """Rows of pairs in input order."""

    @property
    def detail(self) -> Detail:
        """What of each alignment the rows tell."""

    def header(self, task: Task) -> bytes:
        """What stands before the first row."""

    def columns(self, block: Block, wanted: npt.NDArray[np.bool_]) -> list[Column]:
        """The columns of a block's rows; wanted: of its pairs, those that are written."""


def alignment_score(block: Block) -> Column:
    """Scores of which larger ones are better: edit distances are negated."""
    return block.numbers(-block.scores if block.task.scoring.edit else block.scores)
