"""Writes matrices of all pairs in any format, and sparse matrices, as complete outputs or as part files of shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, MatrixLabels
from gpualign.core.output.matrix_files import IdentifiedRecords, write_ids, write_npz
from gpualign.jobs.output.atomic_files import OutputFiles
from gpualign.jobs.output.format_selection import separator_of
from gpualign.jobs.output.paths import open_id_lists
from gpualign.jobs.output.specs import MatrixSpec

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, FilledArray, NumberType
    from gpualign.core.output.sparse import SpoolFiles
    from gpualign.jobs.output.shard_file import PartFile


@contextmanager
def open_matrices(
    spec: MatrixSpec,
    files: OutputFiles,
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    threads: int,
    part: PartFile | None = None,
) -> Iterator[list[ArrayMaker]]:
    """Open the output, and yield a maker for each matrix. Once the body has made and filled all of them, write the matrices.

    files: output files, committed together or not at all
    threads: threads for formatting text
    part: part file to write instead
    """
    if part is not None:
        yield part.array_makers(spec.names)
        part.finish_matrices(spec, queries, targets)
    elif not FORMATS[spec.format].is_array:
        with _open_text_matrices(spec, files, queries, targets, threads) as makes:
            yield makes
    elif spec.format == "npz":
        assert spec.path is not None  # an array needs a file
        npz = files.open(spec.path)
        arrays = {name: files.open_array(name, None, spec.path) for name in spec.names}
        yield [make for make, _ in arrays.values()]
        write_npz(npz, {name: file for name, (_, file) in arrays.items()}, queries, targets)
    else:
        assert spec.path is not None
        makes = [files.open_array("", spec.path, None)[0]]
        if spec.second_path:
            makes.append(files.open_array(spec.names[1], spec.second_path, None)[0])
        lists = open_id_lists(files, spec.path, queries, targets)
        yield makes
        for file, records in lists:
            write_ids(file, records)


@contextmanager
def open_sparse_spools(
    path: Path | None,
    files: OutputFiles,
    queries: IdentifiedRecords,
    targets: IdentifiedRecords,
    dtype: NumberType,
    part: PartFile | None = None,
) -> Iterator[SpoolFiles]:
    """Open the output, and yield the spool files of a sparse matrix. Once the body has filled them, write the matrix.

    dtype: type of the stored numbers, each of which is a value plus 1
    part: part file to write instead
    """
    if part is not None:
        yield part.open_spools()
        part.finish_sparse(dtype, queries, targets)
        return
    from gpualign.core.output.sparse import SPOOL_NAMES, write_csr

    assert path is not None  # an array needs a file
    packed = files.open(path)
    counts, indices, data = (files.open_spool(name, path) for name in SPOOL_NAMES)
    yield counts, indices, data
    write_csr(packed, (counts, indices, data), dtype, queries, targets)


@contextmanager
def _open_text_matrices(
    spec: MatrixSpec, files: OutputFiles, queries: IdentifiedRecords, targets: IdentifiedRecords, threads: int
) -> Iterator[list[ArrayMaker]]:
    with ExitStack() as stack:
        streams = [stack.enter_context(files.open_text(path)) for path in (spec.path, *([spec.second_path] if spec.second_path else []))]
        filled: list[FilledArray] = []

        def kept(make: ArrayMaker) -> ArrayMaker:
            def make_and_keep(shape: tuple[int, ...], dtype: NumberType) -> FilledArray:
                filled.append(make(shape, dtype))
                return filled[-1]

            return make_and_keep

        yield [kept(files.open_array(name, None, spec.path)[0]) for name in spec.names]
        matrices = [array.values for array in filled]
        if spec.format == "molten":
            from gpualign.core.distance.output.pairs import PairTextFormat, write_molten

            text = PairTextFormat(separator_of(spec.format, spec.path), spec.decimals if matrices[0].dtype.kind == "f" else 0)
            write_molten(streams[0], queries, targets, matrices[0], matrices[1] if len(matrices) > 1 else None, text, threads)
            return
        if spec.format == "phylip":
            _check_defined(matrices[0], queries)
        write_text = FORMATS[spec.format].write_matrix
        assert write_text is not None  # every other format that is not an array has one
        for stream, matrix, title in zip(streams, matrices, spec.titles, strict=True):
            write_text(stream, matrix, MatrixLabels(queries, targets, title, spec.decimals), threads)


def _check_defined(values: npt.NDArray[Any], records: IdentifiedRecords) -> None:
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
