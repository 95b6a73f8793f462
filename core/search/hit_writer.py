"""Traces the hits of a search and writes them, a few queries at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import numpy as np

from gpualign.core.alignment.hits import HitBatch, Hits
from gpualign.core.alignment.identity import DEFAULT
from gpualign.core.alignment.task import Task
from gpualign.core.alignment.tile_results import Runs, Statistics
from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.output.pairs import PairsSink, titles_of
from gpualign.core.results.filter import Filter
from gpualign.core.results.hit_blocks import HitBlock, hit_evalues
from gpualign.core.scoring.evalues import SearchSpace
from gpualign.core.sequences.strands_frames import QueryTargetFrames

_CHUNK = 8192
"""Largest number of hits traced and written at a time."""

_CHUNK_LETTERS = 4 << 20
"""Approximate number of letters of their queries and bytes of titles, which formats may repeat for each hit."""

Trace = Callable[[Hits], tuple[Statistics, Runs]]


@dataclass(frozen=True)
class HitFilter:
    """Selects the hits that are written.

    max_hits: number of best hits of each query; None for all
    min_score: smallest score
    max_evalue: largest E-value, None for any
    without_self: whether a hit of a query on itself is left out
    rows: filter of traced hits
    """

    max_hits: int | None
    min_score: int = 1
    max_evalue: float | None = None
    without_self: bool = False
    rows: Filter = field(default_factory=Filter)

    @property
    def top(self) -> int | None:
        """Targets of each query that the search must find: one more than are written, which shows whether there are more. None: all that
        pass, since of two hits the one with the smaller score may have the smaller E-value."""
        return None if self.max_hits is None or self.max_evalue is not None else self.max_hits + 1 + self.without_self


NOTABLE = 1e-3
"""Largest E-value of hits that a user would not want to miss."""


@dataclass
class SuppressedHits:
    """Counts of queries with hits that were not written.

    queries: queries with more than the filter's `max_hits` hits that score enough and have a small enough E-value
    notable: of them, if there is no threshold of E-values, those whose first unwritten hit has an E-value up to `NOTABLE`
    """

    queries: int = 0
    notable: int = 0


class HitsWriter:
    """Writes hits through a sink of pairs.

    report: the sink, whose columns may be those of hits
    task: the search
    sides: strands or frames of its queries and targets
    space: search space of E-values, or None
    trace: returns paths of hits; None if rows show none
    """

    def __init__(
        self,
        report: PairsSink,
        task: Task,
        sides: QueryTargetFrames,
        filter: HitFilter,
        space: SearchSpace | None,
        trace: Trace | None,
        identity_definition: int = DEFAULT,
    ) -> None:
        self._report = report
        self._task = task
        self._sides = sides
        self._filter = filter
        self._space = space
        self._trace = trace
        self._identity_definition = identity_definition
        self.written = 0
        self.unwritten = SuppressedHits()

    def begin(self, plan: object) -> None:
        """Write the bytes before the first hit."""
        self._report.open()

    def write(self, batch: HitBatch) -> None:
        """Write hits. batch: all hits of the next records, of all their strands or frames, that may pass, in order of the queries."""
        hits = self._best_of_frames(batch.hits)
        letters = self._task.queries.lengths[hits.queries]
        if (titles := titles_of(self._task)) is not None:
            letters = letters + titles[0][hits.queries] + titles[1][hits.targets]
        letters = np.cumsum(letters)
        start = 0
        while start < len(hits):
            before = int(letters[start - 1]) if start else 0
            limit = int(np.searchsorted(letters, before + _CHUNK_LETTERS, side="right"))
            end = max(start + 1, min(start + _CHUNK, limit))
            self._write(hits.part(slice(start, end)))
            start = end

    def finish(self) -> None:
        """Finish the output; no hit follows."""
        self._report.finish()

    def _best_of_frames(self, hits: Hits) -> Hits:
        """Return the best targets of each record. Of two records' strands or frames only the best hit counts, the first of equal ones."""
        of_queries, of_targets = self._sides.queries, self._sides.targets
        records = of_queries.records(hits.queries)
        if self._filter.without_self:
            others = records != of_targets.records(hits.targets)
            hits, records = hits.part(others), records[others]
        ranks = self._task.targets.ranks[hits.targets]
        order = np.lexsort((hits.queries, ranks, -hits.scores, records))
        hits, records = hits.part(order), records[order]
        if of_queries.per_record > 1 or of_targets.per_record > 1:
            _, firsts = np.unique(records * len(of_targets.record_lengths) + of_targets.records(hits.targets), return_index=True)
            firsts.sort()
            hits, records = hits.part(firsts), records[firsts]
        if self._filter.max_hits is None:
            return hits
        places = np.arange(len(hits)) - np.searchsorted(records, records)  # within each record's hits
        self._count_suppressed(hits, records, places - self._filter.max_hits)
        return hits.part(places < self._filter.max_hits)

    def _count_suppressed(self, hits: Hits, records: Integers, beyond: Integers) -> None:
        """Count records with unwritten hits. beyond: >= 0 for an unwritten hit, 0 for the first of a record."""
        limit = self._filter.max_evalue
        chosen = beyond == 0 if limit is None else beyond >= 0
        evalues = None if self._space is None else hit_evalues(self._space, self._sides, hits.part(chosen))
        if evalues is not None and limit is not None:
            self.unwritten.queries += len(distinct(records[chosen][evalues <= limit]))
            return
        self.unwritten.queries += int(chosen.sum())
        if evalues is not None:
            self.unwritten.notable += int((evalues <= NOTABLE).sum())

    def _write(self, hits: Hits) -> None:
        if self._space is not None and self._filter.max_evalue is not None:
            hits = hits.part(hit_evalues(self._space, self._sides, hits) <= self._filter.max_evalue)
        if not len(hits):
            return
        traced = None if self._trace is None else self._trace(hits)
        block = HitBlock(self._task, self._identity_definition, self._sides, hits, self._space, traced)
        mask = self._filter.rows.mask(block)
        self._report.write_block(block, mask)
        self.written += len(hits) if mask is None else int(mask.sum())
