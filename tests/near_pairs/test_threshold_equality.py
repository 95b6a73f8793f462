"""Pairs at exactly a threshold pass it: decided by fractions of whole numbers, for each way in which pairs are found and clustered."""

from fractions import Fraction

import numpy as np
import pytest
from command import gpualign_here
from hypothesis import given
from hypothesis import strategies as st

import gpualign
from gpualign.core.alignment.identity import identity_distance
from gpualign.core.clustering.precomputed import Threshold

LENGTHS = (100, 50, 200, 40)


def family(rng, length, records=24):
    """Records that differ from one another at few positions: many pairs are at exactly one, two, three ... hundredths."""
    first = rng.choice(list("ACGT"), length)
    out = []
    for _ in range(records):
        changed = first.copy()
        for place in rng.choice(length, int(rng.integers(0, 5 * length // 100 + 2)), replace=False):
            changed[place] = rng.choice([letter for letter in "ACGT" if letter != changed[place]])
        out.append("".join(changed))
    return out


def thresholds(length):
    return [f"{k / 100:g}" for k in range(1, 12)] + [f"{k / length:g}" for k in (1, 3, 7)]


@pytest.fixture
def written(tmp_path, rng):
    """(path, {pair: its distance as a fraction}, ids) of a family, by its alignments' matches and columns."""

    def write(length):
        path = tmp_path / f"{length}.fa"
        path.write_text("".join(f">r{k}\n{letters}\n" for k, letters in enumerate(family(rng, length))))
        out, _ = gpualign_here("nw", path, "--identity-def", "1", "--fields", "query,target,matches,length")
        rows = [line.split("\t") for line in out.decode().splitlines()[1:]]
        return path, {frozenset(row[:2]): 1 - Fraction(int(row[2]), int(row[3])) for row in rows}

    return write


def pairs_in(text):
    return {frozenset(line.split("\t")[:2]) for line in text.decode().splitlines()[1:]}


@pytest.mark.parametrize("length", LENGTHS)
def test_lists_have_the_pairs_at_the_threshold(written, length):
    path, exact = written(length)
    equal = 0
    for threshold in thresholds(length):
        near = {pair for pair, far in exact.items() if far <= Fraction(threshold)}
        equal += sum(far == Fraction(threshold) for far in exact.values())
        words = ("nw", path, "--identity-def", "1")
        assert pairs_in(gpualign_here(*words, "--max-distance", threshold)[0]) == near
        assert pairs_in(gpualign_here(*words, "--min-identity", str(float(1 - Fraction(threshold))))[0]) == near
    assert equal > 20


def components(ids, near):
    """Sets of ids that are connected by near pairs."""
    parts = {name: {name} for name in ids}
    for one, other in map(tuple, near):
        if parts[one] is not parts[other]:
            parts[one] |= parts[other]
            for name in parts[other]:
                parts[name] = parts[one]
    return {frozenset(part) for part in parts.values()}


def clusters_in(text):
    found = {}
    for line in text.decode().splitlines()[1:]:
        name, cluster = line.split("\t")[:2]
        found.setdefault(cluster, set()).add(name)
    return {frozenset(part) for part in found.values()}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", ["distance", "identity"])
def test_clusters_of_sequences_and_of_matrices_are_the_same(written, tmp_path, value, dtype):
    path, exact = written(100)
    ids = [f"r{k}" for k in range(24)]
    gpualign_here("nw", path, "--identity-def", "1", "--value", value, "-o", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        matrix = dict(file)
    values = matrix.pop(value)
    np.savez(tmp_path / "x.npz", **matrix, **{value: values.astype(dtype)})
    np.savez(tmp_path / "y.npz", **matrix, distance=1 - values if value == "identity" else values)
    gpualign_here("nw", path, "--identity-def", "1", "--value", "distance", "-o", tmp_path / "m.tsv")
    for threshold in ("0.03", "0.05", "0.02", "0.06"):
        expected = components(ids, [pair for pair, far in exact.items() if far <= Fraction(threshold)])
        single = ("--method", "single", "--max-distance", threshold)
        assert clusters_in(gpualign_here("cluster", path, "--identity-def", "1", *single)[0]) == expected
        for name in ("x.npz", "y.npz", "m.tsv", "m.npz"):
            assert clusters_in(gpualign_here("cluster", "--distances", tmp_path / name, *single)[0]) == expected, (name, threshold)


@pytest.mark.parametrize("length", [30, 77, 101])
def test_text_with_six_decimals_has_the_pairs_at_a_quotient(written, tmp_path, length):
    """2/30 is written as 0.066667, which is more than 0.06666666666666667."""
    path, exact = written(length)
    ids = [f"r{k}" for k in range(24)]
    columns = ("nw", path, "--identity-def", "1")
    gpualign_here(*columns, "--max-distance", "1", "--fields", "query,target,distance,identity", "-o", tmp_path / "list.tsv")
    for value in ("distance", "identity"):
        gpualign_here(*columns, "--value", value, "-o", tmp_path / f"{value}.tsv")
    for threshold in sorted(exact.values())[:: len(exact) // 12]:
        expected = components(ids, [pair for pair, far in exact.items() if far <= threshold])
        far, near = ("--max-distance", repr(float(threshold))), ("--min-identity", repr(float(1 - threshold)))
        for words in (
            ("--edges", tmp_path / "list.tsv", *far),
            ("--distances", tmp_path / "distance.tsv", *far),
            ("--distances", tmp_path / "identity.tsv", *far),
            ("--distances", tmp_path / "identity.tsv", *near),
        ):
            assert clusters_in(gpualign_here("cluster", *words, "--method", "single")[0]) == expected, (words, threshold)


def test_only_decimals_as_gpualign_writes_them_round_a_threshold(tmp_path):
    for value, below in (("0.05", "0.04999999"), ("3", "2.9999999"), ("0.0666", "0.06659999"), ("0.0666667", "0.06666666")):
        (tmp_path / "x.tsv").write_text(f"query\ttarget\tdistance\na\tb\t{value}\n")
        assert len(clusters_in(gpualign_here("cluster", "--edges", tmp_path / "x.tsv", "--max-distance", below)[0])) == 2
    (tmp_path / "x.fa").write_text(f">a\n{'ACGTAC' * 5}\n>b\n{'ACGTAC' * 4 + 'TCGTAG'}\n")
    words = ("--max-distance", "0.06666666666666667")
    (tmp_path / "x.tsv").write_bytes(gpualign_here("dist", tmp_path / "x.fa", "--metric", "fraction", *words)[0])
    assert len(clusters_in(gpualign_here("cluster", "--edges", tmp_path / "x.tsv", *words)[0])) == 1


def test_python_has_the_same_pairs(written):
    path, exact = written(100)
    near = {pair for pair, far in exact.items() if far <= Fraction("0.03")}
    found = gpualign.pairs(path, max_distance=0.03, identity_def=1)
    assert {frozenset(map(str, pair[:2])) for pair in found} == near


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**4))
def test_distances_are_the_nearest_numbers(columns, matches, parts):
    matches = min(matches, columns)
    found = identity_distance(np.array([matches]), np.array([columns]))[0]
    assert found == float(1 - Fraction(matches, columns))
    limit = round(float(1 - Fraction(matches, columns)), 4)
    near = Fraction(columns - matches, columns) <= Fraction(str(limit))
    assert (found <= limit) == near
    for values in (np.array([found]), np.array([1 - matches / columns])):
        assert Threshold(limit, None, False).near_mask(values)[0] == near
    assert Threshold(limit, None, True).near_mask(np.array([matches / columns]))[0] == near
    for threshold in (Threshold(found, None, True), Threshold(None, matches / columns, True), Threshold(None, 1 - found, True)):
        for value in (matches / columns, 1 - found):
            assert threshold.near_mask(np.array([value]))[0]


def test_average_linkage_of_edits_with_a_coverage(tmp_path):
    """Means of edits, and not of 1 - identity, are held against a number of edits."""
    (tmp_path / "x.fa").write_text(">a\nACGTACGTAC\n>b\nACGTACGTAA\n>c\nCCGTACGTAA\n>d\nCCGTACGTTT\n")
    words = ("cluster", tmp_path / "x.fa", "--edit", "--max-distance", "1", "--method", "average")
    assert clusters_in(gpualign_here(*words)[0]) == clusters_in(gpualign_here(*words, "--min-coverage", "0.5")[0])
    assert len(clusters_in(gpualign_here(*words)[0])) > 1
