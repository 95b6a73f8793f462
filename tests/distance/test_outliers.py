"""Columns of a table of alleles that look like something else are named."""

import numpy as np
import pytest
from command import gpualign_here

from gpualign.core.distance.tables.alleles import NO_ALLELE
from gpualign.core.distance.tables.outliers import describe_outliers


def some_alleles(rng, samples, loci, most, missing=0.05):
    alleles = rng.integers(1, most + 1, (4, loci))[rng.integers(0, 4, samples)]
    changed = rng.random(alleles.shape) < 0.05
    alleles[changed] = rng.integers(1, most + 1, int(changed.sum()))
    numbers = alleles.astype(np.uint32)
    numbers[rng.random(alleles.shape) < missing] = NO_ALLELE
    return numbers


def titles(count):
    return [f"locus{k}" for k in range(count)]


@pytest.mark.parametrize("most", [5, 30, 400, 3000])
def test_loci_are_alike(rng, most):
    for _ in range(40):
        samples, loci = int(rng.integers(1, 60)), int(rng.integers(1, 400))
        numbers = some_alleles(rng, samples, loci, most)
        assert describe_outliers(numbers, titles(loci)) is None


@pytest.mark.parametrize("samples", [8, 30, 200])
@pytest.mark.parametrize("loci", [7, 60, 3000])
def test_others_are_named(rng, samples, loci):
    numbers = some_alleles(rng, samples, loci, 40, 0)
    at = loci // 2
    for column, reason in (
        (np.arange(samples) + 1101, "'x' (values change by +1 from row to row)"),
        (3 * np.arange(samples)[::-1] + 5, "'x' (values change by -3 from row to row)"),
        (2000 + np.arange(samples) % 7, "'x' (values are years)"),
        (rng.permutation(9000)[:samples] + 3000, f"'x' ({samples} different values in {samples} rows, other columns have about "),
    ):
        if "different" in reason and samples < 12:  # three times as many as others is more than there are
            continue
        some = np.insert(numbers, at, column.astype(np.uint32), axis=1)
        found = describe_outliers(some, [*titles(at), "x", *titles(loci)[at:]])
        assert found is not None
        assert reason in found


def test_years_are_no_news_among_large_numbers(rng):
    numbers = some_alleles(rng, 30, 50, 3000, 0)
    numbers[:, 3] = 2000 + np.arange(30) % 7
    assert describe_outliers(numbers, titles(50)) is None


@pytest.mark.parametrize("words", [(), ("--transpose",)])
def test_the_command_names_them(tmp_path, rng, words):
    numbers = some_alleles(rng, 12, 20, 40, 0)
    numbers[:, 7] = 500 + np.arange(12)
    cells = [["id", *titles(20)], *([f"s{k}", *map(str, row)] for k, row in enumerate(numbers.tolist()))]
    cells = cells if not words else list(zip(*cells, strict=True))
    (tmp_path / "t.tsv").write_text("".join("\t".join(row) + "\n" for row in cells))
    said = gpualign_here("dist", tmp_path / "t.tsv", *words)[1]
    what, advice = ("row", "delete it from the table") if words else ("column", "--ignore-columns leaves it out")
    assert f"t.tsv: {what} 'locus7' (values change by +1" in said
    assert f"does not look like a locus but is counted as one; {advice}" in said
    if not words:
        assert "look like" not in gpualign_here("dist", tmp_path / "t.tsv", "--ignore-columns", "locus7")[1]


@pytest.mark.parametrize("samples", [2, 3, 9])
def test_numbers_far_beyond_those_of_all_loci(rng, samples):
    numbers = some_alleles(rng, samples, 30, 60, 0)
    numbers[:, 11] = rng.integers(200_000, 300_000, samples)
    assert "'locus11' (" in describe_outliers(numbers, titles(30))
    numbers[:, 11] = rng.integers(60, 900, samples)
    assert describe_outliers(numbers, titles(30)) is None or samples == 9
