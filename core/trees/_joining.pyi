"""Neighbour joining."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class Joining:
    """
    Neighbour joining of float64[count][count] distances, symmetric and finite, count >= 3.
    """

    def __init__(self, distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def join(self, most: int) -> int:
        """
        Do up to so many joins; how many are left. It wants to be called until none is.
        """

    def parents(self) -> NDArray[numpy.int64]:
        """int64[2 * count - 2]: of each node, records first, -1 of the root."""

    def lengths(self) -> NDArray[numpy.float64]:
        """
        float64[2 * count - 2]: of the branches to the parents; some may be negative.
        """
