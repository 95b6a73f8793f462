"""Finds the pairs of records within an edit distance."""

from typing import Annotated

import numpy
from numpy.typing import NDArray

import gpualign.cpu.alignment._kernels
from gpualign.cpu.alignment._kernels import Cancel as Cancel


class Bound:
    """
    The largest allowed edit distance for m and n letters: floor(per_letter * (m + n) + per_shorter * min(m, n) + constant), none if it is below 0. It is computed in float64: callers whose bound must not lose pairs to rounding add a margin. coverage: fraction of max(m, n), or with coverage_of_shorter of min(m, n), that either record has in aligned pairs of letters; inside: edits between the first and the last pair, per letter there, apart from `ambiguous` edits. With a coverage of 0 neither restricts pairs. equal_gain, other_gain: least increase of the score if two letters in gaps at one end are paired, equal ones with codes below `ordinary` or any; 0, 0: unknown.
    """

    def __init__(self, per_letter: float, per_shorter: float, constant: float, inside: float = 0.0, coverage: float = 0.0, coverage_of_shorter: bool = False, ambiguous: int = 0, equal_gain: int = 0, other_gain: int = 0, ordinary: int = 0) -> None: ...

    def at(self, m: int, n: int) -> int:
        """Return the bound, at most max(m, n); -1 if no such pair is allowed."""

class Records:
    """
    Records as bit planes, letter counts and, unless q is 0, sketches: the sets of their hashed q-grams in `bits` bits (a power of two from 64 to 32768). Codes are below `letters`, at most 32; record i is codes[offsets[i]:offsets[i + 1]].
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], letters: int, q: int, bits: int) -> None: ...

    def build(self, first: int, stop: int, threads: int = 1) -> None:
        """
        Build the records first to stop - 1, in `threads` threads. Every record must be built once.
        """

    @property
    def nbytes(self) -> int:
        """Bytes of memory, without codes and offsets."""

class Found:
    """
    The near pairs of a tile; those of near_tile are sorted by query, then target.
    """

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
        int64[4] of near_tile: pairs requested, and pairs remaining after lengths, after letter counts, after sketches. Not used by column_tile.
        """

    @property
    def overflow(self) -> bool:
        """
        More pairs are near than allowed: the arrays are empty, and the steps are incomplete.
        """

def instruction_sets() -> list[tuple[str, int, bool, bool]]:
    """
    (name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.
    """

def near_tile(instruction_set: str, queries: Records, targets: Records, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: Bound, use_counts: bool, max_pairs: int, cancel: gpualign.cpu.alignment._kernels.Cancel) -> Found | None:
    """
    Return the pairs of query_ids and target_ids within the bound; None if cancelled. Query query_ids[i] is compared with targets from record firsts[i] on. target_ids: int64, in ascending order of length. use_counts: compare letter counts. If there are more than `max_pairs` pairs, overflow is set.
    """

def count_survivors(instruction_set: str, queries: Records, targets: Records, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: Bound, use_counts: bool) -> NDArray[numpy.int64]:
    """
    Return the steps of near_tile (Found.steps) without computing distances.
    """

def within(instruction_set: str, queries: Records, targets: Records, query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bound: Bound, cancel: gpualign.cpu.alignment._kernels.Cancel) -> NDArray[numpy.int32] | None:
    """
    Return int32[pairs]: the edit distance of each query and target if it is within the bound, else -1; None if cancelled. Record numbers are int64, in any order.
    """

class ColumnTargets:
    """
    Targets of column_tile in panels, which must be filled before. target_ids: int64, in ascending order of length; it is fastest if those of one length are in order of label, then of the letters compared first (comparison_order). labels: int32[records] or None.
    """

    def __init__(self, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], target_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @property
    def panel_count(self) -> int: ...

    def fill(self, panel: int) -> None:
        """Fill a panel. Threads may fill different panels at the same time."""

def column_tile(instruction_set: str, query_codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], query_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], query_ids: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], firsts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: ColumnTargets, costs: Annotated[NDArray[numpy.uint8], dict(shape=(32, 32), order='C', device='cpu', writable=False)], weight: int, gap_open: int, gap_extend: int, trim_start: int, trim_end: int, gap_is_free: bool, labels: tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)]] | None, max_distance: int, max_pairs: int, cancel: gpualign.cpu.alignment._kernels.Cancel) -> Found | None:
    """
    Return the pairs of query_ids and targets whose distance along columns is at most max_distance, in any order; None if cancelled. Query query_ids[i] is compared with targets from record firsts[i] on. costs: uint8[32][32], symmetric, at most 64. distance = weight * (costs of the letters in the same column), and for a difference of k > 0 letters gap_open + (k - 1) * gap_extend. The gap has a fixed place, and the first trim_start letters and the last trim_end cost nothing. With gap_is_free (and no trimming), each letter of the shorter record costs the lower of two costs: with the letter as far from the start of the longer record, and with that as far from its end. labels: None, or (int32 label of each query, int32[labels][labels] distances of labels), which are added. If there are more than `max_pairs` pairs, overflow is set.
    """

def comparison_order(n: int) -> list[int]:
    """
    Return the positions of a string of n letters in the order in which column_tile compares them.
    """
