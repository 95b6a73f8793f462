"""Hamming distances: near pairs of sequences of equal lengths."""

import itertools

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign as python

SETS = st.lists(st.text("ACGT", min_size=1, max_size=12), min_size=2, max_size=14)


def fasta(path, texts):
    path.write_text("".join(f">r{number}\n{text}\n" for number, text in enumerate(texts)))
    return path


def hamming(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def near(queries, targets, limit):
    """Near pairs by a plain loop; targets None: the pairs i < j of one set."""
    rows = enumerate(queries)
    pairs = itertools.combinations(rows, 2) if targets is None else itertools.product(rows, enumerate(targets))
    return [
        f"r{i}\tr{j}\t{hamming(one, other)}" for (i, one), (j, other) in pairs if len(one) == len(other) and hamming(one, other) <= limit
    ]


@settings(deadline=None, max_examples=50)
@given(SETS, st.none() | SETS, st.integers(0, 13))
def test_near_pairs_are_those_of_a_plain_loop(tmp_path_factory, queries, targets, limit):
    """Any limit, even one that excludes no pair."""
    folder = tmp_path_factory.mktemp("hamming")
    files = [fasta(folder / "q.fa", queries), *([] if targets is None else [fasta(folder / "t.fa", targets)])]
    words = ("nw", "-q", "--device", "cpu", "--alphabet", "dna", "--hamming", "--max-distance", str(limit), *files)
    header, *rows = gpualign_here(*words)[0].decode().splitlines()
    assert header == "query\ttarget\tdistance"
    assert rows == near(queries, targets, limit)


def mutated(rng, text, count):
    letters = list(text)
    for place in rng.choice(len(letters), count, replace=False).tolist():
        letters[place] = str(rng.choice([letter for letter in "ACDEFGHIKLMNPQRSTVWY" if letter != letters[place]]))
    return "".join(letters)


@pytest.fixture
def receptors(rng):
    """Families of receptors whose members differ by substitutions, insertions and deletions."""
    texts = []
    for _ in range(30):
        founder = "".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), int(rng.integers(8, 20))))
        texts += [mutated(rng, founder, int(rng.integers(0, 4))) for _ in range(6)]
        place = int(rng.integers(1, len(founder)))
        texts += [founder[:place] + founder[place + 1 :], founder[1:] + founder[0]]
    return texts


def test_every_engine(tmp_path, receptors, engine):
    path = fasta(tmp_path / "r.fa", receptors)
    for limit in (1, 3):
        rows, told = gpualign_here("nw", "--hamming", "--max-distance", str(limit), path, *engine.words)
        assert engine.told in told
        assert rows.decode().splitlines()[1:] == near(receptors, None, limit)


def test_formats_that_list_or_count_near_pairs(tmp_path, receptors):
    path = fasta(tmp_path / "r.fa", receptors)
    wanted = near(receptors, None, 2)
    gpualign_here("nw", "-q", "--device", "cpu", "--hamming", "--max-distance", "2", path, "--format", "csr", "-o", tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        matrix = {key: arrays[key] for key in ("indices", "indptr", "data")}
    rows = np.repeat(np.arange(len(receptors)), np.diff(matrix["indptr"]))
    found = {(int(i), int(j)): int(value) - 1 for i, j, value in zip(rows, matrix["indices"], matrix["data"], strict=True) if i < j}
    assert found == {(int(i[1:]), int(j[1:])): int(d) for i, j, d in map(str.split, wanted)}
    counts = gpualign_here("nw", "-q", "--device", "cpu", "--hamming", "--max-distance", "2", path, "--format", "counts")[0].decode()
    number = {row.split("\t")[0]: int(row.split("\t")[1]) for row in counts.splitlines()[1:]}
    assert number == {f"r{k}": sum(f"r{k}" in row.split("\t")[:2] for row in wanted) for k in range(len(receptors))}


def test_clusters_are_those_of_the_list(tmp_path, receptors):
    path = fasta(tmp_path / "r.fa", receptors)
    (tmp_path / "near.tsv").write_text("\n".join(["query\ttarget\tdistance", *near(receptors, None, 1)]) + "\n")
    for method in ("single", "complete", "greedy"):
        words = ("cluster", "-q", "--max-distance", "1", "--method", method)
        found = gpualign_here(*words, "--hamming", "--device", "cpu", path)[0]
        order = ("--order", "length") if method == "greedy" else ()
        assert found == gpualign_here(*words, *order, "--edges", tmp_path / "near.tsv", path)[0]


def test_python(receptors):
    found = [f"r{i}\tr{j}\t{value}" for i, j, value in python.pairs(receptors, scoring=python.HAMMING, max_distance=2)]
    assert found == near(receptors, None, 2)
    for sequences, function in ((("ACGT", "ACGA"), python.align), ((["ACGT", "ACGA"],), python.nw)):
        with pytest.raises(python.InputError, match=r"alignment distances are computed without an alignment; gpualign.pairs finds"):
            function(*sequences, scoring=python.HAMMING)
    with pytest.raises(python.InputError, match=r"Scoring\(hamming=True\) finds the pairs within a distance; give max_distance too"):
        python.pairs(["ACGT", "ACGA"], scoring=python.HAMMING, min_identity=0.9)
    with pytest.raises(python.InputError, match="cannot be combined with gap"):
        python.pairs(["ACGT", "ACGA"], scoring=python.Scoring(hamming=True, gap=1), max_distance=1)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "--hamming finds the pairs within a distance; give --max-distance too, say 1"),
        (["--max-distance", "0.5"], "--max-distance: expected a whole number, 0 or more; found 0.5"),
        (["--max-distance", "1", "--fields", "query,target,identity"], "identities, coverages and CIGARs need --edit"),
        (["--max-distance", "1", "--min-identity", "0.9"], "identities, coverages and CIGARs need --edit"),
        (["--max-distance", "1", "--strand", "both"], "it cannot be combined with --strand both"),
        (["--max-distance", "1", "--end-gaps", "free"], "it cannot be combined with --end-gaps free"),
        (["--max-distance", "1", "--match", "2"], "--hamming fixes every cost at 1; it cannot be combined with --match"),
    ],
)
def test_refusals(tmp_path, words, reason):
    done = gpualign("nw", "--device", "cpu", "--hamming", *words, fasta(tmp_path / "r.fa", ["ACGT", "ACGA"]), check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()


def test_average_linkage_is_refused(tmp_path):
    words = ("--hamming", "--max-distance", "1", "--method", "average", fasta(tmp_path / "r.fa", ["ACGT", "ACGA"]))
    done = gpualign("cluster", *words, check=False)
    assert done.returncode == 2
    assert b"--method average takes the mean of all distances, and sequences of different lengths have no Hamming distance" in done.stderr


@pytest.mark.parametrize("limit", [2**31 - 2, 2**31 - 1, 2**31, 10**15])
def test_no_threshold_lets_sequences_of_unequal_lengths_pass(tmp_path, limit):
    path = tmp_path / "x.fa"
    path.write_text(">a\nACGTACGT\n>b\nACGTTCGT\n>c\nACGTAC\n")
    words = "--hamming", "--max-distance", str(limit), path, "-q"
    assert gpualign_here("nw", *words)[0] == b"query\ttarget\tdistance\na\tb\t1\n"
    for method in ("single", "complete", "greedy"):
        rows = gpualign_here("cluster", "--method", method, *words)[0].splitlines()[1:]
        assert [row.split(b"\t")[1] for row in rows] == [b"1", b"1", b"2"]
    assert len([*python.pairs(str(path), metric="hamming", max_distance=limit)]) == 1
