"""Numbers of near pairs of each sample, which engines may reduce piece by piece in any order, are those of the listed pairs."""

import io

import numpy as np
import pytest
from distance_oracle import ENGINES, dense_source, kind_of, near_pairs, random_codes, related
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.bands import SampleBand, SampleBands
from gpualign.core.distance.calls import CallKind
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.output.neighbour_counts import NeighbourCountsSink
from gpualign.cpu.distance import engine as cpu_engine
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets

VARIANTS = [name for name, supported in instruction_sets() if supported]
CASES = [
    (metric, rule.value)
    for metric in METRICS
    for rule in MissingRule
    if rule not in METRICS[metric].refused_missing_rules and kind_of(metric) is CallKind.GENOTYPE
]


def check(source, engine, metric, most, rule="pairwise", memory=1 << 28, **options):
    """Returns the numbers of neighbours, after comparing them with the list."""
    listed, expected = near_pairs(source, CpuDistanceEngine(1), metric, most, rule, compared=False, **options)
    stream, upper = io.BytesIO(), source.samples.upper_triangle or options.get("added", False)
    sink = NeighbourCountsSink(stream, "\t")
    _, totals = near_pairs(source, engine, metric, most, rule, memory, compared=False, counts_sink=sink, **options)
    counts = np.zeros(len(source.samples.queries), dtype=int)
    for pair in listed.pairs:
        counts[pair[0]] += 1
        if upper and pair[1] < len(counts):
            counts[pair[1]] += 1
    rows = [line.split("\t") for line in stream.getvalue().decode().splitlines()[1:]]
    assert rows == [[name, str(count)] for name, count in zip(source.samples.queries.ids, counts, strict=True)]
    for name in ("near_count", "too_few_sites_count", "undefined_count"):
        assert getattr(totals, name) == getattr(expected, name)
    assert (totals.left_out_per_sample is None) == (expected.left_out_per_sample is None)
    if totals.left_out_per_sample is not None:
        assert totals.left_out_per_sample.tolist() == expected.left_out_per_sample.tolist()
    return counts


@given(
    st.integers(1, 40),
    st.integers(1, 70),
    st.one_of(st.none(), st.integers(1, 20)),
    st.booleans(),
    st.sampled_from([0, 0.1, 0.6]),
    st.sampled_from(CASES),
    st.one_of(st.none(), st.fractions(0, 1)),
    st.floats(0, 1),
    st.sampled_from(sorted(ENGINES)),
    st.integers(0, 2**32 - 1),
)
def test_any_calls(samples, sites, queries, added, missing, case, shared, most, engine, seed):
    metric, rule = case
    codes = random_codes(np.random.default_rng(seed), samples, sites, missing=missing)
    queries = None if queries is None or queries >= samples else queries
    most = round(most * sites) if METRICS[metric].is_integer else most - METRICS[metric].is_similarity
    shared = shared if rule == "pairwise" and not METRICS[metric].is_similarity else None
    source = dense_source(codes, kind_of(metric), queries)
    check(source, ENGINES[engine](2), metric, most, rule, added=added and queries is not None, min_shared_fraction=shared)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("sites", [1, 64, 300, 2000, 2100])
@pytest.mark.parametrize("queries", [None, 400])
def test_tiles_of_every_shape(rng, variant, sites, queries):
    """Blocks of few and of many columns, whole and at the edge; several tiles and pieces."""
    codes = related(rng, 1010, sites, 3, 0.05)
    most = max(1, sites // 20)
    counts = check(dense_source(codes, queries=queries), CpuDistanceEngine(3, variant), "hamming", most)
    assert counts.any()
    check(dense_source(codes, queries=queries), CpuDistanceEngine(3, variant), "fraction", 0.05, memory=1 << 21)


def test_consecutive_bands_are_joined():
    upper = SampleBand(3, 40, 3, 40, True)
    assert list(cpu_engine._join_bands(SampleBands.of(upper.pieces(7)))) == [upper]
    rectangle = SampleBand(0, 10, 10, 30, False)
    apart = [*rectangle.pieces(4), SampleBand(12, 14, 10, 30, False), SampleBand(14, 15, 11, 30, False)]
    assert list(cpu_engine._join_bands(SampleBands.of(apart))) == [rectangle, *apart[-2:]]
    assert list(cpu_engine._join_bands(SampleBands.of([]))) == []
