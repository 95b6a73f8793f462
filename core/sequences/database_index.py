"""Single-file database in the form that engines use: sequences sorted by length, read through a memory map.

Layout, all numbers little-endian: a 4,096-byte header, then sections aligned to 4,096 bytes:
  lengths   int64[records]   length of each record, ascending
  places    int64[records]   position of each record in the file that was indexed
  id_ends   int64[records]   end of each record's id in the ids section
  ids       uint8[...]       ids, UTF-8
  codes     uint8[letters]   letters as alphabet codes
  checks    uint32[...]      CRC-32 of each 16 MiB of the preceding sections
The header consists of a magic number, the format version (uint32), the length of a description (uint32), the description in JSON, and
the CRC-32 of all these fields (uint32). Readers reject unknown versions.
"""

from __future__ import annotations

import errno
import mmap
import os
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers, ranges_of_limited_size
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.common.memory import free_memory
from gpualign.core.common.threads import map_in_order
from gpualign.core.files.paths import INDEX_MAGIC
from gpualign.core.sequences._records import count_codes
from gpualign.core.sequences.alphabet import ALPHABETS, DNA, Alphabet, AlphabetCensus
from gpualign.core.sequences.index_check import CHUNK_BYTES, MAX_THREADS, CheckedRanges, IndexCheck, scan_chunk
from gpualign.core.sequences.loading import GapCounts, LowerCaseCounts, UnknownLetters, clean_records, unique_id_column
from gpualign.core.sequences.parser import Records, read_records
from gpualign.core.sequences.record_tables import TableRecords
from gpualign.core.sequences.sequence_set import SequenceSet, encode_letters
from gpualign.core.sequences.string_column import StringColumn

FORMAT_VERSION = 1
_PAGE_BYTES = 4096
_POSITIONS_PER_STEP = 1 << 16  # checked while other threads wait; those that check the letters run between the steps
_MIN_RECORDS_FOR_THREADS = 10_000_000  # fewer are checked quickly, and the stacks of threads would count beside their memory
_CHECKED_AHEAD_DIVISOR = 4
"""The free memory, less that for the numbers of the records, is divided by this number; the check of an index is ahead of a search by at
most one such part, so that what the search reads next is still in memory."""

_RECORD_BYTES = 4 * 8
"""Memory for the numbers of a record in bytes: its length, its position, and the offsets of its letters and id."""

_MAX_KEPT_FRACTION = 0.75
"""Maximum size of an index whose pages stay in memory for the next search, as a fraction of the free memory. A larger index would not stay
there as a whole."""

_UNKNOWN_MEMORY = 4 << 30
"""Free memory to assume, in bytes, if the system does not say how much there is."""

BATCH_LETTERS = 8 << 20
"""Number of letters held in memory while building an index."""


@dataclass(frozen=True)
class _IndexLayout:
    """Sizes of an index, which determine where its sections are.

    id_bytes: total size of all ids in bytes
    """

    record_count: int
    letter_count: int
    id_bytes: int

    def sections(self) -> dict[str, tuple[int, int, np.dtype[Any]]]:
        """Return (start in bytes, length in bytes, dtype) of each section, keyed by the section's name."""
        sections: dict[str, tuple[int, int, np.dtype[Any]]] = {}
        at = _PAGE_BYTES
        for name, count, kind in (
            ("lengths", self.record_count, "<i8"),
            ("places", self.record_count, "<i8"),
            ("id_ends", self.record_count, "<i8"),
            ("ids", self.id_bytes, "u1"),
            ("codes", self.letter_count, "u1"),
        ):
            dtype = np.dtype(kind)
            sections[name] = at, count * dtype.itemsize, dtype
            at = _round_up_to_page(at + count * dtype.itemsize)
        sections["checks"] = at, -(-(at - _PAGE_BYTES) // CHUNK_BYTES) * 4, np.dtype("<u4")
        return sections

    def map_sections(self, content: mmap.mmap) -> dict[str, npt.NDArray[Any]]:
        """Return an array of each section of a mapped index, keyed by the section's name."""
        sections = self.sections().items()
        return {name: np.frombuffer(content, dtype, length // dtype.itemsize, start) for name, (start, length, dtype) in sections}

    @property
    def size(self) -> int:
        start, length, _ = self.sections()["checks"]
        return start + length

    @property
    def checked_ranges(self) -> CheckedRanges:
        sections = self.sections()
        codes_start, letters, _ = sections["codes"]
        return CheckedRanges(_PAGE_BYTES, sections["checks"][0], codes_start, codes_start + letters)


def _round_up_to_page(count: int) -> int:
    return -(-count // _PAGE_BYTES) * _PAGE_BYTES


def open_index(path: str, max_threads: int = MAX_THREADS) -> tuple[SequenceSet, Alphabet]:
    """Open an index and return its sequences and alphabet. Everything but the offsets of records and ids stays on disk until it is used.

    All properties of the index on which callers rely are checked, regardless of which program wrote the file. (Of the counts of each
    letter, only the sum and the highest used code are checked.)

    max_threads: maximum number of threads of the check

    Raises `InputError` if the file is damaged, truncated or inconsistent, or has a different version, and `RunError` if it cannot be mapped
    into memory.
    """
    sequences, alphabet, check = open_unchecked_index(path, max_threads)
    check.finish()
    return sequences, alphabet


def open_unchecked_index(path: str, max_threads: int = MAX_THREADS) -> tuple[SequenceSet, Alphabet, IndexCheck]:
    """Do what `open_index` does, but return before the letters have been checked, together with the check. Letters must not be used before
    `IndexCheck.wait_for_letters` has returned True for them, because kernels rely on their codes.

    max_threads: maximum number of threads of the check
    """
    with open(path, "rb") as file:
        header, size = file.read(_PAGE_BYTES), os.fstat(file.fileno()).st_size
        try:
            alphabet, layout, counts = _parse_index_header(_read_index_header(path, header))
            if size != layout.size:
                problem = "truncated" if size < layout.size else "too long"
                raise InputError(f"{path}: the index is {problem}: expected {layout.size:,} bytes, found {size:,}; build it again")
            content = _map_file(file)
            arrays = scattered = layout.map_sections(content)
            with suppress(RunError):  # a limit of the address space may leave no room for a second map
                scattered = layout.map_sections(_map_file(file, scattered=True))
            code_counts = np.array(counts + [0] * (256 - len(counts)), dtype=np.int64)
            highest = int(np.flatnonzero(code_counts)[-1])
            free = free_memory() or _UNKNOWN_MEMORY
            ahead = max(0, free - _RECORD_BYTES * layout.record_count) // _CHECKED_AHEAD_DIVISOR
            too_large = content if size > free * _MAX_KEPT_FRACTION else None
            check = IndexCheck(path, layout.checked_ranges, arrays["checks"], highest, ahead, max_threads, droppable=too_large)
            with ExitStack() as on_error:
                on_error.callback(check.close)
                check.wait_for_letters(0)
                threads = min(3, max_threads) if layout.record_count >= _MIN_RECORDS_FOR_THREADS else 1
                steps: list[Callable[[], Any]] = [
                    partial(_checked_offsets, arrays["lengths"], layout),
                    partial(_checked_id_offsets, arrays["ids"], arrays["id_ends"], layout),
                    partial(_check_file_positions, arrays["places"], layout),
                ]
                (offsets, lengths), id_offsets, _ = map_in_order(lambda step: step(), steps, threads)
                on_error.pop_all()
            for name in ("lengths", "id_ends", "ids"):  # not used again, or only for hits
                start, length, _ = layout.sections()[name]
                check.drop_pages(start, start + length)
        except _DamagedIndex as error:
            raise InputError(f"{path}: the index is damaged: {error}; build it again") from None
    ids, places = StringColumn(scattered["ids"], id_offsets), arrays["places"].astype(np.int64, copy=False)
    sequences = SequenceSet(
        path, ids, arrays["codes"], offsets, places, code_counts, known_lengths=lengths, scattered_codes=scattered["codes"]
    )
    return sequences, alphabet, check


def _map_file(file: BinaryIO, scattered: bool = False) -> mmap.mmap:
    """Map an index into memory. scattered: whether single records are read, in any order: the system then reads no more than their
    pages, instead of megabytes around each

    Raises `RunError` if the system refuses.
    """
    try:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        advice = "; the limit of memory (ulimit -v) is too low for its size: raise it" if error.errno == errno.ENOMEM else ""
        raise RunError(f"{file.name}: the index cannot be mapped into memory: {error.strerror}{advice}") from None
    if scattered:
        with suppress(OSError):
            content.madvise(mmap.MADV_RANDOM)
    return content


class _DamagedIndex(Exception):
    """Raised if an index is damaged. Its text is a human-readable description of the fault."""


def _read_index_header(path: str, header: bytes) -> object:
    import json

    if not header.startswith(INDEX_MAGIC):
        raise InputError(f"{path}: not an index; gpualign index makes one from a FASTA or FASTQ file")
    if len(header) < _PAGE_BYTES:
        raise InputError(
            f"{path}: the index is truncated: expected a header of {_PAGE_BYTES:,} bytes, found {len(header):,}; build it again"
        )
    version, length = (int.from_bytes(header[at : at + 4], "little") for at in (8, 12))
    if version != FORMAT_VERSION:
        hint = "it was made by a newer gpualign, so update this one" if version > FORMAT_VERSION else "build it again"
        raise InputError(f"{path}: an index of version {version}; this gpualign reads version {FORMAT_VERSION} ({hint})")
    end = 16 + length
    if end + 4 > _PAGE_BYTES or zlib.crc32(header[:end]) != int.from_bytes(header[end : end + 4], "little"):
        raise _DamagedIndex("the checksum of its header is wrong")
    try:
        description: object = json.loads(header[16:end])
    except (ValueError, RecursionError):
        raise _DamagedIndex("its header holds no description") from None
    return description


def _parse_index_header(description: object) -> tuple[Alphabet, _IndexLayout, list[int]]:
    """Return (alphabet, layout, number of occurrences of each code).

    description: description in the header, parsed from JSON

    The sizes in the layout are not compared with the file.
    """
    entries = description if isinstance(description, dict) else {}
    alphabet = next((a for a in ALPHABETS.values() if a.name == entries.get("alphabet")), None)
    if alphabet is None:
        raise _DamagedIndex("its header names no alphabet; expected dna or protein")
    records, letters, id_bytes = (entries.get(name) for name in ("records", "letters", "id_bytes"))
    # type(), as bool is an int. Every record has a letter and an id.
    if type(records) is not int or type(letters) is not int or type(id_bytes) is not int or not 1 <= records <= min(letters, id_bytes):
        raise _DamagedIndex("its header has no valid numbers of records, letters and bytes of ids")
    counts = entries.get("counts")
    if not isinstance(counts, list) or len(counts) != len(alphabet) or any(type(count) is not int or count < 0 for count in counts):
        raise _DamagedIndex(f"its header has no valid counts of the {len(alphabet)} letters of the alphabet")
    if sum(counts) != letters:
        raise _DamagedIndex(f"the counts in its header add up to {sum(counts):,} letters; expected {letters:,}")
    return alphabet, _IndexLayout(records, letters, id_bytes), counts


def _checked_offsets(lengths: Integers, layout: _IndexLayout) -> tuple[Integers, Integers]:
    """Check the record lengths. Return (where each record starts and ends in the letters, int64[records + 1]; the lengths in memory)."""
    lengths = np.array(lengths, dtype=np.int64)  # a search uses them many times, also after the system has dropped their pages
    offsets = np.zeros(layout.record_count + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    # A sum beyond 64 bits would become negative at some record, since no single length is large enough to skip all negative numbers.
    if lengths[0] < 1 or (lengths[1:] < lengths[:-1]).any() or offsets.min() < 0 or offsets[-1] != layout.letter_count:
        raise _DamagedIndex("the lengths of its records are not ascending, or do not add up to its letters")
    return offsets, lengths


def _check_file_positions(places: Integers, layout: _IndexLayout) -> None:
    """Check that the records' positions in their file are a permutation of 0 .. records-1."""
    taken = np.zeros(layout.record_count, dtype=bool)
    if places.min() >= 0 and places.max() < layout.record_count:
        for start in range(0, len(places), _POSITIONS_PER_STEP):
            taken[places[start : start + _POSITIONS_PER_STEP]] = True
    if not taken.all():
        raise _DamagedIndex("the places of its records in their file are not a permutation")


def _checked_id_offsets(text: npt.NDArray[np.uint8], ends: Integers, layout: _IndexLayout) -> Integers:
    """Check that no id is empty or contains white space, and return where each id starts and ends in the text: int64[records + 1].

    text: all ids, concatenated
    ends: end of each id in the text
    """
    if ends[0] < 1 or (ends[1:] <= ends[:-1]).any() or ends[-1] != layout.id_bytes:
        raise _DamagedIndex("the ends of its ids are not ascending, or do not cover all ids")
    if text.min() <= ord(" ") and (raw := text.tobytes()).split(None, 1) != [raw]:
        raise _DamagedIndex("an id holds white space")
    return np.append(0, ends)


@dataclass
class IndexSummary:
    """Summary of the records from which an index was built.

    empty_ids: ids of records without letters, which are omitted
    gaps: counts of removed gaps
    first_dna_record: label of the first record that looks like DNA, if proteins were requested
    lower_case_counts: counts of masked lower-case letters; None if lower case is not masked
    """

    record_count: int
    letter_count: int
    empty_ids: list[str]
    gaps: GapCounts
    first_dna_record: str | None = None
    lower_case_counts: LowerCaseCounts | None = None


class IndexBuilder:
    """Builds an index from a stream of records. It keeps only a few records in memory, plus about 60 bytes for each record.

    source: name of the input, for messages
    folder: folder in which the index is made
    scratch: creates an unnamed file in `folder`; one such file stores the letters and another the ids until the index is written
    allow_duplicates: whether to number repeated ids instead of rejecting them
    degap: whether to remove gaps instead of rejecting them
    mask_lower: whether to replace lower-case letters by N or X
    unknown: replaces and counts letters outside the alphabet; if None, such letters are rejected

    After `read`, `unterminated_id` is the id of the last record if the file does not end with a newline, else None; `table` has its rows if
    the file is a table, else None; `list_length` is the number of sequences if it is a list with one sequence per line, else 0.
    """

    def __init__(
        self,
        source: str,
        folder: Path,
        scratch: Callable[[], BinaryIO],
        allow_duplicates: bool = False,
        degap: bool = False,
        mask_lower: bool = False,
        unknown: UnknownLetters | None = None,
    ) -> None:
        self._source = source
        self._allow_duplicates = allow_duplicates
        self._degap = degap
        self._gaps = GapCounts()
        self._lower = LowerCaseCounts() if mask_lower else None
        self._unknown = unknown
        self._folder = folder
        with self._errors_naming_folder():
            self._letters, self._ids = scratch(), scratch()  # closed by __exit__
        self._ends, self._id_ends, self._numbers = array("q"), array("q"), array("q")
        self._empty: list[str] = []
        self._alphabet = DNA
        self.unterminated_id: str | None = None
        self.table: TableRecords | None = None
        self.list_length = 0

    def __enter__(self) -> IndexBuilder:
        return self

    def __exit__(self, *error: object) -> None:
        for file in (self._letters, self._ids):
            with suppress(OSError):  # what a full disk did not take is discarded
                file.close()

    def read(self, stream: BinaryIO, alphabet: str) -> Alphabet:
        """Read all records in a file, and return their alphabet.

        alphabet: "dna", "protein" or "auto" (named by the column of a table, or else determined from the letters)

        Raises `InputError` for bad input, and `RunError` if letters or ids cannot be stored, for example because no space is left on the
        disk.
        """
        census, number, last = AlphabetCensus(), 0, ""
        for some in read_records(stream, self._source, BATCH_LETTERS):
            records, numbers = clean_records(some, number, self._source, self._empty, self._gaps if self._degap else None, self._unknown)
            number += len(some)
            last = some.ids[len(some) - 1] if len(some) else last  # the last part may be empty
            self.unterminated_id = last if some.is_unterminated else None
            self.table, self.list_length = some.table, len(some) if some.is_plain_list else 0
            if alphabet != DNA.name:
                census.count_records(records.ids, records.letters, "record {!r}".format, records.letter_kinds)
            if self._lower is not None and len(records):
                self._lower.count_masked(records.ids, records.letters)
            self._store(records)
            self._numbers.frombytes(numbers.tobytes())
        self._dna = None if alphabet == "auto" else census.first_dna_record
        if alphabet == "auto" and self.table is not None:
            alphabet = self.table.alphabet
        self._alphabet = census.alphabet() if alphabet == "auto" else ALPHABETS[alphabet]
        if not self._ends:
            raise InputError(f"{self._source}: no records" + (" with letters" if self._empty else ""))
        with self._errors_naming_folder():
            self._letters.flush()
            self._ids.flush()
        self._check_letters()
        return self._alphabet

    def _store(self, records: Records) -> None:
        for file, ends, column in ((self._letters, self._ends, records.letters), (self._ids, self._id_ends, records.ids)):
            with self._errors_naming_folder():
                file.write(column.text.data)
            ends.frombytes((column.offsets[1:] + (ends[-1] if ends else 0)).tobytes())

    @contextmanager
    def _errors_naming_folder(self) -> Iterator[None]:
        """Turn OS errors raised while storing letters and ids into a `RunError` that names the folder."""
        try:
            yield
        except OSError as error:
            raise RunError(f"cannot write to {self._folder.absolute()}, where the index is made: {error.strerror or error}") from None

    def _stored_column(self, file: BinaryIO, ends: array[int]) -> StringColumn:
        return StringColumn(np.memmap(file, dtype=np.uint8, mode="r", shape=(ends[-1],)), np.append(0, np.frombuffer(ends, dtype=np.int64)))

    def _check_letters(self) -> None:
        letters, ids = self._stored_column(self._letters, self._ends), self._stored_column(self._ids, self._id_ends)
        self._counts = np.zeros(len(self._alphabet), dtype=np.int64)
        for start, stop in ranges_of_limited_size(letters.offsets, BATCH_LETTERS):
            batch = letters[start:stop].without_margins()

            def name(record: int, start: int = start) -> str:
                return ids[start + record]

            codes = encode_letters(self._source, batch, self._alphabet, name, self._lower is not None)
            self._counts += count_codes(codes)[: len(self._alphabet)]

    def _unique_ids(self) -> StringColumn:
        """Return the ids in file order. Repeated ids are numbered if `allow_duplicates` was set; otherwise they raise `InputError`."""
        numbers = np.frombuffer(self._numbers, dtype=np.int64)
        return unique_id_column(self._stored_column(self._ids, self._id_ends), numbers, self._source, self._allow_duplicates)

    def write(self, file: BinaryIO) -> IndexSummary:
        """Write the index to a binary file that is open for writing and reading."""
        letters, ids = self._stored_column(self._letters, self._ends), self._unique_ids()
        lengths = np.diff(letters.offsets)
        order = np.argsort(lengths, kind="stable").astype(np.int64)
        layout = _IndexLayout(len(lengths), self._ends[-1], int(ids.offsets[-1]))
        sections = layout.sections()
        file.write(self._header(layout))
        for name, numbers in (("lengths", lengths[order]), ("places", order), ("id_ends", np.cumsum(np.diff(ids.offsets)[order]))):
            file.seek(sections[name][0])
            file.write(numbers.astype("<i8").tobytes())
        for name, stored, encoding in (("ids", ids, None), ("codes", letters, self._alphabet.encoding_of(self._lower is not None))):
            file.seek(sections[name][0])
            sorted_offsets = np.concatenate(([0], np.cumsum(np.diff(stored.offsets)[order])))
            for first, stop in ranges_of_limited_size(sorted_offsets, BATCH_LETTERS):
                text = stored.select(order[first:stop]).text
                file.write((text if encoding is None else encoding[text]).tobytes())
        start = sections["checks"][0]
        file.truncate(start)
        file.flush()
        ranges, whole = layout.checked_ranges, np.memmap(file, dtype=np.uint8, mode="r")
        scan = partial(scan_chunk, lambda start, stop: whole[start:stop], ranges=ranges)
        checks = np.array(
            [checksum for checksum, _ in map_in_order(scan, ranges.chunks(), min(MAX_THREADS, os.cpu_count() or 1))], dtype="<u4"
        )
        file.seek(start)
        file.write(checks.tobytes())
        return IndexSummary(layout.record_count, layout.letter_count, self._empty, self._gaps, self._dna, self._lower)

    def _header(self, layout: _IndexLayout) -> bytes:
        import json

        description = json.dumps(
            {
                "alphabet": self._alphabet.name,
                "records": layout.record_count,
                "letters": layout.letter_count,
                "id_bytes": layout.id_bytes,
                "counts": self._counts.tolist(),
            }
        ).encode()
        start = INDEX_MAGIC + FORMAT_VERSION.to_bytes(4, "little") + len(description).to_bytes(4, "little") + description
        return (start + zlib.crc32(start).to_bytes(4, "little")).ljust(_PAGE_BYTES, b"\0")
