"""Interface for row-based output formats."""

from __future__ import annotations

from typing import Protocol

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class RowFormat(Protocol):
    """A format that writes pairs as rows, in input order."""

    @property
    def remembers(self) -> bool:
        """True if the columns of a block depend on the columns of earlier blocks."""

    @property
    def alignment_detail(self) -> Detail:
        """How much of each alignment the rows show."""

    @property
    def has_letters(self) -> bool:
        """True if rows contain the records' letters, which take several times as much space as CIGARs."""

    def header(self, task: Task) -> bytes:
        """Return the text before the first row."""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        """Return the columns of a block's rows. mask: the rows to write (None: all).

        If `remembers` is true, blocks are passed one after the other, in input order; otherwise, from several threads at once.
        """


def alignment_score(block: Block) -> Column:
    """Return a column of scores for which larger is better: edit distances are negated."""
    return block.integer_column(-block.scores if block.task.scoring.edit else block.scores)
