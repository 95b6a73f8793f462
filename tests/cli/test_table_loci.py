"""Rows of some loci of a table of receptors: `--locus`."""

import csv
import io

import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign as gp
from gpualign.core.common.errors import InputError
from gpualign.core.sequences.gene_calls import gene_names, locus_of

CALLS = {
    "": "",
    "TRBV7-2*01": "TRB",
    "Homsap TRAV1-2*01 F": "TRA",
    "TRAV14/DV4*01,TRAV2": "TRA",
    "IGKV1-5 or IGKV3-1": "IGK",
    "None": "",
    "TRDV2": "TRD",
    "TCRBV07-02*01": "TRB",  # Adaptive
}
LOCI = ("", "NA", "TRB", "TRA", "igk", "Multi")
NEAR = ("--device", "cpu", "--hamming", "--max-distance", "9")
TEXTS = ("CAF", "CAS", "C*F")
ROWS = st.lists(st.tuples(st.sampled_from(LOCI), st.sampled_from(list(CALLS)), st.sampled_from(TEXTS)), min_size=1, max_size=9)


def write(path, rows, locus_title="locus", call_title="v_call"):
    lines = [("sequence_id", locus_title, call_title, "junction_aa"), *((f"r{k}", *row) for k, row in enumerate(rows))]
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows(lines)
    path.write_text(written.getvalue())
    return path


def test_loci_of_calls():
    assert {call: locus_of(call) for call in CALLS} == CALLS


@settings(deadline=None, max_examples=40)
@given(
    ROWS, st.sampled_from(("locus", "chain", "other")), st.sampled_from(("v_call", "v_gene", "j_call")), st.sampled_from(("TRB", "TRA,IGK"))
)
def test_rows_of_a_locus_are_those_of_a_plain_loop(tmp_path_factory, rows, locus_title, call_title, chosen):
    """By the column locus, or by the calls where its cell is empty; calls of --same serve too."""
    path = write(tmp_path_factory.mktemp("loci") / "a.tsv", rows, locus_title, call_title)
    same = call_title == "j_call"
    kept = []
    for k, (locus, call, text) in enumerate(rows):
        of_row = locus.upper() if locus_title != "other" and locus not in ("", "NA") else CALLS[call]
        if of_row in chosen.split(",") and "*" not in text:
            kept.append((f"r{k}", call))
    if not kept:
        with pytest.raises(InputError, match=f"without any productive sequence of {chosen.replace(',', ' or ')}"):
            gpualign_here("nw", *NEAR, "--locus", chosen, *(["--same", "j_call"] if same else []), path)
        return
    words = ("nw", "-q", *NEAR, "--locus", chosen.lower(), *(["--same", "j_call"] if same else []))
    found = [tuple(line.split("\t")[:2]) for line in gpualign_here(*words, path)[0].decode().splitlines()[1:]]
    pairs = [(a, b) for n, a in enumerate(kept) for b in kept[n + 1 :]]
    assert found == [(a[0], b[0]) for a, b in pairs if not same or gene_names(a[1]) & gene_names(b[1])]


def test_notes_tell_what_is_left_out(tmp_path):
    rows = [("TRB", "", "CAF"), ("TRB", "", "C*F"), ("TRA", "", "CAF"), ("", "TRAV1", "CAF"), ("", "", "CAF"), ("Multi", "", "CAF")]
    told = gpualign_here("nw", *NEAR, "--locus", "TRB", write(tmp_path / "a.tsv", rows))[1]
    assert "a table; 1 sequence of the column junction_aa; left out 1 of 2 rows, which has no productive sequence" in told
    assert "left out the rows of other loci: 1 of an unknown locus, 1 of MULTI, 2 of TRA" in told


def test_clusters_of_a_locus_leave_the_other_rows_alone(tmp_path):
    rows = [("TRB", "", "CAF"), ("TRA", "", "CAF"), ("TRB", "", "CAS"), ("TRA", "", "CAF")]
    words = ("cluster", "-q", "--device", "cpu", "--hamming", "--max-distance", "1", "--locus", "TRB")
    found = gpualign_here(*words, write(tmp_path / "a.tsv", rows))[0].decode().splitlines()
    assert [line.split("\t")[-1] for line in found] == ["clone_id", "1", "", "1", ""]


def test_python_reads_the_same_rows(tmp_path):
    path = write(tmp_path / "a.tsv", [("TRB", "", "CAF"), ("TRA", "", "CAF"), ("", "TRBV2", "CAS")])
    assert gp.read(path, locus="trb").ids == gp.read(path, locus=["TRB", "IGH"]).ids == gp.read(path, locus="IGH, TRB").ids == ["r0", "r2"]
    with pytest.raises(InputError, match="locus '': expected loci, with commas between several"):
        gp.read(path, locus="")
    assert gp.read(path).ids == ["r0", "r1", "r2"]
    (tmp_path / "a.fa").write_text(">a\nACGT\n")
    with pytest.raises(InputError, match=r"locus chooses rows of a table of receptors, and .*a\.fa is not such a table"):
        gp.read(tmp_path / "a.fa", locus="TRB")


@pytest.mark.parametrize(
    ("command", "words", "reason"),
    [
        ("nw", ["a.fa", "--locus", "TRB"], "--locus chooses rows of a table of receptors, and a.fa is not such a table"),
        ("nw", ["a.tsv", "a.fa", "--locus", "TRB"], "--locus chooses rows of a table of receptors, and a.fa is not such a table"),
        ("cluster", ["b.tsv", "--locus", "TRB"], "--locus needs a column locus, or gene calls in a column such as v_call"),
        ("nw", ["a.tsv", "--locus", " ,"], "'--locus': expected names, with commas between several; found ' ,'"),
        ("nw", ["a.tsv", "--same", ""], "'--same': expected names, with commas between several; found ''"),
        ("nw", ["a.tsv", "--locus", "TRG"], "productive sequence of TRG in the column 'junction_aa'; found 2 of TRB"),
        ("cluster", ["--edges", "e.tsv", "--locus", "TRB"], "--locus applies to alignments; with --edges nothing is aligned"),
    ],
)
def test_refusals(tmp_path, monkeypatch, command, words, reason):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", [("TRB", "", "CAF"), ("TRB", "", "CAS")])
    write(tmp_path / "b.tsv", [("TRB", "", "CAF"), ("TRB", "", "CAS")], "x", "y")
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nACGT\n")
    (tmp_path / "e.tsv").write_text("query\ttarget\tdistance\na\tb\t1\n")
    costs = [] if "--edges" in words else ["--edit"]
    done = gpualign(command, "--device", "cpu", *costs, "--max-distance", "1", *words, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
