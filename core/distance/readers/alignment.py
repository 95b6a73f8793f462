"""Reads aligned FASTA: rows of equal length, such as core-genome alignments.

The file is read once, by several threads if it is a regular file. Rows are stored as differences from the first call at each site, so
memory grows with the differences between samples, and sites at which all samples agree cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.call_parts import CallParts
from gpualign.core.distance.calls import MISSING, CallKind, ComparedLetters, Samples, aligned_row_code_table
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.engine import SITES_PER_LINE
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.positions import AlignmentColumns, Positions
from gpualign.core.distance.readers.aligned_rows import AlignedRows, ScannedRows, codes_at
from gpualign.core.distance.readers.base import OmittedSites, SiteSelection, combined_mask
from gpualign.core.distance.readers.missing_runs import MissingRuns
from gpualign.core.distance.readers.site_counts import SiteCounts, count_per_site
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.files.decompression import PlainText
from gpualign.core.files.paths import translate_read_errors
from gpualign.core.files.scratch import MakeScratch, translate_scratch_errors
from gpualign.core.sequences.ids import SampleNames, unique_ids, unique_ids_in_files

_FEED_BYTES = 4 << 20
"""Number of bytes that are read from a stream in one step."""

_SAMPLE_BYTES = 1 << 16
"""Number of bytes of the first file by which proteins are recognised before it is read."""

_CHUNK_BYTES = 1 << 20
"""Number of bytes of a file that a thread reads in one step."""

_NO_SITES = np.empty(0, dtype=np.uint32)

_AMINO_ACID_ONLY_LETTERS = b"EFILPQefilpq"
"""Letters that are not nucleotide codes. They make up approximately a third of the letters in a protein."""


class AlignmentSource:
    """The rows of alignments as a source of calls; implements `base.Source`.

    `AlignedRows` lists the sites at which calls differ or are missing in any row. In a subset of the rows, calls cannot differ or be
    missing at any other site, so only these sites are examined.

    rows: the rows
    source: name for messages
    compared: letters that are calls
    site_mask: 1 for columns that belong to the source, 0 for the rest, uint8[columns]; None: all columns
    row_mask: mask of the rows that are samples of the source, bool[rows]; None: all rows
    """

    def __init__(
        self,
        rows: AlignedRows,
        samples: Samples,
        source: str,
        compared: ComparedLetters,
        site_mask: npt.NDArray[np.uint8] | None = None,
        row_mask: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.rows = rows
        self.source = source
        self._site_mask = site_mask
        self.row_mask = row_mask
        self.samples = samples
        self.compared = compared

    @property
    def kind(self) -> CallKind:
        return self.compared.call_kind

    @property
    def site_count(self) -> int:
        return self.rows.length if self._site_mask is None else int(np.count_nonzero(self._site_mask))

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    @property
    def mapped_bytes(self) -> int:
        return self.rows.mapped_bytes

    @cached_property
    def calls_per_sample(self) -> CountArray:
        called = self.rows.called if self._site_mask is None else self.rows.called_at(self._site_mask)
        return called if self.row_mask is None else called[self.row_mask]

    def count_called(self, panel_bytes: int, workers: ThreadPool) -> CountArray:
        return self.calls_per_sample

    def site_positions(self) -> Positions:
        return AlignmentColumns(self.source, self.rows.length)

    def count_per_site(self, count_minor_alleles: bool, panel_bytes: int, workers: ThreadPool) -> SiteCounts:
        if self.row_mask is None:
            called = self.rows.count_calls()
        else:
            called = np.full(self.rows.length, self.samples.row_count, dtype=np.uint32)
            lacking = self._find_sites(varying=True, constant=True, missing=True, complete=False)
            for some, codes in self._read_calls_at(lacking, True, panel_bytes, workers):
                called[some] = count_per_site(codes, self.kind, False, workers).call_counts
        if not count_minor_alleles:
            return SiteCounts.of(self.kind, self._at_selected_sites(called), None)
        # A site at which all calls are equal has one allele.
        rarer = np.zeros(len(called), dtype=np.int64)
        varying = self._find_sites(varying=True, constant=False, missing=True, complete=True)
        for some, codes in self._read_calls_at(varying, False, panel_bytes, workers):
            of_some = count_per_site(codes, self.kind, True, workers).minor_allele_counts
            assert of_some is not None
            rarer[some] = of_some
        return SiteCounts.of(self.kind, self._at_selected_sites(called), self._at_selected_sites(rarer))

    def _at_selected_sites(self, values: npt.NDArray[Any]) -> CountArray:
        """Return the values at the sites that belong to the source. values: one value for each site in the file."""
        return (values if self._site_mask is None else values[self._site_mask.view(bool)]).astype(np.int64)

    def select_sites(self, mask: npt.NDArray[np.bool_]) -> AlignmentSource:
        chosen = mask.copy() if self._site_mask is None else self._site_mask.view(bool).copy()
        if self._site_mask is not None:
            chosen[chosen] = mask
        return AlignmentSource(self.rows, self.samples, self.source, self.compared, chosen.view(np.uint8), self.row_mask)

    def select_samples(self, mask: npt.NDArray[np.bool_]) -> AlignmentSource:
        row_mask = combined_mask(self.row_mask, mask)
        return AlignmentSource(self.rows, self.samples.select(mask), self.source, self.compared, self._site_mask, row_mask)

    def _find_sites(self, varying: bool, constant: bool, missing: bool, complete: bool) -> npt.NDArray[np.uint32]:
        """Return the indices of some of the source's sites, ascending. A site is returned if it is included by one of `varying` and
        `constant`, and also by one of `missing` and `complete`.

        varying: whether to include sites at which calls differ
        constant: whether to include sites at which all calls are equal
        missing: whether to include sites with missing calls
        complete: whether to include sites without missing calls
        """
        varies, has_missing = self.rows.varies, self.rows.has_missing
        chosen = ((varies & varying) | (~varies & constant)) & ((has_missing & missing) | (~has_missing & complete))
        if self._site_mask is not None:
            chosen &= self._site_mask.view(bool)
        return np.flatnonzero(chosen).astype(np.uint32)

    def panels(self, selection: SiteSelection, panel_bytes: int, omitted: OmittedSites, workers: ThreadPool) -> Iterator[Codes | CallParts]:
        if selection.complete_only and self.row_mask is not None:
            # Sites at which only left-out samples lack calls are complete.
            need = NeededSites.COMPARED if selection.needed_sites is NeededSites.DIFFERENCES else selection.needed_sites
            for codes in self._code_panels(SiteSelection(need, complete_only=False), _NO_SITES, panel_bytes, omitted, workers):
                complete = np.ascontiguousarray(codes[:, ~np.any(codes == MISSING, axis=0)])
                if complete.shape[1]:
                    yield complete
            return
        packed = self.rows.packed_sites if self._site_mask is None and not selection.complete_only else _NO_SITES
        yield from self._read_packed(packed, panel_bytes, workers)
        yield from self._code_panels(selection, packed, panel_bytes, omitted, workers)

    def _code_panels(
        self,
        selection: SiteSelection,
        done: npt.NDArray[np.uint32],
        panel_bytes: int,
        omitted: OmittedSites,
        workers: ThreadPool,
    ) -> Iterator[Codes]:
        """Yield the calls at the sites that the selection needs, in panels. Sites at which all samples have the same call are left out, and
        reported in `omitted`.

        done: sites at which calls may differ that have been yielded already, and are left out too
        """
        incomplete = not selection.complete_only
        everything = selection.needed_sites is NeededSites.CALLS
        # At sites where all calls are equal, it can only matter which samples have a call; if all have one, nothing does.
        differing = self._find_sites(varying=True, constant=everything and incomplete, missing=incomplete, complete=True)
        equal = self._find_sites(varying=False, constant=True, missing=False, complete=True)
        if everything and incomplete:
            differing = np.setdiff1d(differing, equal, assume_unique=True)
        omitted.sites_by_code = {code: count for code, count in enumerate(np.bincount(self.rows.reference[equal]).tolist()) if count}
        if len(done):
            differing = np.setdiff1d(differing, done, assume_unique=True)
        yield from self._read_panels(differing, False, panel_bytes, workers)
        if selection.needed_sites is NeededSites.COMPARED and incomplete:
            yield from self._read_panels(
                self._find_sites(varying=False, constant=True, missing=True, complete=False), True, panel_bytes, workers
            )

    def missing_runs(self) -> MissingRuns:
        """Return the samples' runs of missing calls, over all sites of the alignment."""
        runs = self.rows.missing_runs()
        return runs if self.row_mask is None else runs.select(self.row_mask)

    def calls_at(self, sites: npt.NDArray[np.uint32], workers: ThreadPool) -> Codes:
        """Return the samples' calls at some sites, in any order: uint8[samples][sites]."""
        codes = codes_at(self.rows, sites, workers)
        return codes if self.row_mask is None else codes[self.row_mask]

    def _read_packed(self, sites: npt.NDArray[np.uint32], panel_bytes: int, workers: ThreadPool) -> Iterator[CallParts]:
        """Yield the calls at the packed sites, in panels of approximately `panel_bytes` bytes."""
        bytes_per_line = 3 * 64 * self.samples.row_count  # a cache line of each of three planes, as many as nucleotides take
        step = max(1, panel_bytes // bytes_per_line) * SITES_PER_LINE
        for first in range(0, len(sites), step):
            some = sites[first : first + step]
            parts = self.rows.parts_at(first, len(some), self.row_mask, workers)
            yield CallParts(parts, len(some), bool(self.rows.has_missing[some].any()))

    def _read_panels(self, sites: npt.NDArray[np.uint32], calls_only: bool, panel_bytes: int, workers: ThreadPool) -> Iterator[Codes]:
        """Yield the calls at some sites, in panels of approximately `panel_bytes` bytes."""
        return (codes for _, codes in self._read_calls_at(sites, calls_only, panel_bytes, workers))

    def _read_calls_at(
        self, sites: npt.NDArray[np.uint32], calls_only: bool, panel_bytes: int, workers: ThreadPool
    ) -> Iterator[tuple[npt.NDArray[np.uint32], Codes]]:
        """Yield (some of the sites, the samples' calls at these sites), covering all sites.

        sites: indices of the sites, ascending
        calls_only: whether every call gets the code 0
        """
        rows = self.rows.row_count
        held = rows + (0 if self.row_mask is None else self.samples.row_count)
        step = max(1, min(len(sites), max(512, panel_bytes // held)))
        buffer = np.empty(step * rows, dtype=np.uint8)  # reused, because the system clears new memory, which takes as long as filling it
        for start in range(0, len(sites), step):
            some = sites[start : start + step]
            codes: Codes = buffer[: rows * len(some)].reshape(rows, len(some))
            self.rows.fill(some, calls_only, codes, workers)
            yield some, codes if self.row_mask is None else codes[self.row_mask]


@dataclass(frozen=True)
class AlignmentText:
    """Text of an aligned FASTA file, open for reading.

    stream: text of the input
    source: name for messages
    plain_text: location of the text in a file; None if the text is not in a file
    joins_previous: whether the records belong to the same set as those of the previous file
    """

    stream: BinaryIO
    source: str
    plain_text: PlainText | None = None
    joins_previous: bool = False


def read_alignments(
    inputs: Iterable[AlignmentText],
    options: CallOptions,
    memory: int,
    scratch: MakeScratch,
    threads: int = 1,
    chunk_bytes: int = _CHUNK_BYTES,
) -> AlignmentSource:
    """Read one aligned FASTA file, or two with the same sites, or two sets of several files.

    Raises `InputError` naming the file and record for rows of unequal length, repeated ids, and characters that no alignment contains.

    options: which letters are calls (if gaps are missing, proteins are recognised by the first letters of the first file), and whether
        repeated ids are allowed
    memory: maximum memory for the scanner, in bytes
    threads: threads that read text from a file; results do not depend on the number of threads
    chunk_bytes: size of the pieces of text that these threads take in turn; results do not depend on it
    """
    texts = iter(inputs)
    first = next(texts)
    where = first.plain_text
    with translate_read_errors(first.source):
        data = (
            first.stream.read(_FEED_BYTES)
            if where is None
            else os.pread(where.descriptor, min(_SAMPLE_BYTES, where.stop - where.start), where.start)
        )
    compared = options.compared_letters or _compared_letters(options, data)
    scanner = _sites.AlignmentScanner(aligned_row_code_table(compared), scratch().fileno(), memory)
    files: list[_FileRecords] = []
    letters = [0] * 256  # number of times that each byte occurs in the files read so far
    for text in chain([first], texts):
        source, before = text.source, scanner.records
        try:
            _scan_text(scanner, text, data if text is first else b"", threads, chunk_bytes)
        except InputError:
            raise
        except RuntimeError as error:
            what, _, reason = str(error).partition(": ")
            if "scratch file" not in what:  # which the scanner writes
                raise
            with translate_scratch_errors():
                raise OSError(reason) from None
        except ValueError as error:
            of_first = f"the records of {files[0].source} have" if files else "the first record has"
            raise InputError(f"{source}: {str(error).replace('the first record has', of_first)}") from None
        if scanner.records == before:
            raise InputError(f"{source}: no records")
        files.append(_FileRecords(source, before, scanner.records, text.joins_previous))
        if compared is ComparedLetters.NUCLEOTIDES:
            total = [scanner.letters(byte) for byte in range(256)]
            if _look_like_proteins([count - earlier for count, earlier in zip(total, letters, strict=True)]):
                raise _proteins_error(files, options)
            letters = total
    sets = _names_of_sets(scanner.ids, files, options.allow_duplicates)
    return AlignmentSource(ScannedRows(scanner), Samples(sets[0], sets[-1]), files[0].source, compared)


def _compared_letters(options: CallOptions, text: bytes) -> ComparedLetters:
    """Return which letters are calls. text: the beginning of the first file."""
    if options.all_letters:
        return ComparedLetters.LETTERS if options.gaps_missing else ComparedLetters.CHARACTERS
    rows = b"".join(line for line in text[:_SAMPLE_BYTES].splitlines() if not line.startswith(b">"))
    if options.gaps_missing and _look_like_proteins([rows.count(byte) for byte in range(256)]):
        return ComparedLetters.AMINO_ACIDS
    return ComparedLetters.NUCLEOTIDES


def _look_like_proteins(counts: Sequence[int]) -> bool:
    """Return whether letters are those of proteins. counts: number of times that each byte occurs"""
    letters = sum(count for byte, count in enumerate(counts) if chr(byte).isalpha())
    return sum(counts[byte] for byte in _AMINO_ACID_ONLY_LETTERS) > letters / 10


def _proteins_error(files: Sequence[_FileRecords], options: CallOptions) -> InputError:
    """Return the error for proteins where nucleotides are expected. files: all files that have been read; the last holds proteins"""
    at_fault = files[-1].source
    found, every = f"{at_fault}: these look like proteins, not nucleotides", parameter("all_letters")
    if options.compared_letters is not None:
        return InputError(f"{found}, which the set of samples holds; samples of a set are of one kind")
    if options.gaps_missing:
        first = "their own first letters" if files[0].source == at_fault else f"the first letters of {files[0].source}"
        return InputError(f"{found}, but {first} look like nucleotides; {every} compares every letter")
    return InputError(f"{found}; {parameter('missing', 'pairwise')} compares amino acids, {every} every letter, gaps too")


@dataclass(frozen=True)
class _FileRecords:
    """Records [start, stop), numbered over all files, that came from one file.

    source: name of the file
    joins_previous: whether the records belong to the same set as those of the previous file
    """

    source: str
    start: int
    stop: int
    joins_previous: bool


def _names_of_sets(ids: list[str], files: Sequence[_FileRecords], allow_duplicates: bool) -> list[SampleNames]:
    """Return the names of each set, with unique ids. Raises `InputError` if two records in a set have the same id, naming both files."""
    sets: list[list[_FileRecords]] = []
    for file in files:
        if file.joins_previous:
            sets[-1].append(file)
        else:
            sets.append([file])
    names_of_sets = []
    for some in sets:
        names = [name for file in some for name in unique_ids(ids[file.start : file.stop], file.source, allow_duplicates)]
        if len(some) > 1:
            names = unique_ids_in_files(names, [(file.start - some[0].start, file.source) for file in some], allow_duplicates)
        names_of_sets.append(SampleNames(names, tuple(file.stop - file.start for file in some)))
    return names_of_sets


def _scan_text(scanner: _sites.AlignmentScanner, text: AlignmentText, first_bytes: bytes, threads: int, chunk_bytes: int) -> None:
    """Read the records of a file, with several threads if it is a regular file.

    first_bytes: what has been read from its stream already
    """
    if (where := text.plain_text) is not None:
        readers = scanner.begin(where.descriptor, where.start, where.stop, chunk_bytes, threads)
        with translate_read_errors(text.source), closing(ThreadPool(readers)) as workers:
            workers.repeat(scanner.read_some)
    else:
        data = first_bytes or text.stream.read(_FEED_BYTES)
        while data:
            scanner.feed(data)
            data = text.stream.read(_FEED_BYTES)
    scanner.finish()
