"""Chromosome intervals, read from BED files and options."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.decompression import open_decompressed

PositionArray = npt.NDArray[np.int64]

OPEN_START = -1
"""Start of an interval that is given without a start. It is negative because VCF's position 0, the telomere, lies before all bases."""

OPEN_END = int(np.iinfo(np.int64).max)
"""Stop of an interval given without an end."""

REGION_FORMS = "write CHR, CHR:POS, CHR:FROM-TO or CHR:FROM-, with commas between several, or name an existing BED file"
"""Advice on how to write regions."""

_BED_DESCRIPTION = "BED has a line for each interval: chromosome, start, end; starts count from 0, the end is after the last position"
_BED_HEADER_WORDS = b"track", b"browser"
_MAX_DIGITS = 18
_POSITION = rf"(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+(?![0-9])|[0-9]{{1,{_MAX_DIGITS}}})"
_REGION_PATTERN = re.compile(
    r"\s*(?P<text>(?:\{(?P<braced>[^{}]+)\}|(?P<name>[^,\s](?:[^,]*?[^,\s])??))"
    rf"(?::(?P<first>{_POSITION})(?P<dash>-(?P<last>{_POSITION})?)?)?)\s*(?:,|$)"
)
_THOUSANDS = re.compile(",[0-9]{3}")


@dataclass(frozen=True)
class ChromosomeIntervals:
    """Intervals on one chromosome: start <= position < stop, with 0-based positions. All arrays are int64[intervals].

    starts: first position of each interval
    stops: position after the last position of each interval
    interval_numbers: number of each interval; `GenomicIntervals.interval_name` converts it to a name for messages
    """

    starts: PositionArray = field(repr=False)
    stops: PositionArray = field(repr=False)
    interval_numbers: PositionArray = field(repr=False)

    def covered_mask(self, positions: PositionArray) -> npt.NDArray[np.bool_]:
        """Return a mask of the positions that lie in an interval: bool[positions]."""
        order = np.argsort(self.starts, kind="stable")
        # If any of the intervals that start at or before a position covers it, the one that reaches farthest does.
        farthest = np.maximum.accumulate(self.stops[order])
        last = np.searchsorted(self.starts[order], positions, side="right") - 1
        covered: npt.NDArray[np.bool_] = (last >= 0) & (positions < farthest[np.maximum(last, 0)])
        return covered


@dataclass(frozen=True)
class Region:
    """A region in a list of them: start <= position < stop, with 0-based positions.

    text: the region as the user wrote it
    name: name of its chromosome
    is_braced: whether the name is in braces, so that it cannot be read in another way
    """

    text: str
    name: str
    start: int
    stop: int
    is_braced: bool

    def as_name(self) -> Region:
        """Return all of the chromosome that is named like the whole region."""
        return replace(self, name=self.text, start=OPEN_START, stop=OPEN_END)


@dataclass(frozen=True)
class GenomicIntervals:
    """Intervals on any number of chromosomes.

    chromosome_intervals: intervals on each chromosome, keyed by its name, in order of first occurrence
    source: name of the source, for use in messages
    interval_name: returns the name of an interval from its number, for use in messages
    is_from_file: whether the intervals come from a file, which may be meant for several inputs and may name chromosomes that this input
        lacks
    regions: the regions as the user wrote them; () if the intervals come from a file
    """

    chromosome_intervals: dict[str, ChromosomeIntervals]
    source: str
    interval_name: Callable[[int], str] = field(repr=False)
    is_from_file: bool
    regions: Sequence[Region] = field(default=(), repr=False)

    def on(self, chromosomes: Collection[str], source: str) -> GenomicIntervals:
        """Return the intervals on an input with these chromosomes: a region that is the name of one of them, such as HLA-A*01:01:01:01, is
        all of it, not a position on HLA-A*01:01:01. source: name of the input, for messages

        Raises `InputError` if both are chromosomes of the input.
        """
        known = set(chromosomes)
        named = {region for region in self.regions if region.name != region.text and not region.is_braced and region.text in known}
        for region in named:
            if region.name in known:
                raise InputError(
                    f"{self.source}: {region.text!r} is a chromosome of {source}, but may also be a position on its chromosome"
                    f" {region.name!r}; write {{{region.text}}} or {{{region.name}}}{region.text[len(region.name) :]}"
                )
        if not named:
            return self
        return _intervals_of([region.as_name() if region in named else region for region in self.regions], self.source)

    def first_interval_name(self, chromosome: str) -> str:
        """Return the name of the first interval on a chromosome."""
        return self.interval_name(int(self.chromosome_intervals[chromosome].interval_numbers[0]))


class _IntervalCollector:
    """Collects intervals in input order, as compact arrays of numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, array[int]] = {}

    def add(self, chromosome: str, start: int, stop: int, number: int) -> None:
        """Add an interval: start <= position < stop, with 0-based positions."""
        self._numbers.setdefault(chromosome, array("q")).extend((start, stop, number))

    def collected_intervals(self, source: str, interval_name: Callable[[int], str], is_from_file: bool) -> GenomicIntervals:
        """Return the collected intervals."""
        columns = {chromosome: np.array(some, dtype=np.int64).reshape(-1, 3).T for chromosome, some in self._numbers.items()}
        return GenomicIntervals(
            {chromosome: ChromosomeIntervals(*some) for chromosome, some in columns.items()}, source, interval_name, is_from_file
        )


def read_bed(stream: BinaryIO, source: str) -> GenomicIntervals:
    """Read the intervals of a BED file, plain or compressed. Columns after the third, comments, `track` and `browser` lines are ignored.

    Raises `InputError` naming file, line and column if a line is not valid BED.
    """
    first, stream = open_decompressed(stream, source)
    if b"\0" in first:
        kind = "a PLINK fileset of genotypes" if first.startswith(b"\x6c\x1b") else "a binary file"
        raise InputError(f"{source}: {kind}, not BED text. {_BED_DESCRIPTION}")

    rows = _IntervalCollector()
    for number, line in enumerate(stream, 1):
        text = line.strip()
        if not text or text.startswith(b"#") or text.split(None, 1)[0] in _BED_HEADER_WORDS:
            continue
        # Names may have blanks where columns are separated by tabs.
        cells = text.split(b"\t", 3) if b"\t" in text else text.split(None, 3)
        if len(cells) < 3:
            raise InputError(f"{source}: line {number}: expected at least 3 columns, found {len(cells)}. {_BED_DESCRIPTION}")
        start, stop = (_parse_position(cells[column], column, number, source) for column in (1, 2))
        if start > stop:
            raise InputError(f"{source}: line {number}, columns 2 and 3: the start {start:,} is after the end {stop:,}. {_BED_DESCRIPTION}")
        rows.add(_decode_cell(cells[0].strip()), start, stop, number)
    return rows.collected_intervals(source, lambda number: f"{source}: line {number}", is_from_file=True)


def _parse_position(cell: bytes, column: int, line: int, source: str) -> int:
    """Return the position in a BED cell. Raises `InputError` if the cell holds anything else."""
    digits = cell.strip()
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise InputError(
            f"{source}: line {line}, column {column + 1}: expected a position, found {_decode_cell(digits)!r}. {_BED_DESCRIPTION}"
        )
    return int(digits)


def parse_regions(text: str) -> GenomicIntervals:
    """Parse a comma-separated list of regions CHR, CHR:POS, CHR:FROM-TO or CHR:FROM-, as in bcftools. Positions are 1-based (0 is the
    telomere), and TO is inclusive. A name may be in braces. Positions may have commas between thousands, as in samtools, if they cannot
    be taken for commas between regions.

    Raises `InputError` for text that is not a region or for a region that ends before it begins.
    """
    option = parameter("regions")
    regions, place = list[Region](), 0
    while not regions or place < len(text) or text[place - 1] == ",":
        match = _REGION_PATTERN.match(text, place)
        if not match:
            raise InputError(f"{option}: expected a region, found {text[place:].split(',')[0].strip()!r}; {REGION_FORMS}")
        regions.append(_parse_region(match))
        place = match.end()
    return _intervals_of(regions, option)


def _parse_region(match: re.Match[str]) -> Region:
    """Return a region. Raises `InputError` if it ends before it begins, or if its last comma may be one between regions."""
    option, text, name = parameter("regions"), match["text"], match["braced"] or match["name"]
    first, last = match["first"], match["last"]
    if first is None:
        return Region(text, name, OPEN_START, OPEN_END, match["braced"] is not None)
    start, stop = _position(first), _position(last) if last else OPEN_END if match["dash"] else _position(first)
    # The commas of 1:1,000-2,000 and 1:900-1,100 are no commas between regions, because no chromosome is called 000-2, and 1:900-1 ends
    # before it begins; that of 1:5,100 may be one.
    thousands = _THOUSANDS.findall(first if not match["dash"] else last or "")
    is_certain = match["dash"] and ("," in first or (last and int(last.split(",")[0]) < start))
    if thousands and not is_certain and not any(group.startswith(",0") for group in thousands):
        positions = text[match.start("first") - match.start("text") :]
        before = text.removesuffix(positions)
        raise InputError(
            f"{option}: {text!r} may be one region or several; write {before}{positions.replace(',', '')}, or"
            f" {before}{_THOUSANDS.sub(lambda group: f',{{{group[0][1:]}}}', positions)}"
        )
    if start > stop:
        raise InputError(f"{option}: {text!r}: the region ends before it begins")
    return Region(text, name, start - 1, stop, match["braced"] is not None)


def _position(text: str) -> int:
    return int(text.replace(",", ""))


def _intervals_of(regions: Sequence[Region], source: str) -> GenomicIntervals:
    """Return the intervals of a list of regions. source: name of the list, for messages"""
    rows = _IntervalCollector()
    for number, region in enumerate(regions):
        rows.add(region.name, region.start, region.stop, number)
    found = rows.collected_intervals(source, lambda number: f"{source}: {regions[number].text!r}", is_from_file=False)
    return replace(found, regions=regions)


def _decode_cell(cell: bytes) -> str:
    """Return the text of a cell."""
    return cell.decode("utf-8", "surrogateescape")
