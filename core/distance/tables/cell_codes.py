"""The cells that tables have, and what they mean, so that tables read later get the same meaning."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING


@dataclass(frozen=True)
class CellCodes:
    """Cells of tables, as the raw codes of `codings`, and their meaning.

    are_letters: whether the cells are letters; otherwise they are numbers
    counts: number of occurrences of each raw code, int64[256]
    codes: code of each raw code, whether it occurs or not; BAD for those that are not calls: uint8[256]
    source: name of the set that has the cells, for messages
    """

    are_letters: bool
    counts: npt.NDArray[np.int64] = field(repr=False)
    codes: Codes = field(repr=False)
    source: str = ""

    @property
    def has_calls(self) -> bool:
        """True if any cell is not a missing call."""
        return bool(np.delete(self.counts, MISSING).any())

    def __add__(self, other: CellCodes) -> CellCodes:
        """Return the cells of both. Neither may `contradict` the other."""
        decided = other if other.has_calls else self
        codes = np.select([self.counts > 0, other.counts > 0], [self.codes, other.codes], decided.codes)
        return CellCodes(self.are_letters, self.counts + other.counts, codes)

    def contradicts(self, other: CellCodes) -> bool:
        """Return whether a cell that occurs in either has another meaning in the other, even if it does not occur there."""
        if not (self.has_calls and other.has_calls):
            return False
        if self.are_letters is not other.are_letters:
            return True
        shared = ((self.counts > 0) | (other.counts > 0)) & (self.codes != _sites.BAD) & (other.codes != _sites.BAD)
        return not np.array_equal(self.codes[shared], other.codes[shared])

    def to_json(self) -> dict[str, object]:
        """Return the cells as a JSON value, which `from_json` reads."""
        known = np.flatnonzero((self.counts > 0) | (self.codes != _sites.BAD)).tolist()
        return {"letters": self.are_letters, "cells": [[raw, int(self.counts[raw]), int(self.codes[raw])] for raw in known]}

    @classmethod
    def from_json(cls, value: object) -> CellCodes:
        """Return the cells that `to_json` described. Raises `ValueError` for any other value."""
        entries = value if isinstance(value, dict) else {}
        letters, cells = entries.get("letters"), entries.get("cells")
        if not isinstance(letters, bool) or not isinstance(cells, list):
            raise ValueError("it has no type of cells, or no list of them")
        counts, codes = np.zeros(256, dtype=np.int64), np.full(256, _sites.BAD, dtype=np.uint8)
        for cell in cells:
            if not isinstance(cell, list) or len(cell) != 3 or any(type(number) is not int for number in cell):
                raise ValueError("a cell is not described by three whole numbers")
            raw, count, code = cell
            if not (0 <= raw < 256 and 0 <= count < 1 << 62 and 0 <= code < 256):
                raise ValueError("a cell is out of range")
            counts[raw], codes[raw] = count, code
        return cls(letters, counts, codes)
