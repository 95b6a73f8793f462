"""Columns of the pair table. To add a column, add an entry to `FIELDS`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.identity import column_counts, fraction
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.arrays import Booleans
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.suggestions import did_you_mean
from gpualign.core.common.units import FRACTION_DECIMALS
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block, NearPairBlock, text_column
from gpualign.core.results.hit_blocks import HitBlock, as_hit_block
from gpualign.core.sequences.annotations import TITLE_KEYS
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    from gpualign.core.common.arrays import Reals
    from gpualign.core.sequences.sequence_set import SequenceSet


def query_id_column(block: Block) -> Column:
    """Return the column of query ids."""
    return block.query_text_column(block.task.queries.id_column)


def target_id_column(block: Block) -> Column:
    """Return the column of target ids."""
    return block.target_text_column(block.task.targets.id_column)


def descriptions_of(sequences: SequenceSet) -> StringColumn:
    """Return the records' descriptions. Raises `InputError` if descriptions were not read."""
    if sequences.descriptions is None:
        raise InputError(f"{sequences.source}: descriptions of the records are not known; read them from FASTA or FASTQ")
    return sequences.descriptions


def query_length_column(block: Block) -> Column:
    """Return the column with the length of each query's input record."""
    return block.query_integer_column(block.record_lengths[0])


def target_length_column(block: Block) -> Column:
    """Return the column with the length of each target's input record."""
    return block.target_integer_column(block.record_lengths[1])


PairValueGetter = Callable[[Block], npt.NDArray[Any]]
"""Function that returns a number for each pair, as an array that broadcasts to the shape of `block.scores`."""


def integer_column_maker(get_values: PairValueGetter) -> Callable[[Block], Column]:
    """Return a function that builds an integer column from the values that `get_values` returns."""
    return lambda block: block.integer_column(get_values(block))


def statistic_getter(name: str, offset: int = 0) -> PairValueGetter:
    """Return a function that returns the statistic `name` of each pair, with `offset` added to every value."""
    return lambda block: block.statistics[name] + np.int32(offset)


def statistic_column_maker(name: str, offset: int = 0) -> Callable[[Block], Column]:
    """Return a function that builds a column from the statistic `name`, with `offset` added to every value."""
    return integer_column_maker(statistic_getter(name, offset))


def alignment_length_column(block: Block) -> Column:
    """Return the column of alignment lengths: the number of letter pairs plus the number of gap letters."""
    return block.integer_column(column_counts(block.statistics))


def identity_column_maker(factor: int, decimals: int) -> Callable[[Block], Column]:
    """Return a function that builds the column of identities, multiplied by `factor` and rounded to `decimals` decimals."""
    return lambda block: block.ratio_column(block.identity_ratios, factor, decimals)


def coverage_column_maker(side: str) -> Callable[[Block], Column]:
    """Return a function that builds the coverage column: for each pair, the fraction of one sequence's letters that are aligned. side:
    which sequence, "query" or "target"."""
    return lambda block: block.ratio_column(block.coverage_counts(side), 1, FRACTION_DECIMALS)


def path_column_maker(kind: str) -> Callable[[Block], Column]:
    """Return a function that builds the column of path text. kind: a kind defined in core/results/src/alignments.hpp."""
    return lambda block: block.path_column(kind)


@dataclass(frozen=True)
class Field:
    """A column that users can select.

    name: name with which users select the column
    meaning: description of the contents
    make_column: builds the column for a block
    detail: how much of each alignment the column needs
    hits_only: whether the column exists only in searches
    get_values: returns the column's numbers, NaN if missing; None for text
    dtype_for_task: returns the dtype of the numbers; None for text
    side: "query" or "target" if the text is the id of that record; else None
    make_quoted_column: builds the column for CSV; None if the column is the same as in other tables
    has_letters: whether the text consists of sequence letters
    """

    name: str
    meaning: str
    make_column: Callable[[Block], Column]
    detail: Detail = Detail.SCORE
    hits_only: bool = False
    get_values: PairValueGetter | None = None
    dtype_for_task: Callable[[Task], np.dtype[Any]] | None = None
    side: str | None = None
    make_quoted_column: Callable[[Block], Column] | None = None
    has_letters: bool = False

    def values_to_write(self, block: Block, mask: Booleans | None) -> npt.NDArray[Any] | list[str]:
        """Return the values for the pairs to write, in order: an array of numbers, or a list of strings.

        mask: pairs that pass a filter (None: all)
        """
        if self.get_values is not None:
            return block.written_values(mask, self.get_values(block))[0]
        return b"".join(block.format_rows([self.make_column(block)], mask)).decode("utf-8", "surrogateescape").split("\n")[:-1]

    def texts_to_write(self, block: Block, mask: Booleans | None, threads: int = 1) -> StringColumn:
        """Return the column's text for each pair to write, in order, as encoded strings. mask: pairs that pass a filter (None: all)."""
        rows = b"".join(block.format_rows([self.make_column(block)], mask, threads))
        ends = np.flatnonzero(np.frombuffer(rows, dtype=np.uint8) == ord("\n"))
        text = rows.translate(None, b"\n")  # no text contains line ends
        return StringColumn(np.frombuffer(text, dtype=np.uint8), np.concatenate(([0], ends - np.arange(len(ends)))))


_STATISTICS, _PATH = Detail.STATISTICS, Detail.PATH


def _fixed_dtype(name: str) -> Callable[[Task], np.dtype[Any]]:
    return lambda task: np.dtype(name)


_INT32, _INT64, _REAL = map(_fixed_dtype, ("int32", "int64", "float64"))


def _integer_field(name: str, meaning: str, get_values: PairValueGetter, dtype_for_task: Callable[[Task], np.dtype[Any]] = _INT32) -> Field:
    """Return a field of integers that are derived from statistics."""
    return Field(name, meaning, integer_column_maker(get_values), _STATISTICS, get_values=get_values, dtype_for_task=dtype_for_task)


def _result_field(name: str, meaning: str) -> Field:
    """Return a field for the score or distance, which engines compute for every pair."""
    return Field(
        name, meaning, integer_column_maker(lambda b: b.scores), get_values=lambda b: b.scores, dtype_for_task=lambda task: task.score_dtype
    )


def _text_field(
    name: str,
    meaning: str,
    text_column_maker: Callable[[Block], Callable[[StringColumn], Column]],
    get_texts: Callable[[Block], StringColumn],
) -> Field:
    """Return a field for text that belongs to a record, such as its description.

    text_column_maker: maps a block to the function that builds a column from the strings
    get_texts: returns the strings, one per record
    """
    return Field(
        name,
        meaning,
        lambda block: text_column_maker(block)(get_texts(block)),
        make_quoted_column=lambda block: text_column_maker(block)(get_texts(block).csv_quoted),
    )


def _coverage_field(name: str, meaning: str, side: str) -> Field:
    return Field(
        name,
        meaning,
        coverage_column_maker(side),
        _STATISTICS,
        get_values=lambda block: fraction(*block.coverage_counts(side)),
        dtype_for_task=_REAL,
    )


def _paired_field(name: str, covered: CoveredSequence) -> Field:
    """Return a field for the fraction of a sequence's letters that are aligned with letters of the other sequence.

    name: name of the sequence in the description
    covered: which sequence
    """
    return Field(
        covered.field_name,
        f"fraction of the {name} that is aligned with letters of the other",
        lambda block: block.ratio_column(block.paired_letter_counts(covered), 1, FRACTION_DECIMALS),
        _STATISTICS,
        get_values=lambda block: fraction(*block.paired_letter_counts(covered)),
        dtype_for_task=_REAL,
    )


def _hit_field(name: str, meaning: str, make_column: Callable[[HitBlock], Column], get_values: Callable[[HitBlock], Reals]) -> Field:
    """Return a field that exists only in searches."""
    return Field(
        name,
        meaning,
        lambda block: make_column(as_hit_block(block)),
        hits_only=True,
        get_values=lambda block: get_values(as_hit_block(block)),
        dtype_for_task=_REAL,
    )


def _frame_field(name: str, meaning: str, side: int) -> Field:
    """Return a field for reading frames. side: 0 for the query, 1 for the target."""

    def frames(block: Block) -> npt.NDArray[np.int32]:
        return as_hit_block(block).frames[side].astype(np.int32)

    return Field(name, meaning, integer_column_maker(frames), hits_only=True, get_values=frames, dtype_for_task=_INT32)


def _hsp_field() -> Field:
    """Return the field for the number of an alignment among those of its pair."""

    def numbers(block: Block) -> npt.NDArray[np.int32]:
        return as_hit_block(block).hsp_numbers.astype(np.int32)

    meaning = "number of the alignment among those of its query and target, best first"
    return Field("hsp", meaning, integer_column_maker(numbers), hits_only=True, get_values=numbers, dtype_for_task=_INT32)


def annotation_field(name: str, meaning: str = "column of the table of annotations") -> Field:
    """Return a field for an annotation of targets. name: its name"""

    def texts(block: Block) -> StringColumn:
        hits = as_hit_block(block)
        return hits.frame_sets.targets.annotations[name].texts_of(hits.target_record_numbers)

    return Field(
        name,
        meaning,
        lambda block: text_column(texts(block)),
        hits_only=True,
        make_quoted_column=lambda block: text_column(texts(block).csv_quoted),
    )


def part_score_fields(names: Sequence[str]) -> list[Field]:
    """Return the fields for the parts of scores (`PairAlignments.part_scores`). names: their names, in the order of the parts"""

    def field_of(part: int, name: str) -> Field:
        def parts(block: Block) -> npt.NDArray[np.int64]:
            assert isinstance(block, NearPairBlock)
            assert block.results.part_scores is not None  # the job that names the parts makes them
            return block.results.part_scores[:, part]

        return Field(name, f"part {part + 1} of the distance", integer_column_maker(parts), get_values=parts, dtype_for_task=_INT64)

    return [field_of(part, name) for part, name in enumerate(names)]


FIELDS: dict[str, Field] = {
    f.name: f
    for f in (
        Field(
            "query",
            "id of the query",
            query_id_column,
            side="query",
            make_quoted_column=lambda b: b.query_text_column(b.task.queries.id_column.csv_quoted),
        ),
        Field(
            "target",
            "id of the target",
            target_id_column,
            side="target",
            make_quoted_column=lambda b: b.target_text_column(b.task.targets.id_column.csv_quoted),
        ),
        _result_field("score", "alignment score, or edit distance"),
        Field(
            "distance",
            "1 - identity, or edit distance",
            lambda b: b.fraction_column(b.identity_distance, FRACTION_DECIMALS),
            _STATISTICS,
            get_values=lambda b: b.identity_distance,
            dtype_for_task=_REAL,
        ),
        _text_field(
            "qtitle", "what follows the query's id in its file", lambda b: b.query_text_column, lambda b: descriptions_of(b.task.queries)
        ),
        _text_field(
            "ttitle", "what follows the target's id in its file", lambda b: b.target_text_column, lambda b: descriptions_of(b.task.targets)
        ),
        Field("qlen", "letters of the query", query_length_column, get_values=lambda b: b.input_lengths[0], dtype_for_task=_INT64),
        Field("tlen", "letters of the target", target_length_column, get_values=lambda b: b.input_lengths[1], dtype_for_task=_INT64),
        Field(
            "identity",
            "fraction of equal letters, by the definition of identity",
            identity_column_maker(1, FRACTION_DECIMALS),
            _STATISTICS,
            get_values=lambda b: b.identity_fraction,
            dtype_for_task=_REAL,
        ),
        _integer_field("matches", "columns with equal letters", statistic_getter("matches")),
        _integer_field("mismatches", "columns with unequal letters", statistic_getter("mismatches")),
        _integer_field("length", "columns of the alignment", lambda b: column_counts(b.statistics), _INT64),
        _integer_field("gap_opens", "gaps", statistic_getter("gap_opens")),
        _integer_field("gaps", "letters in gaps", statistic_getter("gaps")),
        Field("cigar", "runs of = (equal), X (unequal), I (query only), D (target only)", path_column_maker("cigar"), _PATH),
        Field("cigar_m", "the same with M for = and X", path_column_maker("cigar_m"), _PATH),
        _integer_field("qstart", "first aligned letter of the query, from 1", statistic_getter("query_start", 1)),
        _integer_field("qend", "last aligned letter of the query", statistic_getter("query_end")),
        _integer_field("tstart", "first aligned letter of the target, from 1", statistic_getter("target_start", 1)),
        _integer_field("tend", "last aligned letter of the target", statistic_getter("target_end")),
        Field("qaln", "aligned part of the query, with gaps", path_column_maker("query"), _PATH, has_letters=True),
        Field("taln", "aligned part of the target, with gaps", path_column_maker("target"), _PATH, has_letters=True),
        _coverage_field("qcov", "fraction of the query that is aligned", "query"),
        _coverage_field("tcov", "fraction of the target that is aligned", "target"),
        _paired_field("longer sequence", CoveredSequence.BOTH),
        _paired_field("query", CoveredSequence.QUERY),
        _paired_field("target", CoveredSequence.TARGET),
        _paired_field("shorter sequence", CoveredSequence.SHORTER),
        Field("strand", "+, or - where the reverse complement of one of the two is aligned", lambda b: b.strand_column()),
        _frame_field("qframe", "reading frame of the query, 1 to 3 or -1 to -3; 0 where it is not translated", 0),
        _frame_field("tframe", "reading frame of the target", 1),
        _hsp_field(),
        annotation_field("organism", "organism of the target: OS= in the titles of UniProt"),
        annotation_field("taxid", "NCBI number of the target's organism: OX= in the titles of UniProt"),
        annotation_field("gene", "gene of the target: GN= in the titles of UniProt"),
        _hit_field("bits", "bit score", lambda hits: hits.bit_score_column("{:.1f}".format, "nan"), lambda hits: hits.bit_scores),
        _hit_field(
            "evalue",
            "hits this good that chance would give",
            lambda hits: hits.evalue_column("{:.3g}".format, "nan"),
            lambda hits: hits.evalues,
        ),
    )
}

_FOREIGN_NAMES = {
    **{"qseqid": "query", "sseqid": "target", "slen": "tlen", "sstart": "tstart", "send": "tend", "stitle": "ttitle"},
    **{"pident": "identity", "nident": "matches", "mismatch": "mismatches", "gapopen": "gap_opens", "bitscore": "bits"},
    **{"qcovs": "qcov", "qcovhsp": "qcov", "qseq": "qaln", "sseq": "taln", "sstrand": "strand"},
    **{"id": "identity", "fident": "identity", "alnlen": "length", "caln": "cigar", "ql": "qlen", "tl": "tlen", "raw": "score"},
}
"""Columns of BLAST, vsearch and MMseqs2, and the fields with nearly the same content."""

_EDIT_DISTANCE_FIELD = _result_field("distance", "edit distance")
"""Field for the column `distance` if scores are edit distances."""

HIT_FIELDS = "query,target,score,bits,evalue,strand,identity,length,qstart,qend,tstart,tend,qcov,tcov"
UNTRACED_HIT_FIELDS = "query,target,score,bits,evalue,strand,qlen,tlen"


def hit_fields(traced: bool, translated: bool, has_hsps: bool) -> str:
    """Return the default columns of a hit table, as a comma-separated list. Translated searches show reading frames instead of the strand.

    traced: whether paths of hits are known
    has_hsps: whether a query may have several alignments with a target
    """
    shown = HIT_FIELDS if traced else UNTRACED_HIT_FIELDS
    if has_hsps:
        shown = shown.replace("target,", "target,hsp,", 1)
    return shown.replace("strand", "qframe,tframe") if translated else shown


def default_fields(
    edit_distance: bool,
    has_min_identity: bool = False,
    has_max_distance: bool = False,
    has_strands: bool = False,
    coverage_field: str | None = None,
) -> str:
    """Return the default columns of a pair table, as a comma-separated list: score or distance, the strand if both strands are aligned, and
    the values to which thresholds apply. coverage_field: column of the coverage to which a threshold applies; None: there is none"""
    shown = ["query", "target", "distance" if edit_distance else "score"]
    if has_max_distance and not edit_distance:
        shown.append("distance")
    if has_strands:
        shown.insert(3, "strand")
    return ",".join([*shown, *(["identity"] if has_min_identity else []), *([coverage_field] if coverage_field else [])])


def description_fields(text: str | None) -> set[str]:
    """Return those fields in `text`, a comma-separated list, whose columns need record descriptions."""
    return {"qtitle", "ttitle"} & {name.strip() for name in (text or "").split(",")}


def detail_of(fields: Sequence[Field]) -> Detail:
    """Return how much of each alignment must be computed to show all of these fields."""
    return max((f.detail for f in fields), key=list(Detail).index)


def annotation_names(text: str | None, titles: Collection[str]) -> list[str]:
    """Return those fields in `text`, a comma-separated list, that show annotations.

    titles: titles of the columns of a table of annotations
    """
    names = [name.strip() for name in (text or "").split(",")]
    return [name for name in names if name in TITLE_KEYS or (name in titles and name not in FIELDS)]


def parse_fields(
    text: str,
    allow_hits_only: bool = False,
    edit_distance: bool = False,
    annotations: Collection[str] = (),
    parts: Sequence[Field] = (),
) -> list[Field]:
    """Parse a comma-separated list of fields.

    allow_hits_only: whether fields that exist only in searches are allowed
    edit_distance: whether scores are edit distances
    annotations: names of further fields, which show annotations of targets
    parts: fields for the parts of distances; if there are any, only the ids and distances can be shown besides

    Raises `InputError` for unknown or repeated names, or if there are no names.
    """
    available = [f.name for f in FIELDS.values() if allow_hits_only or not f.hits_only]
    available += [name for name in annotations if name not in FIELDS]
    if parts:
        available = ["query", "target", "distance", *(f.name for f in parts)]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"{parameter('fields')} names no column; there are {', '.join(available)}")
    for name in names:
        if name not in available:
            own_name = _FOREIGN_NAMES.get(name)
            renamed = f" (it is {own_name} here)" if own_name in available else ""
            others = f"there are {', '.join(available)}{'' if renamed else did_you_mean(name, available)}"
            raise InputError(f"{parameter('fields')}: no column is called {name!r}{renamed}; {others}")
        if names.count(name) > 1:
            raise InputError(f"{parameter('fields')} names {name!r} twice")
    known = {**FIELDS, "distance": _EDIT_DISTANCE_FIELD, **{f.name: f for f in parts}} if edit_distance else FIELDS
    return [known[name] if name in known else annotation_field(name) for name in names]
