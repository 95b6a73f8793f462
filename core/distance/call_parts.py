"""Calls of a panel in parts: of some samples as codes, of others as the planes that a file holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import PlaneCodes
from gpualign.core.distance.engine import BitPlanes

PLANES_PER_PACK = 8
"""Number of planes that `_sites.pack` fills at once, one for each bit of a table entry."""


@dataclass(frozen=True)
class StoredPlanes:
    """Calls of some samples at some sites, as planes of numbered calls.

    planes: the first plane marks the calls that are present, the others hold the bits of their numbers, uint64[all rows][1 + bits][words]
    codes: code of each number
    rows: rows of the samples, int64[samples]
    first_word: word that holds the first site
    """

    planes: BitPlanes = field(repr=False)
    codes: tuple[int, ...]
    rows: npt.NDArray[np.int64] = field(repr=False)
    first_word: int

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, wanted: Sequence[PlaneCodes], words: int, out: BitPlanes, first_row: int, threads: int) -> None:
        """Write planes that mark calls with the codes in each of `wanted` to out[wanted][samples][words], from row `first_row` on.

        words: number of words that hold the sites
        """
        numbers = [[number for number, code in enumerate(self.codes) if code in codes] for codes in wanted]
        _sites.select_planes(
            self.planes, self.first_word, words, [self._source(some) for some in numbers], numbers, self.rows, out, first_row, threads
        )

    @property
    def plane_codes(self) -> tuple[PlaneCodes, ...]:
        """Codes that each plane marks."""
        bits = range(self.planes.shape[1] - 1)
        of_bits = (frozenset(code for number, code in enumerate(self.codes) if number >> bit & 1) for bit in bits)
        return (frozenset(self.codes), *of_bits)

    def plane_of(self, wanted: PlaneCodes) -> int:
        """Return the index of the stored plane that marks the calls with these codes, -1 if there is none."""
        return self._source([number for number, code in enumerate(self.codes) if code in wanted])

    def _source(self, numbers: list[int]) -> int:
        """Return the index of the stored plane that marks the calls with these numbers, -1 if there is none."""
        known = range(len(self.codes))
        if len(numbers) == len(known):
            return 0
        bits = range(max(0, len(known) - 1).bit_length())
        return next((1 + bit for bit in bits if numbers == [number for number in known if number >> bit & 1]), -1)


def pack_numbered(codes: Codes, known: tuple[int, ...], planes: BitPlanes, threads: int) -> None:
    """Write codes, uint8[samples][sites], as planes of numbered calls, uint64[1 + bits][samples][words].

    known: code of each number
    """
    runs = np.array([[0, codes.shape[1]]], dtype=np.int64)
    for first in range(0, len(planes), PLANES_PER_PACK):
        table = np.zeros(256, dtype=np.uint8)
        for number, code in enumerate(known):
            table[code] = (2 * number + 1) >> first & 255
        _sites.pack(codes, runs, None, table, planes[first : first + PLANES_PER_PACK], threads)


@dataclass(frozen=True)
class CallParts:
    """Calls of all samples at the same sites, in parts of consecutive samples.

    parts: codes, uint8[samples][sites], or planes
    site_count: number of sites
    may_lack_calls: whether calls may be missing
    """

    parts: Sequence[Codes | StoredPlanes] = field(repr=False)
    site_count: int
    may_lack_calls: bool

    @property
    def used_codes(self) -> frozenset[int]:
        """Codes that may occur."""
        codes = {MISSING} if self.may_lack_calls else set[int]()
        for part in self.parts:
            codes.update(part.codes if isinstance(part, StoredPlanes) else np.flatnonzero(_sites.seen_codes(part)).tolist())
        return frozenset(codes)
