"""@LIST: several files as one set, in `nw`, `sw`, `dist` and `cluster`; what is wrong with a list or between its files is told by name."""

import gzip
import io
import json
import os
import re
import sys

import numpy as np
import pytest
from command import gpualign_here
from goldens import FAMILY, SNPS

from gpualign.core.common.errors import InputError

GENES = {
    "one.fa": ">a first\nACGTACGTAC\n>b\nACGTACGAAC\n",
    "two.fq": "@c of two\nACGTTCGTAC\n+\nIIIIIIIIII\n",
    "three.fa": ">d\nAAGTACGTAC\n",
}
"""All of a length, so that `dist` takes those that are FASTA."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in GENES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "three.fa.gz").write_bytes(gzip.compress(GENES["three.fa"].encode()))
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "all.txt").write_bytes(b"\xef\xbb\xbf# a comment\r\n\r\none.fa\r\n  two.fq \r\nthree.fa.gz")
    (tmp_path / "some.txt").write_text("one.fa\nthree.fa\n")
    (tmp_path / "joined.fa").write_text(GENES["one.fa"] + ">c of two\nACGTTCGTAC\n" + GENES["three.fa"])
    (tmp_path / "joined_some.fa").write_text(GENES["one.fa"] + GENES["three.fa"])
    return tmp_path


def out(*words):
    return gpualign_here(*words)[0]


FIELDS = "query,target,score,cigar,qtitle,ttitle"


@pytest.mark.parametrize(
    ("of_lists", "of_files"),
    [
        (["nw", "@lists/all.txt"], ["nw", "joined.fa"]),
        (["nw", "--fields", FIELDS, "@lists/all.txt", "@some.txt"], ["nw", "--fields", FIELDS, "joined.fa", "joined_some.fa"]),
        (["nw", "three.fa", "--fields", FIELDS, "--add", "@two.txt"], ["nw", "three.fa", "--fields", FIELDS, "--add", "two_joined.fa"]),
        (["nw", "--edit", "--max-distance", "1", "@lists/all.txt"], ["nw", "--edit", "--max-distance", "1", "joined.fa"]),
        (["sw", "@some.txt", "@lists/all.txt", "--min-score", "5"], ["sw", "joined_some.fa", "joined.fa", "--min-score", "5"]),
        (["sw", "--all", "@lists/all.txt"], ["sw", "--all", "joined.fa"]),
        (["dist", "@some.txt"], ["dist", "joined_some.fa"]),
        (["dist", "three.fa", "--add", "@two.txt"], ["dist", "three.fa", "--add", "one.fa"]),
        (["dist", "@some.txt", "one.fa"], ["dist", "joined_some.fa", "one.fa"]),
        (
            ["cluster", "@lists/all.txt", "--edit", "--max-distance", "1", "--method", "greedy", "--format", "uc"],
            ["cluster", "joined.fa", "--edit", "--max-distance", "1", "--method", "greedy", "--format", "uc"],
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_as_if_the_files_were_one(folder, of_lists, of_files):
    (folder / "two.txt").write_text("one.fa\n")
    (folder / "two_joined.fa").write_text(GENES["one.fa"])
    assert out(*of_lists, "-q") == out(*of_files, "-q")


def test_an_index_and_a_list_of_queries(folder):
    out("index", "joined.fa", "-o", "x.gpa", "-q")
    words = ["--min-score", "5", "-q"]
    assert out("sw", "@lists/all.txt", "x.gpa", *words) == out("sw", "joined.fa", "x.gpa", *words)


def test_a_list_from_standard_input(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one.fa\nthree.fa\n")))
    assert out("nw", "-q", "@-") == out("nw", "-q", "joined_some.fa")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one.fa\nthree.fa\n")))
    with pytest.raises(InputError, match="only one input can be standard input"):
        out("nw", "-q", "@-", "-")


def test_more_alignments_than_a_process_may_open(folder):
    import resource

    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    names = [f"s{k}.fa" for k in range(150)]
    for k, name in enumerate(names):
        (folder / name).write_text(f">s{k}\n{'ACGT'[k % 4]}{'ACGT'[k % 3]}A\n")
    (folder / "many.txt").write_text("\n".join(names))
    (folder / "whole.fa").write_text("".join((folder / name).read_text() for name in names))
    unused = os.open(os.devnull, os.O_RDONLY)
    os.close(unused)
    resource.setrlimit(resource.RLIMIT_NOFILE, (unused + 60, hard))
    try:
        found = [out(command, "-q", "@many.txt") for command in ("dist", "nw")]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    assert found == [out(command, "-q", "whole.fa") for command in ("dist", "nw")]


def test_ids_of_two_files(folder):
    (folder / "again.fa").write_text(">x\nACGTACGTAA\n>a\nACGTACGTTT\n")
    (folder / "twice.txt").write_text("one.fa\nagain.fa\n")
    for command in ("nw", "dist"):
        with pytest.raises(InputError, match=r"^again\.fa: record 'a' has the id of a record of one\.fa; .*--allow-duplicates"):
            out(command, "@twice.txt")
    assert "\na\tx\t" in out("nw", "-q", "--allow-duplicates", "@twice.txt").decode()
    (folder / "x.fa").write_text(">a\nACGTACGTAC\n>b\nACGTACGAAC\n>x\nACGTACGTAA\n>a_2\nACGTACGTTT\n")
    for command in ("nw", "dist"):
        assert out(command, "-q", "--allow-duplicates", "@twice.txt") == out(command, "-q", "x.fa")


@pytest.mark.parametrize("command", ["nw", "sw --min-score 5", "cluster --max-distance 3 --edit"])
def test_files_without_letters_are_left_out_like_records(folder, command):
    (folder / "hollow.fa").write_text(">e1\n>e2\n\n")
    (folder / "nothing.fa").write_text("")
    words, note = command.split(), "left out, because it has no records with letters"
    for first in ("hollow.fa", "nothing.fa"):
        (folder / "l.txt").write_text(f"{first}\none.fa\nhollow.fa\nnothing.fa\nthree.fa\n")
        with pytest.raises(InputError, match=f"^{first}: (record 'e1'|empty file)"):
            out(*words, "@l.txt")
        found, said = gpualign_here(*words, "--drop-empty", "@l.txt")
        assert found == out(*words, "joined_some.fa")
        assert said.count(f"hollow.fa: {note}") == (2 if first == "hollow.fa" else 1)
        assert f"nothing.fa: {note}" in said
    (folder / "l.txt").write_text("nothing.fa\nhollow.fa\n")
    with pytest.raises(InputError, match=r"^nothing\.fa: empty file"):
        out(*words, "--drop-empty", "@l.txt")


def test_files_without_letters_are_left_out_of_a_database(folder):
    (folder / "hollow.fa").write_text(">e1\n")
    (folder / "l.txt").write_text("hollow.fa\none.fa\nthree.fa\n")
    words = ("sw", "--min-score", "5", "two.fq")
    found, said = gpualign_here(*words, "@l.txt")
    assert found == out(*words, "joined_some.fa")
    assert "hollow.fa: left out, because it has no records with letters" in said


@pytest.mark.parametrize("command", ["nw", "dist"])
def test_a_file_that_is_listed_twice(folder, command):
    os.symlink("one.fa", "link.fa")
    advice = "list it once, or number the repeated ids with --allow-duplicates"
    for second, problem in (
        ("one.fa", "one.fa is listed twice"),
        ("./one.fa", "./one.fa is the same file as one.fa, listed before it"),
        ("link.fa", "link.fa is the same file as one.fa, listed before it"),
    ):
        (folder / "l.txt").write_text(f"one.fa\n{second}\n")
        with pytest.raises(InputError, match=f"^{re.escape(f'{problem}; {advice}')}$"):
            out(command, "@l.txt")
        assert b"a_2" in out(command, "-q", "--allow-duplicates", "@l.txt")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "l.txt: names no files"),
        ("# none\n\n", "l.txt: names no files"),
        ("one.fa\n\nnone.fa\n", r"l.txt: line 3: 'none.fa': no such file; names in a list are relative to the working directory"),
        ("one.fa\nl.txt\n", "l.txt: line 2 is the list itself"),
        ("one.fa\n@some.txt\n", "l.txt: line 2: '@some.txt': no such file"),
        (">a\nACGT\n", "l.txt: line 1 is FASTA; expected a list of files after @"),
        ("one.fa\nlists\n", "lists: expected a file, found a directory"),
        ("one.fa\nempty.fa\n", "empty.fa: "),
        ("one.fa\ngap.fa\n", "gap.fa: record 'g': '-' at position 3 is a gap"),
        ("one.fa\n./l.txt\n", "l.txt: line 2 is the list itself"),
        ("one.fa\n\0.fa\n", r"l.txt: line 2 is not the name of a file: '\\x00.fa'; expected a list of files after @"),
        ("x" * 5000, f"l.txt: line 1 is not the name of a file: '{'x' * 39}.u2026'; expected"),
        ("one.fa\nprotein.fa\n", "one.fa: record 'a' looks like DNA, protein.fa: record 'p' like protein"),
    ],
)
def test_bad_lists(folder, text, reason):
    (folder / "l.txt").write_text(text)
    (folder / "empty.fa").write_text("")
    (folder / "gap.fa").write_text(">g\nAC-GTACGTAC\n")
    (folder / "protein.fa").write_text(">p\nMKVLAWQRST\n")
    if "looks like" in reason:
        (folder / "one.fa").write_text(">a\n" + "ACGT" * 20 + "\n")
    with pytest.raises(InputError, match=reason):
        out("nw", "@l.txt", "-o", "x.tsv")
    assert not (folder / "x.tsv").exists()


def test_a_packed_list(folder):
    (folder / "some.txt.gz").write_bytes(gzip.compress((folder / "some.txt").read_bytes()))
    assert out("nw", "-q", "@some.txt.gz") == out("nw", "-q", "@some.txt")


def test_bad_arguments(folder):
    for words, reason in (
        (["@"], "expected the name of a list of files after @"),
        (["@none.txt"], "none.txt: no such file"),
        (["@some.txt", "-o", "some.txt", "--format", "tsv"], "some.txt is also an input"),
        (["@some.txt", "-o", "three.fa"], "three.fa is also an input"),
    ):
        with pytest.raises(InputError, match=reason):
            out("nw", *words)


def test_a_letter_without_a_score_is_told_with_its_file(folder):
    (folder / "n.fa").write_text(">n\nACGTNCGTAC\n")
    (folder / "l.txt").write_text("one.fa\nn.fa\n")
    (folder / "m.txt").write_text("   A  C  G  T\nA  1 -1 -1 -1\nC -1  1 -1 -1\nG -1 -1  1 -1\nT -1 -1 -1  1\n")
    for words in (["@l.txt"], ["three.fa", "--add", "@l.txt"]):
        with pytest.raises(InputError, match=r"the letter 'N', which record 'n' of n\.fa holds"):
            out("nw", "--matrix", "m.txt", *words)


def test_distances_of_lists_are_of_alignments(folder):
    for name in ("t.tsv", "u.tsv"):
        (folder / name).write_text(f"id\tx\ty\n{name}\t0\t1\n")
    (folder / "l.txt").write_text("t.tsv\nu.tsv\n")
    with pytest.raises(InputError, match=r"u\.tsv is a table; a list of several files can only name alignments"):
        out("dist", "@l.txt")
    (folder / "l.txt").write_text("one.fa\nt.tsv\n")
    with pytest.raises(InputError, match=r"t\.tsv is a table, one\.fa is an alignment; files of a list must be of one kind"):
        out("dist", "@l.txt")
    (folder / "short.fa").write_text(">s\nACG\n")
    (folder / "l.txt").write_text("one.fa\nshort.fa\n")
    with pytest.raises(InputError, match=r"short\.fa: .*3"):
        out("dist", "@l.txt")


@pytest.mark.parametrize("command", ["nw", "dist"])
def test_shares_know_every_file(folder, command):
    """Shares of a job are of the same input: what is in the files counts, not the list."""
    for share in (1, 2):
        out(command, "-q", "@some.txt", "-o", "x.tsv", "--shard", f"{share}/2")
        (folder / "some.txt").write_text("# other words\none.fa\n./three.fa\n")
    out("merge", "-q", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "x.tsv")
    assert (folder / "x.tsv").read_bytes() == out(command, "-q", "joined_some.fa")
    (folder / "three.fa").write_text(">d\nAAGTACGTAT\n")
    out(command, "-q", "@some.txt", "-o", "x.tsv", "--shard", "2/2")
    with pytest.raises(InputError):
        out("merge", "-q", "x.tsv.1-of-2.part", "x.tsv.2-of-2.part", "-o", "y.tsv")


def test_the_summary_counts_each_file(folder):
    out("nw", "-q", "@lists/all.txt", "--summary", "s.json")
    inputs = json.loads((folder / "s.json").read_text())["inputs"]
    assert {one["path"]: (one["records"], one["letters"]) for one in inputs} == {
        "lists/all.txt": (None, None),
        "one.fa": (2, 20),
        "two.fq": (1, 10),
        "three.fa.gz": (1, 10),
    }
    assert all(one["sha256"] for one in inputs)


def samples_of_files(folder, *words):
    out("dist", "-q", *words, "--summary", "s.json")
    return {one["path"]: one["records"] for one in json.loads((folder / "s.json").read_text())["inputs"]}


def test_the_summary_counts_samples_of_each_file(folder):
    (folder / "gz.txt").write_text("three.fa.gz\n")
    alone = {"some.txt": None, "one.fa": 2, "three.fa": 1}
    assert samples_of_files(folder, "@some.txt") == alone
    assert samples_of_files(folder, "@some.txt", "@gz.txt") == alone | {"gz.txt": None, "three.fa.gz": 1}
    assert samples_of_files(folder, "three.fa.gz", "--add", "@some.txt") == alone | {"three.fa.gz": 1}
    assert samples_of_files(folder, "@some.txt", "one.fa", "--allow-duplicates") == alone


@pytest.mark.parametrize(("path", "samples"), [(SNPS, 16), (FAMILY, 10)], ids=["table", "VCF"])
def test_the_summary_counts_samples_of_a_list_of_one(folder, path, samples):
    if path is FAMILY:
        pytest.importorskip("cyvcf2")
    (folder / "l.txt").write_text(f"{path}\n")
    assert samples_of_files(folder, "@l.txt") == {"l.txt": None, str(path): samples}


def test_a_file_whose_name_begins_with_an_at(folder):
    (folder / "@x.fa").write_text(GENES["one.fa"])
    assert out("nw", "-q", "./@x.fa") == out("nw", "-q", "one.fa")


def test_a_matrix_of_a_list(folder):
    out("nw", "-q", "@lists/all.txt", "-o", "x.npz")
    with np.load("x.npz") as found:
        assert found["ids"].tolist() == ["a", "b", "c", "d"]
