"""Writes part files: the outputs of shards, to be read by `gpualign merge` (shard_merge.py).

A part file is an uncompressed zip file, so that truncation is detected. Members:

    part.json                    a `Description`
    rows                         for rows: the output of a run with only these queries, including the header
    NAME.npy                     for matrices: [queries][targets needed by any of the queries], or the part of the condensed matrix
    counts, indices, data        for a sparse matrix: core/output/sparse.py
    ids, or query_ids and target_ids     for matrices: one id per line, in output format
"""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.pipeline import CheckpointListener
from gpualign.core.files.journal import Identity
from gpualign.core.output.matrix_files import IdentifiedRecords, id_lists, write_ids
from gpualign.core.output.resumable_files import TextFile
from gpualign.core.output.sparse import SPOOLS, Spools
from gpualign.jobs.output.atomic_files import OutputFiles

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import ArrayMaker, NumberType
    from gpualign.jobs.output.run_identity import ResumePolicy
    from gpualign.jobs.output.shards import Shard
    from gpualign.jobs.output.specs import MatrixSpec

LAYOUT = 1
DESCRIPTION = "part.json"
COPY_BYTES = 1 << 22

ROWS, MATRIX, SPARSE = "rows", "matrix", "sparse"


@dataclass(frozen=True)
class Description:
    """Content of a part file.

    identity: identity of the whole job
    shard: K, N
    span: queries in the shard, start and stop
    content: ROWS, MATRIX or SPARSE
    format: output format
    header: bytes before the first row, if the content is ROWS
    names: as in `MatrixSpec`
    titles: as in `MatrixSpec`
    decimals: as in `MatrixSpec`
    triangle: each query has only later targets, and in a square matrix also itself
    beside: whether the second matrix is a separate file
    dtype: value type of a sparse matrix
    """

    identity: Identity
    shard: tuple[int, int]
    span: tuple[int, int]
    content: str
    format: str
    header: int = 0
    names: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    decimals: int = 0
    triangle: bool = False
    beside: bool = False
    dtype: str = ""


class _HeaderMeasure:
    """CheckpointListener that also measures the length of the text before the first row."""

    def __init__(self, checkpoints: CheckpointListener, text: TextFile) -> None:
        self._checkpoints = checkpoints
        self._text = text
        self.header = 0

    def register_counts(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        return self._checkpoints.register_counts(counts)

    def header_written(self) -> None:
        self.header = self._text.bytes_written
        self._checkpoints.header_written()

    def rows_written(self, rows: int) -> None:
        self._checkpoints.rows_written(rows)


@dataclass
class PartFile:
    """A part file that is being written. A later run can resume the intermediate files from which the part file is built.

    files: output files of the run
    path: path of the part file
    identity: identity of the whole job
    shard: K, N
    span: queries in the shard, start and stop
    format: output format
    """

    files: OutputFiles
    path: Path
    identity: Identity
    shard: tuple[int, int]
    span: tuple[int, int]
    format: str
    _members: dict[str, BinaryIO] = field(default_factory=dict)

    @classmethod
    def of(
        cls, files: OutputFiles, path: Path | None, resume_policy: ResumePolicy | None, shard: Shard, span: tuple[int, int], format: str
    ) -> PartFile:
        """Return the part file for a run. The output must have passed `check_shard`."""
        assert path is not None
        assert resume_policy is not None
        return cls(files, path, resume_policy.identity(), (shard.number, shard.count), span, format)

    @contextmanager
    def rows(self, checkpoints: CheckpointListener) -> Iterator[tuple[TextFile, CheckpointListener]]:
        """Yield a row writer, and the listener to be notified of progress. Write the part file on exit."""
        text, file = self.files.growing_text("rows", self.path)
        self._members["rows"] = file
        listener = _HeaderMeasure(checkpoints, text)
        yield text, listener
        text.finish()
        self._write(Description(self.identity, self.shard, self.span, ROWS, self.format, listener.header))

    def arrays(self, names: Sequence[str]) -> list[ArrayMaker]:
        """Return the array makers for the matrices."""
        made = {name: self.files.array(name, None, self.path) for name in names}
        self._members |= {f"{name}.npy": file for name, (_, file) in made.items()}
        return [make for make, _ in made.values()]

    def spools(self) -> Spools:
        """Return the spool files for a sparse matrix."""
        counts, indices, data = (self.files.spool(name, self.path) for name in SPOOLS)
        self._members |= dict(zip(SPOOLS, (counts, indices, data), strict=True))
        return counts, indices, data

    def finish_matrices(self, spec: MatrixSpec, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        """Write the part file, once the matrices have been filled."""
        self._add_ids(queries, targets)
        of_matrices = spec.names, spec.titles, spec.decimals, targets is queries, spec.beside is not None
        self._write(Description(self.identity, self.shard, self.span, MATRIX, self.format, 0, *of_matrices))

    def finish_sparse(self, dtype: NumberType, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        """Write the part file, once the spools have been filled. dtype: value type."""
        self._add_ids(queries, targets)
        self._write(Description(self.identity, self.shard, self.span, SPARSE, self.format, dtype=dtype.str))

    def _add_ids(self, queries: IdentifiedRecords, targets: IdentifiedRecords) -> None:
        for name, records in id_lists(queries, targets).items():
            write_ids(ids := io.BytesIO(), records)
            self._members[name] = ids

    def _write(self, description: Description) -> None:
        with zipfile.ZipFile(self.files.open(self.path), "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(zipfile.ZipInfo(DESCRIPTION), json.dumps({"gpualign part": LAYOUT, **asdict(description)}))
            for name, file in self._members.items():
                file.seek(0)
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(file, member, COPY_BYTES)
