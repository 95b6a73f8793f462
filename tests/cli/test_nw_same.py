"""Pairs of records that agree in columns of their table: `gpualign nw --same`."""

import itertools

import numpy as np
import pytest
from command import gpualign, gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import edit_distance

TITLES = ("sequence_id", "v_call", "j_call", "donor", "junction_aa")
GENES = ("TRBV1*01", "TRBV1*02", "TRBV2*01", "TRBV1*01,TRBV2*01", "TRBV2*01 or TRBV3*01", "")
J_GENES, DONORS = ("TRBJ1*01", "TRBJ2*01"), ("d 1", "d2", "")
ROWS = st.lists(
    st.tuples(st.sampled_from(GENES), st.sampled_from(J_GENES), st.sampled_from(DONORS), st.text("CAS", min_size=1, max_size=3)),
    min_size=2,
    max_size=9,
)


def write(path, rows):
    lines = [TITLES, *((f"r{number}", *row) for number, row in enumerate(rows))]
    path.write_text("".join("\t".join(cells) + "\n" for cells in lines))
    return path


def values(row, title, alleles):
    """Genes or alleles that a cell names, by the few forms of this test."""
    cell = dict(zip(TITLES[1:], row, strict=True))[title]
    if title == "donor":
        return {cell} - {""}
    names = cell.replace(" or ", ",").split(",")
    return {name if alleles else name.split("*")[0] for name in names} - {""}


def distance(one, other):
    return edit_distance(*(np.frombuffer(text.encode(), np.uint8) for text in (one, other)))


@settings(deadline=None, max_examples=40)
@given(ROWS, st.sampled_from(("v_call", "v_call,j_call", "donor", "j_call,donor,v_call")), st.booleans(), st.sampled_from((None, 0, 1, 3)))
def test_pairs_are_those_of_a_plain_loop(tmp_path_factory, rows, same, alleles, limit):
    path = write(tmp_path_factory.mktemp("same") / "a.tsv", rows)
    words = ["--same", same, *(["--alleles"] if alleles else []), *([] if limit is None else ["--max-distance", str(limit)])]
    found = gpualign_here("nw", "-q", "--device", "cpu", "--edit", *words, path)[0].decode().splitlines()[1:]
    wanted = []
    for (i, one), (j, other) in itertools.combinations(enumerate(rows), 2):
        agree = all(values(one, title, alleles) & values(other, title, alleles) for title in same.split(","))
        edits = distance(one[-1], other[-1])
        if agree and (limit is None or edits <= limit):
            wanted.append(f"r{i}\tr{j}\t{edits}")
    assert found == wanted


def test_two_tables_and_shards(tmp_path, rng):
    def table(name, count):
        parts = [[str(rng.choice(some)) for some in (GENES, J_GENES, DONORS)] for _ in range(count)]
        cells = [(*part, "".join(rng.choice(list("CAS"), 4))) for part in parts]
        return write(tmp_path / name, cells), cells

    (one, rows), (two, others) = table("1.tsv", 30), table("2.tsv", 40)
    words = ("nw", "-q", "--device", "cpu", "--edit", "--max-distance", "2", "--same", "v_call,j_call")
    found = gpualign_here(*words, one, two)[0].decode().splitlines()[1:]
    agree = [all(values(a, title, False) & values(b, title, False) for title in ("v_call", "j_call")) for a in rows for b in others]
    edits = [distance(a[-1], b[-1]) for a in rows for b in others]
    names = [f"r{i}\tr{j}" for i in range(30) for j in range(40)]
    assert found == [f"{name}\t{k}" for name, k, both in zip(names, edits, agree, strict=True) if both and k <= 2]
    whole = gpualign_here(*words, one)[0]
    for number in (1, 2, 3):
        gpualign_here(*words, one, "--shard", f"{number}/3", "-o", tmp_path / "p.tsv")
    gpualign_here("merge", "-q", "-o", tmp_path / "p.tsv", *sorted(tmp_path.glob("p.tsv.*.part")))
    assert (tmp_path / "p.tsv").read_bytes() == whole
    _, told = gpualign_here(*words[:1], *words[2:], one)
    without = sum(not row[0] for row in rows)
    assert (f"{without} of 30 records have no v_call, and agree with no other" in told) == (without > 0)


def test_gene_calls_are_known_by_their_cells(tmp_path):
    path = tmp_path / "clones.tsv"
    rows = [("allVHits", "cloneId", "aaSeqCDR3"), ("TRBV7-2*00(1200),TRBV7-3*00(11)", "0", "CASSF"), ("TRBV7-2*00(900.5)", "1", "CASSY")]
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    words = ("--id-column", "cloneId", "--sequence-column", "aaSeqCDR3", "--edit", "--same", "allVHits")
    assert gpualign_here("nw", "-q", "--device", "cpu", *words, path)[0].decode().splitlines()[1:] == ["0\t1\t1"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["a.fa", "--same", "v_call"], "--same compares columns of a table, and a.fa is no table of records with a column 'v_call'"),
        (["a.tsv", "--same", "w_call"], "a.tsv: no column is called 'w_call'"),
        (["a.tsv", "--alleles"], "--alleles compares alleles of the genes in --same: give that too"),
        (["a.tsv", "--same", "v_call", "--groups", "g.tsv", "--within"], "--same and --groups both choose the pairs"),
        (["a.tsv", "--same", "v_call", "-o", "x.npy"], "a matrix holds every pair, unless it is --format csr"),
    ],
)
def test_refusals(tmp_path, monkeypatch, words, reason):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", [("TRBV1", "TRBJ1", "d", "CASF"), ("TRBV1", "TRBJ1", "d", "CASF")])
    (tmp_path / "a.fa").write_text(">a\nACGT\n>b\nACGT\n")
    (tmp_path / "g.tsv").write_text("r0\tx\nr1\tx\n")
    done = gpualign("nw", "--device", "cpu", *words, check=False)
    assert done.returncode == 2
    assert reason in done.stderr.decode()
    assert not (tmp_path / "x.npy").exists()
