"""Interface for row-based output formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans, Scores
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block


class RowFormat(Protocol):
    """A format that writes pairs as rows, in input order."""

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

        Several threads call this at once, unless the format compares rows.
        """


MaskedBlock: TypeAlias = tuple[Block, Booleans | None]
"""A block and a mask of the rows to write (None: all)."""


@runtime_checkable
class RowComparison(Protocol):
    """Part of a format whose rows depend on the other rows of their query."""

    def compare_rows(self, blocks: Sequence[MaskedBlock]) -> None:
        """Compare the rows of these blocks, whose columns are requested next, in input order.

        The blocks hold all rows of their queries. Only search hits may be split, because they come best first.
        """


def alignment_scores(block: Block) -> Scores:
    """Return scores for which larger is better, with the shape of `block.scores`: edit distances are negated."""
    return -block.scores if block.task.scoring.edit else block.scores


def alignment_score(block: Block) -> Column:
    """Return a column of `alignment_scores`."""
    return block.integer_column(alignment_scores(block))
