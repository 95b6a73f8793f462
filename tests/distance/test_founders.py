"""Whose allele frequencies `--maf` and `--metric grm` take: founders' alone, as in PLINK, or with --nonfounders everybody's."""

import shutil
import subprocess

import numpy as np
import pytest
from command import gpualign_here
from dist_command import dist, refused
from distance_oracle import plain_distance, plain_grm, related
from goldens import SNPS
from sites import write_fileset, write_pgen

import gpualign as python
from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING

SAMPLES, SITES = 30, 120
PARENTS = {3: ("p0", "p1"), 4: ("p0", "0"), 9: ("0", "elsewhere"), **dict.fromkeys(range(14, 25), ("p3", "p4"))}
FOUNDERS = np.array([k not in PARENTS for k in range(SAMPLES)])


def write_parents(path, parents, samples=SAMPLES):
    lines = [("0", *parents.get(k, ("0", "0"))) for k in range(samples)]
    if path.suffix == ".bed":
        path.with_suffix(".fam").write_text("".join(f"0 p{k} {a} {b} 0 -9\n" for k, (_, a, b) in enumerate(lines)))
    else:
        path.with_suffix(".psam").write_text(
            "#IID\tSEX\tMAT\tPAT\n" + "".join(f"p{k}\tNA\t{b}\t{a}\n" for k, (_, a, b) in enumerate(lines))
        )


@pytest.fixture
def codes(rng, tmp_path, monkeypatch):
    """Genotypes of a fileset x with parents; some sites vary in nonfounders alone, at one no founder has a call."""
    monkeypatch.chdir(tmp_path)
    codes = related(rng, SAMPLES, SITES, 2, 0.05)
    codes[np.ix_(FOUNDERS, [1, 2, 3])] = 0
    codes[FOUNDERS, 4] = MISSING
    write_fileset(tmp_path / "x.bed", codes)
    write_parents(tmp_path / "x.bed", PARENTS)
    return codes


def frequent(codes, share):
    """Sites whose rarer allele has this share of all."""
    found = []
    for site, column in enumerate(codes.T.tolist()):
        counts = [code for code in column if code != MISSING]
        rarer = min(sum(counts), 2 * len(counts) - sum(counts))
        if counts and rarer >= max(share * 2 * len(counts), 1):
            found.append(site)
    return found


def relationships(codes, counted):
    terms = plain_grm(codes[counted])
    return [[plain_distance(a, b, "grm", "pairwise", terms)[0] for b in codes] for a in codes]


def values(*words):
    gpualign_here("dist", *words, "--device", "cpu", "-o", "found.npy")
    return np.load("found.npy")


ROUNDED = {"rtol": 0, "atol": 1e-9}


@pytest.mark.parametrize("kind", ["bed", "pgen"])
def test_relationships(codes, tmp_path, kind):
    if kind == "pgen":
        pytest.importorskip("pgenlib")
        write_pgen(tmp_path / "x.pgen", codes)
        write_parents(tmp_path / "x.pgen", PARENTS)
    everybody = np.ones(SAMPLES, bool)
    np.testing.assert_allclose(values(f"x.{kind}", "--metric", "grm"), relationships(codes, FOUNDERS), **ROUNDED)
    np.testing.assert_allclose(values(f"x.{kind}", "--metric", "grm", "--nonfounders"), relationships(codes, everybody), **ROUNDED)
    assert (values(f"x.{kind}", "--metric", "king") == values(f"x.{kind}", "--metric", "king", "--nonfounders"))[
        ~np.eye(SAMPLES, dtype=bool)
    ].all()


def test_a_psam_without_a_header_is_a_fam(codes, tmp_path):
    pytest.importorskip("pgenlib")
    write_pgen(tmp_path / "x.pgen", codes)
    shutil.copy("x.fam", "x.psam")
    np.testing.assert_array_equal(values("x.pgen", "--metric", "grm"), values("x.bed", "--metric", "grm"))


def test_frequent_sites(codes, tmp_path):
    for more, counted in ([], FOUNDERS), (["--nonfounders"], np.ones(SAMPLES, bool)):
        sites = frequent(codes[counted], 0.3)
        assert 10 < len(sites) < SITES - 10
        write_fileset(tmp_path / "left.bed", codes[:, sites])
        found, note = dist("x.bed", "--maf", "0.3", "--metric", "ibs", *more)
        assert note.endswith(f"used: {len(sites)}")
        assert found == dist("left.bed", "--metric", "ibs")[0]
    called = [k for k in range(SITES) if (codes[:, k] != MISSING).mean() >= 0.95]
    assert dist("x.bed", "--core", "0.95", "--maf", "0")[1].endswith(f"used: {len(called)}")  # of all samples


def test_samples_that_are_left_out_are_no_founders(codes, tmp_path):
    keep = np.arange(SAMPLES) % 3 > 0
    (tmp_path / "drop.txt").write_text("".join(f"p{k}\n" for k in np.flatnonzero(~keep)))
    expected = relationships(codes[keep], FOUNDERS[keep])
    np.testing.assert_allclose(values("x.bed", "--metric", "grm", "--exclude", "drop.txt"), expected, **ROUNDED)


def test_founders_of_both_inputs(codes, tmp_path):
    write_fileset(tmp_path / "old.bed", codes[:12])
    write_fileset(tmp_path / "new.bed", codes[12:])
    write_parents(tmp_path / "old.bed", PARENTS, 12)
    write_parents(tmp_path / "new.bed", {k - 12: both for k, both in PARENTS.items() if k >= 12}, SAMPLES - 12)
    expected = np.array(relationships(codes, FOUNDERS))
    np.testing.assert_allclose(values("old.bed", "new.bed", "--metric", "grm"), expected[:12, 12:], **ROUNDED)
    listed = gpualign_here("dist", "-q", "old.bed", "--add", "new.bed", "--metric", "grm", "--min-kinship", "-99", "--allow-duplicates")[0]
    found = [float(line.split(b"\t")[2]) for line in listed.splitlines()[1:]]
    np.testing.assert_allclose(found, [expected[i, j] for i in range(12) for j in range(i + 1, SAMPLES)], rtol=0, atol=2e-9)


def test_what_is_told(codes, tmp_path):
    note = f"allele frequencies are those of {FOUNDERS.sum()} founders of 30 samples; --nonfounders takes all samples"
    for words in (["--metric", "grm"], ["--maf", "0.1"], ["--metric", "grm", "--maf", "0.1"]):
        told = gpualign_here("dist", "x.bed", *words, "--device", "cpu")[1]
        assert told.count(note) == 1
        assert "founders" not in gpualign_here("dist", "x.bed", *words, "--device", "cpu", "--nonfounders")[1]
    assert "founders" not in gpualign_here("dist", "x.bed", "--metric", "king", "--core", "0.5", "--device", "cpu")[1]
    write_parents(tmp_path / "x.bed", dict.fromkeys(range(SAMPLES), ("a", "b")))
    why = "takes the allele frequencies of founders, and each of the 30 samples has a parent; --nonfounders takes those of all samples"
    assert refused("x.bed", "--metric", "grm") == f"--metric grm {why}"
    assert refused("x.bed", "--maf", "0.1") == f"--maf {why}"
    dist("x.bed", "--metric", "king")
    assert refused(SNPS, "--nonfounders").startswith("--nonfounders is for PLINK filesets, which name parents; ")


def test_shares_of_one_job_count_the_same_samples(codes):
    parts = ["x.tsv.1-of-2.part", "x.tsv.2-of-2.part"]
    for second, joined in (["--nonfounders"], False), ([], True):
        for share, more in ("1/2", []), ("2/2", second):
            gpualign_here("dist", "x.bed", "--metric", "grm", "--device", "cpu", "--shard", share, "-o", "x.tsv", *more)
        if joined:
            gpualign_here("merge", *parts, "-o", "y.tsv")
        else:
            with pytest.raises(InputError):
                gpualign_here("merge", *parts, "-o", "y.tsv")


def test_in_python(codes):
    every = python.dist("x.bed", metric="grm", nonfounders=True).values
    np.testing.assert_array_equal(every, values("x.bed", "--metric", "grm", "--nonfounders"))
    np.testing.assert_array_equal(python.dist("x.bed", metric="grm").values, values("x.bed", "--metric", "grm"))


def test_plink2(codes, tmp_path):
    plink = shutil.which("plink2")
    if plink is None:
        pytest.skip("plink2 is not installed")
    with_calls = codes[:, (codes[FOUNDERS] != MISSING).any(axis=0)]  # plink2 takes 0.5 as the frequency where no founder has a call
    write_fileset(tmp_path / "x.bed", with_calls)
    write_parents(tmp_path / "x.bed", PARENTS)
    for more in ([], ["--nonfounders"]):
        measure = [plink, "--bfile", "x", "--bad-freqs", "--maf", "0.1", "--make-rel", "square", "bin", *more, "--out", "x"]
        subprocess.run(measure, check=True, capture_output=True)
        found = values("x.bed", "--metric", "grm", "--maf", "0.1", *more)
        np.testing.assert_allclose(found, np.fromfile("x.rel.bin").reshape(found.shape), rtol=0, atol=1e-12)
