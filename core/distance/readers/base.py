"""What every kind of input offers: samples, and their calls in panels of sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import BinaryIO, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.bit_planes import count_calls
from gpualign.core.distance.calls import Calls, Kind, Samples
from gpualign.core.distance.count_recipe import Need
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.positions import Positions
from gpualign.core.distance.readers.site_counts import SiteCounts, count_sites
from gpualign.core.distance.threads import Workers
from gpualign.core.files.scratch import Scratch


@dataclass(frozen=True)
class Selection:
    """complete: only sites without missing calls."""

    need: Need
    complete: bool


@dataclass
class Omitted:
    """What panels do not show. sites_by_code: sites that they left out, because all samples have the same call there, by this call;
    called: sites of the whole input at which each sample has a call, int64[samples], where the source did not know before."""

    sites_by_code: dict[int, int] = field(default_factory=dict)
    called: CountArray | None = None

    @property
    def sites(self) -> int:
        return sum(self.sites_by_code.values())


class Source(Protocol):
    """One input, or two whose sites are the same."""

    @property
    def samples(self) -> Samples: ...

    @property
    def kind(self) -> Kind: ...

    @property
    def sites(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """Memory that is held."""

    @property
    def called(self) -> CountArray | None:
        """Sites at which each sample has a call, int64[samples]; None where only `panels` finds out, and tells `omitted`."""

    def panels(self, selection: Selection, panel_bytes: int, omitted: Omitted, workers: Workers) -> Iterator[Calls]:
        """uint8[samples][sites], of alleles uint32, of about so many bytes, good until the next is asked for; tells `omitted` what is
        left out."""

    def locate(self) -> Positions | None:
        """Where the sites of the input lie; None where they have no positions."""

    def count(self, minor: bool, panel_bytes: int, workers: Workers) -> SiteCounts:
        """Of each site. minor: its rarer alleles too, among founders."""

    def count_called(self, panel_bytes: int, workers: Workers) -> CountArray:
        """`called`, whatever it takes to find out."""

    def only(self, keep: npt.NDArray[np.bool_]) -> Source:
        """The same with some of its sites alone: bool[sites]."""

    def with_samples(self, keep: npt.NDArray[np.bool_]) -> Source:
        """The same with some of its samples alone, as if it had no others: bool[samples]."""


def kept_rows(before: npt.NDArray[np.bool_] | None, keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which of all rows are left when `keep` has chosen among those that were left before (None: all): bool[rows]."""
    kept: npt.NDArray[np.bool_] = keep.copy() if before is None else before.copy()
    if before is not None:
        kept[before] = keep
    return kept


class RowStore:
    """Rows of equal width, in memory up to `limit` bytes and in a scratch file beyond."""

    _CHUNK = 1 << 20

    def __init__(self, width: int, limit: int, scratch: Scratch) -> None:
        self.width = width
        self.nbytes = 0
        self._limit = limit
        self._scratch = scratch
        self._chunks: list[Codes] = []
        self._filled = 0
        self._file: BinaryIO | None = None

    def new_row(self) -> Codes:
        """Room for the next row, to be filled before another one is asked for."""
        if not self._chunks or self._filled == len(self._chunks[-1]):
            if self._file is not None:
                self._flush()
            else:
                rows = max(1, self._CHUNK // max(1, self.width))
                if self.nbytes + rows * self.width > self._limit and self._chunks:
                    self._file = self._scratch()
                    self._flush()
                else:
                    self._chunks.append(np.empty((rows, self.width), dtype=np.uint8))
                    self.nbytes += rows * self.width
            self._filled = 0
        self._filled += 1
        row: Codes = self._chunks[-1][self._filled - 1]
        return row

    def _flush(self) -> None:
        """Chunks go to the file; the last one is used again."""
        assert self._file is not None
        for number, chunk in enumerate(self._chunks):
            self._file.write(chunk[: self._filled if number == len(self._chunks) - 1 else len(chunk)].tobytes())
        del self._chunks[:-1]
        self.nbytes = self._chunks[-1].nbytes

    def done(self) -> None:
        """All rows have come."""
        if self._chunks:
            self._chunks[-1] = self._chunks[-1][: self._filled]
        if self._file is not None:
            self._flush()
            self._file.flush()
            rows = self._file.tell() // self.width
            self._chunks = [np.memmap(self._file, dtype=np.uint8, mode="r", shape=(rows, self.width))]

    def columns(self, start: int, stop: int) -> Codes:
        """[rows][start .. stop]."""
        if len(self._chunks) == 1:
            only: Codes = np.ascontiguousarray(self._chunks[0][:, start:stop])
            return only
        parts: list[Codes] = [chunk[:, start:stop] for chunk in self._chunks]
        return np.concatenate(parts) if parts else np.empty((0, stop - start), np.uint8)

    def rows(self, start: int, stop: int) -> Codes:
        """[start .. stop][width]."""
        parts, first = [], 0
        for chunk in self._chunks:
            parts.append(chunk[max(start - first, 0) : max(stop - first, 0)])
            first += len(chunk)
        return np.concatenate(parts)


Block: TypeAlias = Callable[[int, int, Workers], Calls]
"""Calls of sites start .. stop of one input: uint8[samples][sites], of alleles uint32."""


@dataclass(frozen=True)
class DenseSource:
    """Calls that can be read anywhere, by a block of each input. call_bytes: memory that one takes in a panel. chosen: the only sites of
    these that count, ascending, int64[sites]; None: all. positions: of all sites, where they have some. kept: which rows of the blocks are
    the samples, bool[rows]; None: all."""

    samples: Samples
    kind: Kind
    sites: int
    blocks: Sequence[Block]
    nbytes: int = 0
    call_bytes: int = 1
    positions: Callable[[], Positions] | None = None
    chosen: CountArray | None = None
    kept: npt.NDArray[np.bool_] | None = None
    called: None = field(default=None, init=False)

    def locate(self) -> Positions | None:
        return None if self.positions is None else self.positions()

    def count(self, minor: bool, panel_bytes: int, workers: Workers) -> SiteCounts:
        founders = self.samples.founders if minor else None
        parts = []
        for codes in self._codes(panel_bytes, workers):
            part = count_sites(codes, self.kind, minor and founders is None, workers)
            if founders is not None:
                part = replace(count_sites(codes[founders], self.kind, minor, workers), called=part.called)
            parts.append(part)
        return SiteCounts.joined(parts)

    def count_called(self, panel_bytes: int, workers: Workers) -> CountArray:
        called = np.zeros(self.samples.total, dtype=np.int64)
        for codes in self._codes(panel_bytes, workers):
            called += count_calls(codes, workers)
        return called

    def only(self, keep: npt.NDArray[np.bool_]) -> DenseSource:
        chosen = np.flatnonzero(keep) if self.chosen is None else self.chosen[keep]
        return replace(self, sites=len(chosen), chosen=chosen)

    def with_samples(self, keep: npt.NDArray[np.bool_]) -> DenseSource:
        return replace(self, samples=self.samples.only(keep), kept=kept_rows(self.kept, keep))

    def panels(self, selection: Selection, panel_bytes: int, omitted: Omitted, workers: Workers) -> Iterator[Calls]:
        omitted.called = np.zeros(self.samples.total, dtype=np.int64)
        for codes in self._codes(panel_bytes, workers):
            omitted.called += count_calls(codes, workers)
            if selection.complete:
                codes = np.ascontiguousarray(codes[:, ~np.any(codes == np.iinfo(codes.dtype.type).max, axis=0)])
            if codes.shape[1]:
                yield codes

    def _codes(self, panel_bytes: int, workers: Workers) -> Iterator[Calls]:
        """Of all sites that count, about so many bytes at a time."""
        # Rows of the blocks are there beside those that are kept, and those of founders beside all.
        rows = self.samples.total + sum(len(some) for some in (self.kept, self.samples.founders) if some is not None)
        step = max(512, panel_bytes // (self.call_bytes * rows))
        if self.chosen is None:
            for start in range(0, self.sites, step):
                yield self._read(start, min(self.sites, start + step), workers)
            return
        parts, held, first = list[Calls](), 0, 0  # where few sites are chosen a panel has those of several stretches
        while first < self.sites:
            start = int(self.chosen[first])
            last = int(np.searchsorted(self.chosen, start + step))
            codes = self._read(start, int(self.chosen[last - 1]) + 1, workers)
            all_of_them = codes.shape[1] == last - first
            parts.append(codes if all_of_them else np.take(codes, self.chosen[first:last] - start, axis=1))
            held, first = held + last - first, last
            if held >= step or first == self.sites:
                yield parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
                parts, held = [], 0

    def _read(self, start: int, stop: int, workers: Workers) -> Calls:
        parts = [block(start, stop, workers) for block in self.blocks]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return codes if self.kept is None else codes[self.kept]
