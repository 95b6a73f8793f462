"""Expands near pairs of groups of equal records."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class PairExpansion:
    """
    Near pairs of groups, as pairs of records. Records of target group g are members[starts[g]:starts[g + 1]], ascending, one at least. queries: number of groups that have queries. offset: targets are the records from query + offset on, and a pair of groups, given once with the earlier group first, is one of either group's records; negative: all records are targets.
    """

    def __init__(self, queries: int, members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], offset: int) -> None: ...

    def add(self, queries: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None:
        """Hold near pairs of groups."""

    def max_pairs(self, groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        Return an upper bound of the number of pairs of each query, int64. groups: of consecutive queries.
        """

    def expand(self, first: int, groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        Return the pairs (queries, targets, distances), sorted by query, then target, of the records from `first` on that belong to these groups.
        """

    def forget(self, groups: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> None:
        """Forget the pairs of groups that have no more queries."""

    @staticmethod
    def nbytes(queries: int) -> int:
        """Return the bytes of memory that an expansion without pairs takes."""

    @property
    def held(self) -> int:
        """Number of pairs of groups that are held."""
