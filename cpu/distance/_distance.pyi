"""Counts for pairs of samples from bit planes."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def instruction_sets() -> list[tuple[str, int, bool, bool]]:
    """
    (name, bytes of a vector, counts the bits of vectors, runs on this machine) of each variant in this build, fastest first.
    """

def differ(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], bits: Sequence[int], mask: int, rows: tuple[int, int], columns: tuple[int, int], counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, weight: int, upper: bool, limits: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], int]] = []) -> None:
    """
    Add to int32 counts, for each pair, weight times the number of sites that differ in any of the planes `bits` and are set in the plane `mask` of both samples (-1: all sites). upper: pairs of a row with an earlier column are not needed. limits: a pair that exceeds `most` in the counts of each of these (counts, most), which may be the counts added to, may be skipped with counts that are too small.
    """

def both(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], left: Sequence[int], right: Sequence[int], rows: tuple[int, int], columns: tuple[int, int], counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, weight: int, upper: bool, limits: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], int]] = []) -> None:
    """
    Add to int32 counts weight times the number of common bits of plane left[k] of the row and right[k] of the column, summed over k. upper, limits: as for `differ`.
    """

def relate(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], one: int, two: int, called: int, sites: int, terms: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: tuple[int, int], columns: tuple[int, int], sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, upper: bool) -> None:
    """
    Add to int64 sums terms[3 x + y][site], for x and y second alleles of the row and of the column (planes `one`, `two`), over the sites at which both have calls (plane `called`, -1: all). upper: as for `differ`. Terms of sites beyond the last must be 0.
    """

def choose(counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, least_of: int, least: int, diagonal: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None, None))], int]:
    """
    Select the pairs r, c of int32 counts[k][rows][columns] with sum of weights[k] counts[k][r][c] + row_offsets[r] + column_offsets[c] <= most and counts[least_of][r][c] >= least (least_of < 0: any). Returns (r, c, counts[k][pairs], number of pairs with fewer than `least`). Row r is compared with the columns from r + diagonal + 1 on.
    """

def plain_loop(data: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Count the differing numbers of every ordered pair of rows, into int32[rows][rows], as the CPU code of Payne 2010 does.
    """
