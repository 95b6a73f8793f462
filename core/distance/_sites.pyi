"""
Reads files of calls and packs calls into bit planes. A call is a byte, its code; 255 is a missing call.
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
    """Reads aligned FASTA, and stores the differences between rows."""

    def __init__(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], scratch: int, dense_bytes: int) -> None:
        """
        table: the code of each byte, or SKIP or BAD. scratch: descriptor of a file for rows unlike the others that exceed dense_bytes of memory.
        """

    def feed(self, data: bytes) -> None:
        """
        Read the next bytes of a file. Raises ValueError if it is not an alignment.
        """

    def finish(self) -> None:
        """End the file; another one may follow. Raises ValueError."""

    def begin(self, file: int, start: int, stop: int, chunk: int, threads: int) -> int:
        """
        Replaces feed for the bytes start .. stop - 1 of a regular file, given by its descriptor and read in chunks of about `chunk` bytes. Returns the number of threads that may call read_some, each with a number of its own, before finish is called. Raises OSError.
        """

    def read_some(self, reader: int) -> bool:
        """
        Read a chunk; False when none is left. If the file is not an alignment, finish raises ValueError. Raises OSError.
        """

    @property
    def ids(self) -> list[str]:
        """Ids of the records so far."""

    @property
    def records(self) -> int:
        """Number of records so far."""

    @property
    def called(self) -> list[int]:
        """Number of sites with a call, for each record so far."""

    @property
    def length(self) -> int:
        """Number of sites of a row; -1 before the first row."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory held."""

    def letters(self, byte: int) -> int:
        """Return how often a byte occurred in a sample of the letters."""

    def flags(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """
        Return uint8[sites]: 1 if calls of a site differ, plus 2 if some are missing.
        """

    def reference(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """
        Return uint8[sites]: the first call of each site, MISSING if no record has one.
        """

    def missing_runs(self, first_record: int, records: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None, None))]]:
        """
        Return (int64[records], end of each record's runs among all; uint32[runs][2], first site and last site + 1 of each run of missing calls).
        """

    def count_calls(self, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Write the number of rows with a call at each site to uint32 out[sites].
        """

    def called_at(self, chosen: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """
        Return the number of calls of each row at the chosen sites. chosen: 1 or 0 for each site.
        """

class AlignedSites:
    """The calls of all rows of a scanner at some sites."""

    def __init__(self, scanner: AlignmentScanner, sites: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], calls_only: bool) -> None:
        """sites: ascending. calls_only: every call has the code 0."""

    def fill(self, first_row: int, rows: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Write the codes of some rows to their positions in uint8[all rows][sites].
        """

MINUS_ONE: int = 252

READ: int = 0

SKIP_COLUMN: int = 1

EMPTY: int = 2

class Decimals:
    """How integers are written as decimals."""

    @property
    def commas(self) -> list[int]:
        """
        Count of integers other than 0 with a comma in each column that is read; empty before the first comma.
        """

    @property
    def zeros(self) -> list[int]:
        """
        Count of zeros with a comma in each column that is read; empty before the first comma.
        """

    @property
    def points(self) -> bool:
        """Some have a point."""

    @property
    def mixed_line(self) -> bool:
        """Some line has numbers with and without a comma."""

class CallParser:
    """Reads the rows of a table of calls, and counts their codes."""

    def __init__(self, separator: str, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """
        table: codes of cells of one byte; MINUS_ONE is that of -1 among digits. columns: treatment of each column, READ, SKIP_COLUMN or EMPTY; if empty, all are read. missing: further words for missing calls.
        """

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, bool]:
        """
        Read the codes of a line's cells from byte `start` on, in the columns that are READ. Returns (number of cells, first column with a bad cell or with a cell that should be EMPTY, or -1, whether a code occurred for the first time).
        """

    @property
    def counts(self) -> list[int]:
        """How often each of the 256 codes occurred."""

    @property
    def decimals(self) -> Decimals:
        """How the numbers are written as decimals."""

class AlleleParser:
    """Reads the rows of a table of alleles."""

    def __init__(self, separator: str, columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """columns: as for CallParser; missing: words for missing alleles."""

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, int, int, int, list[int]]:
        """
        Read the numbers of the alleles in a line's cells from byte `start` on, in the columns that are READ; NO_ALLELE for 0, empty and missing cells. Returns (number of cells, first column that should be EMPTY but is not, or -1, number of numbers, of numbers above 2, of zeros, indices in `out` of other cells).
        """

    @property
    def decimals(self) -> Decimals:
        """How the numbers are written as decimals."""

def code_alleles(numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_locus: int, loci: int, codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], lacking: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Convert numbers[samples][loci] of some loci to codes from 0 on, at their positions in codes[loci][samples], with NO_ALLELE for none. counts[loci]: number of alleles; lacking[loci]: samples without one.
    """

def decode_bed(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_byte: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Decode uint8[sites][bytes] of a .bed file, from byte first_byte of each site on, to codes[samples][sites].
    """

def pack_alleles(codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], loci: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int, called: bool, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Pack codes[all loci][samples] of the `loci` into planes[bits, and one more if `called`][samples][words]: the bits of the codes, and the loci with an allele.
    """

def pack(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], runs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    Pack codes[samples][sites], at the sites of runs[runs][first, last + 1], into uint64 planes[up to 8][samples][words]; bit p of table[code] goes to plane p. With reference[sites], a call that equals the reference is coded as 0, any other as 1.
    """

def find_two(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_site: int, sites: int, one: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], more: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    For some sites of codes[samples][sites], write to their positions the first call in uint8 one[sites], MISSING if there is none, and in uint8 more[sites] 1 if there are more than two different calls, else 0.
    """

def count_calls(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_sample: int, samples: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Count the sites with a call for some samples of codes[samples][sites], at their positions in int64 out[samples].
    """

def count_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], first_site: int, sites: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Count the samples with each of the codes `wanted` at some sites of codes[samples][sites], at their positions in uint32 out[wanted][sites].
    """

def unpack(planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], first_site: int, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> int:
    """
    Write the codes of the sites from first_site (a multiple of 64) on of planes[samples][1 + up to 8][words], the first of which marks calls and the others hold the bits of a call's number, to out[samples][sites]: table[number], or MISSING. Returns the largest number.
    """

def select_planes(stored: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], first_word: int, words: int, sources: Sequence[int], numbers: Sequence[Sequence[int]], rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')], first_row: int, threads: int = 1) -> None:
    """
    Make planes[planes][samples][words], from row first_row on, of some rows of stored[samples][1 + bits][all words], of `words` words from first_word on: plane p is the stored plane sources[p], empty if there is none, or for -1 marks the calls with numbers[p].
    """

def unpack_alleles(planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], first_locus: int, offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], threads: int = 1) -> None:
    """
    The same for alleles: locus k has the allele numbers[offsets[k] .. offsets[k + 1] - 1], in the order of their codes; NO_ALLELE for none. Raises ValueError for a code that no allele has.
    """

def seen_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[bool]:
    """Return which of the 256 codes occur."""
