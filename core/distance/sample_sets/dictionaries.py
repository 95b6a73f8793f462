"""Dictionaries that number the calls of a set, so that a call is a few bits. Numbers never change; new calls get the next ones."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.allele_planes import number_alleles
from gpualign.core.distance.bit_planes import find_used_codes
from gpualign.core.distance.call_parts import pack_numbered
from gpualign.core.distance.calls import MISSING, Calls
from gpualign.core.distance.engine import BitPlanes
from gpualign.core.files.growing_file import DamagedFile


class CallDictionary(Protocol):
    """Interface of the dictionaries."""

    @property
    def bits(self) -> int:
        """Number of bits of the largest number."""

    def extend(self, calls: Calls, first_site: int, workers: ThreadPool) -> CallDictionary:
        """Return the dictionary with the calls of some more samples, at the sites from `first_site` on."""

    def pack(self, calls: Calls, first_site: int, planes: BitPlanes, workers: ThreadPool) -> None:
        """Write calls, [samples][sites], as planes, uint64[1 + bits][samples][words]: the first one marks the calls that are present, the
        others hold the bits of their numbers."""

    def unpack(self, planes: BitPlanes, first_site: int, site_count: int, threads: int) -> Calls:
        """Return the calls that planes hold, uint64[samples][1 + bits][words], at the sites from `first_site`, a multiple of 64, on.

        Raises `DamagedFile` for a number that no call has.
        """


@dataclass(frozen=True)
class CodeDictionary:
    """Dictionary of codes, the same at all sites. codes: codes in the order of their numbers."""

    codes: tuple[int, ...] = ()

    @property
    def bits(self) -> int:
        return max(0, len(self.codes) - 1).bit_length()

    def extend(self, calls: Calls, first_site: int, workers: ThreadPool) -> CodeDictionary:
        new = find_used_codes(calls.view(np.uint8), workers) - {MISSING, *self.codes}
        return CodeDictionary((*self.codes, *sorted(new)))

    def pack(self, calls: Calls, first_site: int, planes: BitPlanes, workers: ThreadPool) -> None:
        pack_numbered(calls.view(np.uint8), self.codes, planes, workers.threads)

    def unpack(self, planes: BitPlanes, first_site: int, site_count: int, threads: int) -> Codes:
        codes: Codes = np.empty((len(planes), site_count), dtype=np.uint8)
        table = np.arange(256, dtype=np.uint8)  # numbers without a code, which are refused below, have entries too
        table[: len(self.codes)] = self.codes
        if _sites.unpack(planes, first_site, table, codes, threads) >= max(1, len(self.codes)):
            raise DamagedFile("a call has a number that its dictionary lacks")
        return codes


@dataclass(frozen=True)
class AlleleDictionary:
    """Dictionary of alleles, one for each locus.

    offsets: locus k has the alleles numbers[offsets[k]] to numbers[offsets[k + 1] - 1], in the order of their codes, int64[loci + 1]
    numbers: allele numbers, uint32[]
    """

    offsets: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.uint32]

    @property
    def bits(self) -> int:
        return max(0, int(np.diff(self.offsets).max(initial=0)) - 1).bit_length()

    def extend(self, calls: Calls, first_site: int, workers: ThreadPool) -> AlleleDictionary:
        codes, counts, _ = number_alleles(calls.view(np.uint32), workers)
        new = dict[int, npt.NDArray[np.uint32]]()
        for locus, (of_locus, count) in enumerate(zip(codes, counts.tolist(), strict=True)):
            occurring = _numbers_of_codes(of_locus, calls[:, locus], count)
            known = self._of_locus(first_site + locus)
            if len(unknown := occurring[~np.isin(occurring, known)]):
                new[first_site + locus] = unknown
        if not new:
            return self
        lengths = np.diff(self.offsets)
        for locus, unknown in new.items():
            lengths[locus] += len(unknown)
        parts = [part for locus in range(len(lengths)) for part in (self._of_locus(locus), new.get(locus)) if part is not None]
        return AlleleDictionary(np.append(0, np.cumsum(lengths)), np.concatenate(parts))

    def _of_locus(self, locus: int) -> npt.NDArray[np.uint32]:
        return self.numbers[self.offsets[locus] : self.offsets[locus + 1]]

    def pack(self, calls: Calls, first_site: int, planes: BitPlanes, workers: ThreadPool) -> None:
        codes, counts, _ = number_alleles(calls.view(np.uint32), workers)
        for locus, (of_locus, count) in enumerate(zip(codes, counts.tolist(), strict=True)):
            known = self._of_locus(first_site + locus)
            order = np.argsort(known)
            place = order[np.searchsorted(known, _numbers_of_codes(of_locus, calls[:, locus], count), sorter=order)]
            present = of_locus != _sites.NO_ALLELE
            of_locus[present] = place[of_locus[present]]
        loci = np.arange(len(codes), dtype=np.int64)
        packed = np.empty_like(planes)
        _sites.pack_alleles(codes, loci, len(planes) - 1, True, packed, workers.threads)
        planes[0], planes[1:] = packed[-1], packed[:-1]

    def unpack(self, planes: BitPlanes, first_site: int, site_count: int, threads: int) -> npt.NDArray[np.uint32]:
        numbers = np.empty((len(planes), site_count), dtype=np.uint32)
        try:
            _sites.unpack_alleles(planes, first_site, self.offsets, self.numbers, numbers, threads)
        except ValueError as error:
            raise DamagedFile(str(error)) from None
        return numbers


def _numbers_of_codes(codes: npt.NDArray[np.uint32], numbers: npt.NDArray[Any], count: int) -> npt.NDArray[np.uint32]:
    """Return the allele number that each code of a locus stands for: uint32[count].

    codes, numbers: code and allele number of each sample at this locus
    count: number of codes
    """
    present = codes != _sites.NO_ALLELE
    out = np.empty(count, dtype=np.uint32)
    out[codes[present]] = numbers[present]
    return out
