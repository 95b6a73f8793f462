"""Reads clusters from the files of clustering programs: tables, .uc, .clstr, and the two columns of MMseqs2 (docs/formats/problems.md)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from itertools import chain
from typing import BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.delimited import open_delimited
from gpualign.core.files.kinds import FileKind, kind_of
from gpualign.core.sequences.table_comments import without_comments

_ID_TITLES = ("id", "sequence_id", "sequencename", "taxon")
_CLUSTER_TITLES = ("cluster", "clone_id", "clusternumber")
"""Column titles of gpualign, of AIRR tables, of TreeCluster and of PopPUNK, in lower case, for ids and for clusters."""

_NO_CLUSTER_WORDS = frozenset(("", "NA", "N/A", "NaN", "nan", "None", "null", "NULL", "<NA>"))
_SINGLETON_CLUSTER = "-1"
"""Cluster that TreeCluster's tables give to every record in a cluster of its own."""

_REPRESENTATIVE_TITLE = "representative"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UC_START = re.compile(rb"(#[^\n]*\n)*[A-Z]\t([^\t\n]*\t){8}[^\t\n]*(\n|$)")
_UC_COLUMNS = 10
_TWO_NUMBERS = re.compile(rb"[0-9]+\t[0-9]+\r?\n")
_CLSTR_START = b">Cluster "
_CLSTR_ROW = re.compile(r"[0-9]+\t[0-9]+(?:aa|nt), >(.*)\.\.\. (\*|at .*)")


class ClusterFileKind(Enum):
    """Kinds of files with clusters, each with the name used in messages."""

    TABLE = "a table"
    UC = ".uc"
    CLSTR = ".clstr of CD-HIT"
    PAIRS = "two columns, representatives and members"


@dataclass(frozen=True)
class ListedClusters:
    """Clusters as a file lists them. Their numbers count from 0, in the order of the file.

    source: name of the file, for messages
    kind: kind of the file
    clusters: name of each cluster
    names: id of each listed record, as written in the file
    labels: cluster of each listed record
    lines: line of each listed record
    representatives: id of each cluster's representative, as written in the file; None if the file names none
    representative_lines: line that names each cluster's representative; None if the file names none
    """

    source: str
    kind: ClusterFileKind
    clusters: list[str] = field(repr=False)
    names: list[str] = field(repr=False)
    labels: list[int] = field(repr=False)
    lines: list[int] = field(repr=False)
    representatives: list[str] | None = field(repr=False)
    representative_lines: list[int] | None = field(repr=False)

    @property
    def ids(self) -> list[str]:
        """Ids of all records, including representatives that are not listed as members."""
        return list(dict.fromkeys([*self.names, *(self.representatives or ())]))


class _Collector:
    """Collects the lines of a file."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._number: dict[str, int] = {}
        self._names: list[str] = []
        self._labels: list[int] = []
        self._lines: list[int] = []
        self._representatives: dict[int, str] = {}
        self._representative_lines: dict[int, int] = {}

    def add(self, line: int, name: str, cluster: str) -> None:
        """Add a member. Raises `InputError` if it has no name."""
        if not name:
            raise InputError(f"{self._source}: line {line} has an empty id")
        self._names.append(name)
        self._labels.append(self._number.setdefault(cluster, len(self._number)))
        self._lines.append(line)

    def represent(self, line: int, name: str, cluster: str) -> None:
        """Add a representative. Raises `InputError` if the cluster has another one."""
        number = self._number.setdefault(cluster, len(self._number))
        before = self._representatives.setdefault(number, name)
        first = self._representative_lines.setdefault(number, line)
        if before != name:
            raise InputError(
                f"{self._source}: lines {first} and {line} name {quoted(before)} and {quoted(name)} as the representative of cluster"
                f" {quoted(cluster)}; a cluster has one"
            )

    def finish(self, kind: ClusterFileKind) -> ListedClusters:
        """Return the clusters. Raises `InputError` if there are none, or if only some have a representative."""
        clusters = list(self._number)
        if not self._names:
            raise InputError(f"{self._source}: no clusters; {_EXPECTED}")
        if not self._representatives:
            return ListedClusters(self._source, kind, clusters, self._names, self._labels, self._lines, None, None)
        if len(self._representatives) < len(clusters):
            line, label = next(
                (line, label) for line, label in zip(self._lines, self._labels, strict=True) if label not in self._representatives
            )
            raise InputError(f"{self._source}: line {line}: cluster {quoted(clusters[label])} has no representative in the file")
        names = [self._representatives[k] for k in range(len(clusters))]
        lines = [self._representative_lines[k] for k in range(len(clusters))]
        return ListedClusters(self._source, kind, clusters, self._names, self._labels, self._lines, names, lines)


_EXPECTED = (
    "expected a table with the columns id and cluster or representative, .uc, CD-HIT's .clstr, or two columns of representatives and"
    " members, as written by MMseqs2"
)


def read_clusters(stream: BinaryIO, source: str) -> ListedClusters:
    """Read clusters from a file whose format is recognised by its content; it may be compressed. source: name of the file, for messages.

    Raises `InputError` that names the line for any other file, for malformed lines, and for clusters with two representatives or none.
    """
    start, stream = open_decompressed(stream, source)
    text = start.removeprefix(_BYTE_ORDER_MARK)
    if b"\0" in start:
        raise InputError(f"{source}: a binary file; {_EXPECTED}")
    if text.startswith(_CLSTR_START):
        return _read_clstr(_numbered_lines(stream), source)
    if _UC_START.match(text.replace(b"\r\n", b"\n")):
        return _read_uc(_numbered_lines(stream), source)
    kind = kind_of(start)
    # Numbers as ids of the first representative and member may look like the counts of PHYLIP.
    if kind not in (None, FileKind.CLUSTERS) and not (kind is FileKind.PHYLIP and _TWO_NUMBERS.match(text)):
        raise InputError(f"{source} is {kind.value}; {_EXPECTED}")
    return _read_table(stream, source)


def _numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(stream, 1):
        bare = (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line).rstrip(b"\r\n")
        if bare:
            yield number, bare.decode("utf-8", "surrogateescape")


def _read_uc(lines: Iterator[tuple[int, str]], source: str) -> ListedClusters:
    """Read the ten columns of usearch and vsearch: S and H rows have the records, and C rows repeat the representatives."""
    found = _Collector(source)
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != _UC_COLUMNS:
            raise InputError(f"{source}: line {number} has {len(cells):,} columns; expected the {_UC_COLUMNS} of .uc")
        kind, cluster, name, target = cells[0], cells[1], cells[8], cells[9]
        if kind in ("S", "H"):
            found.add(number, name, cluster)
        elif kind != "C":
            raise InputError(
                f"{source}: line {number} begins with {quoted(kind)}; expected S, H or C, as in .uc of clusters (a search writes others)"
            )
        found.represent(number, target if kind == "H" else name, cluster)
    return found.finish(ClusterFileKind.UC)


def _read_clstr(lines: Iterator[tuple[int, str]], source: str) -> ListedClusters:
    found, cluster = _Collector(source), ""
    for number, line in lines:
        if line.startswith(_CLSTR_START.decode()):
            cluster = line.removeprefix(_CLSTR_START.decode()).strip()
            continue
        row = _CLSTR_ROW.fullmatch(line)
        if row is None:
            raise InputError(f"{source}: line {number} is {quoted(line)}; expected a line such as '0\\t297aa, >id... *', as CD-HIT writes")
        found.add(number, row[1], cluster)
        if row[2] == "*":
            found.represent(number, row[1], cluster)
    return found.finish(ClusterFileKind.CLSTR)


def _read_table(stream: BinaryIO, source: str) -> ListedClusters:
    """Read a table with titles, or two columns without them."""
    rows = open_delimited(without_comments(stream, source), source).rows()
    first = next(rows, None)
    if first is None:
        raise InputError(f"{source}: empty file; {_EXPECTED}")
    lowered = [title.lower() for title in first[1]]
    titles = lowered if len(set(lowered)) == len(set(first[1])) else first[1]
    id_column, cluster_column, representative_column = (
        next((titles.index(title) for title in known if title in titles), None)
        for known in (_ID_TITLES, _CLUSTER_TITLES, (_REPRESENTATIVE_TITLE,))
    )
    found = _Collector(source)
    if id_column is not None and (cluster_column is not None or representative_column is not None):
        named_by = cluster_column if cluster_column is not None else representative_column
        assert named_by is not None
        for line, cells in rows:
            _check_width(len(cells), len(titles), line, first[0], source)
            cluster = cells[named_by]
            if cluster in _NO_CLUSTER_WORDS:
                continue  # in no cluster, such as a row of a table of receptors that is not a record
            if cluster == _SINGLETON_CLUSTER and representative_column is None:
                cluster = f"{_SINGLETON_CLUSTER} ({cells[id_column]})"
            found.add(line, cells[id_column], cluster)
            if representative_column is not None:
                found.represent(line, cells[representative_column], cluster)
        return found.finish(ClusterFileKind.TABLE)
    if len(titles) != 2:
        raise InputError(f"{source}: line {first[0]} is {quoted(', '.join(first[1]))}; {_EXPECTED}")
    for line, cells in chain([first], rows):
        _check_width(len(cells), 2, line, first[0], source)
        representative, name = cells
        found.represent(line, representative, representative)
        found.add(line, name, representative)
    return found.finish(ClusterFileKind.PAIRS)


def _check_width(width: int, expected: int, line: int, first_line: int, source: str) -> None:
    if width != expected:
        raise InputError(f"{source}: line {line} has {width:,} columns; expected {expected:,}, as in line {first_line}")
