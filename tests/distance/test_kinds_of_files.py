"""Files that hold alignments in other formats, or no calls at all: read as what they are, or named."""

import gzip

import numpy as np
import pytest
from command import gpualign, gpualign_here
from fuzz.alignments import SHORT, alignment, as_fasta, by_biopython, spellings
from sites import vcf_text

from gpualign.core.common.errors import InputError


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_clustal_and_phylip_are_read(tmp_path, rng, end):
    wrong = []
    for name, rows, text in spellings(rng):
        (tmp_path / "x.fa").write_text(as_fasta(rows))
        (tmp_path / "x.aln").write_bytes(text.replace("\n", end).encode())
        expected, _ = gpualign_here("dist", tmp_path / "x.fa")
        try:
            found, _ = gpualign_here("dist", tmp_path / "x.aln")
        except InputError as error:
            wrong.append(f"{name}: {error}")
            continue
        if found != expected:
            wrong.append(f"{name}: {found} instead of {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "CLUSTAL W\n\n\na  ACGT\nb  ACGA\n\na  AC\nb  AG",
        "\nCLUSTAL W\n\na  ACGT\nb  ACGA\n   *** \n\na  AC\nb  AG\n   *\n",
        "CLUSTAL W\r\n\r\na  ACGT\r\nb  ACGA\r\n   ***\r\na  AC\r\nb  AG\r\n",
        "2\t6\na\tACGTAC\nb\tACGAAG\n",
        "2 6\na ACG TAC\nb ACG AAG",
    ],
)
def test_alignments_after_an_editor(tmp_path, text):
    (tmp_path / "x").write_bytes(text.encode())
    assert gpualign_here("dist", tmp_path / "x")[0] == b"\ta\tb\na\t0\t2\nb\t2\t0\n"


PIPED = {
    "table": "id\tL1\tL2\na\t11\t112\nb\t11\t11\n",
    "FASTA": ">a\nACGT\n>b\nACGA\n",
    "CLUSTAL": "CLUSTAL W\n\na ACGT\nb ACGA\n",
    "PHYLIP": "2 4\na ACGT\nb ACGA\n",
    "VCF": vcf_text("ab", [(["A", "C"], ["0/0", "0|1"])]),
}


@pytest.mark.parametrize("kind", PIPED)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_that_may_have_been_cut_is_told(tmp_path, kind, pack):
    if kind == "VCF":
        pytest.importorskip("cyvcf2")
    for text, told in ((PIPED[kind].encode(), False), (PIPED[kind].encode()[:-1], True)):
        notes = gpualign("dist", "-", "--device", "cpu", stdin=pack(text)).stderr.decode()
        assert ("standard input: the last line has no line end, so it may be cut" in notes) == told
        (tmp_path / "x").write_bytes(pack(text))
        assert "line end" not in gpualign_here("dist", tmp_path / "x")[1]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["tree", "-"], "   3\na\nb 12\nc 5 17\n"),
        (["tree", "-"], "\ta\tb\na\t0\t1\nb\t1\t0\n"),
        (["cluster", "--distances", "-", "--max-distance", "1"], "\ta\tb\na\t0\t1\nb\t1\t0\n"),
        (["cluster", "--edges", "-", "--max-distance", "1"], "query\ttarget\tdistance\na\tb\t1\n"),
        (["tree", "--edges", "-", "--method", "mst"], "a\tb\t1\nb\tc\t2\n"),
    ],
)
def test_distances_from_a_pipe_that_may_have_been_cut(tmp_path, words, text):
    pytest.importorskip("scipy")
    for piped, told in ((text, False), (text[:-1], True)):
        notes = gpualign(*words, stdin=piped.encode()).stderr.decode()
        assert ("standard input: the last line has no line end, so it may be cut" in notes) == told
    (tmp_path / "x").write_text(text[:-1])
    assert "line end" not in gpualign_here(*(tmp_path / "x" if word == "-" else word for word in words))[1]


def test_rows_of_gaps_are_rows(tmp_path):
    for first in ("a ------", "a ??????", "a ACG ---"):
        (tmp_path / "x").write_text(f"2 6\n{first}\nb ACGAAG\n")
        assert gpualign_here("dist", tmp_path / "x")[0].startswith(b"\ta\tb\n")


@pytest.mark.parametrize("layout", ["phylip", "phylip-relaxed", "phylip-sequential"])
def test_more_rows_than_the_first_line_says(tmp_path, rng, layout):
    text = by_biopython(alignment(rng, SHORT, 30), layout)
    (tmp_path / "x").write_text(text.replace(" 3 30", " 2 30", 1))
    with pytest.raises(InputError, match="cannot be read"):
        gpualign_here("dist", tmp_path / "x")


def test_two_alignments_of_different_formats(tmp_path, rng):
    rows = alignment(rng, SHORT, 50)
    (tmp_path / "x.fa").write_text(as_fasta(rows))
    (tmp_path / "x.phy").write_text(by_biopython(rows, "phylip"))
    (tmp_path / "list").write_text(f"{tmp_path / 'x.fa'}\n{tmp_path / 'y.aln'}\n")
    (tmp_path / "y.aln").write_text(by_biopython([(f"{name}b", letters) for name, letters in rows], "clustal"))
    both = gpualign_here("dist", tmp_path / "x.fa", tmp_path / "x.phy")[0]
    assert both == gpualign_here("dist", tmp_path / "x.fa", tmp_path / "x.fa")[0]
    out, _ = gpualign_here("dist", f"@{tmp_path / 'list'}")
    assert out.split(b"\n")[0].decode().split("\t") == ["", *SHORT, *(f"{name}b" for name in SHORT)]


@pytest.mark.parametrize(
    "text", ["1 8\nnew ACGTACGA\n", "1\t8\nnew\tACGT ACGA\n", " 1 12\nnew       ACGTACGAAC\nCA\n", "1 12\nnew_sampleACGTACGAACCA\n"]
)
def test_phylip_of_one_row(tmp_path, text):
    more = "ACCA" if "12" in text else ""
    (tmp_path / "new").write_text(text)
    (tmp_path / "old").write_text(as_fasta([("a", f"ACGTACGT{more}"), ("b", f"ACGAACGA{more}")]))
    assert gpualign_here("dist", tmp_path / "new", tmp_path / "old")[0].split(b"\n")[1].split(b"\t")[1:] == [b"1", b"1"]


@pytest.mark.parametrize("text", ["1 2\nA C G\nB G G\n", "1 1\nA C\nB G\n", "1 4\nA C\nB G\n", "1\t8\nA\tC\nB\tG\n"])
def test_tables_with_a_site_that_is_called_1(tmp_path, text):
    (tmp_path / "x").write_text(text)
    assert gpualign_here("dist", tmp_path / "x")[0] == b"\tA\tB\nA\t0\t1\nB\t1\t0\n"


def test_a_table_of_receptors(tmp_path):
    (tmp_path / "airr.tsv").write_text("sequence_id\tv_call\tjunction_aa\na\tTRBV1\tCASF\nb\tTRBV1\tCASY\n")
    with pytest.raises(InputError, match=r"airr\.tsv is a table of immune receptors; gpualign nw and cluster compare them"):
        gpualign_here("dist", tmp_path / "airr.tsv")


def test_ids_with_blanks(tmp_path):
    (tmp_path / "x.phy").write_text(" 2 8\nA b       ACGTACGT\nC d       ACGTACGA\n")
    out, messages = gpualign_here("dist", tmp_path / "x.phy")
    assert out.decode().splitlines()[0] == "\tA_b\tC_d"
    assert "blanks in ids are written as underscores, such as 'A b' as 'A_b'" in messages


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (" 2 8\nA ACGTACGT\nC ACGTACG\n", "cannot be read"),
        (" 3 8\nA ACGTACGT\nC ACGTACGA\n", "cannot be read"),
        (" 2 6\nAC ACGTACGTAC\nAG ACGTACGTAA\n", "cannot be read"),
        # Ids of ten letters with the letters behind them, or shorter ones with more letters and a blank among them.
        (" 2 8\nA         ACGT ACGT\nC         ACGTACGA\n", None),
        (" 2 8\nA ACGTACGT\nC .......A\n", "with '.', which may be a gap, or the letter of the first row"),
        ("CLUSTAL W\n\na AC.T\nb ACGA\n", "with '.', which may be a gap, or the letter of the first row"),
        ("3 4\na 0101\nb 0111\nc 1111\n", "cannot be read"),
        ("CLUSTAL W\n\n", "cannot be read"),
        ("CLUSTAL W\n\na ACGT\nb ACG\n", "cannot be read"),
    ],
)
def test_alignments_that_are_none(tmp_path, text, reason):
    (tmp_path / "x").write_text(text)
    if reason is None:
        assert gpualign_here("dist", tmp_path / "x")[0].decode().splitlines()[1] == "A\t0\t1"
        return
    with pytest.raises(InputError, match=rf"x is an alignment in (PHYLIP|CLUSTAL) format .*{reason}"):
        gpualign_here("dist", tmp_path / "x")


def test_ids_that_end_in_two_ways(tmp_path):
    """Ten letters, as in strict PHYLIP, or up to a blank: the first letters of the row may be the last of its id."""
    (tmp_path / "x.phy").write_text(" 2 10\nABCDEFGHIJ ACGTACGTAC\nABCDEFGHIKACGTACGTAA\n")
    assert gpualign_here("dist", tmp_path / "x.phy")[0].decode().splitlines()[1] == "ABCDEFGHIJ\t0\t1"


def test_rows_in_blocks_or_one_after_the_other(tmp_path):
    """The second line is of the first row or of the second, whose first ten letters are then its id."""
    lines = ["AAAAAAAAAACCCCCCCCCC", "ACGTACGTACGTACGTACGT", "GGGGGGGGGGTTTTTTTTTT", "ACGTACGTACGTACGTACGA"]
    (tmp_path / "x.phy").write_text(" 2 30\n" + "\n".join(lines) + "\n")
    with pytest.raises(InputError, match="whose ids or blocks can be read in two ways; write it as FASTA"):
        gpualign_here("dist", tmp_path / "x.phy")


NAMED = {
    "#NEXUS\nbegin data;\nmatrix\na ACGT\n;\nend;\n": "a NEXUS file",
    "#nexus\n": "a NEXUS file",
    "# STOCKHOLM 1.0\n\na ACGT\n//\n": "an alignment in Stockholm format",
    "#mega\n!Title x;\n#a\nACGT\n": "a MEGA file",
    "PileUp\n\n MSF: 4\n": "an alignment in MSF format",
    "!!NA_MULTIPLE_ALIGNMENT 1.0\n": "an alignment in MSF format",
    "3\na 0 1 2\nb 1 0 1\nc 2 1 0\n": "a distance matrix in PHYLIP format",
    "(a:1,b:2);\n": "a tree in Newick format",
    "[&R] ((a,b),c);": "a tree in Newick format",
    "query\ttarget\tdistance\na\tb\t2\n": "a list of pairs",
    "target,query,x\na,b,2\n": "a list of pairs",
    "Query\tTarget\tDistance\na\tb\t2\n": "a list of pairs",
    "Sample1\tSample2\tDistance\tMismatches\na\tb\t2\t0.1\n": "a list of pairs",
}


@pytest.mark.parametrize("text", NAMED)
@pytest.mark.parametrize("prefix", ["", "\ufeff", "\n"])
def test_other_kinds_are_named(tmp_path, text, prefix):
    (tmp_path / "x").write_text(prefix + text)
    with pytest.raises(InputError, match=f"x is {NAMED[text]}; "):
        gpualign_here("dist", tmp_path / "x")


@pytest.mark.parametrize("command", ["nw", "cluster --max-distance 0.1", "index -o x.db"])
def test_alignments_are_named_where_sequences_are_wanted(tmp_path, rng, command):
    aligned = alignment(rng, SHORT, 20)
    calls = {
        by_biopython(aligned, "clustal"): "an alignment in CLUSTAL format",
        by_biopython(aligned, "phylip"): "an alignment in PHYLIP format",
        vcf_text("ab", [(["A", "C"], ["0/0", "0/1"])]): "VCF",
    }
    texts = {**NAMED, **{text: f"{name}; expected FASTA or FASTQ; gpualign dist reads it" for text, name in calls.items()}}
    first, *options = command.split()
    for text, name in texts.items():
        (tmp_path / "x").write_text(text)
        with pytest.raises(InputError, match=f"x is {name}") as refused:
            gpualign_here(first, tmp_path / "x", *options)
        assert "; expected FASTA or FASTQ" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (";made by x\n>a\nACGT\n>b\nACGA\n", "a line begins with ';', as comments of FASTA do; delete such lines"),
        ("\ufeff;x; y\r\n; z\r\n>a\r\nACGT\r\n>b\r\nACGA\r\n", "a line begins with ';'"),
        ("my alignment\n>a\nACGT\n>b\nACGA\n", r"line 1 \('my alignment'\) comes before the first '>', which is in line 2; delete"),
        ("\ufeff\r\na b\r\n1\r\n>a\r\nACGT\r\n>b\r\nACGA", r"line 2 \('a b'\) comes before the first '>', which is in line 4"),
        (f"x\n>a\n{'ACGT' * 100_000}\n>b\n{'ACGT' * 100_000}\n", r"line 1 \('x'\) comes before the first '>', which is in line 2"),
        (">a\n;x\nACGT\n>b\nACGA\n", "a line begins with ';'"),
        (">a\rACGT\r>b\rACGA\r", "its lines end in carriage returns alone"),
        (vcf_text("ab", [(["A", "C"], ["0/0", "0|1"])]).replace("\n", "\r"), "its lines end in carriage returns alone"),
    ],
)
def test_lines_that_are_none_of_an_alignment(tmp_path, text, reason):
    (tmp_path / "x").write_bytes(text.encode())
    with pytest.raises(InputError, match=reason):
        gpualign_here("dist", tmp_path / "x")


@pytest.mark.parametrize("listed", ["t.fa\n", "x.fa\nt.fa\n"])
def test_text_before_the_records_of_a_listed_file(tmp_path, monkeypatch, listed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.fa").write_text(">x\nACGT\n>y\nACGA\n")
    (tmp_path / "t.fa").write_text("my alignment\n>a\nACGT\n>b\nACGA\n")
    (tmp_path / "l.txt").write_text(listed)
    with pytest.raises(InputError, match=r"^t\.fa: line 1 \('my alignment'\) comes before the first '>', which is in line 2"):
        gpualign_here("dist", "@l.txt")


def test_a_table_whose_ids_begin_like_those_of_fasta(tmp_path):
    """Even if a cell is empty, so that a row holds little but an id."""
    (tmp_path / "x").write_text("id\tm1\n>x\t1\ny\t\n>z\t2\n")
    assert gpualign_here("dist", tmp_path / "x")[0].startswith(b"\t>x\ty\t>z\n>x\t0\tnan\t1\n")


def test_a_table_that_begins_like_comments_of_fasta(tmp_path):
    (tmp_path / "x").write_text(";a;b\n>x;0;1\n>y;0;2\n")
    assert gpualign_here("dist", tmp_path / "x")[0] == b"\t>x\t>y\n>x\t0\t1\n>y\t1\t0\n"


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
@pytest.mark.parametrize("name", [">b", "(A)1", "@c", "#d", "[e]", "'94-C", '"f', "CLUSTAL", "%g"])
def test_ids_that_begin_as_another_kind_does(tmp_path, delimiter, name):
    """In the header, or as the first id of a table without one."""
    quoted = '"' + name.replace('"', '""') + '"' if '"' in name and delimiter != "\t" else name
    rows = [[quoted, "0", "1", "2"], ["y", "1", "1", "2"], ["z", "2", "1", "0"]]
    (tmp_path / "x").write_text("".join(delimiter.join(row) + "\n" for row in rows))
    out, _ = gpualign_here("dist", tmp_path / "x", "--no-header")
    assert out.decode().splitlines()[0].split("\t")[1:] == [name, "y", "z"]
    turned = [["id", quoted, "y"], *([f"m{k}", *map(str, pair)] for k, pair in enumerate(np.array([[0, 1], [1, 1], [2, 0]])))]
    (tmp_path / "x").write_text("".join(delimiter.join(row) + "\n" for row in turned))
    out, _ = gpualign_here("dist", tmp_path / "x", "--transpose")
    assert out.decode().splitlines()[1].split("\t") == [name, "0", "2"]


@pytest.fixture
def text():
    pytest.importorskip("cyvcf2")
    return vcf_text("ab", [(["A", "C"], ["0/0", "0/1"])])


@pytest.mark.parametrize("start", ["##INFO=<ID=x>\n", "", "\n"])
def test_a_vcf_without_its_first_line_is_named(tmp_path, text, start):
    body = text[text.index("#CHROM") :]
    (tmp_path / "x.vcf").write_text(start + body)
    with pytest.raises(InputError, match=r"x\.vcf is VCF without its first line, ##fileformat=VCFv4\.2; put that line before it"):
        gpualign_here("dist", tmp_path / "x.vcf")


def test_a_vcf_in_quotes_is_named(tmp_path, text):
    (tmp_path / "x.vcf").write_text("".join(f'"{line}"\n' if line[:2] == "##" else f"{line}\n" for line in text.splitlines()))
    with pytest.raises(InputError, match=r"x\.vcf: line 1 is a header line in quotes, as spreadsheets write it"):
        gpualign_here("dist", tmp_path / "x.vcf")


@pytest.mark.parametrize("titles", ["sample1,sample2,sample3", "item1,item2,item3,item4", "id1,id2,id3"])
def test_samples_with_numbers_are_no_list_of_pairs(tmp_path, titles):
    """R writes no title above the ids of rows."""
    (tmp_path / "x.csv").write_text(f"{titles}\n" + "".join(f"r{k},{','.join('0121'[: titles.count(',') + 1])}\n" for k in range(4)))
    assert gpualign("dist", "x.csv", cwd=tmp_path).stdout.startswith(b"\tr0\tr1")
