"""A percentage where a fraction is meant is refused, or named where a larger number can be meant."""

from fractions import Fraction

import numpy as np
import pytest
from command import gpualign_here

import gpualign
from gpualign.core.common.parameter_fractions import check_fraction, exact_fraction, site_count_or_fraction

RECORDS = ">a\nACGTACGTAC\n>b\nACGTACGAAC\n>c\nACGAACGAAA\n"
PAIRS = "query\ttarget\tdistance\na\tb\t0.1\na\tc\t0.3\nb\tc\t0.2\n"
COUNTS = "query\ttarget\tdistance\na\tb\t0\na\tc\t1\nb\tc\t1\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(RECORDS)
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    (tmp_path / "counts.tsv").write_text(COUNTS)
    (tmp_path / "genotypes.tsv").write_text("id\ts1\ts2\ts3\na\t0\t1\t2\nb\t1\t1\t2\n")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "dist x.fa --metric fraction --max-distance {}",
        "dist genotypes.tsv --metric ibs --max-distance {}",
        "dist x.fa --core {}",
        "dist x.fa --maf {}",
        "nw x.fa --max-distance {}",
        "nw x.fa --min-identity {}",
        "nw x.fa --max-distance 0.1 --min-coverage {}",
        "sw x.fa x.fa --min-identity {}",
        "cluster x.fa --max-distance {}",
        "cluster x.fa --min-identity {}",
        "cluster x.fa --min-identity 0.9 --min-coverage {}",
    ],
)
@pytest.mark.parametrize(("percentage", "fraction"), [("10", "0.1"), ("3", "0.03"), ("25", "0.25")])
def test_percentages_are_refused_everywhere(here, command, percentage, fraction):
    with pytest.raises(gpualign.InputError, match=rf"from 0 to .*\b{percentage} % is {fraction}"):
        gpualign_here(*command.format(percentage).split())
    gpualign_here(*command.format(fraction).split())


@pytest.mark.parametrize("given", [-0.1, 1.5, 100.5, float("nan"), float("inf")])
def test_numbers_that_are_no_fractions(given):
    with pytest.raises(gpualign.InputError, match="max_distance is a fraction from 0 to 1; found"):
        check_fraction("max_distance", given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("0.1", (1, 10)),
        (0.1, (1, 10)),
        (".5", (1, 2)),
        ("1.", (1, 1)),
        (1, (1, 1)),
        (0, (0, 1)),
        (1e-05, (1, 100000)),
        (np.float32(0.5), (1, 2)),
    ],
)
def test_fractions_are_exact(given, read):
    assert exact_fraction("core", given) == Fraction(*read)


@pytest.mark.parametrize(
    "given", ["", ".", "1e9", "1e-999999999", "0.5e", "1/3", "0,5", "½", "nan", "-0.1", True, None, [0.5], "0." + 40 * "1"]
)
def test_texts_that_are_no_fractions(given):
    for read in (exact_fraction, site_count_or_fraction):
        with pytest.raises(gpualign.InputError, match=r"core is .*; found"):
            read("core", given)


def test_sites_or_a_fraction_of_them():
    assert [site_count_or_fraction("x", given) for given in (1, "1", "050", 1.0, "1.0", 0.25, "0.25", np.int64(7))] == [
        1, 1, 50, 1, 1, Fraction(1, 4), Fraction(1, 4), 7,
    ]  # fmt: skip
    assert isinstance(site_count_or_fraction("x", "1.0"), Fraction)


def test_percentages_in_python():
    calls = np.array([[0, 1, 2], [1, 1, 2]])
    for name, wrong, hint in (("core", 95.0, "95 % is 0.95"), ("maf", 5, "5 % is 0.05"), ("min_compared", 50.0, "50 % is 0.5")):
        with pytest.raises(gpualign.InputError, match=rf"^{name} is .*; found .*\({hint}\)"):
            gpualign.dist(calls, **{name: wrong})
    for wrong in ({"max_distance": 3.0}, {"min_identity": 97}):
        with pytest.raises(gpualign.InputError, match="from 0 to 1; found"):
            list(gpualign.cluster(["ACGT", "ACGA"], **wrong).ids)


def test_percentages_of_matrices_in_python():
    near = gpualign.dist(np.array([[0, 1, 2], [1, 1, 2]]), metric="ibs")
    with pytest.raises(gpualign.InputError, match=r"max_distance is a distance by ibs, from 0 to 1; found 95 \(95 % is 0.95\)"):
        gpualign.cluster(near, max_distance=95)


def test_edits_are_whole_numbers_in_python():
    for wrong in (0.1, 1.5, -1, float("inf")):
        with pytest.raises(gpualign.InputError, match="expected a whole number"):
            gpualign.pairs(["ACGT", "ACGA"], scoring=gpualign.EDIT, max_distance=wrong)


@pytest.mark.parametrize("command", ["dist x.fa --metric jc69", "dist x.fa --metric tn93", "cluster --edges pairs.tsv"])
def test_percentages_where_a_larger_number_can_be_meant_are_named(here, command):
    _, messages = gpualign_here(*command.split(), "--max-distance", "5")
    assert "--max-distance 5 keeps nearly every pair; 5 % is 0.05" in messages
    _, messages = gpualign_here(*command.split(), "--max-distance", "0.05")
    assert "%" not in messages


def test_counts_may_be_small(here):
    for command in ("cluster --edges counts.tsv", "dist x.fa", "dist genotypes.tsv --metric allele"):
        _, messages = gpualign_here(*command.split(), "--max-distance", "5")
        assert "%" not in messages


def test_other_thresholds_of_a_wrong_scale_are_named(here):
    (here / "snps.tsv").write_text("query\ttarget\tdistance\na\tb\t3\na\tc\t12\nb\tc\t0\n")
    (here / "fractions.tsv").write_text("\ta\tb\tc\na\t0\t0.02\t0.3\nb\t0.02\t0\t0.3\nc\t0.3\t0.3\t0\n")
    for command, told in (
        ("dist x.fa --metric jc69 --max-distance 1", "--max-distance 1 keeps nearly every pair; 1 % is 0.01"),
        ("dist genotypes.tsv --metric grm --min-kinship 5", "is about 1, and --min-kinship 5 keeps hardly any pair; 5 % is 0.05"),
        ("cluster --edges snps.tsv --max-distance 0.05", "a whole number, so --max-distance 0.05 keeps only pairs at distance 0"),
        ("plot fractions.tsv --network --collapse 5 -o x.svg", "a fraction, and --collapse 5 keeps nearly every pair; 5 % is 0.05"),
    ):
        assert told in gpualign_here(*command.split())[1]
    for command in (
        "dist x.fa --metric fraction --max-distance 1",
        "dist genotypes.tsv --metric grm --min-kinship 1",
        "cluster --edges pairs.tsv --max-distance 0.05",
        "plot fractions.tsv --network --collapse 0.05 -o x.svg",
    ):
        assert "keeps" not in gpualign_here(*command.split())[1]
