"""Expands near pairs of groups of equal records."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def sort_by_query(queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], groups: int) -> object:
    """
    Return ((queries, targets, distances) in ascending order of the queries, pairs of one query in the order given; int64[groups + 1]: the pairs of query g begin at its element g).
    """

def expand(first: int, row_groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], member_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: int, threads: int) -> object:
    """
    Return the pairs of records (queries, targets, distances), sorted by query, then target, of the records `first`, first + 1, .. that belong to row_groups. pairs and starts: of groups, as sort_by_query returns them. Records of group g are members[member_starts[g]:member_starts[g + 1]], ascending. offset: targets are the records from query + offset on; negative: all.
    """
