"""Formats blocks of results as rows of text."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Alignments:
    """The paths of a block of pairs, as a source of text columns."""

    def __init__(self, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_query: int, target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first_target: int, letters: str, pieces: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], starts: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], query_records: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_records: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def text(self, row: int, column: int, kind: str) -> bytes:
        """Return the text of one pair."""

class Column:
    """The source of the cells of a column of the table."""

    @staticmethod
    def constant(text: str) -> Column: ...

    @staticmethod
    def query_text(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Column: ...

    @staticmethod
    def target_text(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Column: ...

    @staticmethod
    def listed_text(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], records: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Column:
        """Return a column along the targets: target i has the string records[i]."""

    @staticmethod
    def query_numbers(values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Column: ...

    @staticmethod
    def target_numbers(values: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Column: ...

    @overload
    @staticmethod
    def pair_numbers(values: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Column: ...

    @overload
    @staticmethod
    def pair_numbers(values: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Column: ...

    @staticmethod
    def pair_ratio(num: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], den: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: int, decimals: int) -> Column:
        """
        Return a column of factor * num / den as a float64, rounded to decimals; 0 if den is 0.
        """

    @staticmethod
    def pair_fixed(values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], decimals: int) -> Column:
        """Return a column of values, rounded to decimals; nan if undefined."""

    @staticmethod
    def path(alignments: Alignments, kind: str) -> Column: ...

    def between(self, prefix: str, end: str = '\t') -> Column:
        """
        Return the same column with text before each cell and a character after it.
        """

STATISTICS_NUMBERS: int = 9

def format_block(columns: Sequence[Column], first_query: int, rows: int, targets: int, first_target: Sequence[int], keep: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, threads: int = 1) -> list[bytearray]:
    """Return the rows of one block, in pieces."""

@overload
def format_matrix_rows(names: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], separator: str = '\t', decimals: int = 6, undefined: str = 'nan', triangle: int | None = None, threads: int = 1) -> list[bytearray]: ...

@overload
def format_matrix_rows(names: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], separator: str = '\t', decimals: int = 6, undefined: str = 'nan', triangle: int | None = None, threads: int = 1) -> list[bytearray]: ...

@overload
def format_matrix_rows(names: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], separator: str = '\t', decimals: int = 6, undefined: str = 'nan', triangle: int | None = None, threads: int = 1) -> list[bytearray]:
    """
    Return the rows of a matrix, in pieces: a name, then its values.

    decimals: number of decimals of floats
    undefined: text for NaN
    triangle: number of values in the first row; each later row has one more; None: rows have all values
    """
