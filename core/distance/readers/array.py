"""Reads call arrays that a caller holds in memory: genotypes as numbers, or letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, CallKind, make_samples
from gpualign.core.distance.readers.base import CallReader, RandomAccessSource
from gpualign.core.distance.tables.codings import letter_coding, number_coding, raw_letter_codes, raw_number_codes
from gpualign.core.distance.tables.matrices import EXAMINED_ROWS, MatrixEvidence, matrix_evidence
from gpualign.core.distance.tables.options import CallOptions, TableType
from gpualign.core.distance.tables.titles import is_metadata_title, serial_stems, title_stem
from gpualign.core.sequences.ids import id_text, unique_ids

WarnFunction = Callable[[str], None]

_CALL_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-.*?~"
_MISSING_NUMBERS = (-1, -9)
_NUMBER_PATTERN = re.compile("-?[0-9]{1,18}")
_CALLS_PER_STEP = 1 << 20
"""Number of cells whose codes are examined in one step."""
_EXPECTED_CELLS = {
    "numbers": f"0, 1, 2, or for a missing call -1 or -9 (255 in unsigned bytes, nan in floats) or what {parameter('missing_code')} names",
    "digits": "0, 1, 2, or for a missing call empty, ., -, ? or N",
    "letters": "letters, or for a missing call empty, ., -, ? or N",
}


@dataclass(frozen=True)
class CallArray:
    """An array of calls, of one of three types. Masked elements are missing calls.

    Numbers (integers, floats, bool) are genotypes, that is, 0, 1 or 2 copies of an allele; -1, -9, nan and, in unsigned bytes, 255 are
    missing calls. One-character text (S1, U1) holds 0, 1, 2 or letters, as in a table. Unsigned bytes are ASCII letters if the first
    element is a letter.

    calls: [samples][sites]
    ids: sample ids; None: samples are numbered from 1
    source: name for messages
    titles: site titles; None: the sites have none
    """

    calls: npt.NDArray[Any] = field(repr=False)
    ids: Sequence[str] | None = None
    source: str = "array"
    titles: Sequence[str] | None = None


@dataclass(frozen=True)
class _ArrayDecoder:
    """Converts the cells of an array to codes of one kind.

    call_kind: kind of calls
    cell_type_name: type of cells, for messages
    decode: returns the codes for a block of cells; BAD for cells that are not calls
    """

    call_kind: CallKind
    cell_type_name: str
    decode: Callable[[npt.NDArray[Any]], Codes]


def read_arrays(inputs: Sequence[CallArray], options: CallOptions, warn: WarnFunction) -> RandomAccessSource:
    """Read one array, or two with the same sites.

    Arrays are not copied, and do not count towards a memory budget, because the caller holds them. Raises `InputError` for options that
    describe the layout of tables, and for numbers that can be read in two ways. Cells that are not calls raise `InputError`, naming the
    array, sample and site, when panels are built.

    warn: receives notes on assumptions made
    """
    _check_options(options)
    for array in inputs:
        _check_shape(array)
        _check_titles(array, inputs[0])
    decoders = [_choose_decoder(array, options, _decide_number_coding(inputs, options), warn) for array in inputs]
    first, sites, kind = inputs[0], inputs[0].calls.shape[1], decoders[0].call_kind
    for array, decoder in zip(inputs[1:], decoders[1:], strict=True):
        if decoder.call_kind is not kind:
            raise InputError(f"{array.source} holds {decoder.call_kind.value}, {first.source} {kind.value}")
        if array.calls.shape[1] != sites:
            raise InputError(f"{array.source}: {array.calls.shape[1]:,} sites, {first.source} has {sites:,}; sites must be the same")
    ids = [unique_ids(_sample_ids(array), array.source, options.allow_duplicates) for array in inputs]
    call_readers = [_make_call_reader(array, decoder, names) for array, decoder, names in zip(inputs, decoders, ids, strict=True)]
    return RandomAccessSource(make_samples(*ids), kind, sites, call_readers)


def _check_shape(array: CallArray) -> None:
    """Raise `InputError` for an array that does not have two dimensions, [samples][sites], or is empty."""
    if array.calls.ndim != 2:
        raise InputError(f"{array.source}: an array of shape {array.calls.shape}; calls have two dimensions, [samples][sites]")
    for count, what in zip(array.calls.shape, ("samples", "sites"), strict=True):
        if not count:
            raise InputError(f"{array.source}: no {what}")


def _sample_ids(array: CallArray) -> list[str]:
    """Return the ids of the samples. Raises `InputError` if an id is missing, or if there are more or fewer ids than samples."""
    count = len(array.calls)
    if array.ids is None:
        return [str(number) for number in range(1, count + 1)]
    if len(array.ids) != count:
        raise InputError(f"{array.source}: {len(array.ids):,} ids for {count:,} samples")
    for number, name in enumerate(array.ids, 1):
        if name is None or name != name:
            raise InputError(f"{array.source}: sample {number} has no id; found {name!r}")
    return list(map(id_text, array.ids))


def _check_titles(array: CallArray, first: CallArray) -> None:
    """Raise `InputError` if the titles of an array do not belong to sites, if they differ from the titles of the first array, or if the
    array is a distance matrix."""
    titles = array.titles
    if titles is None:
        return
    others = [title for title in titles if is_metadata_title(title)]
    serial = serial_stems(others, titles)
    if others := [title for title in others if title_stem(title) not in serial]:
        raise InputError(f"{array.source}: column {others[0]!r} is metadata, by its title; drop it, or give frame.to_numpy() to count it")
    if first.titles is not None and list(titles) != list(first.titles):
        place = next((k for k, (one, other) in enumerate(zip(titles, first.titles, strict=False)) if one != other), None)
        names = "other sites" if place is None else f"site {place + 1} is {titles[place]!r}, in samples it is {first.titles[place]!r}"
        raise InputError(f"others: {names}; sites must be the same, in the same order")
    count = min(*array.calls.shape, EXAMINED_ROWS)
    if array.ids is not None and array.calls.shape[0] == array.calls.shape[1] and array.calls.dtype.kind in "iuf":
        numbers = np.nan_to_num(array.calls[:count, :count]).astype(np.int64)
        if matrix_evidence(numbers, list(map(str, array.ids)), titles) is MatrixEvidence.BY_IDS:
            raise InputError(f"{array.source}: this is a matrix (its rows and columns have the same ids); expected calls [samples][sites]")


def _check_options(options: CallOptions) -> None:
    """Raise `InputError` for options that apply only to files, or that contradict each other."""
    if options.transpose:
        raise InputError("transpose is for tables; give array.T")
    of_files = {"no_header": options.no_header, "columns": options.columns is not None, "ignore_columns": options.ignore_columns}
    for name, is_set in of_files.items():
        if is_set:
            raise InputError(_files_only_message(name))
    if options.nonfounders:
        raise InputError("nonfounders is for PLINK filesets, which name parents; an array names none")
    if options.type is TableType.ALLELES:
        raise InputError(_files_only_message("type", options.type.value))
    options.check()


def _files_only_message(name: str, value: str | None = None) -> str:
    """Return the error message for an option that applies only to files."""
    return f"{parameter(name, value)} is for tables in files; arrays hold genotypes or letters"


@dataclass(frozen=True)
class _NumberCoding:
    """Meaning of numbers.

    codes: code for each number that is a call
    missing: numbers that denote missing calls
    kind: kind of calls
    """

    codes: dict[int, int]
    missing: tuple[int, ...]
    kind: CallKind


def _decide_number_coding(inputs: Sequence[CallArray], options: CallOptions) -> _NumberCoding:
    """Decide what the numbers in the arrays mean. Raises `InputError` if -1 could be either a genotype or a missing call."""
    missing = tuple(int(code) for code in options.missing_codes if _NUMBER_PATTERN.fullmatch(code))
    if options.type is TableType.CENTRED:
        return _NumberCoding({-1: 0, 0: 1, 1: 2}, (-9, *missing), CallKind.GENOTYPE)
    codes = {0: 0, 1: 1, 2: 2}
    if options.ploidy is not None:
        codes = {0: 0, 1: 2} if options.ploidy == 1 else {dosage: dosage for dosage in range(options.ploidy + 1)}
    kind = CallKind.DOSAGE if (options.ploidy or 2) > 2 else CallKind.GENOTYPE
    if options.ploidy is None and options.type is TableType.AUTO and -1 not in missing:
        numbers = [array for array in inputs if array.calls.dtype.kind in "if"]
        negative = [array for array in numbers if np.any(array.calls == -1)]
        if negative and not any(np.any(array.calls == 2) for array in negative):
            centred, code = parameter("type", TableType.CENTRED.value), parameter("missing_code", "-1")
            raise InputError(f"{negative[0].source}: -1 without a 2 may be a genotype ({centred}) or a missing call ({code}); say which")
    return _NumberCoding(codes, (*_MISSING_NUMBERS, *missing), kind)


def _choose_decoder(array: CallArray, options: CallOptions, numbers: _NumberCoding, warn: WarnFunction) -> _ArrayDecoder:
    """Decide how to read an array. Raises `InputError` if its type cannot hold calls, or if its letters are not calls or are ambiguous."""
    calls = np.ma.getdata(array.calls)
    text = calls.dtype.kind in "SU" and calls.dtype.itemsize == np.dtype(f"{calls.dtype.kind}1").itemsize
    letters = calls.dtype == np.uint8 and int(calls[0, 0]) in _CALL_LETTERS and int(calls[0, 0]) not in numbers.missing
    if not text and calls.dtype.kind not in "iufb":
        raise InputError(
            f"{array.source}: an array of type {calls.dtype}; expected numbers (0, 1, 2), or letters of type S1, U1 or unsigned bytes"
        )
    if not text and not letters:
        _check_number_options(array, options)
        return _ArrayDecoder(numbers.kind, "numbers", lambda block: _decode_numbers(block, numbers))
    digits = text and not _has_letters(calls)
    raw = raw_number_codes(options.missing_codes) if digits else raw_letter_codes(options.all_letters, options.missing_codes)
    if text:
        raw[0] = MISSING  # an empty cell
    if options.all_letters and not digits:
        return _ArrayDecoder(CallKind.LETTER, "letters", lambda block: raw[_character_bytes(block)])
    seen = _used_code_flags(calls, raw)
    coding = number_coding(seen, options, reads_alleles=False) if digits else letter_coding(seen, options)
    if coding.ambiguity_reason is not None:
        raise InputError(f"{array.source}: {coding.ambiguity_reason}")
    if coding.kind is CallKind.ALLELE:
        raise InputError(f"{array.source}: numbers from 1 to 9 are not genotypes; expected 0, 1, 2")
    if coding.assumption_note is not None:
        warn(f"{array.source}: {coding.assumption_note}")
    table = coding.codes[raw]
    return _ArrayDecoder(coding.kind, "digits" if digits else "letters", lambda block: table[_character_bytes(block)])


def _check_number_options(array: CallArray, options: CallOptions) -> None:
    """Raise `InputError` for options that apply only to letters, including missing codes that are not numbers."""
    for name, is_set in (
        (parameter("all_letters"), options.all_letters),
        (parameter("type", options.type.value), options.type is TableType.ABH),
    ):
        if is_set:
            raise InputError(f"{array.source}: {name} is for letters, but the calls are numbers")
    for code in options.missing_codes:
        if not _NUMBER_PATTERN.fullmatch(code):
            raise InputError(f"{array.source}: {parameter('missing_code')} {code!r} is not a number, but the calls are numbers")


def _used_code_flags(calls: npt.NDArray[Any], raw_codes: Codes) -> npt.NDArray[np.int64]:
    """Return a flag for each raw code, 1 if it occurs, else 0: int64[256]."""
    seen = np.zeros(256, dtype=bool)
    rows = max(1, _CALLS_PER_STEP // calls.shape[1])
    for start in range(0, len(calls), rows):
        seen |= _sites.seen_codes(raw_codes[_character_bytes(calls[start : start + rows])])
    return seen.astype(np.int64)


def _has_letters(calls: npt.NDArray[Any]) -> bool:
    """Return whether the first call in an array of characters is a letter. N does not count as a call."""
    telling = np.zeros(256, dtype=np.uint8)
    telling[list(b"012")] = 1
    telling[[byte for byte in _CALL_LETTERS if chr(byte).isalpha() and byte not in b"Nn"]] = 2
    for row in calls:
        classes = telling[_character_bytes(row)]
        if classes.any():
            return bool(classes[np.flatnonzero(classes)[0]] == 2)
    return False


def _character_bytes(text: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return characters as bytes; characters that do not fit in a byte become 255, which is not a letter."""
    if text.dtype.kind == "U":
        native = text.astype(text.dtype.newbyteorder("="), copy=False)
        return np.minimum(native.view(np.uint32), 255).astype(np.uint8)
    return text.view(np.uint8)


def _decode_numbers(block: npt.NDArray[Any], numbers: _NumberCoding) -> Codes:
    """Return the codes for numbers, BAD for numbers that are not calls."""
    codes: Codes = np.full(block.shape, _sites.BAD, dtype=np.uint8)
    for value, code in numbers.codes.items():
        codes[block == value] = code
    for mark in (*numbers.missing, *([255] if block.dtype == np.uint8 else [])):
        codes[block == mark] = MISSING
    if block.dtype.kind == "f":
        codes[np.isnan(block)] = MISSING
    return codes


def _make_call_reader(array: CallArray, decoder: _ArrayDecoder, ids: list[str]) -> CallReader:
    """Return a function that decodes the calls at some sites. The function raises `InputError` for cells that are not calls."""
    calls = np.ma.getdata(array.calls)
    masked = np.ma.getmaskarray(array.calls) if isinstance(array.calls, np.ma.MaskedArray) else None

    def read(start: int, stop: int, _: object) -> Codes:
        codes = decoder.decode(calls[:, start:stop])
        if masked is not None:
            codes[masked[:, start:stop]] = MISSING
        if len(bad := np.argwhere(codes == _sites.BAD)):
            sample, site = (int(place) for place in bad[0])
            cell = calls[sample, start + site]
            raise InputError(
                f"{array.source}: sample {sample + 1} ({ids[sample]!r}), site {start + site + 1}: {cell.item()!r} in an array of "
                f"{decoder.call_kind.value}; expected {_EXPECTED_CELLS[decoder.cell_type_name]}"
            )
        return np.ascontiguousarray(codes)

    return read
