"""Clusters of known records, found by the ids that a file has for them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property

import numpy as np

from gpualign.core.clustering.cluster_files import ClusterFileKind, ListedClusters
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, quoted

_AMBIGUOUS = -1
_SIZE_ANNOTATION = re.compile(r";size=\d+;?$")
_CUT_LENGTH = 19
"""Length to which CD-HIT cuts ids by default: 20 characters (-d 20), including the > before the id."""
_CUT_ADVICE = "CD-HIT cuts ids, unless it is run with -d 0"


@dataclass(frozen=True)
class GivenClusters:
    """Clusters to be verified.

    clusters: name of each cluster
    labels: cluster of each record, int64[records]; -1 for a record in no cluster
    representatives: representative record of each cluster, int64[clusters]; None if clusters have none
    """

    clusters: Sequence[str] = field(repr=False)
    labels: Integers = field(repr=False)
    representatives: Integers | None = field(repr=False)

    @property
    def missing_records(self) -> Integers:
        """Records in no cluster."""
        return np.flatnonzero(self.labels < 0)

    @property
    def representative_of(self) -> Integers:
        """Representative of each record, int64[records]; -1 for a record in no cluster. Only for clusters with representatives."""
        assert self.representatives is not None
        return np.where(self.labels < 0, -1, np.append(self.representatives, -1)[self.labels])


class _Records:
    """Finds records by the ids of a file, which programs change in their own ways."""

    def __init__(self, ids: Sequence[str], kind: ClusterFileKind) -> None:
        self._number = {name: k for k, name in enumerate(ids)}
        self._kind = kind

    def find(self, name: str) -> int | None:
        """Return the number of the record that this text stands for, `_AMBIGUOUS` if several fit, None if none does."""
        number = self._number
        if name in number:
            return number[name]
        words = name.split(maxsplit=1)  # a program may write the whole title
        if len(words) > 1 and words[0] in number:
            return number[words[0]]
        if (record := self._without_sizes.get(_SIZE_ANNOTATION.sub("", words[0] if words else name))) is not None:
            return record
        if self._kind is ClusterFileKind.PAIRS:
            return self._by_part.get(name)
        return self._by_prefix(name) if self._kind is ClusterFileKind.CLSTR else None

    @cached_property
    def _without_sizes(self) -> dict[str, int]:
        """Records by their ids without `;size=N`, which vsearch takes away (--xsize) or changes (--sizeout)."""
        return self._by_alias(lambda name: [_SIZE_ANNOTATION.sub("", name)])

    @cached_property
    def _by_part(self) -> dict[str, int]:
        """Records by the parts of their ids that | separates. MMseqs2 writes the accession alone: P12345 for sp|P12345|NAME."""
        return self._by_alias(lambda name: name.split("|") if "|" in name else [])

    def _by_alias(self, aliases: Callable[[str], list[str]]) -> dict[str, int]:
        found: dict[str, int] = {}
        for name, record in self._number.items():
            for alias in set(aliases(name)):
                found[alias] = _AMBIGUOUS if alias in found else record
        return found

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._number)

    def _by_prefix(self, start: str) -> int | None:
        place = bisect_left(self._sorted, start)
        fitting = [name for name in self._sorted[place : place + 2] if name.startswith(start)]
        return None if not fitting else self._number[fitting[0]] if len(fitting) == 1 else _AMBIGUOUS

    def check_cut(self, listed: ListedClusters, lines: Integers) -> None:
        """Raise `InputError` if an id in the file, taken for a whole id, may be the id of a record in no cluster, cut by CD-HIT.

        lines: line of each record; 0 for a record in no cluster
        """
        written = zip(listed.names, listed.lines, strict=True)
        cut = {name: line for name, line in written if len(name.encode("utf-8", "surrogateescape")) == _CUT_LENGTH}
        for name, record in self._number.items():
            start = name.encode("utf-8", "surrogateescape")[:_CUT_LENGTH].decode("utf-8", "surrogateescape")
            if not lines[record] and start in cut:
                raise _ambiguous(listed, cut[start], start)


def _ambiguous(listed: ListedClusters, line: int, name: str) -> InputError:
    advice = f"; {_CUT_ADVICE}" if listed.kind is ClusterFileKind.CLSTR else ""
    return InputError(f"{listed.source}: line {line}: {quoted(name)} may stand for several of the records{advice}")


def match_records(listed: ListedClusters, ids: Sequence[str]) -> GivenClusters:
    """Return the clusters of the records with these ids.

    An id in the file stands for the record with the same id. If there is none, it stands for the only record that it fits once what
    programs add or remove is ignored: a description, `;size=N`, the text around an accession (MMseqs2), the end of an id (CD-HIT).

    Raises `InputError`, naming the line, for an id that fits no record or several, for a record on two lines, and for a representative in
    another cluster.
    """
    records = _Records(ids, listed.kind)

    def find(line: int, name: str) -> int:
        record = records.find(name)
        if record is None:
            raise InputError(f"{listed.source}: line {line} names {quoted(name)}, which is not among the records")
        if record == _AMBIGUOUS:
            raise _ambiguous(listed, line, name)
        return record

    labels, lines = np.full(len(ids), -1, dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
    numbers = np.array([find(line, name) for line, name in zip(listed.lines, listed.names, strict=True)], dtype=np.int64)
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    if len(first) < len(numbers):
        first_place = first[inverse.reshape(-1)]
        again = int(np.flatnonzero(first_place != np.arange(len(numbers)))[0])
        named = f"lines {listed.lines[first_place[again]]} and {listed.lines[again]}"
        cut = f"; {_CUT_ADVICE}" if listed.kind is ClusterFileKind.CLSTR else ""
        raise InputError(f"{listed.source}: {quoted(ids[numbers[again]])} is on {named}; expected it once{cut}")
    labels[numbers], lines[numbers] = listed.labels, listed.lines
    if listed.kind is ClusterFileKind.CLSTR:
        records.check_cut(listed, lines)
    if listed.representatives is None or listed.representative_lines is None:
        return GivenClusters(listed.clusters, labels, None)
    representatives = np.empty(len(listed.clusters), dtype=np.int64)
    for cluster, (line, name) in enumerate(zip(listed.representative_lines, listed.representatives, strict=True)):
        record = find(line, name)
        if labels[record] < 0:
            labels[record], lines[record] = cluster, line  # some programs list only the other members
        elif labels[record] != cluster:
            own, other = quoted(listed.clusters[cluster]), quoted(listed.clusters[labels[record]])
            raise InputError(
                f"{listed.source}: line {line} names {quoted(name)} as the representative of cluster {own}, and line {lines[record]} puts"
                f" it into cluster {other}"
            )
        representatives[cluster] = record
    return GivenClusters(listed.clusters, labels, representatives)
