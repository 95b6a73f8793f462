"""
Paths from whole matrices, of directions or of scores, and statistics of paths.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def walk_matrices(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: int, bits: int, threads: int, usable: Annotated[NDArray[numpy.bool_], dict(shape=(32, 32), order='C', device='cpu', writable=False)], free_query: bool, free_target: bool, want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> object:
    """
    (runs, starts, sizes) of the pairs; fills in their statistics, of which the ends must be there.
    """

def walk_scores(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], matrices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], pairs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], substitution: Annotated[NDArray[numpy.int32], dict(shape=(32, 32), order='C', device='cpu', writable=False)], gap: int, usable: Annotated[NDArray[numpy.bool_], dict(shape=(32, 32), order='C', device='cpu', writable=False)], want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> object:
    """
    (runs, starts, sizes) of pairs with whole matrices of linear global scores; fills in their statistics.
    """

def recount(query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], records: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], pieces: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]], paths: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts_as: Annotated[NDArray[numpy.uint8], dict(shape=(32, 32), order='C', device='cpu', writable=False)], want_runs: bool, statistics: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> object:
    """
    Counts the statistics of paths again, in place: counts_as, [32][32], says of letters whether a pair of them is a match (0), a mismatch (1) or counts nowhere (2). Gives (runs, starts, sizes) of the paths by which letters are the same, empty unless wanted.
    """
