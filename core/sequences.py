"""Encoded sequences as every engine takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import INVALID, Alphabet
from gpualign.core.errors import InputError


@dataclass(frozen=True)
class TextColumn:
    """Strings back to back: string i is text[offsets[i]:offsets[i+1]] (uint8[total], int64[count + 1])."""

    text: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, strings: Sequence[str]) -> TextColumn:
        encoded = [s.encode("utf-8", "surrogateescape") for s in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(e) for e in encoded], out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)


@dataclass(frozen=True)
class SequenceSet:
    """Records of one input, in its order.

    codes: uint8[total letters], record i is codes[offsets[i]:offsets[i+1]]; offsets: int64[count + 1]. No record is empty.
    """

    source: str
    ids: list[str]
    codes: npt.NDArray[np.uint8] = field(repr=False)
    offsets: npt.NDArray[np.int64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Letters of each record: int64[count]."""
        return np.diff(self.offsets)

    @cached_property
    def id_column(self) -> TextColumn:
        return TextColumn.of(self.ids)

    @cached_property
    def used_codes(self) -> npt.NDArray[np.uint8]:
        """The codes that occur, ascending."""
        return np.flatnonzero(np.bincount(self.codes, minlength=1)).astype(np.uint8)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + self.offsets.nbytes

    def first_with(self, code: int) -> int:
        """The first record that holds this code."""
        position = int(np.argmax(self.codes == code))
        return int(np.searchsorted(self.offsets, position, side="right")) - 1


def encode(source: str, ids: list[str], letters: list[bytes], alphabet: Alphabet) -> SequenceSet:
    """Encode records; raises `InputError` naming the record, position and letter that is not of the alphabet."""
    offsets = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum([len(s) for s in letters], out=offsets[1:])
    raw = np.frombuffer(b"".join(letters), dtype=np.uint8)
    codes = alphabet.encoding[raw]
    bad = np.flatnonzero(codes == INVALID)
    if bad.size:
        at = int(bad[0])
        record = int(np.searchsorted(offsets, at, side="right")) - 1
        letter = chr(int(raw[at]))
        if letter in "-.":
            hint = "a gap; nw takes unaligned sequences, so remove the gaps"
        elif alphabet.name == "dna" and letter.isascii() and letter.isalpha():
            hint = "not an IUPAC nucleotide letter (if these are proteins: --alphabet protein)"
        else:
            hint = f"not a {alphabet.name} letter"
        raise InputError(f"{source}: record {ids[record]!r}: {letter!r} at position {at - int(offsets[record]) + 1} is {hint}")
    return SequenceSet(source, ids, codes, offsets)
