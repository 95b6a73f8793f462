"""Pairs of records within an edit distance, and no others."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

import gpualign.cpu.alignment._kernels
from gpualign.cpu.alignment._kernels import Cancel as Cancel


class Bound:
    """
    The greatest edit distance wanted of m and n letters: floor(per_letter * (m + n) + per_shorter * min(m, n) + constant), none if it is below 0. In float64: a caller whose bound must not lose a pair to rounding adds what it may lose. coverage: of max(m, n), the part that either record has in pairs of letters; inside: edits between the first and the last pair, over min(m, n). With a coverage of 0 they say nothing.
    """

    def __init__(self, per_letter: float, per_shorter: float, constant: float, inside: float = 0.0, coverage: float = 0.0) -> None: ...

    def at(self, m: int, n: int) -> int:
        """The bound, max(m, n) at most; -1: no such pair is wanted."""

class Records:
    """
    Records as bit planes, letter counts and, unless q is 0, sketches: the sets of their hashed q-grams, as `bits` bits (a power of two from 64 to 32768). Codes are below `letters`, 32 at most; record i is codes[offsets[i]:offsets[i + 1]].
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], letters: int, q: int, bits: int) -> None: ...

    def build(self, first: int, stop: int) -> None:
        """
        Fill records first to stop - 1. Every record is to be filled once; several threads may fill ranges of their own at once.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of memory, those of codes and offsets apart."""

class Found:
    """The near pairs of a tile, sorted by query, then target."""

    @property
    def queries(self) -> NDArray[numpy.int64]:
        """int64[pairs]: record numbers."""

    @property
    def targets(self) -> NDArray[numpy.int64]:
        """int64[pairs]: record numbers."""

    @property
    def distances(self) -> NDArray[numpy.int32]:
        """int32[pairs]."""

    @property
    def steps(self) -> NDArray[numpy.int64]:
        """
        int64[4]: pairs asked for, left after lengths, after letter counts, after sketches.
        """

    @property
    def overflow(self) -> bool:
        """
        More pairs are near than were allowed: none is here, and the steps are those of a part.
        """

def instruction_sets() -> list[tuple[str, int, bool, bool]]:
    """
    (name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.
    """

def near_tile(instruction_set: str, queries: Records, targets: Records, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: Bound, use_counts: bool, most: int, cancel: gpualign.cpu.alignment._kernels.Cancel) -> Found | None:
    """
    The pairs of query_ids and target_ids within the bound; None if cancelled. Of query query_ids[i] only targets from number firsts[i] on are wanted. target_ids: int64, in ascending order of length. use_counts: whether letter counts are compared. More pairs than `most`: overflow.
    """

def within(instruction_set: str, queries: Records, targets: Records, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: Bound, cancel: gpualign.cpu.alignment._kernels.Cancel) -> NDArray[numpy.int32] | None:
    """
    int32[pairs]: the edit distance of each query and target where it is within the bound, else -1; None if cancelled. int64 record numbers, in any order.
    """
