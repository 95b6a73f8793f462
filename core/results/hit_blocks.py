"""Blocks of pairs whose queries or targets are strands or translations of input records."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers, Scores
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results._rows import Column
from gpualign.core.results.blocks import Block, ListBlock, PairIndex, text_column
from gpualign.core.sequences.string_column import StringColumn

if TYPE_CHECKING:
    from gpualign.core.alignment.aligned_pairs import PairAlignments
    from gpualign.core.alignment.hits import Hits
    from gpualign.core.common.arrays import Reals
    from gpualign.core.scoring.evalues import SearchSpace
    from gpualign.core.sequences.strands_frames import QueryTargetFrames


@dataclass(frozen=True)
class FrameBlock(ListBlock):
    """Listed pairs of strands or translations of input records.

    frame_sets: strands or frames of the queries and of the targets
    """

    frame_sets: QueryTargetFrames

    @cached_property
    def statistics(self) -> Statistics:
        counted = self._ambiguity_rule_statistics
        if self.input_letters_per_letter == (1, 1) and not self.is_reverse_complement.any():
            return counted
        placed: Statistics = counted.copy()
        for side, frames, numbers in zip(
            ("query", "target"), (self.frame_sets.queries, self.frame_sets.targets), self.pair_record_indices, strict=True
        ):
            starts, ends = frames.record_intervals(numbers, counted[f"{side}_start"], counted[f"{side}_end"])
            placed[f"{side}_start"], placed[f"{side}_end"] = starts, ends
        return placed

    @property
    def query_record_numbers(self) -> Integers:
        return self.frame_sets.queries.record_numbers(self.pair_record_indices[0])

    @property
    def target_record_numbers(self) -> Integers:
        return self.frame_sets.targets.record_numbers(self.pair_record_indices[1])

    @property
    def input_lengths(self) -> tuple[Integers, Integers]:
        queries, targets = self.record_lengths
        return queries[self.pair_record_indices[0]], targets[self.pair_record_indices[1]]

    @property
    def record_lengths(self) -> tuple[Integers, Integers]:
        return self.frame_sets.queries.lengths, self.frame_sets.targets.lengths

    @cached_property
    def is_reverse_complement(self) -> Booleans:
        return self.frame_sets.queries.is_reverse_complement(self.pair_record_indices[0])

    @cached_property
    def target_is_reverse_complement(self) -> Booleans:
        return self.frame_sets.targets.is_reverse_complement(self.pair_record_indices[1])

    @property
    def input_letters_per_letter(self) -> tuple[int, int]:
        return self.frame_sets.queries.input_letters_per_letter, self.frame_sets.targets.input_letters_per_letter

    @cached_property
    def frames(self) -> tuple[Integers, Integers]:
        """Reading frames of the queries and of the targets, -3 to 3: int64[pairs] each; 0 if the records are not translated."""
        of_queries, of_targets = self.frame_sets.queries, self.frame_sets.targets
        none = np.zeros(len(self.scores), dtype=np.int64)
        queries, targets = self.pair_record_indices
        return (
            of_queries.frames_of(queries) if of_queries.is_translated else none,
            of_targets.frames_of(targets) if of_targets.is_translated else none,
        )

    def strand_column(self) -> Column:
        opposite = self.is_reverse_complement != self.target_is_reverse_complement
        return text_column(StringColumn.from_strings(["-" if minus else "+" for minus in opposite.tolist()]))


@dataclass(frozen=True)
class BetterStrandBlock(FrameBlock):
    """Listed pairs, each aligned on its better strand.

    queries: index of the better strand of each pair's query in `task.queries`, which holds strands, int64[pairs]
    targets: index of each pair's target in `task.targets`, int64[pairs]
    results: alignments of these strands with the targets
    """

    queries: Integers
    targets: Integers
    results: PairAlignments

    @property
    def pair_record_indices(self) -> tuple[Integers, Integers]:
        return self.queries, self.targets

    @property
    def scores(self) -> Scores:
        return self.results.scores

    @property
    def statistics_from_engine(self) -> Statistics:
        assert self.results.statistics is not None  # the detail of every column is requested
        return self.results.statistics

    @property
    def _paths(self) -> tuple[Statistics, Runs]:
        assert self.results.runs is not None  # likewise
        return self.statistics_from_engine, self.results.runs


@dataclass(frozen=True)
class HitBlock(FrameBlock):
    """Search hits.

    hits: the hits
    search_space: search space for E-values; None: E-values are unknown
    traced_paths: statistics (`STATISTICS`[hits]) and paths (`Runs` of shape [hits]) of the hits; None if no column needs them
    hsp_numbers: number of each alignment among those of its query and target, from 1, int64[hits]
    """

    hits: Hits
    search_space: SearchSpace | None
    traced_paths: tuple[Statistics, Runs] | None
    hsp_numbers: Integers

    @property
    def pair_record_indices(self) -> tuple[Integers, Integers]:
        return self.hits.queries, self.hits.targets

    @property
    def scores(self) -> Scores:
        return self.hits.whole_points

    @property
    def statistics_from_engine(self) -> Statistics:
        return self._paths[0]

    def significance(self, pair: PairIndex) -> tuple[float, float] | None:
        return None if self.search_space is None else (float(self.bit_scores[pair]), float(self.evalues[pair]))

    def bit_score_column(self, format_value: Callable[[float], str], unknown_text: str) -> Column:
        return self._formatted_column(self.bit_scores, format_value, unknown_text)

    def evalue_column(self, format_value: Callable[[float], str], unknown_text: str) -> Column:
        return self._formatted_column(self.evalues, format_value, unknown_text)

    def _formatted_column(self, values: Reals, format_value: Callable[[float], str], unknown_text: str) -> Column:
        if self.search_space is None:
            return Column.constant(unknown_text)
        return text_column(StringColumn.from_strings([format_value(value) for value in values.tolist()]))

    @cached_property
    def bit_scores(self) -> Reals:
        """Bit score of each hit: float64[hits]; NaN if there is no search space."""
        if self.search_space is None:
            return np.full(len(self.hits), np.nan)
        return self.search_space.parameters.bit_scores(self.hits.points)

    @cached_property
    def evalues(self) -> Reals:
        """E-value of each hit: float64[hits]; NaN if there is no search space."""
        if self.search_space is None:
            return np.full(len(self.hits), np.nan)
        return hit_evalues(self.search_space, self.frame_sets, self.hits)

    @property
    def _paths(self) -> tuple[Statistics, Runs]:
        assert self.traced_paths is not None  # the detail of every column is requested
        return self.traced_paths


def hit_evalues(search_space: SearchSpace, frame_sets: QueryTargetFrames, hits: Hits) -> Reals:
    """Return the hits' E-values: float64[hits]."""
    return search_space.evalues(
        hits.points, frame_sets.queries.sequences.lengths[hits.queries], frame_sets.targets.evalue_lengths[hits.targets]
    )


def as_hit_block(block: Block) -> HitBlock:
    """Return the block as a `HitBlock`, for columns that exist only for hits. Raises `TypeError` if it is another kind of block."""
    if not isinstance(block, HitBlock):
        raise TypeError("only hits of a search have this column")
    return block
