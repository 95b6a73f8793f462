"""Results in Python as Arrow: what pyarrow, polars and pandas read, beside the files of `--format arrow`."""

import subprocess
import sys

import pytest
from command import gpualign as run

import gpualign

pa = pytest.importorskip("pyarrow")

FIELDS = ["query", "target", "score", "distance", "qlen", "length", "identity", "cigar", "strand", "qcov"]
THRESHOLDS = [
    ({"min_identity": 0.8}, "identity"),
    ({"max_distance": 0.2}, "distance"),
    ({"min_score": 3000}, "score"),
    ({"max_distance": 300, "scoring": gpualign.EDIT}, "distance"),
    ({"min_identity": 0.8, "scoring": gpualign.EDIT}, "identity"),
]


@pytest.fixture
def genes(small_16s):
    return gpualign.read(small_16s)


@pytest.mark.slow
@pytest.mark.parametrize(("given", "named"), THRESHOLDS)
def test_pairs_are_the_table_of_the_command(tmp_path, small_16s, genes, given, named):
    found = gpualign.pairs(genes, **given)
    assert len(found) > 10
    table = pa.table(found)
    assert table.column_names == ["query", "target", named] == list(found.to_frame().columns)
    options = [word for name, one in given.items() if name != "scoring" for word in (f"--{name.replace('_', '-')}", one)]
    options += ["--edit"] if "scoring" in given else []
    run("nw", small_16s, "-o", tmp_path / "p.arrow", "--fields", f"query,target,{named}", *options)
    with pa.ipc.open_file(tmp_path / "p.arrow") as file:
        assert table.equals(file.read_all())
    assert table.to_pandas().astype({"query": object, "target": object}).values.tolist() == found.to_frame().values.tolist()
    assert list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True)) == list(found)


@pytest.mark.slow
@pytest.mark.parametrize(("given", "named"), THRESHOLDS)
def test_no_pairs_have_the_same_types(genes, given, named):
    assert pa.table(gpualign.pairs(["ACGT"], **given)).schema == pa.table(gpualign.pairs(genes, **given)).schema
    assert pa.table(gpualign.pairs(["ACGT"], **given)).num_rows == 0


@pytest.mark.slow
def test_two_sets_have_their_own_ids(genes):
    found = gpualign.pairs(genes[:20], genes[20:], min_identity=0.8)
    table = pa.table(found)
    assert table["query"].to_pylist() == [genes.ids[k] for k in found.i]
    assert table["target"].to_pylist() == [genes.ids[20 + k] for k in found.j]


@pytest.mark.slow
def test_tables_have_the_columns_of_the_command(tmp_path, small_16s, genes):
    table = pa.concat_tables([pa.table(one) for one in gpualign.iter_pairs(genes, fields=FIELDS, batch=400)])
    run("nw", small_16s, "-o", tmp_path / "p.arrow", "--fields", ",".join(FIELDS))
    with pa.ipc.open_file(tmp_path / "p.arrow") as file:
        told = file.read_all()
    assert table.column_names == told.column_names
    for name in FIELDS:
        plain = told[name].cast(pa.large_string()) if name in ("query", "target") else told[name]
        assert table[name].type == plain.type
        assert table[name].to_pylist() == plain.to_pylist()


def test_hits_have_the_same_types_with_and_without_hits():
    text = "GATTACAGATTACAGATTACA"
    there, none = gpualign.sw([text, "C" * 20], [text], evalue="none", min_score=50)
    assert (len(there), len(none)) == (1, 0)
    assert pa.table(there).schema == pa.table(none).schema
    assert pa.table(there)["evalue"].to_pylist() == [None]  # not known, as in files


@pytest.mark.slow
def test_a_schema_can_be_asked_for(genes):
    found = gpualign.pairs(genes, min_identity=0.8)
    plain = pa.schema([("query", pa.string()), ("target", pa.string()), ("identity", pa.float64())])
    assert pa.table(found, schema=plain).schema == plain


@pytest.mark.slow
def test_polars_reads_results(genes):
    pl = pytest.importorskip("polars")
    found = gpualign.pairs(genes, min_identity=0.8)
    frame = pl.DataFrame(found)
    assert frame.columns == ["query", "target", "identity"]
    assert frame.rows() == list(found)
    table = next(gpualign.iter_pairs(genes, fields=["query", "score", "cigar"], batch=9))
    assert pl.DataFrame(table).rows(named=True) == list(table)


def test_an_id_that_is_no_text_is_named():
    found = gpualign.pairs(gpualign.Sequences(["ACGT", "ACGT"], ids=["a", "b\udcff"]), min_identity=0.5)
    table = next(gpualign.iter_pairs(gpualign.Sequences(["ACGT", "ACGT"], ids=["a", "b\udcff"])))
    for one in (found, table):
        with pytest.raises(gpualign.InputError, match=r"(query|target): 'b\\udcff' is not UTF-8"):
            pa.table(one)


_WITHOUT_PYARROW = """
import importlib.util, sys
sys.modules["pyarrow"] = None
import gpualign
found = gpualign.pairs(["ACGT", "ACGA"], min_identity=0.5)
try:
    found.__arrow_c_stream__()
except gpualign.RunError as error:
    assert "Arrow needs pyarrow: pip install 'gpualign[arrow]'" in str(error), error
else:
    raise AssertionError("no error")
if importlib.util.find_spec("pandas"):
    assert found.to_frame()["identity"].tolist() == found.value.tolist()
"""


def test_without_pyarrow_an_error_says_what_to_install():
    """In a process of its own: pandas keeps the pyarrow with which it was imported."""
    subprocess.run([sys.executable, "-c", _WITHOUT_PYARROW], check=True)
