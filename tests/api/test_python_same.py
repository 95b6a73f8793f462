"""`metric`, `same` and `alleles` of `gpualign.pairs`, `iter_pairs` and `cluster`: what the commands do with the options of these names."""

import re

import numpy as np
import pytest
from command import gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign

TITLES = ("sequence_id", "v_call", "donor", "junction_aa")
CALLS = ("TRBV1*01", "TRBV1*02", "TRBV2*01", "TRBV1*01,TRBV2*01", "TRBV2*01 or TRBV3*01", "")
DONORS = ("d 1", "d2", "")
ROWS = st.lists(st.tuples(st.sampled_from(CALLS), st.sampled_from(DONORS), st.text("CASF", min_size=1, max_size=7)), min_size=2, max_size=9)
SAME = ("v_call", "v_call,donor", "donor, v_call")
OPTIONS = {"hamming": ("--hamming", 1), "edit": ("--edit", 2), "tcrdist": ("--tcrdist", 20)}


def write(path, rows):
    lines = [TITLES, *((f"r{number}", *row) for number, row in enumerate(rows))]
    path.write_text("".join("\t".join(cells) + "\n" for cells in lines))
    return path


def in_memory(rows):
    calls, donors, sequences = zip(*rows, strict=True)
    donors = [donor or None for donor in donors]
    return gpualign.Sequences(sequences, [f"r{k}" for k in range(len(rows))], "protein", annotations={"v_call": calls, "donor": donors})


@settings(deadline=None, max_examples=40)
@given(ROWS, st.sampled_from(SAME), st.booleans(), st.sampled_from(sorted(OPTIONS)), st.integers(1, 9))
def test_pairs_and_clusters_are_those_of_the_commands(tmp_path_factory, rows, same, alleles, metric, queries):
    path = write(tmp_path_factory.mktemp("same") / "a.tsv", rows)
    option, farthest = OPTIONS[metric]
    words = [option, "--max-distance", str(farthest), "--same", same, *(["--alleles"] if alleles else []), "--device", "cpu", "-q"]
    arguments = {"metric": metric, "max_distance": farthest, "same": same, "alleles": alleles}
    wanted = gpualign_here("nw", *words, path)[0].decode().splitlines()[1:]
    clusters = gpualign_here("cluster", *words, "--format", "tsv", path)[0].decode().splitlines()[1:]
    for receptors in (path, in_memory(rows), gpualign.read(path, annotations=same)):
        found = gpualign.pairs(receptors, **arguments)
        assert [f"{query}\t{target}\t{value}" for query, target, value in found] == wanted
        tables = gpualign.iter_pairs(receptors, fields=["query", "target", "score"], **arguments)
        assert [tuple(row.values()) for table in tables for row in table] == list(found)
        labels = gpualign.cluster(receptors, **arguments).labels
        assert (labels + 1).tolist() == [int(line.split("\t")[1]) for line in clusters]
    some, others = in_memory(rows[:queries]), in_memory(rows)
    one_set = {(query, target): value for query, target, value in found}
    two_sets = {(query, target): value for query, target, value in gpualign.pairs(some, others, **arguments)}
    asked = {pair: value for pair, value in one_set.items() if int(pair[0][1:]) < queries}
    assert {(query, target): value for (query, target), value in two_sets.items() if int(query[1:]) < int(target[1:])} == asked


def test_columns_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cdr3": ["CASF", "CATF", "CASF"], "v": ["V1", None, "V1"], "n": [1, 2, 3]}, index=["a", "b", "c"])
    for table in (frame[["v", "n"]], frame.astype({"v": "category"})):
        receptors = gpualign.Sequences(frame["cdr3"], alphabet="protein", annotations=table)
        assert list(gpualign.pairs(receptors, metric="hamming", max_distance=1, same=["v"])) == [("a", "c", 0)]
        assert list(gpualign.pairs(receptors[1:], receptors, metric="hamming", max_distance=1, same="n")) == [("b", "b", 0), ("c", "c", 0)]


def test_rows_of_pandas_belong_to_their_ids():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"cdr3": ["CASF", "CATF", "CASF"], "v": ["V1", "V2", "V1"]}, index=["a", "b", "c"])
    for labels in (["a", "b", "c"], [5, 3, 9]):
        frame.index = labels
        receptors = gpualign.Sequences(frame["cdr3"], alphabet="protein", annotations=frame[["v"]].iloc[[1, 2, 0]])
        assert list(gpualign.pairs(receptors, metric="hamming", max_distance=1, same="v")) == [(str(labels[0]), str(labels[2]), 0)]
    others = frame[["v"]].set_axis([9, 5, 3])  # the numbers of rows of another table, beside ids from elsewhere
    receptors = gpualign.Sequences(list(frame["cdr3"]), ["3", "5", "9"], "protein", annotations=others)
    assert list(gpualign.pairs(receptors, metric="hamming", max_distance=1, same="v")) == [("3", "9", 0)]
    for labels, reason in (([5, 3, 8], "no row '9' in the index"), ([5, 3, 9, 9], "the same row twice")):
        annotations = pandas.DataFrame({"v": ["V1"] * len(labels)}, index=labels)
        with pytest.raises(gpualign.InputError, match=reason):
            gpualign.Sequences(frame["cdr3"], annotations=annotations)


def test_a_metric_is_a_scoring_with_a_name():
    sequences = ["CASSLGQAYEQYF", "CASSLGQSYEQYF", "CASSLGYEQYF"]
    for metric, scoring in (("edit", gpualign.EDIT), ("hamming", gpualign.HAMMING), ("tcrdist", gpualign.TCRDIST)):
        assert list(gpualign.pairs(sequences, metric=metric, max_distance=40)) == list(
            gpualign.pairs(sequences, scoring=scoring, max_distance=40)
        )


def test_a_note_tells_of_rows_left_out(tmp_path, caplog):
    (tmp_path / "a.tsv").write_text("sequence_id\tproductive\tjunction_aa\na\tT\tCASF\nb\tF\tCATF\nc\tT\tCATF\n")
    with caplog.at_level("INFO", "gpualign"):
        assert gpualign.read(tmp_path / "a.tsv").ids == ["a", "c"]
    assert "2 sequences of the column junction_aa; left out 1 of 3 rows" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"seqs": ["CASF"], "same": "v_call"}, "same: these sequences have no column 'v_call'; read(file, annotations=...) keeps columns"),
        ({"seqs": "a.fa", "same": "v_call"}, "same compares columns of a table, and a.fa is no table of records with a column 'v_call'"),
        ({"seqs": "a.tsv", "same": "w_call"}, "a.tsv: no column is called 'w_call'"),
        ({"seqs": "a.tsv", "same": 5}, "same 5: expected a list of titles"),
        ({"seqs": "a.tsv", "alleles": True}, "alleles compares alleles of the genes in same: give that too"),
        ({"seqs": "a.tsv", "same": "v_call", "alleles": "no"}, "alleles 'no': expected True or False"),
        ({"seqs": ["CASF"], "metric": "ibs"}, "metric 'ibs': expected one of edit, hamming, tcrdist"),
        ({"seqs": ["CASF"], "scoring": gpualign.EDIT}, "metric and scoring both say what is computed; give one of them"),
    ],
)
def test_refusals(tmp_path, monkeypatch, arguments, reason):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.tsv", [("TRBV1", "d", "CASF"), ("TRBV1", "d", "CASF")])
    (tmp_path / "a.fa").write_text(">a\nCASF\n>b\nCASF\n")
    for function in (gpualign.pairs, gpualign.iter_pairs, gpualign.cluster):
        with pytest.raises(gpualign.InputError, match=re.escape(reason)):
            function(**{"metric": "hamming", "max_distance": 1, **arguments})


def test_refusals_of_groups_matrices_and_annotations(tmp_path):
    path = write(tmp_path / "a.tsv", [("TRBV1", "d", "CASF"), ("TRBV1", "d", "CASF")])
    with pytest.raises(gpualign.InputError, match="same and groups both choose the pairs"):
        gpualign.pairs(path, metric="hamming", max_distance=1, same="v_call", groups={"r0": "x", "r1": "x"}, within=True)
    matrix = gpualign.nw(["CASF", "CATF"], scoring=gpualign.EDIT)
    with pytest.raises(gpualign.InputError, match="same is for sequences; found a matrix"):
        gpualign.cluster(matrix, metric="edit", max_distance=1, same="v_call")
    for annotations, reason in (
        ({"v": ["V1"]}, "annotations 'v': 1 texts for 2 sequences"),
        ({"v": "V1"}, "annotations 'v' 'V1': expected a list of texts"),
        ({"v": np.eye(2)}, "annotations 'v': expected a list of texts"),
        (["V1", "V2"], "annotations: expected a dict of lists or a DataFrame; found list"),
    ):
        with pytest.raises(gpualign.InputError, match=re.escape(reason)):
            gpualign.Sequences(["CASF", "CATF"], annotations=annotations)
