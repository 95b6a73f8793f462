"""Aligned proteins: gaps and unknown amino acids are missing where --missing is given, beside plain loops over pairs and columns."""

import gzip

import numpy as np
import pytest
from command import gpualign_here

import gpualign
from gpualign.core.common.errors import InputError

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Relatives with gaps at the ends and within, X, B and a stop."""
    rng = np.random.default_rng(12)
    founders, rows = rng.choice(list(AMINO_ACIDS), (4, 80)), []
    for number in range(40):
        row = founders[number % 4].copy()
        changed = rng.random(80) < rng.choice([0.05, 0.15, 0.3])
        row[changed] = rng.choice(list(AMINO_ACIDS), int(changed.sum()))
        for _ in range(int(rng.integers(0, 4))):
            start = int(rng.integers(0, 80))
            row[start : start + int(rng.integers(1, 30))] = rng.choice(list("-.X"))
        row[int(rng.integers(0, 80))] = rng.choice(list("XB*U"))
        rows.append("".join(row if number % 2 else np.char.lower(row)))
    path = tmp_path_factory.mktemp("proteins") / "x.aln"
    path.write_text("".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)))
    return path, [row.upper() for row in rows]


def distance(one, other, missing, calls):
    """Returns (differing columns, compared columns) of two rows."""
    both = [(a in calls, b in calls, a == b) for a, b in zip(one, other, strict=True)]
    if missing == "as-difference":
        return sum(a != b or (a and b and not same) for a, b, same in both), len(both)
    return sum(a and b and not same for a, b, same in both), sum(a and b for a, b, _ in both)


def matrix_of(*words):
    lines = gpualign_here("dist", "-q", *words)[0].decode().splitlines()[1:]
    return [[float(value) for value in line.split("\t")[1:]] for line in lines]


@pytest.mark.parametrize("missing", ["pairwise", "complete", "as-difference"])
@pytest.mark.parametrize(("options", "calls"), [([], f"{AMINO_ACIDS}UO"), (["--all-letters"], "ABCDEFGHIJKLMNOPQRSTUVWXYZ*")])
def test_each_pair(rows, missing, options, calls):
    path, letters = rows
    words = [path, "--missing", missing, *options]
    if missing == "complete":
        kept = [k for k in range(80) if all(row[k] in calls for row in letters[:3])]
        letters = ["".join(row[k] for k in kept) for row in letters[:3]]
        words += [word for k in range(3, 40) for word in ("--exclude", f"s{k}")]
    counts = [[distance(a, b, missing, calls) for b in letters] for a in letters]
    assert matrix_of(*words) == [[d for d, _ in row] for row in counts]
    assert matrix_of(*words, "--metric", "fraction") == [[pytest.approx(d / n, abs=1e-9) for d, n in row] for row in counts]


@pytest.mark.parametrize("most", [0.1, 0.2, 0.25])
def test_neighbours(rows, most):
    """Also those at the threshold; pairs compared at less than half of the columns are none."""
    path, letters = rows
    pairs = [[distance(a, b, "pairwise", f"{AMINO_ACIDS}UO") for b in letters] for a in letters]
    near = np.array([[n >= 40 and d / n <= most for d, n in row] for row in pairs])
    assert any(d / n <= most for row in pairs for d, n in row if n < 40)
    expected = near.sum(axis=1) - near.diagonal()
    out = gpualign_here("dist", path, "--missing", "pairwise", "--metric", "fraction", "--max-distance", most, "--format", "counts")[0]
    assert out.decode().splitlines() == ["query\tneighbours", *(f"s{k}\t{count}" for k, count in enumerate(expected))]


def test_other_ways_to_read_them(rows, tmp_path):
    path, _ = rows
    expected = matrix_of(path, "--missing", "pairwise")
    (tmp_path / "x.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert matrix_of(tmp_path / "x.gz", "--missing", "pairwise") == expected
    np.testing.assert_array_equal(gpualign.dist(path, missing="pairwise").values, expected)
    np.testing.assert_array_equal(gpualign.dist(path, all_letters=True).values, matrix_of(path, "--all-letters"))
    assert matrix_of(path, "--all-letters") != matrix_of(path, "--all-letters", "--missing", "pairwise") != expected


def test_proteins_need_a_decision(rows):
    with pytest.raises(InputError, match=r"look like proteins.*; --missing pairwise compares amino acids, --all-letters every letter"):
        gpualign_here("dist", rows[0])
    with pytest.raises(InputError, match="jc69 is for nucleotides; these are letters"):
        gpualign_here("dist", rows[0], "--missing", "pairwise", "--metric", "jc69")


def test_proteins_beside_nucleotides(tmp_path, monkeypatch):
    """The message names the file that has the proteins, and advises no option that was given or that does not help."""
    monkeypatch.chdir(tmp_path)
    for name, row in (("n.aln", "ACGTACGTAC"), ("p.aln", "MELFIPQLEK")):
        (tmp_path / name).write_text(f">{name[0]}1\n{row}\n>{name[0]}2\n{row}\n")
    (tmp_path / "many.aln").write_text("".join(f">m{k}\nACGTACGTAC\n" for k in range(20)))
    (tmp_path / "list.txt").write_text("many.aln\np.aln\nn.aln\n")
    gpualign_here("index", "n.aln", "-o", "n.gps")
    of_both = "p.aln: these look like proteins, not nucleotides, but the first letters of n.aln look like nucleotides; --all-letters"
    of_set = "p.aln: these look like proteins, not nucleotides, which the set of samples holds"
    for words, message in (
        ("dist n.aln p.aln", "p.aln: these look like proteins, not nucleotides; --missing pairwise compares amino acids"),
        ("dist p.aln n.aln", "p.aln: these look like proteins, not nucleotides; --missing pairwise compares amino acids"),
        ("dist @list.txt", "p.aln: these look like proteins, not nucleotides; --missing pairwise compares amino acids"),
        ("dist n.aln p.aln --missing pairwise", of_both),
        ("dist p.aln n.gps --missing pairwise", of_set),
        ("index p.aln --append n.gps", of_set),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            gpualign_here(*words.split())


def test_nucleotides_are_read_as_before(tmp_path):
    (tmp_path / "x.aln").write_text(">a\nACGTN-\n>b\nACGARA\n")
    assert matrix_of(tmp_path / "x.aln", "--missing", "pairwise") == matrix_of(tmp_path / "x.aln") == [[0, 1], [1, 0]]
