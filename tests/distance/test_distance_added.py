"""New samples with each other and with old ones: the pairs of the first samples of one set, each with all later ones."""

import operator

import numpy as np
import pytest
from distance_oracle import ProductsOnly, compute, dense_source, near_pairs, plain_distances, random_codes, related
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.calls import MISSING, CallKind, make_samples
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.output.names import samples_with_writable_ids
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.cpu.distance.engine import CpuDistanceEngine

ENGINES = {"cpu": CpuDistanceEngine, "products": ProductsOnly}
RULES = ["pairwise", "complete", "as-difference"]
CASES = [(metric, rule) for metric in METRICS for rule in RULES if MissingRule(rule) not in METRICS[metric].refused_missing_rules]


def kind_of(metric):
    return CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE


def listed(values, compared, new, most, metric="hamming"):
    """Of square matrices: the pairs of the first `new` rows with later columns, as text, because nan is not equal to itself."""
    pairs = [(i, j, float(values[i, j]), int(compared[i, j])) for i in range(new) for j in range(i + 1, len(values))]
    near = operator.ge if METRICS[metric].is_similarity else operator.le
    return [str(pair) for pair in pairs if most is None or near(pair[2], most)]


def as_text(found):
    return [str((i, j, float(value), compared)) for i, j, value, compared in found.pairs]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("metric", "rule"), CASES)
def test_pairs_are_those_of_the_set_of_all(rng, engine, metric, rule):
    codes = related(rng, 40, 300, 3 if kind_of(metric) is CallKind.NUCLEOTIDE else 2, 0.02)
    values, compared = compute(dense_source(codes, kind_of(metric)), CpuDistanceEngine(1), metric, rule)
    defined = np.unique(values[~np.isnan(values)])
    for new in (1, 13, 39):
        for most in (None, 0, float(defined[len(defined) // 3]), 1e9 if METRICS[metric].is_integer else 5.0):
            found, totals = near_pairs(dense_source(codes, kind_of(metric), new), ENGINES[engine](2), metric, most, rule, added=True)
            assert as_text(found) == listed(values, compared, new, most, metric)
            assert totals.pair_count == len(listed(values, compared, new, None))


@given(
    st.integers(1, 8),
    st.integers(1, 8),
    st.integers(1, 60),
    st.sampled_from([0, 0.1, 0.6, 1]),
    st.sampled_from(["hamming", "fraction", "ibs", "allele"]),
    st.sampled_from(RULES),
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(0, 60)),
    st.sampled_from(sorted(ENGINES)),
    st.integers(0, 2**32 - 1),
)
def test_any_genotypes_equal_the_definition(new, old, sites, missing, metric, rule, least, most, engine, seed):
    codes = related(np.random.default_rng(seed), new + old, sites, 2, missing)
    expected, common = plain_distances(codes, len(codes), metric, rule)
    lacks = common < least
    expected[lacks] = np.nan
    found, totals = near_pairs(dense_source(codes, queries=new), ENGINES[engine](1), metric, most, rule, least=least, added=True)
    assert [pair[:2] for pair in found.pairs] == [
        (i, j) for i in range(new) for j in range(i + 1, new + old) if most is None or expected[i, j] <= most
    ]
    np.testing.assert_allclose([d for *_, d, _ in found.pairs], [expected[i, j] for i, j, *_ in found.pairs], rtol=1e-12)
    assert totals.too_few_sites_count == np.count_nonzero(np.triu(lacks, 1)[:new])


def test_bands_of_few_queries(rng):
    codes = related(rng, 150, 2000, 2, 0.02)
    values, compared = compute(dense_source(codes), CpuDistanceEngine(1), "hamming")
    for most in (None, 200):
        found, _ = near_pairs(dense_source(codes, queries=70), CpuDistanceEngine(2), "hamming", most, memory=1 << 17, added=True)
        assert as_text(found) == listed(values, compared, 70, most)
        assert found.parts > 1


def test_a_failed_old_sample_costs_nothing(rng):
    """Which pairs have too few sites is told by calls alone, of old samples too: no compared sites are counted."""
    codes = random_codes(rng, 20, 400, missing=0.1)
    codes[17] = MISSING
    source = dense_source(codes, queries=5)
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False, compares_queries=True)
    prepared = prepare(source, task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    assert {term.count_name for panel in prepared.panels for term in panel.recipe.terms} == {"differences"}
    found, totals = near_pairs(source, CpuDistanceEngine(1), "hamming", None, compared=False, added=True)
    assert {(i, j) for i, j, value, _ in found.pairs if np.isnan(value)} == {(i, 17) for i in range(5)}
    assert totals.too_few_sites_count == 5


def test_ids_of_both_sets_are_written_once():
    samples = make_samples(["a 1", "b"], ["c", "b", "d 2"])
    written, changed = samples_with_writable_ids("phylip", samples.with_queries_as_targets())
    assert written.queries.ids == ["a_1", "b"]
    assert written.targets.ids == written.ids == ["a_1", "b", "c", "b", "d_2"]
    assert (written.first_target, written.row_count, written.pair_count) == (0, 5, 1 + 6)
    assert changed == [("a 1", "a_1"), ("a 1", "a_1"), ("d 2", "d_2")]
