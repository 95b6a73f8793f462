"""Interface of the rows of an alignment, and the rows that a scanner has read."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.call_parts import StoredPlanes
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.readers.missing_runs import MissingRuns

SiteIndices = npt.NDArray[np.uint32]
SiteMask = npt.NDArray[np.bool_]

_VARIES, _HAS_MISSING = 1, 2  # flags of a site (alignment_reader.hpp)


class AlignedRows(Protocol):
    """Interface of the rows of one alignment, or of several with the same sites.

    At a site that `varies` does not mark, all rows that have a call have the same one.
    """

    @property
    def length(self) -> int:
        """Number of sites."""

    @property
    def row_count(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""

    @property
    def called(self) -> CountArray:
        """Number of sites at which each row has a call, int64[rows]."""

    @property
    def varies(self) -> SiteMask:
        """Mask of the sites at which calls may differ, bool[sites]."""

    @property
    def has_missing(self) -> SiteMask:
        """Mask of the sites at which calls may be missing, bool[sites]."""

    @property
    def reference(self) -> Codes:
        """One of the calls at each site, MISSING if there is none, uint8[sites]."""

    def called_at(self, chosen: npt.NDArray[np.uint8]) -> CountArray:
        """Return the number of chosen sites at which each row has a call: int64[rows]. chosen: 1 or 0, uint8[sites]."""

    def count_calls(self) -> npt.NDArray[np.uint32]:
        """Return the number of rows with a call at each site: uint32[sites]."""

    def missing_runs(self) -> MissingRuns:
        """Return the runs of missing calls."""

    @property
    def packed_sites(self) -> SiteIndices:
        """Indices of the sites for which a file holds planes of some of the rows, in the order of these planes, uint32[]."""

    @property
    def mapped_bytes(self) -> int:
        """Size of the planes that files hold, in bytes."""

    def parts_at(self, first: int, count: int, row_mask: SiteMask | None, workers: ThreadPool) -> list[Codes | StoredPlanes]:
        """Return the calls at `count` of the packed sites, from number `first` on, in parts of consecutive rows.

        row_mask: rows to return, bool[rows]; None: all rows
        """

    def fill(self, sites: SiteIndices, calls_only: bool, out: Codes, workers: ThreadPool) -> None:
        """Write the codes at some sites to `out`, uint8[rows][sites].

        sites: indices of the sites, ascending
        calls_only: whether every call gets the code 0
        """


def codes_at(rows: AlignedRows, sites: SiteIndices, workers: ThreadPool) -> Codes:
    """Return the codes of all rows at some sites, in any order: uint8[rows][sites]."""
    order = np.argsort(sites, kind="stable")
    codes: Codes = np.empty((rows.row_count, len(sites)), dtype=np.uint8)
    rows.fill(sites[order], False, codes, workers)
    if (order[1:] > order[:-1]).all():
        return codes
    return np.take(codes, np.argsort(order, kind="stable"), axis=1)


class ScannedRows:
    """The rows that a scanner has read; implements `AlignedRows`."""

    mapped_bytes = 0
    packed_sites: SiteIndices = np.empty(0, dtype=np.uint32)

    def __init__(self, scanner: _sites.AlignmentScanner) -> None:
        self.scanner = scanner
        self.length, self.row_count = scanner.length, scanner.records

    @property
    def nbytes(self) -> int:
        return self.scanner.nbytes

    @cached_property
    def called(self) -> CountArray:
        return np.array(self.scanner.called, dtype=np.int64)

    @cached_property
    def varies(self) -> SiteMask:
        return (self.scanner.flags() & _VARIES).astype(np.bool_)

    @cached_property
    def has_missing(self) -> SiteMask:
        return (self.scanner.flags() & _HAS_MISSING).astype(np.bool_)

    @cached_property
    def reference(self) -> Codes:
        return self.scanner.reference()

    def called_at(self, chosen: npt.NDArray[np.uint8]) -> CountArray:
        return np.array(self.scanner.called_at(chosen), dtype=np.int64)

    def count_calls(self) -> npt.NDArray[np.uint32]:
        called = np.empty(self.length, dtype=np.uint32)
        self.scanner.count_calls(called)
        return called

    def missing_runs(self) -> MissingRuns:
        return MissingRuns(*self.scanner.missing_runs(0, self.row_count))

    def parts_at(self, first: int, count: int, row_mask: SiteMask | None, workers: ThreadPool) -> list[Codes | StoredPlanes]:
        raise NotImplementedError("scanned rows have no packed sites")

    def fill(self, sites: SiteIndices, calls_only: bool, out: Codes, workers: ThreadPool) -> None:
        rows = _sites.AlignedSites(self.scanner, sites, calls_only)
        workers.map(lambda share: rows.fill(*share, out), workers.split_rows(self.row_count))


class JoinedRows:
    """The rows of two alignments with the same sites, one after the other; implements `AlignedRows`."""

    def __init__(self, first: AlignedRows, second: AlignedRows) -> None:
        self.parts = (first, second)
        self.length, self.row_count = first.length, first.row_count + second.row_count
        self.nbytes = first.nbytes + second.nbytes
        self.called = np.concatenate([first.called, second.called])

    @cached_property
    def varies(self) -> SiteMask:
        first, second = self.parts
        a, b = first.reference, second.reference
        varies: SiteMask = first.varies | second.varies | ((a != b) & (a != MISSING) & (b != MISSING))
        return varies

    @cached_property
    def has_missing(self) -> SiteMask:
        first, second = self.parts
        return first.has_missing | second.has_missing

    @cached_property
    def reference(self) -> Codes:
        first, second = self.parts
        return np.where(first.reference == MISSING, second.reference, first.reference)

    def called_at(self, chosen: npt.NDArray[np.uint8]) -> CountArray:
        return np.concatenate([part.called_at(chosen) for part in self.parts])

    def count_calls(self) -> npt.NDArray[np.uint32]:
        first, second = self.parts
        return first.count_calls() + second.count_calls()

    def missing_runs(self) -> MissingRuns:
        return MissingRuns.joined([part.missing_runs() for part in self.parts])

    @cached_property
    def _packed(self) -> AlignedRows:
        """The alignment whose planes are used: the one with more of them."""
        return max(self.parts, key=lambda part: part.row_count * len(part.packed_sites))

    @property
    def packed_sites(self) -> SiteIndices:
        return self._packed.packed_sites

    @property
    def mapped_bytes(self) -> int:
        return self._packed.mapped_bytes

    def parts_at(self, first: int, count: int, row_mask: SiteMask | None, workers: ThreadPool) -> list[Codes | StoredPlanes]:
        parts, start = list[Codes | StoredPlanes](), 0
        for rows in self.parts:
            mask = None if row_mask is None else row_mask[start : start + rows.row_count]
            if rows is self._packed:
                parts += rows.parts_at(first, count, mask, workers)
            else:
                codes = codes_at(rows, self.packed_sites[first : first + count], workers)
                parts.append(codes if mask is None else codes[mask])
            start += rows.row_count
        return parts

    def fill(self, sites: SiteIndices, calls_only: bool, out: Codes, workers: ThreadPool) -> None:
        first, second = self.parts
        first.fill(sites, calls_only, out[: first.row_count], workers)
        second.fill(sites, calls_only, out[first.row_count :], workers)
