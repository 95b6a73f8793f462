"""Records of FASTA and FASTQ files, and their letters."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


class RecordScanner:
    """
    Takes records from text: ids and letters, those in ASCII and of ordinary form.
    """

    def __init__(self, fastq: bool, letters: int, described: bool = False) -> None:
        """
        letters: how many there may be, 0 if that is not known; described: whether what follows ids is kept.
        """

    def feed(self, data: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], last: bool) -> tuple[int, int]:
        """
        Text that begins with a record; last: and ends with the file. (a, b): data[:a] is taken, data[a:b] wants another reader,
        and with FASTQ all that follows as well.
        """

    def append(self, id: bytes, letters: bytes, description: bytes = ...) -> None:
        """A record that another reader read."""

    def count_kinds(self, plain: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], clear_length: int, clear_part: float) -> tuple[int, int, int]:
        """
        As `count_kinds`, of the records that were taken since this was last called, while their letters are at hand; numbered from the
        first that is held.
        """

    def encode(self, table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], invalid: int) -> int:
        """
        Codes, table[letter], take the place of the letters that are held, from the first that has none, up to the first for which it
        is `invalid`: how many letters have codes now. The kinds of their records are counted before.
        """

    @property
    def records(self) -> int:
        """Records so far, those that were taken too."""

    @property
    def letters(self) -> int:
        """Letters that are held."""

    def take(self) -> tuple[tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]], tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]]]:
        """
        Ids, letters and descriptions, each as (uint8[bytes], int64[records + 1] offsets); nothing is held afterwards. Descriptions that
        are not kept are a column without strings.
        """

def count_kinds(letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], plain: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], other: Annotated[NDArray[numpy.bool_], dict(shape=(None,), order='C', device='cpu', writable=False)], clear_length: int, clear_part: float) -> tuple[int, int, int]:
    """
    plain, other: bool[128], sets of letters. (letters in plain, the first record with one in other, the first of at least
    clear_length letters with none in other and clear_part of them in plain); -1 where no record is like that.
    """

def count_codes(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """int64[256]: how often each code occurs."""

def encode(letters: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], table: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], invalid: int, out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> int:
    """
    out = table[letters]; -1, or the first place where it is `invalid`, where it ends. out may be letters.
    """

def repeated(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int64]:
    """
    int64[strings][2]: each string that equals an earlier one, and the first that it equals.
    """

def gather(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], picked: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,))], NDArray[numpy.int64]]:
    """
    The strings with these numbers, in their order: (uint8[bytes], int64[picked + 1] offsets).
    """
