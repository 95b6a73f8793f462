"""Opens sets of samples, and checks all properties on which callers rely, regardless of which program wrote the file.

A file of `growing_file` whose contents are (sizes of arrays in brackets; each array is described where its name stands):
  kind, site_count   kind of calls (`CallKind`), number of sites of the input
  digest             SHA-256 of the coordinates of the sites: what must be equal in all that is added
  reading            options with which calls are read (`CallOptions`), and the letters of an alignment that are calls
  names              scheme and names of the sites, JSON as uint8[]; none for an alignment, whose sites are its columns
  dictionary         codes in the order of their numbers; for alleles, offsets int64[sites + 1] and numbers uint32[]
  hashes             hashes of alleles in the order of their numbers from 2^31, JSON as uint8[]
  cells              cells of tables, and what they mean (`CellCodes.to_json`); none for other inputs, for alleles, and if every letter
                     is a call
  stored_sites       for an alignment: sites that planes hold, uint32[]
  first_count        number of sites that the planes of the first segment hold
  reference          for an alignment: one of the calls at each site, uint8[sites]
  withdrawn          rows that no longer belong to the set, int64[]
  segments           samples that were added together (`Segment`): ids, JSON as uint8[]; called int64[samples]; planes
                     uint64[samples][1 + bits][words]; later_planes and later_site_count; run_ends int64[samples], runs uint32[][2];
                     founders uint8[samples]
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import field
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.engine import BitPlanes, whole_line_words
from gpualign.core.distance.readers.aligned_rows import SiteIndices
from gpualign.core.distance.readers.missing_runs import MissingRuns
from gpualign.core.distance.readers.site_names import SiteNames, SiteScheme
from gpualign.core.distance.sample_sets.dictionaries import AlleleDictionary, CodeDictionary
from gpualign.core.distance.sample_sets.segments import Segment
from gpualign.core.distance.tables.alleles import FIRST_HASH_NUMBER
from gpualign.core.distance.tables.cell_codes import CellCodes
from gpualign.core.files.growing_file import Commit, DamagedFile, StoredArray, read_commit
from gpualign.core.files.paths import SAMPLE_SET_MAGIC
from gpualign.core.sequences.ids import find_control_character

FORMAT_VERSION = 2
FILE_DESCRIPTION = "a set of samples"
"""What messages call such a file."""

_MAX_SITES = 1 << 31


@dataclass(frozen=True)
class SampleSet:
    """A set of samples on disk.

    path: path of the file
    kind: kind of calls
    site_count: number of sites
    digest: SHA-256 of the coordinates of the sites, in hexadecimal
    reading: options with which calls are read, as JSON
    names: names of the sites; None for an alignment, whose sites are its columns
    dictionary: numbers of the calls
    hashes: hashes of alleles, in the order of their numbers
    cells: cells of the tables that the samples come from; None for other inputs, for alleles, and if every letter is a call
    stored_sites, reference: as in `stored_rows.StoredRows`, for an alignment; otherwise None
    first_count: number of sites that the planes of the first segment hold
    segments: the samples, withdrawn ones too
    withdrawn: rows of samples that no longer belong to the set, ascending, int64[]
    commit: state of the file
    """

    path: str
    kind: CallKind
    site_count: int
    digest: str
    reading: dict[str, Any]
    names: SiteNames | None = field(repr=False)
    dictionary: CodeDictionary | AlleleDictionary = field(repr=False)
    hashes: Sequence[str] = field(repr=False)
    cells: CellCodes | None = field(repr=False)
    stored_sites: SiteIndices | None = field(repr=False)
    reference: Codes | None = field(repr=False)
    first_count: int
    segments: Sequence[Segment] = field(repr=False)
    withdrawn: npt.NDArray[np.int64] = field(repr=False)
    commit: Commit = field(repr=False)

    @property
    def row_ids(self) -> list[str]:
        """Ids of all rows, withdrawn ones too."""
        return [name for segment in self.segments for name in segment.ids]

    @property
    def row_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows that belong to the set, bool[rows]."""
        mask = np.ones(sum(len(segment.ids) for segment in self.segments), dtype=np.bool_)
        mask[self.withdrawn] = False
        return mask

    @property
    def ids(self) -> list[str]:
        """Ids of the samples."""
        return list(compress(self.row_ids, self.row_mask.tolist()))

    def check_planes(self, threads: int) -> None:
        """Raise `InputError` if planes are not those that were written. This reads all of them."""
        try:
            for entry, segment in zip(self.commit.contents["segments"], self.segments, strict=True):
                for name, planes in (("planes", segment.planes), ("later_planes", segment.later_planes)):
                    self.commit.check(StoredArray.from_json(entry[name], "<u8", 3), planes, threads)
        except DamagedFile as error:
            raise damaged(self.path, error) from None


def damaged(path: str, error: DamagedFile) -> InputError:
    """Return the error for a damaged set."""
    return InputError(f"{path}: the set is damaged: {error}; make it again, or take a copy")


def open_sample_set(path: str) -> SampleSet:
    """Open a set. Its planes stay on disk until they are used, and are checked by `SampleSet.check_planes`.

    Raises `InputError` if the file is damaged, truncated or inconsistent, or has a different version.
    """
    try:
        return parse_sample_set(read_commit(path, SAMPLE_SET_MAGIC, FORMAT_VERSION, FILE_DESCRIPTION))
    except DamagedFile as error:
        raise damaged(path, error) from None


def parse_sample_set(commit: Commit) -> SampleSet:
    """Return the set that a commit holds. Raises `DamagedFile`."""
    contents = commit.contents
    kind = next((kind for kind in CallKind if kind.value == contents.get("kind")), None)
    sites, digest, reading = contents.get("site_count"), contents.get("digest"), contents.get("reading")
    if kind is None or type(sites) is not int or not 0 < sites < _MAX_SITES or not isinstance(digest, str) or not isinstance(reading, dict):
        raise DamagedFile("its contents have no valid kind, number of sites, digest or options")
    names = None if contents.get("names") is None else _parse_names(_read_json(commit, contents["names"]), sites)
    dictionary = _parse_dictionary(commit, contents.get("dictionary"), kind, sites)
    stored, reference = _read_alignment_sites(commit, sites, dictionary) if names is None else (None, None)
    hashes = _read_hashes(commit, dictionary)
    try:
        cells = None if contents.get("cells") is None else CellCodes.from_json(contents["cells"])
    except ValueError:
        raise DamagedFile("its description of the cells of tables is not valid") from None
    entries = contents.get("segments")
    if not isinstance(entries, list) or not entries:
        raise DamagedFile("it holds no samples")
    first_count, planes_sites = contents.get("first_count"), sites if stored is None else len(stored)
    if type(first_count) is not int or not 0 <= first_count <= planes_sites or (stored is None and first_count != sites):
        raise DamagedFile("its planes are not those of its sites")
    counts = first_count, planes_sites
    segments = [_parse_segment(commit, entry, counts, dictionary.bits, sites, names is None) for entry in entries]
    withdrawn = _read_array(commit, contents.get("withdrawn"), "<i8", 1)
    rows = sum(len(segment.ids) for segment in segments)
    if len(withdrawn) and (withdrawn[0] < 0 or withdrawn[-1] >= rows or (np.diff(withdrawn) <= 0).any()):
        raise DamagedFile("it withdraws samples that it does not hold")
    found = SampleSet(
        commit.path,
        kind,
        sites,
        digest,
        reading,
        names,
        dictionary,
        hashes,
        cells,
        stored,
        reference,
        first_count,
        segments,
        withdrawn,
        commit,
    )
    if len({*found.ids}) != len(found.ids):
        raise DamagedFile("two of its samples have the same id")
    return found


def _read_array(commit: Commit, entry: object, dtype: str, dimensions: int) -> npt.NDArray[Any]:
    return commit.read(StoredArray.from_json(entry, dtype, dimensions))


def _read_json(commit: Commit, entry: object) -> Any:
    try:
        return json.loads(_read_array(commit, entry, "|u1", 1).tobytes())
    except (ValueError, RecursionError):
        raise DamagedFile("a list of names is not JSON") from None


def _read_alignment_sites(commit: Commit, sites: int, dictionary: CodeDictionary | AlleleDictionary) -> tuple[SiteIndices, Codes]:
    """Return (sites that planes hold, reference) of an alignment of `sites` columns. Raises `DamagedFile` if they are not valid."""
    reference = _read_array(commit, commit.contents.get("reference"), "|u1", 1)
    stored = _read_array(commit, commit.contents.get("stored_sites"), "<u4", 1)
    if len(reference) != sites or len(np.unique(stored)) != len(stored) or (stored >= sites).any():
        raise DamagedFile("the sites of its planes are not columns of its alignment")
    if isinstance(dictionary, CodeDictionary) and not {*np.unique(reference).tolist()} <= {MISSING, *dictionary.codes}:
        raise DamagedFile("its reference holds a call that its dictionary lacks")
    return stored, reference


def _read_hashes(commit: Commit, dictionary: CodeDictionary | AlleleDictionary) -> list[str]:
    """Return the hashes of alleles. Raises `DamagedFile` if they are not valid, or if the dictionary names one that is not among them."""
    hashes = _read_json(commit, commit.contents["hashes"]) if commit.contents.get("hashes") is not None else []
    if not isinstance(hashes, list) or any(not isinstance(one, str) for one in hashes):
        raise DamagedFile("its hashes of alleles are not a list")
    if isinstance(dictionary, AlleleDictionary) and (dictionary.numbers >= FIRST_HASH_NUMBER + len(hashes)).any():
        raise DamagedFile("its dictionary of alleles names a hash that it lacks")
    return hashes


def _parse_names(described: object, sites: int) -> SiteNames:
    entries = described if isinstance(described, dict) else {}
    scheme = next((scheme for scheme in SiteScheme if scheme.value == entries.get("scheme")), None)
    names = entries.get("names")
    if scheme is None or not isinstance(names, list) or len(names) != sites:
        raise DamagedFile("it has no valid names of its sites")
    if any(not isinstance(name, list) or len(name) < scheme.min_parts or any(not isinstance(part, str) for part in name) for name in names):
        raise DamagedFile("a name of its sites is not valid")
    return SiteNames(scheme, [tuple(name) for name in names])


def _parse_dictionary(commit: Commit, entry: object, kind: CallKind, sites: int) -> CodeDictionary | AlleleDictionary:
    if kind is CallKind.ALLELE:
        entries = entry if isinstance(entry, dict) else {}
        offsets = _read_array(commit, entries.get("offsets"), "<i8", 1)
        numbers = _read_array(commit, entries.get("numbers"), "<u4", 1)
        if len(offsets) != sites + 1 or offsets[0] != 0 or offsets[-1] != len(numbers) or (np.diff(offsets) < 0).any():
            raise DamagedFile("its dictionary of alleles is not one of its loci")
        return AlleleDictionary(offsets, numbers)
    if (
        not isinstance(entry, list)
        or any(type(code) is not int or not 0 <= code < MISSING for code in entry)
        or len({*entry}) != len(entry)
    ):
        raise DamagedFile("its dictionary is not a list of codes")
    return CodeDictionary(tuple(entry))


def _parse_segment(commit: Commit, entry: object, planes_sites: tuple[int, int], max_bits: int, sites: int, is_alignment: bool) -> Segment:
    entries = entry if isinstance(entry, dict) else {}
    ids = _read_json(commit, entries.get("ids"))
    if not isinstance(ids, list) or not ids or any(not isinstance(name, str) or not name or find_control_character(name) for name in ids):
        raise DamagedFile("an id is not valid")
    called = _read_array(commit, entries.get("called"), "<i8", 1)
    first_count, all_count = planes_sites
    later_count = entries.get("later_site_count")
    if type(later_count) is not int or not 0 <= later_count <= all_count - first_count or len(called) != len(ids):
        raise DamagedFile("a group of samples has planes of sites that the set lacks")
    planes, later_planes = (
        _map_planes(commit, entries.get(name), len(ids), max_bits, count)
        for name, count in (("planes", first_count), ("later_planes", later_count))
    )
    missing = None
    if is_alignment:
        missing = MissingRuns(_read_array(commit, entries.get("run_ends"), "<i8", 1), _read_array(commit, entries.get("runs"), "<u4", 2))
        _check_runs(missing, len(ids), sites)
    founders = None
    if entries.get("founders") is not None:
        founders = _read_array(commit, entries["founders"], "|u1", 1).astype(np.bool_)
        if len(founders) != len(ids):
            raise DamagedFile("its list of founders is not one of its samples")
    return Segment(ids, called, planes, later_planes, later_count, missing, founders)


def _map_planes(commit: Commit, entry: object, samples: int, max_bits: int, site_count: int) -> BitPlanes:
    """Return planes, which stay on disk until they are used. Raises `DamagedFile` unless they have this number of samples and sites."""
    stored = StoredArray.from_json(entry, "<u8", 3)
    rows, count, words = stored.shape
    if rows != samples or not 1 <= count <= 1 + max_bits or words != whole_line_words(site_count):
        raise DamagedFile("a group of samples has planes of another size")
    return commit.map(stored)


def _check_runs(missing: MissingRuns, samples: int, sites: int) -> None:
    """Raise `DamagedFile` unless the runs of each row are ascending, do not touch, and are within the alignment."""
    ends, runs = missing.ends, missing.runs
    valid = len(ends) == samples and runs.shape[1] == 2 and (np.diff(ends, prepend=0) >= 0).all() and ends[-1] == len(runs)
    if valid and len(runs):
        first_of_row = np.zeros(len(runs), dtype=np.bool_)
        starts = np.append(0, ends[:-1])
        first_of_row[starts[starts < len(runs)]] = True
        separate = np.append(True, runs[1:, 0] > runs[:-1, 1])
        valid = bool((runs[:, 0] < runs[:, 1]).all() and (runs[:, 1] <= sites).all() and (separate | first_of_row).all())
    if not valid:
        raise DamagedFile("its runs of missing calls are not valid")
