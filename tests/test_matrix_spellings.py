"""Matrices in text, as programs write them: each is read as what it is, or refused."""

import numpy as np
import pytest
from command import gpualign
from fuzz.matrices import IDS, LAYOUTS, matrix, spellings

from gpualign.cli.inputs.matrices import read_matrix
from gpualign.core.errors import InputError


def check(path, one):
    """What is wrong with how a spelling is read, or None."""
    path.write_bytes(one.text)
    try:
        found = read_matrix(str(path))
    except InputError as error:
        return f"{one.name}: refused ({error})" if one.certain else None
    ids = one.ids or [str(k) for k in range(1, len(one.values) + 1)]
    right = found.one_set and found.rows == found.columns == ids and np.allclose(found.values, one.values)
    if right and (found.assumed is not None) != (one.ids is None or "alone" in one.name):
        return f"{one.name}: said {found.assumed}"
    return None if right else f"{one.name}: {found.rows}, {found.columns}, {found.values.tolist()}"


def of_layout(layout, values):
    return (one for one in spellings(values) if one.name.startswith(f"{layout},"))


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
    for values in (star, 1 - np.eye(count)):
        wrong = [fault for one in of_layout(layout, values) if (fault := check(tmp_path / "m", one))]
        assert not wrong, "\n".join(wrong[:5])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("5\t7\n2\t9\n", "line 1 has only numbers, and is neither a header of ids nor a row of a square matrix"),
        ("A\t5.5\t7\nB\t2\t9\n", "line 1 is 'A' and numbers; expected a matrix"),
        ("\tA\tB\nA\t0\t0,5\nB\t0,5\t0\n", "line 2: '0,5' is no number; write a point in decimals"),
        ("0.0\n0\t0\n", "a triangle of zeros, with or without the diagonal"),
        ("00101\n00102\t5\n0103\t7\t9\n", "line 1 says '00101' records, but 2 follow"),
        ("101\t0\n102\t33\t0\n", "line 1 may be a header of ids that are numbers, or a row"),
        ("1\n7 0\n", "either one record with the id '7', or a triangle of values"),
        ("3\nA\nB 1\nC 2 3 4\n", "line 4 has 3 values; expected 2, as this row of a triangle has"),
        ("3\nA 0 1 2\nB 1 0\nC 2 3 0\n", "line 3 has 2 values; expected 3, as each row of a square has"),
        ("2\nA 0 x\nB x 0\n", "line 2: 'x' is no number"),
        ("2 4\nA ACGT\nB ACGA\n", "is an alignment in PHYLIP format; make a matrix first: gpualign dist m"),
        ("CLUSTAL W\n\nA ACGT\nB ACGA\n", "is an alignment in CLUSTAL format; make a matrix first: gpualign dist m"),
        ("#NEXUS\nbegin distances;\n", "is a NEXUS file; expected a matrix"),
        ("# STOCKHOLM 1.0\nA ACGT\n", "is an alignment in Stockholm format; expected a matrix"),
        ("[&R] (a:1,\nb:2);\n", "is a tree; expected a matrix"),
        (">a\nACGT\n", "is FASTA; make a matrix first"),
        ('"query";"target";"distance"\n1;2;7\n', "is a list of pairs; expected a matrix"),
    ],
)
def test_refusals(tmp_path, monkeypatch, text, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").write_text(text)
    with pytest.raises(InputError) as error:
        read_matrix("m")
    assert reason in str(error.value)


def test_a_rectangle_keeps_its_ids(tmp_path):
    for text in ("\t1\t2\na\t5\t6\n", "id\t1\t2\na\t5\t6\n", "query,1,2\na,5,6\n", "t1\tt2\na\t5\t6\n"):
        (tmp_path / "m").write_text(text)
        found = read_matrix(str(tmp_path / "m"))
        assert (found.rows, len(found.columns), found.one_set, found.values.tolist()) == (["a"], 2, False, [[5, 6]])


def test_ids_that_plink_writes_beside_a_matrix(tmp_path):
    path = tmp_path / "plink.mdist"
    path.write_text("0\t0.38\t0.27\n0.38\t0\t0.31\n0.27\t0.31\t0\n")
    (tmp_path / "plink.mdist.id").write_text("f1\ta\nf2\tb\nf3\tc\n")
    found = read_matrix(str(path))
    assert (found.rows, found.assumed) == (["a", "b", "c"], f"its ids are taken from {path}.id")
    (tmp_path / "plink.mdist.id").write_text("#FID\tIID\nf1\ta\nf2\ta\nf3\tc\n")
    assert read_matrix(str(path)).rows == ["f1_a", "f2_a", "f3_c"]
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
