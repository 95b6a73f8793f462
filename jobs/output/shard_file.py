"""Part files, as the runs of shares write them for `gpualign merge` (shard_merge.py).

A part is a zip file, nothing in it packed, so that one that was cut off shows. Its members:

    part.json                    a `Description`
    rows                         of rows: what a run of these queries alone would write, its header as well
    NAME.npy                     of matrices: their queries [rows][targets that any of them needs], or their share of a condensed one
    counts, indices, data        of a sparse matrix: core/output/sparse.py
    ids, or query_ids and target_ids     of matrices: an id a line, as they are written
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
from gpualign.core.output.matrix_files import Named, id_lists, write_ids
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
    """identity: of the whole job. shard: K, N. span: its queries, start and stop. content: ROWS, MATRIX or SPARSE; format: of the output.

    header: bytes of rows that stand before the first. names, titles, decimals: as of `MatrixSpec`; triangle: whether queries
    have later targets alone, of a square matrix themselves as well; beside: whether the second matrix is a file of its own. dtype: of the
    values of a sparse matrix.
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


class _Headed:
    """CheckpointListener that also tell how much text stands before the first row."""

    def __init__(self, marks: CheckpointListener, text: TextFile) -> None:
        self._marks = marks
        self._text = text
        self.header = 0

    def counting(self, counts: Callable[[], Mapping[str, int]]) -> Mapping[str, int]:
        return self._marks.counting(counts)

    def header_written(self) -> None:
        self.header = self._text.bytes_written
        self._marks.header_written()

    def mark(self, rows: int) -> None:
        self._marks.mark(rows)


@dataclass
class PartFile:
    """A part on its way to `path`, of which another run can go on with what it is made of. span: as of `Description`."""

    files: OutputFiles
    path: Path
    identity: Identity
    shard: tuple[int, int]
    span: tuple[int, int]
    format: str
    _members: dict[str, BinaryIO] = field(default_factory=dict)

    @classmethod
    def of(
        cls, files: OutputFiles, path: Path | None, keeping: ResumePolicy | None, shard: Shard, span: tuple[int, int], format: str
    ) -> PartFile:
        """The part of a run that was checked (`check_shard`)."""
        assert path is not None
        assert keeping is not None
        return cls(files, path, keeping.identity(), (shard.number, shard.count), span, format)

    @contextmanager
    def rows(self, marks: CheckpointListener) -> Iterator[tuple[TextFile, CheckpointListener]]:
        """A writer of rows, and what is to be told how far they are; the part is written in the end."""
        text, file = self.files.growing_text("rows", self.path)
        self._members["rows"] = file
        headed = _Headed(marks, text)
        yield text, headed
        text.finish()
        self._write(Description(self.identity, self.shard, self.span, ROWS, self.format, headed.header))

    def arrays(self, names: Sequence[str]) -> list[ArrayMaker]:
        """Makers of the matrices."""
        made = {name: self.files.array(name, None, self.path) for name in names}
        self._members |= {f"{name}.npy": file for name, (_, file) in made.items()}
        return [make for make, _ in made.values()]

    def spools(self) -> Spools:
        """Files of a sparse matrix."""
        counts, indices, data = (self.files.spool(name, self.path) for name in SPOOLS)
        self._members |= dict(zip(SPOOLS, (counts, indices, data), strict=True))
        return counts, indices, data

    def finish_matrices(self, spec: MatrixSpec, queries: Named, targets: Named) -> None:
        """The matrices are filled: write the part."""
        self._add_ids(queries, targets)
        of_matrices = spec.names, spec.titles, spec.decimals, targets is queries, spec.beside is not None
        self._write(Description(self.identity, self.shard, self.span, MATRIX, self.format, 0, *of_matrices))

    def finish_sparse(self, dtype: NumberType, queries: Named, targets: Named) -> None:
        """The spools are filled: write the part. dtype: of the values."""
        self._add_ids(queries, targets)
        self._write(Description(self.identity, self.shard, self.span, SPARSE, self.format, dtype=dtype.str))

    def _add_ids(self, queries: Named, targets: Named) -> None:
        for name, records in id_lists(queries, targets).items():
            write_ids(ids := io.BytesIO(), records)
            self._members[name] = ids

    def _write(self, described: Description) -> None:
        with zipfile.ZipFile(self.files.open(self.path), "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(zipfile.ZipInfo(DESCRIPTION), json.dumps({"gpualign part": LAYOUT, **asdict(described)}))
            for name, file in self._members.items():
                file.seek(0)
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(file, member, COPY_BYTES)
