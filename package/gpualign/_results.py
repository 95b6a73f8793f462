"""What calls return: matrices, lists of pairs, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.errors import InputError
from gpualign.core.sinks.matrix_files import condensed_start

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_matrix

    from gpualign.core.fields import Field

Columns: TypeAlias = "dict[str, npt.NDArray[Any] | list[str]]"
"""Columns of a table by name: arrays of numbers, lists of text."""


@dataclass(frozen=True)
class Matrix:
    """A value of every pair: values[i][j] is that of query ids[i] and target target_ids[j]. Of one set it is symmetric, and the ids are
    the same.

    values: int32 or int64 for scores and counts, float64 for identities and other distances (NaN where a pair has none); with `out` a
    memory map of that file.
    """

    values: npt.NDArray[Any] = field(repr=False)
    ids: list[str] = field(repr=False)
    target_ids: list[str] = field(repr=False)
    value: str
    one_set: bool

    def condensed(self) -> npt.NDArray[Any]:
        """The pairs i < j of one set in a vector, as scipy.spatial.distance has them. Raises `ValueError` for two sets."""
        if not self.one_set:
            raise InputError("a condensed matrix holds the pairs of one set; these are two")
        count = len(self.ids)
        found = np.empty(count * (count - 1) // 2, dtype=self.values.dtype)
        for row in range(count - 1):
            start = condensed_start(row, count)
            found[start : start + count - row - 1] = self.values[row, row + 1 :]
        return found

    def to_frame(self) -> pd.DataFrame:
        """A pandas.DataFrame with the ids as labels."""
        import pandas as pd

        return pd.DataFrame(self.values, index=self.ids, columns=self.target_ids)

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        return f"<Matrix of {self.value}: {rows:,} x {columns:,} {self.values.dtype}>"


@dataclass(frozen=True)
class Pairs:
    """Some pairs, in input order: query ids[i[k]] and target target_ids[j[k]] have value[k]; of one set i < j.

    i, j: int64[pairs]; value: int32 or int64 scores and edit distances, float64 identities and distances.
    """

    i: npt.NDArray[np.int64] = field(repr=False)
    j: npt.NDArray[np.int64] = field(repr=False)
    value: npt.NDArray[Any] = field(repr=False)
    ids: list[str] = field(repr=False)
    target_ids: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.i)

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        """(query id, target id, value) of each."""
        for i, j, value in zip(self.i.tolist(), self.j.tolist(), self.value.tolist(), strict=True):
            yield self.ids[i], self.target_ids[j], value

    def to_csr(self) -> csr_matrix:
        """A scipy.sparse.csr_matrix of (queries, targets); a value of 0 is stored, and differs so from a pair that is not there.

        The files of `--format csr` hold the same matrix with value + 1.
        """
        from scipy.sparse import csr_matrix

        starts = np.searchsorted(self.i, np.arange(len(self.ids) + 1))
        return csr_matrix((self.value, self.j, starts), shape=(len(self.ids), len(self.target_ids)))

    def to_frame(self) -> pd.DataFrame:
        """A pandas.DataFrame with the columns query, target and value."""
        import pandas as pd

        queries, targets = np.array(self.ids, dtype=object)[self.i], np.array(self.target_ids, dtype=object)[self.j]
        return pd.DataFrame({"query": queries, "target": targets, "value": self.value})

    def __repr__(self) -> str:
        return f"<Pairs: {len(self):,} of {len(self.ids):,} x {len(self.target_ids):,}>"


@dataclass(frozen=True)
class Table:
    """Rows of pairs, by column: arrays of numbers, lists of text."""

    columns: Columns = field(repr=False)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> npt.NDArray[Any] | list[str]:
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary."""
        lists = [column if isinstance(column, list) else column.tolist() for column in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*lists, strict=True))

    def to_frame(self) -> pd.DataFrame:
        """A pandas.DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.columns)


@dataclass(frozen=True)
class Hits(Table):
    """The hits of one query, best first. query: its id; index: its number in the input."""

    query: str = ""
    index: int = 0

    def __repr__(self) -> str:
        return f"<Hits: {len(self):,} of {self.query}>"


def join_columns(parts: Sequence[Columns], columns: Sequence[Field]) -> Columns:
    """One part after the other, copied; of no parts, no rows."""
    joined: Columns = {}
    for column in columns:
        pieces: list[Any] = [part[column.name] for part in parts]
        if column.values is None:
            joined[column.name] = [text for piece in pieces for text in piece]
        else:
            joined[column.name] = np.concatenate(pieces) if pieces else np.zeros(0)
    return joined
