"""Distances of every metric and rule equal the definitions, on every instruction set, however the work is cut."""

from dataclasses import replace

import numpy as np
import pytest
from distance_oracle import ProductsOnly, compute, dense_source, plain_distances, random_codes
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.common.errors import RunError
from gpualign.core.distance import bit_planes as pack
from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.execution.totals import NullProgress
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets
from gpualign.jobs.output.result_writing import write_results

VARIANTS = [name for name, supported in instruction_sets() if supported]
RULES = ["pairwise", "complete", "as-difference"]
CASES = [(metric, rule) for metric in METRICS for rule in RULES if MissingRule(rule) not in METRICS[metric].refused_missing_rules]


def kind_of(metric):
    return CallKind.NUCLEOTIDE if metric in ("jc69", "tn93") else CallKind.GENOTYPE


def agree(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("metric", "rule"), CASES)
def test_equals_the_definition(rng, variant, metric, rule):
    highest = 3 if kind_of(metric) is CallKind.NUCLEOTIDE else 2
    codes = random_codes(rng, 13, 700, highest, 0.03)
    expected = plain_distances(codes, 13, metric, rule)
    agree(compute(dense_source(codes, kind_of(metric)), CpuDistanceEngine(2, variant), metric, rule), expected)


@pytest.mark.parametrize(("metric", "rule"), CASES)
def test_products_alone_give_the_same(rng, metric, rule):
    highest = 3 if kind_of(metric) is CallKind.NUCLEOTIDE else 2
    for missing in (0, 0.05):
        codes = random_codes(rng, 9, 300, highest, missing)
        source = dense_source(codes, kind_of(metric))
        one, other = compute(source, CpuDistanceEngine(1), metric, rule), compute(source, ProductsOnly(1), metric, rule)
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@given(
    st.integers(1, 6),
    st.integers(1, 40),
    st.sampled_from([0, 1, 2, 5, 9, 252]),
    st.sampled_from([0, 0.2, 0.9, 1]),
    st.sampled_from([case for case in CASES if kind_of(case[0]) is CallKind.GENOTYPE]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_any_genotypes(samples, sites, highest, missing, case, products, seed):
    metric, rule = case
    codes = random_codes(np.random.default_rng(seed), samples, sites, highest, missing)
    engine = (ProductsOnly if products else CpuDistanceEngine)(1)
    agree(compute(dense_source(codes), engine, metric, rule), plain_distances(codes, samples, metric, rule))


@given(st.integers(1, 5), st.integers(1, 30), st.floats(0, 1), st.sampled_from(["jc69", "tn93", "fraction"]), st.integers(0, 2**32 - 1))
def test_any_nucleotides(samples, sites, missing, metric, seed):
    codes = random_codes(np.random.default_rng(seed), samples, sites, 3, missing)
    agree(
        compute(dense_source(codes, CallKind.NUCLEOTIDE), CpuDistanceEngine(1), metric), plain_distances(codes, samples, metric, "pairwise")
    )


@pytest.mark.parametrize("queries", [1, 3, 8])
@pytest.mark.parametrize("metric", ["hamming", "ibs"])
def test_two_sets(rng, queries, metric):
    codes = random_codes(rng, 9, 130, 2, 0.1)
    for engine in (CpuDistanceEngine(2), ProductsOnly(1)):
        agree(compute(dense_source(codes, queries=queries), engine, metric), plain_distances(codes, queries, metric, "pairwise"))


def test_bands_panels_and_scratch_files_do_not_matter(rng):
    """Memory for a few rows and a few sites at a time."""
    codes = random_codes(rng, 150, 4000, 2, 0.02)
    source = dense_source(codes)
    whole = compute(source, CpuDistanceEngine(2), "fraction")
    for memory in (1 << 18, 1 << 20):
        cut = compute(source, CpuDistanceEngine(3), "fraction", memory=memory)
        np.testing.assert_array_equal(whole[0], cut[0])
        np.testing.assert_array_equal(whole[1], cut[1])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sites", [1, 63, 64, 511, 512, 513, 16384, 16385, 40000])
def test_edges_of_words_and_chunks(rng, variant, sites):
    codes = random_codes(rng, 7, sites, 2, 0.01)
    both = (codes[:, None] != MISSING) & (codes[None] != MISSING)
    expected = np.where(both.any(axis=2), (both & (codes[:, None] != codes[None])).sum(axis=2), np.nan)
    found, _ = compute(dense_source(codes), CpuDistanceEngine(1, variant), "hamming")
    np.testing.assert_array_equal(found, expected)


def test_all_different_in_every_site(rng):
    """The carry-save adders at their fullest."""
    codes = np.repeat(np.arange(3, dtype=np.uint8)[:, None], 100_000, axis=1)
    for variant in VARIANTS:
        found, _ = compute(dense_source(codes), CpuDistanceEngine(1, variant), "hamming")
        np.testing.assert_array_equal(found, 100_000 * (1 - np.eye(3, dtype=int)))
        found, _ = compute(dense_source(codes), CpuDistanceEngine(1, variant), "allele")
        np.testing.assert_array_equal(found, 100_000 * np.abs(np.arange(3)[:, None] - np.arange(3)))


@pytest.mark.parametrize(
    ("metric", "rule", "distance", "compared"),
    [
        ("hamming", "pairwise", 2, 3),
        ("fraction", "pairwise", 2 / 3, 3),
        ("allele", "pairwise", 3, 3),
        ("ibs", "pairwise", 1 / 2, 3),
        ("hamming", "as-difference", 4, 5),
        ("allele", "as-difference", 7, 5),
    ],
)
def test_the_worked_example_of_the_docs(metric, rule, distance, compared):
    codes = np.array([[0, 1, 2, 2, MISSING], [0, 2, 0, MISSING, 1]], np.uint8)
    found = compute(dense_source(codes), CpuDistanceEngine(1), metric, rule)
    assert found[0][0, 1] == pytest.approx(distance)
    assert found[1][0, 1] == compared


@pytest.mark.parametrize("metric", ["jc69", "tn93"])
def test_scikit_bio(rng, metric):
    """An implementation of others, with the frequencies of the pair."""
    skbio = pytest.importorskip("skbio")
    distance = pytest.importorskip("skbio.sequence.distance")
    if not hasattr(distance, metric):
        pytest.skip(f"scikit-bio {skbio.__version__} has no {metric}")
    codes = np.repeat(rng.choice(np.arange(4, dtype=np.uint8), (1, 900), p=[0.4, 0.3, 0.2, 0.1]), 6, axis=0)
    changed = rng.random(codes.shape) < 0.08
    codes[changed] = rng.integers(0, 4, int(changed.sum()), dtype=np.uint8)
    found, _ = compute(dense_source(codes, CallKind.NUCLEOTIDE), CpuDistanceEngine(2), metric)
    rows = [skbio.DNA(np.array([*b"ACGT"], np.uint8)[row].tobytes()) for row in codes]
    expected = [[getattr(distance, metric)(x, y) for y in rows] for x in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_the_loop_that_bench_compares_with(rng):
    from gpualign.cpu.distance._distance import plain_loop

    codes = rng.integers(0, 3, (9, 70), dtype=np.int32)
    found = np.full((9, 9), -1, dtype=np.int32)
    plain_loop(codes, found)
    np.testing.assert_array_equal(found, (codes[:, None] != codes[None]).sum(axis=2))


@pytest.mark.parametrize("samples", [1, 5, 64, 65, 200])
@pytest.mark.parametrize("queries", [None, 3])
def test_progress_comes_to_its_end(rng, scratch, samples, queries):
    codes = random_codes(rng, samples + (queries or 0), 90, 2, 0.1)
    engine = CpuDistanceEngine(2)
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    for memory in (40_000, 1 << 24):
        done = []
        prepared = prepare(dense_source(codes, queries=queries), task, engine, DistanceBudget.of(memory), scratch)
        list(prepared.counter.count_function(prepared.panels, prepared.plan.bands(), prepared.counter.count_names, done.append))
        assert sum(done) == prepared.plan.pair_count * prepared.panel_site_count


def test_an_error_of_a_sink_stops_the_engine_at_once(rng, scratch):
    """The iterator of counts is closed before the error arrives, not when garbage is collected."""
    from gpualign.core.distance.metrics import MissingRule
    from gpualign.core.distance.preparation import DistanceTask, prepare
    from gpualign.core.distance.runner import compute_distances

    ended = []

    class Watched(CpuDistanceEngine):
        def prepare(self, wanted, memory):
            counter = super().prepare(wanted, memory)

            def count(*arguments):
                try:
                    yield from counter.count_function(*arguments)
                finally:
                    ended.append(True)

            return replace(counter, count_function=count)

    class Full:
        def begin(self, samples):
            assert len(samples.queries) == 40

        def write(self, distances):
            raise OSError("no space left")

    task = DistanceTask(METRICS["hamming"], MissingRule.COMPLETE, False)
    prepared = prepare(dense_source(random_codes(rng, 40, 90)), task, Watched(1), DistanceBudget.of(20_000), scratch)
    with pytest.raises(OSError, match="no space left") as caught:
        write_results(Full(), prepared.samples, compute_distances(prepared, NullProgress())[0])
    assert ended, caught


def test_sites_with_more_alleles_are_counted_apart(rng):
    """What many alleles need is not spent on all sites for the sake of a few."""
    codes = random_codes(rng, 9, 3000, 2)
    codes[:, ::500] = np.array([20, 5, 9] * 3)[:, None]
    task = DistanceTask(METRICS["allele"], MissingRule.COMPLETE, False)
    prepared = prepare(dense_source(codes), task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    of_two, of_more = sorted(prepared.panels, key=lambda panel: panel.site_count, reverse=True)
    assert of_more.site_count == 6
    assert len(of_two.recipe.planes) < len(of_more.recipe.planes)


@pytest.mark.parametrize("engine", [CpuDistanceEngine, ProductsOnly])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("missing", [0, 0.02])
def test_sites_with_two_calls_are_counted_apart(rng, monkeypatch, engine, rule, missing):
    """Whichever two of all nucleotides a site has, a plane or two tell them apart."""
    two = np.array([rng.permutation(4)[:2] for _ in range(3000)]).T
    codes = np.take_along_axis(two, rng.integers(0, 2, (13, 3000)), 0).astype(np.uint8)
    codes[:, ::100] = rng.integers(0, 4, (13, 30))
    codes[rng.random(codes.shape) < missing] = MISSING
    # A search that takes no time is worth it for few samples, for which a plain loop gives the distances.
    monkeypatch.setattr(pack, "SEARCH_SECONDS_PER_CALL", 0.0)
    task = DistanceTask(METRICS["hamming"], MissingRule(rule), False)
    prepared = prepare(dense_source(codes, CallKind.NUCLEOTIDE), task, engine(2), DistanceBudget.of(1 << 24), None)
    if engine is ProductsOnly or not missing:
        of_two, of_more = prepared.panels
        assert of_more.site_count <= 30
        assert len(of_two.recipe.planes) < len(of_more.recipe.planes)
    expected = plain_distances(codes, 13, "hamming", rule)
    agree(compute(dense_source(codes, CallKind.NUCLEOTIDE), engine(2), "hamming", rule), expected)


def test_few_sites_stay_together(rng, monkeypatch):
    """Each panel has planes of whole vectors: two of them would take more than one."""
    monkeypatch.setattr(pack, "SEARCH_SECONDS_PER_CALL", 0.0)
    codes = random_codes(rng, 9, 300, 3)
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    prepared = prepare(dense_source(codes, CallKind.NUCLEOTIDE), task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    assert len(prepared.panels) == 1


@pytest.mark.parametrize(("samples", "parts"), [(20, 1), (20_000, 2)])
def test_few_samples_are_not_worth_the_search(rng, samples, parts):
    codes = np.repeat(rng.integers(0, 2, (20, 3000)), samples // 20, axis=0).astype(np.uint8)
    codes[0, ::700] = 3
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    prepared = prepare(dense_source(codes, CallKind.NUCLEOTIDE), task, CpuDistanceEngine(2), DistanceBudget.of(1 << 29), None)
    assert len(prepared.panels) == parts


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40))
def test_parts_of_a_budget_fit_in_it(memory, calls):
    if 4 * (memory - calls) < memory - 3:
        with pytest.raises(RunError, match=f"the calls alone take {calls:,} bytes of {memory:,}; raise memory"):
            DistanceBudget.of(memory, calls)
        return
    budget = DistanceBudget.of(memory, calls)
    assert calls + budget.panel_bytes + budget.plane_bytes + budget.count_bytes <= memory
    assert budget.reading_bytes <= memory // 4


@given(st.integers(0, 20), st.integers(0, 9), st.integers(0, 25), st.integers(0, 9))
def test_pairs_of_a_triangular_band(start, rows, first, columns):
    band = SampleBand(start, start + rows, first, first + columns, True)
    assert band.pair_count == sum(target >= row for row in range(start, start + rows) for target in range(first, first + columns))
