"""The hits of a search: gathers the best targets of each query, has them traced, and writes them a band of queries at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gpualign.core.engine import Runs, Statistics, Task, TileResult
from gpualign.core.fields import BlockData, HitColumns
from gpualign.core.identity import DEFAULT
from gpualign.core.plan import Band, Plan
from gpualign.core.search.hits import BestTargets, Hits, Integers
from gpualign.core.search.significance import SearchSpace
from gpualign.core.search.strands import Stranded
from gpualign.core.sinks.base import BandOrder, BandResults
from gpualign.core.sinks.pairs import Filter, PairsSink

_CHUNK = 8192
"""Hits that are traced and written at a time, at most."""

_CHUNK_LETTERS = 4 << 20
"""Letters of their queries, which formats may repeat for each hit, about."""

Trace = Callable[[Hits], tuple[Statistics, Runs]]


@dataclass(frozen=True)
class HitFilter:
    """Hits that are written: the `most` best of each query, of those that score `least_score` or more, have at most `most_evalue` and are
    not the query itself, where `without_self`; of traced ones those that `rows` keeps."""

    most: int
    least_score: int = 1
    most_evalue: float | None = None
    without_self: bool = False
    rows: Filter = field(default_factory=Filter)

    @property
    def top(self) -> int:
        """Targets of each query that have to be known."""
        return self.most + self.without_self


@dataclass(frozen=True)
class _BandHits:
    band: Band
    best: BestTargets


class HitsSink:
    """Writes hits through a sink of pairs, `report`, whose columns may be those of hits.

    task: the search, of stranded queries. space: what E-values are counted in, or None. trace: paths of hits, or None where rows tell none.
    """

    def __init__(
        self,
        report: PairsSink,
        task: Task,
        stranded: Stranded,
        filter: HitFilter,
        space: SearchSpace | None,
        trace: Trace | None,
        identity_definition: int = DEFAULT,
    ) -> None:
        self._report = report
        self._task = task
        self._stranded = stranded
        self._filter = filter
        self._space = space
        self._trace = trace
        self._identity_definition = identity_definition
        self._held = Hits(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
        self.written = 0

    def begin(self, plan: Plan) -> None:
        self._queries = plan.queries
        self._report.stream.write(self._report.header())
        self._bands = BandOrder(plan, self._empty, self._put, self._finish)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def finish(self) -> None:
        self._bands.finish()

    def _empty(self, band: Band) -> _BandHits:
        assert self._task.top is not None
        return _BandHits(band, BestTargets(band.stop - band.start, self._task.top, self._task.dtype, self._task.targets.ranks))

    @staticmethod
    def _put(entry: _BandHits, result: TileResult) -> None:
        assert result.targets is not None
        start = entry.band.start
        entry.best.add(slice(result.tile.query_start - start, result.tile.query_stop - start), result.scores, result.targets)

    def _finish(self, entry: _BandHits) -> None:
        scores = entry.best.scores
        rows, places = np.nonzero(scores >= max(1, self._filter.least_score))
        queries = (entry.band.start + rows).astype(np.int64)
        found = Hits(queries, entry.best.targets[rows, places], scores[rows, places].astype(np.int64))
        # The strands of the last record may not all be there yet.
        whole = entry.band.stop // self._stranded.per_record * self._stranded.per_record
        if entry.band.stop == self._queries:
            whole = entry.band.stop
        both = Hits(*(np.concatenate(pair) for pair in zip(_columns(self._held), _columns(found), strict=True)))
        ready = both.queries < whole
        self._held = both.part(~ready)
        hits = self._best_of_strands(both.part(ready))
        letters = np.cumsum(self._task.queries.lengths[hits.queries])
        start = 0
        while start < len(hits):
            before = int(letters[start - 1]) if start else 0
            reach = int(np.searchsorted(letters, before + _CHUNK_LETTERS, side="right"))
            stop = max(start + 1, min(start + _CHUNK, reach))
            self._write(hits.part(slice(start, stop)))
            start = stop

    def _best_of_strands(self, hits: Hits) -> Hits:
        """Of each record and target the better strand, then the best targets of each record."""
        records = self._stranded.records(hits.queries)
        if self._filter.without_self:
            others = records != hits.targets
            hits, records = hits.part(others), records[others]
        ranks = self._task.targets.ranks[hits.targets]
        order = np.lexsort((hits.queries, ranks, -hits.scores, records))
        hits, records = hits.part(order), records[order]
        if self._stranded.per_record > 1:
            _, firsts = np.unique(records * len(self._task.targets) + hits.targets, return_index=True)
            firsts.sort()
            hits, records = hits.part(firsts), records[firsts]
        begins = np.searchsorted(records, records)  # where each record's hits begin
        return hits.part(np.arange(len(hits)) - begins < self._filter.most)

    def _write(self, hits: Hits) -> None:
        bits = evalues = None
        if self._space is not None:
            lengths = self._task.queries.lengths[hits.queries], self._task.targets.lengths[hits.targets]
            evalues = self._space.evalues(hits.scores, *lengths)
            if self._filter.most_evalue is not None:
                good = evalues <= self._filter.most_evalue
                hits, evalues = hits.part(good), evalues[good]
            bits = self._space.parameters.bits(hits.scores)
        if not len(hits):
            return
        statistics = runs = None
        if self._trace is not None:
            found, paths = self._trace(hits)
            statistics, runs = found[None, :], Runs(paths.data, paths.starts[None, :], paths.sizes[None, :])
        band = Band(0, 0, 1, 0, len(hits), 0)
        given, minus = self._stranded.records(hits.queries), self._stranded.is_minus(hits.queries)
        columns = HitColumns(hits.queries, hits.targets, given, minus, bits, evalues)
        block = BlockData(self._task, 0, BandResults(band, hits.scores[None, :], statistics, runs), self._identity_definition, columns)
        keep = self._filter.rows.keeps(block)
        self._report.write_block(block, [0], keep)
        self.written += len(hits) if keep is None else int(keep.sum())


def _columns(hits: Hits) -> tuple[Integers, Integers, Integers]:
    return hits.queries, hits.targets, hits.scores
