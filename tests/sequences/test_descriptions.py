"""Columns of what follows ids in files, beside Biopython's records."""

import io
import json
import os

import numpy as np
import pytest
from command import gpualign as run
from command import gpualign_here
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.alignment.task import Task
from gpualign.core.alignment.task_fingerprint import fingerprint
from gpualign.core.common.errors import InputError
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.loading import encode_all, read_raw_records

FASTA = '>a first one \nACGTAC\n>b\nACGAAC\n>c\ttabs\tand  blanks, "quotes"\r\nACGTAC\r\n>d  \u00e4 non-ASCII \nACGT\nAC\n>e x\nACGGAC\n'
DESCRIBED = {"a": "first one", "b": "", "c": 'tabs and  blanks, "quotes"', "d": "\u00e4 non-ASCII", "e": "x"}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_bytes(FASTA.encode())
    return "x.fa"


def table(*words):
    header, *lines = gpualign_here(*words)[0].decode().splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


title = st.text(st.sampled_from("ab \t>@;\u00e4\x0b"), max_size=8)


@given(st.lists(title, min_size=1, max_size=6), st.booleans())
def test_titles_are_those_of_biopython(titles, fastq):
    from Bio.SeqIO.FastaIO import SimpleFastaParser
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    form = "@r{} {}\nACGT\n+\nIIII\n" if fastq else ">r{} {}\nAC\nGT\n"
    text = "".join(form.format(k, one) for k, one in enumerate(titles))
    parse = FastqGeneralIterator if fastq else SimpleFastaParser
    whole = [record[0] for record in parse(io.StringIO(text, newline="\n"))]
    expected = [[*one.split(None, 1), ""][1].strip(" \t\x0b").translate({9: " ", 11: " "}) for one in whole]
    raw = read_raw_records(io.BytesIO(text.encode()), "x", with_descriptions=True)
    assert list(raw.descriptions) == expected
    assert read_raw_records(io.BytesIO(text.encode()), "x").descriptions is None


@pytest.mark.parametrize("options", [[], ["--edit", "--max-distance", "3"], ["--min-identity", "0.5"], ["--self"]], ids=str)
def test_global_alignments(file, options):
    rows = table("nw", "-q", file, "--fields", "query,qtitle,target,ttitle", *options)
    assert len(rows) >= 10
    for row in rows:
        assert (row["qtitle"], row["ttitle"]) == (DESCRIBED[row["query"]], DESCRIBED[row["target"]])


def test_added_records(file, tmp_path):
    (tmp_path / "old.fa").write_text(">z the old\nACGTAC\n")
    rows = table("nw", "-q", file, "--add", "old.fa", "--fields", "query,qtitle,target,ttitle")
    assert len(rows) == 15
    for row in rows:
        assert (row["qtitle"], row["ttitle"]) == (DESCRIBED[row["query"]], {**DESCRIBED, "z": "the old"}[row["target"]])


@pytest.mark.parametrize(
    "options", [["--min-score", "1"], ["--strand", "minus", "--min-score", "1"], ["--all", "--strand", "plus"]], ids=str
)
def test_local_alignments(file, tmp_path, options):
    (tmp_path / "db.fa").write_text(">empty x\n\n>t1 target one\nTTACGTACGG\n>t2\nGTTCGTAC\n")
    rows = table("sw", "-q", file, "db.fa", "--fields", "query,qtitle,target,ttitle", *options)
    assert {row["target"] for row in rows} == {"t1", "t2"}
    for row in rows:
        assert (row["qtitle"], row["ttitle"]) == (DESCRIBED[row["query"]], {"t1": "target one", "t2": ""}[row["target"]])


def test_indexes_have_none(file):
    gpualign_here("index", "-q", file, "-o", "x.gpa")
    with pytest.raises(InputError, match=r"x.gpa is an index, which holds no descriptions for the column ttitle"):
        table("sw", "-q", file, "x.gpa", "--fields", "query,ttitle")
    rows = table("sw", "-q", file, "x.gpa", "--fields", "query,qtitle", "--min-score", "1")
    assert {(row["query"], row["qtitle"]) for row in rows} == set(DESCRIBED.items())


def test_other_tables(file):
    import csv

    rows = list(csv.reader(io.StringIO(gpualign_here("nw", "-q", file, "--fields", "query,qtitle", "--format", "csv")[0].decode())))
    assert dict(rows[1:]) == {name: text for name, text in DESCRIBED.items() if name != "e"}
    parquet = pytest.importorskip("pyarrow.parquet")
    gpualign_here("nw", "-q", file, "--fields", "query,target,ttitle", "-o", "x.parquet")
    assert all(row["ttitle"] == DESCRIBED[row["target"]] for row in parquet.read_table("x.parquet").to_pylist())


def test_a_run_goes_on_with_the_same_descriptions_alone(file):
    """What a journal compares tells descriptions that are written from others."""

    def digest(text, described):
        raw = read_raw_records(io.BytesIO(text.encode()), "x", with_descriptions=described)
        records = encode_all([raw], "dna")[1][0]
        return fingerprint(Task(records, records, make_scoring(DNA, ScoringOptions())))

    changed = FASTA.replace("first one", "first two")
    assert digest(FASTA, False) == digest(changed, False)
    assert digest(FASTA, True) != digest(changed, True)


def test_memory_has_none():
    import gpualign

    with pytest.raises(gpualign.InputError, match="qtitle needs a file"):
        gpualign.iter_pairs(["ACGT", "ACGA"], fields=["query", "qtitle"])


@pytest.mark.parametrize(
    ("command", "options"),
    [("nw", []), ("nw", ["--min-identity", "0.9"]), ("nw", ["--strand", "both"]), ("sw", ["--max-hits", "300"])],
)
def test_long_titles_are_written_a_few_at_a_time(tmp_path, command, options):
    """Of 300 records they make 700 MB of rows, which are few pairs."""
    rng = np.random.default_rng(2)
    founder = rng.choice(list("ACGT"), 40)
    records = []
    for number in range(300):
        founder[rng.integers(0, 40)] = "A"
        records.append(f">r{number} {'x' * int(rng.integers(1, 16_000))}\n{''.join(founder)}\n")
    (tmp_path / "x.fa").write_text("".join(records))
    files = ["x.fa"] * (2 if command == "sw" else 1)

    def peak(fields):
        words = [command, *files, *options, "-q", "--device", "cpu", "--threads", "2", "--memory", "256M", "--fields", fields]
        run(*words, "-o", os.devnull, "--summary", "x.json", cwd=tmp_path)
        return json.loads((tmp_path / "x.json").read_text())["peak_memory"]

    assert peak("query,qtitle,target,ttitle") < peak("query,target") + (64 << 20)
