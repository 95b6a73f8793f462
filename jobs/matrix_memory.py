"""Memory of a whole matrix, and the refusal of one that is too large before work starts."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.memory import free_memory
from gpualign.core.common.units import format_bytes


@dataclass(frozen=True)
class MatrixUse:
    """Use of a whole matrix.

    purpose: of the memory, for messages
    advice: what else could be done, for messages
    bytes_of_pair: largest memory for each pair of a row and a column, from reading on; 0 if it takes no more than reading does
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
"""Use by method. Measured with 3,000 records, from arrays and condensed matrices."""


def check_memory(use: MatrixUse, where: str, rows: int, columns: int, reading: int = 0) -> None:
    """Raise `InputError` for a matrix that takes more than the memory this process may still have; never if that is unknown.

    where: begins the message: the file, or the parameter that asks for the matrix
    reading: bytes that reading takes for each pair
    """
    needed, available = rows * columns * max(use.bytes_of_pair, reading), free_memory()
    if available is not None and needed > available:
        raise InputError(
            f"{where}: {rows:,} x {columns:,} values take about {format_bytes(needed)} of memory {use.purpose}, and this process may have"
            f" {format_bytes(available)}; {use.advice}, or take a machine with more memory"
        )
