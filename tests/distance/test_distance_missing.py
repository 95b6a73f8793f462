"""Samples with few calls: which pairs have no distance, what is written for them, and what is said."""

import json
from fractions import Fraction

import goldens
import numpy as np
import pytest
from command import gpualign, gpualign_here
from distance_oracle import ProductsOnly, compute, dense_source, near_pairs, plain_distances, random_codes, related
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.call_coverage import CallCoverage, min_site_count
from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.cpu.distance.engine import CpuDistanceEngine

FAILED = goldens.FAILED.read_bytes()
"""bad has no call; half and other have no site in common."""


def dist(*arguments, **options):
    return gpualign("dist", *arguments, "--device", "cpu", **options)


def describe_few_calls(rng, samples, sites):
    """Calls of which each sample lacks its own part: none, some, nearly all, all."""
    codes = random_codes(rng, samples, sites, missing=0)
    codes[rng.random(codes.shape) < rng.choice([0, 0.1, 0.6, 0.95, 1], samples)[:, None]] = MISSING
    return codes


# ---- which pairs


@given(
    st.integers(1, 7),
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(1, 3)),
    st.integers(1, 60),
    st.sampled_from(["hamming", "allele", "fraction", "ibs"]),
    st.sampled_from(["pairwise", "complete", "as-difference"]),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_pairs_with_fewer_sites_have_no_distance(samples, sites, queries, least, metric, rule, products, seed):
    codes = describe_few_calls(np.random.default_rng(seed), samples + (queries or 0), sites)
    engine = (ProductsOnly if products else CpuDistanceEngine)(1)
    for compared in (False, True):  # where they are written they are counted anyway
        found, _ = compute(dense_source(codes, queries=queries), engine, metric, rule, compared=compared, least=least)
        expected, common = plain_distances(codes, queries or len(codes), metric, rule)
        np.testing.assert_allclose(found, np.where(common < least, np.nan, expected), rtol=1e-12)


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
    st.sampled_from(["one set", "two", "added"]),
    st.integers(1, 20),
)
def test_what_calls_tell_of_pairs(queries, others, inputs, least):
    """By all ways to lay calls over 20 sites: as far apart as they can be, and as close."""
    upper_triangle = inputs != "two"
    a = np.array(queries)
    b = np.array({"one set": queries, "two": others, "added": queries + others}[inputs])
    coverage = CallCoverage(a, b, upper_triangle, 20, least)
    apart = np.maximum(0, a[:, None] + b[None, :] - 20)
    close = np.minimum(a[:, None], b[None, :])
    if upper_triangle:
        np.fill_diagonal(apart, a)
    assert coverage.is_sufficient == bool((apart >= least).all())
    assert coverage.is_decisive == bool(((apart >= least) == (close >= least)).all())
    if coverage.is_decisive:
        np.testing.assert_array_equal(coverage.too_few_calls_mask(slice(0, len(a)), slice(0, len(b))), apart < least)
        assert coverage.too_few_calls_count == np.count_nonzero(np.triu(apart < least, 1) if upper_triangle else apart < least)


def test_sites_of_a_fraction_are_exact():
    assert min_site_count(Fraction("0.1"), 30) == 3  # 0.1 * 30 is a little more in floating point
    assert min_site_count(Fraction("0.5"), 29_903) == 14_952
    assert min_site_count(Fraction("0.01"), 7) == 1
    assert min_site_count(Fraction("0.5"), 0) == 1
    assert min_site_count(12, 5) == 12


@pytest.mark.parametrize("missing", [0.1, 0.3])
def test_nothing_is_counted_where_calls_tell(rng, missing):
    """A failed sample among good ones costs nothing: no plane is multiplied, no further site is looked at."""
    codes = random_codes(rng, 20, 400, missing=missing)
    codes[7] = MISSING
    task = DistanceTask(METRICS["hamming"], MissingRule.PAIRWISE, False)
    prepared = prepare(dense_source(codes), task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    assert {term.count_name for panel in prepared.panels for term in panel.recipe.terms} == {"differences"}
    assert prepared.dtype == np.float64
    codes[7, :40] = 0  # too few to be sure
    prepared = prepare(dense_source(codes), task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    assert {term.count_name for panel in prepared.panels for term in panel.recipe.terms} == {"differences", "compared"}
    clean = prepare(dense_source(np.delete(codes, 7, axis=0)), task, CpuDistanceEngine(1), DistanceBudget.of(1 << 24), None)
    assert clean.dtype == np.int32


def test_alignments_count_sites_at_which_all_calls_agree(rng):
    """hamming looks at differing sites alone; compared sites are counted at all of them."""
    codes = np.zeros((6, 500), np.uint8)
    codes[1, 3] = 1
    codes[4, :400] = MISSING
    codes[5, 90:] = MISSING
    letters = np.array([*b"AC"] + [0] * 253 + [*b"N"], np.uint8)[codes]
    text = b"".join(b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters))
    for least, lacking in ((1, {(4, 5)}), (91, {(4, 5), (0, 5), (1, 5), (2, 5), (3, 5)}), (90, {(4, 5)})):
        rows = dist("-", "-q", "--min-compared", least, "--format", "molten", stdin=text).stdout.decode().splitlines()
        found = {tuple(int(name[1:]) for name in row.split()[:2]) for row in rows if row.endswith("nan")}
        assert {pair for pair in found if pair[0] < pair[1]} == lacking
        assert ((5, 5) in found) == (least > 90)
    expected = compute(dense_source(codes, CallKind.NUCLEOTIDE), CpuDistanceEngine(1), "hamming", least=100)[0]
    np.testing.assert_array_equal(np.isnan(expected)[:, 5], True)


@pytest.mark.parametrize("metric", ["jc69", "tn93", "king", "fraction", "grm"])
@pytest.mark.parametrize("inputs", ["one set", "two", "added"])
def test_pairs_without_a_value_are_counted(rng, metric, inputs):
    """Those with too few compared sites, and others for which the formula has no value; no sample with itself. In one band and in many."""
    nucleotides = metric in ("jc69", "tn93")
    codes = related(rng, 60, 40, 3 if nucleotides else 2, 0.4)
    codes[:20] = rng.integers(0, 4, (20, 40)) if nucleotides else np.where(codes[:20] == 1, 2, codes[:20])
    codes[30] = MISSING
    queries = None if inputs == "one set" else 25
    expected, common = plain_distances(codes, len(codes) if inputs != "two" else 25, metric, "pairwise")
    wanted = np.ones(expected.shape, bool) if inputs == "two" else np.triu(np.ones(expected.shape, bool), 1)
    if inputs == "added":
        wanted[25:] = False
    few = wanted & (common < 10)
    others = wanted & np.isnan(expected) & ~few
    assert few.any()
    assert others.any() == (metric in ("jc69", "tn93", "king"))
    source = dense_source(codes, CallKind.NUCLEOTIDE if nucleotides else CallKind.GENOTYPE, queries)
    for engine, memory in ((CpuDistanceEngine(2), 1 << 28), (ProductsOnly(1), 1 << 16)):
        found, totals = near_pairs(source, engine, metric, None, memory=memory, least=10, added=inputs == "added")
        assert (totals.too_few_sites_count, totals.undefined_count) == (np.count_nonzero(few), np.count_nonzero(others))
        assert sum(np.isnan(pair[2]) for pair in found.pairs) == totals.too_few_sites_count + totals.undefined_count


# ---- what is written


def test_a_failed_sample_does_not_join_outbreaks():
    near = dist("-", "--max-distance", "100", stdin=b">a\nAAAA\n>b\nTTTT\n>failed\nNNNN\n").stdout
    assert near == b"query\ttarget\tdistance\na\tb\t4\n"


def test_arrays_have_nan_and_say_so(tmp_path):
    expected = [[0, 1, np.nan, 0, 0], [1, 0, np.nan, 0, 1], [np.nan] * 5, [0, 0, np.nan, 0, np.nan], [0, 1, np.nan, np.nan, 0]]
    done = dist("-", "-o", tmp_path / "m.npy", stdin=FAILED)
    assert b"5 of 10 pairs have no compared site: they have no distance (nan; the array is float64, not int32)" in done.stderr
    found = np.load(tmp_path / "m.npy")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    dist("-", "-o", tmp_path / "c.npy", "--condensed", stdin=FAILED)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.array(expected)[np.triu_indices(5, 1)])
    dist("-", "-o", tmp_path / "m.npz", "--compared", stdin=FAILED)
    with np.load(tmp_path / "m.npz") as archive:
        np.testing.assert_array_equal(archive["distance"], expected)
        assert archive["compared"].dtype == np.int32
        assert archive["compared"][3].tolist() == [2, 2, 0, 2, 0]


def test_arrays_stay_whole_numbers_where_every_pair_is_compared(tmp_path):
    good = b">a\nACGTN\n>b\nNCGTA\n>c\nNNGTA\n"
    assert dist("-", "-o", tmp_path / "m.npy", stdin=good).stderr.count(b"nan") == 0
    assert np.load(tmp_path / "m.npy").dtype == np.int32


def test_phylip_is_refused_where_a_distance_is_not_defined(tmp_path):
    done = dist("-", "-o", tmp_path / "m.phy", stdin=FAILED, check=False)
    assert done.returncode == 2
    assert b"that of 's1' and 'bad' is undefined" in done.stderr
    assert b"leave out samples with few calls by --min-called 0.5, or this one by --exclude" in done.stderr
    dist("-", "--min-called", "0.5", "--exclude", "other", "-o", tmp_path / "m.phy", stdin=FAILED)
    (tmp_path / "m.phy").unlink()
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_a_matrix_with_gaps(tmp_path):
    pytest.importorskip("matplotlib")
    dist("-", "--plot", tmp_path / "x.png", "-o", tmp_path / "x.tsv", stdin=FAILED)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (["--max-distance", "4"], ["query", "target", "distance", "compared"]),
        (["--max-distance", "4", "--compared"], ["query", "target", "distance", "compared"]),
        (["--metric", "fraction", "--max-distance", "1", "--format", "csv"], ["query", "target", "distance", "compared"]),
        (["--max-distance", "4", "--format", "molten"], None),
        (["--format", "molten"], None),
    ],
)
def test_lists_show_the_compared_sites_that_are_asked_for(options, columns):
    def cells(*more):
        separator = "," if "csv" in options else "\t"
        return [line.split(separator) for line in dist("-", "-q", *options, *more, stdin=FAILED).stdout.decode().splitlines()]

    found = cells("--min-compared", "3")
    if columns is None:
        assert {len(row) for row in found} == {3}
        return
    assert found[0] == columns
    assert len(found) > 1
    assert found[1:] == [row for row in cells("--compared")[1:] if int(row[3]) >= 3]


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "0.0", "x", "1e3", "50%", "50.0", ""])
def test_bad_values_of_min_compared(value):
    done = dist("-", "--min-compared", value, stdin=FAILED, check=False)
    assert done.returncode == 2
    assert b"--min-compared" in done.stderr
    assert done.stdout == b""


# ---- what is said


def test_samples_with_few_calls_are_named():
    done = dist("-", stdin=FAILED)
    assert (
        b"gpualign dist: 2 samples have calls at less than half of the sites: bad (0 of 8), half (2); --min-called 0.5 leaves them out\n"
        in done.stderr
    )
    assert dist("-", "-q", stdin=FAILED).stderr == b""
    assert b"few" not in dist("-", stdin=b">a\nACNN\n>b\nACGT\n").stderr  # half is enough
    many = b">good\n%s\n" % (b"A" * 1200) + b"".join(b">s%d\n%s\n" % (k, b"A" * (9 - k) + b"N" * (1191 + k)) for k in range(8))
    named = b"8 samples have calls at less than half of the sites: s7 (2 of 1,200), s6 (3), s5 (4), s4 (5), s3 (6) and 3 more"
    for rule in ("pairwise", "complete", "as-difference"):
        assert named in dist("-", "--missing", rule, stdin=many).stderr


@pytest.mark.parametrize(
    ("metric", "text", "note", "counts"),
    [
        (
            "jc69",
            ">a\nAAAA\n>b\nTTTT\n>c\nAAAC\n>n\nNNNN\n",
            "3 of 6 pairs have no compared site, 2 of 6 pairs are saturated: they have no distance (nan)",
            (5, 3),
        ),
        ("tn93", ">a\nACGTACGT\n>b\nCATGCATG\n>c\nACGTACGC\n", "2 of 3 pairs are saturated: they have no distance (nan)", (2, 0)),
        (
            "king",
            "id\tx\ty\na\t0\t2\nb\t1\t1\nc\t1\t0\n",
            "2 of 3 pairs have a sample that is heterozygous at no compared site: they have no kinship (nan)",
            (2, 0),
        ),
        ("grm", "id\tx\ty\na\t0\t2\nb\t1\t1\nc\t\t\n", "2 of 3 pairs have no compared site: they have no relationship (nan)", (2, 2)),
    ],
    ids=["jc69", "tn93", "king", "grm"],
)
@pytest.mark.parametrize("output", [["-o", "x.tsv"], ["-o", "x.npy"], ["-o", "x.npz", "--compared"], ["--format", "molten", "-o", "x"]])
def test_the_note_and_the_summary_count_pairs_without_a_value(tmp_path, monkeypatch, metric, text, note, counts, output):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").write_text(text)
    said = gpualign_here("dist", "input", "--metric", metric, "--device", "cpu", "--summary", "s.json", *output)[1]
    assert f"gpualign dist: {note}\n" in said
    results = json.loads((tmp_path / "s.json").read_bytes())["results"]
    assert (results["pairs_without_distance"], results["pairs_with_too_few_sites"]) == counts


@pytest.mark.parametrize(
    ("options", "note", "count"),
    [
        (
            ["table", "--metric", "king", "--min-kinship", "0"],
            "3 of 6 pairs have no compared site, 2 of 6 pairs have a sample that is heterozygous at no compared site: they are not near",
            5,
        ),
        (["alignment", "--metric", "jc69", "--max-distance", "2"], None, 0),  # what is saturated is known to be far
    ],
    ids=["king", "jc69"],
)
def test_the_note_and_the_summary_of_near_pairs(tmp_path, monkeypatch, options, note, count):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table").write_text("id\tx\ty\na\t0\t2\nb\t1\t1\nc\t1\t0\nn\t\t\n")
    (tmp_path / "alignment").write_text(">a\nAAAA\n>b\nTTTT\n>c\nAAAC\n")
    rows, said = gpualign_here("dist", *options, "--device", "cpu", "--summary", "s.json")
    assert rows.count(b"\n") == 2
    assert f"gpualign dist: {note}\n" in said if note else "pairs " not in said.replace("3 pairs,", "")
    results = json.loads((tmp_path / "s.json").read_bytes())["results"]
    assert (results["pairs_without_distance"], results["pairs_kept"]) == (count, 1)


def test_samples_of_both_inputs_are_named(tmp_path):
    (tmp_path / "old.tsv").write_text("id\tx\ty\tz\nold\t0\t\t\n")
    done = dist("-", tmp_path / "old.tsv", stdin=b"id\tx\ty\tz\nnew\t\t\t\ngood\t0\t1\t2\n")
    assert b"2 samples have calls at less than half of the sites: new (0 of 3), old (1)" in done.stderr
    assert done.stdout == b"\told\nnew\tnan\ngood\t0\n"
