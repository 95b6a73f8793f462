"""Scores search hits again where scores are adjusted to compositions, and aligns those to write. The CPU does so for every engine."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import field, replace

import numpy as np

from gpualign.core.alignment.hits import AdjustedHits, Hits
from gpualign.core.alignment.hsps import Hsps, best_hsps, other_frames, pair_indices, ranks_in_groups
from gpualign.core.alignment.recount import recount_original_letters
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results.hit_blocks import hit_evalues
from gpualign.core.scoring.composition import UNITS_PER_POINT, MatrixModel
from gpualign.core.scoring.evalues import SearchSpace
from gpualign.core.search.hit_selection import HitFilter, passing_hits
from gpualign.core.search.runner import SearchPlan
from gpualign.core.search.score_cutoffs import EvalueScoreCutoffs, score_cutoffs
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.hit_adjustment import HitAdjuster
from gpualign.cpu.alignment.hit_tracing import HitTracer

_MAX_FURTHER_EVALUE = 10.0
"""Maximum E-value of a pair's alignments after the first if no other is given: that of BLAST."""

_MAX_ADJUSTED_LETTER_SCORE = 1000
"""Exceeds every score of two letters with an adjusted matrix."""


@dataclass(frozen=True)
class AlignedHits:
    """Alignments to write, those of a pair of records best first.

    hits: query, target and score of each alignment
    paths: statistics (`STATISTICS`[alignments]) and paths (`Runs` of shape [alignments]); None: not computed
    hsp_numbers: number of each alignment among those of its pair, from 1, int64[alignments]
    """

    hits: Hits
    paths: tuple[Statistics, Runs] | None
    hsp_numbers: Integers = field(repr=False)

    @staticmethod
    def without_paths(hits: Hits) -> AlignedHits:
        """Return the best alignment of each hit, whose path is not computed."""
        return AlignedHits(hits, None, np.ones(len(hits), dtype=np.int64))


class HitAligner:
    """Aligns the hits of one search. It is a context manager that ends its threads.

    search: the search
    unmasked: task of the search with the original letters of masked sequences, from which statistics are counted
    filter: selects the hits to write
    space: search space for E-values; None: there are no E-values
    model: model for adjusting scores to compositions; None: scores are not adjusted
    engine: the engine whose threads and instruction set are used
    memory: scratch memory in bytes

    Raises `TooLittleMemory` if the memory is too small for the longest sequences.
    """

    def __init__(
        self,
        search: SearchPlan,
        unmasked: Task,
        filter: HitFilter,
        space: SearchSpace | None,
        model: MatrixModel | None,
        engine: CpuEngine,
        memory: int,
    ) -> None:
        self._search, self._unmasked, self._filter, self._space = search, unmasked, filter, space
        self._task = task = replace(search.task, targets=search.task.targets.scattered)
        self._adjuster: HitAdjuster | None = None
        self._stack = ExitStack()
        self._tracer = self._stack.enter_context(HitTracer(task, engine, memory))
        if model is not None and space is not None:
            adjuster = HitAdjuster(task, search.frame_sets, model, space.parameters.lambda_, engine, self._tracer, memory)
            self._adjuster = self._stack.enter_context(closing(adjuster))

    def __enter__(self) -> HitAligner:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the work in progress, whose callers get a `RunError`, and end the threads."""
        self._stack.close()

    def adjust(self, hits: Hits) -> Hits:
        """Return the hits with adjusted scores; the same hits if scores are not adjusted. Hits that cannot pass the filter may be left
        out."""
        if self._adjuster is None:
            return hits
        return self._adjuster.adjust(passing_hits(hits, self._search.frame_sets, self._search.filter, self._space))

    def align(self, hits: Hits) -> AlignedHits:
        """Align hits from `adjust`, of which no two belong to the same two records."""
        if self._filter.max_hsps == 1:
            aligned, paths, numbers = hits, self._trace(hits), np.ones(len(hits), dtype=np.int64)
        else:
            aligned, paths, numbers = self._align_hsps(hits)
        task, searched = self._unmasked, self._task
        if self._adjuster is not None or task.queries is not searched.queries or task.targets is not searched.targets:
            records = aligned.queries, aligned.targets
            paths = recount_original_letters(task.queries, task.targets, records, *paths, task.alphabet)
        return AlignedHits(aligned, paths, numbers)

    def _align_hsps(self, hits: Hits) -> tuple[Hits, tuple[Statistics, Runs], Integers]:
        """Return (alignments, paths, number of each among those of its pair) of the hits in all strands or frames of their records."""
        frame_sets = self._search.frame_sets
        sequences = self._in_all_frames(hits)
        pairs = pair_indices(frame_sets, (hits.queries, hits.targets), (sequences.queries, sequences.targets))
        hsps = self._trace_hsps(sequences, self._min_scores(sequences))
        rows = hsps.as_hits(sequences)
        is_best = np.zeros(len(rows), dtype=bool)
        is_best[best_hsps(pairs[hsps.hit_indices], rows.scores, self._file_positions(rows), rows.queries, 1)] = True
        passing = np.flatnonzero(is_best | self._passes(rows))
        rows, hsps = rows.select(passing), hsps.select(passing)
        of_pair = pairs[hsps.hit_indices]
        order = best_hsps(of_pair, rows.scores, self._file_positions(rows), rows.queries, self._filter.max_hsps)
        chosen = hsps.select(order)
        return rows.select(order), (chosen.statistics, chosen.runs), ranks_in_groups(of_pair[order]) + 1

    def _in_all_frames(self, hits: Hits) -> Hits:
        """Return the hits and those in all other strands or frames of their records that may pass the filter."""
        frame_sets = self._search.frame_sets
        if frame_sets.queries.sequences_per_record == frame_sets.targets.sequences_per_record == 1:
            return hits
        queries, targets = other_frames(frame_sets, hits.queries, hits.targets)
        others = Hits(queries, targets, self._tracer.score(queries, targets))
        others = others.select(others.scores > 0)
        return hits.extended_by(self.adjust(others))

    def _min_scores(self, hits: Hits) -> Integers:
        """Return scores, in the units of the hits' scores, below which no alignment of their sequences passes the filter: int64[hits]."""
        is_adjusted = isinstance(hits, AdjustedHits)
        by_evalue = None
        if self._space is not None:
            largest = _MAX_ADJUSTED_LETTER_SCORE if is_adjusted else int(self._task.scoring.substitution.max())
            lengths = self._search.frame_sets.targets.evalue_lengths[np.unique(hits.targets)]
            by_evalue = EvalueScoreCutoffs(self._space, self._max_evalue, lengths, largest)
        points = score_cutoffs(self._task.queries.lengths[hits.queries], self._filter.min_score, by_evalue)
        return UNITS_PER_POINT * (points - 1) + 1 if is_adjusted else points

    def _passes(self, hits: Hits) -> Booleans:
        passes: Booleans = hits.whole_points >= self._filter.min_score
        if self._space is not None:
            passes &= hit_evalues(self._space, self._search.frame_sets, hits) <= self._max_evalue
        return passes

    @property
    def _max_evalue(self) -> float:
        return _MAX_FURTHER_EVALUE if self._filter.max_evalue is None else self._filter.max_evalue

    def _file_positions(self, hits: Hits) -> Integers:
        return self._task.targets.file_positions[hits.targets]

    def _trace(self, hits: Hits) -> tuple[Statistics, Runs]:
        if self._adjuster is not None and isinstance(hits, AdjustedHits):
            return self._adjuster.trace(hits)
        return self._tracer.trace(hits)

    def _trace_hsps(self, hits: Hits, min_scores: Integers) -> Hsps:
        if self._adjuster is not None and isinstance(hits, AdjustedHits):
            return self._adjuster.trace_hsps(hits, self._filter.max_hsps, min_scores)
        return self._tracer.trace_hsps(hits, self._filter.max_hsps, min_scores)
