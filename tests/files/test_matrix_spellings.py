"""Matrices in text, as programs write them: each is read as what it is, or refused."""

import gzip
import re
import time

import numpy as np
import pytest
from command import gpualign
from fuzz.matrices import IDS, LAYOUTS, matrix, spellings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualign.cli.inputs.distance_matrices import read_matrix
from gpualign.cli.inputs.pair_lists import read_pair_list
from gpualign.core.common.errors import InputError


def check(path, one):
    """What is wrong with how a spelling is read, or None."""
    path.write_bytes(one.text)
    try:
        found = read_matrix(str(path))
    except InputError as error:
        return f"{one.name}: refused ({error})" if one.certain else None
    ids = one.ids or [str(k) for k in range(1, len(one.values) + 1)]
    right = found.one_set and found.row_ids == found.column_ids == ids and np.allclose(found.values, one.values)
    if right and bool(found.notes) != (one.ids is None or "alone" in one.name):
        return f"{one.name}: said {found.notes}"
    return None if right else f"{one.name}: {found.row_ids}, {found.column_ids}, {found.values.tolist()}"


def of_layout(layout, values):
    return spellings(values, [layout])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("integers", [True, False])
def test_every_spelling(tmp_path, rng, layout, integers):
    values = matrix(int(rng.integers(1 << 30)), 4, integers)
    wrong = [fault for one in of_layout(layout, values) if (fault := check(tmp_path / "m", one))]
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [2, 3])
def test_few_records_and_records_that_are_equal(tmp_path, monkeypatch, layout, count):
    monkeypatch.setattr("fuzz.matrices.IDS", {kind: ids[:count] for kind, ids in IDS.items()})
    star = np.zeros((count, count))
    star[0, 1:] = star[1:, 0] = 1
    for values in (star, 1 - np.eye(count))[: count - 1]:  # of two records they are the same
        wrong = [fault for one in of_layout(layout, values) if (fault := check(tmp_path / "m", one))]
        assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5\t7\n2\t9\n", "line 1 has only numbers, and is neither a header of ids nor a row of a square matrix"),
        ("A\t5.5\t7\nB\t2\t9\n", "line 1 is 'A' and numbers, a header or a row of values; expected a matrix"),
        ("\tA\tB\nA\t0\t0,5\nB\t0,5\t0\n", "line 2: expected a number, found '0,5'; write a point in decimals"),
        (
            ',A,B\nA,0,"1,234"\nB,"1,234",0\n',
            "found '1,234', which may be 1234 with commas between thousands or a decimal; write 1234, or 1.234",
        ),
        (',A,B\nA,0,"1,234.5"\nB,"1,234.5",0\n', "found '1,234.5', which may be 1234.5 with commas between thousands; write 1234.5"),
        (";A;B\nA;0;1.234,5\nB;1.234,5;0\n", "found '1.234,5', which may be 1234.5 with points between thousands; write 1234.5"),
        (";A;B\nA;0;1.234.567\nB;1.234.567;0\n", "found '1.234.567', which may be 1234567 with points between thousands; write 1234567"),
        ("# x\n# y\n\n\tA\tB\nA\t0\t5\nB\tx\t0\n", "line 6: expected a number, found 'x'"),
        ("#\tA\tB\nA\t0\t5\nB\tx\t0\n", "line 3: expected a number, found 'x'"),
        ("2\nA 0 0,5\nB 0,5 0\n", "line 2: expected a number, found '0,5'; write a point in decimals"),
        (
            "  a b c\nb 5\nc 7 9\nd 1 2 3\ne 1 2 3\n  d\ne 4\n",
            "line 2 has one value, as where R prints a dist; write it with write.csv(as.matrix(...))",
        ),
        ("0.0\n0\t0\n", "a triangle with or without its diagonal"),
        ("00101\n00102\t5\n0103\t7\t9\n", "line 1 says '00101' records, but 2 follow"),
        ("101\t0\n102\t33\t0\n", "line 1 may be a header of ids that are numbers, or a row"),
        ("1\n7 0\n", "either one record with the id '7', or a triangle of values"),
        ("3\nA 0 5 9\nB 5 0 7\nA 9 7 0\n", "records 1 and 3 have the same id 'A'; make ids unique"),
        ("3\nA 0 5\n9\nB 5 0 7\nA 9 7 0\n", "records 1 and 3 have the same id 'A'; make ids unique"),
        ("3\nA\nB 1\nC 2 3 4\n", "line 4 has 3 values; expected 2, as this row of a triangle has"),
        ("3\nA 0 1 2\nB 1 0\nC 2 3 0\n", "line 3 has 2 values; expected 3, as each row of a square has"),
        ("2\nA 0 x\nB x 0\n", "line 2: expected a number, found 'x'"),
        ("2 4\nA ACGT\nB ACGA\n", "is an alignment in PHYLIP format; make a matrix first: gpualign dist m"),
        ("CLUSTAL W\n\nA ACGT\nB ACGA\n", "is an alignment in CLUSTAL format; make a matrix first: gpualign dist m"),
        ("#NEXUS\nbegin distances;\n", "is a NEXUS file; expected a matrix"),
        ("# STOCKHOLM 1.0\nA ACGT\n", "is an alignment in Stockholm format; expected a matrix"),
        ("[&R] (a:1,\nb:2);\n", "is a tree; expected a matrix"),
        (">a\nACGT\n", "is FASTA; make a matrix first"),
        ('"query";"target";"distance"\n1;2;7\n', "is a list of pairs; expected a matrix"),
        ("a\ta\t0\na\tb\t7\nb\ta\t7\nb\tb\t0\n", "is a list of pairs; expected a matrix"),
        ("a.fa,b.fa,0.01,0,900/1000\na.fa,c.fa,0.02,0,800/1000\n", "is a list of pairs; expected a matrix"),
    ],
)
def test_refusals(tmp_path, monkeypatch, text, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").write_text(text)
    with pytest.raises(InputError) as error:
        read_matrix("m")
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("text", "ids", "values"),
    [
        ("3\nMouse 1\nRat 2 0.5\nHuman 3 0.6 0.7\n", ["Mouse 1", "Rat 2", "Human 3"], [0.5, 0.6, 0.7]),
        ("3\nMouse 1 0.5 0.6\nRat 2 0.7\nHuman 3\n", ["Mouse 1", "Rat 2", "Human 3"], [0.5, 0.6, 0.7]),
        ("3\nAlpha12345 0 1 2\nBeta 12345 1 0 3\nGamma      2 3 0\n", ["Alpha12345", "Beta 12345", "Gamma"], [1, 2, 3]),
        ("3\nAlpha12345\nBeta 12345 1\nBeta 123   2 3\n", ["Alpha12345", "Beta 12345", "Beta 123"], [1, 2, 3]),
        ("3\nStrain 1\nStrain 2\t0.1\nStrain 3\t0.2\t0.3\n", ["Strain 1", "Strain 2", "Strain 3"], [0.1, 0.2, 0.3]),
        ("2\nStrain 1 0 1.1\nStrain 2 1.1 0", ["Strain 1", "Strain 2"], [1.1]),
        ('3\n"A" 0 5 9\n"B" 5 0 7\n"C" 9 7 0\n', ["A", "B", "C"], [5, 9, 7]),
        ('3\n"A x"\t0\t5\n9\n"B 2" 5 0 7\n"C ""d""" 9 7 0\n', ["A x", "B 2", 'C "d"'], [5, 9, 7]),
        ('2\n"A" 0 5\nB 5 0\n', ['"A"', "B"], [5]),
        ("X,1E4,2E4\n1E4,0,5\n2E4,5,0", ["1E4", "2E4"], [5]),
        ("id,-1,-2\n-1,0,3\n-2,3,0", ["-1", "-2"], [3]),
        ("\tquery\ttarget\nquery\t0\t3\ntarget\t3\t0\n", ["query", "target"], [3]),
        ("a b c\n\na 0 1 2\nb 1 0 3\nc 2 3 0\n", ["a", "b", "c"], [1, 2, 3]),
        ('"a" "b" "c"\n"a" 0\n"b" 1 0\n"c" 2 3 0', ["a", "b", "c"], [1, 2, 3]),
        (",a,b,c\na,0,1,\nb,1,0,2\nc,,2,0", ["a", "b", "c"], [1, np.nan, 2]),
        ("\ta\tb\na\t2.2e-16\t1\nb\t1\t0\n", ["a", "b"], [1]),
        ("\ta\tb\na\t0\t0\nb\t1e-17\t0\n", ["a", "b"], [0]),
        ("0 0 0\n1 0 0\n2 3 0\n", ["1", "2", "3"], [1, 2, 3]),
        ("\ta\tb\tc\na\t0\t0\t0\nb\t1\t0\t0\nc\t2\t3\t0\n", ["a", "b", "c"], [1, 2, 3]),
        ("0 12 7\n12 0 9\n7 9 0\n", ["1", "2", "3"], [12, 7, 9]),
        (",1,2\n1,0,5\n2,5,0", ["1", "2"], [5]),
        ('"","id","a","b"\n"1","a",0,5\n"2","b",5,0\n', ["a", "b"], [5]),
        (",sample,a,b\n0,a,0,5\n1,b,5,0\n", ["a", "b"], [5]),
        ("Unnamed: 0\tid\ta\tb\tc\n0\ta\t\t\t\n1\tb\t5\t\t\n2\tc\t7\t9\t\n", ["a", "b", "c"], [5, 7, 9]),
        ('"id" "a" "b"\n"1" "a" 0 5\n"2" "b" 5 0\n', ["a", "b"], [5]),
        ("sample1 sample2 sample3\nsample1 0 5 7\nsample2 5 0 9\nsample3 7 9 0\n", ["sample1", "sample2", "sample3"], [5, 7, 9]),
        (",id,101,102\n0,101,0,5\n1,102,5,0\n", ["101", "102"], [5]),
        ("# a,b,c\n0,5,7\n5,0,9\n7,9,0\n", ["a", "b", "c"], [5, 7, 9]),
        ("# a\tb\n0\t5\n5\t0\n", ["a", "b"], [5]),
        ("# a b c\n0 5 7\n5 0 9\n7 9 0\n", ["a", "b", "c"], [5, 7, 9]),
        ("# 7 8\n0 5\n5 0\n", ["7", "8"], [5]),
        ("# a b\na 0 5\nb 5 0\n", ["a", "b"], [5]),
        ("# SNP distances\n\ta\tb\na\t0\t5\nb\t5\t0\n", ["a", "b"], [5]),
        ("\ufeff# made by x, y\n#\n\n,a,b\na,0,5\nb,5,0\n", ["a", "b"], [5]),
        ("# made by x\na b c\na 0 5 7\nb 5 0 9\nc 7 9 0\n", ["a", "b", "c"], [5, 7, 9]),
        ("# made\n2\na 0 5\nb 5 0\n", ["a", "b"], [5]),
        ("#\ta\tb\na\t0\t5\nb\t5\t0\n", ["a", "b"], [5]),
        ("a\nb\t5\nc\t7\t9\n", ["a", "b", "c"], [5, 7, 9]),
        ("a,\nb,5,\nc,7,9,\n", ["a", "b", "c"], [5, 7, 9]),
        ("a;;;\nb;5;;\nc;7;9;\n", ["a", "b", "c"], [5, 7, 9]),
        ("  a b\nb 5  \nc 7 9\n", ["a", "b", "c"], [5, 7, 9]),
        ("  1 2\n2 5  \n3 7 9\n", ["1", "2", "3"], [5, 7, 9]),
        ('"a"\t0\tNA\n"b"\tNA\t0\n', ["a", "b"], [np.nan]),
        (",a,b\na,0,#N/A\nb,#N/A,0\n", ["a", "b"], [np.nan]),
        (",a,b\na,0,<NA>\nb,<NA>,0\n", ["a", "b"], [np.nan]),
        (",a,b,c\na,0,null,None\nb,NULL,0,3\nc,none,3,0\n", ["a", "b", "c"], [np.nan, np.nan, 3]),
        ("a\t0.0\nb\t0.1\t0.0\nc\t0.2\t0.3\t0.0\n\ta\tb\tc\n", ["a", "b", "c"], [0.1, 0.2, 0.3]),  # as Biopython prints it
        ("A   0.0\nBc  0.1 0.0\nC   0.2 0.3 0.0\n    A   Bc  C", ["A", "Bc", "C"], [0.1, 0.2, 0.3]),
        ("101 0.0\n102 0.1 0.0\n103 0.2 0.3 0.0\n    101 102 103", ["101", "102", "103"], [0.1, 0.2, 0.3]),
        ("7   0.0\n8   0.1 0.0\n    7   8", ["7", "8"], [0.1]),
        ('"","X1","X2"\n"1",0,5\n"2",5,0\n', ["1", "2"], [5]),  # as R's read.csv changes names
        (
            ",S.1,X_b,.c,X.1d,e.f\nS-1,0,1,2,3,4\n_b,1,0,5,6,7\n.c,2,5,0,8,9\n.1d,3,6,8,0,1\ne f,4,7,9,1,0\n",
            ["S-1", "_b", ".c", ".1d", "e f"],
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 1],
        ),
    ],
)
def test_one_reading(tmp_path, text, ids, values):
    (tmp_path / "m").write_text(text)
    found = read_matrix(str(tmp_path / "m"))
    assert (found.row_ids, found.column_ids, found.one_set) == (ids, ids, True)
    np.testing.assert_allclose(found.values[np.triu_indices(len(ids), 1)], values, atol=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "1\n0.9\t1\n0.8\t0.7\t1\n",
        "1\t0.39\n1\n",
        "2\n3 4\n5 6 7\n",
        "2\n3 5\n4 6 7\n",
        "0,101,102,103\n101,0,4,2\n102,4,0,1\n103,2,1,0",
        "NA,101,109,103\n101,0,4,2\n109,4,0,1\n103,2,1,0",
        "0\t.\t5\t6\n.\t0\t3\t4\n5\t3\t0\t2\n6\t4\t2\t0",
        "0;0,5;1;0,25\n0,5;0;1;1\n1;1;0;1\n0,25;1;1;0",
        "0,,5,6\n,0,3,4\n5,3,0,2\n6,4,2,0",
        "1.1\n1.2 12\n2.1 40 38\n",
        "a,b,c\n10,2,3\n2,12,4\n3,4,9",
        "a,10,2,3\nb,2,12,4\nc,3,4,9",
        "a,b,c\n0.1,0.2,0.3\n0.4,0.5,0.6",
        "a,1,2,3\nb,4,5,6",
        "0;143;\n143;0;155\n;155;0",
        ",5,6\n5,,4\n6,4,",
        "1\n1 0\n",
        "0\n2\t0\n",
        "3\nSpecies_010.000\nSpecies_020.100 0.000\nSpecies_030.200 0.300 0.000",
        "\ta\tb\n\t0\t1\nb\t1\t0\n",
        "a\nb 5\n",  # or a column with its title
        "title\nb 0\nc 5 0\n",
        "# a b c\n0 5\n5 0\n",
        ",,\n,,\n",
        "sep=;\n",
        "a b\n \n",
        '""\t""\n',
        '""\t"1"\n""\t""\n',
        '\ta\n"a\nb"\t0\n',
    ],
)
def test_two_readings_or_none(tmp_path, text):
    (tmp_path / "m").write_text(text)
    with pytest.raises(InputError):
        read_matrix(str(tmp_path / "m"))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (";A;B;C\nA;0;1.234;1.500\nB;1.234;0;999\nC;1.500;999;0\n", True),
        ('sep=;\n"A";"B"\r\n0;-1.234\r\n-1.234;0\r\n', False),
        (";A;B\nA;0;1.234\nB;1.234;0.000\n", False),
        (";A;B;C\nA;0;1.234;1.5\nB;1.234;0;999\nC;1.5;999;0\n", False),
        (";A1.234;B\nA1.234;0;5\nB;5;0\n", False),
        (",A,B\nA,0,1.234\nB,1.234,0\n", False),
    ],
)
def test_points_that_may_separate_thousands(tmp_path, text, note):
    (tmp_path / "m").write_text(text)
    found = "1.234 and the like are taken for decimals; if their points separate thousands, write 1234"
    assert (found in read_matrix(str(tmp_path / "m")).notes) == note


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1\n0.9\t1\n0.8\t0.7\t1\n", [0.9, 0.8, 0.7]),
        ("0\n2\t0\n", [0, 2, 0]),
        ("5\n3\t4\n", [5, 3, 4]),
        ("0\n0\t0\n", [0, 0, 0]),
        ("0 5 3\n5 0 4\n3 4 0\n", [5, 3, 4]),
        ("0 0 0\n5 0 0\n3 4 0\n", [5, 3, 4]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_ids_beside_a_file_decide(tmp_path, text, values, packed):
    (tmp_path / "m.mdist.id").write_text("f1 a\nf2 b\nf3 c\n")
    path = tmp_path / ("m.mdist.gz" if packed else "m.mdist")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_matrix(str(path))
    assert found.row_ids == ["a", "b", "c"]
    assert found.values[np.triu_indices(3, 1)].tolist() == values


def test_time_grows_with_the_size_of_wrapped_phylip(tmp_path):
    count = 300
    lines = [" ".join("5" * 9)] * (count // 9)
    (tmp_path / "m").write_text(f"{count}\n" + "".join(f"r{k} " + "\n".join(["5 5 5", *lines]) + "\n" for k in range(count)))
    start = time.process_time()
    assert len(read_matrix(str(tmp_path / "m")).values) == count
    assert time.process_time() - start < 1


TOKENS = ["0", "1", "2.5", "-1", "A", "b c", "", "NA", "1e3", '"x"', '"', "(a", ">s", "0,5", "101", "query", "é"]


@given(
    st.lists(st.lists(st.sampled_from(TOKENS), max_size=5), max_size=6),
    st.sampled_from(["\t", ",", ";", " "]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_read_or_refused(tmp_path, rows, delimiter, end):
    path = tmp_path / "m"
    path.write_bytes(end.join(delimiter.join(row) for row in rows).encode())
    words = {cell.strip('" ') for row in rows for cell in row}
    for read in (lambda: read_matrix(str(path)).row_ids, lambda: read_pair_list(str(path), None, False).pairs.ids):
        try:
            ids = read()
        except InputError:
            continue
        pieces = words | {part for word in words for part in re.split("[,;\\s]+", word)} | {str(k) for k in range(1, 20)}
        assert all(name in pieces or any(mark in name for mark in ' ",;') for name in ids), ids


@pytest.mark.parametrize(
    ("text", "ids", "titles"),
    [
        (",x,y\n0,5,6\n1,7,8\n2,9,1\n", ["0", "1", "2"], ["x", "y"]),
        (",0,1,2\n1,1,5,6\n2,2,7,8\n", ["1", "2"], ["0", "1", "2"]),
        (",query,x,y\n0,a,5,6\n1,b,7,8\n", ["a", "b"], ["x", "y"]),
    ],
)
def test_row_numbers_before_ids(tmp_path, text, ids, titles):
    (tmp_path / "m").write_text(text)
    found = read_matrix(str(tmp_path / "m"))
    assert (found.row_ids, found.column_ids) == (ids, titles)


def test_a_rectangle_keeps_its_ids(tmp_path):
    for text in ("\t1\t2\na\t5\t6\n", "id\t1\t2\na\t5\t6\n", "query,1,2\na,5,6\n", "t1\tt2\na\t5\t6\n"):
        (tmp_path / "m").write_text(text)
        found = read_matrix(str(tmp_path / "m"))
        assert (found.row_ids, len(found.column_ids), found.one_set, found.values.tolist()) == (["a"], 2, False, [[5, 6]])


@pytest.mark.parametrize("titles", ["X1,X3", "Y1,Y2", "x1,x2", "2,1"])
def test_other_titles_are_another_set(tmp_path, titles):
    (tmp_path / "m").write_text(f",{titles}\n1,0,5\n2,5,0\n")
    assert not read_matrix(str(tmp_path / "m")).one_set


def test_ids_that_plink_writes_beside_a_matrix(tmp_path):
    path = tmp_path / "plink.mdist"
    path.write_text("0\t0.38\t0.27\n0.38\t0\t0.31\n0.27\t0.31\t0\n")
    (tmp_path / "plink.mdist.id").write_text("f1\ta\nf2\tb\nf3\tc\n")
    found = read_matrix(str(path))
    assert (found.row_ids, found.notes) == (["a", "b", "c"], [f"its ids are taken from {path}.id"])
    (tmp_path / "plink.mdist.id").write_text("#FID\tIID\nf1\ta\nf2\ta\nf3\tc\n")
    assert read_matrix(str(path)).row_ids == ["f1_a", "f2_a", "f3_c"]
    (tmp_path / "plink.mdist.id").write_bytes(b"\xef\xbb\xbff1\ta\nf1\tb\nf1\tc\n")
    assert read_matrix(str(path)).row_ids == ["a", "b", "c"]
    (tmp_path / "plink.mdist.id").write_bytes(b"\xef\xbb\xbf#FID\tIID\nf1\ta\nf2\tb\nf3\tc\n")
    assert read_matrix(str(path)).row_ids == ["a", "b", "c"]
    (tmp_path / "plink.mdist.id").write_text("f1\ta\n")
    with pytest.raises(InputError, match=r"plink.mdist.id: 1 ids, but .* has 3 records"):
        read_matrix(str(path))


@pytest.mark.parametrize("command", ["tree", "cluster"])
def test_the_commands_number_records_without_ids(tmp_path, command):
    pytest.importorskip("scipy")
    (tmp_path / "m.mdist").write_text("0\t0.38\t0.27\n0.38\t0\t0.31\n0.27\t0.31\t0\n")
    words = ["tree", "m.mdist"] if command == "tree" else ["cluster", "--distances", "m.mdist", "--max-distance", "0.3"]
    done = gpualign(*words, cwd=tmp_path)
    assert b"m.mdist: no ids in it or beside it; records are numbered from 1" in done.stderr
    assert b"0.38" not in done.stdout.split(b"\n")[0]


def test_arrays_that_are_packed_or_sparse(tmp_path):
    np.save(tmp_path / "m.npy", np.zeros((3, 3)))
    (tmp_path / "m.npy.gz").write_bytes(gzip.compress((tmp_path / "m.npy").read_bytes()))
    with pytest.raises(InputError, match=r"m\.npy\.gz is a NumPy matrix in a compressed file; decompress it first"):
        read_matrix(str(tmp_path / "m.npy.gz"))
    np.savez(tmp_path / "coo.npz", row=[0], col=[1], format=b"coo", shape=[3, 3], data=[7])  # as scipy writes it
    with pytest.raises(InputError, match=r"coo\.npz: a sparse matrix lacks pairs"):
        read_matrix(str(tmp_path / "coo.npz"))


def test_a_matrix_of_standard_input_is_named_so():
    done = gpualign("tree", "-", stdin=b"\ta\tb\na\t0\t5\n", check=False)
    assert b"error: standard input: 1 row and 2 columns, and 'b' is only in the columns; expected distances within one set" in done.stderr
