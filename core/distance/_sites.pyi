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
        table: the code of each byte, or SKIP or BAD. scratch: descriptor of a file that stores the rows unlike the others, as far as they exceed dense_bytes of memory.
        """

    def feed(self, data: bytes) -> None:
        """
        Read the next bytes of a file. Raises ValueError if it is not an alignment.
        """

    def finish(self) -> None:
        """
        End the file; another one may follow. Raises ValueError if the file is not an alignment.
        """

    def begin(self, file: int, start: int, stop: int, chunk: int, threads: int) -> int:
        """
        Begin to read the bytes start .. stop - 1 of a regular file, given by its descriptor, in chunks of about `chunk` bytes; used instead of feed. Returns the number of threads that may call read_some, each with a number of its own, before finish is called. Raises OSError if reading fails.
        """

    def read_some(self, reader: int) -> bool:
        """
        Read a chunk. Returns False when no chunk is left. If the file is not an alignment, finish raises ValueError. Raises OSError if reading fails.
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

    def sites(self, varying: bool, constant: bool, missing: bool, complete: bool) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        Return the indices of some sites, uint32[]. A site is returned if its calls differ and `varying` is set, or if they are equal and `constant` is set; in addition, `missing` must be set if it has missing calls, otherwise `complete`.
        """

    def reference(self, sites: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """
        Return, for each of the 256 codes, at how many of these sites it is the first call.
        """

    def count_calls(self, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Write the number of rows with a call at each site to uint32 out[sites].
        """

    def called_at(self, chosen: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> list[int]:
        """
        Return the number of calls that each row has at the chosen sites. chosen: 1 for each chosen site, 0 for the rest.
        """

class AlignedSites:
    """The calls of all rows of a scanner at some sites."""

    def __init__(self, scanner: AlignmentScanner, sites: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], calls_only: bool) -> None:
        """
        sites: indices of the sites, ascending. calls_only: whether every call gets the code 0.
        """

    def fill(self, first_row: int, rows: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """
        Write the codes of some rows to their positions in uint8[all rows][sites].
        """

MINUS_ONE: int = 252

READ: int = 0

SKIP_COLUMN: int = 1

EMPTY: int = 2

class Decimals:
    """Counts of integers other than 0 that are written as decimals."""

    @property
    def commas(self) -> list[int]:
        """
        Number of integers with a comma in each column that is read; empty if there are none yet.
        """

    @property
    def points(self) -> bool:
        """Whether any of the integers has a decimal point."""

    @property
    def mixed_line(self) -> bool:
        """
        Whether any line has both numbers with a comma and numbers without one.
        """

class CallParser:
    """Reads the rows of a table of calls, and counts their codes."""

    def __init__(self, separator: str, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """
        table: the code of each one-byte cell; if digits have codes, -1 gets the code MINUS_ONE. columns: READ, SKIP_COLUMN or EMPTY for each column; an empty array means that all columns are read. missing: additional words for missing calls.
        """

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, bool]:
        """
        Read the codes of a line's cells from byte `start` on, in the columns that are READ. Returns (number of cells; first column with a cell that is not a call, or that should be EMPTY but is not, or -1; whether a code occurred for the first time).
        """

    @property
    def counts(self) -> list[int]:
        """Number of occurrences of each of the 256 codes."""

    @property
    def decimals(self) -> Decimals:
        """How the numbers are written as decimals."""

class AlleleParser:
    """Reads the rows of a table of alleles."""

    def __init__(self, separator: str, columns: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], missing: Sequence[str]) -> None:
        """columns: as for CallParser; missing: words for missing alleles."""

    def parse(self, line: bytes, start: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')]) -> tuple[int, int, int, int, int, list[int]]:
        """
        Read the allele numbers in a line's cells from byte `start` on, in the columns that are READ. The number is NO_ALLELE for cells that are 0, empty or missing. Returns (number of cells; first column that should be EMPTY but is not, or -1; number of cells with a number; number of cells with a number above 2; number of cells with 0; indices in `out` of cells that are neither numbers nor missing).
        """

    @property
    def decimals(self) -> Decimals:
        """How the numbers are written as decimals."""

def code_alleles(numbers: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_locus: int, loci: int, codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')], counts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], lacking: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Convert the allele numbers[samples][loci] of some loci to codes from 0 on, and write these to their positions in codes[loci][samples]; the code of a missing allele is NO_ALLELE. counts[loci] receives the number of alleles at each locus, lacking[loci] the number of samples without an allele.
    """

def pack_alleles(codes: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], loci: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], bits: int, called: bool, first_sample: int, samples: int, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Pack the codes[all loci][samples] of some samples at the `loci` into planes[planes][samples][words]. The first `bits` planes hold the bits of the codes; if `called` is set, one more plane marks the loci at which a sample has an allele.
    """

def decode_bed(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_byte: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Decode the bytes of a .bed file, uint8[sites][bytes], from byte first_byte of each site on. Writes the codes to out[samples][sites].
    """

def pack(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], runs: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], reference: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, table: Annotated[NDArray[numpy.uint8], dict(shape=(256), order='C', device='cpu', writable=False)], first_sample: int, samples: int, planes: Annotated[NDArray[numpy.uint64], dict(shape=(None, None, None), order='C', device='cpu')]) -> None:
    """
    Pack the codes[samples][sites] of some samples into uint64 planes[up to 8][samples][words]; bit p of table[code] goes to plane p. Only sites in one of the `runs`, (first site, last site + 1), are packed. With reference[sites], a call that equals the reference gets the code 0, any other call the code 1.
    """

def find_two(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_site: int, sites: int, one: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], more: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Examine some sites of codes[samples][sites]. At the position of each site, write the first call, or MISSING if there is none, to uint8 one[sites], and write 1 if there are more than two different calls, else 0, to uint8 more[sites].
    """

def count_calls(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], first_sample: int, samples: int, out: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Count the sites at which some samples of codes[samples][sites] have a call. Writes the counts to the positions of these samples in int64 out[samples].
    """

def count_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], wanted: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], first_site: int, sites: int, out: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu')]) -> None:
    """
    Count the samples that have each of the `wanted` codes at some sites of codes[samples][sites]. Writes the counts to the positions of these sites in uint32 out[wanted][sites].
    """

def seen_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> list[bool]:
    """Return, for each of the 256 codes, whether it occurs."""
