"""Column of short strings, stored as two arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import overload

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences._records import gather, repeated

_MAX_ASCII = 0x7F
_QUOTE_TRIGGERS = np.frombuffer(b',"', dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class StringColumn(Sequence[str]):
    """Strings stored as one array of bytes in UTF-8, uint8[bytes]. String i is text[offsets[i]:offsets[i+1]].

    offsets: int64[count + 1]

    Strings are decoded on access. Bytes that are not UTF-8 become surrogates, as in Python's file names.
    """

    text: npt.NDArray[np.uint8]
    offsets: Integers

    @classmethod
    def from_strings(cls, strings: Sequence[str]) -> StringColumn:
        if isinstance(strings, StringColumn):
            return strings
        return cls.from_bytes([s.encode("utf-8", "surrogateescape") for s in strings])

    @classmethod
    def from_bytes(cls, strings: Sequence[bytes]) -> StringColumn:
        """Return a column of strings that are already encoded in UTF-8."""
        offsets = np.fromiter(accumulate(map(len, strings), initial=0), dtype=np.int64, count=len(strings) + 1)
        return cls(np.frombuffer(b"".join(strings), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice) -> StringColumn: ...

    def __getitem__(self, item: int | slice) -> str | StringColumn:
        if isinstance(item, slice):
            start, stop, step = item.indices(len(self))
            if step == 1:
                return StringColumn(self.text, self.offsets[start : max(start, stop) + 1])
            return self.select(np.arange(start, stop, step, dtype=np.int64))
        number = range(len(self))[item]
        return self.text[self.offsets[number] : self.offsets[number + 1]].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        first = int(self.offsets[0])
        raw = self.text[first : self.offsets[-1]].tobytes()
        ends = (self.offsets - first).tolist()
        pieces = pairwise(ends)
        if raw.isascii():
            text = raw.decode("ascii")
            return (text[a:b] for a, b in pieces)
        return (raw[a:b].decode("utf-8", "surrogateescape") for a, b in pieces)

    def without_margins(self) -> StringColumn:
        """Return the column without any bytes before the first string and after the last string."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        return self if first == 0 and last == len(self.text) else StringColumn(self.text[first:last].copy(), self.offsets - first)

    @cached_property
    def lengths(self) -> Integers:
        """Length of each string in bytes: int64[count]."""
        return np.diff(self.offsets)

    @property
    def lines(self) -> npt.NDArray[np.uint8]:
        """The bytes of all strings, each followed by a newline."""
        column = self.without_margins()
        return np.insert(column.text, column.offsets[1:], ord("\n"))

    def to_array(self) -> npt.NDArray[np.str_]:
        """Return the strings as a NumPy array."""
        column = self.without_margins()
        if not len(self) or (column.text > _MAX_ASCII).any():
            return np.array(list(self), dtype=np.str_)
        letters = np.zeros((len(self), max(1, int(self.lengths.max()))), dtype=np.uint32)
        letters[np.arange(letters.shape[1]) < self.lengths[:, None]] = column.text
        return letters.view(f"U{letters.shape[1]}").reshape(-1)

    @cached_property
    def csv_quoted(self) -> StringColumn:
        """The column quoted for CSV. Strings with a comma or quotes are enclosed in quotes, and quotes within them are doubled (RFC
        4180)."""
        if not np.isin(self.text[self.offsets[0] : self.offsets[-1]], _QUOTE_TRIGGERS).any():
            return self
        return StringColumn.from_strings([_quote(one) for one in self])

    def distinct(self, threads: int = 1) -> tuple[Integers, Integers]:
        """Return (number of each string among the distinct ones, index of the first copy of each distinct string), int64 each. Distinct
        strings are numbered in the order of their first copies. threads: maximum number of threads"""
        again = repeated(self.text, self.offsets, threads)
        is_first = np.ones(len(self), dtype=np.bool_)
        is_first[again[:, 0]] = False
        numbers = np.cumsum(is_first) - 1
        numbers[again[:, 0]] = numbers[again[:, 1]]
        return numbers, np.flatnonzero(is_first)

    def select(self, records: Integers, threads: int = 1) -> StringColumn:
        """Return the selected strings, in the order of `records`, which may contain duplicates. threads: maximum number of threads.

        Raises `IndexError` for a number out of range.
        """
        return StringColumn(*gather(self.text, self.offsets, records, threads))


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def join_columns(columns: Iterable[StringColumn]) -> StringColumn:
    """Concatenate columns into one column."""
    all_columns = list(columns)
    if len(all_columns) == 1:
        return all_columns[0]
    pieces, offsets, held = [np.empty(0, np.uint8)], [np.zeros(1, np.int64)], 0
    for one in all_columns:
        pieces.append(one.text[one.offsets[0] : one.offsets[-1]])
        offsets.append(one.offsets[1:] - one.offsets[0] + held)
        held += len(pieces[-1])
    return StringColumn(np.concatenate(pieces), np.concatenate(offsets))
