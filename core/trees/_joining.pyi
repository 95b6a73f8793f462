"""Neighbour joining."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class Joining:
    """
    Neighbour joining of float64[count][count] distances, symmetric and finite, count >= 3.
    """

    def __init__(self, distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def join(self, max_joins: int) -> int:
        """
        Do at most `max_joins` joins. Returns the number of joins that remain; call it until that is 0.
        """

    def parents(self) -> NDArray[numpy.int64]:
        """
        Return int64[2 * count - 2]: the parent of each node, records first; -1 for the root.
        """

    def lengths(self) -> NDArray[numpy.float64]:
        """
        Return float64[2 * count - 2]: the lengths of the branches to the parents; some may be negative.
        """
