"""Checks of a VCF for what htslib does not see, or crashes on: a second header, empty lines, and rows with too many genotypes."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from math import inf

from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import unpack

_FIXED = 9
"""Columns before those of samples."""


class VcfLines:
    """The lines of a file, looked at by a thread while another process reads the file. last_record: behind which it may stop."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        self.last_record: float = inf

    def check(self) -> None:
        """Raises `InputError` naming the line. Lines of BCF are none."""
        with open(self._path, "rb") as stream:
            first, text = unpack(stream, self._source)
            if not first.startswith(b"BCF"):
                self._check(text)

    def _check(self, lines: Iterable[bytes]) -> None:
        tabs, records = -1, 0
        for number, line in enumerate(lines, 1):
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                raise InputError(f"{self._source}: begins with a byte-order mark, which is no part of VCF; remove it")
            if line[:1] == b"#":
                if records:
                    behind = f"behind {records:,} record{'s'[: records != 1]}"
                    if not line.startswith((b"##", b"#CHROM")):
                        raise InputError(f"{self._source}: line {number} begins with #, {behind}; delete it")
                    raise InputError(
                        f"{self._source}: line {number} begins a second header, {behind}: several files were joined; join them with"
                        " bcftools concat"
                    )
                tabs = line.count(b"\t") if line.startswith(b"#CHROM") else tabs
                continue
            if not line.strip():
                if tabs < 0:  # htslib passes over it in the header
                    continue
                raise InputError(f"{self._source}: line {number} is empty; leave it out")
            records += 1
            found = line.count(b"\t")
            if found != tabs > 0 and (found := line.rstrip().count(b"\t")) != tabs:
                counts = max(0, found + 1 - _FIXED), max(0, tabs + 1 - _FIXED)
                genotypes, samples = (f"{n:,} {what}{'s'[: n != 1]}" for n, what in zip(counts, ("genotype", "sample"), strict=True))
                raise InputError(f"{self._source}: line {number} (record {records:,}) has {genotypes}, the header names {samples}")
            if records >= self.last_record:
                return
