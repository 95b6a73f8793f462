"""What the functions of the package refuse, and that they do so at once and print nothing."""

import inspect
import io
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import gpualign

REFUSED = [
    (lambda: gpualign.dist("no/such.aln"), "no such file"),
    (lambda: gpualign.dist(np.zeros((2, 3)), metric="manhattan"), "manhattan"),
    (lambda: gpualign.dist(np.zeros((2, 3)), min_compared=0), "min_compared"),
    (lambda: gpualign.dist(np.zeros((2, 3)), core=95), r"core is a fraction from 0 to 1; found 95 \(95 % is 0.95\)"),
    (lambda: gpualign.dist(np.zeros((2, 3)), maf=0.6), r"maf is a fraction from 0 to 0\.5; found 0\.6$"),
    (lambda: gpualign.dist(np.zeros((2, 3)), regions="x:1-2"), "sites of tables and arrays have none"),
    (lambda: gpualign.dist(np.full((2, 3), 7)), "site"),
    (lambda: gpualign.dist(np.zeros((2, 3)), "x.tsv"), "expected two files or two arrays"),
    (lambda: gpualign.dist(np.zeros((2, 3)), ids=["a"]), "ids"),
    (lambda: gpualign.dist(np.zeros((2, 3)), transpose=True), "transpose"),
    (lambda: gpualign.dist(np.zeros((2, 3)), np.zeros((2, 4))), "others: 4 sites, samples has 3"),
    (lambda: gpualign.dist(np.zeros((2, 3)), 5), "others: expected a file, or calls"),
    (lambda: gpualign.dist(np.zeros((2, 3)), other_ids=["a"]), "other_ids names the rows of others; give that too"),
    (lambda: gpualign.dist(np.zeros((2, 3)), missing_code=b"9"), "missing_code b'9': expected text or a number"),
    (lambda: gpualign.nw(["ACGT", "A-"]), r"remove gaps with degap, .* \(gpualign\.read has the argument degap, for files\)$"),
    (lambda: gpualign.nw(io.BytesIO(b">a\nAC\n>a\nA\n")), r"\(gpualign\.read has the argument allow_duplicates, for files\)"),
    (lambda: gpualign.align("ACGT", "AC.T"), r"\(gpualign\.read has the arguments degap and unknown, for files\)$"),
    (lambda: gpualign.read(io.BytesIO(b">a\nA-C\n")), "compare them with gpualign dist$"),
    (lambda: gpualign.Scoring(gap=1, gap_open=2), "gap is the linear form of gap_open and gap_extend; give one or the other"),
    (lambda: gpualign.Scoring(matrix="BLOSUM62", match=2), "matrix and match/mismatch exclude each other"),
    (lambda: gpualign.Scoring(tcrdist=True, hamming=True), "are two distances; give one of them"),
    (lambda: gpualign.Scoring(v_genes="v.tsv"), r"it needs Scoring\(tcrdist=True\)"),
    (lambda: gpualign.pairs(["ACGT"], max_distance=1.0000001), r"from 0 to 1; found 1\.0000001$"),
    (lambda: gpualign.sw(["MKV"], scoring=gpualign.TCRDIST), "TCRdists and alignment distances are computed without an alignment"),
    (lambda: gpualign.nw([]), "no sequences"),
    (lambda: gpualign.nw(5), "expected a file, sequences or a list of them; found int"),
    (lambda: gpualign.read(1), "source: expected text or a path; found int"),
    (lambda: gpualign.Index.build(1, "x.gpa"), "fasta: expected text or a path; found int"),
    (lambda: gpualign.Index.open(1), "path: expected text or a path; found int"),
    (lambda: gpualign.align(np.array(["ACGT"]), "ACGT"), "query: expected str, bytes or SeqRecord; found ndarray"),
    (lambda: gpualign.align("ACGT", 5), "target: expected str, bytes or SeqRecord; found int"),
    (lambda: gpualign.nw(["ACGT", ""]), "record 1 has no letters"),
    (lambda: gpualign.nw(["ACGT", 5]), "record 1: expected str, bytes or SeqRecord; found int"),
    (lambda: gpualign.nw("no/such.fa"), "no such file"),
    (lambda: gpualign.nw(["ACGT"], value="scores"), "value"),
    (lambda: gpualign.nw(["ACGT"], end_gaps="none"), "end_gaps"),
    (lambda: gpualign.nw(["ACGT"], device="gpu7"), "device='gpu7': expected auto, cpu, cuda"),
    (lambda: gpualign.nw(["ACGT"], identity_def=5), "identity_def"),
    (lambda: gpualign.nw(["ACGT"], strand="minus"), "strand 'minus'"),
    (lambda: gpualign.nw(["MKVW", "MKVA"], strand="both"), "strand is for DNA"),
    (lambda: gpualign.cluster(["ACGT"], max_distance=0.1, strand="minus", method="greedy"), "strand 'minus'"),
    (lambda: gpualign.cluster(gpualign.nw(["ACGT"], value="distance"), max_distance=0.1, strand="both"), "strand is for sequences"),
    (lambda: gpualign.nw(["ACGT"], scoring="BLOSUM62"), r"scoring: expected gpualign\.Scoring\(...\) or gpualign.EDIT; found str"),
    (lambda: gpualign.nw(["ACGT"], scoring=gpualign.Scoring(matrix="BLOSUM61")), "BLOSUM61"),
    (
        lambda: gpualign.nw(["ACGT"], scoring=gpualign.Scoring(edit=True, gap=2)),
        r"Scoring\(edit=True\) fixes every cost at 1; it cannot be combined with gap",
    ),
    (lambda: gpualign.nw(gpualign.Sequences(["ACGT"]), gpualign.Sequences(["MKV"])), "different alphabets"),
    (lambda: gpualign.pairs(["ACGT"]), "expected one threshold of"),
    (lambda: gpualign.pairs(["ACGT"], min_score=1, min_identity=0.5), "min_identity and min_score"),
    (lambda: gpualign.pairs(["ACGT"], min_identity=97), "fraction"),
    (lambda: gpualign.pairs(["ACGT"], scoring=gpualign.EDIT, min_score=1), "max_distance"),
    (lambda: gpualign.iter_pairs(["ACGT"], fields=["colour"]), "fields: no column is called 'colour'"),
    (lambda: gpualign.iter_pairs(["ACGT"], batch=0), "batch"),
    (lambda: gpualign.sw(["ACGT"], strand="up"), "strand"),
    (lambda: gpualign.sw(["ACGT"], ["ACGT"], with_self=True), "with_self is for one file"),
    (lambda: gpualign.dist(np.array([[0, 1], [1, 1]]), nonfounders=True), "nonfounders is for PLINK filesets"),
    (lambda: gpualign.sw(["MKV"], genetic_code=2), "genetic_code needs translate"),
    (lambda: gpualign.dist(np.array([[0, 1], [1, 1]]), core=True), "core is a fraction from 0 to 1; found True"),
    (lambda: gpualign.cluster(gpualign.dist(np.array([[0, 1], [1, 1]]), metric="king"), max_distance=1), "a matrix of kinships"),
    (lambda: gpualign.tree([[0, 1], [1, 0]]), "expected a Matrix that nw or dist returned; found list"),
    (lambda: gpualign.tree(gpualign.dist(np.array([[0, 1], [1, 1]])), method="ml"), "method 'ml': expected one of nj, upgma, mst"),
    (lambda: gpualign.tree(gpualign.dist(np.array([[0, 1], [1, 1]])), root=1), "root 1: expected an id or 'midpoint'"),
    (lambda: gpualign.tree(gpualign.dist(np.array([[0, 1], [1, 1]])), root="x"), "root: no record is called 'x'"),
    (lambda: gpualign.tree(gpualign.dist(np.array([[0, 1], [1, 1]])), "mst", "0"), "root is for neighbour joining"),
    (lambda: gpualign.tree(gpualign.dist(np.array([[0, 1], [1, 1]]), metric="grm")), "a matrix of relationships, which are no distances"),
    (lambda: gpualign.tree(gpualign.nw(["ACGT", "AC"])), r"a matrix of scores; .* nw\(..., value='distance'\) has distances"),
    (lambda: gpualign.tree(gpualign.nw(["ACGT"], ["ACGA"], value="distance")), "a matrix of two sets has no tree"),
    (
        lambda: gpualign.tree(gpualign.dist([["A", "C"], ["A", None], [None, "C"]]), method="upgma"),
        r"method='upgma' needs the distances of all pairs \(method='mst' does not\), and '2' and '3' have none:"
        r" .* min_called=0.5 or exclude='ID'",
    ),
    (lambda: gpualign.sw(["MKV"], strand="plus"), "is for DNA"),
    (lambda: gpualign.sw(["ACGT"], fields=["cigar"], traceback=False), "traceback=False leaves out the alignments, which cigar needs"),
    (lambda: gpualign.sw(["ACGT"], max_evalue=1, evalue="none"), "needs E-values"),
    (lambda: gpualign.align("", "ACGT"), "the query has no letters"),
    (lambda: gpualign.align("ACGT", "AC-T"), "record .target."),
    (lambda: gpualign.align("ACGT", "AC", mode="both"), "mode"),
    (lambda: gpualign.Sequences(["A", "C"], ids=["x", "x"]), "same id 'x'"),
    (lambda: gpualign.Sequences(["A", "C"], ids=["x"]), "1 ids for 2"),
    (lambda: gpualign.Sequences("ACGT"), "put it in a list"),
    (lambda: gpualign.Sequences(["ACGT"], alphabet="rna"), "alphabet 'rna': expected auto, dna or protein"),
    (lambda: gpualign.align("ACGT", "ACGT", alphabet="rna"), "alphabet 'rna': expected auto, dna or protein"),
    (lambda: gpualign.Index.build(__file__, "x.gpa", alphabet="rna"), "alphabet 'rna': expected auto, dna or protein"),
    (lambda: gpualign.Index.open(__file__), "not an index; gpualign index makes one"),
    (lambda: gpualign.nw(["ACGT"], threads=0), "threads 0: expected 1 or more"),
    (lambda: gpualign.dist(np.zeros((2, 3)), threads=-1), "threads -1: expected 1 or more"),
    (lambda: gpualign.sw(["ACGT"], threads="2"), "threads '2': expected a whole number"),
    (lambda: gpualign.nw(["ACGT"], threads=1.5), "threads 1.5: expected a whole number"),
    (lambda: gpualign.nw(["ACGT"], memory="2G"), "memory '2G': expected a whole number"),
    (lambda: gpualign.nw(["ACGT"], memory=0), "memory 0: expected 1 or more"),
    (lambda: gpualign.nw(["ACGT"], device=3), "device 3: expected a name"),
    (lambda: gpualign.nw(["ACGT"], scoring=gpualign.Scoring(match=1.9)), "match 1.9: expected a whole number"),
    (lambda: gpualign.align("ACGT", "ACGT", gpualign.Scoring(gap=2.5)), "gap 2.5: expected a whole number"),
    (lambda: gpualign.align("ACGT", "ACGT", gpualign.EDIT, mode="local"), "global alignments"),
    (lambda: gpualign.sw(["ACGT"], scoring=gpualign.EDIT), "global alignments"),
    (lambda: gpualign.nw({"a": "ACGT"}), "expected a list of sequences, found a dict"),
    (lambda: gpualign.nw(np.array(0)), "expected a file, sequences or a list of them; found ndarray"),
    (lambda: gpualign.nw(io.StringIO(">a\nACGT\n")), "a stream: opened as text; open it with mode 'rb'"),
    (lambda: gpualign.pairs(["ACGT"], gpualign.EDIT, max_distance=1), "found Scoring; name this argument: scoring=..."),
    (lambda: gpualign.nw(["ACGT"], value=np.eye(2)), r"value \(ndarray\): expected one of score, identity, distance"),
    (lambda: gpualign.nw(["ACGT"], progress=5), "progress 5: expected a function of the work done and of all work"),
    (lambda: gpualign.nw(["ACGT"], memory=10**30), "memory 1000000000000000000000000000000: expected at most 9,223,372,036,854,775,807"),
    (lambda: gpualign.iter_pairs(["ACGT"], fields="score"), "fields 'score': expected a list of columns"),
    (lambda: gpualign.sw(["ACGT"], traceback="no"), "traceback 'no': expected True or False"),
    (lambda: gpualign.dist(np.array([[0, 1]]), ids=5), "ids 5: expected a list of ids"),
    (lambda: gpualign.dist(np.array([[0, 1]]), ids=[["a"]]), r"ids: expected a list of ids; one of them is \['a'\]"),
    (lambda: gpualign.dist(np.array([[0, 1]]), metric=[]), r"metric \[\]: expected one of hamming, "),
    (lambda: gpualign.align("ACGT", "ACGT", gpualign.Scoring(matrix=5)), "matrix: expected a name or a path; found int"),
    (lambda: gpualign.nw(["ACGT"], scoring=gpualign.Scoring(matrix=Path("no/such"))), "no matrix file or matrix is called 'no/such'"),
    (lambda: gpualign.read("x.tsv", id_column=5), "id_column: expected the title of a column; found 5"),
    (lambda: gpualign.read("x.tsv", sequence_column=["seq"]), r"sequence_column: expected the title of a column; found \['seq'\]"),
    (
        lambda: gpualign.nw(["ACGT" * 20], gpualign.Sequences(["MEEPQSDPSV"])),
        "record '0' looks like DNA, and the other sequences are proteins",
    ),
    (lambda: gpualign.pairs(["ACGT"], scoring=gpualign.EDIT, max_distance=float("nan")), "max_distance nan: expected a number"),
    (lambda: gpualign.pairs(["ACGT"], metric="edit", max_distance=Fraction(5, 2)), "a whole number, 0 or more; found 2.5"),
    (lambda: gpualign.pairs(["ACGT"], max_distance=Fraction(3, 2)), "from 0 to 1; found 1.5"),
    (lambda: gpualign.sw(["ACGT"], max_evalue=Decimal("-1")), "max_evalue: expected 0 or more; found -1"),
    (lambda: gpualign.Sequences(["ACGT", "AC"])[[1, 1]], "a selection with the same record twice"),
    (lambda: gpualign.Sequences(["ACGT", "AC"])[[]], "a selection without sequences"),
    (lambda: gpualign.Sequences(["ACGT", "AC"])[[[0, 1]]], "a selection of 2 dimensions; expected a list of numbers, or a mask"),
    (lambda: gpualign.pairs(["ACGT"], min_identity="0.9"), "min_identity '0.9': expected a number"),
    (lambda: gpualign.pairs(["ACGT"], min_score=float("inf")), "min_score inf: expected a number"),
    (lambda: gpualign.iter_pairs(["ACGT"], min_score=float("nan")), "min_score nan: expected a number"),
    (lambda: gpualign.pairs(["ACGT"], min_score="3"), "min_score '3': expected a number"),
    (
        lambda: gpualign.cluster(["ACGT"], scoring=gpualign.EDIT, max_distance=float("inf")),
        "a whole number, 0 or more; found inf",
    ),
    (lambda: gpualign.iter_pairs(["ACGT"], batch=None), "batch None: expected a whole number"),
    (lambda: gpualign.sw(["ACGT"], min_score=float("nan"), evalue="none"), "min_score nan: expected a number"),
    (lambda: gpualign.sw(["ACGT"], max_evalue="1e-3"), "max_evalue '1e-3': expected a number"),
    (lambda: gpualign.sw(["ACGT"], fields=[]), "names no column"),
    (lambda: gpualign.cluster(["ACGT"], min_identity="0.9"), "min_identity '0.9': expected a number"),
    (lambda: gpualign.nw(["ACGT"], out=""), "out '': expected the path of a file"),
    (lambda: gpualign.nw(["ACGT"], out="a\0b"), r"out 'a\\x00b': expected the path of a file"),
    (lambda: gpualign.dist(np.zeros((2, 3)), out=b"x.npy"), "out b'x.npy': expected the path of a file"),
    (lambda: gpualign.Index.build(__file__, None), "out None: expected the path of a file"),
    (lambda: gpualign.nw(["ACGT"], out="x.tsv"), r"out 'x\.tsv': the file is an \.npy array; choose a name that ends in \.npy"),
    (lambda: gpualign.dist(np.zeros((2, 3)), out="x.npy.gz"), r"out 'x\.npy\.gz': the file is an \.npy array"),
    (lambda: gpualign.nw(["ACGT"], out="."), r"out '\.': expected the path of a file"),
    (lambda: gpualign.nw(["ACGT"], out="\ud800x.npy"), r"out '\\ud800x.npy': expected the path of a file"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_bad_input_is_an_error_at_once(capfd, call, message):
    with pytest.raises(gpualign.InputError, match=message) as raised:
        call()
    assert isinstance(raised.value, ValueError)
    assert "--" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


SEQUENCES, CALLS = ["ACGT", "AGT"], np.array([[0, 1, 2, 0], [0, 2, 2, 1]])
FASTA = ">a\nACGT\n>b\nACGA\n"
CALLABLE = {
    "align": {"query": "ACGT", "target": "AGT"},
    "nw": {"seqs": SEQUENCES},
    "pairs": {"seqs": SEQUENCES, "max_distance": 0.9},
    "iter_pairs": {"seqs": SEQUENCES},
    "cluster": {"seqs": SEQUENCES, "max_distance": 0.9},
    "sw": {"queries": SEQUENCES, "evalue": "none"},
    "dist": {"samples": CALLS},
    "tree": {"matrix": gpualign.dist(CALLS)},
    "read": {"source": "x.fa"},
    "Sequences": {"records": SEQUENCES},
    "Scoring": {},
}
WRONG = [None, 5, 1.5, 10**30, float("nan"), "zzz", b"x", [], [5], {}, object(), np.array(0), np.eye(2), [[0, 1]], gpualign.EDIT, {"a"}]


@pytest.mark.parametrize("name", CALLABLE)
def test_a_wrong_argument_is_taken_or_said_to_be_wrong(tmp_path, monkeypatch, name):
    """No other exception than those of gpualign, whatever is given for whichever parameter."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(FASTA)
    function = getattr(gpualign, name)
    for parameter in inspect.signature(function).parameters:
        for wrong in (*WRONG, pd.DataFrame({"a": [0, 1], "b": [1, 2]}), io.StringIO(FASTA), gpualign.dist(CALLS)):
            with suppress(gpualign.InputError, gpualign.RunError, gpualign.InputWarning):
                found = function(**{**CALLABLE[name], parameter: wrong})
                if name in ("sw", "iter_pairs"):
                    list(found)
                if name == "Scoring":
                    gpualign.align("ACGT", "AGT", found)
