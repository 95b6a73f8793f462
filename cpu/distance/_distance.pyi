"""
Counts for pairs of samples from bit planes: an array [planes][samples][words], or PlaneRows.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class PlaneRows:
    """Planes of samples whose rows are in several arrays."""

    def __init__(self, parts: Sequence[tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]]], first_word: int, words: int) -> None:
        """
        parts: (uint64[rows][planes][words of a row], rows of consecutive samples), all with the same planes and words, of which `words` from first_word on are used; both are multiples of 8.
        """

def instruction_sets() -> list[tuple[str, int, bool, bool]]:
    """
    (name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.
    """

def differ(instruction_set: str, planes: object, bits: Sequence[int], mask: int, sites: int, rows: tuple[int, int], columns: tuple[int, int], counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, weight: int, upper: bool) -> None:
    """
    Add to int32 counts, for each pair, weight times the number of sites that differ in any of the planes `bits` and are set in the plane `mask` of both samples (-1: all sites). upper: pairs of a row with an earlier column are not needed. sites: number of sites of the planes.
    """

def both(instruction_set: str, planes: object, left: Sequence[int], right: Sequence[int], sites: int, rows: tuple[int, int], columns: tuple[int, int], counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, weight: int, upper: bool) -> None:
    """
    Add to int32 counts weight times the number of common bits of plane left[k] of the row and right[k] of the column, summed over k. sites, upper: as for `differ`.
    """

def relate(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], one: int, two: int, called: int, sites: int, terms: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: tuple[int, int], columns: tuple[int, int], sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, upper: bool) -> None:
    """
    Add to int64 sums terms[3 x + y][site], for x and y second alleles of the row and of the column (planes `one`, `two`), over the sites at which both have calls (plane `called`, -1: all). upper: as for `differ`. Terms of sites beyond the last must be 0.
    """

class PairSelector:
    """Selects pairs by their counts: see `core/distance/pair_selection.py`."""

    def __init__(self, instruction_set: str, terms: Sequence[tuple[object, int, bool, Sequence[int], Sequence[int], int, int, int]], weights: Sequence[int], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, max_sum: int, min_compared: tuple[int, int], cap: tuple[int, int], floors: Sequence[int], far_offset: int) -> None:
        """
        terms: (planes of a panel, its sites, whether the operation is DIFFER, left, right, mask or -1, weight, number of the count). min_compared, cap: (number of the count or -1, limit). floors: least count of each kind, or empty.
        """

    def select(self, rows: tuple[int, int], columns: tuple[int, int], upper: bool) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None, None))], int, int]:
        """
        Return (rows, columns, int32 counts[kind][pairs], number of pairs with too few compared sites, number of pairs without a value) of the pairs in a rectangle that the rule selects. Pairs are in no particular order.
        """

def plain_loop(data: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Count the differing numbers of every ordered pair of rows, into int32[rows][rows], as the CPU code of Payne 2010 does.
    """
