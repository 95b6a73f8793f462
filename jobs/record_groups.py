"""Groups of records, by the cells of a column."""

from __future__ import annotations

from collections.abc import Sequence

from gpualign.core.common.dataclass import dataclass

_NO_GROUP = ("", "NA", "nan")


@dataclass(frozen=True)
class Grouping:
    """Groups of the rows of a matrix.

    title: what the groups are
    labels: names of the groups
    of: for each row of the matrix the index of its label, -1 without a group
    """

    title: str
    labels: Sequence[str]
    of: Sequence[int]

    def ranks(self) -> list[int]:
        """For each row the index of its label; those without a group come last."""
        return [len(self.labels) if number < 0 else number for number in self.of]


def grouping(title: str, cells: Sequence[str], own: Sequence[str]) -> Grouping:
    """Of the cells of a column, and of those that the records of the matrix have: groups without a record of the matrix are left out."""
    there = set(own)
    labels = [label for label in dict.fromkeys(cells) if label not in _NO_GROUP and label in there]
    number = {label: k for k, label in enumerate(labels)}
    return Grouping(title, labels, [number.get(label, -1) for label in own])
