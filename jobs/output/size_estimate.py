"""Expected size of an output, for dry runs. Array sizes are exact; other sizes are extrapolated from a sample that is not stored."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.units import FRACTION_DECIMALS, format_bytes
from gpualign.core.execution.totals import NullProgress
from gpualign.core.files.paths import has_gzip_suffix
from gpualign.core.output.formats.registry import FORMATS, Layout
from gpualign.core.output.matrix_files import IdentifiedRecords, NumberType, id_lists
from gpualign.core.output.pairs import split_into_blocks
from gpualign.core.output.writer import CountingStream
from gpualign.core.results.filter import Filter
from gpualign.jobs.output.atomic_files import is_file_name
from gpualign.jobs.output.format_selection import make_row_sink
from gpualign.jobs.output.result_writing import write_results

if TYPE_CHECKING:
    import numpy.typing as npt

    from gpualign.core.output.pairs import PairsSink
    from gpualign.core.results.near_results import NearPairResults
    from gpualign.jobs.dist import DistJob
    from gpualign.jobs.job import PairJob
    from gpualign.jobs.output.distance_spec import DistanceSpec
    from gpualign.jobs.output.specs import HitSpec, OutputSpec
    from gpualign.jobs.sw import SearchJob

_RULE_OF_THREE_PAIR_COUNT = 3
"""If this many passing pairs are expected in a sample, the sample very likely (95 %) contains one."""

_MEMBER_OVERHEAD_BYTES, _ARCHIVE_OVERHEAD_BYTES = 30 + 20 + 46, 22
"""Overhead of a .npz in bytes: per array, in addition to the array name (stored twice); and at the end of the file."""

_MAX_EXACT_NPZ_BYTES = 0xFFFFFFFF
"""Size in bytes up to which the estimate for a .npz is exact; a larger file is a few bytes longer."""


ArrayShapes: TypeAlias = "dict[str, tuple[tuple[int, ...], np.dtype[Any]]]"
"""(shape, type) of each array, by name."""


@dataclass(frozen=True)
class FileSizeEstimate:
    """File size as a function of the number of rows.

    header_bytes: bytes before and after the rows
    row_bytes: approximate bytes per row
    """

    header_bytes: float
    row_bytes: float

    @classmethod
    def from_samples(cls, size: Callable[[int], int], rows: int) -> FileSizeEstimate | None:
        """Return an estimate from the sizes of a file with all rows and one with half of them; None if there are no rows. size: returns the
        size, in bytes, of a file with a given number of rows."""
        if not rows:
            return None
        few = rows // 2 if rows > 1 else 0
        whole, half = size(rows), size(few)
        each = (whole - half) / (rows - few)
        return cls(max(0.0, whole - each * rows), each)

    def for_rows(self, rows: float) -> int:
        """Return the size in bytes of a file with `rows` rows."""
        return round(self.header_bytes + self.row_bytes * rows)


def describe_pairs_size(spec: OutputSpec, job: PairJob, rows: int, line_width: Callable[[Path | None], int]) -> str:
    """Return a human-readable output size for an `nw` job, or an `sw` job that writes all scores.

    rows: number of queries written
    line_width: returns the width, in characters, of human-readable lines written to a given output
    """
    if spec.is_counts:
        return describe_counts_size(job.task.queries, rows, spec.path)
    if job.is_joined:
        return "unknown: pairs of both chains cannot be sampled"
    task, sampled = job.task, job.sample
    if spec.is_matrix:
        dtype = spec.value.dtype(task)
        if FORMATS[spec.format].is_array:
            values = job.pair_count if spec.options.condensed else rows * len(task.targets)
            shape = (values,) if spec.options.condensed else (rows, len(task.targets))
            return describe_arrays_size(spec.format, spec.path, {spec.value.array_name: (shape, dtype)}, task.queries, task.targets)
        width = _mean_value_width(spec, job, sampled.results)
        if width is None:
            return _UNMEASURED_MESSAGE
        return _format_estimate(matrix_bytes(spec.format, task.queries, task.targets, rows, width), spec.path)
    thresholds = replace(spec.filter, groups=None, nearest_count=None, one_set=False)
    passing = _count_passing(spec, job, thresholds, sampled.results)
    if spec.is_sparse:
        from gpualign.core.output.sparse import stored_dtype

        row_bytes: FileSizeEstimate | None = sparse_size_estimate(task.queries, task.targets, stored_dtype(spec.value.dtype(task), task))
    else:

        def size(count: int) -> int:
            stream = CountingStream()
            sink = make_row_sink(stream, task, spec.row_format, spec.path, line_width, None, spec.value.identity_definition)
            return file_bytes(sink, job.plan, _first_pairs(sampled.results, count), stream)

        row_bytes = FileSizeEstimate.from_samples(size, len(sampled.results.pairs))
    max_rows = job.pair_count if spec.filter.nearest_count is None else min(job.pair_count, spec.filter.nearest_count * rows)
    if row_bytes is None:
        return _UNMEASURED_MESSAGE if max_rows else _format_estimate(0, spec.path)
    if thresholds == Filter():
        return describe_rows_size(row_bytes, max_rows, spec.path)
    if not passing and not sampled.equal_count:
        return _describe_size_bound(row_bytes, sampled.examined_count, job.pair_count, max_rows, spec.path)
    return describe_rows_size(row_bytes, min(max_rows, sampled.expected_pair_count(job.pair_count, passing)), spec.path, max_rows)


def describe_distances_size(spec: DistanceSpec, job: DistJob, rows: int) -> str:
    """Return a human-readable output size for a `dist` job. rows: number of samples written as queries."""
    from gpualign.core.distance.output.base import DECIMALS as DISTANCE_DECIMALS
    from gpualign.core.distance.runner import sample_distances
    from gpualign.jobs.output.distance_spec import pairs_sink

    metric, samples, pairs = job.prepared.task.metric, job.samples, job.pair_count
    if FORMATS[spec.format].is_array:
        shape = (pairs,) if spec.options.condensed else (rows, len(samples.targets))
        arrays: ArrayShapes = {metric.value_name: (shape, job.dtype)}
        if spec.writes_compared:
            arrays["compared"] = (shape, np.dtype(np.int32))
        return describe_arrays_size(spec.format, spec.path, arrays, samples.queries, samples.targets)
    if spec.is_counts:
        return describe_counts_size(samples.queries, rows, spec.path)
    sampled, looked_at = sample_distances(job.prepared)
    if not spec.is_pair_list:
        matrices = [[one.values for one in sampled]]
        if spec.writes_compared:
            matrices.append([one.compared_sites for one in sampled if one.compared_sites is not None])
        widths = [mean_text_width(values, 0 if metric.is_integer else DISTANCE_DECIMALS) for values in matrices]
        if spec.format == "molten":
            letters = sum(records.id_column.lengths.mean() for records in (samples.queries, samples.targets))
            each = letters + 2 + sum(widths) + len(widths)
            return describe_rows_size(FileSizeEstimate(0, each), rows * len(samples.targets), spec.path)
        return _format_estimate(
            sum(matrix_bytes(spec.format, samples.queries, samples.targets, rows, width) for width in widths), spec.path
        )
    count = looked_at if spec.threshold_option is None else sum(len(one.values) for one in sampled)
    if spec.layout is Layout.SPARSE:
        size = sparse_size_estimate(samples.queries, samples.targets, job.dtype)
    else:

        def whole(bands: Sequence[Any]) -> int:
            stream = CountingStream()
            sink = pairs_sink(spec, metric, stream)
            sink.begin(samples)
            for one in bands:
                sink.write(one)
            sink.finish()
            return stream.size

        half = sampled[: len(sampled) // 2]
        few = count * len(half) // len(sampled) if spec.threshold_option is None else sum(len(one.values) for one in half)
        letters = sum(records.id_column.lengths.mean() for records in (samples.queries, samples.targets))
        # Measured by what the second half adds, since ids may precede all rows.
        each = (whole(sampled) - whole(half)) / (count - few) if count > few else letters + 2 + _ASSUMED_CELL_CHARS
        size = FileSizeEstimate(max(0.0, whole(sampled) - each * count), each)
    if spec.threshold_option is None:
        return describe_rows_size(size, pairs, spec.path)
    if not count:
        return _describe_size_bound(size, looked_at, pairs, pairs, spec.path)
    return describe_rows_size(size, pairs * count / looked_at, spec.path, pairs)


def describe_counts_size(queries: IdentifiedRecords, rows: int, path: Path | None) -> str:
    """Return the human-readable size of the numbers of neighbours of `rows` queries."""
    return describe_rows_size(FileSizeEstimate(0, float(queries.id_column.lengths.mean()) + 1 + _ASSUMED_CELL_CHARS), rows, path)


def describe_hits_size(spec: HitSpec, job: SearchJob, span: tuple[int, int], line_width: Callable[[Path | None], int]) -> str:
    """Return a human-readable output size for the hits of the queries [start, stop) in `span`, extrapolated from as many of the first
    queries as can be searched quickly."""
    from gpualign.jobs.reporter import SILENT_REPORTER

    (start, stop), targets = span, len(job.task.targets)
    max_rows = (stop - start) * min(targets, job.options.max_hits_per_query or targets) * job.options.max_hsps
    work = job.row_work[start:stop]
    if not len(work) or work[0] > _MAX_QUERY_CELLS:
        return f"{max_rows:,} rows at most, of unknown size: searching one query would take too long"
    count = max(1, int(np.searchsorted(np.cumsum(work), _MAX_SAMPLE_CELLS, side="right")))
    quiet = replace(job, reporter=SILENT_REPORTER)

    def searched(queries: int) -> tuple[int, int]:
        stream, hits = CountingStream(), 0
        sink = make_row_sink(stream, job.task, spec.row_format, spec.path, line_width)
        if queries:
            sample = quiet.for_queries(start, start + queries)
            results, totals = sample.run(NullProgress())
            write_results(sink, sample.search_plan.plan, results)
            hits = totals.hit_count
        else:
            sink.begin(job.search_plan.plan)
            sink.finish()
        return stream.size, hits

    before, (size, hits) = searched(0)[0], searched(count)
    each = (size - before) / max(1, hits)
    return describe_rows_size(FileSizeEstimate(before, each), hits * (stop - start) / count, spec.path, max_rows)


_MAX_SAMPLE_CELLS, _MAX_QUERY_CELLS = 5e8, 4e9
"""Maximum number of DP cells that a dry run computes to search with the whole sample of queries, and with a single query."""

_ASSUMED_CELL_CHARS = 3
"""Assumed number of characters of a distance, if a sample has no near pairs, and of a number of neighbours, including the line end."""

_UNMEASURED_MESSAGE = "unknown: aligning one pair of the sample would take too long"


def describe_rows_size(size: FileSizeEstimate, rows: float, path: Path | None, max_rows: int | None = None) -> str:
    """Return a human-readable size of a file of `rows` rows. max_rows: upper bound, if `rows` is an estimate; None: `rows` is exact."""
    if max_rows is None:
        return f"{_format_estimate(size.for_rows(rows), path)}: {round(rows):,} rows of about {size.row_bytes:,.0f} bytes"
    return (
        f"{_format_estimate(size.for_rows(rows), path)}: about {_format_rounded(rows)} rows of {size.row_bytes:,.0f} bytes, by a sample;"
        f" {max_rows:,} rows, {format_bytes(size.for_rows(max_rows))}, at most"
    )


def _describe_size_bound(size: FileSizeEstimate, examined_count: int, pair_count: int, max_rows: int, path: Path | None) -> str:
    rows = min(max_rows, _RULE_OF_THREE_PAIR_COUNT * pair_count / max(1, examined_count))
    return (
        f"probably less than {_format_estimate(size.for_rows(rows), path).removeprefix('about ')}: {size.row_bytes:,.0f} bytes a row, and"
        f" of a sample of {examined_count:,} pairs none passes; {max_rows:,} rows, {format_bytes(size.for_rows(max_rows))}, at most"
    )


def _format_rounded(number: float) -> str:
    """Return the number, rounded to two significant digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _format_estimate(size: int, path: Path | None) -> str:
    packed = path is not None and has_gzip_suffix(path)
    return f"about {format_bytes(size)}{' before compression' if packed else ''}"


def file_bytes(sink: PairsSink, plan: Any, results: NearPairResults, stream: CountingStream) -> int:
    """Return the size in bytes of a complete file with these pairs. sink: writes to `stream`."""
    sink.begin(plan)
    if len(results.pairs):
        sink.write(results)
    sink.finish()
    return stream.size


def _first_pairs(results: NearPairResults, count: int) -> NearPairResults:
    from gpualign.core.results.near_results import NearPairResults

    numbers = np.arange(count, dtype=np.int64)
    return NearPairResults(results.pairs.select(numbers), results.alignments.select(numbers))


def _count_passing(spec: OutputSpec, job: PairJob, filter: Filter, results: NearPairResults) -> int:
    """Return how many of the sampled pairs (`results`) pass the filter."""
    if not len(results.pairs):
        return 0
    blocks = split_into_blocks(job.task, spec.value.identity_definition, results, job.plan.pairing)
    return sum(int(np.count_nonzero(block.output_mask(filter.mask(block)))) for block in blocks)


def _mean_value_width(spec: OutputSpec, job: PairJob, results: NearPairResults) -> float | None:
    """Return the average number of characters that a value of the output takes as text; None if the sample has no pairs."""
    if not job.pair_count:
        return 1.0
    if not len(results.pairs):
        return None
    blocks = split_into_blocks(job.task, spec.value.identity_definition, results, job.plan.pairing)
    return mean_text_width([block.written_values(None, spec.value.block_values(block))[0] for block in blocks], FRACTION_DECIMALS)


def mean_text_width(values: Sequence[npt.NDArray[Any]], decimals: int) -> float:
    """Return the average number of characters that a value takes as text. decimals: decimal places for values that are not integers."""
    texts = [
        f"{one:.{decimals}f}" if values[0].dtype.kind == "f" else str(one)
        for one in np.concatenate([array.ravel() for array in values]).tolist()
    ]
    return sum(map(len, texts)) / max(1, len(texts))


def describe_arrays_size(
    format: str, path: Path | None, arrays: ArrayShapes, queries: IdentifiedRecords, targets: IdentifiedRecords
) -> str:
    """Return the human-readable total size of .npy files, or of one .npz."""
    if format == "npz":
        size = _npz_bytes(arrays, queries, targets)
        return f"about {format_bytes(size)}" if size > _MAX_EXACT_NPZ_BYTES else f"{format_bytes(size)} ({size:,} bytes)"
    size = sum(_npy_bytes(shape, dtype) for shape, dtype in arrays.values())
    if path is not None and is_file_name(path):
        size += sum(int(records.id_column.lengths.sum()) + len(records.ids) for records in id_lists(queries, targets).values())
    return f"{format_bytes(size)} ({size:,} bytes)"


def sparse_size_estimate(queries: IdentifiedRecords, targets: IdentifiedRecords, dtype: NumberType) -> FileSizeEstimate:
    """Return the size of a sparse-matrix .npz as a function of the number of pairs. dtype: type of the stored values."""
    index, rows = np.dtype(np.int32), len(queries.ids) + 1
    vectors: ArrayShapes = {"indices": ((0,), index), "indptr": ((rows,), index), "data": ((0,), dtype)}
    header: ArrayShapes = {"format": ((), np.dtype("S3")), "shape": ((2,), np.dtype(np.int64))}
    return FileSizeEstimate(_npz_bytes(vectors | header, queries, targets), index.itemsize + dtype.itemsize)


def _npz_bytes(arrays: ArrayShapes, queries: IdentifiedRecords, targets: IdentifiedRecords) -> int:
    """Return the size in bytes of a .npz with these arrays and the ids."""
    every = arrays | {name: ((len(records.ids),), _id_dtype(records)) for name, records in id_lists(queries, targets).items()}
    of_names = sum(_MEMBER_OVERHEAD_BYTES + 2 * len(f"{name}.npy") for name in every)
    return _ARCHIVE_OVERHEAD_BYTES + of_names + sum(_npy_bytes(shape, dtype) for shape, dtype in every.values())


def _npy_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape})
    return len(head.getvalue()) + math.prod(shape) * dtype.itemsize


def _id_dtype(records: IdentifiedRecords) -> np.dtype[Any]:
    return np.dtype(f"U{max(1, max(map(len, records.ids), default=1))}")


def matrix_bytes(format: str, queries: IdentifiedRecords, targets: IdentifiedRecords, rows: int, width: float) -> int:
    """Return the approximate size in bytes of a text matrix. rows: number of rows written; width: average characters per value."""
    above, beside = (int(records.id_column.lengths.sum()) for records in (targets, queries))
    count = len(targets.ids)
    values = rows * count * (1 + width)
    if format == "mega":
        digits = len(str(count)) + 2
        return round(values / 2 + above + rows * (2 * digits + 4))
    beside = round(beside * rows / max(1, len(queries.ids)))
    return round(values + beside + rows + (above + count if format != "phylip" else 0))
