"""`gpualign nw --strand both`: of each pair the better strand, whatever the columns, the threshold and the engine's tiles."""

import re

import numpy as np
import pytest
from Bio import Align
from Bio.Seq import Seq
from command import gpualign_here

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import InputError
from gpualign.core.execution import both_strands
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA

FIELDS = "query,target,score,strand,identity,matches,length,cigar,qaln,taln,qstart,qend,tstart,tend"


def turned(letters):
    return str(Seq(letters).reverse_complement())


@pytest.fixture(scope="module")
def records():
    """Relatives, some of them the other way round, copies, palindromes, and ambiguity letters."""
    rng = np.random.default_rng(11)
    founder = "".join(rng.choice(list("ACGT"), 60))
    found = {}
    for number in range(12):
        letters = list(founder)
        for _ in range(int(rng.integers(0, 6))):
            at = int(rng.integers(0, len(letters)))
            letters[at : at + 1] = [[], [str(rng.choice(list("ACGTN")))], ["A", "R"]][int(rng.integers(0, 3))]
        text = "".join(letters)
        found[f"r{number}"] = turned(text) if number % 3 == 1 else text
    return found | {"copy": found["r0"], "back": turned(found["r0"]), "palindrome": "ACGT" * 10, "short": "ACG"}


def write(path, records):
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records.items()))
    return path


@pytest.fixture(scope="module")
def file(records, tmp_path_factory):
    return write(tmp_path_factory.mktemp("strands") / "one.fa", records)


def rows(*words):
    header, *lines = gpualign_here("nw", "-q", *words)[0].decode().splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


def by_biopython(query, target):
    aligner = Align.PairwiseAligner(mode="global", open_gap_score=-10, extend_gap_score=-1)
    aligner.substitution_matrix = Align.substitution_matrices.load("NUC.4.4")
    plus, minus = (int(aligner.score(strand, target)) for strand in (query, turned(query)))
    return (minus, "-") if minus > plus else (plus, "+")


def test_the_better_score_of_every_pair(records, file):
    found = rows("--strand", "both", file)
    names = list(records)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert list(found[0]) == ["query", "target", "score", "strand"]
    assert [(row["query"], row["target"]) for row in found] == pairs
    assert [(int(row["score"]), row["strand"]) for row in found] == [by_biopython(records[a], records[b]) for a, b in pairs]
    assert {row["strand"] for row in found} == {"+", "-"}


@pytest.mark.parametrize("options", [(), ("--end-gaps", "free"), ("--edit",), ("--end-gaps", "query", "--gap", 3)], ids=str)
def test_a_minus_pair_is_an_alignment_of_the_reverse_complement(records, file, tmp_path, options):
    back = write(tmp_path / "back.fa", {name: turned(letters) for name, letters in records.items()})
    plus, minus = (
        {(row["query"], row["target"]): row for row in rows(*options, "--fields", FIELDS, *files)} for files in ((file, file), (back, file))
    )
    found = rows(*options, "--strand", "both", "--fields", FIELDS, file, file)
    assert len(found) == len(records) ** 2
    better = min if "--edit" in options else max
    for row in found:
        pair = row["query"], row["target"]
        scores = [int(one[pair]["score"]) for one in (plus, minus)]
        assert int(row["score"]) == better(scores)
        wanted = dict(plus[pair] if scores[0] == better(scores) else minus[pair])
        if scores[0] != better(scores):
            length = len(records[pair[0]])
            start, end = int(wanted["qstart"]), int(wanted["qend"])
            wanted |= {"strand": "-", "qstart": str(length - end + 1), "qend": str(length - start + 1)}
        assert row == wanted


def test_one_set_is_symmetric(records, file, tmp_path):
    for options in ([], ["--edit"], ["--value", "identity"], ["--end-gaps", "free"]):
        gpualign_here("nw", "-q", "--strand", "both", *options, file, "-o", tmp_path / "one.npy")
        gpualign_here("nw", "-q", "--strand", "both", *options, file, file, "-o", tmp_path / "two.npy")
        one, two = np.load(tmp_path / "one.npy"), np.load(tmp_path / "two.npy")
        assert np.array_equal(one, one.T)
        if "--value" not in options:  # of equally good alignments that of the other order may be another one
            assert np.array_equal(one, two)
            gpualign_here("nw", "-q", "--strand", "both", *options, file, "-o", tmp_path / "some.npy", "--condensed")
            assert np.array_equal(np.load(tmp_path / "some.npy"), one[np.triu_indices(len(records), 1)])


@pytest.mark.parametrize("rule", ["compatible", "skip"])
@pytest.mark.parametrize("files", [1, 2])
def test_ambiguity_letters_of_reverse_complements_in_matrices(file, tmp_path, rule, files):
    """As in a list of pairs."""
    words = ["--strand", "both", "--ambiguous", rule, *[file] * files]
    gpualign_here("nw", "-q", "--value", "identity", *words, "-o", tmp_path / "x.npy")
    matrix = np.load(tmp_path / "x.npy")
    kept = matrix[np.triu_indices(len(matrix), 1)] if files == 1 else matrix.ravel()
    listed = rows("--fields", "identity,strand", *words)
    assert [row["identity"] for row in listed] == [f"{identity:.6f}" for identity in kept]
    assert {row["strand"] for row in listed} == {"+", "-"}


def test_rna(tmp_path):
    path = write(tmp_path / "rna.fa", {"a": "GGAUUCAAAU", "b": "AUUUGAAUCC"})
    (row,) = rows("--strand", "both", "--fields", "strand,identity,qaln,taln", path)
    assert row == {"strand": "-", "identity": "1.000000", "qaln": "ATTTGAATCC", "taln": "ATTTGAATCC"}


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        (("--edit", "--max-distance", 4), lambda row: int(row["distance"]) <= 4),
        (("--edit", "--max-distance", 0), lambda row: int(row["distance"]) == 0),
        (("--identity-def", 1, "--min-identity", 0.9), lambda row: float(row["identity"]) >= 0.9),
        (("--min-score", 250), lambda row: int(row["score"]) >= 250),
    ],
    ids=["edits", "no edits", "identity", "score"],
)
@pytest.mark.parametrize("files", [1, 2])
def test_near_pairs_are_those_of_every_pair(file, tmp_path, options, passes, files):
    words = ["--strand", "both", *[file] * files]
    scoring = [one for one in options if one == "--edit"]
    fields = "query,target,strand,identity,cigar,qstart," + ("distance" if scoring else "score")
    every = rows(*scoring, *options[:2] * (options[0] == "--identity-def"), "--fields", fields, *words)
    wanted = [row for row in every if passes(row)]
    assert rows(*options, "--fields", fields, *words) == wanted
    assert {row["strand"] for row in wanted} == {"+", "-"}
    assert "edits" in gpualign_here("nw", "-q", "--dry-run", *options, *words)[0].decode()  # pairs are left out unseen
    if scoring:
        assert rows(*options, *words) == [{name: row[name] for name in ("query", "target", "distance", "strand")} for row in wanted]


@pytest.mark.parametrize(
    "scoring", [(), ("--end-gaps", "free"), ("--end-gaps", "query"), ("--gap", 3), ("--match", 2, "--mismatch", 1)], ids=str
)
def test_near_pairs_with_a_coverage(file, scoring):
    """They are found by the parts that are covered, whatever the edits at the ends."""
    words = [*scoring, "--strand", "both", "--fields", "query,target,score,strand,identity,coverage,cigar", file]
    wanted = [row for row in rows(*words) if float(row["identity"]) >= 0.85 and float(row["coverage"]) >= 0.6]
    assert rows("--min-identity", 0.85, "--min-coverage", 0.6, *words) == wanted
    assert {row["strand"] for row in wanted} == {"+", "-"}


def test_sam_and_paf(records, file, tmp_path):
    gpualign_here("nw", "-q", "--strand", "both", file, "-o", tmp_path / "x.sam")
    table = rows("--strand", "both", "--fields", "query,target,strand", file)
    pysam = pytest.importorskip("pysam")
    with pysam.AlignmentFile(str(tmp_path / "x.sam")) as opened:
        reads = list(opened)
    assert len(reads) == len(table)
    for read, row in zip(reads, table, strict=True):
        assert read.is_reverse == (row["strand"] == "-")
        assert read.get_forward_sequence() == records[row["query"]]
        assert read.get_reference_sequence().upper() in records[row["target"]]
    paf = [line.split("\t") for line in gpualign_here("nw", "-q", "--strand", "both", "--format", "paf", file)[0].decode().splitlines()]
    assert [(line[0], line[5], line[4]) for line in paf] == [tuple(row.values()) for row in table]
    for line in paf:
        query = records[line[0]] if line[4] == "+" else turned(records[line[0]])
        target, at = records[line[5]], [0, 0]
        for length, kind in re.findall(r"(\d+)([=XID])", line[-1]):
            a, b = (int(length) if kind in kinds else 0 for kinds in ("=XI", "=XD"))
            if kind in "=X":
                assert (query[at[0] : at[0] + a] == target[at[1] : at[1] + b]) or kind == "X"
            at = [at[0] + a, at[1] + b]
        assert at == [len(query), len(target)]


def test_shares_and_nearest_and_csr(file, tmp_path):
    words = ["nw", "-q", "--strand", "both", "--fields", FIELDS, file]
    for share in (1, 2, 3):
        gpualign_here(*words, "-o", tmp_path / "x.tsv", "--shard", f"{share}/3")
    gpualign_here("merge", "-q", *sorted(tmp_path.glob("*.part")), "-o", tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_bytes() == gpualign_here(*words)[0]
    nearest = rows("--strand", "both", "--edit", "--nearest", 1, file)
    assert {row["query"]: row["target"] for row in nearest}["back"] == "r0"
    gpualign_here("nw", "-q", "--strand", "both", "--edit", "--max-distance", 2, "--format", "csr", file, "-o", tmp_path / "x.npz")
    assert len(np.load(tmp_path / "x.npz")["data"]) == len(rows("--strand", "both", "--edit", "--max-distance", 2, file))


def test_twice_the_work(file):
    cells = [
        int(re.search(r"cells +([\d,]+)", gpualign_here("nw", "--dry-run", "-q", file, *more)[0].decode())[1].replace(",", ""))
        for more in ([], ["--strand", "plus"], ["--strand", "both"])
    ]
    assert cells[0] == cells[1] == cells[2] / 2


@pytest.mark.parametrize("pairing", [Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL, Pairing.ALL])
@pytest.mark.parametrize("lanes", [1, 4, 100])
def test_rectangles_hold_each_wanted_pair_once(pairing, lanes):
    """Records of which each pair is worth a rectangle of its own."""
    from work import sequence_set

    rng = np.random.default_rng(5)
    sequences = sequence_set([np.zeros(n, np.uint8) for n in rng.integers(6000, 50_000, 40)])
    task = Task(sequences, sequences, make_scoring(DNA, ScoringOptions()), both_strands=True)
    limits = TileLimits(1 << 20, 0, 4, lanes, 20_000_000_000, band_rows=13)
    seen = np.zeros((40, 40), dtype=int)
    for tile in make_plan(sequences.lengths, sequences.lengths, pairing, limits, task.cost).tiles():
        for part in both_strands._selected_rectangles(task, limits, tile):
            columns = tile.targets if part.columns is None else tile.targets[part.columns]
            seen[np.ix_(np.arange(part.start, part.stop), columns)] += 1
    wanted = np.arange(40)[None, :] >= pairing.first_targets(np.arange(40))[:, None]
    assert (seen[wanted] == 1).all()
    assert (seen <= 1).all()
    if lanes == 100:  # no vector is ever full of targets, so nothing is computed in vain
        assert not seen[~wanted].any()


def test_tiles_that_are_cut_along_the_diagonal(small_16s, tmp_path):
    """Genes long enough for that; as queries and targets of two files they are not."""
    text = small_16s.read_text()
    for name in ("one", "two"):
        (tmp_path / f"{name}.fa").write_text(text)
    words = ["nw", "-q", "--edit", "--strand", "both", "--fields", "query,target,distance,strand"]
    whole, *rows = gpualign_here(*words, tmp_path / "one.fa")[0].decode().splitlines()
    header, *both = gpualign_here(*words, tmp_path / "one.fa", tmp_path / "two.fa")[0].decode().splitlines()
    place = {name: k for k, name in enumerate(dict.fromkeys(row.split("\t")[0] for row in both))}
    assert whole == header
    assert rows == [row for row in both if place[row.split("\t")[0]] < place[row.split("\t")[1]]]


def test_proteins_have_one_strand(tmp_path):
    path = write(tmp_path / "p.fa", {"a": "MKVLAW", "b": "MKVIAW"})
    for strand in ("both", "plus"):
        with pytest.raises(InputError, match="--strand is for DNA; these are protein sequences"):
            gpualign_here("nw", "--strand", strand, path)


def test_a_matrix_that_scores_complements_unlike_is_refused(tmp_path):
    path = write(tmp_path / "a.fa", {"a": "ACGT", "b": "AACC"})
    rows = [[9 if a == b == "A" else 2 if a == b else -1 for b in "ACGT"] for a in "ACGT"]
    lines = [" ".join(["", *"ACGT"]), *(" ".join([a, *map(str, row)]) for a, row in zip("ACGT", rows, strict=True))]
    (tmp_path / "x.mat").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="A with A scores 9 and their complements 2"):
        gpualign_here("nw", "--strand", "both", "--matrix", tmp_path / "x.mat", path)
    assert gpualign_here("nw", "--strand", "plus", "--matrix", tmp_path / "x.mat", path)[0]
