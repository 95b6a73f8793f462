"""Reads sets of samples as sources of calls, alone or beside another input with the same sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import CallKind, Calls, ComparedLetters, Samples
from gpualign.core.distance.engine import WORD_BITS
from gpualign.core.distance.readers.aligned_rows import JoinedRows
from gpualign.core.distance.readers.alignment import AlignmentSource
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource, Source
from gpualign.core.distance.readers.detection import CallFile, read_calls
from gpualign.core.distance.readers.plink_fileset import swap_alleles_back
from gpualign.core.distance.readers.site_names import SiteNames, SiteScheme, match_sites
from gpualign.core.distance.sample_sets.dictionaries import CodeDictionary
from gpualign.core.distance.sample_sets.sample_set import SampleSet, damaged
from gpualign.core.distance.sample_sets.stored_rows import StoredRows
from gpualign.core.distance.tables.alleles import ALLELE_NUMBER_BYTES, FIRST_HASH_NUMBER
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.files.growing_file import DamagedFile
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.sequences.ids import SampleNames

_UNSTORED_OPTIONS = {"allow_duplicates", "nonfounders", "gaps_missing", "known_hashes", "known_cells", "beside_set"}
"""Fields of `CallOptions` that are not stored in a set: each run decides them, or they describe the samples of the set."""

_OPTION_NAMES = {"missing_codes": "missing_code"}
"""Options whose names differ from those of the fields."""


def stored_options(options: CallOptions, compared: ComparedLetters | None) -> dict[str, Any]:
    """Return reading options as the JSON that a set keeps. compared: letters of an alignment that are calls; None: not an alignment."""
    kept: dict[str, Any] = {str(name): getattr(options, name) for name in CallOptions.__match_args__ if name not in _UNSTORED_OPTIONS}
    return kept | {"type": options.type.value, "compared_letters": None if compared is None else compared.name}


def reading_options(sample_set: SampleSet, options: CallOptions) -> CallOptions:
    """Return the options with which samples beside those of a set are read: those of the set, and of `options` those that each run decides.

    Raises `InputError` if `options` has others, which the set decides, or if those of the set are not valid.
    """
    default = CallOptions()
    for name in CallOptions.__match_args__:
        if name not in _UNSTORED_OPTIONS and getattr(options, name) != getattr(default, name):
            raise InputError(
                f"{parameter(_OPTION_NAMES.get(name, name))}: {sample_set.path} is a set of samples, which keeps the options it was made"
                " with; leave it out"
            )
    kept = sample_set.reading
    try:
        letters = kept["compared_letters"]
        read = replace(
            options,
            **{name: kept[name] for name in ("transpose", "no_header", "all_letters", "ploidy")},
            type=TableType(kept["type"]),
            missing_codes=tuple(kept["missing_codes"]),
            columns=None if kept["columns"] is None else tuple(kept["columns"]),
            ignore_columns=tuple(kept["ignore_columns"]),
            compared_letters=None if letters is None else ComparedLetters[letters],
            known_hashes=tuple(sample_set.hashes),
            beside_set=True,
            known_cells=None if sample_set.cells is None else replace(sample_set.cells, source=sample_set.path),
        )
    except (KeyError, TypeError, ValueError):
        raise damaged(sample_set.path, DamagedFile("its options are not valid")) from None
    # A few samples may look like another kind.
    if read.type is TableType.AUTO and sample_set.kind is not CallKind.LETTER and sample_set.cells is None:
        read = replace(read, type=TableType.ALLELES if sample_set.kind is CallKind.ALLELE else TableType.CALLS)
    return read


def read_with_sets(
    stored: Sequence[tuple[str, SampleSet | None]],
    inputs: Iterable[CallFile],
    options: CallOptions,
    memory: int,
    files: ScratchFiles,
    warn: Callable[[str], None],
    threads: int = 1,
) -> Source:
    """Read one or two inputs, at least one of which is a set of samples. Two inputs have the same sites.

    stored: name of each input, for messages, and the set that it is, or None
    inputs: files of the inputs that are not sets; other arguments as for `read_calls`

    Raises `InputError` for files that cannot be read, for options that a set decides, and if sites or kinds of calls differ.
    """
    first = next(one for _, one in stored if one is not None)
    read_options = reading_options(first, options)
    if options.gaps_missing and read_options.compared_letters is ComparedLetters.CHARACTERS:
        raise InputError(
            f"{parameter('missing')}: in {first.path}, made with {parameter('all_letters')}, gaps are calls and nothing is missing;"
            " leave it out"
        )
    sources: list[Source] = []
    for _, one in stored:
        if one is None:
            for_other = replace(read_options, type=options.type) if first.names is None else read_options
            sources.append(read_calls(inputs, for_other, memory, files, warn, threads))
        else:
            one.check_planes(threads)
            sources.append(source_of_set(one, options.nonfounders))
    if len(sources) == 1:
        return sources[0]
    return join_sources(sources[0], sources[1], stored[0][0], stored[1][0])


def source_of_set(sample_set: SampleSet, nonfounders: bool = False) -> AlignmentSource | RandomAccessSource:
    """Return the samples of a set as a source. nonfounders: whether samples with parents count as founders, too."""
    mask = sample_set.row_mask
    names = SampleNames(sample_set.row_ids)
    founders = None if nonfounders else _joined_mask([(segment.founders, len(segment.ids)) for segment in sample_set.segments])
    samples = Samples(names, names, founders=founders)
    source: AlignmentSource | RandomAccessSource
    if sample_set.names is None:
        compared = reading_options(sample_set, CallOptions()).compared_letters
        if compared is None or compared.call_kind is not sample_set.kind:
            raise damaged(sample_set.path, DamagedFile("its options are not valid"))
        source = AlignmentSource(stored_rows_of(sample_set), samples, sample_set.path, compared)
    else:
        site_names = sample_set.names
        source = RandomAccessSource(
            samples,
            sample_set.kind,
            sample_set.site_count,
            [_call_reader(sample_set)],
            call_bytes=2 * ALLELE_NUMBER_BYTES if sample_set.kind is CallKind.ALLELE else 1,
            make_positions=None if site_names.scheme is SiteScheme.TITLES else lambda: site_names.positions(sample_set.path),
            make_names=lambda: site_names,
            hashes=sample_set.hashes,
            cells=sample_set.cells,
        )
    return source if mask.all() else source.select_samples(mask)


def stored_rows_of(sample_set: SampleSet) -> StoredRows:
    """Return the rows of a set of an alignment, withdrawn ones too."""
    assert sample_set.stored_sites is not None
    assert sample_set.reference is not None
    assert isinstance(sample_set.dictionary, CodeDictionary)
    return StoredRows(sample_set.segments, sample_set.stored_sites, sample_set.first_count, sample_set.reference, sample_set.dictionary)


def _call_reader(sample_set: SampleSet) -> CallReader:
    def read(start: int, stop: int, workers: ThreadPool) -> Calls:
        first = start // WORD_BITS * WORD_BITS
        try:
            parts = [sample_set.dictionary.unpack(one.planes, first, stop - first, workers.threads) for one in sample_set.segments]
        except DamagedFile as error:
            raise damaged(sample_set.path, error) from None
        calls = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return np.ascontiguousarray(calls[:, start - first :])

    return read


def check_calls_alike(first: Source, second: Source, first_name: str, second_name: str) -> None:
    """Raise `InputError` if the calls of two sources have different kinds, or are of alignments in which different letters are calls.

    first_name, second_name: names of the inputs, for messages
    """
    first_cells, second_cells = (one.cells if isinstance(one, RandomAccessSource) else None for one in (first, second))
    if type(first) is not type(second) or first.kind is not second.kind:
        known = first_cells if first_cells is not None else second_cells
        # Of alleles, the first batch may have only those numbered 1 and 2.
        are_numbers = {first.kind, second.kind} == {CallKind.ALLELE, CallKind.GENOTYPE} and known is not None and not known.are_letters
        advice = f"; {parameter('type', TableType.ALLELES.value)} makes a set of alleles" if are_numbers else ""
        raise InputError(
            f"{second_name} holds {_describe(second)}, {first_name} {_describe(first)}; samples of a set are of one kind{advice}"
        )
    if first_cells is not None and second_cells is not None and first_cells.contradicts(second_cells):
        raise InputError(
            f"{second_name}: its cells do not mean the same as in {first_name}, as if genotypes were -1, 0, 1 in one of them and 0, 1, 2 in"
            f" the other; make the set from all tables, with {parameter('type')} where that is not clear"
        )
    if isinstance(first, AlignmentSource) and isinstance(second, AlignmentSource) and first.compared is not second.compared:
        raise InputError(
            f"{second_name}: other letters are calls than in {first_name}; make both sets with {parameter('all_letters')}, or neither"
        )


def join_sources(first: Source, second: Source, first_name: str, second_name: str) -> Source:
    """Return the samples of two sources as queries and targets. Raises `InputError` if their sites or calls differ.

    first_name, second_name: names of the inputs, for messages
    """
    check_calls_alike(first, second, first_name, second_name)
    founders = _joined_mask([(one.samples.founders, one.samples.row_count) for one in (first, second)])
    samples = Samples(first.samples.queries, second.samples.queries, founders=founders)
    if isinstance(first, AlignmentSource) and isinstance(second, AlignmentSource):
        if first.rows.length != second.rows.length:
            raise InputError(
                f"{second_name}: rows of {second.rows.length:,} columns, {first_name} has {first.rows.length:,}; sites must be the same"
            )
        mask = _joined_mask([(one.row_mask, one.rows.row_count) for one in (first, second)])
        return AlignmentSource(JoinedRows(first.rows, second.rows), samples, first.source, first.compared, row_mask=mask)
    assert isinstance(first, RandomAccessSource)
    assert isinstance(second, RandomAccessSource)
    assert first.make_names is not None
    second, _ = match_codes(second, first.make_names(), first.hashes, first_name, second_name)
    return replace(
        first,
        samples=samples,
        call_readers=[*first.call_readers, *second.call_readers],
        nbytes=first.nbytes + second.nbytes,
        row_mask=_joined_mask([(one.row_mask, _row_count(one)) for one in (first, second)]),
        hashes=second.hashes,
        cells=None,
    )


def match_codes(
    source: RandomAccessSource, names: SiteNames, hashes: Sequence[str], known_name: str, name: str
) -> tuple[RandomAccessSource, SiteNames]:
    """Return (the source, recoded so that codes mean the same as in known samples; names of the sites, with alleles that only one of the
    two inputs names). The hashes of the returned source begin with the known ones.

    names: names of the sites of the known samples
    hashes: hashes of alleles of the known samples
    known_name, name: names of the inputs, for messages

    Raises `InputError` if the sites differ.
    """
    assert source.make_names is not None
    merged, swapped = match_sites(names, source.make_names(), known_name, name)
    readers = list(source.call_readers)
    if swapped is not None:
        readers = [_swap_alleles(reader, swapped) for reader in readers]
    known = list(hashes)
    if list(source.hashes[: len(known)]) == known:
        return replace(source, call_readers=readers), merged
    joined = list(dict.fromkeys([*known, *source.hashes]))
    numbers = {allele: FIRST_HASH_NUMBER + number for number, allele in enumerate(joined)}
    renumbered = np.array([numbers[allele] for allele in source.hashes], dtype=np.uint32)
    return replace(source, call_readers=[_renumber_hashes(reader, renumbered) for reader in readers], hashes=joined), merged


def _describe(source: Source) -> str:
    return f"{source.kind.value} of an alignment" if isinstance(source, AlignmentSource) else source.kind.value


def _row_count(source: RandomAccessSource) -> int:
    return source.samples.row_count if source.row_mask is None else len(source.row_mask)


def _joined_mask(parts: Sequence[tuple[npt.NDArray[np.bool_] | None, int]]) -> npt.NDArray[np.bool_] | None:
    """Return the mask of the rows of all parts, one after the other; None if no part has a mask, so that all rows are selected.

    parts: (mask of the rows, None for all of them; number of rows)
    """
    if all(mask is None for mask, _ in parts):
        return None
    return np.concatenate([np.ones(rows, np.bool_) if mask is None else mask for mask, rows in parts])


def _swap_alleles(reader: CallReader, swapped: npt.NDArray[np.bool_]) -> CallReader:
    def read(start: int, stop: int, workers: ThreadPool) -> Calls:
        codes = reader(start, stop, workers)
        swap_alleles_back(codes.view(np.uint8), swapped[start:stop])
        return codes

    return read


def _renumber_hashes(reader: CallReader, numbers: npt.NDArray[np.uint32]) -> CallReader:
    """Return a reader that gives hashes the allele numbers `numbers`, uint32[hashes]."""

    def read(start: int, stop: int, workers: ThreadPool) -> Calls:
        calls = reader(start, stop, workers).view(np.uint32)
        hashed = (calls >= FIRST_HASH_NUMBER) & (calls != _sites.NO_ALLELE)
        calls[hashed] = numbers[calls[hashed] - FIRST_HASH_NUMBER]
        return calls

    return read
