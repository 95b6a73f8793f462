"""Near pairs, which engines choose by counts, are those of the whole matrix at the threshold or below."""

import numpy as np
import pytest
from distance_oracle import ENGINES, compute, dense_source, kind_of, listed, near_pairs, plain_distances, related
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.pair_selection import FAR_OFFSET, PairSelectionRule, select_pairs
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets

VARIANTS = [name for name, supported in instruction_sets() if supported]
RULES = ["pairwise", "complete", "as-difference"]
CASES = [(metric, rule) for metric in METRICS for rule in RULES if MissingRule(rule) not in METRICS[metric].refused_missing_rules]


def check(codes, engine, metric, rule, most, queries=None, least=1, memory=1 << 28):
    source = dense_source(codes, kind_of(metric), queries)
    values, compared = compute(source, CpuDistanceEngine(1), metric, rule, least=least)
    defined = np.unique(values[~np.isnan(values)])
    if most is None:  # a tie
        most = float(defined[len(defined) // 3]) if len(defined) else 1.0
    found, totals = near_pairs(source, engine, metric, most, rule, memory, least=least)
    assert found.pairs == listed(values, compared, queries, most, metric)
    few = np.isnan(values) if metric not in ("jc69", "tn93", "king") else compared < least
    others = np.isnan(values) & ~few if metric == "king" else np.zeros_like(few)  # what is saturated is far apart
    for pairs, counted in ((few, totals.too_few_sites_count), (others, totals.undefined_count)):
        assert counted == np.count_nonzero(pairs if queries is not None else np.triu(pairs, 1))
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("metric", "rule"), CASES)
def test_every_metric_and_rule(rng, engine, metric, rule):
    codes = related(rng, 40, 600, 3 if kind_of(metric) is CallKind.NUCLEOTIDE else 2, 0.02)
    everything = -2.0 if METRICS[metric].is_similarity else 1e9 if METRICS[metric].is_integer else 5.0
    for most in (None, 0, everything):
        for queries in (None, 11):
            check(codes, ENGINES[engine](2), metric, rule, most, queries)


@given(
    st.integers(1, 9),
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(1, 3)),
    st.sampled_from([0, 1, 2, 9, 252]),
    st.sampled_from([0, 0.1, 0.6, 1]),
    st.sampled_from(
        [case for case in CASES if kind_of(case[0]) is CallKind.GENOTYPE and case[0] != "grm"]
    ),  # exact but for rounding of terms
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(0, 60), st.fractions(0, 1).map(float)),
    st.sampled_from(sorted(ENGINES)),
    st.integers(0, 2**32 - 1),
)
def test_any_genotypes_equal_the_definition(samples, sites, queries, highest, missing, case, least, most, engine, seed):
    metric, rule = case
    codes = related(np.random.default_rng(seed), samples + (queries or 0), sites, highest, missing)
    expected, common = plain_distances(codes, queries or len(codes), metric, rule)
    expected[common < least] = np.nan
    if most is None:
        some = expected[~np.isnan(expected)]
        most = float(some[0]) if len(some) else 1.0
    found, totals = near_pairs(dense_source(codes, queries=queries), ENGINES[engine](1), metric, most, rule, least=least)
    assert found.pairs == listed(expected, common, queries, most, metric)
    without = np.isnan(expected) if queries is not None else np.triu(np.isnan(expected), 1)
    assert totals.too_few_sites_count == np.count_nonzero(without & (common < least))
    assert totals.undefined_count == np.count_nonzero(without) - totals.too_few_sites_count


@given(
    st.integers(1, 8),
    st.integers(1, 80),
    st.sampled_from([0, 0.1, 0.6]),
    st.sampled_from(["jc69", "tn93"]),
    st.integers(1, 20),
    st.one_of(st.none(), st.floats(0, 3)),
    st.sampled_from(sorted(ENGINES)),
    st.integers(0, 2**32 - 1),
)
def test_any_nucleotides(samples, sites, missing, metric, least, most, engine, seed):
    """Thresholds that are distances of pairs too: what the formula says of them decides, to the last bit."""
    check(related(np.random.default_rng(seed), samples, sites, 3, missing), ENGINES[engine](1), metric, "pairwise", most, least=least)


@pytest.mark.parametrize("metric", ["hamming", "fraction", "tn93"])
@pytest.mark.parametrize("memory", [1 << 17, 1 << 19])
def test_bands_and_panels_do_not_matter(rng, metric, memory):
    """Memory for a few rows and a few sites at a time, and for fewer pairs than a band has: all of them are near."""
    codes = related(rng, 150, 3000, 3, 0.02)
    for most in (None, 1e6):
        for engine in ENGINES.values():
            found = check(codes, engine(2), metric, "pairwise", most, memory=memory)
    assert found.parts > 1


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sites", [1, 511, 4097, 40_000])
def test_pairs_that_are_left_early(rng, variant, sites):
    """Some pairs of a block go on while the others are beyond the threshold, at every length of a row; pairs with too few sites are told
    from those that are left."""
    for missing in (0.02, 0.2):
        codes = related(rng, 70, sites, 2, missing)
        for metric, most in (("hamming", 12), ("fraction", 0.01), ("hamming", 0)):
            check(codes, CpuDistanceEngine(2, variant), metric, "pairwise", most, least=max(1, 3 * sites // 10))
    check(codes, CpuDistanceEngine(1, variant), "hamming", "as-difference", sites // 20, queries=3)


def test_a_rule_by_its_definition(rng):
    """choose(), a pair at a time; also below the diagonal of a rectangle, and with samples that are near no other."""
    counts = {name: rng.integers(0, 30, (6, 9), dtype=np.int32) for name in ("compared", "matches")}
    counts["compared"][0, 2], counts["matches"][0, 2] = 8, 3  # one pair of each band is undefined whatever the others are
    offsets = rng.integers(0, 9, 20)
    offsets[[5, 14]] = FAR_OFFSET
    rule = PairSelectionRule({"compared": 3, "matches": -2}, 40, offsets, 7, floors={"matches": 4, "compared": 9})
    for band in (SampleBand(4, 10, 11, 20, False), SampleBand(4, 10, 4, 13, True)):
        found = list(select_pairs(rule, band, counts))
        pairs, lacking, undefined = [], 0, 0
        for i in range(band.start, band.stop):
            for j in range(max(band.first_target, i + 1 if band.upper_triangle else 0), band.target_stop):
                compared, matches = (int(counts[name][i - band.start, j - band.first_target]) for name in ("compared", "matches"))
                lacking += compared < 7
                undefined += compared >= 7 and (matches < 4 or compared < 9) and not {5, 14} & {i, j}
                if compared >= 7 and 3 * compared - 2 * matches + offsets[i] + offsets[j] <= 40:
                    pairs.append((i, j, compared, matches))
        listed = [(q, t, c, m) for p in found for q, t, c, m in zip(p.queries, p.targets, *p.counts.values(), strict=True)]
        assert listed == pairs
        assert sum(part.too_few_sites_count for part in found) == lacking
        assert sum(part.undefined_count for part in found) == undefined > 0
