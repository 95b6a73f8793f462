"""Columns of the table of pairs. A new column is one entry of `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.identity import columns, fraction
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block
from gpualign.core.results.hit_blocks import HitBlock, as_hits
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    from gpualign.core.common.arrays import Reals
    from gpualign.core.sequences.sequence_set import SequenceSet


def query_ids(block: Block) -> Column:
    """Return the column of the ids of the queries."""
    return block.query_text(block.task.queries.id_column)


def target_ids(block: Block) -> Column:
    """Return the column of the ids of the targets."""
    return block.target_text(block.task.targets.id_column)


def described(sequences: SequenceSet) -> StringColumn:
    """Return the descriptions of records. Raises `InputError` if they were not read."""
    if sequences.descriptions is None:
        raise InputError(f"{sequences.source}: descriptions of the records are not known; read them from FASTA or FASTQ")
    return sequences.descriptions


def query_lengths(block: Block) -> Column:
    """Return the column of the lengths of the input queries."""
    return block.query_numbers(block.record_lengths[0])


def target_lengths(block: Block) -> Column:
    """Return the column of the lengths of the input targets."""
    return block.target_numbers(block.record_lengths[1])


Values = Callable[[Block], npt.NDArray[Any]]
"""Returns a number for each pair: an array that broadcasts to the shape of `block.scores`."""


def numbers(values: Values) -> Callable[[Block], Column]:
    """Return a function that makes the column of these whole numbers."""
    return lambda block: block.numbers(values(block))


def counted(name: str, add: int = 0) -> Values:
    """Return a function that takes a field of `STATISTICS` and adds a constant."""
    return lambda block: block.statistics[name] + np.int32(add)


def statistic(name: str, add: int = 0) -> Callable[[Block], Column]:
    """Return a function that makes the column of a field of `STATISTICS`, plus a constant."""
    return numbers(counted(name, add))


def lengths(block: Block) -> Column:
    """Return the column of the lengths of the alignments, in columns."""
    return block.numbers(columns(block.statistics))


def identities(factor: int, decimals: int) -> Callable[[Block], Column]:
    """Return a function that makes the column of identities times `factor`."""
    return lambda block: block.ratio(block.identity, factor, decimals)


def coverage(side: str) -> Callable[[Block], Column]:
    """Return a function that makes the column of the fraction of aligned letters. side: "query" or "target"."""
    return lambda block: block.ratio(block.covered(side), 1, DECIMALS)


def path(kind: str) -> Callable[[Block], Column]:
    """Return a function that makes the column of text of paths. kind: one that core/results/src/alignments.hpp names."""
    return lambda block: block.path(kind)


@dataclass(frozen=True)
class Field:
    """A column that users can select.

    name: by which users select it
    meaning: description of what it holds
    column: makes the column of a block
    detail: how much of each alignment the column needs
    of_hits: only searches have it
    values: its numbers, NaN for missing ones; None for text
    dtype: type of its numbers; None for text
    side: "query" or "target" if the text is the id of that record
    quoted: makes the column for csv; None: the column is the same
    has_letters: the text consists of letters of a record
    """

    name: str
    meaning: str
    column: Callable[[Block], Column]
    detail: Detail = Detail.SCORE
    of_hits: bool = False
    values: Values | None = None
    dtype: Callable[[Task], np.dtype[Any]] | None = None
    side: str | None = None
    quoted: Callable[[Block], Column] | None = None
    has_letters: bool = False

    def take(self, block: Block, mask: Booleans | None) -> npt.NDArray[Any] | list[str]:
        """Return the values of the pairs that are written, in order: an array of numbers, or texts.

        mask: the pairs that pass a filter (None: all)
        """
        if self.values is not None:
            return np.broadcast_to(self.values(block), block.scores.shape)[block.selected(mask)]
        return b"".join(block.rows([self.column(block)], mask)).decode("utf-8", "surrogateescape").split("\n")[:-1]

    def take_text(self, block: Block, mask: Booleans | None) -> StringColumn:
        """Return the texts of the pairs that are written, as `take` does, but not decoded."""
        rows = b"".join(block.rows([self.column(block)], mask))
        ends = np.flatnonzero(np.frombuffer(rows, dtype=np.uint8) == ord("\n"))
        text = rows.translate(None, b"\n")  # no text contains line ends
        return StringColumn(np.frombuffer(text, dtype=np.uint8), np.concatenate(([0], ends - np.arange(len(ends)))))


DECIMALS = 6
"""Decimals of identities and other fractions."""

_STATISTICS, _PATH = Detail.STATISTICS, Detail.PATH


def _type(name: str) -> Callable[[Task], np.dtype[Any]]:
    return lambda task: np.dtype(name)


_INT32, _INT64, _REAL = map(_type, ("int32", "int64", "float64"))


def _count(name: str, meaning: str, values: Values, dtype: Callable[[Task], np.dtype[Any]] = _INT32) -> Field:
    """Return a field of whole numbers."""
    return Field(name, meaning, numbers(values), _STATISTICS, values=values, dtype=dtype)


def _result(name: str, meaning: str) -> Field:
    """Return a field of the score or distance that engines compute for every pair."""
    return Field(name, meaning, numbers(lambda b: b.scores), values=lambda b: b.scores, dtype=lambda task: task.dtype)


def _text(
    name: str, meaning: str, along: Callable[[Block], Callable[[StringColumn], Column]], texts: Callable[[Block], StringColumn]
) -> Field:
    """Return a field of texts that belong to records."""
    return Field(name, meaning, lambda block: along(block)(texts(block)), quoted=lambda block: along(block)(texts(block).quoted))


def _coverage(name: str, meaning: str, side: str) -> Field:
    return Field(name, meaning, coverage(side), _STATISTICS, values=lambda block: fraction(*block.covered(side)), dtype=_REAL)


def _of_hits(name: str, meaning: str, column: Callable[[HitBlock], Column], values: Callable[[HitBlock], Reals]) -> Field:
    """Return a field that only searches have."""
    return Field(
        name, meaning, lambda block: column(as_hits(block)), of_hits=True, values=lambda block: values(as_hits(block)), dtype=_REAL
    )


def _frame(name: str, meaning: str, side: int) -> Field:
    """Return a field of reading frames."""

    def frames(block: Block) -> npt.NDArray[np.int32]:
        return as_hits(block).frames[side].astype(np.int32)

    return Field(name, meaning, numbers(frames), of_hits=True, values=frames, dtype=_INT32)


FIELDS: dict[str, Field] = {
    f.name: f
    for f in (
        Field("query", "id of the query", query_ids, side="query", quoted=lambda b: b.query_text(b.task.queries.id_column.quoted)),
        Field("target", "id of the target", target_ids, side="target", quoted=lambda b: b.target_text(b.task.targets.id_column.quoted)),
        _result("score", "alignment score, or edit distance"),
        Field(
            "distance",
            "1 - identity, or edit distance",
            lambda b: b.fractions(b.distance_fraction, DECIMALS),
            _STATISTICS,
            values=lambda b: b.distance_fraction,
            dtype=_REAL,
        ),
        _text("qtitle", "what follows the query's id in its file", lambda b: b.query_text, lambda b: described(b.task.queries)),
        _text("ttitle", "what follows the target's id in its file", lambda b: b.target_text, lambda b: described(b.task.targets)),
        Field("qlen", "letters of the query", query_lengths, values=lambda b: b.pair_lengths[0], dtype=_INT64),
        Field("tlen", "letters of the target", target_lengths, values=lambda b: b.pair_lengths[1], dtype=_INT64),
        Field(
            "identity",
            "fraction of equal letters, by the definition of identity",
            identities(1, DECIMALS),
            _STATISTICS,
            values=lambda b: b.identity_fraction,
            dtype=_REAL,
        ),
        _count("matches", "columns with equal letters", counted("matches")),
        _count("mismatches", "columns with unequal letters", counted("mismatches")),
        _count("length", "columns of the alignment", lambda b: columns(b.statistics), _INT64),
        _count("gap_opens", "gaps", counted("gap_opens")),
        _count("gaps", "letters in gaps", counted("gaps")),
        Field("cigar", "runs of = (equal), X (unequal), I (query only), D (target only)", path("cigar"), _PATH),
        Field("cigar_m", "the same with M for = and X", path("cigar_m"), _PATH),
        _count("qstart", "first aligned letter of the query, from 1", counted("query_start", 1)),
        _count("qend", "last aligned letter of the query", counted("query_end")),
        _count("tstart", "first aligned letter of the target, from 1", counted("target_start", 1)),
        _count("tend", "last aligned letter of the target", counted("target_end")),
        Field("qaln", "aligned part of the query, with gaps", path("query"), _PATH, has_letters=True),
        Field("taln", "aligned part of the target, with gaps", path("target"), _PATH, has_letters=True),
        _coverage("qcov", "fraction of the query that is aligned", "query"),
        _coverage("tcov", "fraction of the target that is aligned", "target"),
        Field(
            "coverage",
            "fraction of the longer sequence that is aligned with letters of the other",
            lambda b: b.ratio(b.paired, 1, DECIMALS),
            _STATISTICS,
            values=lambda b: fraction(*b.paired),
            dtype=_REAL,
        ),
        Field("strand", "+, or - where the reverse complement of one of the two is aligned", lambda b: b.strands()),
        _frame("qframe", "reading frame of the query, 1 to 3 or -1 to -3; 0 where it is not translated", 0),
        _frame("tframe", "reading frame of the target", 1),
        _of_hits("bits", "bit score", lambda hits: hits.bits("{:.1f}".format, "nan"), HitBlock.bit_scores),
        _of_hits("evalue", "hits this good that chance would give", lambda hits: hits.evalues("{:.3g}".format, "nan"), HitBlock.chances),
    )
}

_EDITS = _result("distance", "edit distance")
"""The column `distance` if scores are edit distances."""

HIT_FIELDS = "query,target,score,bits,evalue,strand,identity,length,qstart,qend,tstart,tend,qcov,tcov"
UNTRACED_HIT_FIELDS = "query,target,score,bits,evalue,strand,qlen,tlen"


def hit_fields(traced: bool, translated: bool) -> str:
    """Default columns of a hit table. Translated searches show reading frames instead of the strand."""
    shown = HIT_FIELDS if traced else UNTRACED_HIT_FIELDS
    return shown.replace("strand", "qframe,tframe") if translated else shown


def default_fields(
    edit: bool, min_identity: bool = False, max_distance: bool = False, strand: bool = False, min_coverage: bool = False
) -> str:
    """Default columns of a table of pairs: score or distance, the strand if there are two, and the values to which the thresholds apply."""
    shown = ["query", "target", "distance" if edit else "score"]
    if max_distance and not edit:
        shown.append("distance")
    if strand:
        shown.insert(3, "strand")
    return ",".join([*shown, *(["identity"] if min_identity else []), *(["coverage"] if min_coverage else [])])


def fields_needing_descriptions(text: str | None) -> set[str]:
    """Return the names in `text`, a comma-separated list of fields, whose columns need the descriptions of records."""
    return {"qtitle", "ttitle"} & {name.strip() for name in (text or "").split(",")}


def detail_of(fields: Sequence[Field]) -> Detail:
    """Return how much of each alignment these fields need together."""
    return max((f.detail for f in fields), key=list(Detail).index)


def parse_fields(text: str, of_hits: bool = False, edit: bool = False) -> list[Field]:
    """Parse a comma-separated list of fields.

    of_hits: allow fields that only searches have
    edit: scores are edit distances

    Raises `InputError` for unknown, repeated or no names.
    """
    available = [f.name for f in FIELDS.values() if of_hits or not f.of_hits]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{parameter('fields')} names no column; there are {', '.join(available)}")
    for name in names:
        if name not in available:
            others = f"there are {', '.join(available)}{did_you_mean(name, available)}"
            raise InputError(f"{parameter('fields')}: no column is called {name!r}; {others}")
        if names.count(name) > 1:
            raise InputError(f"{parameter('fields')} names {name!r} twice")
    known = {**FIELDS, "distance": _EDITS} if edit else FIELDS
    return [known[name] for name in names]
