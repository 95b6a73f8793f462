"""`gpualign sw --max-hsps`: several alignments of a query with a target, in strands, frames and all formats, beside lalign36 and blastp."""

import csv
import io
import re
import shutil
import subprocess
from itertools import pairwise

import pytest
from Bio.Seq import Seq
from command import gpualign, gpualign_here
from goldens import PROTEINS_DB as DB
from goldens import PROTEINS_QUERY as QUERY

import gpualign as python

AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
PLACES = "query,target,hsp,score,strand,qstart,qend,tstart,tend"


def write(path, texts):
    path.write_text("".join(f">{name}\n{text}\n" for name, text in texts.items()))
    return path


def here(*words):
    return gpualign_here("sw", "-q", "--device", "cpu", *words)[0].decode()


def table(*words):
    return list(csv.DictReader(io.StringIO(here(*words)), delimiter="\t"))


@pytest.fixture
def letters(rng):
    def draw(alphabet, count):
        return "".join(rng.choice(list(alphabet), count))

    return draw


@pytest.fixture
def changed(rng):
    def change(text, alphabet, share):
        """Replace this share of the letters by others."""
        out = list(text)
        for place in rng.choice(len(text), round(share * len(text)), replace=False).tolist():
            out[place] = rng.choice([letter for letter in alphabet if letter != text[place]])
        return "".join(out)

    return change


@pytest.fixture
def repeats(tmp_path, letters, changed):
    """A protein, and targets with one to four copies of it that differ more and more."""
    unit = letters(AMINO_ACIDS, 120)
    query = write(tmp_path / "unit.fa", {"unit": unit})
    targets = {
        f"copies{n}": letters(AMINO_ACIDS, 40)
        + "".join(changed(unit, AMINO_ACIDS, 0.1 * k) + letters(AMINO_ACIDS, 15) for k in range(1, n + 1))
        for n in range(1, 5)
    }
    return query, write(tmp_path / "copies.fa", targets)


def test_every_copy_is_a_row_beside_those_of_its_target(repeats):
    rows = table(*repeats, "--max-hsps", "6", "--max-evalue", "1e-3")
    assert list(rows[0])[:4] == ["query", "target", "hsp", "score"]
    targets = [row["target"] for row in rows]
    assert sorted(targets) == [f"copies{n}" for n in (1, 2, 2, 3, 3, 3, 4, 4, 4, 4)]
    assert all(targets[k] == targets[k - 1] or targets[k] not in targets[:k] for k in range(1, len(targets)))
    for name in set(targets):
        copies = [row for row in rows if row["target"] == name]
        assert [int(row["hsp"]) for row in copies] == list(range(1, len(copies) + 1))
        assert sorted((int(row["score"]) for row in copies), reverse=True) == [int(row["score"]) for row in copies]
        assert all(float(row["evalue"]) <= 1e-3 for row in copies)
        places = sorted((int(row["tstart"]), int(row["tend"])) for row in copies)
        assert all(end <= start + 12 for (_, end), (start, _) in pairwise(places))
    first = [row for row in rows if row["hsp"] == "1"]
    plain = table(*repeats, "--max-evalue", "1e-3")
    assert [{name: row[name] for name in plain[0]} for row in first] == plain


def test_limits(repeats):
    """The number per pair; without thresholds an E-value of 10; a score; an identity, which a later alignment may have."""
    assert sum(row["target"] == "copies4" for row in table(*repeats, "--max-hsps", "3")) == 3
    rows = table(*repeats, "--max-hsps", "50")
    assert 10 <= len(rows) < 60
    assert all(float(row["evalue"]) <= 10 for row in rows if row["hsp"] != "1")
    scores = [int(row["score"]) for row in table(*repeats, "--max-hsps", "50", "--min-score", "200")]
    assert scores
    assert min(scores) >= 200
    best = table(*repeats, "--max-hsps", "50", "--max-hits", "1")
    assert {row["target"] for row in best} == {rows[0]["target"]}
    few = table(*repeats, "--max-hsps", "6", "--min-identity", "0.8")
    assert few
    assert all(float(row["identity"]) >= 0.8 for row in few)


def test_one_alignment_is_the_default():
    assert here(QUERY, DB) == here(QUERY, DB, "--max-hsps", "1")


def test_threads(repeats):
    assert here(*repeats, "--max-hsps", "4", "--threads", "3") == here(*repeats, "--max-hsps", "4", "--threads", "1")


def test_both_strands(tmp_path, letters, changed):
    unit = letters("ACGT", 90)
    forward, back, worse = changed(unit, "ACGT", 0.04), changed(unit, "ACGT", 0.12), changed(unit, "ACGT", 0.25)
    spaced = letters("ACGT", 100) + forward + letters("ACGT", 80) + str(Seq(back).reverse_complement()) + letters("ACGT", 60) + worse
    query, target = write(tmp_path / "q.fa", {"q": unit}), write(tmp_path / "t.fa", {"t": spaced, "plain": unit})
    rows = [row for row in table(query, target, "--max-hsps", "5", "--max-evalue", "1e-5", "--fields", PLACES) if row["target"] == "t"]
    assert [(row["strand"], row["hsp"]) for row in rows] == [("+", "1"), ("-", "2"), ("+", "3")]
    for row, start in zip(rows, (100, 270, 420), strict=True):
        assert abs(int(row["tstart"]) - start) < 15
        assert abs(int(row["tend"]) - start - 90) < 15
    # A limit on targets does not hide the other strand: the minus strand of the unit has a better target.
    minus = write(tmp_path / "more.fa", {"t": spaced, "plain": unit, "back": str(Seq(unit).reverse_complement())})
    rows = table(query, minus, "--max-hsps", "5", "--max-hits", "3", "--fields", PLACES, "--min-score", "150")
    assert [(row["strand"], row["hsp"]) for row in rows if row["target"] == "t"] == [("+", "1"), ("-", "2"), ("+", "3")]


@pytest.mark.parametrize("composition", ["adjust", "none"])
def test_frames(tmp_path, letters, changed, composition):
    """A gene with a frame shift, and a copy on the other strand."""
    protein = letters(AMINO_ACIDS, 120)
    codons = {aa: codon for codon, aa in zip((a + b + c for a in "TCAG" for b in "TCAG" for c in "TCAG"),
              "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG", strict=True)}  # fmt: skip
    gene = "".join(codons[aa] for aa in protein)
    other = "".join(codons[aa] for aa in changed(protein, AMINO_ACIDS, 0.2))
    contig = letters("ACGT", 50) + gene[:180] + "A" + gene[180:] + letters("ACGT", 71) + str(Seq(other).reverse_complement())
    query, target = write(tmp_path / "contig.fa", {"contig": contig}), write(tmp_path / "protein.fa", {"protein": protein})
    fields = "query,target,hsp,score,qframe,qstart,qend,tstart,tend"
    options = ["--translate", "query", "--max-hsps", "5", "--max-evalue", "1e-5", "--fields", fields, "--composition", composition]
    rows = table(query, target, *options, "--mask", "none")  # SEG masks the ends of some random proteins
    assert [row["hsp"] for row in rows] == ["1", "2", "3"]
    assert sorted(row["qframe"][0] == "-" for row in rows) == [False, False, True]
    assert {row["qframe"] for row in rows if row["qframe"][0] != "-"} == {"3", "1"}
    halves = sorted((int(row["tstart"]), int(row["tend"])) for row in rows if row["qframe"][0] != "-")
    assert halves[0][0] <= 10
    assert halves[1][1] >= 110
    reverse = next(row for row in rows if row["qframe"][0] == "-")
    assert int(reverse["qstart"]) > 50 + len(gene)


def test_formats(repeats, tmp_path):
    options = (*repeats, "--max-hsps", "4", "--max-evalue", "1e-3")
    rows = table(*options, "--fields", "target,hsp,qstart,qend,tstart,tend")
    m8 = [line.split("\t") for line in here(*options, "--format", "m8").splitlines()]
    assert [(r["target"], r["qstart"], r["qend"], r["tstart"], r["tend"]) for r in rows] == [(m[1], *m[6:10]) for m in m8]
    sam = [line.split("\t") for line in here(*options, "--format", "sam").splitlines() if line[0] != "@"]
    assert [int(line[1]) for line in sam] == [0] + [256] * (len(rows) - 1)
    assert [line[3] for line in sam] == [row["tstart"] for row in rows]
    assert len(here(*options, "--format", "paf").splitlines()) == len(rows)
    assert here(*options, "--format", "aln").count("query    unit") == len(rows)
    parquet = tmp_path / "hits.parquet"
    gpualign("sw", "-q", *options, "-o", parquet)
    assert pytest.importorskip("pyarrow.parquet").read_table(parquet)["hsp"].to_pylist() == [int(row["hsp"]) for row in rows]


def test_the_first_written_row_is_primary(repeats):
    """An identity that only a later alignment of the best target has."""
    query, targets = repeats
    rows = table(query, targets, "--max-hsps", "4", "--max-evalue", "1e-3", "--identity-def", "1")
    limit = max(float(row["identity"]) for row in rows)
    sam = here(query, targets, "--max-hsps", "4", "--min-identity", f"{limit - 1e-5:.6f}", "--identity-def", "1", "--format", "sam")
    lines = [line.split("\t") for line in sam.splitlines() if line[0] != "@"]
    assert [int(line[1]) & 256 for line in lines].count(0) == 1


def test_repeats_within_a_record(tmp_path, letters, changed):
    unit = letters(AMINO_ACIDS, 80)
    text = unit + letters(AMINO_ACIDS, 20) + changed(unit, AMINO_ACIDS, 0.1)
    path = write(tmp_path / "one.fa", {"one": text})
    rows = table(path, "--self", "--max-hsps", "3", "--max-evalue", "1e-10")
    assert [(row["tstart"], row["tend"]) for row in rows][:1] == [("1", "180")]
    assert {(int(row["qstart"]) // 90, int(row["tstart"]) // 90) for row in rows[1:]} == {(0, 1), (1, 0)}


def test_python(repeats):
    query, targets = repeats
    rows = table(query, targets, "--max-hsps", "4", "--max-evalue", "1e-3", "--fields", "target,hsp,score")
    (hits,) = python.sw(query, targets, max_hsps=4, max_evalue=1e-3)
    assert [str(n) for n in hits["hsp"].tolist()] == [row["hsp"] for row in rows]
    assert [str(n) for n in hits["score"].tolist()] == [row["score"] for row in rows]
    assert "hsp" not in next(python.sw(query, targets)).columns


def test_options_that_it_does_not_go_with():
    for words, message in (
        (["--no-traceback"], b"--max-hsps needs alignments; it cannot be combined with --no-traceback"),
        (["--all"], b"--max-hsps applies to hits; it cannot be combined with --all"),
    ):
        done = gpualign("sw", QUERY, DB, "--max-hsps", "2", *words, check=False)
        assert done.returncode == 2
        assert message in done.stderr
    assert gpualign("sw", QUERY, DB, "--max-hsps", "0", check=False).returncode == 2


def test_scores_of_lalign36(repeats):
    """lalign36 finds the same alignments, by the algorithm of Huang and Miller."""
    if shutil.which("lalign36") is None:
        pytest.skip("lalign36 is not installed")
    query, targets = repeats
    command = ["lalign36", "-q", "-m", "10", "-s", "BL62", "-f", "-11", "-g", "-1", "-E", "1e-2", query, targets]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    theirs = {}
    name = ""
    for line in text.splitlines():
        name = match[1] if (match := re.match(r">>(\w+)", line)) else name
        if score := re.match(r"; lsw_score: +(\d+)", line):
            theirs.setdefault(name, []).append(int(score[1]))
    options = ["--max-hsps", "10", "--composition", "none", "--matrix", "BLOSUM62", "--gap-open", "12", "--gap-extend", "1"]
    ours = {}
    for row in table(query, targets, *options, "--min-score", str(min(map(min, theirs.values()))), "--mask", "none"):
        ours.setdefault(row["target"], []).append(int(row["score"]))
    assert sum(map(len, theirs.values())) >= 10
    for target, scores in theirs.items():
        assert ours[target][: len(scores)] == scores


def test_alignments_of_blastp(repeats):
    """Each alignment that default blastp finds with more than 60 bits, of which its heuristics cut off none."""
    if shutil.which("blastp") is None:
        pytest.skip("blastp is not installed")
    query, targets = repeats
    options = ["-use_sw_tback", "-evalue", "1e-5", "-outfmt", "6 sseqid bitscore qstart qend sstart send"]
    text = subprocess.run(["blastp", "-query", query, "-subject", targets, *options], capture_output=True, text=True, check=True).stdout
    theirs = [line.split("\t") for line in text.splitlines()]
    assert len(theirs) >= 10
    rows = table(query, targets, "--max-hsps", "10", "--max-evalue", "1e-4", "--fields", "target,bits,qstart,qend,tstart,tend")
    for target, bits, *places in theirs:
        near = [r for r in rows if r["target"] == target and abs(int(r["tstart"]) - int(places[2])) < 10]
        assert any(abs(float(r["bits"]) - float(bits)) < 0.05 * float(bits) for r in near), (target, bits, places)
