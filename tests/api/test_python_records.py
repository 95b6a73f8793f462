"""Records and ids that the functions of the package take from memory."""

import codecs
import copy
import io
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from Bio.Seq import MutableSeq, Seq
from Bio.SeqRecord import SeqRecord

import gpualign

SINGLE = {"SeqRecord": SeqRecord(Seq("ACGT"), id="a"), "Seq": Seq("ACGT"), "bytearray": bytearray(b"ACGT")}


@pytest.mark.parametrize("found", SINGLE)
def test_a_single_record_is_not_taken_for_a_list_of_its_letters(found):
    for call in (gpualign.Sequences, gpualign.nw, lambda one: gpualign.sw(one, ["ACGT"]), lambda one: gpualign.sw(["ACGT"], one)):
        with pytest.raises(gpualign.InputError, match=f"found a single {found}; put it in a list"):
            call(SINGLE[found])


def test_calls_of_records_have_their_ids():
    records = [SeqRecord(Seq("ACGT"), id="a"), SeqRecord(Seq("ACGA"))]
    assert gpualign.dist(records).ids == ["a", "2"]
    assert gpualign.dist(records, ids=["x", "y"]).ids == ["x", "y"]
    assert gpualign.dist([list("ACGT"), list("ACGA")]).ids == ["1", "2"]


def test_sequences_of_biopython_need_no_ids():
    assert list(gpualign.Sequences([Seq("ACGT"), MutableSeq("ac")])) == ["ACGT", "AC"]
    assert gpualign.Sequences([SeqRecord(Seq("ACGT")), SeqRecord(Seq("AC")), SeqRecord(Seq("A"), id="a")]).ids == ["0", "1", "a"]
    assert gpualign.align(Seq("ACGT"), "ACGT").cigar == "4="


@pytest.mark.parametrize("unknown", [None, Seq(None, 5)])
def test_records_whose_letters_are_unknown_have_none(unknown):
    """As those of a GenBank file without ORIGIN."""
    with pytest.raises(gpualign.InputError, match="record 1 has no letters"):
        gpualign.Sequences(["ACGT", SeqRecord(unknown, id="a")])
    with pytest.raises(gpualign.InputError, match="the target has no letters"):
        gpualign.align("ACGT", SeqRecord(unknown, id="a"))


def test_alignments_are_copied_and_pickled_also_once_their_paths_are_known():
    found = gpualign.align("ACGTTGCA", "AGTTGCAA")
    for copied in (copy.deepcopy(found), pickle.loads(pickle.dumps(found)), found):
        assert (copied.score, copied.cigar, copied.query) == (15, "1=1I5=1D1=", "ACGTTGC-A")
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_a_path_is_no_sequence():
    with pytest.raises(gpualign.InputError, match="query: expected str, bytes or SeqRecord"):
        gpualign.align(Path("ACGT"), "ACGT")


def test_files_that_cannot_be_read_or_are_opened_as_text(tmp_path):
    for function in (gpualign.read, gpualign.nw, gpualign.dist):
        with tempfile.NamedTemporaryFile("w+") as stream, pytest.raises(gpualign.InputError, match=f"{stream.name}: opened as text"):
            function(stream)
        with pytest.raises(gpualign.InputError, match="a stream: opened as text"):
            function(codecs.getreader("utf-8")(io.BytesIO(b">a\nACGT\n")))
        (tmp_path / "x.fa").write_bytes(b">a\nACGT\n")
        with open(tmp_path / "x.fa", "ab") as stream, pytest.raises(gpualign.InputError, match=r"x\.fa: closed, or not open for reading"):
            function(stream)
        with open(tmp_path / "x.fa", "rb") as stream:
            function(stream)
        with pytest.raises(gpualign.InputError, match=r"x\.fa: closed, or not open for reading; open it with mode 'rb'"):
            function(stream)
        with tempfile.SpooledTemporaryFile() as stream, pytest.raises(gpualign.InputError, match="a stream: empty file"):
            function(stream)


def test_ids_may_be_bytes():
    """NumPy and h5py keep text as bytes."""
    calls, names = np.array([[0, 1], [1, 1]]), np.array(["a", "b"], dtype="S1")
    assert gpualign.Sequences(["ACGT", "AC"], ids=names).ids == ["a", "b"]
    assert gpualign.dist(calls, ids=names).ids == ["a", "b"]
    assert gpualign.dist(calls, ids=names, exclude=names[:1]).ids == ["b"]
    genes = gpualign.Sequences(["ACGT", "ACG"], ids=["a", "b"])
    assert len(gpualign.pairs(genes, min_identity=0, groups={b"a": 1, b"b": 2}, between=True)) == 1


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_ids_are_not_missing(missing):
    with pytest.raises(gpualign.InputError, match=r"ids: expected a list of ids; item 1 is (None|nan)"):
        gpualign.Sequences(["ACGT", "AC"], ids=["a", missing])
    with pytest.raises(gpualign.InputError, match="record 1 has an empty id; give it one"):
        gpualign.Sequences(["ACGT", "AC"], ids=["a", ""])
