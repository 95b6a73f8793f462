"""MEGA's text format of a distance matrix."""

from __future__ import annotations

import numpy as np

from gpualign.core._rows import format_matrix_rows
from gpualign.core.distance.metrics import Values
from gpualign.core.sinks.matrix_files import Named
from gpualign.core.sinks.writer import ByteWriter


def write_mega(stream: ByteWriter, names: Named, values: Values, title: str, decimals: int) -> None:
    """The names (as `names.written_samples` makes them), then the triangle below the diagonal.

    A distance that is not defined is `?`, which MEGA reads as missing.
    """
    stream.write(f"#mega\n!Title: {title};\n!Format DataType=Distance DataFormat=LowerLeft NTaxa={len(names.ids)};\n\n".encode())
    stream.write("".join(f"[{k}] #{name}\n" for k, name in enumerate(names.ids, 1)).encode("utf-8", "surrogateescape"))
    stream.write(b"\n")
    for row in range(len(names.ids)):
        label = np.frombuffer(f"[{row + 1}]".encode(), dtype=np.uint8)
        part = np.ascontiguousarray(values[row : row + 1, :row])
        stream.write(format_matrix_rows(label, np.array([0, len(label)]), part, " ", decimals).replace(b"nan", b"?"))
