"""Near pairs of short strings, by neighbourhoods of deletions."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

import gpualign.cpu.alignment._kernels


MOST_DELETIONS: int = 3

def entries(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int) -> int:
    """
    The entries that an index of strings of these lengths has at most: for each the sum of binomial(length, x), x = 0 .. k. Strings with runs of equal letters have fewer. ValueError where they are more than 2^62.
    """

class Candidates:
    """
    Pairs within k edits, sorted by the query's place in query_ids and by target, each once.
    """

    @property
    def overflow(self) -> bool:
        """There are more than `most`; the arrays are empty."""

    @property
    def queries(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """int64[pairs] record numbers of the queries' set."""

    @property
    def targets(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """int64[pairs] record numbers of the index's set."""

    @property
    def distances(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """uint8[pairs] edit distances, 0 .. k."""

class Neighbourhoods:
    """
    The deletion neighbourhoods of one set of strings, or of queries and targets: what is left of each string when at most k letters are deleted, and which records share it. Building takes 8 bytes an entry (`entries`) of both sets; then 8 bytes remain for each entry that is shared by several records, about one of ten, and a copy of the strings.
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int, cancel: gpualign.cpu.alignment._kernels.Cancel | None = None, target_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, target_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Records codes[offsets[i] : offsets[i + 1]], 0 <= k <= MOST_DELETIONS, both as queries and as targets unless there are targets of their own. If cancelled, what is made finds nothing: `candidates` gives None. MemoryError where the entries do not fit.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of memory held after building."""

    def candidates(self, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, cancel: gpualign.cpu.alignment._kernels.Cancel, threads: int | None = None) -> Candidates | None:
        """
        Every pair of a query i of `query_ids` and a target j >= its `firsts` within k edits, i = j as well. None if cancelled. Threads: as many as have built, unless told; may be called from several threads. Memory: 25 bytes a pair.
        """
