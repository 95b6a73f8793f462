"""Sparse matrices: what scipy reads is what the text of the same run says, plus 1."""

import io
import tempfile

import numpy as np
import pytest
from command import gpualign, gpualign_here
from goldens import CORE, FAILED, GENES_DB, GENES_QUERY, OLD, ONE, TWO

import gpualign as gpualign_package
from gpualign.core.output import sparse as csr
from gpualign.core.sequences.ids import SampleNames

pytestmark = pytest.mark.slow

sparse = pytest.importorskip("scipy.sparse")


def load(path):
    """(matrix, the lists of ids beside it)."""
    matrix = sparse.load_npz(path)
    assert isinstance(matrix, sparse.csr_matrix)
    assert matrix.has_sorted_indices
    with np.load(path) as archive:
        return matrix, {name: archive[name].tolist() for name in archive if name.endswith("ids")}


def stored(matrix, queries, targets):
    """(query id, target id, value) in the order in which they stand there."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return [(queries[i], targets[j], value - 1) for i, j, value in zip(rows, matrix.indices, matrix.data.tolist(), strict=True)]


def rows(tsv, column, make=int):
    header, *lines = (line.split("\t") for line in tsv.decode().split("\n")[:-1])
    return [(line[0], line[1], make(line[header.index(column)])) for line in lines]


@pytest.mark.parametrize(
    "words",
    [
        ["nw", ONE],
        ["nw", ONE, TWO],
        ["nw", ONE, "--self"],
        ["nw", ONE, "--edit", "--max-distance", "9"],
        ["nw", ONE, "--min-identity", "0.3"],
        ["sw", GENES_QUERY, GENES_DB, "--all", "--strand", "plus", "--min-score", "60"],
    ],
    ids=lambda words: " ".join(map(str, words[2:])),
)
def test_scores(tmp_path, words):
    gpualign_here(*words, "--format", "csr", "-o", tmp_path / "x.npz", "--device", "cpu")
    matrix, ids = load(tmp_path / "x.npz")
    told = rows(gpualign_here(*words, "--device", "cpu")[0], "distance" if "--edit" in words else "score")
    queries, targets = (ids["ids"], ids["ids"]) if "ids" in ids else (ids["query_ids"], ids["target_ids"])
    assert matrix.shape == (len(queries), len(targets))
    assert matrix.dtype == matrix.indices.dtype == np.int32
    assert stored(matrix, queries, targets) == told
    assert len(told) > 3
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize("value", ["identity", "distance"])
def test_fractions(tmp_path, value):
    options = [ONE, "--identity-def", "1", "--min-identity", "0.5"]
    gpualign_here("nw", *options, "--format", "csr", "--value", value, "-o", tmp_path / "x.npz")
    matrix, ids = load(tmp_path / "x.npz")
    assert matrix.dtype == np.float64
    told = rows(gpualign_here("nw", *options, "--fields", "query,target,identity")[0], "identity", float)
    found = stored(matrix, ids["ids"], ids["ids"])
    assert [pair[:2] for pair in found] == [pair[:2] for pair in told]
    np.testing.assert_allclose([v for *_, v in found], [v if value == "identity" else 1 - v for *_, v in told], atol=5e-7)


def test_equal_pairs_and_the_score_of_minus_1_are_stored(tmp_path):
    """Distance 0 is stored as 1, apart from the 0 of pairs that are not there; a score of -1 is a 0 that is stored."""
    fasta = b">a\nAC\n>b\nAC\n>c\nAT\n>d\nGT\n"
    gpualign("nw", "-", "--edit", "--max-distance", "1", "--format", "csr", "-o", tmp_path / "x.npz", stdin=fasta)
    assert load(tmp_path / "x.npz")[0].toarray().tolist() == [[0, 1, 2, 0], [0, 0, 2, 0], [0, 0, 0, 2], [0, 0, 0, 0]]
    scoring = ["--match", "1", "--mismatch", "-2", "--gap", "9"]
    gpualign("nw", "-", *scoring, "--min-score", "-1", "--format", "csr", "-o", tmp_path / "y.npz", stdin=fasta)
    matrix, ids = load(tmp_path / "y.npz")
    assert stored(matrix, ids["ids"], ids["ids"]) == [("a", "b", 2), ("a", "c", -1), ("b", "c", -1), ("c", "d", -1)]
    assert matrix.nnz == 4
    assert matrix.count_nonzero() == 1


def test_what_python_returns_is_the_same_less_1(tmp_path, small_16s):
    gpualign_here("nw", small_16s, "--edit", "--max-distance", "300", "--format", "csr", "-o", tmp_path / "x.npz")
    found, _ = load(tmp_path / "x.npz")
    expected = gpualign_package.pairs(small_16s, scoring=gpualign_package.EDIT, max_distance=300).to_csr()
    assert found.shape == expected.shape
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    assert (found.data - 1).tolist() == expected.data.tolist()


@pytest.mark.parametrize(("inputs", "options"), [([CORE], []), ([CORE, OLD], ["--metric", "fraction"]), ([FAILED], [])])
def test_distances(tmp_path, inputs, options):
    gpualign_here("dist", *inputs, *options, "--format", "csr", "-o", tmp_path / "x.npz", "--device", "cpu")
    gpualign_here("dist", *inputs, *options, "-o", tmp_path / "m.npz", "--device", "cpu")
    matrix, ids = load(tmp_path / "x.npz")
    with np.load(tmp_path / "m.npz") as archive:
        expected = archive["distance"]
        assert ids == {name: archive[name].tolist() for name in archive if name != "distance"}
    assert matrix.dtype == expected.dtype
    kept = np.triu(np.ones(expected.shape, dtype=bool), 1) if len(inputs) == 1 else np.ones(expected.shape, dtype=bool)
    assert matrix.nnz == kept.sum()
    np.testing.assert_array_equal(matrix.data, expected[kept] + 1)
    assert np.isnan(matrix.data).any() == (FAILED in inputs)


def test_near_pairs(tmp_path):
    gpualign_here("dist", FAILED, "--max-distance", "1", "--format", "csr", "-o", tmp_path / "x.npz", "--device", "cpu")
    matrix, ids = load(tmp_path / "x.npz")
    told = rows(gpualign_here("dist", FAILED, "--max-distance", "1", "--device", "cpu")[0], "distance")
    assert stored(matrix, ids["ids"], ids["ids"]) == told
    assert len(told) > 1


def test_no_pairs(tmp_path):
    gpualign_here("nw", ONE, "--min-score", "100000", "--format", "csr", "-o", tmp_path / "x.npz")
    gpualign_here("dist", CORE, "--max-distance", "0", "--format", "csr", "-o", tmp_path / "y.npz", "--device", "cpu")
    gpualign("nw", "-", "--format", "csr", "-o", tmp_path / "z.npz", stdin=b">a\nACGT\n")
    assert [load(tmp_path / name)[0].shape for name in ("x.npz", "y.npz", "z.npz")] == [(6, 6), (4, 4), (1, 1)]
    assert [load(tmp_path / name)[0].nnz for name in ("x.npz", "y.npz", "z.npz")] == [0, 0, 0]


def test_memory_and_threads_change_no_byte(tmp_path, small_16s):
    found = set()
    for number, options in enumerate((["--threads", "1"], ["--threads", "2"], ["--memory", "80M", "--threads", "1"])):
        gpualign(
            "nw",
            "--edit",
            "--max-distance",
            "300",
            small_16s,
            "--format",
            "csr",
            *options,
            "--device",
            "cpu",
            "-o",
            tmp_path / f"{number}.npz",
        )
        found.add((tmp_path / f"{number}.npz").read_bytes())
    assert len(found) == 1


def test_the_largest_score_has_room_for_1_more(tmp_path):
    scoring = ["--match", 2**31 - 1, "--mismatch", "-1", "--gap", "0"]
    gpualign("nw", "-", *scoring, "--format", "csr", "-o", tmp_path / "x.npz", stdin=b">a\nA\n>b\nA\n")
    assert load(tmp_path / "x.npz")[0].data.tolist() == [2**31]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_wide_indices_where_there_are_many_pairs(monkeypatch, rng, dtype):
    """More pairs than are copied together."""
    count, rows, columns = 600_000, 900, 1000
    if dtype == np.int64:  # 2^31 pairs would take 34 GB
        monkeypatch.setattr(csr, "MAX_INT32", count - 1)
    places = np.sort(rng.choice(rows * columns, count, replace=False))
    queries, targets, values = places // columns, places % columns, rng.integers(0, 9, count)
    names = [SampleNames([f"{side}{k}" for k in range(size)]) for side, size in (("q", rows), ("t", columns))]
    with tempfile.TemporaryFile() as counts, tempfile.TemporaryFile() as indices, tempfile.TemporaryFile() as data:
        file = csr.CsrSpoolWriter((counts, indices, data), np.dtype(np.int32))
        cuts = np.sort(rng.integers(0, count + 1, 5)).tolist()
        for start, stop in zip([0, *cuts], [*cuts, count], strict=True):
            file.add(queries[start:stop], targets[start:stop], values[start:stop])
        csr.write_csr(stream := io.BytesIO(), (counts, indices, data), file.dtype, *names)
    with np.load(io.BytesIO(stream.getvalue())) as archive:
        assert archive["indices"].dtype == archive["indptr"].dtype == dtype
    expected = np.zeros((rows, columns), dtype=int)
    expected[queries, targets] = values + 1
    np.testing.assert_array_equal(sparse.load_npz(io.BytesIO(stream.getvalue())).toarray(), expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nw", ONE, "--format", "csr"], "--format csr cannot go to standard output"),
        (["nw", ONE, "--format", "csr", "-o", "x.npz", "--fields", "query"], "it cannot be combined with csr"),
        (["nw", ONE, "--format", "csr", "-o", "x.npz", "--condensed"], "--condensed is for .npy and .npz; it cannot be combined with csr"),
        (["nw", ONE, "--format", "csr", "-o", "x.npz", "--plot", "x.png"], "--plot draws a matrix, and csr is a sparse one"),
        (["nw", ONE, "-o", "x.npz", "--min-score", "1"], "a matrix holds every pair, unless it is --format csr"),
        (["sw", ONE, "--format", "csr", "-o", "x.npz"], "give --all too"),
        (["dist", CORE, "--format", "csr", "-o", "x.npz", "--compared"], "csr holds one number per pair"),
        (
            ["dist", CORE, "--format", "csr", "-o", "x.npz", "--plot", "x.png"],
            "it cannot be combined with csr, for which no matrix is held",
        ),
        (["dist", CORE, "--format", "csr"], "--format csr cannot go to standard output"),
    ],
)
def test_refusals(tmp_path, words, message):
    done = gpualign(*words, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []
