"""Result types: matrices, pair lists and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.condensed_form import condensed_start
from gpualign.core.common.errors import InputError, RunError, quoted
from gpualign.core.common.units import format_count

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_matrix

    from gpualign.core.alignment.task import Task
    from gpualign.core.results.columns import Field

ColumnData: TypeAlias = "dict[str, npt.NDArray[Any] | list[str]]"
"""Table columns by name: numeric arrays or lists of text."""


class ComparedByContent:
    """Base class of results with arrays: two of the same class are equal if all their fields are; NaN equals NaN. They have no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_have_same_content(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))  # type: ignore[arg-type]


def _have_same_content(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return list(one) == list(other) and all(_have_same_content(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(type(one) is type(other) and one == other)


@dataclass(frozen=True, eq=False)
class Matrix(ComparedByContent):
    """One value per pair: values[i][j] is the value for query ids[i] and target target_ids[j].

    values: [queries][targets]; int32 or int64 scores and counts, float64 identities and other distances (NaN if undefined); with `out`,
        a memory map of that file; symmetric for one set
    ids: query ids
    target_ids: target ids; for one set the same as `ids`
    value: kind of values: "score", "identity", "distance", or the metric of `dist`
    one_set: whether the matrix compares one set with itself
    """

    values: npt.NDArray[Any] = field(repr=False)
    ids: list[str] = field(repr=False)
    target_ids: list[str] = field(repr=False)
    value: str
    one_set: bool

    def condensed(self) -> npt.NDArray[Any]:
        """Return the pairs i < j of one set as a vector [pairs], in scipy.spatial.distance order, with the type of `values`.

        Raises `InputError` (a `ValueError`) for two sets.
        """
        if not self.one_set:
            raise InputError("a condensed matrix holds the pairs of one set; this matrix is of two")
        count = len(self.ids)
        vector = np.empty(count * (count - 1) // 2, dtype=self.values.dtype)
        for row in range(count - 1):
            start = condensed_start(row, count)
            vector[start : start + count - row - 1] = self.values[row, row + 1 :]
        return vector

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return `values`, so that NumPy's functions take the matrix itself."""
        array = self.values if dtype is None else self.values.astype(dtype, copy=False)
        if copy is False and array is not self.values:
            raise ValueError(f"{self.values.dtype} values cannot become {array.dtype} without a copy")
        return array.copy() if copy else array

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas.DataFrame with the ids as row and column labels."""
        import pandas as pd

        return pd.DataFrame(self.values, index=pd.Index(text_series(self.ids)), columns=pd.Index(text_series(self.target_ids)))

    def __repr__(self) -> str:
        rows, columns = self.values.shape
        return f"<Matrix of {self.value}: {rows:,} x {columns:,} {self.values.dtype}>"


def checked_values(matrix: Matrix) -> npt.NDArray[Any]:
    """Return the values of a matrix. Raises `InputError` if they are not one number per pair, which a caller may have given."""
    values, shape = matrix.values, (len(matrix.ids), len(matrix.target_ids))
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf" or values.shape != shape or not values.size:
        found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise InputError(f"matrix: expected an array of numbers of shape {shape}, no dimension of it 0; found {found}")
    return values


@dataclass(frozen=True, eq=False)
class Pairs(ComparedByContent):
    """Selected pairs, in input order: query ids[i[k]] and target target_ids[j[k]] have value[k]. Iterating yields (query id, target id,
    value) for each pair.

    i: int64[pairs], query numbers; for one set i < j
    j: int64[pairs], target numbers
    value: [pairs]; int32 or int64 scores and edit distances, float64 identities and distances
    ids: query ids
    target_ids: target ids
    kind: kind of values: "score", "distance" or "identity"
    """

    i: npt.NDArray[np.int64] = field(repr=False)
    j: npt.NDArray[np.int64] = field(repr=False)
    value: npt.NDArray[Any] = field(repr=False)
    ids: list[str] = field(repr=False)
    target_ids: list[str] = field(repr=False)
    kind: str

    def __len__(self) -> int:
        return len(self.i)

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        """Yield (query id, target id, value) for each pair."""
        for i, j, value in zip(self.i.tolist(), self.j.tolist(), self.value.tolist(), strict=True):
            yield self.ids[i], self.target_ids[j], value

    def to_csr(self) -> csr_matrix:
        """Return a scipy.sparse.csr_matrix [queries][targets]. Zeros are stored explicitly, to distinguish them from absent pairs.

        Files written with `--format csr` contain the same matrix with 1 added to every value.
        """
        from scipy.sparse import csr_matrix

        starts = np.searchsorted(self.i, np.arange(len(self.ids) + 1))
        return csr_matrix((self.value, self.j, starts), shape=(len(self.ids), len(self.target_ids)))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas.DataFrame with the columns query, target, and one named by `kind`: score, distance or identity."""
        import pandas as pd

        queries, targets = (text_series(ids).take(k).reset_index(drop=True) for ids, k in ((self.ids, self.i), (self.target_ids, self.j)))
        return pd.DataFrame({"query": queries, "target": targets, self.kind: self.value})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns of `to_frame` as an Arrow stream, readable with `polars.DataFrame`, `pyarrow.table` and others. Ids are
        dictionary-encoded, as in `--format arrow`.

        Raises `RunError` if pyarrow is missing, `InputError` for ids that are not UTF-8.
        """
        pa = _import_pyarrow()
        queries = _arrow_text_array("query", self.ids, pa.string())
        targets = queries if self.target_ids == self.ids else _arrow_text_array("target", self.target_ids, pa.string())
        records = ((self.i, queries), (self.j, targets))
        query, target = (pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), ids) for numbers, ids in records)
        return pa.table({"query": query, "target": target, self.kind: pa.array(self.value)}).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Pairs: {len(self):,} of {len(self.ids):,} x {len(self.target_ids):,}>"


@dataclass(frozen=True, eq=False)
class Table(ComparedByContent):
    """Table of pairs, stored by column. `table[name]` is a column; iterating yields each row as a dictionary.

    columns: columns by name: numeric arrays or lists of text
    """

    columns: ColumnData

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        return f"<Table of {format_count(len(self), 'row')}: {', '.join(self.columns)}>"

    def __getitem__(self, name: str) -> npt.NDArray[Any] | list[str]:
        return self.columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary."""
        lists = [column if isinstance(column, list) else column.tolist() for column in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*lists, strict=True))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas.DataFrame with the same columns."""
        import pandas as pd

        return pd.DataFrame({name: text_series(column) if isinstance(column, list) else column for name, column in self.columns.items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the columns as an Arrow stream, readable with `polars.DataFrame`, `pyarrow.table` and others. Unknown numbers are null.

        Raises `RunError` if pyarrow is missing, `InputError` for text that is not UTF-8.
        """
        pa = _import_pyarrow()
        arrays = {
            name: _arrow_text_array(name, column, pa.large_string())
            if isinstance(column, list)
            else pa.array(column, from_pandas=True)  # nan: null
            for name, column in self.columns.items()
        }
        return pa.table(arrays).__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, eq=False)
class Hits(Table):
    """The hits for one query, best first: a `Table` with one row per hit.

    query: query id
    index: number of the query in the input, from 0
    """

    query: str = ""
    index: int = 0

    def __repr__(self) -> str:
        return f"<Hits: {len(self):,} of {self.query}>"


def text_series(texts: Sequence[str]) -> pd.Series[str]:
    """Return a pandas.Series of texts, with the same type if there are none."""
    import pandas as pd

    try:
        return pd.Series(texts, dtype=str)
    except UnicodeEncodeError:  # from pandas 3 on, for ids that are not UTF-8
        return pd.Series(texts, dtype=object)


def join_columns(tables: Sequence[ColumnData], fields: Sequence[Field], task: Task) -> ColumnData:
    """Join pieces of a table (`tables`) into new columns, which are empty if there are no pieces. fields: the columns; task: task that
    produced the results."""
    joined: ColumnData = {}
    for column in fields:
        values: list[Any] = [piece[column.name] for piece in tables]
        if column.dtype_for_task is None:
            joined[column.name] = [text for texts in values for text in texts]
        else:
            none = np.zeros(0, dtype=column.dtype_for_task(task))
            joined[column.name] = np.concatenate([none, *values], dtype=none.dtype, casting="unsafe")  # the type that files have
    return joined


def _import_pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise RunError("Arrow needs pyarrow: pip install 'gpualign[arrow]'") from None
    return pa


def _arrow_text_array(column: str, texts: list[str], type: Any) -> Any:
    """Return an Arrow array of this type. Raises an `InputError` that names the column and the text if the text is not UTF-8."""
    try:
        return _import_pyarrow().array(texts, type)
    except UnicodeEncodeError as error:
        raise InputError(f"{column}: {quoted(error.object)} is not UTF-8, which Arrow requires; change the id") from None
