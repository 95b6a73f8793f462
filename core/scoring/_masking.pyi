"""Regions of low complexity in encoded sequences."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def seg(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    Of proteins, codes below 20 being amino acids: int64[intervals][2], positions in codes, half-open, in order, none touching another.
    """

def dust(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Of nucleotide sequences, codes below 4 being A, C, G and T: as `seg`."""
