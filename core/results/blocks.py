"""Result blocks, from which columns, filters and sinks read their values. A block is a rectangle of pairs or a list of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.identity import fraction, identity_distance, identity_ratio
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results._rows import Alignments, Column, format_block
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    from gpualign.core.alignment.aligned_pairs import PairAlignments
    from gpualign.core.alignment.ambiguity import AmbiguityCounts
    from gpualign.core.alignment.pair_list import NearPairs

T = TypeVar("T", bound=np.generic)

PairIndex: TypeAlias = tuple[int, ...]
"""Index of a pair in the arrays of its block."""


@dataclass(frozen=True)
class Block(ABC):
    """Pairs with their results, in the form that writers use.

    Per-pair arrays have the shape of `scores`. Statistics and values derived from them need a task with `Detail.STATISTICS`; paths need a
    task with `Detail.PATH`.

    identity_definition: identity definition number, see core/alignment/identity.py
    """

    task: Task
    identity_definition: int

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """Scores of the pairs: int32 or int64; edit distances for unit costs."""

    @property
    @abstractmethod
    def statistics_from_engine(self) -> Statistics:
        """Statistics as counted by the engines: pairs of identical letters are matches."""

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics as users see them: ambiguity letters count according to the task's rule, and start and end positions in a reverse
        complement or a translation are converted to positions in the input sequence."""
        return self._ambiguity_rule_statistics

    @property
    def _ambiguity_rule_statistics(self) -> Statistics:
        """Statistics under the task's rule for ambiguity letters; `statistics_from_engine` if the task has no such rule."""
        ambiguous = self.task.ambiguity
        return self.statistics_from_engine if ambiguous is None else self._recount_statistics(ambiguous)

    @abstractmethod
    def _recount_statistics(self, ambiguity_counts: AmbiguityCounts) -> Statistics:
        """Recount the statistics under the rule `ambiguity_counts`."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[Integers, Integers]:
        """Lengths of the queries and of the targets as aligned: int64 with shapes that broadcast to the shape of `scores`."""

    @property
    def input_lengths(self) -> tuple[Integers, Integers]:
        """Lengths of the input records, with the same shapes as `lengths`; in nucleotides if translations were aligned."""
        return self.lengths

    @property
    def record_lengths(self) -> tuple[Integers, Integers]:
        """For each record in `task.queries` and in `task.targets`, the length of its input record: int64[records] each."""
        return self.task.queries.lengths, self.task.targets.lengths

    @property
    @abstractmethod
    def query_record_numbers(self) -> Integers:
        """Index of each query's input record: int64, with the shape of `scores`. A query may be a strand or reading frame of its input
        record. Indices are in ascending order, with repetitions."""

    @property
    @abstractmethod
    def target_record_numbers(self) -> Integers:
        """Index of each target's input record: int64 with a shape that broadcasts to the shape of `scores`."""

    @property
    def is_reverse_complement(self) -> Booleans:
        """Mask of the pairs whose queries are reverse complements of input records, or translations of reverse complements."""
        return np.broadcast_to(np.False_, self.scores.shape)

    @property
    def target_is_reverse_complement(self) -> Booleans:
        """Mask of the pairs whose targets are translations of reverse complements."""
        return np.broadcast_to(np.False_, self.scores.shape)

    @property
    def input_letters_per_letter(self) -> tuple[int, int]:
        """Number of letters of the input queries and targets that one aligned letter represents: 3 for translations, else 1."""
        return 1, 1

    @abstractmethod
    def record_numbers(self, pair: PairIndex) -> tuple[int, int]:
        """Return the indices of a pair's records in `task.queries` and `task.targets`."""

    def significance(self, pair: PairIndex) -> tuple[float, float] | None:
        """Return the bit score and E-value of a pair, or None if they are unknown."""
        return None

    @abstractmethod
    def output_mask(self, mask: Booleans | None) -> Booleans:
        """Return a mask of the pairs to write: the block's selected pairs that are in `mask`. mask: pairs that pass a filter (None: all)"""

    def written_record_numbers(self, mask: Booleans | None) -> tuple[Integers, Integers]:
        """Return the indices of the query and target input records for the pairs to write, in order: int64[pairs] each."""
        queries, targets = self.written_values(mask, self.query_record_numbers, self.target_record_numbers)
        return queries, targets

    def written_values(self, mask: Booleans | None, *values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return `values` of the pairs to write, in order: [pairs] each. values: arrays whose shapes broadcast to that of `scores`"""
        selected = self.output_mask(mask)
        return [np.broadcast_to(one, selected.shape)[selected] for one in values]

    @abstractmethod
    def query_text_column(self, texts: StringColumn) -> Column:
        """Return a column that shows a string for each query. texts: one string per record in `task.queries`."""

    @abstractmethod
    def target_text_column(self, texts: StringColumn) -> Column:
        """Return a column that shows a string for each target. texts: one string per record in `task.targets`."""

    @abstractmethod
    def query_integer_column(self, values: Integers) -> Column:
        """Return a column that shows a number for each query. values: one number per record in `task.queries`."""

    @abstractmethod
    def target_integer_column(self, values: Integers) -> Column:
        """Return a column that shows a number for each target. values: one number per record in `task.targets`."""

    @abstractmethod
    def query_sequence_column(self) -> Column:
        """Return a column with the whole query sequences, as aligned."""

    def strand_column(self) -> Column:
        """Return a column with "-" for pairs in which either the query or the target, but not both, is a reverse complement, else "+"."""
        return Column.constant("+")

    def bit_score_column(self, format_value: Callable[[float], str], unknown_text: str) -> Column:
        """Return a column of bit scores, formatted with `format_value`. unknown_text: text for all pairs if bit scores are unknown"""
        return Column.constant(unknown_text)

    def evalue_column(self, format_value: Callable[[float], str], unknown_text: str) -> Column:
        """Return a column of E-values, formatted with `format_value`. unknown_text: text for all pairs if E-values are unknown"""
        return Column.constant(unknown_text)

    @abstractmethod
    def path_text(self, pair: PairIndex, kind: str) -> str:
        """Return the text that the column `path_column(kind)` contains for one pair."""

    @abstractmethod
    def format_rows(self, columns: Sequence[Column], mask: Booleans | None, threads: int = 1) -> list[bytearray]:
        """Return the rows for the pairs to write, as consecutive pieces of text.

        columns: columns of this block
        mask: pairs that pass a filter (None: all)
        """

    @property
    @abstractmethod
    def _alignments(self) -> Alignments: ...

    @abstractmethod
    def _contiguous_grid(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return per-pair values in the form that the compiled columns expect: [rows][targets], contiguous."""

    @cached_property
    def identity_ratios(self) -> tuple[Integers, Integers]:
        """Numerators and denominators of the identities, under `identity_definition`."""
        return identity_ratio(self.statistics, *self.lengths, self.identity_definition)

    @cached_property
    def identity_fraction(self) -> npt.NDArray[np.float64]:
        """Identity of each pair, from 0 to 1."""
        return fraction(*self.identity_ratios)

    @cached_property
    def identity_distance(self) -> npt.NDArray[np.float64]:
        """1 - identity for each pair."""
        return identity_distance(*self.identity_ratios)

    def coverage_counts(self, side: str) -> tuple[Integers, Integers]:
        """Return, for one sequence of each pair, the number of aligned letters and the total number of letters in the input. side: which
        sequence, "query" or "target"."""
        spans = self.statistics[f"{side}_end"].astype(np.int64) - self.statistics[f"{side}_start"]
        return spans, np.broadcast_to(self.input_lengths[0 if side == "query" else 1], spans.shape)

    def paired_letter_counts(self, covered: CoveredSequence) -> tuple[Integers, Integers]:
        """Return, for each pair, the number of letters of a sequence that are aligned with a letter, equal or not, and the length of the
        sequence, as aligned. covered: which sequence."""
        pairs = self.statistics_from_engine["matches"].astype(np.int64) + self.statistics_from_engine["mismatches"]
        return pairs, np.broadcast_to(covered.letter_counts(*self.lengths), pairs.shape)

    def integer_column(self, values: npt.NDArray[np.signedinteger]) -> Column:
        """Return a column of integers. values: one value per pair, int32 or int64."""
        return Column.pair_numbers(self._contiguous_grid(values))

    def fraction_column(self, values: npt.NDArray[np.float64], decimals: int) -> Column:
        """Return a column of real numbers, rounded to `decimals` decimals. values: one value per pair."""
        return Column.pair_fixed(self._contiguous_grid(values), decimals)

    def ratio_column(self, terms: tuple[Integers, Integers], factor: int, decimals: int) -> Column:
        """Return a column of factor * numerator / denominator per pair, rounded to `decimals` decimals; 0 where the denominator is 0.
        terms: (numerators, denominators)."""
        num, den = map(self._contiguous_grid, terms)
        return Column.pair_ratio(num, den, factor=factor, decimals=decimals)

    def path_column(self, kind: str) -> Column:
        """Return a column of text built from each path. kind: a kind defined in core/results/src/alignments.hpp."""
        return Column.path(self._alignments, kind)


@dataclass(frozen=True)
class RectangleBlock(Block):
    """Results of a rectangle of pairs. Per-pair arrays are [band queries][band targets].

    pairing: selects pairs in the rectangle; values for the remaining pairs are arbitrary
    """

    results: BandResults
    pairing: Pairing = Pairing.ALL

    @property
    def scores(self) -> Scores:
        return self.results.scores

    @property
    def statistics_from_engine(self) -> Statistics:
        assert self.results.statistics is not None  # the detail of every column is requested
        return self.results.statistics

    def _recount_statistics(self, ambiguity_counts: AmbiguityCounts) -> Statistics:
        assert self.results.runs is not None  # likewise
        is_ambiguous = (ambiguity_counts.query_counts[self._queries, None] > 0) | (ambiguity_counts.target_counts[None, self._targets] > 0)
        pairs = np.nonzero(self.output_mask(is_ambiguous))
        recounted: Statistics = self.statistics_from_engine.copy()
        task, queries, targets = self.task, pairs[0] + self._queries.start, pairs[1] + self._targets.start
        if self.results.is_reverse_complement is not None:
            task = replace(task, queries=task.strands.sequences)
            queries = 2 * queries + self.results.is_reverse_complement[pairs]
        recounted[pairs] = _recount_listed_pairs(
            ambiguity_counts, task, (queries, targets), self.statistics_from_engine[pairs], self.results.runs.select(pairs)
        )
        return recounted

    @property
    def lengths(self) -> tuple[Integers, Integers]:
        return self.task.queries.lengths[self._queries, None], self.task.targets.lengths[None, self._targets]

    @property
    def query_record_numbers(self) -> Integers:
        return np.broadcast_to(np.arange(self._queries.start, self._queries.stop)[:, None], self._shape)

    @property
    def target_record_numbers(self) -> Integers:
        return np.arange(self._targets.start, self._targets.stop)[None, :]

    def record_numbers(self, pair: PairIndex) -> tuple[int, int]:
        row, column = pair
        return self._queries.start + row, self._targets.start + column

    def output_mask(self, mask: Booleans | None) -> Booleans:
        selected: Booleans = np.arange(self._shape[1])[None, :] >= np.array(self._first_targets)[:, None]
        return selected if mask is None else selected & mask

    def query_text_column(self, texts: StringColumn) -> Column:
        return Column.query_text(texts.text, texts.offsets[self._queries.start :])

    def target_text_column(self, texts: StringColumn) -> Column:
        return Column.target_text(texts.text, texts.offsets[self._targets.start :])

    def query_integer_column(self, values: Integers) -> Column:
        return Column.query_numbers(values[self._queries])

    def target_integer_column(self, values: Integers) -> Column:
        return Column.target_numbers(values[self._targets])

    def query_sequence_column(self) -> Column:
        queries = self.task.queries
        offsets = queries.offsets[self._queries.start : self._queries.stop + 1]
        return Column.query_text(self.task.alphabet.decoding[queries.codes[offsets[0] : offsets[-1]]], offsets - offsets[0])

    def path_text(self, pair: PairIndex, kind: str) -> str:
        row, column = pair
        return self._alignments.text(row, column, kind).decode()

    def format_rows(self, columns: Sequence[Column], mask: Booleans | None, threads: int = 1) -> list[bytearray]:
        return format_block(columns, 0, *self._shape, self._first_targets, mask, threads)

    @cached_property
    def _alignments(self) -> Alignments:
        assert self.results.runs is not None  # likewise
        none = np.zeros(0, dtype=np.int64)
        return _make_alignments(
            self.task, (self._queries.start, self._targets.start), self.results.runs, self.statistics_from_engine, (none, none)
        )

    def _contiguous_grid(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        return np.ascontiguousarray(values)

    @property
    def _shape(self) -> tuple[int, int]:
        rows, columns = self.scores.shape
        return rows, columns

    @property
    def _queries(self) -> slice:
        return slice(self.results.band.start, self.results.band.start + self._shape[0])

    @property
    def _targets(self) -> slice:
        return slice(self.results.band.first_target, self.results.band.first_target + self._shape[1])

    @cached_property
    def _first_targets(self) -> list[int]:
        """Index, within the block, of the first selected target of each query."""
        targets = self.pairing.first_targets(np.arange(self._queries.start, self._queries.stop, dtype=np.int64))
        firsts: list[int] = np.maximum(targets - self._targets.start, 0).tolist()
        return firsts


@dataclass(frozen=True)
class ListBlock(Block):
    """Results of a list of pairs. Per-pair arrays are [pairs]."""

    @property
    @abstractmethod
    def pair_record_indices(self) -> tuple[Integers, Integers]:
        """Indices of each pair's records in `task.queries` and in `task.targets`: int64[pairs] each."""

    @property
    @abstractmethod
    def _paths(self) -> tuple[Statistics, Runs]:
        """Statistics (`STATISTICS`[pairs]) and paths (`Runs` of shape [pairs]) of the sequences as aligned."""

    def _recount_statistics(self, ambiguity_counts: AmbiguityCounts) -> Statistics:
        queries, targets = self.pair_record_indices
        counted, runs = self._paths
        pairs = np.flatnonzero((ambiguity_counts.query_counts[queries] > 0) | (ambiguity_counts.target_counts[targets] > 0))
        recounted: Statistics = counted.copy()
        recounted[pairs] = _recount_listed_pairs(
            ambiguity_counts, self.task, (queries[pairs], targets[pairs]), counted[pairs], runs.select(pairs)
        )
        return recounted

    @property
    def lengths(self) -> tuple[Integers, Integers]:
        queries, targets = self.pair_record_indices
        return self.task.queries.lengths[queries], self.task.targets.lengths[targets]

    def record_numbers(self, pair: PairIndex) -> tuple[int, int]:
        queries, targets = self.pair_record_indices
        return int(queries[pair]), int(targets[pair])

    def output_mask(self, mask: Booleans | None) -> Booleans:
        return np.ones(len(self.scores), dtype=np.bool_) if mask is None else mask

    def written_values(self, mask: Booleans | None, *values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        per_pair = [np.broadcast_to(one, self.scores.shape) for one in values]
        return per_pair if mask is None else [one[mask] for one in per_pair]

    @property
    def target_record_numbers(self) -> Integers:
        return self.pair_record_indices[1]

    def query_text_column(self, texts: StringColumn) -> Column:
        return Column.listed_text(texts.text, texts.offsets, self.pair_record_indices[0])

    def target_text_column(self, texts: StringColumn) -> Column:
        return Column.listed_text(texts.text, texts.offsets, self.pair_record_indices[1])

    def query_integer_column(self, values: Integers) -> Column:
        return Column.target_numbers(values[self.pair_record_indices[0]])

    def target_integer_column(self, values: Integers) -> Column:
        return Column.target_numbers(values[self.pair_record_indices[1]])

    def query_sequence_column(self) -> Column:
        codes = self.task.queries.gather(self.pair_record_indices[0])
        return text_column(StringColumn(self.task.alphabet.decoding[codes.text], codes.offsets))

    def path_text(self, pair: PairIndex, kind: str) -> str:
        (place,) = pair
        return self._alignments.text(0, place, kind).decode()

    def format_rows(self, columns: Sequence[Column], mask: Booleans | None, threads: int = 1) -> list[bytearray]:
        return format_block(columns, 0, 1, len(self.scores), [0], None if mask is None else self._contiguous_grid(mask), threads)

    @cached_property
    def _alignments(self) -> Alignments:
        counted, runs = self._paths
        grid = Runs(runs.pieces, self._contiguous_grid(runs.starts), self._contiguous_grid(runs.sizes))
        return _make_alignments(self.task, (0, 0), grid, self._contiguous_grid(counted), self.pair_record_indices)

    def _contiguous_grid(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        return np.ascontiguousarray(values)[None, :]


@dataclass(frozen=True)
class NearPairBlock(ListBlock):
    """A list of near pairs.

    pairs: the pairs
    results: their alignments, with statistics and runs if the task's detail includes them
    """

    pairs: NearPairs
    results: PairAlignments

    @property
    def pair_record_indices(self) -> tuple[Integers, Integers]:
        return self.pairs.queries, self.pairs.targets

    @property
    def scores(self) -> Scores:
        return self.results.scores

    @property
    def statistics_from_engine(self) -> Statistics:
        assert self.results.statistics is not None  # the detail of every column is requested
        return self.results.statistics

    @property
    def query_record_numbers(self) -> Integers:
        return self.pairs.queries

    @property
    def _paths(self) -> tuple[Statistics, Runs]:
        assert self.results.runs is not None  # likewise
        return self.statistics_from_engine, self.results.runs


def _recount_listed_pairs(
    ambiguity_counts: AmbiguityCounts, task: Task, records: tuple[Integers, Integers], statistics: Statistics, runs: Runs
) -> Statistics:
    """Recount the statistics of listed pairs under the rule `ambiguity_counts`.

    records: indices in `task.queries` and in `task.targets`, int64[pairs] each
    statistics: statistics as counted by the engines, `STATISTICS`[pairs]
    runs: paths, with shape [pairs]
    """
    from gpualign.core.alignment.recount import recount_statistics

    kinds = ambiguity_counts.column_kinds(task.alphabet)
    return recount_statistics(task.queries, task.targets, records, statistics, runs, kinds, ambiguity_counts.threads)


def text_column(texts: StringColumn) -> Column:
    """Return a column that shows a string for each listed pair. The compiled column treats the pairs as a single row, like the targets of
    one query. texts: one string per listed pair."""
    return Column.target_text(texts.text, texts.offsets)


def _make_alignments(
    task: Task, first_records: tuple[int, int], runs: Runs, statistics: Statistics, records: tuple[Integers, Integers]
) -> Alignments:
    """Return the paths of the pairs in a block, in the form from which text columns are made.

    first_records: indices of the query and target of the first pair, if rows and targets are consecutive records
    runs, statistics: paths and statistics of the pairs, with shape [rows][targets]
    records: indices of the query and target of each pair in a single row; empty if `first_records` applies
    """
    queries, targets = task.queries, task.targets
    return Alignments(
        queries.codes,
        queries.offsets,
        first_records[0],
        targets.codes,
        targets.offsets,
        first_records[1],
        task.alphabet.letters,
        runs.pieces,
        runs.starts,
        runs.sizes,
        np.ascontiguousarray(statistics).view(np.int32).reshape(*statistics.shape, -1),
        *records,
    )
