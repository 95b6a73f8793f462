"""Rows of an alignment that a set stores: planes of the sites at which calls differ, and runs of missing calls for the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.call_parts import StoredPlanes
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.engine import SITES_PER_LINE, WORD_BITS
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.readers.aligned_rows import SiteIndices, SiteMask
from gpualign.core.distance.readers.missing_runs import MissingRuns
from gpualign.core.distance.sample_sets.dictionaries import CodeDictionary
from gpualign.core.distance.sample_sets.segments import Segment

_MAX_UNUSED_SITES = SITES_PER_LINE
"""Maximum number of unwanted sites that are decoded between two wanted ones: fewer, longer reads are faster."""

_BLOCK_CALLS = 1 << 22
"""Number of calls that a thread decodes in one step."""


class StoredRows:
    """Rows of the alignment that a set stores; implements `aligned_rows.AlignedRows`.

    segments: the rows
    stored_sites: sites that planes hold, in their order in the planes, uint32[]. At any other site, all rows that have a call have the
        same one
    first_count: number of these sites that the planes of the first segment hold
    reference: one of the calls at each site, MISSING if there is none, uint8[sites]
    dictionary: numbers of the calls
    """

    nbytes = 0

    def __init__(
        self, segments: Sequence[Segment], stored_sites: SiteIndices, first_count: int, reference: Codes, dictionary: CodeDictionary
    ) -> None:
        self._segments, self.stored_sites, self._first_count, self._dictionary = segments, stored_sites, first_count, dictionary
        self.reference = reference
        self.length = len(reference)
        self.row_count = sum(len(segment.ids) for segment in segments)

    @property
    def packed_sites(self) -> SiteIndices:
        return self.stored_sites[: self._first_count]

    @property
    def mapped_bytes(self) -> int:
        return sum(segment.planes.nbytes for segment in self._segments)

    @cached_property
    def called(self) -> CountArray:
        return np.concatenate([segment.called for segment in self._segments])

    @cached_property
    def varies(self) -> SiteMask:
        mask = np.zeros(self.length, dtype=np.bool_)
        mask[self.stored_sites] = True
        return mask

    @cached_property
    def has_missing(self) -> SiteMask:
        return self.count_calls() < self.row_count

    @cached_property
    def _places(self) -> npt.NDArray[np.int64]:
        """Position of each site in the planes, -1 for a site that planes do not hold: int64[sites]."""
        places = np.full(self.length, -1, dtype=np.int64)
        places[self.stored_sites] = np.arange(len(self.stored_sites))
        return places

    def called_at(self, chosen: npt.NDArray[np.uint8]) -> CountArray:
        total = int(np.count_nonzero(chosen))
        return np.concatenate([total - _missing_runs(segment).count_missing_at(chosen) for segment in self._segments])

    def count_calls(self) -> npt.NDArray[np.uint32]:
        return (self.row_count - self.missing_runs().count_missing(self.length)).astype(np.uint32)

    def missing_runs(self) -> MissingRuns:
        return MissingRuns.joined([_missing_runs(segment) for segment in self._segments])

    def parts_at(self, first: int, count: int, row_mask: SiteMask | None, workers: ThreadPool) -> list[Codes | StoredPlanes]:
        parts, start = list[Codes | StoredPlanes](), 0
        for segment in self._segments:
            stop = start + len(segment.ids)
            rows = np.arange(stop - start) if row_mask is None else np.flatnonzero(row_mask[start:stop])
            parts.append(StoredPlanes(segment.planes, self._dictionary.codes, rows, first // WORD_BITS))
            start = stop
        return parts

    def fill(self, sites: SiteIndices, calls_only: bool, out: Codes, workers: ThreadPool) -> None:
        places, first = self._places[sites], 0
        for segment in self._segments:
            rows = out[first : first + len(segment.ids)]
            stored = (places >= 0) & (places < self._first_count + segment.later_site_count)
            step = max(1, _BLOCK_CALLS // max(1, len(sites)))

            def fill_block(start: int, segment: Segment = segment, rows: Codes = rows, stored: SiteMask = stored, step: int = step) -> None:
                block = rows[start : start + step]
                self._fill_stored(segment, start, places, stored, block)
                self._fill_others(segment, start, sites, stored, block)
                if calls_only:
                    block[block != MISSING] = 0

            workers.map(fill_block, range(0, len(rows), step))
            first += len(rows)

    def _fill_stored(self, segment: Segment, first: int, places: npt.NDArray[np.int64], stored: SiteMask, out: Codes) -> None:
        """Write the codes of some rows of a segment, from row `first` on, at the stored sites."""
        is_first = stored & (places < self._first_count)
        for columns, planes, start in (
            (np.flatnonzero(is_first), segment.planes, 0),
            (np.flatnonzero(stored & ~is_first), segment.later_planes, self._first_count),
        ):
            for some in _split_at_gaps(columns, places[columns]):
                wanted = places[some] - start
                begin = int(wanted[0]) // WORD_BITS * WORD_BITS
                rows = planes[first : first + len(out)]
                codes = self._dictionary.unpack(rows, begin, int(wanted[-1]) + 1 - begin, 1)
                out[:, some] = codes if codes.shape[1] == len(some) else codes[:, wanted - begin]

    def _fill_others(self, segment: Segment, first: int, sites: SiteIndices, stored: SiteMask, out: Codes) -> None:
        """Write the codes of some rows of a segment, from row `first` on, at the sites at which the planes hold no calls of the segment."""
        columns = np.flatnonzero(~stored)
        if not len(columns):
            return
        others = sites[columns]
        missing = _missing_runs(segment).mask_at(others, first, first + len(out))
        out[:, columns] = np.where(missing, np.uint8(MISSING), self.reference[others])


def _missing_runs(segment: Segment) -> MissingRuns:
    assert segment.missing is not None  # every segment of an alignment has them
    return segment.missing


def _split_at_gaps(columns: npt.NDArray[np.int64], places: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield columns in parts whose places in the planes are ascending and close to each other."""
    order = np.argsort(places, kind="stable")
    gaps = np.flatnonzero(np.diff(places[order]) > _MAX_UNUSED_SITES) + 1
    yield from (columns[part] for part in np.split(order, gaps) if len(part))
