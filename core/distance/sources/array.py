"""Arrays of calls that a caller has in memory: genotypes as numbers, or letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core import _sites
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.calls import MISSING, Codes, Kind, cell_table, make_samples, number_table
from gpualign.core.distance.sources.base import Block, DenseSource
from gpualign.core.errors import InputError
from gpualign.core.ids import unique_ids

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-.*?~"
_NO_CALL = (-1, -9)
_WORDS = {
    "numbers": "0, 1, 2, or for a missing call -1 or -9 (255 in unsigned bytes, nan in floats) or what `missing` names",
    "digits": "0, 1, 2, or for a missing call empty, ., -, ? or N",
    "letters": "letters, or for a missing call empty, ., -, ? or N",
}


@dataclass(frozen=True)
class CallArray:
    """calls: [samples][sites], of one of these types; masked ones have no calls where they are masked.

    Numbers (integers, floats, bool): genotypes, 0, 1 or 2 of an allele; -1, -9, nan and in unsigned bytes 255 are missing calls. Text of
    one character (S1, U1): 0, 1, 2 or letters, as in a table. Unsigned bytes whose first one is a letter's: letters in ASCII.

    ids: of the samples, None: they are numbered from 1. source: its name for messages.
    """

    calls: npt.NDArray[Any] = field(repr=False)
    ids: Sequence[str] | None = None
    source: str = "array"


@dataclass(frozen=True)
class _Reading:
    """How the cells of an array become codes, BAD where they are no calls. cells: what is in it, for messages."""

    kind: Kind
    cells: str
    decode: Callable[[npt.NDArray[Any]], Codes]


def read_arrays(
    inputs: Sequence[CallArray], every_letter: bool = False, missing: int | None = None, allow_duplicates: bool = False
) -> DenseSource:
    """One array, or two with the same sites. every_letter: as for `calls.letter_table`; missing: a further number of a missing call.

    Nothing is copied, and the arrays are no part of a budget: whoever made them holds them. Raises `InputError` naming array, sample and
    site; for cells that are no calls when panels are made.
    """
    for array in inputs:
        _check_shape(array)
    readings = [_reading(array, every_letter, missing) for array in inputs]
    first, sites = inputs[0], inputs[0].calls.shape[1]
    for array, reading in zip(inputs[1:], readings[1:], strict=True):
        if reading.kind is not readings[0].kind:
            raise InputError(f"{array.source} holds {reading.kind.value}, {first.source} {readings[0].kind.value}")
        if array.calls.shape[1] != sites:
            raise InputError(f"{array.source}: {array.calls.shape[1]:,} sites, {first.source} has {sites:,}; sites must be the same")
    ids = [unique_ids(_ids(array), array.source, allow_duplicates) for array in inputs]
    blocks = [_block(array, reading, names) for array, reading, names in zip(inputs, readings, ids, strict=True)]
    return DenseSource(make_samples(*ids), readings[0].kind, sites, blocks)


def _check_shape(array: CallArray) -> None:
    if array.calls.ndim != 2:
        raise InputError(f"{array.source}: an array of shape {array.calls.shape}; calls have two dimensions, [samples][sites]")
    for count, what in zip(array.calls.shape, ("samples", "sites"), strict=True):
        if not count:
            raise InputError(f"{array.source}: no {what}")


def _ids(array: CallArray) -> list[str]:
    count = len(array.calls)
    if array.ids is None:
        return [str(number) for number in range(1, count + 1)]
    if len(array.ids) != count:
        raise InputError(f"{array.source}: {len(array.ids):,} ids for {count:,} samples")
    return [str(name) for name in array.ids]


def _reading(array: CallArray, every_letter: bool, missing: int | None) -> _Reading:
    calls = np.ma.getdata(array.calls)
    text = calls.dtype.kind in "SU" and calls.dtype.itemsize == np.dtype(f"{calls.dtype.kind}1").itemsize
    letters = calls.dtype == np.uint8 and int(calls[0, 0]) in _LETTERS and missing is None
    if not text and calls.dtype.kind not in "iufb":
        raise InputError(
            f"{array.source}: an array of type {calls.dtype}; calls are numbers (0, 1, 2), or letters of type S1, U1 or unsigned bytes"
        )
    if not text and not letters:
        return _Reading(Kind.GENOTYPE, "numbers", lambda block: _of_numbers(block, missing))
    if missing is not None:
        raise InputError(f"{array.source}: `missing` is for arrays of numbers; this is one of text")
    digits = text and not _has_letters(calls)
    table = number_table() if digits else cell_table(every_letter)
    if text:
        table[0] = MISSING  # an empty cell
    if digits:
        return _Reading(Kind.GENOTYPE, "digits", lambda block: table[_bytes(block)])
    return _Reading(Kind.LETTER if every_letter else Kind.NUCLEOTIDE, "letters", lambda block: table[_bytes(block)])


def _has_letters(calls: npt.NDArray[Any]) -> bool:
    """Whether the first call is a letter; N is none."""
    telling = np.zeros(256, dtype=np.uint8)
    telling[list(b"012")] = 1
    telling[[byte for byte in _LETTERS if chr(byte).isalpha() and byte not in b"Nn"]] = 2
    for row in calls:
        found = telling[_bytes(row)]
        if found.any():
            return bool(found[np.flatnonzero(found)[0]] == 2)
    return False


def _bytes(text: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Characters as bytes, 255 for those beyond, which are no letters."""
    if text.dtype.kind == "U":
        native = text.astype(text.dtype.newbyteorder("="), copy=False)
        return np.minimum(native.view(np.uint32), 255).astype(np.uint8)
    return text.view(np.uint8)


def _of_numbers(block: npt.NDArray[Any], missing: int | None) -> Codes:
    codes: Codes = np.full(block.shape, _sites.BAD, dtype=np.uint8)
    for value in (0, 1, 2):
        codes[block == value] = value
    marks = (*_NO_CALL, *([255] if block.dtype == np.uint8 else []), *([] if missing is None else [missing]))
    for mark in marks:
        codes[block == mark] = MISSING
    if block.dtype.kind == "f":
        codes[np.isnan(block)] = MISSING
    return codes


def _block(array: CallArray, reading: _Reading, ids: list[str]) -> Block:
    calls = np.ma.getdata(array.calls)
    masked = np.ma.getmaskarray(array.calls) if isinstance(array.calls, np.ma.MaskedArray) else None

    def read(start: int, stop: int, _: object) -> Codes:
        codes = reading.decode(calls[:, start:stop])
        if masked is not None:
            codes[masked[:, start:stop]] = MISSING
        if len(bad := np.argwhere(codes == _sites.BAD)):
            sample, site = (int(place) for place in bad[0])
            found = calls[sample, start + site]
            raise InputError(
                f"{array.source}: sample {sample + 1} ({ids[sample]!r}), site {start + site + 1}: {found.item()!r} in an array of "
                f"{reading.kind.value}; expected {_WORDS[reading.cells]}"
            )
        return np.ascontiguousarray(codes)

    return read
