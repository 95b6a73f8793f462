"""Selects the hits of a search to write, best first, in chunks of a few queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from gpualign.core.alignment.hit_order import order_hits
from gpualign.core.alignment.hits import Hits, HitsType
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.pairs import title_byte_counts
from gpualign.core.results.filter import Filter
from gpualign.core.results.hit_blocks import hit_evalues
from gpualign.core.scoring.evalues import SearchSpace
from gpualign.core.sequences.strands_frames import QueryTargetFrames

_CHUNK_HITS = 8192
"""Maximum number of alignments per chunk. The paths of a chunk's hits are computed together, and the hits are written together."""

_CANDIDATE_EVALUE_FACTOR = 10.0
"""Maximum E-value of hits whose scores will be adjusted, relative to that of hits to write."""

_CANDIDATE_SCORE_FACTOR = 0.75
"""Minimum score of hits whose scores will be adjusted, relative to that of hits to write."""

_EXTRA_CANDIDATES = 50
"""Number of hits per query whose scores will be adjusted, in addition to twice the number of hits to write."""

_CHUNK_LETTERS = 4 << 20
"""Approximate number of query letters and of bytes of titles and annotations per chunk; formats may repeat all of them for each hit."""


@dataclass(frozen=True)
class HitFilter:
    """Selects the hits to write.

    max_hits: number of best hits per query; None: all hits
    min_score: minimum score
    max_evalue: maximum E-value; None: no maximum
    excludes_self: whether to leave out a query's hit to itself
    pair_filter: further thresholds, such as on identity, which may need a hit's path
    max_hsps: maximum number of alignments of a query with a target
    """

    max_hits: int | None
    min_score: int = 1
    max_evalue: float | None = None
    excludes_self: bool = False
    pair_filter: Filter = field(default_factory=Filter)
    max_hsps: int = 1

    @property
    def target_limit(self) -> int | None:
        """Number of best targets that the search must find for each query. More targets are found than written, to show whether further
        hits exist. None: all targets that pass must be found, because a hit with a lower score may have a lower E-value."""
        return None if self.max_hits is None or self.max_evalue is not None else self.max_hits + 1 + self.excludes_self

    def candidate_filter(self) -> HitFilter:
        """Return the filter for hits whose scores will be adjusted: those that may pass this filter afterwards."""
        return replace(
            self,
            max_hits=None if self.max_hits is None else 2 * self.max_hits + _EXTRA_CANDIDATES,
            min_score=max(1, int(_CANDIDATE_SCORE_FACTOR * self.min_score)),
            max_evalue=None if self.max_evalue is None else _CANDIDATE_EVALUE_FACTOR * self.max_evalue,
        )


NOTABLE_EVALUE = 1e-3
"""Maximum E-value of a hit that a user would not want to miss."""


@dataclass
class SuppressedHitCounts:
    """Counts of queries with hits that were not written.

    query_count: queries with more than `max_hits` hits that pass the filter's score and E-value thresholds
    notable_query_count: if there is no E-value threshold, number of these queries whose first unwritten hit has an E-value of at most
        `NOTABLE_EVALUE`; None: there are no E-values
    """

    query_count: int = 0
    notable_query_count: int | None = None


def passing_hits(hits: HitsType, frame_sets: QueryTargetFrames, filter: HitFilter, space: SearchSpace | None) -> HitsType:
    """Return the hits with an E-value of at most `filter.max_evalue`; all hits if there is no maximum, or no search space."""
    if space is None or filter.max_evalue is None:
        return hits
    return hits.select(hit_evalues(space, frame_sets, hits) <= filter.max_evalue)


class HitSelector:
    """Selects the hits of a search.

    task: the task of the search
    frame_sets: strands or frames of the search's queries and targets
    filter: selects the hits to write
    space: search space, from which E-values follow; None if E-values are neither written nor used as a filter
    """

    def __init__(self, task: Task, frame_sets: QueryTargetFrames, filter: HitFilter, space: SearchSpace | None) -> None:
        self._task = task
        self._frame_sets = frame_sets
        self._filter = filter
        self._space = space
        self.suppressed = SuppressedHitCounts(0, None if space is None else 0)

    def chunks(self, hits: Hits) -> Iterator[Hits]:
        """Yield the hits to write, apart from the condition `HitFilter.pair_filter`, in chunks. hits: every hit that may pass the filter,
        for the next records with all their strands or frames, in query order"""
        hits = self._best_frame_hits(hits)
        letters = self._task.queries.lengths[hits.queries]
        if (titles := title_byte_counts(self._task)) is not None:
            letters = letters + titles[0][hits.queries] + titles[1][hits.targets]
        letters = letters + self._frame_sets.targets.annotation_byte_counts(hits.targets)
        letters = np.cumsum(letters)
        start = 0
        while start < len(hits):
            before = int(letters[start - 1]) if start else 0
            limit = int(np.searchsorted(letters, before + _CHUNK_LETTERS, side="right"))
            end = max(start + 1, min(start + -(-_CHUNK_HITS // self._filter.max_hsps), limit))
            chunk = hits.select(slice(start, end))
            if len(chunk := passing_hits(chunk, self._frame_sets, self._filter, self._space)):
                yield chunk
            start = end

    def _best_frame_hits(self, hits: Hits) -> Hits:
        """Return the hits to write for each record, best first. If several strands or frames of the same two records give hits, only the
        best of these hits counts (the first if tied)."""
        of_queries, of_targets = self._frame_sets.queries, self._frame_sets.targets
        hits = hits.select(hits.whole_points >= self._filter.min_score)
        records = of_queries.record_numbers(hits.queries)
        if self._filter.excludes_self:
            others = records != of_targets.record_numbers(hits.targets)
            hits, records = hits.select(others), records[others]
        order = order_hits(records, hits.scores, self._task.targets.file_positions[hits.targets], hits.queries)
        hits, records = hits.select(order), records[order]
        if of_queries.sequences_per_record > 1 or of_targets.sequences_per_record > 1:
            _, firsts = np.unique(records * len(of_targets.record_lengths) + of_targets.record_numbers(hits.targets), return_index=True)
            firsts.sort()
            hits, records = hits.select(firsts), records[firsts]
        if self._filter.max_hits is None:
            return hits
        places = np.arange(len(hits)) - np.searchsorted(records, records)  # within each record's hits
        self._count_suppressed(hits, records, places - self._filter.max_hits)
        return hits.select(places < self._filter.max_hits)

    def _count_suppressed(self, hits: Hits, records: Integers, unwritten_ranks: Integers) -> None:
        """Count the records with hits that are not written.

        hits: all hits of the records
        records: the query record of each hit
        unwritten_ranks: position of each hit relative to the first hit of its record that is not written: 0 for that hit, below 0 for hits
            that are written
        """
        limit = self._filter.max_evalue
        chosen = unwritten_ranks == 0 if limit is None else unwritten_ranks >= 0
        evalues = None if self._space is None else hit_evalues(self._space, self._frame_sets, hits.select(chosen))
        if evalues is not None and limit is not None:
            self.suppressed.query_count += len(distinct(records[chosen][evalues <= limit]))
            return
        self.suppressed.query_count += int(chosen.sum())
        if evalues is not None and self.suppressed.notable_query_count is not None:
            self.suppressed.notable_query_count += int((evalues <= NOTABLE_EVALUE).sum())
