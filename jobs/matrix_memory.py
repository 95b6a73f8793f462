"""Memory that a whole matrix takes, and the refusal of one that is too large before work begins."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.memory import free_memory
from gpualign.core.common.units import format_bytes


@dataclass(frozen=True)
class MatrixUse:
    """What is made of a whole matrix.

    purpose: of the memory, for messages
    advice: what else could be done, for messages
    bytes_of_pair: memory for each pair of a row and a column at most, from reading on; 0 where it takes no more than reading does
    """

    purpose: str
    advice: str
    bytes_of_pair: int


DRAWING = MatrixUse("to draw", "draw fewer records, as one of each cluster (gpualign cluster)", 40)
"""Measured with 8,000 records: 28 to 40 bytes from arrays."""

CLUSTERING = MatrixUse("to cluster", f"give a list of near pairs with {parameter('edges')}", 0)

TREES = {
    method: MatrixUse("to make a tree of", "take fewer records, as one of each cluster (gpualign cluster)", bytes_of_pair)
    for method, bytes_of_pair in (("nj", 31), ("upgma", 10), ("mst", 15))
}
"""By method. Measured with 3,000 records, from arrays and condensed matrices."""


def check_memory(use: MatrixUse, where: str, rows: int, columns: int, reading: int = 0) -> None:
    """Raises `InputError` for a matrix that takes more than the memory this process may still have; where that is not known, nothing does.

    where: begins the message: the file, or the parameter that asks for the matrix. reading: bytes for each pair that reading it takes.
    """
    needed, there = rows * columns * max(use.bytes_of_pair, reading), free_memory()
    if there is not None and needed > there:
        raise InputError(
            f"{where}: {rows:,} x {columns:,} values take about {format_bytes(needed)} of memory {use.purpose}, and this process may have"
            f" {format_bytes(there)}; {use.advice}, or take a machine with more memory"
        )
