"""Reads PLINK 1 binary filesets: FILE.bed, FILE.bim, FILE.fam. The .bed is memory-mapped; calls are numbers of copies of the first allele
in the .bim.

No library is used: unpacking two bits per call is simple, and importing bed-reader takes longer (0.2 s) than most runs. Tests compare
results with bed-reader.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.positions import VariantPositions
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource
from gpualign.core.distance.readers.plink_fileset import (
    SITE_MAJOR_MODE,
    positions_of,
    sample_ids_of,
    source_of_filesets,
    split_at_blanks,
    swap_alleles_back,
)
from gpualign.core.distance.readers.site_names import SiteName

_SAMPLES_PER_BYTE = 4
_HEADER_BYTES = 3
_BIM_FAM_COLUMN_COUNT = 6
_HEADER_TITLES = frozenset(("FID", "IID", "FAMILY", "CHR", "CHROM", "CHROMOSOME"))


def _read_columns(path: Path) -> list[list[str]]:
    """Return the first six columns of a .bim or .fam file (.fam: five if it has no phenotype). Empty lines are skipped, as in PLINK.

    Raises `InputError` for a wrong number of columns, and for titles or comments.
    """
    rows = []
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(stream, 1):
                cells = split_at_blanks(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
                if not cells:
                    continue
                if cells[0].startswith("#") or cells[0].upper() in _HEADER_TITLES:
                    raise InputError(f"{path}: line {number} begins with {cells[0]!r}; this file has neither titles nor comments")
                if len(cells) != _BIM_FAM_COLUMN_COUNT and not (path.suffix == ".fam" and _is_person(cells)):
                    raise InputError(f"{path}: line {number} has {len(cells)} columns; expected {_BIM_FAM_COLUMN_COUNT}")
                rows.append(cells[:_BIM_FAM_COLUMN_COUNT])
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; it belongs to {path.with_suffix('.bed')}") from None
    return rows


def _is_person(cells: Sequence[str]) -> bool:
    """Return whether a line could belong to a .fam file with an unusual number of phenotype columns: it names both parents or neither, and
    its sex is valid. A name with a blank shifts the cells behind it, so such a line hardly ever passes."""
    if len(cells) < _BIM_FAM_COLUMN_COUNT - 1:
        return False
    _, person, father, mother, sex, *_ = cells
    return person != "0" and (father == "0") == (mother == "0") and sex in ("0", "1", "2")


class _Fileset:
    """An open fileset; implements `plink_fileset.Fileset`."""

    def __init__(self, path: Path) -> None:
        self.calls_path = path
        lines = _read_columns(path.with_suffix(".fam"))
        people = [(family, person) for family, person, *_ in lines]
        self.ids = sample_ids_of(people)
        self.parents = [(father, mother) for _, _, father, mother, *_ in lines]
        self.sites: list[SiteName] = [
            (chromosome, position, first, second) for chromosome, _, _, position, first, second in _read_columns(path.with_suffix(".bim"))
        ]
        row_bytes = -(-len(people) // _SAMPLES_PER_BYTE)
        size, expected = path.stat().st_size, _HEADER_BYTES + len(self.sites) * row_bytes
        with open(path, "rb") as stream:
            mode = stream.read(_HEADER_BYTES)[2:]
        if mode != bytes([SITE_MAJOR_MODE]):
            raise InputError(f"{path}: not in site-major order; `plink --make-bed` writes it so")
        if not people or not self.sites:
            raise InputError(f"{path}: no {'sites' if people else 'samples'}")
        if size != expected:
            what = "it is truncated, or its .bim or .fam has too many lines" if size < expected else "its .bim or .fam has too few lines"
            raise InputError(
                f"{path}: {size:,} bytes; {len(people):,} samples and {len(self.sites):,} sites take {expected:,}: {what},"
                " or the files do not belong together"
            )
        self._packed = np.memmap(path, dtype=np.uint8, mode="r", offset=_HEADER_BYTES, shape=(len(self.sites), row_bytes))

    def positions(self) -> VariantPositions:
        """Return the positions of the sites. Raises `InputError` if the .bim has text that is not a position."""
        return positions_of(self, f"{self.calls_path.with_suffix('.bim')}: line {{}}, column 4")

    def call_reader(self, swapped: npt.NDArray[np.bool_] | None) -> CallReader:
        """Return a call reader. At the sites that `swapped` (bool[sites]) selects, its calls count the other allele."""

        def read(start: int, stop: int, workers: ThreadPool) -> Codes:
            codes: Codes = np.empty((len(self.ids), stop - start), dtype=np.uint8)
            packed = np.ascontiguousarray(self._packed[start:stop])
            if (used := len(codes) % _SAMPLES_PER_BYTE) and (packed[:, -1] >> 2 * used).any():
                raise InputError(f"{self.calls_path}: calls after those of the last of {len(codes):,} samples; its .fam has too few lines")
            samples = -(-len(codes) // (_SAMPLES_PER_BYTE * workers.threads)) * _SAMPLES_PER_BYTE

            def decode(first: int) -> None:
                _sites.decode_bed(packed, first // _SAMPLES_PER_BYTE, codes[first : first + samples])

            workers.map(decode, range(0, len(codes), samples))
            if swapped is not None:
                swap_alleles_back(codes, swapped[start:stop])
            return codes

        return read


def read_bed_filesets(paths: Sequence[Path], allow_duplicates: bool, nonfounders: bool = False) -> RandomAccessSource:
    """Open one fileset, or two filesets with the same sites, given the paths of their .bed files.

    Raises `InputError` if the files do not belong together.

    nonfounders: whether samples with parents count as founders, too
    """
    return source_of_filesets([_Fileset(path) for path in paths], allow_duplicates, nonfounders)
