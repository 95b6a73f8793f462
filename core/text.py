"""Many short strings as two arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_LONG = 64
"""Bytes of a string that is copied in one piece."""


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

    def select(self, records: npt.NDArray[np.int64]) -> TextColumn:
        """Some of the strings, in this order; one may occur several times."""
        lengths = self.offsets[records + 1] - self.offsets[records]
        starts = np.zeros(len(records) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        if starts[-1] > _LONG * len(records):  # places of all letters would take 16 times the memory of the letters
            ends = zip(self.offsets[records].tolist(), self.offsets[records + 1].tolist(), strict=True)
            return TextColumn(np.concatenate([self.text[a:b] for a, b in ends]), starts)
        places = np.arange(starts[-1]) + np.repeat(self.offsets[records] - starts[:-1], lengths)
        return TextColumn(self.text[places], starts)
