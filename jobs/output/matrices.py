"""Writes matrices of all pairs in any format, and sparse matrices, as complete outputs or as part files of shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, Labels
from gpualign.core.output.matrix_files import IdentifiedRecords, write_ids, write_npz
from gpualign.jobs.output.atomic_files import OutputFiles
from gpualign.jobs.output.format_selection import open_id_lists, separator_of
from gpualign.jobs.output.specs import MatrixSpec

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, NumberType
    from gpualign.core.output.sparse import Spools
    from gpualign.jobs.output.shard_file import PartFile

Array = npt.NDArray[Any]
T = TypeVar("T")

Fill = Callable[[Sequence["ArrayMaker"]], tuple[T, Sequence[Array]]]
"""Fills an array from each maker, and returns (result, arrays)."""

FillSparse = Callable[["Spools"], tuple[T, "NumberType"]]
"""Fills the spool files of a sparse matrix, and returns (result, type of the values + 1)."""


def write_matrices(
    spec: MatrixSpec,
    files: OutputFiles,
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    fill: Fill[T],
    threads: int,
    part: PartFile | None = None,
) -> tuple[T, Array | None]:
    """Write the matrices filled with `fill`, and return (result of `fill`, first matrix, square or condensed; None for a shard).

    files: output files, committed together or not at all
    threads: threads for formatting text
    part: part file to write instead
    """
    if part is not None:
        result, _ = fill(part.arrays(spec.names))
        part.finish_matrices(spec, queries, targets)
        return result, None
    if FORMATS[spec.format].is_array:
        result, filled = _write_arrays(spec, files, queries, targets, fill)
    else:
        result, filled = _write_texts(spec, files, queries, targets, fill, threads)
    return result, filled[0]


def write_sparse(
    path: Path | None,
    files: OutputFiles,
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    fill: FillSparse[T],
    part: PartFile | None = None,
) -> T:
    """Write the sparse matrix filled with `fill`, and return the result of `fill`. part: part file to write instead."""
    if part is not None:
        result, dtype = fill(part.spools())
        part.finish_sparse(dtype, queries, targets)
        return result
    from gpualign.core.output.sparse import SPOOLS, pack_csr

    assert path is not None  # an array needs a file
    packed = files.open(path)
    counts, indices, data = (files.spool(name, path) for name in SPOOLS)
    result, dtype = fill((counts, indices, data))
    pack_csr(packed, (counts, indices, data), dtype, queries, targets)
    return result


def _write_texts(
    spec: MatrixSpec, files: OutputFiles, queries: IdentifiedRecords, targets: IdentifiedRecords, fill: Fill[T], threads: int
) -> tuple[T, Sequence[Array]]:
    with ExitStack() as stack:
        streams = [stack.enter_context(files.text(path)) for path in (spec.path, *([spec.beside] if spec.beside else []))]
        result, filled = fill([files.array(name, None, spec.path)[0] for name in spec.names])
        if spec.format == "molten":
            from gpualign.core.distance.output.pairs import PairText, write_molten

            text = PairText(separator_of(spec.format, spec.path), spec.decimals if filled[0].dtype.kind == "f" else 0)
            write_molten(streams[0], queries, targets, filled[0], filled[1] if len(filled) > 1 else None, text, threads)
            return result, filled
        if spec.format == "phylip":
            _check_defined(filled[0], queries)
        write_text = FORMATS[spec.format].matrix
        assert write_text is not None  # every other format that is not an array has one
        for stream, matrix, title in zip(streams, filled, spec.titles, strict=True):
            write_text(stream, matrix, Labels(queries, targets, title, spec.decimals), threads)
    return result, filled


def _write_arrays(
    spec: MatrixSpec, files: OutputFiles, queries: IdentifiedRecords, targets: IdentifiedRecords, fill: Fill[T]
) -> tuple[T, Sequence[Array]]:
    assert spec.path is not None  # an array needs a file
    if spec.format == "npz":
        npz = files.open(spec.path)
        arrays = {name: files.array(name, None, spec.path) for name in spec.names}
        result, filled = fill([make for make, _ in arrays.values()])
        write_npz(npz, {name: file for name, (_, file) in arrays.items()}, queries, targets)
        return result, filled
    makes = [files.array("", spec.path, None)[0]]
    if spec.beside:
        makes.append(files.array(spec.names[1], spec.beside, None)[0])
    lists = open_id_lists(files, spec.path, queries, targets)
    result, filled = fill(makes)
    for file, records in lists:
        write_ids(file, records)
    return result, filled


def _check_defined(values: Array, records: IdentifiedRecords) -> None:
    """Raise `InputError` for undefined distances. PHYLIP has no symbol for them, and tree programs would misread any placeholder."""
    for row in range(len(values)) if values.dtype.kind == "f" else ():
        if len(places := np.flatnonzero(np.isnan(values[row]))):
            ids = records.ids
            raise InputError(
                f"phylip cannot express an undefined distance, and that of {ids[row]!r} and {ids[places[0]]!r} is undefined: too few "
                f"compared sites, or saturated; leave out samples with few calls by {parameter('min_called', '0.5')}, or this one by"
                f" {parameter('exclude')}, or"
                " write mega (?) or tsv (nan)"
            )
