"""The columns of the table of pairs. A new column is one entry of `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpualign.core._rows import Column
from gpualign.core.blocks import Block, HitBlock
from gpualign.core.engine import Detail
from gpualign.core.errors import InputError
from gpualign.core.identity import columns


def query_ids(block: Block) -> Column:
    """Ids of the queries."""
    return block.query_text(block.task.queries.id_column)


def target_ids(block: Block) -> Column:
    """Ids of the targets."""
    return block.target_text(block.task.targets.id_column)


def query_lengths(block: Block) -> Column:
    """Letters of the queries."""
    return block.query_numbers(block.task.queries.lengths)


def target_lengths(block: Block) -> Column:
    """Letters of the targets."""
    return block.target_numbers(block.task.targets.lengths)


def scores(block: Block) -> Column:
    """Scores, or edit distances."""
    return block.numbers(block.scores)


def statistic(name: str, add: int = 0) -> Callable[[Block], Column]:
    """A field of `STATISTICS`, plus a constant."""
    return lambda block: block.numbers(block.statistics[name] + np.int32(add))


def lengths(block: Block) -> Column:
    """Columns of the alignments."""
    return block.numbers(columns(block.statistics))


def identities(factor: int, decimals: int) -> Callable[[Block], Column]:
    """Identities times `factor`."""
    return lambda block: block.ratio(block.identity, factor, decimals)


def coverage(side: str) -> Callable[[Block], Column]:
    """Fractions of the letters of one side that are aligned."""
    return lambda block: block.ratio(block.covered(side), 1, 6)


def path(kind: str) -> Callable[[Block], Column]:
    """Text made of the path, of a kind that core/src/alignments.hpp names."""
    return lambda block: block.path(kind)


@dataclass(frozen=True)
class Field:
    """name as --fields takes it, what it holds, how a block's column is made, and what of each alignment that needs; of_hits: only
    searches have it."""

    name: str
    meaning: str
    column: Callable[[Block], Column]
    detail: Detail = Detail.SCORE
    of_hits: bool = False


def _of_hits(name: str, meaning: str, column: Callable[[HitBlock], Column]) -> Field:
    """A field that only searches have."""
    return Field(name, meaning, lambda block: column(block.as_hits()), of_hits=True)


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
        _of_hits("strand", "+, or - where the query's reverse complement is aligned", HitBlock.strands),
        _of_hits("bits", "bit score", lambda hits: hits.bits("{:.1f}".format, "nan")),
        _of_hits("evalue", "hits this good that chance would give", lambda hits: hits.evalues("{:.3g}".format, "nan")),
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
