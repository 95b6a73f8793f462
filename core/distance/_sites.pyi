"""
From files of calls to bit planes. A call is a byte, its code; 255 is a missing one.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


MISSING: int = 255

SKIP: int = 254

BAD: int = 253

NO_ALLELE: int = 4294967295

class AlignmentScanner:
    """
    Reads aligned FASTA; keeps of each row what distinguishes it from the others.
    """

    def __init__(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], scratch: int, dense_bytes: int) -> None:
        """
        table: the code of each byte, or SKIP or BAD. scratch: a file descriptor, for rows without likeness beyond dense_bytes.
        """

    def feed(self, data: bytes) -> None:
        """The next bytes of a file. Raises ValueError for what is no alignment."""

    def finish(self) -> None:
        """The file ends here; another one may follow. Raises ValueError."""

    def begin(self, file: int, start: int, stop: int, chunk: int, threads: int) -> int:
        """
        Instead of feed: bytes start .. stop of a regular file by its descriptor, in chunks of about so many bytes. How many of the
        threads may call read_some, each with a number of its own, before finish is called. Raises OSError.
        """

    def read_some(self, reader: int) -> bool:
        """
        Reads a chunk; False when none is left. What is no alignment, finish tells. Raises OSError.
        """

    @property
    def ids(self) -> list[str]:
        """Of the records so far."""

    @property
    def records(self) -> int:
        """How many there are so far."""

    @property
    def called(self) -> list[int]:
        """Sites with a call, of each record so far."""

    @property
    def length(self) -> int:
        """Sites of a row; -1 before the first."""

    @property
    def nbytes(self) -> int:
        """Memory that is held."""

    def letters(self, byte: int) -> int:
        """How often a byte occurred in a sample of the letters."""

    def sites(self, varying: bool, constant: bool, missing: bool, complete: bool) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        uint32[]: sites that vary or are constant among the calls, and have missing calls or none.
        """

    def reference(self, sites: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """How often each code is the first call of these sites."""

    def count_calls(self, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """How many rows have a call at each site, into uint32 out[sites]."""

    def called_at(self, chosen: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """
        chosen: 1 or 0 for each site. How many calls each row has at the chosen sites.
        """

class AlignedSites:
    """Calls of all rows of a scanner at some sites."""

    def __init__(self, scanner: AlignmentScanner, sites: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], calls_only: bool) -> None:
        """sites: ascending. calls_only: 0 for every call."""

    def fill(self, first_row: int, rows: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Codes of some rows, into their places of uint8[all rows][sites]."""

MINUS_ONE: int = 252

READ: int = 0

SKIP_COLUMN: int = 1

EMPTY: int = 2

class Decimals:
    """How whole numbers other than 0 are written as decimals."""

    @property
    def commas(self) -> list[int]:
        """
        How many in each column that is read have a comma; empty before the first one.
        """

    @property
    def points(self) -> bool:
        """Whether some have a point."""

    @property
    def mixed_line(self) -> bool:
        """Whether a line has numbers with a comma and others without."""

class CallParser:
    """Reads rows of one table of calls, and counts the codes in them."""

    def __init__(self, separator: str, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """
        table: codes of cells of one byte; MINUS_ONE is that of -1 among digits. columns: what is done with each, READ, SKIP_COLUMN or
        EMPTY; of no columns: all are read. missing: further words for missing calls.
        """

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, bool]:
        """
        Codes of a line's cells from byte `start` on, of the columns that are READ. Returns (cells, the first column with a bad cell,
        or with a cell that should be EMPTY, or -1, whether a code occurred for the first time).
        """

    @property
    def counts(self) -> list[int]:
        """How often each of the 256 codes occurred."""

    @property
    def decimals(self) -> Decimals:
        """How its numbers are written as decimals."""

class AlleleParser:
    """Reads rows of one table of alleles."""

    def __init__(self, separator: str, columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """columns: as for CallParser; missing: words for missing alleles."""

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, int, int, int, list[int]]:
        """
        Numbers of the alleles in a line's cells from byte `start` on, of the columns that are READ; NO_ALLELE for 0, empty cells and
        missing ones. Returns (cells, the first column that should be EMPTY and is not or -1, numbers, those above 2, zeros, the
        places in `out` of cells that are something else).
        """

    @property
    def decimals(self) -> Decimals:
        """How its numbers are written as decimals."""

def code_alleles(numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_locus: int, loci: int, codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], lacking: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    numbers[samples][loci] of some loci as codes from 0 on, into their places of codes[loci][samples], NO_ALLELE where there is none;
    counts[loci]: alleles; lacking[loci]: samples without one.
    """

def pack_alleles(codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], loci: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int, called: bool, first_sample: int, samples: int, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    codes[all loci][samples] of the `loci`, for some samples, into planes[bits, and one more where `called`][samples][words]: the bits
    of the codes, and which of them are alleles.
    """

def decode_bed(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_byte: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    uint8[sites][bytes] of a .bed file, from byte first_byte of each site on, into codes[samples][sites].
    """

def pack(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], runs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], first_sample: int, samples: int, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    codes[samples][sites] of some samples, at the sites of some runs[runs][first, last + 1], into
    uint64 planes[up to 8][samples][words]; bit p of table[code] goes to plane p. With a reference[sites] a call that is the
    reference's is coded as 0, any other as 1.
    """

def find_two(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_site: int, sites: int, one: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], more: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Of some sites of codes[samples][sites], into their places: the first call in uint8 one[sites], MISSING where there is none,
    and 1 in uint8 more[sites] where there are more than two different calls, else 0.
    """

def count_calls(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_sample: int, samples: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Sites with a call, of some samples of codes[samples][sites], into their places of int64 out[samples].
    """

def count_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], first_site: int, sites: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Samples that have each of the codes `wanted`, at some sites of codes[samples][sites], into their places of uint32
    out[wanted][sites].
    """

def seen_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[bool]:
    """Which of the 256 codes occur."""
