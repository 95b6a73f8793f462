"""Counts of pairs of samples from bit planes."""

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
    Add weight times the sites that differ in any of the planes `bits` and lie in the plane `mask` of both (-1: all) to int32 counts; upper: but for pairs of a row with an earlier column. limits: pairs with more than `most` in the counts of each of these (counts, most), which may be those that are added to, may be left with counts that are too small.
    """

def both(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], left: Sequence[int], right: Sequence[int], rows: tuple[int, int], columns: tuple[int, int], counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, weight: int, upper: bool, limits: Sequence[tuple[Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')], int]] = []) -> None:
    """
    Add weight times the common bits of plane left[k] of the row and right[k] of the column, summed over k, to int32 counts; upper, limits: as in `differ`.
    """

def relate(instruction_set: str, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], one: int, two: int, called: int, sites: int, terms: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rows: tuple[int, int], columns: tuple[int, int], sums: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu')], row_place: int, column_place: int, upper: bool) -> None:
    """
    Add terms[3 x + y][site] to int64 sums, for x and y second alleles of the row and of the column (planes `one`, `two`), of the sites at which both have calls (plane `called`, -1: all); upper: as in `differ`. Sites beyond the last have terms of 0.
    """

def choose(counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], row_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], column_offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], most: int, least_of: int, least: int, diagonal: int) -> tuple[Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None,))], Annotated[NDArray[numpy.int32], dict(shape=(None, None))], int]:
    """
    Pairs r, c of int32 counts[k][rows][columns] with sum of weights[k] counts[k][r][c] + row_offsets[r] + column_offsets[c] <= most and counts[least_of][r][c] >= least (least_of < 0: any): (r, c, counts[k][pairs], how many have less than `least`). Of row r only columns from r + diagonal + 1 on are looked at.
    """

def plain_loop(data: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], distances: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Payne 2010's CPU code: differing numbers of every ordered pair of rows, into int32[rows][rows].
    """
