"""Joins records to the centroids of greedy clustering."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


@overload
def join_centroids(i: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], j: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], distance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, stop: int, centroid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None: ...

@overload
def join_centroids(i: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], j: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], distance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rank: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], first: int, stop: int, centroid: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Join the records with ranks in [first, stop) to centroids.

    i, j, distance: all pairs whose record of higher rank is in this range, and no others
    rank: place of each record in clustering order
    centroid: for each rank, the rank of its record's centroid, at first its own; changed for the records in the range
    """
