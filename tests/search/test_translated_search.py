"""`gpualign sw --translate`, beside Biopython: its translation of each frame, and its local alignment of every two of them."""

import csv
import shutil
import subprocess

import numpy as np
import pytest
from Bio.Align import PairwiseAligner, substitution_matrices
from Bio.Seq import Seq
from command import gpualign_here
from goldens import CODED_PROTEINS, CODING_GENES

import gpualign
from gpualign.core.common.errors import InputError
from gpualign.core.sequences import database_index

FILES = CODING_GENES, CODED_PROTEINS
FRAMES = (1, 2, 3, -1, -2, -3)
FIELDS = "query,target,score,qlen,tlen,length,matches,qstart,qend,tstart,tend,qaln,taln,strand,qframe,tframe,qcov,tcov,identity"
MATRIX = substitution_matrices.load("BLOSUM62")


def sw(*arguments):
    out, _ = gpualign_here("sw", "-q", "--device", "cpu", *arguments)
    return list(csv.DictReader(out.decode().splitlines(), delimiter="\t"))


def frame_of(text, frame, code=1):
    """Letters of a reading frame; 0: of a protein."""
    if frame == 0:
        return text
    strand = text if frame > 0 else str(Seq(text).reverse_complement())
    part = strand[abs(frame) - 1 :]
    return str(Seq(part[: len(part) // 3 * 3]).translate(table=code))


def write(path, records):
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records.items()))
    return path


def gene(rng, protein, frame):
    """Nucleotides that code for a protein of ACGT-like amino acids in this frame, with some letters changed."""
    codons = dict(zip("MKVLSAGTWE*", ("ATG", "AAA", "GTT", "CTG", "TCA", "GCC", "GGA", "ACT", "TGG", "GAG", "TAA"), strict=True))
    letters = list("".join("ACGT"[i] for i in rng.integers(0, 4, abs(frame) - 1)) + "".join(codons[a] for a in protein) + "CA")
    for place in np.flatnonzero(rng.random(len(letters)) < 0.05):
        letters[place] = "ACGTN"[rng.integers(5)]
    text = "".join(letters)
    return text if frame > 0 else str(Seq(text).reverse_complement())


@pytest.fixture
def files(rng, tmp_path):
    """(nucleotides, proteins) by name, in files of the same names."""
    ancestors = ["".join(rng.choice(list("MKVLSAGTWE"), 30)) for _ in range(3)]
    genes = {f"g{k}": gene(rng, ancestors[k % 3][3:], FRAMES[k % 6]) for k in range(7)}
    genes |= {"three": "ATG", "four": "CATG", "five": "TTATG"}
    proteins = {f"p{k}": ancestor + "W*" for k, ancestor in enumerate(ancestors)} | {"m": "M"}
    return {"n": (write(tmp_path / "n.fa", genes), genes), "p": (write(tmp_path / "p.fa", proteins), proteins)}


def spans(row, side, text):
    """What the row says is aligned, read in its frame."""
    start, end, frame = int(row[f"{side}start"]) - 1, int(row[f"{side}end"]), int(row[f"{side}frame"])
    if frame == 0:
        return text[start:end]
    part = text[start:end]
    assert len(part) % 3 == 0
    # A frame begins with a letter of the record, and what is aligned is a whole number of codons from there.
    before = start if frame > 0 else len(text) - end
    assert before % 3 == abs(frame) - 1
    return frame_of(part, 1 if frame > 0 else -1)


@pytest.mark.parametrize(("which", "query", "target"), [("query", "n", "p"), ("target", "p", "n"), ("both", "n", "n")])
def test_every_pair_has_the_best_score_of_its_frames(files, which, query, target):
    (query_file, queries), (target_file, targets) = files[query], files[target]
    rows = sw("--translate", which, query_file, target_file, "--mask", "none", "--evalue", "none", "--fields", FIELDS, "--max-hits", "100")
    aligner = PairwiseAligner(mode="local", substitution_matrix=MATRIX, open_gap_score=-12, extend_gap_score=-1)
    wanted = {}
    for q, one in queries.items():
        for t, other in targets.items():
            firsts, seconds = (
                [f for f in (frame_of(text, frame) for frame in (FRAMES if kind == "n" else (0,))) if f]
                for text, kind in ((one, query), (other, target))
            )
            best = max(int(aligner.score(a, b)) for a in firsts for b in seconds)
            if best > 0:
                wanted[q, t] = best
    assert {(row["query"], row["target"]): int(row["score"]) for row in rows} == wanted
    for field, kind in (("qframe", query), ("tframe", target)):
        found = {int(row[field]) for row in rows}
        # Of two genes the strand that does not code may be the better one, by chance that of every pair.
        assert len(found) > 1 if which == "both" else found >= (set(FRAMES) if kind == "n" else {0})
    for row in rows:
        one, other = queries[row["query"]], targets[row["target"]]
        assert (int(row["qlen"]), int(row["tlen"])) == (len(one), len(other))
        assert row["qaln"].replace("-", "") == spans(row, "q", one)
        assert row["taln"].replace("-", "") == spans(row, "t", other)
        assert row["strand"] == ("-" if (int(row["qframe"]) < 0) != (int(row["tframe"]) < 0) else "+")
        assert float(row["qcov"]) == pytest.approx((int(row["qend"]) - int(row["qstart"]) + 1) / len(one), abs=1e-6)
        columns = list(zip(row["qaln"], row["taln"], strict=True))
        assert float(row["identity"]) == pytest.approx(int(row["matches"]) / len(columns), abs=1e-6)
        assert score_of(row["qaln"], row["taln"]) == int(row["score"])


def score_of(one, other):
    """Of two lines of an alignment."""
    total = 0
    for k, (a, b) in enumerate(zip(one, other, strict=True)):
        if "-" in (a, b):
            side = one if a == "-" else other
            total -= 1 if k and side[k - 1] == "-" else 12
        else:
            total += int(MATRIX[a][b])
    return total


def test_the_best_targets_are_records_and_not_frames(rng, tmp_path):
    """A target that scores well in all of its frames takes one place."""
    write(tmp_path / "p.fa", {"q": "FFFFFFFFFF"})
    write(tmp_path / "n.fa", {"fff": "T" * 60, "other": "TTCTTCTTCTTCTTCTTC", "third": "CACACTTTTTTCACA"})
    options = ("--mask", "none", "--evalue", "none", "--fields", "target,score,tframe")
    rows = sw("--translate", "target", tmp_path / "p.fa", tmp_path / "n.fa", "--max-hits", "2", *options)
    assert [(row["target"], row["score"], row["tframe"]) for row in rows] == [("fff", "60", "1"), ("other", "36", "1")]
    every = sw("--translate", "target", tmp_path / "p.fa", tmp_path / "n.fa", "--min-score", "1", *options)
    assert [row["target"] for row in every] == ["fff", "other", "third"]


def test_strands_and_genetic_codes(tmp_path):
    write(tmp_path / "n.fa", {"a": "TGATGGTGAAAATGG"})  # WWWKW with TGA read as W, by the code of mitochondria of vertebrates
    write(tmp_path / "p.fa", {"p": "WWWKW"})
    files = tmp_path / "n.fa", tmp_path / "p.fa"
    common = ("--translate", "query", *files, "--mask", "none", "--evalue", "none", "--fields", "score,qframe")
    found = {code: sw(*common, "--genetic-code", code)[0]["score"] for code in (1, 2)}
    assert found == {1: str(11 - 4 + 5 + 11), 2: str(4 * 11 + 5)}  # *W*KW, of which W*KW is aligned
    assert all(int(row["qframe"]) < 0 for row in sw(*common, "--strand", "minus"))
    assert sw(*common, "--strand", "plus", "--genetic-code", 2) == [{"score": "49", "qframe": "1"}]


def test_an_index_is_translated_when_it_is_opened(files, tmp_path):
    (genes, _), (proteins, _) = files["n"], files["p"]
    gpualign_here("index", "-q", genes, "-o", tmp_path / "n.gpa")
    options = ("-q", "--device", "cpu", "--translate", "target", "--mask", "none", "--max-evalue", "10")
    plain, _ = gpualign_here("sw", *options, proteins, genes)
    assert gpualign_here("sw", *options, proteins, tmp_path / "n.gpa")[0] == plain
    assert plain.count(b"\n") > 5


def test_one_file_with_itself(files):
    """Records are not their own hits in any frame, unless that is asked for."""
    genes, records = files["n"]
    options = ("--translate", "both", genes, "--evalue", "none", "--mask", "none", "--max-hits", "100", "--fields", "query,target,score")
    pairs = {(row["query"], row["target"]): row["score"] for row in sw(*options)}
    with_self = {(row["query"], row["target"]): row["score"] for row in sw(*options, "--self")}
    assert pairs == {pair: score for pair, score in with_self.items() if pair[0] != pair[1]}
    assert {name for name in records if len(records[name]) > 9} <= {query for query, target in with_self if query == target}


def test_shares_of_a_translated_search(files, tmp_path):
    (genes, _), (proteins, _) = files["n"], files["p"]
    options = ("sw", "-q", "--device", "cpu", "--translate", "query", genes, proteins, "--max-evalue", "10", "-o", tmp_path / "hits.tsv")
    gpualign_here(*options)
    whole = (tmp_path / "hits.tsv").read_bytes()
    (tmp_path / "hits.tsv").unlink()
    for k in (1, 2):
        gpualign_here(*options, "--shard", f"{k}/2")
    parts = sorted(tmp_path.glob("hits.tsv.*.part"))
    gpualign_here("merge", "-q", *parts, "-o", tmp_path / "hits.tsv")
    assert (tmp_path / "hits.tsv").read_bytes() == whole


def test_evalues_of_blast():
    """Bit scores, E-values and ends of blastx and tblastn, whose sums over several hits of a pair are left out."""
    if shutil.which("blastx") is None:
        pytest.skip("blastx is not installed")
    for program, which, query, target in (
        ("blastx", "query", CODING_GENES, CODED_PROTEINS),
        ("tblastn", "target", CODED_PROTEINS, CODING_GENES),
    ):
        options = ["-comp_based_stats", "0", "-seg", "no", "-sum_stats", "F", "-evalue", "1e-5", "-outfmt", "6", "-max_hsps", "1"]
        command = [program, "-query", query, "-subject", target, *options]
        theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        ours = (
            "sw",
            "-q",
            "--translate",
            which,
            query,
            target,
            "--format",
            "m8",
            "--mask",
            "none",
            "--composition",
            "none",
            "--max-evalue",
            "1e-5",
        )
        assert len(theirs) == 3
        for one, other in zip(gpualign_here(*ours)[0].decode().splitlines(), theirs, strict=True):
            one, other = one.split("\t"), other.split("\t")
            assert one[:10] + one[11:] == other[:10] + other[11:]
            assert float(one[10]) == pytest.approx(float(other[10]), rel=0.01)


GENE = "ATGGAAGAACCGCAGTCAGATCCTAGCGTCGAGCCCCCTCTGAGTCAGGAAACATTTTCAGACCTATGGAAACTACTTCCTGAA"
BAD = {
    "proteins as queries": (
        ("query", {"a": GENE, "b": "MEEPQSDPSV"}, {"p": "MEEPQ"}),
        "n.fa: record 'b' looks like protein, and --translate query",
    ),
    "proteins without their letters": (("query", {"a": "GARNDCSYHVWRYS"}, {"p": "MEEPQ"}), "n.fa looks like protein"),
    "proteins as targets": (("target", {"p": "MEEPQ"}, {"t": "MEEPQSDPSV"}), "p.fa: record 't' looks like protein, and --translate target"),
    "nucleotides as targets": (
        ("query", {"a": GENE}, {"t": GENE}),
        "p.fa: record 't' looks like DNA, and --translate query reads the targets as",
    ),
    "nucleotides as queries": (
        ("target", {"a": GENE}, {"t": GENE}),
        "n.fa: record 'a' looks like DNA, and --translate target reads the queries as protein: --translate both is for such files",
    ),
    "nothing to translate": (("both", {"a": "MEEPQSDPSV"}, {"t": GENE}), "--translate target is for such files"),
    "short": (("query", {"a": GENE, "b": "AC"}, {"p": "MEEPQ"}), "n.fa: record 'b' has 2 of the 3 letters of a codon"),
    "all targets short": (("target", {"p": "MEEPQ"}, {"t": "AC", "u": "G"}), "p.fa: no record has the 3 letters of a codon"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_translated(tmp_path, case):
    (which, queries, targets), said = BAD[case]
    write(tmp_path / "n.fa", queries)
    write(tmp_path / "p.fa", targets)
    with pytest.raises(InputError, match=said):
        sw("--translate", which, tmp_path / "n.fa", tmp_path / "p.fa", "-o", tmp_path / "hits.tsv")
    assert not (tmp_path / "hits.tsv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--genetic-code", 11), "--genetic-code needs --translate"),
        (("--translate", "query", "--genetic-code", 7), "--genetic-code 7: expected one of NCBI's genetic codes 1-6, 9-16, 21-"),
        (("--translate", "query", "--all"), "--translate applies to hits"),
        (("--translate", "query", "--format", "sam"), "SAM cannot hold alignments of translations"),
        (("--translate", "query", "--mask", "dust"), "--mask dust is for DNA"),
        (("--translate", "target", "--strand", "plus"), "--strand is about the queries, which are proteins"),
    ],
)
def test_options_that_do_not_go_together(words, said):
    files = FILES[::-1] if "target" in words else FILES
    with pytest.raises(InputError, match=said):
        sw(*files, *words)


def test_one_file_is_not_both_nucleotides_and_proteins():
    with pytest.raises(InputError, match="--translate both compares one with itself"):
        sw("--translate", "query", CODING_GENES)


def test_indexes_of_the_other_alphabet(tmp_path):
    gpualign_here("index", "-q", CODED_PROTEINS, "-o", tmp_path / "p.gpa")
    with pytest.raises(InputError, match=r"p\.gpa is an index of protein, and --translate target expects targets of dna"):
        sw("--translate", "target", CODED_PROTEINS, tmp_path / "p.gpa")


def test_an_index_is_checked_with_the_given_threads(tmp_path, monkeypatch):
    gpualign_here("index", "-q", CODED_PROTEINS, "-o", tmp_path / "p.gpa")
    checks, check = [], database_index.IndexCheck
    monkeypatch.setattr(database_index, "IndexCheck", lambda *words, **others: checks.append(check(*words, **others)) or checks[-1])
    assert sw("--translate", "query", "--threads", "1", CODING_GENES, tmp_path / "p.gpa")
    assert [one._max_threads for one in checks] == [1]


def test_letters_of_proteins_are_checked_while_others_are_searched(tmp_path, monkeypatch):
    """Those of an index that are proteins already, unless they are needed before."""
    gpualign_here("index", "-q", CODED_PROTEINS, "-o", tmp_path / "p.gpa")
    expected, events = sw("--translate", "query", CODING_GENES, tmp_path / "p.gpa"), []
    for name in ("finish", "wait_for_letters", "drop_letters"):
        call = getattr(database_index.IndexCheck, name)
        monkeypatch.setattr(database_index.IndexCheck, name, lambda *words, name=name, call=call: events.append(name) or call(*words))
    assert sw("--translate", "query", CODING_GENES, tmp_path / "p.gpa") == expected
    assert "finish" not in events
    assert events.count("wait_for_letters") > 1
    assert sw("--translate", "query", CODING_GENES, tmp_path / "p.gpa", "--mask-target", "seg")
    assert "finish" in events


def test_an_index_of_nucleotides_is_checked_before_it_is_translated(tmp_path):
    gpualign_here("index", "-q", CODING_GENES, "-o", tmp_path / "n.gpa")
    content = bytearray((tmp_path / "n.gpa").read_bytes())
    content[content.rindex(bytes(100)) - 4096] ^= 1
    (tmp_path / "n.gpa").write_bytes(content)
    with pytest.raises(InputError, match=r"n\.gpa: the index is damaged"):
        sw("--translate", "target", CODED_PROTEINS, tmp_path / "n.gpa")


def test_what_a_user_says_of_letters_is_done(tmp_path):
    """Letters that look otherwise are what --alphabet says."""
    write(tmp_path / "n.fa", {"a": "RYKMSWBDHVRYKMSWBDHVACG"})
    write(tmp_path / "p.fa", {"p": GENE})
    rows = sw("--translate", "query", "--alphabet", "dna", CODING_GENES, CODED_PROTEINS)
    assert rows
    for alphabet, queries, targets in (("dna", tmp_path / "n.fa", CODED_PROTEINS), ("protein", CODING_GENES, tmp_path / "p.fa")):
        with pytest.raises(InputError, match=f"add --alphabet {alphabet}"):
            sw("--translate", "query", queries, targets)
        sw("--translate", "query", queries, targets, "--alphabet", alphabet)


def test_short_targets_are_left_out(tmp_path):
    write(tmp_path / "p.fa", {"p": "MEEPQSDPSV"})
    write(tmp_path / "n.fa", {"x": "AC", "a": GENE, "y": "T"})
    out, said = gpualign_here("sw", "--device", "cpu", "--translate", "target", tmp_path / "p.fa", tmp_path / "n.fa", "--mask", "none")
    assert "n.fa: left out 2 records, 'x' the first, which are shorter than a codon" in said
    assert [line.split(b"\t")[1] for line in out.splitlines()[1:]] == [b"a"]


def test_files_of_a_list_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "n.fa", {"a": GENE})
    write(tmp_path / "short.fa", {"b": "AC", "c": "G"})
    write(tmp_path / "codes.fa", {"d": "RYKMSWBDHV" * 12})
    write(tmp_path / "p.fa", {"p": "MEEPQSDPSV"})
    write(tmp_path / "one.fa", {"e": "AC"})
    write(tmp_path / "mixed.fa", {"t": "GRYK"})
    write(tmp_path / "long.fa", {"u": "G" * 30})
    for first, second in (("n", "short"), ("n", "codes"), ("n", "one"), ("mixed", "long")):
        (tmp_path / f"{second}.txt").write_text(f"{first}.fa\n{second}.fa\n")
    for words, message in (
        ("query @short.txt p.fa", "short.fa: record 'b' has 2 of the 3 letters"),
        ("query @codes.txt p.fa", "codes.fa looks like protein"),
        ("query n.fa @long.txt", "long.fa looks like DNA"),
    ):
        with pytest.raises(InputError, match=f"^{message}"):
            gpualign_here("sw", "--translate", *words.split())
    said = {name: gpualign_here("sw", "--translate", "target", "p.fa", f"@{name}.txt")[1] for name in ("short", "one")}
    assert "one.fa: left out record 'e', which is shorter than a codon" in said["one"]
    assert "n.fa and short.fa: left out 2 records, 'b' of short.fa the first, which are shorter than a codon" in said["short"]


def test_calls_from_python():
    """The same rows as the command's; encoded sequences must be of the alphabet that is wanted."""
    wanted = [
        (row["query"], row["target"], int(row["score"]), int(row["qframe"]), int(row["qstart"]))
        for row in sw("--translate", "query", *FILES)
    ]
    genes, proteins = (gpualign.read(path) for path in FILES)
    for queries, targets in (FILES, (genes, proteins), (genes, FILES[1])):
        hits = list(gpualign.sw(queries, targets, translate="query"))
        found = [
            (one.query, *row) for one in hits for row in zip(*(one[name] for name in ("target", "score", "qframe", "qstart")), strict=True)
        ]
        assert found == wanted
    for bad in ({"translate": "target"}, {"translate": "query", "genetic_code": 8}, {"translate": "queries"}, {}):
        with pytest.raises(InputError, match=r"alphabet|genetic_code=8|'queries'"):
            gpualign.sw(genes, proteins, **bad)
