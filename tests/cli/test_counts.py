"""`--format counts`: how many other records of each are within the thresholds, beside plain loops and the list of the same pairs."""

import gzip
import itertools
from collections import Counter

import numpy as np
import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError

LETTERS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))


def rows_of(text, separator="\t"):
    header, *rows = (line.split(separator) for line in text.splitlines())
    assert header == ["query", "neighbours"]
    return {name: int(count) for name, count in rows}


def counted(command, *words):
    return rows_of(gpualign_here(command, "-q", "--format", "counts", *words)[0].decode())


def plain_distance(one, other):
    """The edit distance, by the textbook's recurrence."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@pytest.fixture(scope="module")
def genes(tmp_path_factory):
    """Records of two files, some of them equal, and their groups."""
    folder, rng = tmp_path_factory.mktemp("counts"), np.random.default_rng(8)
    founder, records = rng.choice(list("ACGT"), 30), {}
    for number in range(50):
        record = founder.copy()
        record[rng.integers(0, 30, int(rng.integers(0, 4)))] = "A"
        records[f"r{number}"] = "".join(record if number % 5 else record[::-1])[: int(rng.integers(28, 31))]
    records |= {f"c{number}": records[f"r{number % 3}"] for number in range(12)}
    names = list(rng.permutation(list(records)))
    for file, some in (("one", names[:40]), ("two", names[40:])):
        (folder / f"{file}.fa").write_text("".join(f">{name}\n{records[name]}\n" for name in some))
    (folder / "groups.tsv").write_text("id\tgroup\n" + "".join(f"{name}\t{name[0]}\n" for name in names))
    return folder, {file: {name: records[name] for name in some} for file, some in (("one", names[:40]), ("two", names[40:]))}


def test_edit_distances(genes):
    folder, records = genes
    one, two = records["one"], records["two"]
    near = {
        (a, b): plain_distance(first, second) <= 3
        for (a, first), (b, second) in itertools.product(one.items(), (one | two).items())
        if a != b
    }
    words = ["--edit", "--max-distance", "3", folder / "one.fa"]
    assert list(counted("nw", *words)) == list(one)
    assert counted("nw", *words) == counted("nw", *words, "--self") == {a: sum(near[a, b] for b in one if b != a) for a in one}
    assert counted("nw", *words, folder / "two.fa") == {a: sum(near[a, b] for b in two) for a in one}
    assert counted("nw", *words, "--add", folder / "two.fa") == {a: sum(near[a, b] for b in one | two if b != a) for a in one}


@pytest.mark.parametrize(
    "words",
    [
        ["--min-identity", "0.9"],
        ["--min-identity", "0.9", "--min-coverage", "0.9"],
        ["--max-distance", "0.2", "--identity-def", "1"],
        ["--min-score", "90", "--self"],
        ["--strand", "both", "--edit", "--max-distance", "2"],
        ["--strand", "both", "--min-identity", "0.8"],
        ["--end-gaps", "free", "--min-coverage", "0.95"],
        ["--edit", "--max-distance", "5", "--groups", "groups.tsv", "--between"],
        ["--min-identity", "0.9", "--identity-def", "1", "--groups", "groups.tsv", "--within"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("files", [["one.fa"], ["one.fa", "two.fa"], ["one.fa", "--add", "two.fa"]], ids=" ".join)
def test_counts_are_those_of_the_listed_pairs(genes, monkeypatch, words, files):
    folder, records = genes
    monkeypatch.chdir(folder)
    if len(files) == 2 and "--self" in words:
        words = words[:-1]
    listed = [line.split("\t")[:2] for line in gpualign_here("nw", "-q", *words, *files)[0].decode().splitlines()[1:]]
    expected = Counter(a for a, b in listed if a != b)
    if len(files) != 2:
        expected += Counter(b for a, b in listed if a != b)
    found = counted("nw", *words, *files)
    assert found == {name: expected[name] for name in records["one"]}
    assert any(found.values())


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Aligned proteins in two files, without gaps."""
    folder, rng = tmp_path_factory.mktemp("rows"), np.random.default_rng(9)
    founders = rng.choice(LETTERS, (5, 60))
    sets = {}
    for file, count in (("one", 70), ("two", 30)):
        matrix = founders[rng.integers(0, 5, count)]
        changed = rng.random(matrix.shape) < rng.uniform(0, 0.3, (count, 1))
        matrix[changed] = rng.choice(LETTERS, int(changed.sum()))
        (folder / f"{file}.fa").write_text("".join(f">{file}_{k}\n{''.join(row)}\n" for k, row in enumerate(matrix)))
        sets[file] = matrix
    return folder, sets["one"], sets["two"]


@pytest.mark.parametrize("most", [0.0, 0.2, 0.35, 1.0])
def test_distances_of_rows(rows, most):
    folder, one, two = rows
    near = (one[:, None] != np.concatenate([one, two])[None]).sum(axis=2) <= round(most * 60)
    np.fill_diagonal(near, False)
    words = ["--all-letters", "--metric", "fraction", "--max-distance", most, folder / "one.fa"]
    for more, columns in ([], slice(0, 70)), ([folder / "two.fa"], slice(70, 100)), (["--add", folder / "two.fa"], slice(0, 100)):
        assert counted("dist", *words, *more) == {f"one_{k}": count for k, count in enumerate(near[:, columns].sum(axis=1))}
    assert counted("dist", "--all-letters", "--max-distance", round(most * 60), folder / "one.fa") == counted("dist", *words)


def test_kinship_and_files(rows, tmp_path):
    table = tmp_path / "snps.tsv"
    calls = np.random.default_rng(3).integers(0, 3, (20, 200))
    lines = [f'"a,{k}"\t' + "\t".join(map(str, row)) for k, row in enumerate(calls)]
    table.write_text("\t".join(["id", *(f"rs{k}" for k in range(200))]) + "\n" + "\n".join(lines) + "\n")
    words = ["dist", "-q", "--metric", "king", "--min-kinship", "-0.45", table]
    listed = gpualign_here(*words)[0].decode().splitlines()[1:]
    expected = Counter(name for line in listed for name in line.split("\t")[:2])
    gpualign_here(*words, "--format", "counts", "-o", tmp_path / "c.csv.gz")
    written = gzip.decompress((tmp_path / "c.csv.gz").read_bytes()).decode().splitlines()
    assert written == ["query,neighbours", *(f'"a,{k}",{expected[f"a,{k}"]}' for k in range(20))]
    assert len(set(expected.values())) > 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nw", "x.fa"], "without one every pair is; give --max-distance, --min-identity, --min-coverage or --min-score"),
        (["nw", "x.fa", "--groups", "g.tsv", "--between"], "without one every pair is"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--nearest", "2"], "--nearest sets their number; give one of them"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--fields", "query"], "--fields chooses the columns of tsv, csv"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--value", "distance"], "counts is not a matrix"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--plot", "x.svg"], "counts is a table of records"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--shard", "1/2", "-o", "x"], "--shard: counts needs the pairs of all queries"),
        (["nw", "x.fa", "--edit", "--max-distance", "1", "--resume", "-o", "x"], "--resume: counts needs the pairs of all queries"),
        (["dist", "x.fa"], "without one every pair is; give --max-distance or --min-kinship"),
        (["dist", "x.fa", "--max-distance", "1", "--compared"], "--compared: counts holds one number per record"),
        (["dist", "x.fa", "--max-distance", "1", "--shard", "1/2", "-o", "x"], "--shard: counts needs the pairs of all queries"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n")
    (tmp_path / "g.tsv").write_text("id\tgroup\na\tx\nb\ty\n")
    with pytest.raises(InputError, match=reason.replace("(", r"\(")):
        gpualign_here(*words, "--format", "counts")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.tsv", "x.fa"]


def test_the_plan_tells_the_size(genes, tmp_path):
    folder, records = genes
    words = ["nw", "--edit", "--max-distance", "3", "--format", "counts", folder / "one.fa", "-o", tmp_path / "x"]
    plan = dict(line.split(maxsplit=1) for line in gpualign_here(*words, "--dry-run")[0].decode().splitlines())
    assert f"{len(records['one'])} rows" in plan["output"]
    assert not list(tmp_path.iterdir())
