"""Checks a VCF for defects that htslib does not report or that crash it: a second header, empty lines, and rows with too many genotypes;
also for some that htslib reports without saying what to do."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from math import inf

from gpualign.core.common.errors import InputError
from gpualign.core.common.units import format_count
from gpualign.core.files.decompression import open_decompressed

_FIXED_COLUMN_COUNT = 9
"""Number of columns before the sample columns."""


class VcfLineChecker:
    """Checks the lines of a file in a thread while another process reads the file.

    path: path of the file
    source: name for messages
    last_record: number of the record after which the check may stop
    """

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        self.last_record: float = inf

    def check(self) -> None:
        """Raise `InputError` naming the first invalid line. BCF is not checked, because it has no lines."""
        with open(self._path, "rb") as stream:
            if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                raise InputError(f"{self._source}: begins with a byte-order mark, which is not part of VCF; remove it")
            first, text = open_decompressed(stream, self._source)
            if not first.startswith(b"BCF"):
                self._check_lines(text)

    def _check_lines(self, lines: Iterable[bytes]) -> None:
        """Check the header and the number of cells in each row, and refuse empty lines. Raises `InputError` for the first defect."""
        tabs, records = -1, 0
        for number, line in enumerate(lines, 1):
            if line[:1] == b"#":
                if records or tabs >= 0:  # below the titles, htslib would read the first such line as a record
                    after = f"after {format_count(records, 'record')}" if records else "below the line of titles"
                    if not line.startswith((b"##", b"#CHROM")):
                        raise InputError(f"{self._source}: line {number} begins with #, {after}; delete it")
                    raise InputError(
                        f"{self._source}: line {number} begins a second header, {after}: several files were joined; join them with"
                        " bcftools concat"
                    )
                if line.startswith(b"#CHROM"):
                    tabs = line.count(b"\t")
                    self._refuse_repeated_names(line)
                continue
            if line[:2] == b'"#':
                raise InputError(
                    f"{self._source}: line {number} is a header line in quotes, as spreadsheets write it; remove these quotes and write"
                    ' "" as ", or make the file again from its source'
                )
            if not line.strip():
                if tabs < 0:  # htslib skips empty lines in the header
                    continue
                raise InputError(f"{self._source}: line {number} is empty; leave it out")
            records += 1
            own = line.count(b"\t")
            if own != tabs > 0 and (own := line.rstrip().count(b"\t")) != tabs:
                counts = max(0, own + 1 - _FIXED_COLUMN_COUNT), max(0, tabs + 1 - _FIXED_COLUMN_COUNT)
                genotypes, samples = map(format_count, counts, ("genotype", "sample"))
                raise InputError(f"{self._source}: line {number} (record {records:,}) has {genotypes}, the header names {samples}")
            if records >= self.last_record:
                return

    def _refuse_repeated_names(self, header: bytes) -> None:
        """Raise `InputError` if two samples have the same name, which htslib does not read."""
        first: dict[bytes, int] = {}
        for k, name in enumerate(header.rstrip(b"\r\n").split(b"\t")[_FIXED_COLUMN_COUNT:], 1):
            if first.setdefault(name, k) != k:
                shown = ascii(name.decode("utf-8", "replace"))
                raise InputError(
                    f"{self._source}: samples {first[name]} and {k} have the same name {shown}; samples of a VCF need different names:"
                    " rename them with bcftools reheader"
                )
