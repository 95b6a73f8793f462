"""Tables of text, separated by tabs, commas or semicolons: a row a sample, or transposed a row a site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from gpualign.core import _sites
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.calls import Codes, Kind, cell_table, make_samples, number_table
from gpualign.core.distance.scratch import Scratch
from gpualign.core.distance.sources.alleles import (
    CELL_BYTES,
    AlleleCells,
    holds_alleles,
    is_row_of_alleles,
    no_allele,
    refuse_other_columns,
)
from gpualign.core.distance.sources.base import Block, DenseSource, RowStore
from gpualign.core.errors import InputError
from gpualign.core.files.delimiters import delimiter_of
from gpualign.core.files.quoting import hide_quoted, text_of
from gpualign.core.ids import unique_ids

_MISSING_WORDS = "empty, ., -, ?, N, NA, -1 or -9"

_NUCLEOTIDE_CODES = "ACGTUNRYSWKMBDHV"

_FIRST_TITLE = re.compile(
    "#.*|(accession|assembly|c?gst|file|genome|iid|individual|isolate|loci|locus|marker|name|pos|position|rs|sample|site|snp|strain|taxa|taxon|variant)?s?"
    "[ _]?(id|name)?s?",
    re.IGNORECASE,
)
"""What stands over the ids of rows, for headers whose other cells could be calls."""

_SEPARATOR_NAMED = re.compile(rb'"?sep=([\t,;])"?', re.IGNORECASE)
"""What tells Excel the separator, in a line before the header."""


def _letters_of_data(every_letter: bool) -> Codes:
    """Letters that a row of calls has; others may stand in it, but do in names."""
    table = cell_table(every_letter)
    if not every_letter:
        table[[byte for byte in range(128) if chr(byte).isalpha() and chr(byte).upper() not in _NUCLEOTIDE_CODES]] = _sites.BAD
    return table


_LOOKED_AT = 1 << 16
"""Bytes of a table, in whole lines, that tell whether it holds alleles; a line of data at least."""


class TableType(Enum):
    """What the cells of a table are. AUTO: as they look; CALLS: genotypes or letters; ALLELES: alleles of loci."""

    AUTO = "auto"
    CALLS = "calls"
    ALLELES = "alleles"


@dataclass
class _Table:
    """One file: ids of its rows and columns, and the codes of its cells."""

    source: str
    row_ids: list[str]
    column_ids: list[str]
    kind: Kind
    store: RowStore


@dataclass
class _Lines:
    """The text of a table. first: the number of the line that its cells begin with; begun: lines from there on, which tell what it holds;
    whole: these and all others."""

    source: str
    first: int
    separator: str
    begun: list[bytes]
    whole: Iterator[bytes]


class _TableReader:
    """Reads one file; `kind` is None until a call tells. alleles: reads the cells of a table of alleles; None: it is none."""

    def __init__(self, lines: _Lines, transpose: bool, every_letter: bool, header: bool, alleles: AlleleCells | None) -> None:
        self._source = lines.source
        self._first = lines.first
        self._separator = lines.separator
        self._lines = lines.whole
        self._header = header
        self._row, self._column = ("site", "sample") if transpose else ("sample", "site")
        self._every_letter = every_letter
        self._alleles = alleles
        self._kind: Kind | None = Kind.ALLELE if alleles else None
        self._table = number_table()

    def read(self, limit: int, scratch: Scratch) -> _Table:
        lines, separator = self._lines, self._separator
        header = next(lines, None)
        if header is None:
            raise InputError(f"{self._source}: empty file; expected a table, an alignment, a VCF or a .bed file")
        titles = _cells(header, separator)
        row_ids: list[str] = []
        store: RowStore | None = None
        if not self._header:
            lines = chain([header], lines)
        for number, line in enumerate(lines, self._first + self._header):
            line = line.rstrip(b"\r\n")
            if not line:
                continue
            start = line.find(separator.encode())
            name = text_of(line if start < 0 else line[:start])
            if store is None:
                titles = self._titles(header, line, separator, titles)
                store = RowStore(len(titles) * (CELL_BYTES if self._alleles else 1), limit, scratch)
            row = store.new_row()
            found = bad = 0
            if start >= 0:
                if self._kind is None:
                    self._decide(line[start + 1 :], separator)
                if self._alleles:
                    found, bad = self._alleles.parse(line, start + 1, separator, row)
                else:
                    found, bad = _sites.parse_row(line, start + 1, separator, self._table, row)
            if found != len(titles):
                raise InputError(f"{self._source}: line {number} ({name!r}) has {found + 1} cells, the header has {len(titles) + 1}")
            if bad >= 0:
                self._refuse_cell(line, separator, number, name, titles[bad], bad)
            row_ids.append(name)
        if store is None:
            self._refuse_data(header, separator, titles)
            raise InputError(f"{self._source}: no {self._row}s: the table ends after its header")
        store.done()
        if self._alleles:
            refuse_other_columns(self._source, row_ids if self._row == "site" else titles, "row" if self._row == "site" else "column")
        return _Table(self._source, row_ids, titles, self._kind or Kind.GENOTYPE, store)

    def _titles(self, header: bytes, line: bytes, separator: str, titles: list[str]) -> list[str]:
        """Ids of the columns, from the header and the first row; without a header their numbers."""
        if len(titles) == 1 and len(_cells(line, separator)) != 2:
            raise InputError(f"{self._source}: no {self._column}s: the first line has a single cell, {text_of(header)[:40]!r}")
        if not self._header:
            return [str(number) for number in range(1, len(titles))]
        if len(_cells(line, separator)) == len(titles) + 1:  # R writes no title over the names of rows
            if line.endswith(separator.encode()) and titles[0] and _FIRST_TITLE.fullmatch(titles[0]):
                raise InputError(
                    f"{self._source}: the first row has a cell more than the header, an empty one behind its last {separator!r}; "
                    "end rows as the header ends"
                )
            return titles
        start = line.find(separator.encode())
        if start >= 0:
            self._decide(line[start + 1 :], separator)
        self._refuse_data(header, separator, titles)
        return titles[1:]

    def _decide(self, cells: bytes, separator: str) -> None:
        """The first call tells what the table holds, where that is not known."""
        if self._alleles:
            return
        for cell in _cells(cells, separator):
            word = cell.removesuffix(".0")
            if word in ("0", "1", "2"):
                if self._every_letter:
                    raise self._no_letters()
                self._kind = Kind.GENOTYPE
                return
            if len(word) == 1 and word.isalpha() and word not in "Nn":
                self._kind = Kind.LETTER if self._every_letter else Kind.NUCLEOTIDE
                self._table = cell_table(self._every_letter)
                return

    def _refuse_data(self, header: bytes, separator: str, titles: list[str]) -> None:
        """A first line that could be a row of this table is data whose header is not there: as a header it would lose a row.

        A header is told by what stands first, nothing or a word like `id`, unless other cells are equal: ids differ.
        """
        named = _FIRST_TITLE.fullmatch(titles[0]) is not None
        start = header.find(separator.encode()) + 1
        if not start or (named and len(set(titles[1:])) == len(titles[1:])):
            return
        if self._alleles and is_row_of_alleles(titles[1:]):
            raise self._data_for_header()
        tables = [] if self._kind in (Kind.NUCLEOTIDE, Kind.LETTER, Kind.ALLELE) else [number_table()]
        tables += [] if self._kind in (Kind.GENOTYPE, Kind.ALLELE) else [_letters_of_data(self._every_letter)]
        codes: Codes = np.empty(len(titles), dtype=np.uint8)
        for table in tables:
            _, bad = _sites.parse_row(header.rstrip(b"\r\n"), start, separator, table, codes)
            if bad < 0:
                raise self._data_for_header()

    def _no_letters(self) -> InputError:
        return InputError(f"--all-letters is for alignments and tables of letters; {self._source} is a table of genotypes or alleles")

    def _data_for_header(self) -> InputError:
        return InputError(
            f"{self._source}: the first line holds calls; a header with the {self._column}s' ids is wanted there. "
            "Where it is data, --no-header reads it; where it is a header, let its first cell say id"
        )

    def _refuse_cell(self, line: bytes, separator: str, number: int, name: str, title: str, column: int) -> None:
        cell = _cells(line, separator)[column + 1]
        place = f"{self._source}: line {number} ({name!r}), column {column + 2} ({title!r})"
        if self._alleles:
            raise InputError(f"{place}: {no_allele(cell, self._row == 'site')}")
        letters = self._kind in (Kind.NUCLEOTIDE, Kind.LETTER)
        kind, expected = ("letters", "A, C, G, T") if letters else ("genotypes", "0, 1, 2")
        if self._kind is Kind.LETTER:
            expected = "a letter"
        turned = "" if len(line) < 3 or len(cell) < 2 else "; a table with a row a SNP is read with --transpose"
        if number == self._first:
            turned = "; if the first line is a header, leave out --no-header"
        if not letters and holds_alleles([[cell]]):
            if self._every_letter:
                raise self._no_letters()
            turned = "; alleles are read with --type alleles"
        wanted = f"{expected}, or for a missing call {_MISSING_WORDS}"
        raise InputError(f"{place}: {cell[:20]!r} in a table of {kind}; expected {wanted}{turned}")


def _cells(line: bytes, separator: str) -> list[str]:
    return [text_of(cell) for cell in line.rstrip(b"\r\n").split(separator.encode())]


def _lines_of(stream: BinaryIO, source: str) -> _Lines:
    number, header, named = 0, b"", None
    for number, line in enumerate(stream, 1):
        bare = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line  # spreadsheets mark UTF-8 so
        if found := _SEPARATOR_NAMED.fullmatch(bare.rstrip(b"\r\n")):
            named = found[1].decode()
        elif bare.strip():
            header = bare
            break
    row = next(stream, b"")
    separator = named or delimiter_of(header, row)
    lines = hide_quoted(chain(filter(None, [header, row]), stream), separator, source, number)
    begun: list[bytes] = []
    size = 0
    for line in lines:
        begun.append(line)
        size += len(line)
        if size > _LOOKED_AT and len(begun) > 1:
            break
    return _Lines(source, number, separator, begun, chain(begun, lines))


def read_tables(
    inputs: Sequence[tuple[BinaryIO, str]],
    transpose: bool,
    every_letter: bool,
    allow_duplicates: bool,
    memory: int,
    scratch: Scratch,
    header: bool = True,
    type: TableType = TableType.AUTO,
) -> DenseSource:
    """Read one table, or two with the same sites. transpose: a row is a site. header: the first line has ids; else columns are numbered.
    type: of both tables; two are taken for tables of alleles where either looks like one.

    Raises `InputError` naming file, line and column for ragged rows, cells that are no calls, repeated ids, sites that differ, and for data
    where the header should be.
    """
    texts = [_lines_of(stream, source) for stream, source in inputs]
    alleles = type is TableType.ALLELES
    if type is TableType.AUTO and not every_letter:
        alleles = any(holds_alleles(_cells(line, text.separator)[1:] for line in text.begun[header:]) for text in texts)
    cells = AlleleCells() if alleles else None
    tables = [_TableReader(text, transpose, every_letter, header, cells).read(memory // len(inputs), scratch) for text in texts]
    sites = [t.row_ids if transpose else t.column_ids for t in tables]
    for table, found in zip(tables[1:], sites[1:], strict=True):
        if table.kind is not tables[0].kind:
            raise InputError(f"{table.source} holds {table.kind.value}, {tables[0].source} {tables[0].kind.value}")
        differing = [k for k, (one, other) in enumerate(zip(sites[0], found, strict=False)) if one != other]
        if differing or len(found) != len(sites[0]):
            place = differing[0] if differing else min(len(found), len(sites[0]))
            names = [repr(s[place]) if place < len(s) else "nothing" for s in (sites[0], found)]
            raise InputError(
                f"{table.source}: site {place + 1} is {names[1]}, in {tables[0].source} it is {names[0]}; sites must be the same"
            )
    ids = [unique_ids(t.column_ids if transpose else t.row_ids, t.source, allow_duplicates) for t in tables]
    blocks = [(_turned if transpose else _straight)(t.store, np.dtype(np.uint32 if alleles else np.uint8)) for t in tables]
    held = sum(t.store.nbytes for t in tables)
    return DenseSource(make_samples(*ids), tables[0].kind, len(sites[0]), blocks, held, 2 * CELL_BYTES if alleles else 1)


def _straight(store: RowStore, dtype: np.dtype[Any]) -> Block:
    return lambda start, stop, _: store.columns(start * dtype.itemsize, stop * dtype.itemsize).view(dtype)


def _turned(store: RowStore, dtype: np.dtype[Any]) -> Block:
    return lambda start, stop, _: np.ascontiguousarray(store.rows(start, stop).view(dtype).T)
