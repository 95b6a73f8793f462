"""Files that `gpualign plot` reads: a damaged one is one clear error, whatever the damage."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from command import gpualign

from gpualign.cli.inputs.distance_matrices import read_matrix
from gpualign.core.common.errors import InputError

IDS = [f"s{k}" for k in range(7)]


def saved(write, *arrays, **named):
    stream = io.BytesIO()
    write(stream, *arrays, **named)
    return stream.getvalue()


def good_files():
    """Every form of one matrix: name, bytes."""
    values = np.add.outer(np.arange(7), np.arange(7)) * (1 - np.eye(7, dtype=int))
    rows = [[name, *map(str, row)] for name, row in zip(IDS, values, strict=True)]
    table = "".join("\t".join(row) + "\n" for row in [["", *IDS], *rows])
    return {
        "npy": saved(np.save, values),
        "condensed": saved(np.save, values[np.triu_indices(7, 1)] / 3),
        "npz": saved(np.savez, distances=values, ids=np.array(IDS)),
        "deflated": saved(np.savez_compressed, distances=values, ids=np.array(IDS)),
        "two sets": saved(np.savez, scores=values[:3], query_ids=np.array(IDS[:3]), target_ids=np.array(IDS)),
        "tsv": table.encode(),
        "csv": table.replace("\t", ",").encode(),
        "gzip": gzip.compress(table.encode(), mtime=0),
        "phylip": ("7\n" + "".join(" ".join(row) + "\n" for row in rows)).encode(),
    }


def damaged(raw, rng):
    """One of: a bit or some bytes changed, cut off, bytes put in or taken out, digits put into what may be a header."""
    place = int(rng.integers(len(raw)))
    head = int(rng.integers(min(len(raw), 140)))
    some = rng.integers(0, 256, rng.integers(1, 9), dtype=np.uint8).tobytes()
    return [
        lambda: raw[:place] + bytes([raw[place] ^ 1 << int(rng.integers(8))]) + raw[place + 1 :],
        lambda: raw[:place] + some + raw[place + len(some) :],
        lambda: raw[:place],
        lambda: raw[:place] + some + raw[place:],
        lambda: raw[:place] + raw[place + len(some) :],
        lambda: raw[:head] + b"9" * len(some) + raw[head:],
        lambda: raw[:head] + bytes([int(rng.integers(32, 127))]) + raw[head + 1 :],
    ][int(rng.integers(7))]()


@pytest.mark.parametrize("name", good_files())
def test_every_form_is_read(tmp_path, name):
    path = tmp_path / "m"
    path.write_bytes(good_files()[name])
    found = read_matrix(str(path))
    expected = np.add.outer(np.arange(7), np.arange(7)) * (1 - np.eye(7, dtype=int))
    if name == "condensed":
        expected = expected[np.triu_indices(7, 1)] / 3
    if name == "two sets":
        expected = expected[:3]
    np.testing.assert_array_equal(found.values, expected)
    numbered = [str(k) for k in range(1, 8)]
    assert found.column_ids == (numbered if name in ("npy", "condensed") else IDS)
    assert found.row_ids == found.column_ids[: len(found.row_ids)]
    assert found.one_set == (name != "two sets")


@pytest.mark.parametrize("name", good_files())
def test_damage_is_an_input_error(tmp_path, rng, name):
    """Found or, where values or ids alone were changed, not to be found; never another exception and never a warning."""
    raw, path, errors = good_files()[name], tmp_path / "m", []
    for _ in range(150):
        path.write_bytes(damaged(raw, rng))
        try:
            read_matrix(str(path))
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > 20
    assert all(text.startswith(str(path)) and "\n" not in text for text in errors)


def npy_header(text):
    raw = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1000000, 1000000), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (99999999999999999999, 9), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-1, -32), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2)",
        "(" * 110,
    ],
)
def test_a_header_asks_for_no_memory(tmp_path, header):
    path = tmp_path / "m"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("distances.npy", npy_header(header) + bytes(32))
    for raw in (npy_header(header) + bytes(32), packed.getvalue()):
        path.write_bytes(raw)
        tracemalloc.start()
        with pytest.raises(InputError, match="Python objects" if "|O" in header else "damaged"):
            read_matrix(str(path))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def member_packed_by(method):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr("distances.npy", saved(np.save, np.zeros((2, 2))))
    return packed.getvalue()


def encrypted():
    raw = bytearray(saved(np.savez, distances=np.zeros((2, 2))))
    for start, flags in ((0, 6), (raw.index(b"PK\x01\x02"), 8)):
        raw[start + flags] |= 1
    return bytes(raw)


CASES = {
    "empty": (b"", "empty file"),
    "blank": (b"\n \n", "empty file"),
    "too many values": (b"\ta\na\t0\t1\n", "line 2 has 2 values; expected 1, one for each column"),
    "no number": (b"\ta\na\tx\n", "line 2: expected a number, found 'x'"),
    "Python's thousands": (b"\ta\na\t1_0\n", "line 2: expected a number, found '1_0'"),
    "no rows": (b"\ta\tb\n", "a header and no rows"),
    "a list": (b"x\ny\n", "line 1 is 'x'; expected a matrix"),
    "phylip's count": (b"3\na 0 1\nb 1 0\n", "line 1 says '3' records, but 2 follow"),
    "binary": (b"\x7fELF\0\0", "a binary file that is neither .npy nor .npz"),
    "too large": (b"\ta\tb\na\t0\t1e200\nb\t1e200\t0\n", "holds 1e+200; expected values up to 1e+100"),
    "npy begins": (b"\x93NUMPY\x01", "damaged .npy file"),
    "npy ends early": (saved(np.save, np.zeros((3, 3)))[:-8], "64 bytes of values; its header (3 x 3 float64) states 72"),
    "npy of text": (saved(np.save, np.array([["a"]])), "an array of <U1; expected numbers"),
    "npy of one value": (saved(np.save, np.array(3)), "an array of one value"),
    "a cube": (saved(np.save, np.zeros((2, 2, 2))), "an array of 2 x 2 x 2"),
    "no condensed matrix": (saved(np.save, np.zeros(4)), "a vector of 4 values is not a condensed matrix: 3 records have 3 pairs"),
    "npz begins": (saved(np.savez, a=np.zeros((2, 2)))[:60], "damaged .npz file"),
    "two matrices": (saved(np.savez, a=np.zeros((2, 2)), b=np.zeros((2, 2))), "holds 'a', 'b'; expected one matrix"),
    "too few ids": (saved(np.savez, a=np.zeros((3, 3)), ids=np.array(["x"])), "3 rows, but 1 ids"),
    "ids of numbers": (saved(np.savez, a=np.zeros((3, 3)), ids=np.zeros(3)), "the array 'ids' is 3 float64; expected a list of text"),
    "ids of objects": (
        saved(np.savez, a=np.zeros((3, 3)), ids=np.array(["x", "y", "z"], dtype=object)),
        "the array 'ids' holds Python objects; save ids by numpy.array(ids, dtype=str), numbers by .astype(float)",
    ),
    "npy of objects": (saved(np.save, np.array([[0, None]])), "holds Python objects; save numbers, as by .astype(float)"),
    "Clustal's": (
        b"#\n#\n#  Percent Identity  Matrix - created by Clustal2.1 \n#\n#\n\n     1: A  100.00   98.00\n     2: B   98.00  100.00\n",
        "m is a percent identity matrix of Clustal; compute a matrix from the alignment, with gpualign dist or nw, or write a table",
    ),
    "EMBOSS": (
        b"Distance Matrix\n---------------\n\n\t    1\t    2\n\t  0.00\t 13.33\t\tA 1\n\t\t  0.00\t\tB 2\n",
        "m is a matrix of EMBOSS distmat; compute a matrix from the alignment, with gpualign dist or nw, or write a table",
    ),
    "bzip2": (member_packed_by(zipfile.ZIP_BZIP2), "is compressed by method 12"),
    "encrypted": (encrypted(), "encrypted"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_matrix(tmp_path, case):
    content, message = CASES[case]
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(InputError) as error:
        read_matrix(str(tmp_path / "m"))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "m"))


def test_the_command_refuses_what_is_no_matrix(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "m.npz").write_bytes(encrypted())
    done = gpualign("plot", "m.npz", "-o", "m.png", cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpualign: error: m.npz: damaged .npz file (")
    assert done.stderr.count(b"\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_ids_beside_an_array(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((3, 3)))
    (tmp_path / "m.ids.txt").write_text("a\nb\nc\n")
    assert read_matrix(str(path)).row_ids == ["a", "b", "c"]
    (tmp_path / "m.ids.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\nc\r\n")
    assert read_matrix(str(path)).row_ids == ["a", "b", "c"]
    (tmp_path / "m.ids.txt").write_text("a\nb\n")
    with pytest.raises(InputError, match="3 rows, but 2 ids"):
        read_matrix(str(path))
    # Lists of an earlier run under the same name are left where they are; those that fit are taken.
    np.save(path, np.zeros((3, 2)))
    (tmp_path / "m.query_ids.txt").write_text("x\ny\nz\n")
    (tmp_path / "m.target_ids.txt").write_text("v\nw\n")
    found = read_matrix(str(path))
    assert (found.row_ids, found.column_ids, found.one_set) == (["x", "y", "z"], ["v", "w"], False)
