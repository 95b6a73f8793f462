"""Finds near pairs of short strings by deletion neighbourhoods."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

import gpualign.cpu.alignment._kernels


MAX_DELETIONS: int = 3

def max_neighbours(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> int:
    """
    Return an upper bound of the deletion neighbours of strings of these lengths: for each the sum of binomial(length, x), x = 0 .. k. Strings with runs of equal letters have fewer. Raises ValueError if the bound exceeds 2^62.
    """

class Candidates:
    """
    Pairs within k edits, sorted by the position of the query in query_ids and by target, each once.
    """

    @property
    def overflow(self) -> bool:
        """There are more than `max_pairs` pairs; the arrays are empty."""

    @property
    def queries(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """int64[pairs] record numbers of the queries in their set."""

    @property
    def targets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """int64[pairs] record numbers of the targets in theirs."""

    @property
    def distances(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """uint8[pairs] edit distances, 0 .. k."""

class Neighbourhoods:
    """
    The deletion neighbourhoods of one set of strings, or of queries and targets: the strings that result from deleting at most k letters of each string, and the records that share them. Building takes 8 bytes per deletion neighbour (`max_neighbours`) of both sets; afterwards 8 bytes remain for each one shared by several records, about one in ten, and a copy of the strings.
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, cancel: gpualign.cpu.alignment._kernels.Cancel | None = None, target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Records are codes[offsets[i] : offsets[i + 1]], 0 <= k <= MAX_DELETIONS. They are both queries and targets unless separate targets are given. If cancelled, the index is empty and `candidates` returns None. Raises MemoryError if the entries do not fit.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of memory held after building."""

    def candidates(self, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_pairs: int, cancel: gpualign.cpu.alignment._kernels.Cancel, threads: int | None = None) -> Candidates | None:
        """
        Return every pair of a query i of `query_ids` and a target j >= its entry in `firsts` within k edits, including i = j. None if cancelled. threads: by default those used for building. Several threads may call it. Memory: 25 bytes per pair.
        """
