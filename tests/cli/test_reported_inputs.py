"""Inputs of public reports, one of each kind of text that was taken for something else, with their right values.

The generators of tests/fuzz/spellings.py run the other spellings of each kind.
"""

from __future__ import annotations

import pytest
from command import gpualign_here

from gpualign.core.common.errors import InputError

DECIMAL_COMMAS = "FILE;L1;L2;L3;L4\nA;4;2,0;7,0;1\nB;4;;8,0;1\nC;5;3,0;;1\nD;4;3,0;9,0;1\n"
THOUSANDS = "FILE\tL1\tL2\nA\t1,234\t7\nB\t1,235\t8\n"
HEADLESS = "A\t1\t~5\t3\t9\nB\t1\t2\t3\t9\nC\t1\t2\t4\t9\n"
HEADLESS_HASHES = "A\tdeadbeef\t0badcafe\nB\tdeadbeef\t12345678\nC\t87654321\t0badcafe\n"
ST_AMONG_LOCI = (
    "id\tabcZ\tadk\taroE\tfumC\tgdh\tpdhC\tpgm\tST (MLST)\n101\t3\t4\t7\t5\t8\t6\t3\t1101\n102\t3\t4\t7\t5\t8\t6\t9\t1102\n"
    "103\t3\t4\t7\t5\t8\t6\t3\t1101\n"
)
CENTRED = "id,m1,m2,m3,m4\nA,-1,0,1,1\nB,1,0,-1,1\nC,0,0,-1,-1\n"
CROSS = "id\tm1\tm2\tm3\tm4\tm5\tm6\nL1\tA\tA\tB\tH\tA\tB\nL2\tA\tB\tB\tA\tH\tA\nL3\tA\tH\tA\tB\tB\tB\n"
TETRAPLOID = "id\tm1\tm2\tm3\tm4\nP1\t0\t4\t2\t3\nP2\t1\t4\t0\t0\nP3\t0\t0\t0\t1\n"
RAW = "FID\tIID\tPAT\tMAT\tSEX\tPHENOTYPE\trs1_A\trs2_G\n1\t1\t0\t0\t1\t-9\t0\t1\n2\t1\t0\t0\t2\t-9\t2\tNA\n3\t1\t0\t0\t2\t1\t0\t0\n"
TRAILING_COLUMNS = "FILE;L1;L2;L3;;;;\nA;4;2;3;;;;\nB;4;2;5;;;;\n"
BLANK_ROW = "id,m1,m2\nA,0,1\nB,2,1\n,,\n"
PERCENT = ">a\nACGTACGTAC\n>b\nACGTACGTAG\n>c\nTCGTACGTAG\n>d\nNNNTACGTAG\n"

SQUARE = "\tA\tB\tC\nA\t0\t1\t2\nB\t1\t0\t3\nC\t2\t3\t0\n"
SNP_DISTS = "snp-dists 0.8.2\tA\tB\tC\tD\nA\t0\t1\t12\t30\nB\t1\t0\t11\t29\nC\t12\t11\t0\t33\nD\t30\t29\t33\t0\n"
WITHOUT_IDS = "0\t0.383333\t0.277778\t0.448276\n0.383333\t0\t0.316667\t0.4\n0.277778\t0.316667\t0\t0.357143\n0.448276\t0.4\t0.357143\t0\n"


def distances(*arguments):
    """Rows of numbers of the matrix that `dist` writes, and its messages."""
    out, messages = gpualign_here("dist", *arguments)
    return [list(map(float, line.split("\t")[1:])) for line in out.decode().splitlines()[1:]], messages


@pytest.mark.parametrize(
    ("text", "options", "expected", "note"),
    [
        (DECIMAL_COMMAS, "", [[0, 1, 2, 2], [1, 0, 1, 1], [2, 1, 0, 1], [2, 1, 1, 0]], "read as alleles"),
        (ST_AMONG_LOCI, "", [[0, 1, 0], [1, 0, 1], [0, 1, 0]], "'ST (MLST)' is left out"),
        (CENTRED, "", [[0, 2, 3], [2, 0, 2], [3, 2, 0]], "-1 is read as a genotype"),
        (CROSS, "", [[0, 4, 4], [4, 0, 5], [4, 5, 0]], "only A, B and H"),
        (TETRAPLOID, "--ploidy 4", [[0, 3, 3], [3, 0, 3], [3, 3, 0]], ""),
        (RAW, "", [[0, 1, 1], [1, 0, 1], [1, 1, 0]], ""),
        (TRAILING_COLUMNS, "--metric fraction --missing as-difference", [[0, 1 / 3], [1 / 3, 0]], "4 empty columns left out"),
        (BLANK_ROW, "", [[0, 1], [1, 0]], "1 empty row left out"),
    ],
)
def test_tables_that_are_read(tmp_path, text, options, expected, note):
    (tmp_path / "x").write_text(text)
    found, messages = distances(tmp_path / "x", *options.split())
    assert found == [pytest.approx(row, abs=1e-9) for row in expected]
    assert note in messages


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (THOUSANDS, "", "'1,234'"),
        (DECIMAL_COMMAS.replace("7,0", "7:0"), "", "'7:0'"),
        (DECIMAL_COMMAS.replace("7,0", "7/0"), "", "'7/0'"),
        (HEADLESS, "", "--no-header"),
        (HEADLESS_HASHES, "", "--no-header"),
        (TETRAPLOID, "", r"\(--type alleles\), or dosages of a polyploid \(--ploidy 4\)"),
        (SQUARE, "", "gpualign tree .*gpualign cluster"),
        (SNP_DISTS, "", "gpualign tree .*gpualign cluster"),
        (PERCENT, "--metric fraction --max-distance 10", "10 % is 0.1"),
    ],
)
def test_what_is_refused(tmp_path, text, options, message):
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError, match=message):
        distances(tmp_path / "x", *options.split())


def tree_of(tmp_path, text):
    """Newick text that `tree` makes of a matrix, and its messages."""
    (tmp_path / "matrix").write_text(text)
    out, messages = gpualign_here("tree", tmp_path / "matrix")
    return out.decode(), messages


@pytest.mark.parametrize(
    "text",
    [
        SQUARE,
        SQUARE[1:],  # R's header
        '"A"\t"B"\t"C"\n"A"\t0\t1\t2\n"B"\t1\t0\t3\n"C"\t2\t3\t0\n',
        '""\t"A"\t"B"\t"C"\n"A"\t0\t1\t2\n"B"\t1\t0\t3\n"C"\t2\t3\t0\n',
        "sep=;\n" + SQUARE.replace("\t", ";"),
        "3\nA\nB 1\nC 2 3\n",
        "3\nA 1 2\nB 3\nC\n",
        "3\nA 0\nB 1 0\nC 2 3 0\n",
        "3\nA 0 1\n2\nB 1 0\n3\nC 2 3\n0\n",
    ],
)
def test_matrices_that_are_read(tmp_path, text):
    assert tree_of(tmp_path, text)[0] == tree_of(tmp_path, SQUARE)[0]


def test_a_matrix_without_ids(tmp_path):
    tree, messages = tree_of(tmp_path, WITHOUT_IDS)
    named = "\t1\t2\t3\t4\n" + "".join(f"{k}\t{line}\n" for k, line in enumerate(WITHOUT_IDS.splitlines(), 1))
    assert tree == tree_of(tmp_path, named)[0]
    assert "no ids in it or beside it; records are numbered from 1" in messages


@pytest.mark.parametrize("name", ["(A)1", ">b", "'94-A", 'he said "no"', "A b"])
def test_names_come_back(tmp_path, name):
    """A tree that `tree` writes is drawn beside the matrix that it was made of."""
    (tmp_path / "matrix.tsv").write_text(SQUARE.replace("A", name))
    gpualign_here("tree", tmp_path / "matrix.tsv", "-o", tmp_path / "x.nwk")
    pytest.importorskip("matplotlib")
    gpualign_here("plot", tmp_path / "matrix.tsv", "--tree", tmp_path / "x.nwk", "-o", tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("matrix", "tree"),
    [
        (SQUARE, "[&R] ((A:1,B:2):1,C:3);"),
        (SQUARE, '(("A":1,"B":2):1,"C":3);'),
        (SQUARE, "((A:1.,B: 2):1,C:nan);"),
        (SQUARE.replace("A", "A b"), "((A_b:1,B:2):1,C:3);"),
        (SQUARE.replace("A", "A b"), "((A b:1,B:2):1,C:3);"),
        (SQUARE.replace("A", "O'Neil"), "((O'Neil:1,B:2):1,C:3);"),
    ],
)
def test_trees_of_other_programs(tmp_path, matrix, tree):
    pytest.importorskip("matplotlib")
    (tmp_path / "matrix.tsv").write_text(matrix)
    (tmp_path / "x.nwk").write_text(tree)
    gpualign_here("plot", tmp_path / "matrix.tsv", "--tree", tmp_path / "x.nwk", "-o", tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


@pytest.mark.parametrize("hole", ["NA", "-", "nan", "?"])
@pytest.mark.parametrize("diagonal", ["0", None])
@pytest.mark.parametrize("upper", [True, False])
def test_a_triangle_beside_which_no_value_is_written(tmp_path, hole, diagonal, upper):
    """As R leaves it after m[upper.tri(m)] <- NA."""
    values = {(0, 1): "1", (0, 2): "2", (1, 2): "3"}
    own = diagonal or hole
    rows = [[own if i == j else values.get((i, j) if upper else (j, i), hole) for j in range(3)] for i in range(3)]
    text = "\tA\tB\tC\n" + "".join("\t".join([name, *row]) + "\n" for name, row in zip("ABC", rows, strict=True))
    assert tree_of(tmp_path, text)[0] == tree_of(tmp_path, SQUARE)[0]
