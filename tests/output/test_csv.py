"""Tables and matrices with commas, as Python's csv reads them, beside the same with tabs."""

import csv
import io
from pathlib import Path

import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell

from gpualign.core.sequences.string_column import StringColumn

STRANGE = ["a,1", 'b"2', '"c"', "d", ',"']
"""Ids that csv has to quote, and one that it does not."""
LETTERS = ["ACGTACGTAC", "ACGTACGTAA", "ACGAACGTAC", "TTGTACGTAC", "ACGTACGTAC"]


@pytest.fixture
def strange(tmp_path, monkeypatch):
    """The name of a file whose records have these ids; and it is also an alignment."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in zip(STRANGE, LETTERS, strict=True)))
    return "x.fa"


def rows(text, commas):
    text = text.decode()
    return list(csv.reader(io.StringIO(text))) if commas else [line.split("\t") for line in text.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        ["nw"],
        ["nw", "--edit", "--max-distance", "3"],
        ["nw", "--fields", "target,distance,qaln,query"],
        ["nw", "--value", "identity"],
        ["sw", "--min-score", "1", "--strand", "plus"],
        ["sw", "--all", "--strand", "plus"],
        ["dist"],
        ["dist", "--max-distance", "2", "--compared"],
        ["cluster", "--edit", "--max-distance", "1"],
    ],
    ids=" ".join,
)
def test_commas_say_what_tabs_say(strange, words):
    command, *options = words
    found = [rows(gpualign_here(command, "-q", strange, *options, "--format", format)[0], format == "csv") for format in ("tsv", "csv")]
    assert found[0] == found[1]
    assert {cell for row in found[0] for cell in row} & set(STRANGE) == set(STRANGE)


def test_other_commands_read_them(strange):
    """Pairs and matrices with quoted ids, whole and in shares."""
    expected = gpualign_here("cluster", "-q", strange, "--edit", "--max-distance", "1")[0]
    for words in (["nw", "--edit"], ["nw", "--edit", "--max-distance", "1"], ["dist"], ["dist", "--max-distance", "1"]):
        command, *options = words
        name, of_list = "out.csv", command == "nw" or len(options) > 0
        gpualign_here(command, "-q", strange, *options, "-o", name)
        given = ["--edges" if of_list else "--distances", name]
        assert gpualign_here("cluster", "-q", strange, *given, "--max-distance", "1")[0] == expected, words
        whole = Path(name).read_bytes()
        for share in ("1/2", "2/2"):
            gpualign_here(command, "-q", strange, *options, "-o", name, "--shard", share)
        gpualign_here("merge", "-q", f"{name}.1-of-2.part", f"{name}.2-of-2.part", "-o", "merged.csv")
        assert Path("merged.csv").read_bytes() == whole, words


MATRICES = [["nw", "--edit", "--value", "distance"], ["nw", "--edit", "--format", "matrix"], ["dist", "--format", "matrix"]]


def test_a_matrix_has_the_separator_of_its_name(strange):
    expected = gpualign_here("dist", "-q", strange)[0]
    for command, *options in MATRICES:
        for name in ("m.csv", "m.tsv", "m.txt" if "--format" in options else "n.tsv"):
            gpualign_here(command, "-q", strange, *options, "-o", name)
            assert rows(Path(name).read_bytes(), name.endswith("csv")) == rows(expected, False)


def test_semicolons_are_read_as_tabs_are(strange):
    """Matrices, lists of pairs with and without a header, and groups, as spreadsheets write them where a comma is part of numbers."""

    def with_semicolons(table):
        text = io.StringIO()
        csv.writer(text, delimiter=";", quoting=csv.QUOTE_ALL).writerows(rows(table, False))
        return text.getvalue().encode()

    matrix = gpualign_here("dist", "-q", strange)[0]
    pairs = gpualign_here("dist", "-q", strange, "--max-distance", "2")[0]
    groups = "".join(f"{name}\t{number % 2}\n" for number, name in enumerate(STRANGE)).encode()
    reading = {
        "--distances": (matrix, lambda table: ["cluster", "--distances", table, "--max-distance", "1"]),
        "--edges": (pairs, lambda table: ["cluster", "--edges", table, strange, "--degap", "--max-distance", "1"]),
        "without a header": (
            pairs.split(b"\n", 1)[1],
            lambda table: ["cluster", "--edges", table, strange, "--degap", "--max-distance", "1"],
        ),
        "--groups": (groups, lambda table: ["nw", "--edit", strange, "--groups", table, "--between"]),
        "tree": (matrix, lambda table: ["tree", table]),
    }
    for name, (table, words) in reading.items():
        Path("tabs").write_bytes(table)
        Path("semicolons").write_bytes(with_semicolons(table))
        expected, found = (gpualign_here(*words(path), "-q")[0] for path in ("tabs", "semicolons"))
        assert found == expected, name
        assert b"," in expected


def test_commas_separate_where_ids_have_semicolons(tmp_path, monkeypatch):
    """As in vsearch's ids and in names of taxa."""
    monkeypatch.chdir(tmp_path)
    names = ["s1;size=10;", "s2;size=5;", "s3;size=4;"]
    Path("x.fa").write_text("".join(f">{name}\n{letters}\n" for name, letters in zip(names, LETTERS, strict=False)))
    gpualign_here("dist", "-q", "x.fa", "--format", "molten", "-o", "m.csv")
    gpualign_here("dist", "-q", "x.fa", "--format", "molten", "-o", "m.tsv")
    gpualign_here("dist", "-q", "x.fa", "-o", "d.csv")
    gpualign_here("dist", "-q", "x.fa", "-o", "d.tsv")
    Path("g.csv").write_text("".join(f"{name},Bacteria;Firmicutes;{k % 2}\n" for k, name in enumerate(names)))
    Path("g.tsv").write_text(Path("g.csv").read_text().replace(",", "\t"))
    for words in (
        ["cluster", "--max-distance", "1", "--edges", "m"],
        ["cluster", "--max-distance", "1", "--distances", "d"],
        ["tree", "--method", "mst", "--edges", "m"],
        ["nw", "--edit", "x.fa", "--between", "--groups", "g"],
    ):
        found, expected = (gpualign_here(*words[:-1], f"{words[-1]}.{suffix}", "-q")[0] for suffix in ("csv", "tsv"))
        assert found == expected, words
        assert b"s1;size=10;" in expected
    assert shell(f"{GPUALIGN} nw -q x.fa x.fa --value distance --format matrix | cut -f 1,2 | tr '\\t' , > one.csv").returncode == 0
    assert gpualign("plot", "-q", "one.csv", "-o", "one.svg").returncode == 0


def test_a_table_goes_on(strange):
    """--resume of what is complete changes nothing, and of what is not there begins."""
    gpualign("dist", "-q", strange, "--max-distance", "2", "-o", "x.csv", "--resume")
    first = Path("x.csv").read_bytes()
    gpualign("dist", "-q", strange, "--max-distance", "2", "-o", "x.csv", "--resume")
    assert Path("x.csv").read_bytes() == first
    assert first.startswith(b"query,target,distance\n")


def test_quoting():
    column = StringColumn.from_strings(["a", "b,c", 'd"e', ""])
    assert list(column.csv_quoted) == ["a", '"b,c"', '"d""e"', ""]
    plain = StringColumn.from_strings(["a", "b c"])
    assert plain.csv_quoted is plain
    assert column[1:2].csv_quoted[0] == '"b,c"'
    assert column[:1].csv_quoted is not column
