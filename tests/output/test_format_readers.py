"""Output formats of the installed executable as readers see them, and against each other."""

import gzip
import os

import numpy as np
import pytest
from command import gpualign
from goldens import ONE, TWO
from places import GOLDEN

pytestmark = pytest.mark.slow


@pytest.fixture
def expected():
    """The square matrix of the golden text."""
    lines = (GOLDEN / "matrix.tsv").read_text().splitlines()
    return lines[0].split("\t")[1:], np.array([line.split("\t")[1:] for line in lines[1:]], dtype=int)


def test_npy(tmp_path, expected):
    ids, scores = expected
    gpualign("nw", ONE, "-o", tmp_path / "x.npy")
    found = np.load(tmp_path / "x.npy")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, scores)
    assert (tmp_path / "x.ids.txt").read_text().split() == ids
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.ids.txt", "x.npy"]


def test_npz(tmp_path, expected):
    ids, scores = expected
    gpualign("nw", ONE, "-o", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as found:
        assert sorted(found) == ["ids", "scores"]
        np.testing.assert_array_equal(found["scores"], scores)
        assert list(found["ids"]) == ids


def test_rectangles(tmp_path):
    gpualign("nw", ONE, TWO, "-o", tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").shape == (6, 2)
    assert (tmp_path / "x.query_ids.txt").read_text().split() == ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    assert (tmp_path / "x.target_ids.txt").read_text().split() == ["t1", "t2"]
    gpualign("nw", ONE, TWO, "-o", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as found:
        assert sorted(found) == ["query_ids", "scores", "target_ids"]
        np.testing.assert_array_equal(found["scores"], np.load(tmp_path / "x.npy"))


def test_int64_where_needed(tmp_path):
    weights = ["--match", "1000000000", "--mismatch", "-1000000000", "--gap", "100000000"]
    gpualign("nw", *weights, ONE, "-o", tmp_path / "x.npy")
    found = np.load(tmp_path / "x.npy")
    assert found.dtype == np.int64
    assert found[0, 0] == 12 * 10**9
    rows = gpualign("nw", *weights, "--self", ONE).stdout.decode().splitlines()
    assert "alpha\talpha\t12000000000" in rows


@pytest.mark.parametrize("suffix", ["tsv", "tsv.gz"])
@pytest.mark.parametrize(("format", "name"), [("tsv", "pairs.tsv"), ("matrix", "matrix.tsv")])
def test_files_hold_what_stdout_shows(tmp_path, suffix, format, name):
    path = tmp_path / f"x.{suffix}"
    gpualign("nw", ONE, "-o", path, "--format", format)
    data = path.read_bytes()
    assert (gzip.decompress(data) if suffix.endswith("gz") else data) == (GOLDEN / name).read_bytes()


def test_compressed_files_are_reproducible(tmp_path):
    for name in ("a", "b"):
        gpualign("nw", ONE, "-o", tmp_path / f"{name}.tsv.gz")
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


def test_output_obeys_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        gpualign("nw", ONE, "-o", tmp_path / "x.tsv")
    finally:
        os.umask(before)
    assert (tmp_path / "x.tsv").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    """Results that are private stay so when they are computed again."""
    (output := tmp_path / "x.tsv").write_text("old")
    output.chmod(0o600)
    gpualign("nw", ONE, "-o", output)
    assert output.read_text() != "old"
    assert output.stat().st_mode & 0o777 == 0o600


def test_an_existing_file_is_replaced_only_by_a_complete_one(tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text("old")
    assert gpualign("nw", tmp_path / "missing.fa", "-o", path, check=False).returncode == 2
    assert path.read_text() == "old"
    gpualign("nw", ONE, "-o", path)
    assert path.read_bytes() == (GOLDEN / "pairs.tsv").read_bytes()


@pytest.mark.parametrize("arguments", [[], ["--edit"], ["--match", "2", "--mismatch", "-1", "--gap", "1"]])
def test_threads_and_instruction_sets_print_the_same_bytes(small_16s, arguments):
    expected = gpualign("nw", "--threads", "1", *arguments, small_16s).stdout
    assert expected.count(b"\n") == 1 + 60 * 59 // 2
    assert gpualign("nw", "--threads", "2", *arguments, small_16s).stdout == expected
    assert gpualign("nw", "--memory", "150M", *arguments, small_16s).stdout == expected
    for name in ("avx2", "sse41", "baseline"):
        done = gpualign("nw", *arguments, small_16s, env={"GPUALIGN_INSTRUCTION_SET": name}, check=False)
        assert done.stdout == expected or b"no kernels for the instruction set" in done.stderr
