"""The columns of the table of pairs. A new column is one entry of `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gpualign.core._rows import Alignments, Column
from gpualign.core.engine import Detail, Statistics, Task
from gpualign.core.errors import InputError
from gpualign.core.identity import Integers, columns, fraction, identity
from gpualign.core.sinks.base import BandResults


@dataclass(frozen=True)
class BlockData:
    """What a column may draw on for one block of pairs: the task, and results [queries from first_query on][targets of the band]."""

    task: Task
    first_query: int
    results: BandResults
    identity_definition: int

    @property
    def first_target(self) -> int:
        return self.results.band.first_target

    @property
    def statistics(self) -> Statistics:
        assert self.results.statistics is not None  # the detail of every column is asked for
        return self.results.statistics

    @cached_property
    def identity(self) -> tuple[Integers, Integers]:
        """Numerators and denominators."""
        rows, targets = self.results.scores.shape
        queries = self.task.queries.lengths[self.first_query : self.first_query + rows]
        return identity(
            self.statistics, queries, self.task.targets.lengths[self.first_target : self.first_target + targets], self.identity_definition
        )

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
            self.statistics.view(np.int32).reshape(*self.statistics.shape, -1),
        )


def query_ids(block: BlockData) -> Column:
    """Ids of the queries."""
    ids = block.task.queries.id_column
    return Column.query_text(ids.text, ids.offsets)


def target_ids(block: BlockData) -> Column:
    """Ids of the targets."""
    ids = block.task.targets.id_column
    return Column.target_text(ids.text, ids.offsets[block.first_target :])


def query_lengths(block: BlockData) -> Column:
    """Letters of the queries."""
    return Column.query_numbers(block.task.queries.lengths)


def target_lengths(block: BlockData) -> Column:
    """Letters of the targets."""
    return Column.target_numbers(block.task.targets.lengths[block.first_target :])


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


def path(kind: str) -> Callable[[BlockData], Column]:
    """Text made of the path, of a kind that core/src/alignments.hpp names."""
    return lambda block: Column.path(block.alignments, kind)


@dataclass(frozen=True)
class Field:
    """name as --fields takes it, what it holds, how a block's column is made, and what of each alignment that needs."""

    name: str
    meaning: str
    column: Callable[[BlockData], Column]
    detail: Detail = Detail.SCORE


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
    )
}

DEFAULT_FIELDS = "query,target,score"


def parse_fields(text: str) -> list[Field]:
    """Fields from a comma-separated list. Raises `InputError` for unknown, repeated or no names."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if not wanted:
        raise InputError(f"--fields names no column; there are {', '.join(FIELDS)}")
    for name in wanted:
        if name not in FIELDS:
            raise InputError(f"--fields: no column is called {name!r}; there are {', '.join(FIELDS)}")
        if wanted.count(name) > 1:
            raise InputError(f"--fields names {name!r} twice")
    return [FIELDS[name] for name in wanted]
