"""What a format of rows is."""

from __future__ import annotations

from typing import Protocol

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class RowFormat(Protocol):
    """Rows of pairs in input order."""

    @property
    def remembers(self) -> bool:
        """Whether the columns of a block depend on those of the blocks before it."""

    @property
    def detail(self) -> Detail:
        """What of each alignment the rows tell."""

    @property
    def has_letters(self) -> bool:
        """Whether rows hold letters of the records: several times as much text as CIGARs."""

    def header(self, task: Task) -> bytes:
        """What stands before the first row."""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        """The columns of a block's rows, of which those are written that `keep` has (None: all).

        Called for one block after the other, in input order, if the format remembers; otherwise by several threads at once.
        """


def alignment_score(block: Block) -> Column:
    """Scores of which larger ones are better: edit distances are negated."""
    return block.numbers(-block.scores if block.task.scoring.edit else block.scores)
