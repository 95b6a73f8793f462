"""Interface shared by all kinds of input: samples, and their calls in panels of sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.bit_planes import count_calls
from gpualign.core.distance.call_parts import CallParts
from gpualign.core.distance.calls import CallKind, Calls, Samples
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.positions import Positions
from gpualign.core.distance.readers.site_counts import SiteCounts, count_per_site
from gpualign.core.distance.readers.site_names import SiteNames
from gpualign.core.distance.tables.cell_codes import CellCodes
from gpualign.core.files.scratch import MakeScratch


@dataclass(frozen=True)
class SiteSelection:
    """Specifies which sites the panels of a source contain.

    needed_sites: which sites affect the result; panels may leave out the others
    complete_only: whether panels leave out sites with missing calls
    """

    needed_sites: NeededSites
    complete_only: bool


@dataclass
class OmittedSites:
    """Number of sites that the panels leave out, and number of calls in each sample at all sites.

    sites_by_code: number of sites omitted because all samples have the same call, keyed by call
    calls_per_sample: number of sites in the whole input at which each sample has a call, int64[samples]; None if the source knows these
        numbers without reading panels (`Source.calls_per_sample`)
    """

    sites_by_code: dict[int, int] = field(default_factory=dict)
    calls_per_sample: CountArray | None = None

    @property
    def site_count(self) -> int:
        """Number of omitted sites."""
        return sum(self.sites_by_code.values())


class Source(Protocol):
    """Interface of a source of calls: one input, or two inputs with the same sites."""

    @property
    def samples(self) -> Samples: ...

    @property
    def kind(self) -> CallKind: ...

    @property
    def site_count(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes."""

    @property
    def mapped_bytes(self) -> int:
        """Size of the calls that files on disk hold and panels copy, in bytes."""

    @property
    def calls_per_sample(self) -> CountArray | None:
        """Number of sites at which each sample has a call, int64[samples]; None if this is not known until all panels have been read.
        `panels` then reports the numbers in `omitted`."""

    def panels(self, selection: SiteSelection, panel_bytes: int, omitted: OmittedSites, workers: ThreadPool) -> Iterator[Calls | CallParts]:
        """Yield the calls in panels of approximately `panel_bytes` bytes: uint8[samples][sites], uint32 for alleles, or in parts.

        Each panel is valid until the next one is requested. The sites that panels leave out are reported in `omitted`.
        """

    def site_positions(self) -> Positions | None:
        """Return the positions of the input's sites; None if the sites have none."""

    def count_per_site(self, count_minor_alleles: bool, panel_bytes: int, workers: ThreadPool) -> SiteCounts:
        """Return the counts for each site. count_minor_alleles: whether the second most common allele is counted too, among founders."""

    def count_called(self, panel_bytes: int, workers: ThreadPool) -> CountArray:
        """Return the number of sites at which each sample has a call, int64[samples]. Reads all calls if `calls_per_sample` is None."""

    def select_sites(self, mask: npt.NDArray[np.bool_]) -> Source:
        """Return the same source with only the sites that `mask`, bool[sites], selects."""

    def select_samples(self, mask: npt.NDArray[np.bool_]) -> Source:
        """Return the same source with only the samples that `mask`, bool[samples], selects, as if the input had no other samples."""


def combined_mask(previous_mask: npt.NDArray[np.bool_] | None, mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return a mask of all rows, bool[rows], for two selections made one after the other.

    previous_mask: rows that the first selection keeps, bool[rows]; None: all rows
    mask: which of these rows the second selection keeps, with one element per row kept
    """
    kept: npt.NDArray[np.bool_] = mask.copy() if previous_mask is None else previous_mask.copy()
    if previous_mask is not None:
        kept[previous_mask] = mask
    return kept


class RowStore:
    """Stores rows of `width` bytes each: up to `limit` bytes in memory, the rest in a file that `scratch` creates."""

    _CHUNK_BYTES = 1 << 20

    def __init__(self, width: int, limit: int, scratch: MakeScratch) -> None:
        self.width = width
        self.nbytes = 0
        self._limit = limit
        self._scratch = scratch
        self._chunks: list[Codes] = []
        self._filled_rows = 0
        self._file: BinaryIO | None = None

    def new_row(self) -> Codes:
        """Return a buffer for the next row, to be filled before the following row is requested."""
        if not self._chunks or self._filled_rows == len(self._chunks[-1]):
            if self._file is not None:
                self._flush()
            else:
                rows = max(1, self._CHUNK_BYTES // max(1, self.width))
                if self.nbytes + rows * self.width > self._limit and self._chunks:
                    self._file = self._scratch()
                    self._flush()
                else:
                    self._chunks.append(np.empty((rows, self.width), dtype=np.uint8))
                    self.nbytes += rows * self.width
            self._filled_rows = 0
        self._filled_rows += 1
        row: Codes = self._chunks[-1][self._filled_rows - 1]
        return row

    def add_rows(self, rows: Codes) -> None:
        """Store copies of rows, uint8[rows][width]."""
        copied = 0
        while copied < len(rows):
            self.new_row()[:] = rows[copied]
            chunk, start = self._chunks[-1], self._filled_rows
            count = min(len(rows) - copied - 1, len(chunk) - start)
            chunk[start : start + count] = rows[copied + 1 : copied + 1 + count]
            self._filled_rows += count
            copied += 1 + count

    def _flush(self) -> None:
        """Write the rows in memory to the file, and keep one of their buffers to be filled with further rows."""
        assert self._file is not None
        for number, chunk in enumerate(self._chunks):
            self._file.write(chunk[: self._filled_rows if number == len(self._chunks) - 1 else len(chunk)].tobytes())
        del self._chunks[:-1]
        self.nbytes = self._chunks[-1].nbytes

    def finish(self) -> None:
        """Complete the store after the last row. Rows and columns can be read only afterwards."""
        if self._chunks:
            self._chunks[-1] = self._chunks[-1][: self._filled_rows]
        if self._file is not None:
            self._flush()
            self._file.flush()
            rows = self._file.tell() // self.width
            self._chunks = [np.memmap(self._file, dtype=np.uint8, mode="r", shape=(rows, self.width))]

    def columns(self, start: int, stop: int) -> Codes:
        """Return the columns [start, stop) of all rows: uint8[rows][stop - start]."""
        if len(self._chunks) == 1:
            only: Codes = np.ascontiguousarray(self._chunks[0][:, start:stop])
            return only
        parts: list[Codes] = [chunk[:, start:stop] for chunk in self._chunks]
        return np.concatenate(parts) if parts else np.empty((0, stop - start), np.uint8)

    def rows(self, start: int, stop: int) -> Codes:
        """Return the rows [start, stop): uint8[stop - start][width]."""
        parts, first = [], 0
        for chunk in self._chunks:
            parts.append(chunk[max(start - first, 0) : max(stop - first, 0)])
            first += len(chunk)
        return np.concatenate(parts)


CallReader: TypeAlias = Callable[[int, int, ThreadPool], Calls]
"""Function that takes (start, stop, workers), and returns the calls at sites [start, stop) of one input: uint8[samples][sites], uint32 for
alleles."""


@dataclass(frozen=True)
class RandomAccessSource:
    """Source with random access to calls.

    samples: the samples
    kind: kind of calls
    site_count: number of sites
    call_readers: one call reader per input
    nbytes: memory held, in bytes
    call_bytes: memory per call in a panel, in bytes
    make_positions: returns the positions of all sites; None: the sites have none
    site_indices: indices of the sites that belong to the source, among the sites of the call readers, ascending, int64[sites]; None: all
        sites
    row_mask: mask of the rows, numbered over all call readers, that are samples of the source, bool[rows]; None: all rows
    make_names: returns the names of all sites; None: the sites have none
    hashes: hashes of alleles, in the order of their allele numbers from 2^31
    cells: cells of the tables that were read; None for other inputs, for alleles, and if every letter is a call
    mapped_bytes: size of the calls that files on disk hold, in bytes
    calls_per_sample: None, because calls are counted only while panels are read
    """

    samples: Samples
    kind: CallKind
    site_count: int
    call_readers: Sequence[CallReader]
    nbytes: int = 0
    call_bytes: int = 1
    make_positions: Callable[[], Positions] | None = None
    site_indices: CountArray | None = None
    row_mask: npt.NDArray[np.bool_] | None = None
    make_names: Callable[[], SiteNames] | None = None
    hashes: Sequence[str] = ()
    cells: CellCodes | None = None
    mapped_bytes: int = 0
    calls_per_sample: None = field(default=None, init=False)

    def site_positions(self) -> Positions | None:
        return None if self.make_positions is None else self.make_positions()

    def count_per_site(self, count_minor_alleles: bool, panel_bytes: int, workers: ThreadPool) -> SiteCounts:
        founders = self.samples.founders if count_minor_alleles else None
        panels = []
        for codes in self._read_panels(panel_bytes, workers):
            counts = count_per_site(codes, self.kind, count_minor_alleles and founders is None, workers)
            if founders is not None:
                counts = replace(count_per_site(codes[founders], self.kind, count_minor_alleles, workers), call_counts=counts.call_counts)
            panels.append(counts)
        return SiteCounts.joined(panels)

    def count_called(self, panel_bytes: int, workers: ThreadPool) -> CountArray:
        called = np.zeros(self.samples.row_count, dtype=np.int64)
        for codes in self._read_panels(panel_bytes, workers):
            called += count_calls(codes, workers)
        return called

    def select_sites(self, mask: npt.NDArray[np.bool_]) -> RandomAccessSource:
        chosen = np.flatnonzero(mask) if self.site_indices is None else self.site_indices[mask]
        return replace(self, site_count=len(chosen), site_indices=chosen)

    def select_samples(self, mask: npt.NDArray[np.bool_]) -> RandomAccessSource:
        return replace(self, samples=self.samples.select(mask), row_mask=combined_mask(self.row_mask, mask))

    def panels(self, selection: SiteSelection, panel_bytes: int, omitted: OmittedSites, workers: ThreadPool) -> Iterator[Calls]:
        omitted.calls_per_sample = np.zeros(self.samples.row_count, dtype=np.int64)
        for codes in self._read_panels(panel_bytes, workers):
            omitted.calls_per_sample += count_calls(codes, workers)
            if selection.complete_only:
                codes = np.ascontiguousarray(codes[:, ~np.any(codes == np.iinfo(codes.dtype.type).max, axis=0)])
            if codes.shape[1]:
                yield codes

    def _read_panels(self, panel_bytes: int, workers: ThreadPool) -> Iterator[Calls]:
        """Yield the calls at all sites of the source, in panels of approximately `panel_bytes` bytes."""
        # While a panel is made, all rows that were read are in memory, a copy of those that are kept, and a copy of those of founders.
        rows = self.samples.row_count + sum(len(some) for some in (self.row_mask, self.samples.founders) if some is not None)
        step = max(512, panel_bytes // (self.call_bytes * rows))
        if self.site_indices is None:
            for start in range(0, self.site_count, step):
                yield self._read_sites(start, min(self.site_count, start + step), workers)
            return
        parts, held, first = list[Calls](), 0, 0  # if few sites are chosen, a panel has those of several reads
        while first < self.site_count:
            start = int(self.site_indices[first])
            last = int(np.searchsorted(self.site_indices, start + step))
            codes = self._read_sites(start, int(self.site_indices[last - 1]) + 1, workers)
            all_of_them = codes.shape[1] == last - first
            parts.append(codes if all_of_them else np.take(codes, self.site_indices[first:last] - start, axis=1))
            held, first = held + last - first, last
            if held >= step or first == self.site_count:
                yield parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
                parts, held = [], 0

    def _read_sites(self, start: int, stop: int, workers: ThreadPool) -> Calls:
        """Return the samples' calls at sites [start, stop), numbered as in the inputs, i.e. including sites that the source leaves out."""
        parts = [read(start, stop, workers) for read in self.call_readers]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return codes if self.row_mask is None else codes[self.row_mask]
