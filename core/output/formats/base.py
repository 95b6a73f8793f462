"""Interface of a format of rows."""

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
        """True if the columns of a block depend on those of the blocks before it."""

    @property
    def detail(self) -> Detail:
        """The detail of alignments that the rows show."""

    @property
    def has_letters(self) -> bool:
        """True if rows hold letters of the records, which are several times as much text as CIGARs."""

    def header(self, task: Task) -> bytes:
        """Return the text before the first row."""

    def columns(self, block: Block, mask: Booleans | None) -> list[Column]:
        """Return the columns of a block's rows. mask: the rows that are written (None: all).

        If the format remembers, it is called for one block after the other, in input order; otherwise by several threads at once.
        """


def alignment_score(block: Block) -> Column:
    """Return scores, of which larger ones are better: edit distances are negated."""
    return block.numbers(-block.scores if block.task.scoring.edit else block.scores)
