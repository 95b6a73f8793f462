"""Reads PLINK 2 binary filesets: FILE.pgen, FILE.pvar or FILE.pvar.zst, FILE.psam. Calls are read with pgenlib, PLINK 2's own library.

Only hard calls are compared: dosages and phase are ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.calls import MAX_ALLELES, MISSING
from gpualign.core.distance.positions import VariantPositions
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource
from gpualign.core.distance.readers.plink_fileset import (
    positions_of,
    sample_ids_of,
    source_of_filesets,
    split_at_blanks,
    swap_alleles_back,
)
from gpualign.core.distance.readers.site_names import SiteName
from gpualign.core.files.decompression import open_decompressed

_PGEN_HEADER = struct.Struct("<3xII")  # the mode, variants and samples
_OPTIONAL_COLUMNS = ("FID", "PAT", "MAT")
_CALLS_PER_READ = 1 << 20
"""Number of calls that are read in one step. They are still in cache when they are transposed into sample rows."""


def pvar_of(path: Path) -> Path:
    """Return the path of the variant table for a .pgen: the .pvar or, if only that exists, the .pvar.zst."""
    packed = path.with_suffix(".pvar.zst")
    return packed if packed.is_file() and not path.with_suffix(".pvar").is_file() else path.with_suffix(".pvar")


def _read_lines(path: Path, pgen: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, line) for each line of a table, skipping empty lines and lines that begin with ##."""
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(open_decompressed(stream, str(path))[1], 1):
                if line.strip() and not line.startswith(b"##"):
                    yield number, line
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; it belongs to {pgen}") from None


def _read_columns(path: Path, pgen: Path, column_names: Sequence[str], headerless_columns: dict[int, Sequence[int]]) -> list[list[str]]:
    """Return the `column_names` columns of a .psam or .pvar, one list per line. Columns that the file lacks are empty.

    headerless_columns: column indices for files without a header, keyed by the number of columns; the last entry also applies to files with
        more columns
    """
    places: Sequence[int] | None = None
    min_cells, column_count, rows = 0, 0, []
    for number, line in _read_lines(path, pgen):
        if places is None and line.startswith(b"#"):
            names = split_at_blanks(line[1:])
            places = [names.index(name) if name in names else -1 for name in column_names]
            min_cells, column_count = max(places) + 1, len(names)
            lacking = [name for name, place in zip(column_names, places, strict=True) if place < 0 and name not in _OPTIONAL_COLUMNS]
            if lacking:
                raise InputError(f"{path}: line {number} has no column {lacking[0]}; the columns are {', '.join(names)}")
            continue
        cells = split_at_blanks(line, min_cells or -1)
        if places is None:
            fitting = [count for count in headerless_columns if count <= len(cells)]
            if not fitting:
                raise InputError(f"{path}: line {number}: expected at least {min(headerless_columns)} columns, found {len(cells)}")
            places = headerless_columns[max(fitting)]
            min_cells, column_count = max(places) + 1, len(cells)
        if (line.startswith(b"\t") or b"\t\t" in line) and len(split_at_blanks(line)) < column_count:
            empty = [place for place, cell in enumerate(line.split(b"\t")[:min_cells], 1) if not cell.strip()]
            if empty:
                raise InputError(f"{path}: line {number}: column {empty[0]} is empty")
        if len(cells) < min_cells:
            raise InputError(f"{path}: line {number}: expected at least {min_cells} columns, found {len(cells)}")
        rows.append([cells[place] if place >= 0 else "" for place in places])
    return rows


class _Fileset:
    """An open fileset; implements `plink_fileset.Fileset`."""

    def __init__(self, path: Path) -> None:
        self.calls_path = path
        pvar, psam = pvar_of(path), path.with_suffix(".psam")
        # A .psam without a header is a .fam.
        people = _read_columns(psam, path, ("FID", "IID", "PAT", "MAT"), {2: (0, 1, -1, -1), 5: (0, 1, 2, 3)})
        self.ids = sample_ids_of([(family, person) for family, person, *_ in people])
        self.parents = [(father, mother) for _, _, father, mother in people]
        # A .pvar without a header is a .bim: chromosome, id, position in centimorgans (optional), position, other allele, reference allele.
        variants = _read_columns(pvar, path, ("CHROM", "POS", "REF", "ALT"), {5: (0, 2, 4, 3), 6: (0, 3, 5, 4)})
        self.sites: list[SiteName] = [(chromosome, position, ref, *alt.split(",")) for chromosome, position, ref, alt in variants]
        self._alleles = np.array([len(site) - 2 for site in self.sites], dtype=np.int64)
        self._check_counts(pvar, psam)
        offsets = None if (self._alleles <= 2).all() else np.concatenate(([0], np.cumsum(self._alleles))).astype(np.uintp)
        self._opening: dict[str, Any] = {"raw_sample_ct": len(self.ids), "variant_ct": len(self.sites), "allele_idx_offsets": offsets}
        with closing(self._open_reader()):
            pass  # defects of the file's header are reported before any work is done

    def _check_counts(self, pvar: Path, psam: Path) -> None:
        """Raise `InputError` if the numbers of variants and samples are 0 or differ from those in the header of the .pgen, or if a
        variant has too many alleles."""
        with open(self.calls_path, "rb") as stream:
            head = stream.read(_PGEN_HEADER.size)
        if len(head) < _PGEN_HEADER.size:
            raise InputError(f"{self.calls_path}: a truncated .pgen file of {len(head)} bytes; copy or make it again")
        for path, lines, count, what in zip(
            (pvar, psam), (len(self.sites), len(self.ids)), _PGEN_HEADER.unpack(head), ("variants", "samples"), strict=True
        ):
            if lines != count:
                raise InputError(f"{self.calls_path}: {count:,} {what}, but {path} has {lines:,}; files of one fileset belong together")
            if not count:
                raise InputError(f"{self.calls_path}: no {what}")
        largest = int(self._alleles.argmax())
        if self._alleles[largest] > MAX_ALLELES:
            alleles = f"{self._alleles[largest]} alleles; up to {MAX_ALLELES} are distinguished"
            raise InputError(f"{pvar}: variant {largest + 1} ({':'.join(self.sites[largest][:2])}) has {alleles}")

    def _open_reader(self) -> Any:
        """Open the .pgen with pgenlib. Raises `RunError` if pgenlib is not installed."""
        if find_spec("pgenlib") is None:
            raise RunError("reading .pgen needs Pgenlib: pip install 'gpualign[pgen]'")
        import pgenlib

        try:
            return pgenlib.PgenReader(bytes(self.calls_path), **self._opening)
        except RuntimeError as error:
            said = error.args[0].decode("utf-8", "replace").strip() if isinstance(error.args[0], bytes) else str(error)
            raise InputError(f"{self.calls_path}: cannot be read as .pgen ({said})") from None

    def positions(self) -> VariantPositions:
        """Return the positions of the sites. Raises `InputError` if the .pvar has text that is not a position."""
        return positions_of(self, f"{pvar_of(self.calls_path)}: variant {{}}")

    def call_reader(self, swapped: npt.NDArray[np.bool_] | None) -> CallReader:
        """Return a call reader. At the sites that `swapped` (bool[sites]) selects, its calls count the other allele."""

        def read(start: int, stop: int, workers: ThreadPool) -> Codes:
            codes: Codes = np.empty((len(self.ids), stop - start), dtype=np.uint8)
            step = max(1, _CALLS_PER_READ // len(self.ids))
            # A reader belongs to one thread, so each thread opens the file itself.
            ranges = [(first, min(stop, first + step)) for first in range(start, stop, step)]
            shares = [ranges[k :: workers.threads] for k in range(workers.threads)]

            def fill(share: list[tuple[int, int]]) -> None:
                with closing(self._open_reader()) as reader:
                    for first, last in share:
                        codes[:, first - start : last - start] = self._read_codes(reader, first, last).T

            workers.map(fill, filter(None, shares))
            if swapped is not None:
                swap_alleles_back(codes, swapped[start:stop])
            return codes

        return read

    def _read_codes(self, reader: Any, start: int, stop: int) -> Codes:
        """Return the codes of the variants [start, stop): uint8[variants][samples]."""
        try:
            if (self._alleles[start:stop] <= 2).all():
                counts = np.empty((stop - start, len(self.ids)), dtype=np.int8)
                reader.read_range(start, stop, counts)
                return np.where(counts < 0, np.uint8(MISSING), counts.astype(np.uint8))
            alleles = np.empty((stop - start, 2 * len(self.ids)), dtype=np.int32)
            reader.read_alleles_range(start, stop, alleles)
        except RuntimeError as error:
            if stop - start > 1:
                for variant in range(start, stop):  # find the variant that fails
                    self._read_codes(reader, variant, variant + 1)
            where = f"variant {start + 1} ({':'.join(self.sites[start][:2])})"
            raise InputError(f"{self.calls_path}: {where} cannot be read ({error}): a damaged file; copy or make it again") from None
        lower, upper = np.minimum(alleles[:, ::2], alleles[:, 1::2]), np.maximum(alleles[:, ::2], alleles[:, 1::2])
        return np.where(lower < 0, MISSING, upper * (upper + 1) // 2 + lower).astype(np.uint8)


def read_pgen_filesets(paths: Sequence[Path], allow_duplicates: bool, nonfounders: bool = False) -> RandomAccessSource:
    """Open one fileset, or two filesets with the same sites, given the paths of their .pgen files.

    Raises `InputError` if the files do not belong together, or `RunError` if pgenlib is not installed.

    nonfounders: whether samples with parents count as founders, too
    """
    return source_of_filesets([_Fileset(path) for path in paths], allow_duplicates, nonfounders)
