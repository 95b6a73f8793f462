"""Memory needed for a whole matrix, and early rejection of matrices that are too large."""

from __future__ import annotations

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import RunError, parameter
from gpualign.core.common.memory import free_memory
from gpualign.core.common.units import format_bytes


@dataclass(frozen=True)
class MatrixUse:
    """Purpose for which a whole matrix is held in memory.

    purpose: what the memory is needed for, as text for messages
    advice: what the user can do instead, as text for messages
    pair_bytes: peak memory per (row, column) pair in bytes, including the memory for reading; 0 if memory use peaks while the file is read
    """

    purpose: str
    advice: str
    pair_bytes: int


DRAWING_USE = MatrixUse("to draw", "draw fewer records, as one of each cluster (gpualign cluster)", 40)
"""For drawing a heat map. Measured with 8,000 records: 28 to 40 bytes per pair when matrices are read from arrays."""

CLUSTERING_USE = MatrixUse("to cluster", f"give a list of near pairs with {parameter('edges')}", 0)

TREE_MATRIX_USES = {
    method: MatrixUse("to make a tree of", "take fewer records, as one of each cluster (gpualign cluster)", bytes_of_pair)
    for method, bytes_of_pair in (("nj", 31), ("upgma", 10), ("mst", 15))
}
"""For building a tree, by method. Measured with 3,000 records read from arrays and condensed matrices."""


def check_memory(use: MatrixUse, source: str, rows: int, columns: int, bytes_per_cell: int = 0) -> None:
    """Raise `RunError` for a matrix that needs more memory than is still available to this process; never raises if the
    available memory is unknown.

    source: file, or parameter that requests the matrix; the message begins with it
    bytes_per_cell: memory for reading, in bytes per (row, column) pair
    """
    needed, available = rows * columns * max(use.pair_bytes, bytes_per_cell), free_memory()
    if available is not None and needed > available:
        raise RunError(
            f"{source}: {rows:,} x {columns:,} values take about {format_bytes(needed)} of memory {use.purpose}, and this process may have"
            f" {format_bytes(available)}; {use.advice}, or take a machine with more memory"
        )
