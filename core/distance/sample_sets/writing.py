"""Writes sets of samples: makes one, adds samples to it, and withdraws samples from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance import _sites
from gpualign.core.distance.calls import MISSING, CallKind, Calls, aligned_row_code_table
from gpualign.core.distance.count_recipe import NeededSites
from gpualign.core.distance.engine import SITES_PER_LINE, WORD_BITS, BitPlanes, whole_line_words
from gpualign.core.distance.metrics import CountArray
from gpualign.core.distance.readers.aligned_rows import AlignedRows, JoinedRows, SiteIndices
from gpualign.core.distance.readers.alignment import AlignmentSource
from gpualign.core.distance.readers.base import OmittedSites, RandomAccessSource, SiteSelection, Source
from gpualign.core.distance.readers.site_names import SiteNames, SiteScheme
from gpualign.core.distance.sample_sets.dictionaries import AlleleDictionary, CallDictionary, CodeDictionary
from gpualign.core.distance.sample_sets.reading import match_codes, stored_rows_of
from gpualign.core.distance.sample_sets.sample_set import SampleSet
from gpualign.core.files.growing_file import CommitWriter
from gpualign.core.files.scratch import MakeScratch
from gpualign.core.output.preallocation import DiskPreallocation

_BYTES_PER_WRITE = 64 << 20

_NO_CODES = {MISSING, _sites.SKIP, _sites.BAD}


@dataclass(frozen=True)
class _AlignmentSites:
    """Sites of an alignment after samples have been added.

    stored: sites that planes hold, those that earlier planes hold first, uint32[]
    reference: one of the calls at each site, MISSING if there is none, uint8[sites]
    """

    stored: SiteIndices
    reference: Codes


class SegmentWriter:
    """Writes the samples of a source as a segment of a set.

    known: the set to which they are added; None: they begin a new set
    source: the samples
    ids: their ids
    name: name of the input, for messages
    panel_bytes: memory for the calls that are packed in one step, in bytes
    scratch: creates a file for the planes, which are written in another order than they are made in
    """

    def __init__(
        self,
        known: SampleSet | None,
        source: Source,
        ids: list[str],
        name: str,
        panel_bytes: int,
        scratch: MakeScratch,
        workers: ThreadPool,
    ) -> None:
        self._known, self._source, self._ids, self._name = known, source, ids, name
        self._panel_bytes, self._scratch, self._workers = panel_bytes, scratch, workers
        self._samples = len(ids)
        self._sites = _sites_after(known, source.rows, name) if isinstance(source, AlignmentSource) else None

    def write(self, writer: CommitWriter, reading: dict[str, Any]) -> dict[str, Any]:
        """Write the segment, and return the contents of the set that has it.

        reading: options with which the samples were read, for a new set

        Raises `InputError` if the sites differ from those of the set.
        """
        contents: dict[str, Any] = dict(self._known.commit.contents) if self._known is not None else {"reading": reading}
        contents |= {"kind": self._source.kind.value, "site_count": self._source.site_count}
        if isinstance(self._source, RandomAccessSource) and self._source.cells is not None:
            before = None if self._known is None else self._known.cells
            contents["cells"] = (self._source.cells if before is None else before + self._source.cells).to_json()
        names = self._write_sites(writer, contents)
        dictionary = self._write_dictionary(writer, contents)
        sites = self._source.site_count if self._sites is None else len(self._sites.stored)
        first_count = contents.setdefault("first_count", sites)
        entry: dict[str, object] = {"ids": _add_json(writer, self._ids), "later_site_count": sites - first_count}
        for name, start, stop in (("planes", 0, first_count), ("later_planes", first_count, sites)):
            entry[name] = self._write_planes(writer, dictionary, start, stop)
        entry["called"] = writer.add(self._called())
        if isinstance(self._source, AlignmentSource):
            missing = self._source.missing_runs()
            entry |= {"run_ends": writer.add(missing.ends), "runs": writer.add(missing.runs)}
        if self._source.samples.founders is not None:
            entry["founders"] = writer.add(self._source.samples.founders.astype(np.uint8))
        contents["segments"] = [*contents.get("segments", []), entry]
        contents.setdefault("withdrawn", writer.add(np.empty(0, dtype=np.int64)))
        contents["digest"] = digest_of_sites(self._source.site_count, names)
        return contents

    def _write_sites(self, writer: CommitWriter, contents: dict[str, Any]) -> SiteNames | None:
        """Write what is known about the sites, unless the set has it already, and return the names of the sites, if they have any."""
        known, sites = self._known, self._sites
        if sites is not None:
            if known is None or known.stored_sites is None or len(known.stored_sites) != len(sites.stored):
                contents["stored_sites"] = writer.add(sites.stored)
            if known is None or known.reference is None or not np.array_equal(known.reference, sites.reference):
                contents["reference"] = writer.add(sites.reference)
            return None
        assert isinstance(self._source, RandomAccessSource)
        assert self._source.make_names is not None
        names = self._source.make_names()
        if known is not None:
            assert known.names is not None
            self._source, names = match_codes(self._source, known.names, known.hashes, known.path, self._name)
        if known is None or known.names != names:
            contents["names"] = _add_json(writer, {"scheme": names.scheme.value, "names": names.names})
        if self._source.hashes and (known is None or len(known.hashes) != len(self._source.hashes)):
            contents["hashes"] = _add_json(writer, list(self._source.hashes))
        return names

    def _write_dictionary(self, writer: CommitWriter, contents: dict[str, Any]) -> CallDictionary:
        """Write the dictionary, unless the set has it already, with the calls of the samples, and return it."""
        known = self._known.dictionary if self._known is not None else None
        dictionary: CallDictionary
        if known is not None:
            dictionary = known
        elif isinstance(self._source, AlignmentSource):
            # All letters have numbers from the start: planes with the same number of bits need not be copied (`call_parts`).
            dictionary = CodeDictionary(tuple(sorted({*aligned_row_code_table(self._source.compared).tolist()} - _NO_CODES)))
        elif self._source.kind is CallKind.ALLELE:
            dictionary = AlleleDictionary(np.zeros(self._source.site_count + 1, dtype=np.int64), np.empty(0, dtype=np.uint32))
        else:
            dictionary = CodeDictionary()
        if not isinstance(self._source, AlignmentSource):
            for first_site, calls in self._calls(0, self._source.site_count):
                dictionary = dictionary.extend(calls, first_site, self._workers)
        if isinstance(dictionary, CodeDictionary):
            contents["dictionary"] = list(dictionary.codes)
        elif isinstance(dictionary, AlleleDictionary) and dictionary is not known:
            contents["dictionary"] = {"offsets": writer.add(dictionary.offsets), "numbers": writer.add(dictionary.numbers)}
        return dictionary

    def _write_planes(self, writer: CommitWriter, dictionary: CallDictionary, start: int, stop: int) -> dict[str, object]:
        """Write the planes of the sites [start, stop) row by row. They are made for some sites of all rows at a time."""
        count, words = 1 + dictionary.bits, whole_line_words(stop - start)
        shape = self._samples, count, words
        if not words:
            return writer.add(np.empty(shape, dtype=np.uint64))
        file = self._scratch()
        size = self._samples * count * words * 8
        DiskPreallocation(file, size).reserve_up_to(size)
        stored: BitPlanes = np.memmap(file, dtype=np.uint64, mode="r+", shape=shape)
        for first_site, calls in self._calls(start, stop):
            first = (first_site - start) // WORD_BITS
            planes = np.zeros((count, self._samples, whole_line_words(calls.shape[1])), dtype=np.uint64)
            dictionary.pack(calls, first_site, planes, self._workers)
            stored[:, :, first : first + planes.shape[2]] = planes.transpose(1, 0, 2)
        rows = max(1, _BYTES_PER_WRITE // (count * words * 8))
        return writer.add_blocks((stored[first : first + rows] for first in range(0, self._samples, rows)), shape)

    def _calls(self, start: int, stop: int) -> Iterator[tuple[int, Calls]]:
        """Yield (first site, calls of all samples, [samples][sites]) for the sites [start, stop) of those that planes hold, whole cache
        lines of a plane at a time."""
        source = self._source
        if isinstance(source, AlignmentSource):
            assert self._sites is not None
            step = max(1, self._panel_bytes // (self._samples * SITES_PER_LINE)) * SITES_PER_LINE
            for first in range(start, stop, step):
                yield first, source.calls_at(self._sites.stored[first : min(stop, first + step)], self._workers)
            return
        assert isinstance(source, RandomAccessSource)
        held, first = list[Calls](), start
        for calls in source.panels(SiteSelection(NeededSites.CALLS, complete_only=False), self._panel_bytes, OmittedSites(), self._workers):
            held.append(calls)
            joined = held[0] if len(held) == 1 else np.concatenate(held, axis=1)
            whole = joined.shape[1] // SITES_PER_LINE * SITES_PER_LINE
            if whole:
                yield first, np.ascontiguousarray(joined[:, :whole])
                first += whole
            held = [joined[:, whole:].copy()]
        if held and held[0].shape[1]:
            yield first, np.ascontiguousarray(held[0])

    def _called(self) -> CountArray:
        return self._source.count_called(self._panel_bytes, self._workers).astype(np.int64)


def _sites_after(known: SampleSet | None, rows: AlignedRows, name: str) -> _AlignmentSites:
    """Return the sites of the alignment with some more rows. Raises `InputError` if they have another length."""
    if known is None:
        return _AlignmentSites(np.flatnonzero(rows.varies).astype(np.uint32), rows.reference)
    old = stored_rows_of(known)
    if rows.length != old.length:
        raise InputError(f"{name}: rows of {rows.length:,} columns, {known.path} has {old.length:,}; sites must be the same")
    joined = JoinedRows(old, rows)
    stored = np.concatenate([old.stored_sites, np.flatnonzero(joined.varies & ~old.varies).astype(np.uint32)])
    return _AlignmentSites(stored, joined.reference)


def write_withdrawal(sample_set: SampleSet, rows: npt.NDArray[np.int64], writer: CommitWriter) -> dict[str, Any]:
    """Write which rows no longer belong to a set, and return its contents. rows: rows to withdraw, in addition to earlier ones."""
    return sample_set.commit.contents | {"withdrawn": writer.add(np.union1d(sample_set.withdrawn, rows))}


def digest_of_sites(site_count: int, names: SiteNames | None) -> str:
    """Return the SHA-256 of the coordinates of sites, in hexadecimal: of their number, and of their titles, or their chromosomes and
    positions."""
    import hashlib  # runs without sets do not need it

    digest = hashlib.sha256(f"{site_count}\n".encode())
    if names is not None:
        parts = 1 if names.scheme is SiteScheme.TITLES else 2
        for name in names.names:
            digest.update(("\t".join(name[:parts]) + "\n").encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _add_json(writer: CommitWriter, value: object) -> dict[str, object]:
    return writer.add(np.frombuffer(json.dumps(value).encode(), dtype=np.uint8))
