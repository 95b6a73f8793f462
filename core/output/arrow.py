"""Tables of typed columns, as Parquet or Arrow, written through pyarrow.

Batch boundaries depend only on the contents of the rows, never on the blocks in which rows arrive, because blocks depend on memory and
engine: with the same pyarrow release, equal rows give equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.libraries import check_room_for_library
from gpualign.core.common.threads import BackgroundTask
from gpualign.core.output.matrix_files import IdentifiedRecords
from gpualign.core.output.pairs import PairsSink
from gpualign.core.output.writer import ByteWriter
from gpualign.core.results.blocks import Block
from gpualign.core.results.columns import Field
from gpualign.core.results.filter import Filter
from gpualign.core.sequences.string_column import StringColumn

BATCH_ROWS = 1 << 18
"""Maximum number of rows in an Arrow batch or a Parquet row group."""

BATCH_TEXT_BYTES = 16 << 20
"""Bytes of text at which a batch ends even if it has fewer rows. Ids count towards this limit only in Parquet, where every row holds its
ids in full."""

_MAX_PENDING_BATCHES = 256
"""Maximum number of pieces of a batch that are held before they are merged. Each piece takes additional memory, however few rows it has."""

PARQUET, FILE, STREAM = "parquet", "file", "stream"
"""Containers: Parquet, Arrow's IPC file format, which readers map into memory, and Arrow's stream format, which can be read from a pipe."""

ColumnValues: TypeAlias = "npt.NDArray[Any] | StringColumn"


def check_pyarrow(format: str) -> None:
    """Raise `InputError` if pyarrow is not installed, and `RunError` if there is no room for it. format: the output format that needs it,
    for the message"""
    check_room_for_library("pyarrow")
    try:
        import pyarrow as pa  # noqa: F401
    except ModuleNotFoundError:
        raise InputError(f"{parameter('format', format)} needs pyarrow: pip install 'gpualign[arrow]'") from None


@dataclass(frozen=True)
class TypedColumn:
    """A column of numbers, ids or other text.

    name: the column's name
    dtype: type of the numbers; None for text
    ids: the records whose ids the column holds; None for numbers and other text
    """

    name: str
    dtype: np.dtype[Any] | None = None
    ids: IdentifiedRecords | None = None


class _Buffer:
    """In-memory file for pyarrow. Bytes are kept until they are moved to the output, so that output errors are raised outside pyarrow, and
    a writer that is discarded after a failure writes nothing."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def move_to(self, stream: ByteWriter) -> None:
        """Write all bytes received since the last call to a stream."""
        pieces, self._pieces = self._pieces, []
        for piece in pieces:
            stream.write(piece)


class TableWriter:
    """Writes a table to a binary stream that need not be seekable. Raises `InputError` for ids that are not UTF-8.

    Missing numbers are written as null. Ids are written as plain text in Parquet, which encodes repeated strings itself, and
    dictionary-encoded in Arrow, which does not.
    """

    def __init__(self, stream: ByteWriter, container: str, columns: Sequence[TypedColumn]) -> None:
        import pyarrow as pa

        self._stream = stream
        self._container = container
        self._columns = columns
        self._ids = {column.name: _checked_id_array(column.name, column.ids) for column in columns if column.ids is not None}
        self._id_sizes = {column.name: column.ids.id_column.lengths for column in columns if column.ids is not None}
        id_type = pa.string() if container == PARQUET else pa.dictionary(pa.int32(), pa.string())
        types = [id_type if c.ids is not None else pa.large_string() if c.dtype is None else pa.from_numpy_dtype(c.dtype) for c in columns]
        self._schema = pa.schema(list(zip((c.name for c in columns), types, strict=True)))
        self._background = BackgroundTask()
        self._waiting: list[Any] = []  # record batches, with numbers of records for ids
        self._rows = self._text = 0

    def begin(self) -> None:
        """Write what precedes the first row."""
        self._held = _Buffer()
        self._writer = _open_writer(self._held, self._container, self._schema)
        self._held.move_to(self._stream)

    def write(self, values: Sequence[ColumnValues]) -> None:
        """Add rows. values: for each column, its numbers (NaN: missing), the indices of the records whose ids it shows, or its strings."""
        import pyarrow as pa

        arrays, text = [], np.zeros((), dtype=np.int64)
        for column, of_rows in zip(self._columns, values, strict=True):
            if isinstance(of_rows, StringColumn):
                arrays.append(_string_array(of_rows))
                text = text + np.diff(of_rows.offsets)
            elif column.ids is not None:
                arrays.append(_number_array(of_rows.astype(np.int32), None))
                if self._container == PARQUET:
                    text = text + self._id_sizes[column.name][of_rows]
            else:
                arrays.append(_number_array(of_rows, column.dtype))
        self._add_batch(pa.record_batch(arrays, names=self._schema.names), text)

    def _add_batch(self, rows: Any, text_bytes: Integers) -> None:
        """Add rows and split them at batch boundaries. text_bytes: bytes of text in each row, or one number for every row."""
        ends, start = np.cumsum(np.broadcast_to(text_bytes, rows.num_rows), dtype=np.int64), 0
        while start < rows.num_rows:
            before = int(ends[start - 1]) if start else 0
            full = int(np.searchsorted(ends, before + BATCH_TEXT_BYTES - self._text)) + 1  # the row that fills the batch belongs to it
            stop = min(start + BATCH_ROWS - self._rows, full, rows.num_rows)
            self._waiting.append(rows.slice(start, stop - start))
            self._rows += stop - start
            self._text += int(ends[stop - 1]) - before
            if self._rows == BATCH_ROWS or self._text >= BATCH_TEXT_BYTES:
                self._write_batch()
            start = stop
        if len(self._waiting) >= _MAX_PENDING_BATCHES:
            import pyarrow as pa

            self._waiting = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()

    def _write_batch(self) -> None:
        """Write the rows that are waiting, in the background, because encoding takes as long as computing rows."""
        batches, self._waiting = self._waiting, []
        self._rows = self._text = 0
        self._background.start(lambda: self._encode_batch(batches))

    def _encode_batch(self, batches: list[Any]) -> None:
        import pyarrow as pa

        joined = pa.Table.from_batches(batches)
        arrays = [
            self._encode_ids(name, column.combine_chunks()) if name in self._ids else column.combine_chunks()
            for name, column in zip(joined.column_names, joined.columns, strict=True)
        ]
        batches.clear()
        del joined
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._held.move_to(self._stream)

    def _encode_ids(self, column: str, records: Any) -> Any:
        """Return the ids of records, as encoded in the container."""
        import pyarrow as pa

        ids = self._ids[column]
        return ids.take(records) if self._container == PARQUET else pa.DictionaryArray.from_arrays(records, ids)

    def finish(self) -> None:
        """Write the last rows and the end of the table."""
        if self._rows:
            self._write_batch()
        self._background.wait()
        self._writer.close()
        self._held.move_to(self._stream)


def _open_writer(buffer: _Buffer, container: str, schema: Any) -> Any:
    """Open pyarrow's writer. Every option that affects the bytes is set here, so that the bytes do not depend on the defaults of a pyarrow
    release."""
    import pyarrow as pa

    if container == PARQUET:
        from pyarrow import parquet

        return parquet.ParquetWriter(
            buffer, schema, version="2.6", data_page_version="1.0", compression="zstd", compression_level=1, store_schema=False
        )
    options = pa.ipc.IpcWriteOptions(compression=None)
    return pa.ipc.new_file(buffer, schema, options=options) if container == FILE else pa.ipc.new_stream(buffer, schema, options=options)


def _checked_id_array(column: str, records: IdentifiedRecords) -> Any:
    """Return the records' ids, which are unique, after checking that they are UTF-8; otherwise raise `InputError`.

    column: column name, for the message
    """
    texts = _string_array(records.id_column)
    try:
        texts.validate(full=True)
    except ValueError:
        _raise_id_error(column, records)
        raise
    return texts.cast("string")


def _raise_id_error(column: str, records: IdentifiedRecords) -> None:
    for number, name in enumerate(records.ids, 1):
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"{column} {number}: the id {name!a} is not UTF-8, which parquet and arrow need; change the id, or write tsv"
            ) from None


def _string_array(column: StringColumn) -> Any:
    import pyarrow as pa

    return pa.LargeStringArray.from_buffers(len(column.offsets) - 1, pa.py_buffer(column.offsets), pa.py_buffer(column.text))


def _number_array(values: npt.NDArray[Any], dtype: np.dtype[Any] | None) -> Any:
    """Return an array of numbers; None as dtype: theirs. pa.array would import pandas, which takes longer than many tables."""
    import pyarrow as pa

    present = None
    if values.dtype.kind == "f" and (missing := np.isnan(values)).any():
        values, present = np.where(missing, 0, values), pa.py_buffer(np.packbits(~missing, bitorder="little"))
    numbers = np.ascontiguousarray(values, dtype)
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [present, pa.py_buffer(numbers)])


class ArrowSink(PairsSink):
    """Writes pairs as rows of typed columns.

    task: the task, with the queries of the input (not their strands)
    container: format of the table
    fields: the columns
    threads: number of threads for formatting text
    """

    def __init__(
        self,
        stream: ByteWriter,
        task: Task,
        container: str,
        fields: Sequence[Field],
        filter: Filter | None = None,
        identity_definition: int = DEFAULT_DEFINITION,
        threads: int = 1,
    ) -> None:
        super().__init__(stream, task, filter, identity_definition)
        self._fields = fields
        self._threads = threads
        self._table = TableWriter(stream, container, [_typed_column(field, task) for field in fields])

    def write_header(self) -> None:
        self._table.begin()

    def write_block(self, block: Block, mask: Booleans | None) -> None:
        records = dict(zip(("query", "target"), block.written_record_numbers(mask), strict=True))

        def values(field: Field) -> ColumnValues:
            if field.side is not None:
                return records[field.side]
            if field.get_values is not None:
                return np.asarray(field.values_to_write(block, mask))
            return field.texts_to_write(block, mask, self._threads)

        self._table.write([values(field) for field in self._fields])

    def finish(self) -> None:
        self._table.finish()


def _typed_column(field: Field, task: Task) -> TypedColumn:
    if field.side is not None:
        return TypedColumn(field.name, ids=task.queries if field.side == "query" else task.targets)
    return TypedColumn(field.name, field.dtype_for_task(task) if field.dtype_for_task else None)
