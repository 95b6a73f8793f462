"""Tables of records: AIRR tables of immune receptors, and any table whose columns are named."""

import csv
import gzip
import io

import numpy as np
import pytest
from command import gpualign_here
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.files import table_pieces
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.core.sequences.record_tables import TableColumns

TITLES = ["sequence_id", "productive", "v_call", "junction_aa", "j_call"]
CELLS = st.text(alphabet="ABC*09,; ", max_size=6).map(str.strip)
SEQUENCES = st.sampled_from(["", "CASSF", "CAS*F", "CAS_F", "CASSLGF", "casrf", "NA", "None", "CA#F", "C"])
ROWS = st.lists(st.tuples(CELLS, st.sampled_from(["T", "F", "", "true", "false"]), CELLS, SEQUENCES, CELLS), min_size=1, max_size=30)


def read(text, columns=None, **options):
    return read_raw_records(io.BytesIO(text), "x.tsv", columns=columns or TableColumns(), **options)


def productive(row):
    return (
        row["productive"] not in ("F", "false")
        and row["junction_aa"] not in ("", "NA", "None")
        and not set("*_#") & set(row["junction_aa"])
    )


@settings(deadline=None)
@given(ROWS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["\t", ","]), st.integers(1, 60), st.booleans(), st.booleans())
def test_rows_are_those_of_the_csv_module(rows, line_end, delimiter, piece_bytes, blank_lines, ends):
    """Pieces of any size, blank lines, both line ends, and quotes where a comma is in a cell."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_MINIMAL)
    writer.writerow(TITLES)
    for number, (_, *cells) in enumerate(rows):
        writer.writerow([f"r{number}", *cells])
        if blank_lines and number % 3 == 0:
            text.write(line_end)
    data = text.getvalue()
    data = data if ends else data.removesuffix(line_end)
    wanted = [row for row in csv.DictReader(io.StringIO(data), delimiter=delimiter) if productive(row)]
    columns = TableColumns("sequence_id", None, ("v_call", "j_call"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_pieces, "PIECE_BYTES", piece_bytes)
        if not wanted:
            with pytest.raises(InputError, match="without any productive sequence in the column 'junction_aa'"):
                read(data.encode(), columns)
            return
        found = read(data.encode(), columns)
    assert list(found.ids) == [row["sequence_id"] for row in wanted]
    assert list(found.letters) == [row["junction_aa"] for row in wanted]
    for title in ("v_call", "j_call"):
        column = found.table.annotations[title]
        assert list(column.texts_of(np.arange(len(wanted)))) == [row[title] for row in wanted]
        assert len(set(column.values)) == len(column.values)
    assert found.table.row_count == len(rows)
    assert (found.unterminated_id is None) == (ends or data.endswith(line_end))


def airr(*rows, titles=("sequence_id", "v_call", "junction_aa"), end="\n"):
    return "".join("\t".join(row) + end for row in (titles, *rows)).encode()


@pytest.mark.parametrize(
    "word",
    [
        *("0", "0.0", "F", "no", "N", " False", "Out-of-frame", "out of frame", "OUT_OF_FRAME", "Out", "Stop", "stop codon", "None"),
        *("unproductive (see comment)", "non-functional", "nonfunctional", "FALSCH", "Faux"),
    ],
)
def test_words_for_receptors_that_are_not_productive(word):
    found = read(f"sequence_id,productive,junction_aa\na,{word},CASSF\nb,1,CASSF\nc,yes,CASTF\nd,In-frame,CASF\n".encode())
    assert list(found.ids) == ["b", "c", "d"]


@pytest.mark.parametrize("word", ["partial", "out_of_frame", "out-of-frame", "NULL", "none", "N/A", "<NA>", "-", ".", "Unresolved", "nan"])
def test_words_for_sequences_that_are_missing(word):
    found = read(f"sequence_id,junction_aa\na,{word}\nb,CASSF\nc,PARTIALLY\n".encode())
    assert list(found.ids) == ["b", "c"]


@pytest.mark.parametrize("directive", ["sep=,\n", '"sep=,"\r\n', "SEP=,,,\n"])
def test_the_line_of_excel_above_the_titles_is_no_row(directive):
    rows = directive.encode() + b"sequence_id,v_call,junction_aa\na,TRBV1,CASSF\nb,TRBV2,CASSY\n"
    found = read(rows)
    assert (list(found.ids), list(found.letters), found.table.row_count) == (["a", "b"], ["CASSF", "CASSY"], 2)
    with pytest.raises(InputError, match=r"line 5 has 2 columns, the line of titles has 3$"):
        read(rows + b"c,TRBV1\n")


def test_names_of_rows_without_a_title_are_refused():
    with pytest.raises(InputError, match=r"line 2 has 3 columns, the line of titles has 2; if R wrote row names, .*row.names = FALSE"):
        read(b"sequence_id\tjunction_aa\n1\ta\tCASSF\n")


def test_columns_are_chosen_by_title():
    table = airr(("a", "1", "CAF", "CASF"), ("b", "2", "CAR", "CASR"), titles=("sequence_id", "cdr3_aa", "cdr3", "junction_aa"))
    assert list(read(table).letters) == ["CASF", "CASR"]
    assert list(read(table, TableColumns(sequence_column="cdr3")).letters) == ["CAF", "CAR"]
    assert list(read(table, TableColumns("cdr3_aa")).ids) == ["1", "2"]
    assert list(read(table.replace(b"\t", b",")).letters) == ["CASF", "CASR"]
    ten_x = (
        b"barcode,contig_id,productive,cdr3\nAA-1,AA-1_contig_1,True,CASSF\nAA-1,AA-1_contig_2,False,CAVF\nAC-1,AC-1_contig_1,true,None\n"
    )
    found = read(ten_x, TableColumns("contig_id", "cdr3"))
    assert (list(found.ids), list(found.letters), found.table.row_count) == (["AA-1_contig_1"], ["CASSF"], 3)


AMINO_ACID_TITLES = ["junction_aa", "aaSeqCDR3", "aminoAcid", "amino_acid", "CDR3.aa", "cdr3aa", "JUNCTION (AA)", "CDR3.amino.acid"]


@pytest.mark.parametrize("title", [*AMINO_ACID_TITLES, "cdr3", "CDR3"])
def test_receptors_with_stops_are_left_out_whatever_the_title(title):
    found = read(f"id\t{title}\na\tCAS*F\nb\tCASSF\nc\tCAS_F\nd\t CASTF \ne\tCAS~F\n".encode(), TableColumns("id", title))
    assert (list(found.ids), list(found.letters), found.table.row_count) == (["b", "d"], ["CASSF", "CASTF"], 5)
    assert found.table.alphabet == ("protein" if title in AMINO_ACID_TITLES else "auto")


@pytest.mark.parametrize(
    ("title", "no"),
    [("FUNCTIONAL", "F"), ("V-DOMAIN Functionality", "unproductive (see comment)"), ("sequenceStatus", "Stop"), ("frame_type", "Out")],
)
def test_columns_that_say_what_is_productive(title, no):
    found = read(f"id\t{title}\trearrangement\na\t{no}\tACGA\nb\tIn\tACGT\n".encode(), TableColumns("id", "rearrangement"))
    assert list(found.ids) == ["b"]


def test_tables_of_amino_acids_are_proteins_whatever_their_letters(tmp_path):
    (tmp_path / "a.tsv").write_bytes(airr(("a", "", "CAG"), ("b", "", "CAT")))
    rows, told = gpualign_here("nw", "--edit", "--device", "cpu", tmp_path / "a.tsv")
    assert "protein (by the title of the column)" in told
    (tmp_path / "n.tsv").write_bytes(airr(("a", "CAGCAG"), ("b", "CAGCAT"), titles=("sequence_id", "junction")))
    assert "dna (by its letters)" in gpualign_here("nw", "--edit", "--device", "cpu", tmp_path / "n.tsv")[1]
    assert rows == b"query\ttarget\tdistance\na\tb\t1\n"


@pytest.mark.parametrize(
    ("text", "columns", "reason"),
    [
        (airr(("a", "CASF"), titles=("sequence_id", "junction_aa", "v")), None, "x.tsv: line 2 has 2 columns, the line of titles has 3"),
        (airr(("a", "V", "CASF"), ("a", "V", "CASR")), None, "records 1 and 2 have the same id 'a'"),
        (
            airr(("a", "V", ""), ("b", "V", "C"), ("", "V", "CASF")),
            None,
            "row 3 below the titles has no id: its cell of 'sequence_id' is empty",
        ),
        (airr(("a", "V", "CA!F")), None, "'!' at position 3"),
        (airr(), None, "a table without any productive sequence in the column 'junction_aa'$"),
        (airr(("a", "V", "")), None, "in the column 'junction_aa'; its only row has none"),
        (
            airr(("a", "V", "C")),
            TableColumns(None, "junktion_aa"),
            "no column is called 'junktion_aa'; there are 'sequence_id', .*did you mean",
        ),
        (airr(("a", "V", "C")), TableColumns("id"), "no column is called 'id'"),
        (airr(("a", "C", "C"), titles=("sequence_id", "junction_aa", "junction_aa")), None, "2 columns are called 'junction_aa'"),
        (b"name\tcdr3\na\tCASF\n", TableColumns(None, "cdr3"), "no column is called 'sequence_id'; name the column of ids with"),
        (b"sequence_id\tother\na\tCASF\n", TableColumns("sequence_id"), "none of the columns junction_aa, .* name the column of sequences"),
        (b"one\nCASF\n", TableColumns(None, "one"), "line 1 has one column"),
        (b"sequence_id\tjunction_aa\ra\tCASF\r", TableColumns("sequence_id"), "carriage returns alone"),
        (airr(("a", "V", "CASF")), TableColumns(same=("j_call",)), "no column is called 'j_call'"),
    ],
)
def test_refusals(text, columns, reason):
    with pytest.raises(InputError, match=reason):
        encode_all([read(text, columns)], "auto")


def test_several_and_compressed_tables_are_one_set(tmp_path):
    first, second = airr(("a", "TRBV1", "CASF"), ("x", "TRBV1", "")), airr(("b", "TRBV2", "CASR"), ("c", "TRBV1", "CASK"))
    (tmp_path / "1.tsv").write_bytes(first)
    (tmp_path / "2.tsv.gz").write_bytes(gzip.compress(second))
    (tmp_path / "list").write_text(f"{tmp_path / '1.tsv'}\n{tmp_path / '2.tsv.gz'}\n")
    rows, told = gpualign_here("nw", "--edit", "--max-distance", "1", "--same", "v_call", "--device", "cpu", f"@{tmp_path / 'list'}")
    assert rows == b"query\ttarget\tdistance\na\tc\t1\n"
    assert "1.tsv: a table; 1 sequence of the column junction_aa; left out 1 of 2 rows" in told


def test_tables_of_nucleotides_and_amino_acids_are_not_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "aa.tsv").write_bytes(airr(("a", "TRBV1", "CASF"), ("b", "TRBV1", "CASR")))
    (tmp_path / "nt.tsv").write_bytes(airr(("c", "TRBV1", "TGTGCCTTT"), titles=("sequence_id", "v_call", "junction")))
    (tmp_path / "list").write_text("nt.tsv\naa.tsv\n")
    reason = "^nt.tsv: the column junction holds nucleotides, and junction_aa of aa.tsv amino acids; .*--alphabet protein"
    for words in (["nw", "aa.tsv", "nt.tsv"], ["nw", "@list"], ["cluster", "@list", "--max-distance", "1"]):
        with pytest.raises(InputError, match=reason):
            gpualign_here(*words, "--edit")
    assert b"a\tc\t" in gpualign_here("nw", "--edit", "aa.tsv", "nt.tsv", "--alphabet", "protein", "--device", "cpu")[0]
