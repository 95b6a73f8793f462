"""
Traceback through whole matrices, of directions or of scores, and statistics of paths.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def walk_matrices(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, bits: int, threads: int, usable: Annotated[NDArray[numpy.bool_], dict(shape=(32, 32), order='C', device='cpu', writable=False)], free_query: bool, free_target: bool, want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> object:
    """
    Trace pairs and fill their statistics, in which the ends must be set. Returns (runs, starts, sizes).
    """

def walk_scores(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], substitution: Annotated[NDArray[numpy.int32], dict(shape=(32, 32), order='C', device='cpu', writable=False)], gap: int, usable: Annotated[NDArray[numpy.bool_], dict(shape=(32, 32), order='C', device='cpu', writable=False)], want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> object:
    """
    Trace pairs through whole matrices of linear global scores, and fill their statistics. Returns (runs, starts, sizes).
    """

def recount(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], records: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], pieces: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], paths: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts_as: Annotated[NDArray[numpy.uint8], dict(shape=(32, 32), order='C', device='cpu', writable=False)], want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], threads: int) -> object:
    """
    Recount statistics of paths in place. counts_as [32][32]: whether a pair of letters is a match (0), a mismatch (1) or does not count at all (2). Returns (runs, starts, sizes) of the paths in which identical letters are equal, empty unless want_runs.
    """
