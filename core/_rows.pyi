"""Formats blocks of results as rows of text."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Column:
    """Where a column of the table takes its cells from."""

    @staticmethod
    def query_text(arg0: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> Column: ...

    @staticmethod
    def target_text(arg0: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> Column: ...

    @staticmethod
    def query_numbers(arg: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> Column: ...

    @staticmethod
    def target_numbers(arg: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> Column: ...

    @overload
    @staticmethod
    def pair_numbers(arg: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> Column: ...

    @overload
    @staticmethod
    def pair_numbers(arg: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> Column: ...

def format_block(columns: Sequence[Column], first_query: int, rows: int, targets: int, first_target: Sequence[int], keep: Annotated[NDArray[numpy.bool_], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, separator: str = '\t') -> bytes:
    """The rows of one block as bytes."""

@overload
def format_matrix_rows(arg0: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> bytes:
    """Rows of a matrix: a name, then its values, tab-separated."""

@overload
def format_matrix_rows(arg0: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], arg1: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], arg2: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], /) -> bytes: ...
