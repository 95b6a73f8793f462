"""Near pairs on their way to sinks: parts at the borders of queries, and the nearest of each query."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from path_cases import SCHEMES
from work import sequence_set

from gpualign.core.alignment.aligned_pairs import PairAlignments
from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import STATISTICS, Runs
from gpualign.core.results.blocks import NearPairBlock
from gpualign.core.results.filter import Filter
from gpualign.core.results.near_results import NearPairResults


def results(queries, sizes):
    count = len(queries)
    runs = Runs([np.zeros(sum(sizes), dtype=np.uint8)], np.cumsum([0, *sizes[:-1]])[:count], np.array(sizes, dtype=np.int32))
    pairs = NearPairs(np.sort(queries), np.arange(count), np.zeros(count, dtype=np.int64))
    return NearPairResults(pairs, PairAlignments(np.arange(count), np.zeros(count, dtype=STATISTICS), runs))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=30), st.integers(1, 12), st.integers(0, 40))
def test_parts_hold_whole_queries(rows, most_pairs, max_bytes):
    queries, sizes = np.array([row[0] for row in rows], dtype=np.int64), [row[1] for row in rows]
    whole = results(queries, sizes)
    parts = list(whole.split(most_pairs, max_bytes))
    assert np.concatenate([np.zeros(0), *(part.alignments.scores for part in parts)]).tolist() == list(range(len(rows)))
    seen = [set(part.pairs.queries.tolist()) for part in parts]
    assert all(not one & other for one, other in pairwise(seen))
    for part, of in zip(parts, seen, strict=True):
        assert len(of) == 1 or (len(part.pairs) <= most_pairs and part.alignments.runs.sizes.sum() <= max_bytes)


@pytest.mark.parametrize("by", ["distance", "identity", "score"])
def test_the_nearest_of_each_query(rng, by):
    """Against sorting each query's pairs in Python, with many ties."""
    records = sequence_set([[0] * 20] * 12)
    queries, targets = (part.ravel() for part in np.mgrid[:12, :12])
    scores, found = rng.integers(0, 4, 144), np.zeros(144, dtype=STATISTICS)
    found["matches"] = 20 - scores
    found["mismatches"] = scores
    scheme = SCHEMES["default" if by == "score" else "edit"]
    task = Task(records, records, scheme, detail=Detail.STATISTICS)
    block = NearPairBlock(task, 2, NearPairs(queries, targets, scores), PairAlignments(scores, found, None))
    thresholds = {
        "distance": Filter(max_score=2, nearest_count=3, one_set=True),
        "identity": Filter(min_identity=0.9, nearest_count=3, one_set=True),
    }
    filter = thresholds.get(by, Filter(min_score=1, nearest_count=3, one_set=True))
    kept = filter.mask(block)
    for query in range(12):
        mine = [(targets[at], int(scores[at])) for at in range(144) if queries[at] == query and targets[at] != query]
        passing = [(j, s) for j, s in mine if (s >= 1 if by == "score" else s <= 2)]
        best = sorted(passing, key=lambda pair: (-pair[1] if by == "score" else pair[1], pair[0]))[:3]
        assert sorted(targets[kept & (queries == query)].tolist()) == sorted(int(j) for j, _ in best)
