"""MEGA's text format for distance matrices."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from gpualign.core.output.matrix_files import IdentifiedRecords, write_matrix_rows
from gpualign.core.output.writer import ByteWriter
from gpualign.core.sequences.string_column import StringColumn


def write_mega(stream: ByteWriter, names: IdentifiedRecords, values: npt.NDArray[Any], title: str, decimals: int, threads: int = 1) -> None:
    """Write the names, which must be valid in MEGA, then the lower triangle of the distances.

    values: square matrix of distances; NaN for an undefined distance, which is written as `?`, MEGA's symbol for a missing one
    threads: formatting threads
    """
    stream.write(f"#mega\n!Title: {title};\n!Format DataType=Distance DataFormat=LowerLeft NTaxa={len(names.ids)};\n\n".encode())
    stream.write("".join(f"[{k}] #{name}\n" for k, name in enumerate(names.ids, 1)).encode("utf-8", "surrogateescape"))
    stream.write(b"\n")
    labels = StringColumn.from_strings([f"[{k}]" for k in range(1, len(names.ids) + 1)])
    write_matrix_rows(stream, values, labels, " ", decimals, threads, "?", lower_triangle=True)
