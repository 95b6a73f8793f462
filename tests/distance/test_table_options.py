"""Options that say what a table holds and which of it is read, through the command."""

import os

import numpy as np
import pytest
from command import gpualign_here

import gpualign
from gpualign.core.common.errors import InputError

GENOTYPES = "id\ta\tb\tc\tyear\ns1\t0\t1\t2\t2001\ns2\t2\t1\t0\t2001\ns3\t-1\t0\t0\t2003\n"
LETTERS = "id\ta\tb\tc\ns1\tA\tC\tG\ns2\tA\tT\tE\ns3\tA\tC\tQ\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.tsv").write_text(GENOTYPES)
    (tmp_path / "l.tsv").write_text(LETTERS)
    return tmp_path


def rows(*arguments):
    """Rows of numbers of the matrix that `dist` writes."""
    out = gpualign_here("dist", *arguments)[0]
    return [list(map(float, line.split("\t")[1:])) for line in out.decode().splitlines()[1:]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("g.tsv --type abh", "--type abh is for letters, but the cells are numbers"),
        ("g.tsv --all-letters", "--all-letters is for alignments and tables of letters"),
        ("l.tsv --type centred", "--type centred is for numbers, but the cells are letters"),
        ("l.tsv --ploidy 4", "--ploidy is for numbers, but the cells are letters"),
        ("l.tsv --ploidy 4 --type alleles", "--ploidy is for dosages, not for --type alleles"),
        ("l.tsv --ploidy 4 --all-letters", "--all-letters is for letters, not for dosages"),
        ("g.tsv --ploidy 9", "--ploidy: expected a whole number from 1 to 8, found 9|9 is not in the range"),
        ("g.tsv --ploidy 1", r"'2' in a table of genotypes; expected 0, 1"),
        ("large.tsv --ploidy 4", r"'12' in a table of genotypes; expected 0, 1, 2, 3, 4, or"),
        ("l.tsv", "the letters E, Q are not nucleotides"),
        ("l.tsv --missing-code E", "the letter Q is not a nucleotide"),
        ("g.tsv --columns a,d", "--columns: there is no column 'd'"),
        ("g.tsv --ignore-columns a,b,c", "none of the columns"),
        ("g.tsv --columns a --ignore-columns a", "none of the columns"),
        ("raw --type alleles", "--type alleles"),
    ],
)
def test_options_that_do_not_fit(here, words, message):
    (here / "large.tsv").write_text("id\ta\tb\ns1\t0\t12\ns2\t3\t1\n")
    (here / "raw").write_text("FID IID PAT MAT SEX PHENOTYPE rs1_A\nF1 a 0 0 1 -9 0\nF2 b 0 0 1 -9 2\n")
    with pytest.raises(InputError, match=message):
        rows(*words.split())


def test_calls_that_are_said_to_be_genotypes(here):
    (here / "x.tsv").write_text("id\ta\tb\ns1\t-1\t1\ns2\t0\t1\ns3\t1\t0\n")
    assert rows("x.tsv") == [[0, 1, 2], [1, 0, 2], [2, 2, 0]]
    assert rows("x.tsv", "--type", "centred") == rows("x.tsv")
    assert rows("x.tsv", "--type", "calls") == rows("x.tsv", "--missing-code", "-1") == [[0, 0, 1], [0, 0, 2], [1, 2, 0]]
    (here / "x.tsv").write_text("id\ta\tb\ns1\t9\t1\ns2\t0\t1\ns3\t2\t0\n")
    assert rows("x.tsv", "--missing-code", "9") == rows("x.tsv") == [[0, 0, 1], [0, 0, 2], [1, 2, 0]]
    with pytest.raises(InputError, match="'9' in a table of genotypes"):
        rows("x.tsv", "--type", "calls")


def test_codes_of_missing_calls(here):
    (here / "x.tsv").write_text("id\ta\tb\tc\ns1\tXX\t1\t2\ns2\t0\tQQ\t2\ns3\t2\t0\t0\n")
    with pytest.raises(InputError, match="'XX' in a table of"):
        rows("x.tsv")
    for code in ("XX,QQ", "XX, QQ", '"XX",QQ'):
        assert rows("x.tsv", "--missing-code", code.replace('"', "")) == [[0, 0, 2], [0, 0, 2], [2, 2, 0]]
    (here / "l.tsv").write_text(LETTERS)
    assert rows("l.tsv", "--missing-code", "E,Q") == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_a_missing_code_is_text(here):
    (here / "l.tsv").write_text(LETTERS)
    with pytest.raises(InputError, match=r"--missing-code: '\\udcff' is not UTF-8"):
        rows("l.tsv", "--missing-code", os.fsdecode(b"\xff"))


def test_a_table_without_a_header(here):
    text = "s1\t0\t1\t2\ns2\t2\t1\t0\n"
    (here / "x.tsv").write_text(text)
    with pytest.raises(InputError, match="use --no-header"):
        rows("x.tsv")
    assert rows("x.tsv", "--no-header") == [[0, 2], [2, 0]]
    assert rows("x.tsv", "x.tsv", "--no-header") == [[0, 2], [2, 0]]
    out = gpualign_here("dist", "x.tsv", "--no-header", "--transpose")[0].decode()
    assert out == "\t1\t2\t3\n1\t0\t2\t2\n2\t2\t0\t2\n3\t2\t2\t0\n"


@pytest.mark.parametrize("words", ["--no-header", "--no-header --transpose"])
def test_a_delimiter_at_the_end_of_rows_without_a_header(here, words):
    (here / "x.csv").write_text("m1,0,1,\nm2,1,1,\n")
    (here / "y.csv").write_text("m1,0,1\nm2,1,1\n")
    found, messages = gpualign_here("dist", "x.csv", *words.split())
    assert found == gpualign_here("dist", "y.csv", *words.split())[0]
    assert "1 empty column left out" in messages


def test_the_table_that_decides_is_named(here):
    (here / "x.tsv").write_text("id\ta\tb\ns1\t0\t1\n")
    (here / "y.tsv").write_text("id\ta\tb\ns2\t-1\t1\n")
    for names in (("x.tsv", "y.tsv"), ("y.tsv", "x.tsv")):
        assert "y.tsv: -1 is read as a genotype" in gpualign_here("dist", *names)[1]


@pytest.mark.parametrize("order", [("good.tsv", "bad.tsv"), ("bad.tsv", "good.tsv")])
def test_the_table_at_fault_is_named(here, order):
    (here / "good.tsv").write_text("id\ta\tb\ns1\t0\t1\ns2\t2\t1\n")
    (here / "bad.tsv").write_text("id\ta\tb\nt1\t0\t4\nt2\t2\t1\n")
    with pytest.raises(InputError, match=r"^bad\.tsv: numbers from 0 to 4 may be alleles"):
        rows(*order)


@pytest.mark.parametrize("order", [("centred", "counted"), ("counted", "centred")])
def test_genotypes_that_two_tables_may_write_in_two_ways(here, order):
    (here / "centred").write_text("id,m1,m2,m3\nX,-1,0,1\nY,0,1,-1\n")
    (here / "counted").write_text("id,m1,m2,m3\nP,0,1,2\nQ,2,1,0\n")
    with pytest.raises(InputError, match=r"^centred: -1 may be a genotype, as there is no 2, but genotypes of counted are 0, 1 and 2"):
        rows(*order)
    assert len(rows(*order, "--missing-code", "-1")) == 2
    (here / "counted").write_text("id,m1,m2,m3\nP,0,-1,2\nQ,2,1,0\n")  # -1 is missing there, and so in both
    assert len(rows(*order)) == 2
    with pytest.raises(InputError, match="-1 without a 2 may be a genotype"):
        gpualign.dist(np.array([[0, 1, 2], [2, 1, 0]]), np.array([[-1, 0, 1], [0, 1, -1]]))


def test_parents_beside_individuals_are_left_out(here):
    (here / "x.tsv").write_text("#IID PAT MAT SEX PHENOTYPE rs1 rs2\na 0 0 1 1 0 1\nb 0 0 2 2 0 1\nc a b 1 1 2 1\n")
    assert rows("x.tsv") == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert "columns 'PAT', 'MAT', 'SEX', 'PHENOTYPE' are left out as metadata" in gpualign_here("dist", "x.tsv")[1]


@pytest.mark.parametrize(
    "header",
    [
        "#[1]CHROM\t[2]POS\t[3]A:GT\t[4]B:GT\t[5]C:GT",
        "# [1]CHROM\t[2]AC\t[3]A:GT\t[4]B:GT\t[5]C:GT",
        "#CHROM\tPOS\tA\tB\tC",
    ],
)
def test_samples_of_bcftools_query(here, header):
    (here / "x.tsv").write_text(f"{header}\nc1\t1034\t0\t1\t1\nc1\t2045\t0\t0\t1\nc1\t30456\t1\t0\t1\nc1\t41233\t.\t0\t1\n")
    table, _ = gpualign_here("dist", "x.tsv", "--transpose")
    assert table == b"\tA\tB\tC\nA\t0\t2\t2\nB\t2\t0\t3\nC\t2\t3\t0\n"
    assert rows("x.tsv", "--transpose", "--columns", "B,C") == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("header", "left_out"),
    [
        ("id,a,b,X", "column 'X' is"),
        ("id,a,V3,b", "column 'V3' is"),
        ("id,Spalte1,Spalte2,b", None),
        ("id,Column1,a,X", "columns 'Column1', 'X' are"),
        ("id,a,Xa,b", None),
    ],
)
@pytest.mark.parametrize("cells", [("1", "12", "13"), ("0", "1", "2"), ("A", "C", "T")])
def test_columns_without_a_title_or_a_call(here, header, left_out, cells):
    empty = {"X", "V3", "Column1", "Spalte2", "Xa"}
    titles = header.split(",")[1:]
    full = [title for title in titles if title not in empty]
    calls = [dict(zip(full, cells[:1] + cells[k : k + 1], strict=False)) for k in (1, 2)]
    lines = [",".join([name, *(own.get(title, "NA") for title in titles)]) for name, own in zip("AB", calls, strict=True)]
    (here / "x.csv").write_text("\n".join([header, *lines]) + "\n")
    table, notes = gpualign_here("dist", "x.csv", "--metric", "fraction", "--missing", "as-difference")
    assert ("programs give" in notes) is (left_out is not None)
    assert left_out is None or f"{left_out} left out: without a call" in notes
    sites = len(full) if left_out else len(titles)
    assert f"{sites} site{'s'[: sites != 1]}" in notes
    assert len(table.splitlines()) == 3
    assert "programs give" not in gpualign_here("dist", "x.csv", "--columns", ",".join(titles))[1]


@pytest.mark.parametrize("gap", [",,", ""])
def test_rows_below_the_table_are_left_out(here, gap):
    (here / "x.csv").write_text(f'id,a,b\n\nE,,\nA,1,12\n{gap}\nB,1,13\n{gap}\n"Exported 2024",,\nby X\n')
    table, notes = gpualign_here("dist", "x.csv")
    assert table.decode().splitlines()[0] == "\tE\tA\tB"
    assert "rows 'Exported 2024', 'by X' below an empty row are left out, as all other cells are empty" in notes


@pytest.mark.parametrize(("name", "is_told"), [("Total", True), ("GRAND TOTAL", True), ("Average:", True), ("Totalis", False)])
def test_a_row_of_totals_is_told(here, name, is_told):
    (here / "x.csv").write_text(f"id,a,b\nTotal1,1,12\nB,1,13\n{name},2,25\n")
    assert (f"x.csv: the last row, {name!r}, is read as a sample; delete it" in gpualign_here("dist", "x.csv")[1]) is is_told


@pytest.mark.parametrize("titles", ["t250 t100 t0", "PLOT3 EXC INF PLOT5", "Rep Block", "MST-7x1.0 MST-8x1.0", "Année"])
def test_columns_that_are_no_loci(here, titles):
    titles = titles.split()
    lines = ["id\t{}\tL1\tL2\n", "A\t{}\t1\t12\n", "B\t{}\t1\t13\n"]
    cells = [titles, ["1"] * len(titles), ["2"] * len(titles)]
    (here / "x.tsv").write_text("".join(line.format("\t".join(some)) for line, some in zip(lines, cells, strict=True)))
    _, notes = gpualign_here("dist", "x.tsv")
    assert f"{', '.join(map(repr, titles))} {'is' if len(titles) == 1 else 'are'} left out as metadata" in notes
    assert rows("x.tsv") == [[0, 1], [1, 0]]


@pytest.mark.parametrize("header", ["FID,IID", "fid,iid", "#FID,IID", "#FID,IID,SEX,PHENO1", "FID,IID,PAT,MAT"])
@pytest.mark.parametrize(
    ("families", "people", "names"),
    [("1 2 3", "NA1 NA2 NA3", "NA1 NA2 NA3"), ("0 0 0", "NA1 NA2 NA3", "NA1 NA2 NA3"), ("f g g", "x x y", "f_x g_x g_y")],
)
def test_samples_are_named_by_individuals(here, header, families, people, names):
    more = ",0" * (header.count(",") - 1)
    some = zip(families.split(), people.split(), ("0,1", "0,2", "2,2"), strict=True)
    (here / "x.csv").write_text(f"{header},rs1_A,rs2_C\n" + "".join(f"{family},{one}{more},{cells}\n" for family, one, cells in some))
    table, notes = gpualign_here("dist", "x.csv")
    assert table.decode().splitlines()[0].split() == names.split()
    assert rows("x.csv") == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert "IID" not in notes


def test_ids_may_be_named_among_the_columns(here):
    (here / "x.csv").write_text("FID,IID,rs1\na,0,1\nb,1,1\n")
    assert rows("x.csv", "--columns", "IID,rs1") == rows("x.csv", "--columns", "FID,rs1") == rows("x.csv", "--columns", "rs1")
    assert rows("g.tsv", "--columns", "id,b") == rows("g.tsv", "--columns", "b")
    for words in (["--ignore-columns", "id"], ["--columns", "ID,a"]):
        with pytest.raises(InputError, match=r"there is no column '(id|ID)'"):
            rows("g.tsv", *words)
    with pytest.raises(InputError, match="none of the columns"):
        rows("g.tsv", "--columns", "id")


@pytest.mark.parametrize("text", ["id,a,\u00a0\nA,1,\u00a0\nB,12,\n\u00a0,,\u00a0\n", 'id,a,\nA,"1\u00a0",\nB,\u00a012,"\u00a0"\n'])
def test_no_break_spaces_are_blanks(here, text):
    (here / "x.csv").write_text(text)
    assert rows("x.csv") == [[0, 1], [1, 0]]
    assert "1 empty column" in gpualign_here("dist", "x.csv")[1]


def test_no_break_spaces_in_ids_are_kept(here):
    (here / "x.csv").write_text("id,a,b\nA\u00a0x,1,12\nB,2,13\n")
    assert gpualign_here("dist", "x.csv")[0].decode().splitlines()[0] == "\tA\u00a0x\tB"


@pytest.mark.parametrize("title", ["FILE", "id", "sample"])
@pytest.mark.parametrize(("corner", "names"), [("", "01"), ('""', "12"), ("Unnamed: 0", "01")])
def test_an_index_before_the_ids_is_left_out(here, title, corner, names):
    """pandas and R write the numbers of the rows as the first column by default."""
    (here / "x.csv").write_text(f"{corner},{title},L1,L2\n{names[0]},A,1,12\n{names[1]},B,1,13\n")
    table, notes = gpualign_here("dist", "x.csv", "--type", "alleles")
    assert table.decode().splitlines() == ["\tA\tB", "A\t0\t1", "B\t1\t0"]
    assert "left out" not in notes


@pytest.mark.parametrize("columns", ["L1,L2", "FILE,L1,L2"])
def test_an_index_before_the_ids_is_left_out_beside_chosen_columns(here, columns):
    (here / "x.csv").write_text(",FILE,L1,L2,other\n0,A,1,12,x\n1,B,1,13,y\n")
    table, _ = gpualign_here("dist", "x.csv", "--type", "alleles", "--columns", columns)
    assert table.decode().splitlines() == ["\tA\tB", "A\t0\t1", "B\t1\t0"]
    with pytest.raises(InputError, match=r"x\.csv: no column but that of the ids"):
        rows("x.csv", "--columns", "FILE")


def test_names_of_rows_are_kept_beside_other_ids(here):
    (here / "x.csv").write_text(",FILE,L1,L2\nx,A,1,12\ny,B,1,13\n")
    table, notes = gpualign_here("dist", "x.csv", "--type", "alleles")
    assert table.decode().splitlines()[0] == "\tx\ty"
    assert "column 'FILE' is left out" in notes


def test_sites_of_one_name_are_told(here):
    (here / "x.tsv").write_text("id\tL1\tL2\tL1\nA\t1\t2\t1\nB\t3\t2\t3\nC\t11\t12\t11\n")
    (here / "rows.tsv").write_text("id\tA\tB\tC\nL1\t1\t3\t11\nL2\t2\t2\t12\nL1\t1\t3\t11\n")
    for words in (["x.tsv"], ["rows.tsv", "--transpose"]):
        table, notes = gpualign_here("dist", *words, "--type", "alleles")
        assert table.splitlines()[1] == b"A\t0\t2\t3"
        assert f"{words[0]}: several sites are called 'L1'; each of them counts" in notes
    assert "several" not in gpualign_here("dist", "x.tsv", "--type", "alleles", "--columns", "L2")[1]


SITES = {
    "counted.traw": "CHR\tSNP\t(C)M\tPOS\tCOUNTED\tALT\t{}\n1\trs1\t0\t{}\t{}\t{}\t0\t2\n1\trs2\t0\t20\tC\tT\t1\t0\n",
    "alleles.tsv": "id\tA1\tA2\tchrom\tpos\t{}\nrs1\t{1[1]}\t{1[2]}\t1\t{1[0]}\t0\t2\nrs2\tC\tT\t1\t20\t1\t0\n",
    "places.tsv": "#CHROM\tPOS\tREF\tALT\t{}\n1\t{}\t{}\t{}\t0\t2\n1\t20\tC\tT\t1\t0\n",
}
OLD_SITE = ("10", "A", "G")


@pytest.mark.parametrize("name", SITES)
@pytest.mark.parametrize(
    ("site", "is_same"), [(OLD_SITE, True), (("10", "0", "G"), True), (("10", "G", "A"), False), (("30", "A", "G"), None)]
)
def test_two_tables_count_the_same_allele_at_the_same_place(here, name, site, is_same):
    """Genotypes count one of two alleles. Where ids repeat, as chromosomes do, places tell sites apart."""

    def write(path, samples, place):
        text = SITES[name].replace("{1[0]}", place[0]).replace("{1[1]}", place[1]).replace("{1[2]}", place[2])
        (here / path).write_text(text.format(samples, *place))

    write("old", "s1\ts2", OLD_SITE)
    write("new", "s3\ts4", site)
    transpose = [] if name.endswith(".traw") else ["--transpose"]
    gpualign_here("index", "old", "-o", "old.gps", *transpose)
    for words in (["dist", "new", "old", *transpose], ["dist", "new", "old.gps"], ["index", "new", "--append", "old.gps"]):
        if is_same or (is_same is None and name != "places.tsv"):
            assert "several sites" not in gpualign_here(*words)[1]
        else:
            with pytest.raises(InputError, match=r"site 1 is .*; sites and alleles must be the same"):
                gpualign_here(*words)


def test_a_table_of_samples_beside_one_of_sites(here):
    """PLINK's .traw has a row per site without --transpose, which does not turn the other table."""
    (here / "old.traw").write_text("CHR\tSNP\t(C)M\tPOS\tCOUNTED\tALT\tA\tB\n1\trs1\t0\t1\tA\tG\t0\t2\n1\trs2\t0\t2\tC\tT\t1\t1\n")
    (here / "new.tsv").write_text("id\trs1\trs2\nX\t0\t2\n")
    (here / "new.raw").write_text("FID\tIID\tPAT\tMAT\tSEX\tPHENOTYPE\trs1_A\trs2_C\nF\tX\t0\t0\t1\t-9\t0\t2\n")
    assert rows("new.tsv", "old.traw", "--metric", "allele") == [[1, 3]]
    assert rows("old.traw", "new.tsv", "--metric", "allele") == [[1], [3]]
    with pytest.raises(InputError, match=r"old\.traw: site 1 is 'rs1' G/A, in new\.raw it is 'rs1_A'"):
        rows("new.raw", "old.traw")


def test_a_column_to_leave_out_may_be_in_one_table_only(here):
    (here / "old.tsv").write_text("id\tL1\tL2\tRun\nA\t1\t12\t7\n")
    (here / "new.tsv").write_text("id\tL1\tL2\nB\t1\t13\n")
    for words in ("new.tsv old.tsv", "old.tsv new.tsv"):
        assert rows(*words.split(), "--ignore-columns", "Run") == [[1]]
        with pytest.raises(InputError, match=r"--ignore-columns: there is no column 'Ran'"):
            rows(*words.split(), "--ignore-columns", "Ran")
    gpualign_here("index", "old.tsv", "--ignore-columns", "Run", "-o", "old.gps")
    assert rows("new.tsv", "old.gps") == [[1]]
    gpualign_here("index", "new.tsv", "--append", "old.gps")
    assert rows("old.gps") == [[0, 1], [1, 0]]


def test_numbers_of_both_tables_decide_which_columns_may_be_sites(here):
    (here / "small.tsv").write_text("id\tL1\tL2\tL3\nC\t0\t1\t0\nD\t2\t0\t1\n")
    (here / "large.tsv").write_text("id\tL1\tL2\tL3\nE\t1\t12\t1\nF\t2\t14\t2\n")
    with pytest.raises(InputError, match="or a genotype, as columns other than 'L2' have only 0, 1 and 2"):
        rows("small.tsv", "large.tsv")


@pytest.mark.parametrize("word", ["#N/A", "#NV", "#N/D", "#N/B"])
@pytest.mark.parametrize("cells", ["012", "ACT"])
def test_words_of_spreadsheets_are_missing_calls(here, word, cells):
    a, b, c = cells
    (here / "x.tsv").write_text(f"id\tm1\tm2\nA\t{word}\t{a}\nB\t{b}\t{word}\nC\t{c}\t{b}\n")
    assert np.array_equal(rows("x.tsv"), [[0, np.nan, 1], [np.nan, 0, 1], [1, 1, 0]], equal_nan=True)


@pytest.mark.parametrize("word", ["#N/A", "<NA>", "NA", "None", "#NV", "#N/D", "#n/b", "LOT", "NIPL", "? (not found)", "? (failed)"])
def test_words_of_spreadsheets_are_missing_alleles(here, word):
    (here / "x.tsv").write_text(f"FILE\tL1\tL2\nA\t12\t{word}\nB\t14\t7\nC\t14\t8\n")
    assert rows("x.tsv") == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_columns_are_chosen(here):
    (here / "titles").write_text("a\r\n\nyear\n")
    (here / "x.tsv").write_text(GENOTYPES.replace("2001", "1").replace("2003", "2"))
    everything = rows("x.tsv", "--columns", "a,b,c,year")
    assert rows("x.tsv") == rows("x.tsv", "--ignore-columns", "year") == [[0, 2, 2], [2, 0, 1], [2, 1, 0]]
    assert everything == [[0, 2, 3], [2, 0, 2], [3, 2, 0]]
    assert rows("x.tsv", "--columns", "titles") == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert rows("x.tsv", "--ignore-columns", "titles") == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    (here / "titles").write_text("\n\n")
    with pytest.raises(InputError, match="titles: no titles; expected one per line"):
        rows("x.tsv", "--columns", "titles")


def test_shards_with_titles_in_a_file(here):
    (here / "titles").write_text("a\nb\n")
    for k in (1, 2):
        gpualign_here("dist", "g.tsv", "--columns", "titles", "--shard", f"{k}/2", "-o", "m.tsv")
    parts = [f"m.tsv.{k}-of-2.part" for k in (1, 2)]
    gpualign_here("merge", *parts, "-o", "merged.tsv")
    assert (here / "merged.tsv").read_bytes() == gpualign_here("dist", "g.tsv", "--columns", "titles")[0]
    (here / "titles").write_text("b\nc\n")
    gpualign_here("dist", "g.tsv", "--columns", "titles", "--shard", "2/2", "-o", "m.tsv")
    with pytest.raises(InputError, match="2-of-2"):
        gpualign_here("merge", *parts, "-o", "merged.tsv")
    with pytest.raises(InputError, match="titles"):
        gpualign_here("dist", "g.tsv", "--columns", "titles", "-o", "titles", "--format", "tsv")
