"""Every hit that passes a threshold is found, though engines keep only the best few targets of a query."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from relatives import mutated
from work import run_scores, sequence_set, two_valued

from gpualign.core.alignment.hits import Hits
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.hit_collectors import QueryHits
from gpualign.core.execution.totals import Totals
from gpualign.core.scoring.evalues import SearchSpace, published_parameters
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.search import runner
from gpualign.core.search.hit_reorder_buffer import HitReorderBuffer
from gpualign.core.search.hit_selection import HitFilter, HitSelector
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.strands_frames import QueryTargetFrames, make_strands, untranslated_frames
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine

BLOSUM = make_scoring(PROTEIN, ScoringOptions(), local=True)


class Progress:
    def __init__(self):
        self.expected = self.done = 0

    def expect(self, work):
        self.expected += work

    def advance(self, work):
        self.done += work


def search(queries, targets, scheme, filter, engine, space=None, strand="plus", memory=1 << 28):
    stranded = make_strands(queries, DNA, strand)
    sides = QueryTargetFrames(stranded, untranslated_frames(targets))
    planned = runner.plan_search(Task(queries, targets, scheme, Mode.LOCAL), sides, filter, engine, memory)
    progress, totals = Progress(), Totals(0, planned.plan.cells)
    progress.expect(planned.plan.cells)
    selector, rows = HitSelector(planned.task, sides, filter, space), []
    for batch in runner.find_hits(planned, space, engine, progress, totals):
        for hits in selector.chunks(batch.hits):
            records = stranded.record_numbers(hits.queries)
            rows += zip(records.tolist(), hits.targets.tolist(), hits.scores.tolist(), strict=True)
    assert progress.done == progress.expected == totals.work
    return rows, selector.suppressed, totals.work / planned.plan.cells


def expected(queries, targets, scheme, filter, space=None, strand="plus"):
    """By all scores of all pairs."""
    stranded = make_strands(queries, DNA, strand)
    scores = run_scores(stranded.sequences, targets, scheme, mode=Mode.LOCAL).reshape(len(queries), -1, len(targets)).max(axis=1)
    rows = []
    for record, row in enumerate(scores):
        order = [t for t in sorted(range(len(targets)), key=lambda t, row=row: (-row[t], t)) if row[t] >= max(1, filter.min_score)]
        if filter.excludes_self:
            order.remove(record)
        for target in order[: filter.max_hits]:
            lengths = np.array([queries.lengths[record]]), np.array([targets.lengths[target]])
            if filter.max_evalue is None or space.evalues(row[[target]], *lengths)[0] <= filter.max_evalue:
                rows.append((record, target, int(row[target])))
    return rows


@pytest.fixture
def family(rng, monkeypatch):
    """Queries of which some have many relatives among the targets, ties among them; only 5 targets are kept at first.

    By itself a search keeps 1,000: queries with more relatives take a device that is emulated minutes.
    """
    monkeypatch.setattr(runner, "FIRST_PASS_TOP", 5)
    genes = [rng.integers(0, 4, rng.integers(40, 61)) for _ in range(12)]
    targets = [rng.integers(0, 4, rng.integers(5, 60)) for _ in range(40)]
    for gene, relatives in zip(genes, (0, 9, 0, 3, 25, 25, 5, 6, 0, 1, 40, 4), strict=True):
        targets += [mutated(rng, gene, rng.choice([0, 0.1]), 4) for _ in range(relatives)]
    queries = [gene if k % 3 else 3 - gene[::-1] for k, gene in enumerate(genes)]  # every third one lies on the other strand
    targets = [targets[k] for k in rng.permutation(len(targets))]
    return sequence_set(queries), sequence_set(targets)


SCHEME = two_valued(4, 5, -4, 16, 6)


def dna_space(targets, strands=1):
    return SearchSpace(
        published_parameters(make_scoring(DNA, ScoringOptions(), local=True)), int(targets.offsets[-1]), len(targets), strands
    )


@pytest.mark.parametrize("group", [None, 3, 1])
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_all_that_pass_are_found(family, monkeypatch, strand, group):
    queries, targets = family
    space = dna_space(targets, 1 + (strand == "both"))
    if group:
        plan_search = runner.plan_search
        monkeypatch.setattr(runner, "plan_search", lambda *a: replace(plan_search(*a), group_size=group))
    for filter in (HitFilter(None, 80), HitFilter(None, 1, 1e-6), HitFilter(None, 120, 1e-3), HitFilter(None, 1)):
        known = expected(queries, targets, SCHEME, filter, space, strand)
        assert len(known) > 30
        for threads in (1, 3):
            rows, suppressed, work = search(queries, targets, SCHEME, filter, CpuEngine(threads), space, strand)
            assert rows == known
            assert suppressed.query_count == 0
            assert 1 < work <= 2 or filter == HitFilter(None, 1)


def test_a_limit_beside_a_threshold(family):
    """The best by score, of which those that pass are written; what passes beyond them is counted."""
    queries, targets = family
    space = dna_space(targets)
    rows, suppressed, _ = search(queries, targets, SCHEME, HitFilter(7, 1, 1e-3), CpuEngine(2), space)
    assert rows == expected(queries, targets, SCHEME, HitFilter(7, 1, 1e-3), space)
    counts = np.bincount([record for record, *_ in expected(queries, targets, SCHEME, HitFilter(None, 1, 1e-3), space)])
    assert suppressed.query_count == (counts > 7).sum() > 2


def test_on_cuda(family, device):
    queries, targets = family
    queries = queries.select(np.arange(3, 7))
    filter, space = HitFilter(None, 1, 1e-3), dna_space(targets)
    rows, _, work = search(queries, targets, SCHEME, filter, CudaEngine([device]), space)
    assert rows == search(queries, targets, SCHEME, filter, CpuEngine(2), space)[0]
    assert 1 < work < 2


def test_protein_evalues(rng, monkeypatch):
    """With the finite-size correction the target of the smaller score may be the one that passes."""
    monkeypatch.setattr(runner, "FIRST_PASS_TOP", 5)
    monkeypatch.setattr(runner, "FIRST_PASS_TOP_PER_EVALUE", 0)  # as many as in `family`
    genes = [rng.integers(0, 20, 80) for _ in range(4)]
    targets = [genes[k % 2][a : a + n] for k in range(60) for a, n in [(int(rng.integers(0, 60)), int(rng.integers(6, 30)))]]
    targets += [rng.integers(0, 20, rng.integers(1, 900)) for _ in range(40)]
    queries, targets = sequence_set(genes), sequence_set(targets)
    space = SearchSpace(published_parameters(BLOSUM), 10**5, len(targets))
    for most in (10, 1e-2, 1e-6):
        filter = HitFilter(None, 1, most)
        known = expected(queries, targets, BLOSUM, filter, space)
        assert len(known) > 10
        assert search(queries, targets, BLOSUM, filter, CpuEngine(2), space)[0] == known


def test_more_targets_are_kept_for_a_larger_evalue(family, monkeypatch):
    """Then no query is searched twice, for the same hits."""
    monkeypatch.setattr(runner, "FIRST_PASS_TOP_PER_EVALUE", 15)  # of 158 targets, chance brings over 100 to an E-value of 10
    queries, targets = family
    space = dna_space(targets)
    known = expected(queries, targets, SCHEME, HitFilter(None, 1, 10), space)
    assert len(known) > 30
    for most, is_repeated in ((1e-3, True), (10, False), (float("inf"), False)):
        rows, _, work = search(queries, targets, SCHEME, HitFilter(None, 1, most), CpuEngine(2), space)
        assert (work > 1) == is_repeated
        if most == 10:
            assert rows == known


def test_a_set_with_itself(family):
    queries, _ = family
    both = sequence_set([part for part in np.split(queries.codes, queries.offsets[1:-1]) for _ in range(3)])
    for filter in (HitFilter(None, 100, excludes_self=True), HitFilter(1, 1, excludes_self=True)):
        assert search(both, both, SCHEME, filter, CpuEngine(2))[0] == expected(both, both, SCHEME, filter)


def test_a_large_family_is_searched_twice_only_at_first(rng, monkeypatch):
    """Where most queries need it, the others are searched with all targets at once."""
    monkeypatch.setattr(runner, "FIRST_PASS_TOP", 5)
    monkeypatch.setattr(runner, "PROBE_QUERY_COUNT", 4)  # of 256 queries, with 1,000 targets each
    gene = rng.integers(0, 4, 50)
    queries = sequence_set([gene] * 40)
    rows, _, work = search(queries, queries, SCHEME, HitFilter(None, 100), CpuEngine(1))
    assert len(rows) == 1600
    assert work == pytest.approx(1.1)


def test_the_limit_says_what_it_kept_back(family):
    queries, targets = family
    space = dna_space(targets)
    for filter in (HitFilter(7), HitFilter(7, 100)):
        rows, suppressed, _ = search(queries, targets, SCHEME, filter, CpuEngine(1), space)
        assert rows == expected(queries, targets, SCHEME, filter)
        every = expected(queries, targets, SCHEME, HitFilter(None, filter.min_score))
        by_record = [[hit for hit in every if hit[0] == record] for record in range(len(queries))]
        assert suppressed.query_count == sum(len(hits) > 7 for hits in by_record) > 2
        following = [hits[7] for hits in by_record if len(hits) > 7]
        evalues = [space.evalues(np.array([s]), queries.lengths[[q]], targets.lengths[[t]])[0] for q, t, s in following]
        assert suppressed.notable_query_count == sum(e <= 1e-3 for e in evalues) > 2
    few = SimpleNamespace(query_count=0, notable_query_count=0)
    assert vars(search(queries, targets, SCHEME, HitFilter(len(targets)), CpuEngine(1), space)[1]) == vars(few)


def test_little_memory_is_enough_or_an_error(family):
    """Bands and groups follow the budget; the rows do not."""
    queries, targets = family
    filter = HitFilter(None, 80)
    known = expected(queries, targets, SCHEME, filter)
    for memory in (9_000, 60_000, 120_000, 10**6):
        assert search(queries, targets, SCHEME, filter, CpuEngine(1), memory=memory)[0] == known
    with pytest.raises(RunError, match="raise memory"):
        search(queries, targets, SCHEME, filter, CpuEngine(1), memory=4_000)


def hits_of(*queries):
    return Hits(*(np.array(queries, dtype=np.int64) for _ in range(3)))


def found(hits, start, stop, *cut):
    return QueryHits(hits_of(*hits), np.arange(start, stop), np.isin(np.arange(start, stop), cut))


def test_hits_leave_in_order_and_as_soon_as_they_can():
    order = HitReorderBuffer(1)
    left = [order.add_first_pass(part) for part in (found([0, 0, 1], 0, 3), found([3, 5], 3, 6, 4), found([6], 6, 9, 7, 8))]
    assert order.missing_queries.tolist() == [4, 7, 8]
    left += [order.add_repeated(found([4, 4], 4, 5)), order.add_repeated(found([7, 8], 7, 9))]
    assert [answers.hits.queries.tolist() for answers in left] == [[0, 0, 1], [3], [], [4, 4, 5, 6], [7, 8]]
    with pytest.raises(IndexError):
        order.add_repeated(found([4], 4, 5))


def test_the_strands_of_a_record_leave_together():
    order = HitReorderBuffer(2)
    left = [order.add_first_pass(part) for part in (found([0, 1, 2], 0, 3), found([3, 5], 3, 6, 4), found([6], 6, 8, 7))]
    left += [order.add_repeated(found([4], 4, 5)), order.add_repeated(found([7], 7, 8))]
    assert [answers.hits.queries.tolist() for answers in left] == [[0, 1], [2, 3], [], [4, 5], [6, 7]]
