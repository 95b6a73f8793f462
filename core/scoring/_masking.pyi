"""Regions of low complexity in encoded sequences."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def seg(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], window: int, trigger: float, extend: float) -> NDArray[numpy.int64]:
    """
    Find regions in proteins, whose codes below 20 are amino acids. window: letters; trigger, extend: bits. Returns int64[intervals][2]: half-open positions in codes, ascending and disjoint.
    """

def dust(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Find regions in nucleotide sequences, whose codes below 4 are A, C, G and T. Returns the same as `seg`.
    """
