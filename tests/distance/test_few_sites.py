"""Near pairs that were compared at few sites are left out unless they are asked for, and what is said of them."""

import json
import tempfile
from collections import Counter
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command import gpualign_here
from distance_oracle import ENGINES, ProductsOnly, allele_source, dense_source, kind_of, listed, near_pairs, plain_distances, related
from hypothesis import given
from hypothesis import strategies as st
from sites import alignment

from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.cpu.distance.engine import CpuDistanceEngine

HALF = Fraction(1, 2)


def with_gaps(rng, codes):
    """The same with samples that have calls nowhere, at a tenth, at about half, at 60 to 75 %, and nearly everywhere."""
    share = rng.choice([1, 0.9, 0.5, 0.4, 0.3, 0.02, 0.02, 0.02, 0], len(codes))
    codes = codes.copy()
    codes[rng.random(codes.shape) < share[:, None]] = MISSING
    return codes


def expect(codes, metric, most, queries=None, added=False):
    """(pairs that are listed, how many are left out for each sample)"""
    values, common = plain_distances(codes, len(codes) if queries is None or added else queries, metric, "pairwise")
    if added:
        values[queries:] = np.nan
    pairs = listed(values, common, None if added else queries, most)
    first = 0 if queries is None or added else queries
    called = (codes != MISSING).sum(axis=1)
    left_out = np.zeros(len(codes), dtype=int)
    for i, j, _, n in pairs:
        if 2 * n < codes.shape[1]:
            left_out[i if called[i] <= called[j + first] else j + first] += 1
    return [pair for pair in pairs if 2 * pair[3] >= codes.shape[1]], left_out


@given(
    st.integers(1, 40),
    st.integers(1, 70),
    st.sampled_from(["one set", "two", "added"]),
    st.sampled_from(["hamming", "allele", "fraction", "ibs", "jc69", "tn93"]),
    st.sampled_from(sorted(ENGINES)),
    st.sampled_from([0, 2, 5, 1000]),
    st.booleans(),
    st.sampled_from([1 << 15, 1 << 28]),
    st.integers(0, 2**32 - 1),
)
def test_pairs_by_the_definition(samples, sites, inputs, metric, engine, most, compared, memory, seed):
    rng = np.random.default_rng(seed)
    kind = kind_of(metric)
    codes = with_gaps(rng, related(rng, samples + 3, sites, 3 if kind is CallKind.NUCLEOTIDE else 2, 0.02))
    queries, added = None if inputs == "one set" else 3, inputs == "added"
    most = most if METRICS[metric].is_integer else most / 20
    expected, left_out = expect(codes, metric, most, queries, added)
    source = dense_source(codes, kind, queries)
    found, totals = near_pairs(
        source, ENGINES[engine](2), metric, most, memory=memory, compared=compared, added=added, min_shared_fraction=HALF
    )
    close = [(i, j, pytest.approx(d, rel=1e-12)) for i, j, d, _ in expected]
    assert [pair[:3] for pair in found.pairs] == close
    if compared:
        assert [pair[3] for pair in found.pairs] == [pair[3] for pair in expected]
    assert (totals.near_count, totals.left_out_per_sample.tolist()) == (len(expected), left_out.tolist())


@given(st.integers(8, 60), st.integers(1, 90), st.booleans(), st.integers(0, 2**32 - 1))
def test_alignments_whose_calls_agree(samples, sites, products, seed):
    """Where calls are known beforehand, and most sites do not vary: those are compared too."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(rng.integers(0, 4, (1, sites), dtype=np.uint8), samples, axis=0)
    codes[rng.random(codes.shape) < 0.01] = 3
    codes = with_gaps(rng, codes)
    expected, left_out = expect(codes, "hamming", 3)
    engine = ProductsOnly(2) if products else CpuDistanceEngine(2)
    with alignment(codes) as source:
        found, totals = near_pairs(source, engine, "hamming", 3, compared=False, min_shared_fraction=HALF)
    assert [pair[:3] for pair in found.pairs] == [pair[:3] for pair in expected]
    assert totals.left_out_per_sample.tolist() == left_out.tolist()


def test_alleles_of_loci(rng):
    codes = with_gaps(rng, related(rng, 50, 80, 200, 0))
    numbers = np.where(codes == MISSING, np.uint32(0xFFFFFFFF), codes.astype(np.uint32) * 1000)
    expected, left_out = expect(codes, "hamming", 10)
    assert expected
    assert left_out.any()
    found, totals = near_pairs(allele_source(numbers), CpuDistanceEngine(2), "hamming", 10, compared=False, min_shared_fraction=HALF)
    assert [pair[:3] for pair in found.pairs] == [pair[:3] for pair in expected]
    assert totals.left_out_per_sample.tolist() == left_out.tolist()


def prepared(source, metric="hamming"):
    task = DistanceTask(METRICS[metric], MissingRule.PAIRWISE, False, 1, 5.0, min_shared_fraction=HALF)
    with tempfile.TemporaryFile() as file:
        return prepare(source, task, CpuDistanceEngine(2), DistanceBudget.of(1 << 28), lambda: file)


@given(st.integers(2, 20), st.integers(1, 60), st.booleans(), st.integers(0, 2**32 - 1))
def test_nothing_is_counted_where_samples_have_three_quarters_of_their_calls(samples, sites, as_alignment, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (samples, sites), dtype=np.uint8)
    for row in codes:
        row[rng.permutation(sites)[: rng.integers(0, sites // 4 + 1)]] = MISSING
    with alignment(codes) if as_alignment else ExitStack() as source:
        ready = prepared(source if as_alignment else dense_source(codes))
    assert ready.min_sites_filter is None
    assert not ready.counter.request.counts_compared_sites
    assert not any(term.count_name == "compared" for panel in ready.panels for term in panel.recipe.terms)


def test_only_pairs_of_few_samples_are_counted(rng):
    """Two of 40 samples have 60 % of their calls, one has less than half: sites in common are counted for the two of them alone."""
    codes = related(rng, 40, 200, 2, 0)
    for row, share in ((3, 0.4), (17, 0.4), (20, 0.525)):
        codes[row, rng.permutation(200)[: int(200 * share)]] = MISSING
    ready, called = prepared(dense_source(codes)), codes != MISSING
    assert ready.min_sites_filter.counted_samples.tolist() == [3, 17]
    assert not ready.counter.request.counts_compared_sites
    np.testing.assert_array_equal(ready.min_sites_filter.shared_sites, [(called & called[row]).sum(axis=1) for row in (3, 17)])


# ---- what is written and said


def outbreaks(rng):
    """Two outbreaks of 14 isolates, far from each other, and one isolate of the first that is 90 % N."""
    bases = np.array([*b"ACGT"], np.uint8)
    ancestor = rng.choice(bases, 400)
    rows = []
    for name in "ab":
        founder = ancestor.copy()
        changed = rng.permutation(400)[:60]
        founder[changed] = bases[(np.searchsorted(bases, founder[changed]) + 1) % 4]
        for k in range(14):
            row = founder.copy()
            row[rng.permutation(400)[:2]] = ord("A")
            rows.append((f"{name}{k}", row))
    failed = rows[0][1].copy()
    failed[:] = ord("N")
    kept = np.flatnonzero((rows[0][1] == ancestor) & (rows[-1][1] == ancestor))[:40]
    failed[kept] = ancestor[kept]
    rows.insert(14, ("failed", failed))
    return b"".join(b">%s\n%s\n" % (name.encode(), bytes(row)) for name, row in rows)


IDS = [*(f"a{k}" for k in range(14)), "failed", *(f"b{k}" for k in range(14))]


@pytest.fixture
def core(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "core.aln").write_bytes(outbreaks(rng))
    (tmp_path / "ids.txt").write_text("\n".join(IDS))


def dist(*words):
    written, said = gpualign_here("dist", "core.aln", *words, "--device", "cpu")
    return written.decode(), said


def cluster_sizes(near):
    """Of a list of pairs, as `gpualign cluster` makes them."""
    pytest.importorskip("scipy")
    Path("near.tsv").write_text(near)
    rows = gpualign_here("cluster", "--edges", "near.tsv", "--ids", "ids.txt", "--max-distance", 12)[0].decode().splitlines()[1:]
    return list(Counter(row.split("\t")[1] for row in rows).values())


def test_a_failed_isolate_does_not_join_two_outbreaks(core):
    near, said = dist("--max-distance", 12)
    assert cluster_sizes(near) == [14, 1, 14]
    assert near.startswith("query\ttarget\tdistance\n")
    assert (
        "gpualign dist: 28 near pairs have fewer than 200 compared sites and are left out, for few calls of failed (40 of 400);"
        " --min-compared 1 keeps them\n"
    ) in said
    joined, said = dist("--max-distance", 12, "--min-compared", 1)
    assert cluster_sizes(joined) == [29]
    assert "left out" not in said
    assert dist("--max-distance", 12, "--clusters", "c.tsv")[0] == near
    assert list(Counter(line.split("\t")[1] for line in Path("c.tsv").read_text().splitlines()[1:]).values()) == [14, 1, 14]
    assert near == "".join(line.rsplit("\t", 1)[0] + "\n" for line in dist("--max-distance", 12, "--min-compared", 0.5)[0].splitlines())


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (["--metric", "fraction", "--max-distance", "0.03"], True),
        (["--metric", "jc69", "--max-distance", "0.03", "--compared"], True),
        (["--metric", "tn93", "--max-distance", "0.03", "--format", "molten"], True),
        (["--max-distance", "12", "--missing", "complete"], False),
        (["--max-distance", "12", "--missing", "as-difference"], False),
        (["--max-distance", "12", "--exclude", "failed"], False),
        (["--max-distance", "12", "--min-called", "0.5"], False),
        (["--format", "molten"], False),
    ],
)
def test_where_it_applies(core, options, left_out):
    listed, said = dist(*options)
    assert ("are left out, for few calls of failed" in said) == left_out
    compared = dist(*options, "--min-compared", 1, *(["--compared"] if "--compared" not in options else []))[0].splitlines()
    header = [] if "molten" in options else compared[:1]
    rows = [line for line in compared[len(header) :] if not left_out or int(line.split("\t")[3]) >= 200]
    cut = 4 if "--compared" in options else 3
    assert listed.splitlines() == ["\t".join(line.split("\t")[:cut]) for line in [*header, *rows]]


def test_the_summary_and_other_runs(core, tmp_path):
    dist("--max-distance", 12, "-o", "x.tsv", "--summary", "s.json")
    results = json.loads((tmp_path / "s.json").read_text())["results"]
    assert (results["near_pairs_left_out"], results["pairs_without_distance"]) == (28, 0)
    expected = (tmp_path / "x.tsv").read_text()
    dist("--max-distance", 12, "--min-compared", 1, "-o", "x.tsv", "--summary", "s.json")
    assert "near_pairs_left_out" not in json.loads((tmp_path / "s.json").read_text())["results"]
    for k in (1, 2, 3):
        dist("--max-distance", 12, "--shard", f"{k}/3", "-o", "y.tsv")
    gpualign_here("merge", *(f"y.tsv.{k}-of-3.part" for k in (1, 2, 3)), "-o", "y.tsv")
    assert (tmp_path / "y.tsv").read_text() == expected
