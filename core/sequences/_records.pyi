"""Parses records of FASTA and FASTQ files, and encodes their letters."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class RecordScanner:
    """
    Parses ASCII records of ordinary form from text: ids, letters and descriptions.
    """

    def __init__(self, fastq: bool, letters: int, described: bool = False) -> None:
        """
        letters: expected number of letters, 0 if unknown; described: store descriptions, the text after the ids.
        """

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last: bool) -> tuple[int, int]:
        """
        Parse text that begins with a record. last: the file ends with it. Returns (a, b): data[:a] is taken; data[a:b] needs another parser, with FASTQ also everything after it.
        """

    def append(self, id: bytes, letters: bytes, description: bytes = ...) -> None:
        """Append a record that another parser has read."""

    def count_kinds(self, plain: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], clear_length: int, clear_part: float) -> tuple[int, int, int]:
        """
        Do the same as `count_kinds` for the records taken since the last call, while their letters are cached; record numbers count from the first record held.
        """

    def encode(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], invalid: int) -> int:
        """
        Replace the letters held by codes, table[letter], from the first one without a code up to the first one whose code is `invalid`. Returns the number of letters that have codes now. The kinds of their records must be counted before.
        """

    def scan_file(self, file: int, start: int, stop: int, plain: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], clear_length: int, clear_part: float, table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, invalid: int, piece: int, threads: int) -> tuple[int, bool, tuple[int, int, int]]:
        """
        Parse records in bytes start .. stop-1 of a file, which begin with a record, with several threads, in pieces of this many bytes. Also do what `count_kinds` does, and if a table is given and all letters held have codes, what `encode` does. Returns (a, b, kinds): the records before position a of the file are taken; b: the next one has to be fed; if False, more can be scanned.
        """

    @property
    def records(self) -> int:
        """Number of all records so far, including those already taken."""

    @property
    def letters(self) -> int:
        """Number of letters held."""

    def take(self) -> tuple[tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]]]:
        """
        Take the ids, letters and descriptions, each as (uint8[bytes], int64[records + 1] offsets); nothing is held afterwards. If descriptions are not stored, their column has no strings.
        """

def count_kinds(letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], plain: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], clear_length: int, clear_part: float) -> tuple[int, int, int]:
    """
    Count kinds of letters. plain, other: bool[128], sets of letters. Returns (letters in plain, first record with a letter in other, first record of at least clear_length letters with none in other and at least the fraction clear_part in plain); -1 if there is no such record.
    """

def count_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """Return int64[256]: how often each code occurs."""

def find_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    Return the codes that occur, ascending, in less time than `count_codes` takes.
    """

def count_in_records(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_counted: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> NDArray[numpy.int64]:
    """
    Return int64[records]: how many letters of each record have a code for which is_counted, bool[256], is true.
    """

def count_codes_in_records(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], counted: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> Annotated[NDArray[numpy.uint32], dict(shape=(None, None))]:
    """
    Return uint32[records][counted]: how many letters of each record have each of the codes `counted`.
    """

def encode(letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], invalid: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], threads: int = 1) -> int:
    """
    Set out = table[letters] up to the first letter whose code is `invalid`, and return its index, or -1. out may be letters. Uses at most this many threads; several may also set codes after that letter.
    """

def repeated(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> NDArray[numpy.int64]:
    """
    Return int64[strings][2]: each string that equals an earlier one, and the first one that it equals. Uses at most this many threads.
    """

def gather(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], picked: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int = 1) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]]:
    """
    Return the strings with these numbers, in this order: (uint8[bytes], int64[picked + 1] offsets). Uses at most this many threads.
    """
