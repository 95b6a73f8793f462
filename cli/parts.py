"""Part files: what --shard writes and `gpualign merge` joins.

A part is a zip file, nothing in it packed, so that one that was cut off shows. Its members:

    part.json                    a `Description`
    rows                         of rows: what a run of these queries alone would write, its header as well
    NAME.npy                     of matrices: their queries [rows][targets that any of them needs], or their share of a condensed one
    counts, indices, data        of a sparse matrix: core/sinks/csr.py
    ids, or query_ids and target_ids     of matrices: an id a line, as they are written
"""

from __future__ import annotations

import io
import json
import math
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.cli.files import OutputFiles
from gpualign.core.dataclass import dataclass
from gpualign.core.errors import InputError
from gpualign.core.journal import Identity
from gpualign.core.road import Marks
from gpualign.core.sinks.csr import SPOOLS, Spools
from gpualign.core.sinks.growing import TextFile
from gpualign.core.sinks.matrix_files import Named, id_lists, write_ids

if TYPE_CHECKING:
    from gpualign.cli.keeping import Keeping
    from gpualign.cli.shards import Shard
    from gpualign.core.sinks.matrix_files import ArrayMaker

LAYOUT = 1
_DESCRIPTION = "part.json"
_MOST_DESCRIPTION = 1 << 20
_COPY_BYTES = 1 << 22

ROWS, MATRIX, SPARSE = "rows", "matrix", "sparse"


@dataclass(frozen=True)
class Description:
    """identity: of the whole job. shard: K, N. span: its queries, start and stop. content: ROWS, MATRIX or SPARSE; format: of the output.

    header: bytes of rows that stand before the first. names, titles, decimals: as of `matrix_output.MatrixSpec`; triangle: whether queries
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
    """Marks that also tell how much text stands before the first row."""

    def __init__(self, marks: Marks, text: TextFile) -> None:
        self._marks = marks
        self._text = text
        self.header = 0

    def begun(self) -> None:
        self.header = self._text.given
        self._marks.begun()

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
        cls, files: OutputFiles, path: Path | None, keeping: Keeping | None, shard: Shard, span: tuple[int, int], format: str
    ) -> PartFile:
        """The part of a run that was checked (`check_shard`)."""
        assert path is not None
        assert keeping is not None
        return cls(files, path, keeping.identity(), (shard.number, shard.count), span, format)

    @contextmanager
    def rows(self, marks: Marks) -> Iterator[tuple[TextFile, Marks]]:
        """A writer of rows, and what is to be told how far they are; the part is written in the end."""
        text, file = self.files.growing_text("rows", self.path)
        self._members["rows"] = file
        headed = _Headed(marks, text)
        yield text, headed
        text.finish()
        self._write(content=ROWS, header=headed.header)

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

    def finish(self, queries: Named, targets: Named, **description: Any) -> None:
        """Write a part of matrices, or of a sparse one; description: fields of `Description`."""
        for name, records in id_lists(queries, targets).items():
            write_ids(ids := io.BytesIO(), records)
            self._members[name] = ids
        self._write(**description)

    def _write(self, **description: Any) -> None:
        found = Description(self.identity, self.shard, self.span, format=self.format, **description)
        with zipfile.ZipFile(self.files.open(self.path), "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            archive.writestr(zipfile.ZipInfo(_DESCRIPTION), json.dumps({"gpualign part": LAYOUT, **asdict(found)}))
            for name, file in self._members.items():
                file.seek(0)
                with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
                    shutil.copyfileobj(file, member, _COPY_BYTES)


class PartArray:
    """An array of a part, read a piece at a time. damaged: what is said where it cannot be."""

    def __init__(self, member: IO[bytes], damaged: str) -> None:
        self._member = member
        self._damaged = damaged
        try:
            if np.lib.format.read_magic(member) != (1, 0):
                raise ValueError("version")
            self.shape, fortran, self.dtype = np.lib.format.read_array_header_1_0(member)
        except (ValueError, zipfile.BadZipFile, EOFError):
            raise InputError(damaged) from None
        if fortran or self.dtype not in (np.int32, np.int64, np.float64) or len(self.shape) not in (1, 2):
            raise InputError(damaged)

    def pieces(self, shape: tuple[int, ...], nbytes: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """(first row, some rows, of about so many bytes) in turn. Raises `InputError` where it has another shape, or is damaged."""
        if self.shape != shape:
            raise InputError(self._damaged)
        row = shape[1:]
        row_bytes = math.prod(row) * self.dtype.itemsize
        step = max(1, nbytes // max(1, row_bytes))
        for start in range(0, shape[0], step):
            count = min(step, shape[0] - start)
            try:
                raw = self._member.read(count * row_bytes)
            except (zipfile.BadZipFile, EOFError):
                raise InputError(self._damaged) from None
            if len(raw) != count * row_bytes:
                raise InputError(self._damaged)
            yield start, np.frombuffer(raw, self.dtype).reshape(count, *row)


class Part:
    """A part that is there. Raises `InputError` where a file is none."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
            raw = self._archive.open(_DESCRIPTION).read(_MOST_DESCRIPTION)
            fields = json.loads(raw)
            layout = fields.pop("gpualign part")
            if layout != LAYOUT:
                raise InputError(f"{path}: a part of layout {layout}; this gpualign merges those of layout {LAYOUT}")
            identity = Identity(**fields.pop("identity"))
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in fields.items()}
            self.described = Description(identity, **values)
            self._check()
        except InputError:
            raise
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        # Damaged archives raise errors of zipfile, zlib, json and struct, and others.
        except (ValueError, TypeError, KeyError, AttributeError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
            raise InputError(f"{path}: no part that --shard wrote, or a damaged one; write it again") from None

    def _check(self) -> None:
        d = self.described
        (number, count), (start, stop) = d.shard, d.span
        if d.content not in (ROWS, MATRIX, SPARSE) or not (1 <= number <= count) or not (0 <= start <= stop <= d.identity.rows):
            raise ValueError("out of range")
        if any(member.compress_type != zipfile.ZIP_STORED for member in self._archive.infolist()):
            raise ValueError("packed")

    def open(self, name: str) -> IO[bytes]:
        """A member. Raises `InputError` where it is missing."""
        try:
            return self._archive.open(name)
        except (KeyError, zipfile.BadZipFile):
            raise InputError(f"{self.path}: damaged: it lacks {name!r}; write it again") from None

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return name in self._archive.namelist()

    def lines(self, name: str) -> list[str]:
        """Of a member that is text."""
        parts: list[bytes] = []
        self.copy(name, parts.append)
        return b"".join(parts).decode("utf-8", "surrogateescape").split("\n")[:-1]

    def array(self, name: str) -> PartArray:
        """A member that is an array. Raises `InputError` where it is damaged."""
        return PartArray(self.open(name), f"{self.path}: damaged: {name!r} is not as it was written; write it again")

    def copy(self, name: str, write: Any, skip: int = 0) -> None:
        """Hand a member to a function of bytes, without the first `skip` of them. Raises `InputError` where it is damaged."""
        with self.open(name) as member:
            try:
                while skip and (passed := len(member.read(min(skip, _COPY_BYTES)))):
                    skip -= passed
                while data := member.read(_COPY_BYTES):
                    write(data)
            except (zipfile.BadZipFile, EOFError):
                raise InputError(f"{self.path}: damaged: the checksum of {name!r} is another; write it again") from None

    def close(self) -> None:
        self._archive.close()


def in_order(parts: Sequence[Part]) -> list[Part]:
    """All parts of one job in their order. Raises `InputError` where one is missing, there twice, or of another job."""
    first = parts[0].described
    by_number: dict[int, Part] = {}
    for part in parts:
        found = part.described
        first.identity.check(found.identity, part.path, "merge parts of one command and one input")
        if (found.shard[1], found.content, found.format) != (first.shard[1], first.content, first.format):
            one, other = (f"a part of {d.shard[1]:,}, as {d.format}" for d in (found, first))
            raise InputError(f"{part.path}: {one}; {parts[0].path} is {other}")
        if (twin := by_number.get(found.shard[0])) is not None:
            raise InputError(f"{part.path}: the same part, {found.shard[0]:,} of {found.shard[1]:,}, is {twin.path}")
        by_number[found.shard[0]] = part
    count = first.shard[1]
    if missing := [number for number in range(1, count + 1) if number not in by_number]:
        shown = ", ".join(map(str, missing[:10])) + (" ..." if len(missing) > 10 else "")
        raise InputError(f"{len(missing):,} of {count:,} parts {'is' if len(missing) == 1 else 'are'} missing: {shown}")
    ordered = [by_number[number] for number in range(1, count + 1)]
    stops = [0, *(part.described.span[1] for part in ordered)]
    if any(part.described.span[0] != stop for part, stop in zip(ordered, stops, strict=False)) or stops[-1] != first.identity.rows:
        raise InputError(f"{parts[0].path}: damaged: its queries and those of the other parts are not all; write them again")
    return ordered
