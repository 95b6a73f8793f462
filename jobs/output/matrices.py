"""Matrices of all pairs, in any format, and sparse ones, from what fills them; whole or as a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.output.formats.registry import FORMATS, Labels
from gpualign.core.output.matrix_files import Named, write_ids, write_npz
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
"""Fills an array of each maker: (what it has to tell, the arrays)."""

FillSparse = Callable[["Spools"], tuple[T, "NumberType"]]
"""Fills the files of a sparse matrix: (what it has to tell, the type of its values + 1)."""


def write_matrices(
    spec: MatrixSpec, files: OutputFiles, queries: Named, targets: Named, fill: Fill[T], threads: int, part: PartFile | None = None
) -> tuple[T, Array | None]:
    """(what `fill` tells; the first matrix, square or condensed, None: this is a part), when all are written; `files` makes them appear, or
    nothing. threads: that make text. part: that is written instead."""
    if part is not None:
        told, _ = fill(part.arrays(spec.names))
        part.finish_matrices(spec, queries, targets)
        return told, None
    if FORMATS[spec.format].is_array:
        told, filled = _write_arrays(spec, files, queries, targets, fill)
    else:
        told, filled = _write_texts(spec, files, queries, targets, fill, threads)
    return told, filled[0]


def write_sparse(
    path: Path | None, files: OutputFiles, queries: Named, targets: Named, fill: FillSparse[T], part: PartFile | None = None
) -> T:
    """The same for the pairs that there are: what `fill` tells."""
    if part is not None:
        told, dtype = fill(part.spools())
        part.finish_sparse(dtype, queries, targets)
        return told
    from gpualign.core.output.sparse import SPOOLS, pack_csr

    assert path is not None  # no array goes to standard output
    packed = files.open(path)
    counts, indices, data = (files.spool(name, path) for name in SPOOLS)
    told, dtype = fill((counts, indices, data))
    pack_csr(packed, (counts, indices, data), dtype, queries, targets)
    return told


def _write_texts(
    spec: MatrixSpec, files: OutputFiles, queries: Named, targets: Named, fill: Fill[T], threads: int
) -> tuple[T, Sequence[Array]]:
    with ExitStack() as stack:
        streams = [stack.enter_context(files.text(path)) for path in (spec.path, *([spec.beside] if spec.beside else []))]
        told, filled = fill([files.array(name, None, spec.path)[0] for name in spec.names])
        if spec.format == "molten":
            from gpualign.core.distance.output.pairs import PairText, write_molten

            text = PairText(separator_of(spec.format, spec.path), spec.decimals if filled[0].dtype.kind == "f" else 0)
            write_molten(streams[0], queries, targets, filled[0], filled[1] if len(filled) > 1 else None, text, threads)
            return told, filled
        if spec.format == "phylip":
            _check_defined(filled[0], queries)
        write_text = FORMATS[spec.format].matrix
        assert write_text is not None  # of every other format that is no array
        for stream, matrix, title in zip(streams, filled, spec.titles, strict=True):
            write_text(stream, matrix, Labels(queries, targets, title, spec.decimals), threads)
    return told, filled


def _write_arrays(spec: MatrixSpec, files: OutputFiles, queries: Named, targets: Named, fill: Fill[T]) -> tuple[T, Sequence[Array]]:
    assert spec.path is not None  # no array goes to standard output
    if spec.format == "npz":
        npz = files.open(spec.path)
        arrays = {name: files.array(name, None, spec.path) for name in spec.names}
        told, filled = fill([make for make, _ in arrays.values()])
        write_npz(npz, {name: file for name, (_, file) in arrays.items()}, queries, targets)
        return told, filled
    makes = [files.array("", spec.path, None)[0]]
    if spec.beside:
        makes.append(files.array(spec.names[1], spec.beside, None)[0])
    lists = open_id_lists(files, spec.path, queries, targets)
    told, filled = fill(makes)
    for file, records in lists:
        write_ids(file, records)
    return told, filled


def _check_defined(values: Array, records: Named) -> None:
    """Raises `InputError`: PHYLIP has no sign for a distance that is not defined, and tree programs make something of any word."""
    for row in range(len(values)) if values.dtype.kind == "f" else ():
        if len(places := np.flatnonzero(np.isnan(values[row]))):
            ids = records.ids
            raise InputError(
                f"phylip has no way to say that a distance is not defined, and that of {ids[row]!r} and {ids[places[0]]!r} is not: too few "
                f"compared sites, or saturated; leave out samples with few calls by {parameter('min_called', '0.5')}, or this one by"
                f" {parameter('exclude')}, or"
                " write mega (?) or tsv (nan)"
            )
