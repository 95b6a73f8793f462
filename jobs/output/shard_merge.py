"""Joins part files of shards (shard_file.py) into the output of the whole job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpualign.core.common.condensed_form import condensed_start
from gpualign.core.common.errors import InputError
from gpualign.core.output.matrix_files import id_list_names
from gpualign.core.output.mirroring import MatrixFiller
from gpualign.core.output.sparse import SPOOL_NAMES
from gpualign.core.sequences.ids import SampleNames
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.output.atomic_files import OutputFiles
from gpualign.jobs.output.distance_spec import compared_path
from gpualign.jobs.output.matrices import open_matrices, open_sparse_spools
from gpualign.jobs.output.shard_file import MATRIX_CONTENT, ROWS_CONTENT, PartFileReader
from gpualign.jobs.output.specs import MatrixSpec

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker

_READ_BLOCK_BYTES = 64 << 20


def order_parts(parts: Sequence[PartFileReader]) -> list[PartFileReader]:
    """Return all parts of a job in order. Raises `InputError` if a part is missing, a duplicate, or from a different job."""
    first = parts[0].description
    by_number: dict[int, PartFileReader] = {}
    for part in parts:
        description = part.description
        first.identity.check(description.identity, part.path, "merge parts of one command and one input")
        same_job = replace(description, identity=first.identity, shard=(1, description.shard[1]), span=first.span, body=first.body)
        if same_job != replace(first, shard=(1, first.shard[1])):
            one, other = (f"a part of {d.shard[1]:,}, as {d.format}" for d in (description, first))
            raise InputError(f"{part.path}: {one}; {parts[0].path} is {other}")
        if (twin := by_number.get(description.shard[0])) is not None:
            number, count = description.shard
            raise InputError(f"{part.path}: the same part, {number:,} of {count:,}, is {twin.path}; expected each once")
        by_number[description.shard[0]] = part
    count = first.shard[1]
    if missing := [number for number in range(1, count + 1) if number not in by_number]:
        shown = ", ".join(map(str, missing[:10])) + (" ..." if len(missing) > 10 else "")
        raise InputError(f"{len(missing):,} of {count:,} parts {'is' if len(missing) == 1 else 'are'} missing: {shown}")
    ordered = [by_number[number] for number in range(1, count + 1)]
    stops = [0, *(part.description.span[1] for part in ordered)]
    if any(part.description.span[0] != stop for part, stop in zip(ordered, stops, strict=False)) or stops[-1] != first.identity.rows:
        raise InputError(f"{parts[0].path}: damaged: the parts together do not hold every query; write them again")
    return ordered


def write_merged(parts: Sequence[PartFileReader], path: Path | None, files: OutputFiles) -> None:
    """Write the output of the whole job. parts: as returned by `order_parts`; path: output file (None: standard output)."""
    content = parts[0].description.content
    if content == ROWS_CONTENT:
        with files.open_text(path) as out:
            for part in parts:
                for data in part.read_chunks("rows", skipped_bytes=0 if part is parts[0] else part.description.header):
                    out.write(data)
    elif content == MATRIX_CONTENT:
        _merge_matrices(parts, path, files)
    else:
        _merge_sparse(parts, path, files)


def _read_record_names(part: PartFileReader) -> tuple[SampleNames, SampleNames]:
    """Return the query names and target names; for one set, both are the same object."""
    lists = [SampleNames(part.read_lines(name)) for name in id_list_names(part.has_member("ids"))]
    if len(lists[0]) != part.description.identity.rows:
        raise InputError(
            f"{part.path}: damaged: it has {len(lists[0]):,} ids for {part.description.identity.rows:,} queries; write it again"
        )
    return lists[0], lists[-1]


def _merge_sparse(parts: Sequence[PartFileReader], path: Path | None, files: OutputFiles) -> None:
    dtype, (queries, targets) = np.dtype(parts[0].description.dtype), _read_record_names(parts[0])
    with open_sparse_spools(path, files, queries, targets, dtype) as spools:
        for name, spool in zip(SPOOL_NAMES, spools, strict=True):
            for part in parts:
                for piece in part.read_chunks(name):
                    spool.write(piece)
        counts, indices, data = spools
        _check_counts(counts, len(queries), {indices.tell() / 4, data.tell() / dtype.itemsize}, parts[0].path)


def _check_counts(counts: BinaryIO, rows: int, lengths: set[float], name: str) -> None:
    """Raise `InputError` for damaged parts: if a row number in `counts` is out of range, or the total number of pairs is wrong.

    counts: file of int64[...][row number, number of pairs in the row]
    rows: number of rows
    lengths: lengths of the arrays that have an element per pair
    name: file to name in the message
    """
    size, total, valid = counts.tell(), 0, True
    counts.seek(0)
    while valid and size % 16 == 0 and (piece := counts.read(_READ_BLOCK_BYTES)):
        numbers, pairs = np.frombuffer(piece, np.int64).reshape(-1, 2).T
        valid = bool(numbers.min() >= 0 and numbers.max() < rows and pairs.min() >= 0 and pairs.max() <= max(lengths))
        total += int(pairs.sum())
    if size % 16 or not valid or lengths != {total}:
        raise InputError(f"{name}: damaged: this part and the others do not hold the expected number of pairs; write them again")


def _merge_matrices(parts: Sequence[PartFileReader], path: Path | None, files: OutputFiles) -> None:
    description = parts[0].description
    beside = compared_path(path) if description.beside and path is not None else None
    spec = MatrixSpec(description.format, path, beside, description.names, description.titles, description.decimals)
    queries, targets = _read_record_names(parts[0])
    with open_matrices(spec, files, queries, targets, Resources().host_threads) as makes:
        for name, make in zip(description.names, makes, strict=True):
            _join_matrix(parts, name, make, (len(queries), len(targets)))


def _join_matrix(parts: Sequence[PartFileReader], name: str, make: ArrayMaker, shape: tuple[int, int]) -> None:
    """Join the parts of a matrix with this `shape`, or of a condensed matrix of shape[0] records. make: creates the array for the whole
    matrix."""
    stored_shape, dtype = parts[0].array_header(f"{name}.npy")
    condensed = len(stored_shape) == 1
    whole = make((condensed_start(shape[0], shape[0]),) if condensed else shape, dtype)
    out = whole.values
    placement = None if condensed else MatrixFiller(whole, parts[0].description.triangle, Resources().host_threads)
    for part in parts:
        start, stop = part.description.span
        first = condensed_start(start, shape[0]) if condensed else start
        column = start if part.description.triangle else 0
        expected = (condensed_start(stop, shape[0]) - first,) if condensed else (stop - start, shape[1] - column)
        for at, values in part.read_row_blocks(f"{name}.npy", expected, dtype, _READ_BLOCK_BYTES):
            if placement is None:
                whole.reserve(first + at + len(values))
                out[first + at : first + at + len(values)] = values
            else:
                placement.copy_values(values, (first + at, first + at + len(values)), (column, shape[1]))
    if placement is not None:
        placement.finish()
    whole.flush()
