"""The columns of the table of pairs. A new column is one entry of `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import Alignments, Column
from gpualign.core.bands import BandResults
from gpualign.core.engine import Detail, Statistics, Task
from gpualign.core.errors import InputError
from gpualign.core.identity import Integers, columns, fraction, identity
from gpualign.core.text import TextColumn

_NO_RECORDS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class HitColumns:
    """What a list of hits has beside its results.

    queries, targets: int64[hits], records of the task's sets; given: int64[hits], the records that the queries are strands of; minus:
    bool[hits], which queries are reverse complements; bits, evalues: float64[hits], or None where they are not known.
    """

    queries: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int64]
    given: npt.NDArray[np.int64]
    minus: npt.NDArray[np.bool_]
    bits: npt.NDArray[np.float64] | None
    evalues: npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class BlockData:
    """What a column may draw on for one block of pairs: the task, and results [queries from first_query on][targets of the band].

    With `hits` the block is a list of pairs: results are [1][pairs].
    """

    task: Task
    first_query: int
    results: BandResults
    identity_definition: int
    hits: HitColumns | None = None

    @property
    def first_target(self) -> int:
        return self.results.band.first_target

    @cached_property
    def statistics(self) -> Statistics:
        """As people count: the ends of a reverse complement are told on the sequence that was given."""
        found = self._counted
        if self.hits is None or not self.hits.minus.any():
            return found
        turned: Statistics = found.copy()
        minus = self.hits.minus
        lengths = self.task.queries.lengths[self.hits.queries[minus]]
        turned["query_start"][:, minus] = lengths - found["query_end"][:, minus]
        turned["query_end"][:, minus] = lengths - found["query_start"][:, minus]
        return turned

    @property
    def _counted(self) -> Statistics:
        assert self.results.statistics is not None  # the detail of every column is asked for
        return self.results.statistics

    def records(self, row: int, column: int) -> tuple[int, int]:
        """The records of `task.queries` and `task.targets` that a pair has."""
        if self.hits is None:
            return self.first_query + row, self.first_target + column
        return int(self.hits.queries[column]), int(self.hits.targets[column])

    @property
    def lengths(self) -> tuple[Integers, Integers]:
        """Letters of the queries and of the targets, int64 of shapes that go with the results."""
        queries, targets = self.task.queries.lengths, self.task.targets.lengths
        if self.hits is not None:
            return queries[self.hits.queries][None, :], targets[self.hits.targets][None, :]
        rows, columns = self.results.scores.shape
        first = self.first_target
        return queries[self.first_query : self.first_query + rows, None], targets[None, first : first + columns]

    @cached_property
    def identity(self) -> tuple[Integers, Integers]:
        """Numerators and denominators."""
        return identity(self.statistics, *self.lengths, self.identity_definition)

    def covered(self, side: str) -> tuple[Integers, Integers]:
        """Aligned letters of the "query" or the "target", and all of them."""
        spans = self.statistics[f"{side}_end"].astype(np.int64) - self.statistics[f"{side}_start"]
        letters = self.lengths[0 if side == "query" else 1]
        return spans, np.ascontiguousarray(np.broadcast_to(letters, spans.shape))

    @staticmethod
    def hit_text(text: TextColumn | Iterable[str]) -> Column:
        """A column of a text of each hit."""
        column = text if isinstance(text, TextColumn) else TextColumn.of(list(text))
        return Column.target_text(column.text, column.offsets)

    @cached_property
    def identity_fraction(self) -> npt.NDArray[np.float64]:
        return fraction(*self.identity)

    @cached_property
    def alignments(self) -> Alignments:
        runs, task = self.results.runs, self.task
        assert runs is not None
        return Alignments(
            task.queries.codes,
            task.queries.offsets,
            self.first_query,
            task.targets.codes,
            task.targets.offsets,
            self.first_target,
            task.alphabet.letters,
            runs.data,
            runs.starts,
            runs.sizes,
            np.ascontiguousarray(self._counted).view(np.int32).reshape(*self._counted.shape, -1),
            _NO_RECORDS if self.hits is None else self.hits.queries,
            _NO_RECORDS if self.hits is None else self.hits.targets,
        )


def query_ids(block: BlockData) -> Column:
    """Ids of the queries."""
    ids = block.task.queries.id_column
    return Column.query_text(ids.text, ids.offsets) if block.hits is None else block.hit_text(ids.select(block.hits.queries))


def target_ids(block: BlockData) -> Column:
    """Ids of the targets."""
    ids = block.task.targets.id_column
    if block.hits is not None:
        return block.hit_text(ids.select(block.hits.targets))
    return Column.target_text(ids.text, ids.offsets[block.first_target :])


def query_lengths(block: BlockData) -> Column:
    """Letters of the queries."""
    lengths = block.task.queries.lengths
    return Column.query_numbers(lengths) if block.hits is None else Column.target_numbers(lengths[block.hits.queries])


def target_lengths(block: BlockData) -> Column:
    """Letters of the targets."""
    lengths = block.task.targets.lengths
    return Column.target_numbers(lengths[block.first_target :] if block.hits is None else lengths[block.hits.targets])


def scores(block: BlockData) -> Column:
    """Scores, or edit distances."""
    # nanobind tells int32 from int64 arrays; both have an overload.
    return Column.pair_numbers(np.ascontiguousarray(block.results.scores))


def statistic(name: str, add: int = 0) -> Callable[[BlockData], Column]:
    """A field of `STATISTICS`, plus a constant."""
    return lambda block: Column.pair_numbers(np.ascontiguousarray(block.statistics[name] + np.int32(add)))


def lengths(block: BlockData) -> Column:
    """Columns of the alignments."""
    return Column.pair_numbers(columns(block.statistics))


def identities(factor: int, decimals: int) -> Callable[[BlockData], Column]:
    """Identities times `factor`."""
    return lambda block: Column.pair_ratio(*block.identity, factor=factor, decimals=decimals)


def coverage(side: str) -> Callable[[BlockData], Column]:
    """Fractions of the letters of one side that are aligned."""
    return lambda block: Column.pair_ratio(*block.covered(side), factor=1, decimals=6)


def strands(block: BlockData) -> Column:
    """+, or - where the query's reverse complement was aligned."""
    if block.hits is None:
        return Column.constant("+")
    return block.hit_text("-" if minus else "+" for minus in block.hits.minus.tolist())


def hit_numbers(name: str, form: str) -> Callable[[BlockData], Column]:
    """An attribute of `HitColumns`, by a format of Python's."""

    def column(block: BlockData) -> Column:
        assert block.hits is not None  # asked for by searches alone
        values = getattr(block.hits, name)
        count = len(block.hits.queries)
        return block.hit_text(["nan"] * count if values is None else [format(value, form) for value in values.tolist()])

    return column


def path(kind: str) -> Callable[[BlockData], Column]:
    """Text made of the path, of a kind that core/src/alignments.hpp names."""
    return lambda block: Column.path(block.alignments, kind)


@dataclass(frozen=True)
class Field:
    """name as --fields takes it, what it holds, how a block's column is made, and what of each alignment that needs; of_hits: only
    searches have it."""

    name: str
    meaning: str
    column: Callable[[BlockData], Column]
    detail: Detail = Detail.SCORE
    of_hits: bool = False


_STATISTICS, _PATH = Detail.STATISTICS, Detail.PATH

FIELDS: dict[str, Field] = {
    f.name: f
    for f in (
        Field("query", "id of the query", query_ids),
        Field("target", "id of the target", target_ids),
        Field("score", "alignment score; with --edit the edit distance", scores),
        Field("qlen", "letters of the query", query_lengths),
        Field("tlen", "letters of the target", target_lengths),
        Field("identity", "fraction of equal letters, by --identity-def", identities(1, 6), _STATISTICS),
        Field("matches", "columns with equal letters", statistic("matches"), _STATISTICS),
        Field("mismatches", "columns with unequal letters", statistic("mismatches"), _STATISTICS),
        Field("length", "columns of the alignment", lengths, _STATISTICS),
        Field("gap_opens", "gaps", statistic("gap_opens"), _STATISTICS),
        Field("gaps", "letters in gaps", statistic("gaps"), _STATISTICS),
        Field("cigar", "runs of = (equal), X (unequal), I (query only), D (target only)", path("cigar"), _PATH),
        Field("cigar_m", "the same with M for = and X", path("cigar_m"), _PATH),
        Field("qstart", "first aligned letter of the query, from 1", statistic("query_start", 1), _STATISTICS),
        Field("qend", "last aligned letter of the query", statistic("query_end"), _STATISTICS),
        Field("tstart", "first aligned letter of the target, from 1", statistic("target_start", 1), _STATISTICS),
        Field("tend", "last aligned letter of the target", statistic("target_end"), _STATISTICS),
        Field("qaln", "aligned part of the query, with gaps", path("query"), _PATH),
        Field("taln", "aligned part of the target, with gaps", path("target"), _PATH),
        Field("qcov", "fraction of the query that is aligned", coverage("query"), _STATISTICS),
        Field("tcov", "fraction of the target that is aligned", coverage("target"), _STATISTICS),
        Field("strand", "+, or - where the query's reverse complement is aligned", strands, of_hits=True),
        Field("bits", "bit score", hit_numbers("bits", ".1f"), of_hits=True),
        Field("evalue", "hits this good that chance would give", hit_numbers("evalues", ".3g"), of_hits=True),
    )
}

DEFAULT_FIELDS = "query,target,score"
HIT_FIELDS = "query,target,score,bits,evalue,strand,identity,length,qstart,qend,tstart,tend,qcov,tcov"
UNTRACED_HIT_FIELDS = "query,target,score,bits,evalue,strand,qlen,tlen"


def parse_fields(text: str, of_hits: bool = False) -> list[Field]:
    """Fields from a comma-separated list, those of hits among them or not. Raises `InputError` for unknown, repeated or no names."""
    there_is = [f.name for f in FIELDS.values() if of_hits or not f.of_hits]
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if not wanted:
        raise InputError(f"--fields names no column; there are {', '.join(there_is)}")
    for name in wanted:
        if name not in there_is:
            raise InputError(f"--fields: no column is called {name!r}; there are {', '.join(there_is)}")
        if wanted.count(name) > 1:
            raise InputError(f"--fields names {name!r} twice")
    return [FIELDS[name] for name in wanted]
