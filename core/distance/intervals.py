"""GenomicIntervals of chromosomes, as BED files and options name them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import field
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.decompression import unpack

Places = npt.NDArray[np.int64]

OPEN_START = -1
"""Where a stretch begins that has no start of its own: VCF's position 0, the telomere, lies before the first base."""

OPEN_END = int(np.iinfo(np.int64).max)
"""Where a stretch stops that has no end of its own."""

_BED = "BED has a line for each interval: chromosome, start, end; starts count from 0, the end is behind the last position"
_HEADERS = b"track", b"browser"
_MOST_DIGITS = 18
_REGION = re.compile(rf"(?P<name>.+?)(?::(?P<first>[0-9]{{1,{_MOST_DIGITS}}})(?P<dash>-(?P<last>[0-9]{{1,{_MOST_DIGITS}}})?)?)?")


@dataclass(frozen=True)
class GenomicIntervals:
    """Of one chromosome: start <= place < stop, places counted from 0. numbers: by which messages name them. All int64[stretches]."""

    starts: Places = field(repr=False)
    stops: Places = field(repr=False)
    numbers: Places = field(repr=False)

    def cover(self, places: Places) -> npt.NDArray[np.bool_]:
        """Which of these places lie in a stretch."""
        order = np.argsort(self.starts, kind="stable")
        # Of the stretches that begin at a place or before it, one reaches beyond it if that which goes farthest does.
        farthest = np.maximum.accumulate(self.stops[order])
        last = np.searchsorted(self.starts[order], places, side="right") - 1
        covered: npt.NDArray[np.bool_] = (last >= 0) & (places < farthest[np.maximum(last, 0)])
        return covered


@dataclass(frozen=True)
class Intervals:
    """by_chromosome: in the order in which their names come; source: a name for messages; name: of a stretch, by its number. listed: they
    come from a file, which may be for more than one input, and name chromosomes that this one does not have."""

    by_chromosome: dict[str, GenomicIntervals]
    source: str
    name: Callable[[int], str] = field(repr=False)
    listed: bool

    def first_name(self, chromosome: str) -> str:
        """Of the first stretch of a chromosome."""
        return self.name(int(self.by_chromosome[chromosome].numbers[0]))


class _Rows:
    """GenomicIntervals as they come, in columns of numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, array[int]] = {}

    def add(self, chromosome: str, start: int, stop: int, number: int) -> None:
        self._numbers.setdefault(chromosome, array("q")).extend((start, stop, number))

    def intervals(self, source: str, name: Callable[[int], str], listed: bool) -> Intervals:
        columns = {chromosome: np.array(some, dtype=np.int64).reshape(-1, 3).T for chromosome, some in self._numbers.items()}
        return Intervals({chromosome: GenomicIntervals(*some) for chromosome, some in columns.items()}, source, name, listed)


def read_bed(stream: BinaryIO, source: str) -> Intervals:
    """The intervals of a BED file, plain or compressed: columns beyond the third, comments, and lines of browsers are not looked at.

    Raises `InputError` naming file, line and column.
    """
    first, stream = unpack(stream, source)
    if b"\0" in first:
        kind = "a PLINK fileset of genotypes" if first.startswith(b"\x6c\x1b") else "a binary file"
        raise InputError(f"{source}: {kind}, not BED text. {_BED}")

    rows = _Rows()
    for number, line in enumerate(stream, 1):
        text = line.strip()
        if not text or text.startswith(b"#") or text.split(None, 1)[0] in _HEADERS:
            continue
        # Names may have blanks where columns are separated by tabs.
        cells = text.split(b"\t", 3) if b"\t" in text else text.split(None, 3)
        if len(cells) < 3:
            raise InputError(f"{source}: line {number} has {len(cells)} column{'s'[: len(cells) != 1]}, at least 3 are wanted. {_BED}")
        start, stop = (_position(cells[column], column, number, source) for column in (1, 2))
        if start > stop:
            raise InputError(f"{source}: line {number}, columns 2 and 3: the start {start:,} is behind the end {stop:,}. {_BED}")
        rows.add(_text(cells[0].strip()), start, stop, number)
    return rows.intervals(source, lambda number: f"{source}: line {number}", listed=True)


def _position(cell: bytes, column: int, line: int, source: str) -> int:
    digits = cell.strip()
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise InputError(f"{source}: line {line}, column {column + 1}: {_text(digits)!r} is no position. {_BED}")
    return int(digits)


def parse_regions(text: str) -> Intervals:
    """CHR, CHR:POS, CHR:FROM-TO or CHR:FROM-, several with commas, as bcftools has them: positions count from 1 (0 is the telomere), TO is
    included.

    Raises `InputError`.
    """
    option = parameter("regions")
    items = [item.strip() for item in text.split(",")]

    rows = _Rows()
    for number, item in enumerate(items):
        match = _REGION.fullmatch(item)
        if not match or (match["first"] is None and ":" in item):
            raise InputError(
                f"{option}: {item!r} is no region; write CHR, CHR:POS, CHR:FROM-TO or CHR:FROM-, with commas between several, or name"
                " a BED file that is there"
            )
        if match["first"] is None:
            rows.add(match["name"], OPEN_START, OPEN_END, number)
            continue
        first = int(match["first"])
        last = int(match["last"]) if match["last"] else OPEN_END if match["dash"] else first
        if first > last:
            raise InputError(f"{option}: {item!r}: the region ends before it begins")
        rows.add(match["name"], first - 1, last, number)
    return rows.intervals(option, lambda number: f"{option}: {items[number]!r}", listed=False)


def _text(cell: bytes) -> str:
    return cell.decode("utf-8", "surrogateescape")
