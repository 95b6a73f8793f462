"""Parquet and Arrow: what their readers see is what the text of the same run says, with types."""

import io
import json
import os
from itertools import pairwise

import numpy as np
import pytest
from command import gpualign, gpualign_here, shell
from goldens import CORE, FAILED, GENES_DB, GENES_QUERY, OLD, ONE, SNPS, TWO

from gpualign.core.output import arrow
from gpualign.core.results.columns import FIELDS
from gpualign.core.sequences.ids import SampleNames
from gpualign.core.sequences.string_column import StringColumn

pytestmark = pytest.mark.slow

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

OF_PAIRS = [name for name, field in FIELDS.items() if not field.hits_only]
DECIMALS = {
    "identity": "{:.6f}",
    "distance": "{:.6f}",
    "qcov": "{:.6f}",
    "tcov": "{:.6f}",
    **dict.fromkeys(("coverage", "coverage_query", "coverage_target", "coverage_shorter"), "{:.6f}"),
    "bits": "{:.1f}",
    "evalue": "{:.3g}",
}
ENDINGS = ["parquet", "arrow"]


def read(path):
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    with pa.ipc.open_file(path) as file:
        return file.read_all()


def texts(table):
    """Rows as a text table would have them."""
    columns = [[_text(name, value) for value in table.column(name).to_pylist()] for name in table.column_names]
    return [table.column_names, *map(list, zip(*columns, strict=True))]


def _text(name, value):
    if value is None:
        return "nan"
    return DECIMALS[name].format(value) if name in DECIMALS and isinstance(value, float) else str(value)


def rows(tsv):
    return [line.split("\t") for line in tsv.decode().split("\n")[:-1]]


@pytest.mark.parametrize(
    "words",
    [
        ["nw", ONE],
        ["nw", ONE, "--fields", ",".join(OF_PAIRS[::-1]), "--end-gaps", "free"],
        ["nw", ONE, TWO, "--edit", "--fields", "target,score,distance,cigar"],
        ["nw", ONE, "--max-distance", "0.2"],
        ["nw", ONE, "--self", "--min-identity", "0.5", "--fields", "query,target,identity"],
        ["sw", GENES_QUERY, GENES_DB],
        ["sw", GENES_QUERY, GENES_DB, "--evalue", "none", "--fields", ",".join(FIELDS)],
        ["sw", GENES_QUERY, GENES_DB, "--no-traceback", "--max-hits", "1"],
        ["sw", GENES_QUERY, GENES_DB, "--all", "--min-score", "100"],
    ],
    ids=lambda words: " ".join(str(word).rsplit("/")[-1][:40] for word in words),
)
def test_the_columns_of_tsv(tmp_path, words):
    told = rows(gpualign_here(*words, "--device", "cpu")[0])
    assert len(told) > 1
    for ending in ENDINGS:
        gpualign_here(*words, "-o", tmp_path / f"x.{ending}", "--device", "cpu")
        assert texts(read(tmp_path / f"x.{ending}")) == told
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"x.{ending}" for ending in sorted(ENDINGS)]


def test_types(tmp_path):
    """Of hits and their every column; without E-values bits and evalue are null, and of the same type."""
    words = ["sw", GENES_QUERY, GENES_DB, "--evalue", "none", "--fields", ",".join(FIELDS), "--device", "cpu", "-o"]
    gpualign_here(*words, tmp_path / "x.parquet")
    gpualign_here(*words, tmp_path / "x.arrow")
    flat, mapped = read(tmp_path / "x.parquet"), read(tmp_path / "x.arrow")
    whole = {"qlen": pa.int64(), "tlen": pa.int64(), "length": pa.int64()}
    for name, field in FIELDS.items():
        number = pa.float64() if name in DECIMALS else whole.get(name, pa.int32())
        is_id = name in ("query", "target")
        text = pa.dictionary(pa.int32(), pa.string()) if is_id else pa.large_string()
        assert flat.schema.field(name).type == (number if field.get_values else pa.string())
        assert mapped.schema.field(name).type == (number if field.get_values else text)
    assert flat["bits"].null_count == flat["evalue"].null_count == len(flat) > 0
    assert str(mapped.to_pandas()["query"].dtype) == "category"
    frame = flat.to_pandas()
    assert ((frame.qend - frame.qstart + 1) / frame.qlen == frame.qcov).all()  # not rounded
    assert (frame.matches / frame.length <= frame.identity).all()


def test_int64_where_needed(tmp_path):
    gpualign_here(
        "nw", "--match", "1000000000", "--mismatch", "-1000000000", "--gap", "100000000", "--self", ONE, "-o", tmp_path / "x.feather"
    )
    found = read(tmp_path / "x.feather")["score"]
    assert found.type == pa.int64()
    assert found[0].as_py() == 12 * 10**9


@pytest.mark.parametrize(
    ("inputs", "options", "ending"),
    [
        ([CORE], [], "parquet"),
        ([CORE, OLD], ["--compared"], "arrow"),
        ([SNPS], ["--metric", "ibs", "--compared"], "parquet"),
        ([FAILED], ["--compared"], "arrow"),
        ([FAILED], ["--metric", "fraction", "--min-compared", "3"], "parquet"),
    ],
)
def test_distances_are_those_of_molten(tmp_path, inputs, options, ending):
    """Each pair of one set once, the earlier sample first; null where there is no distance, and whole numbers for counts all the same."""
    path = tmp_path / f"d.{ending}"
    gpualign_here("dist", *inputs, *options, "-o", path, "--device", "cpu")
    shown = ["compared"] if {"--compared", "--min-compared"}.intersection(options) else []
    told = rows(gpualign_here("dist", *inputs, *options, *(f"--{name}" for name in shown), "--format", "molten", "--device", "cpu")[0])
    if len(inputs) == 1:
        order = {name: k for k, name in enumerate(dict.fromkeys(row[0] for row in told))}
        told = [row for row in told if order[row[0]] < order[row[1]]]
    table = read(path)
    assert table.column_names == ["query", "target", "distance", *shown]
    found = list(map(list, zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)))
    assert [row[:2] + row[3:] for row in found] == [row[:2] + list(map(int, row[3:])) for row in told]
    counts = "--metric" not in options
    assert table.schema.field("distance").type == (pa.int32() if counts else pa.float64())
    written = ["nan" if row[2] is None else str(row[2]) if counts else f"{row[2]:.9f}" for row in found]
    assert written == [row[2] for row in told]
    assert ("nan" in written) == (FAILED in inputs)


@pytest.mark.parametrize("ending", ENDINGS)
def test_near_pairs(tmp_path, ending):
    for options in (["--max-distance", "1"], ["--max-distance", "0.2", "--metric", "fraction", "--compared"]):
        gpualign_here("dist", FAILED, *options, "-o", tmp_path / f"d.{ending}", "--device", "cpu")
        table = read(tmp_path / f"d.{ending}")
        names, *told = rows(gpualign_here("dist", FAILED, *options, "--device", "cpu")[0])
        assert names == table.column_names
        assert [table["query"].to_pylist(), table["target"].to_pylist()] == [[row[k] for row in told] for k in range(2)]
        np.testing.assert_allclose(table["distance"].to_pylist(), [float(row[2]) for row in told], atol=5e-10)
        assert len(told) > 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(tmp_path, ending):
    for number, words in enumerate(
        (
            ["nw", ONE, "--min-score", "100000", "--fields", "query,cigar,score"],
            ["sw", GENES_QUERY, GENES_DB, "--min-score", "100000"],
            ["dist", CORE, "--max-distance", "0", "--compared"],
        )
    ):
        path = tmp_path / f"{number}.{ending}"
        gpualign_here(*words, "-o", path, "--device", "cpu")
        found = read(path)
        assert len(found) == 0
        first = found.column_names[0]
        assert found.schema.field(first).type == (pa.string() if ending == "parquet" else pa.dictionary(pa.int32(), pa.string()))


def test_ids_with_odd_letters(tmp_path):
    ids = ["é🧬", '"a,b"', "|'%s\\", "x" * 300]
    fasta = "".join(f">{name}\nACGTACGTAA\n" for name in ids).encode()
    for ending in ENDINGS:
        gpualign("nw", "-", "-o", tmp_path / f"x.{ending}", stdin=fasta)
        found = read(tmp_path / f"x.{ending}")
        pairs = [(a, b) for k, a in enumerate(ids) for b in ids[k + 1 :]]
        assert list(zip(found["query"].to_pylist(), found["target"].to_pylist(), strict=True)) == pairs


@pytest.mark.parametrize("command", ["nw", "dist"])
def test_ids_that_are_no_utf8_are_refused(tmp_path, command):
    done = gpualign(command, "-", "-o", tmp_path / "x.parquet", stdin=b">one\nACGT\n>tw\xff\nACGA\n", check=False)
    assert done.returncode == 2
    assert rb"query 2: the id 'tw\udcff' is not UTF-8" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_standard_output(tmp_path):
    """Parquet as in a file; Arrow as a stream, which its readers take from a pipe."""
    gpualign_here("nw", ONE, "-o", tmp_path / "x.parquet")
    gpualign_here("nw", ONE, "-o", tmp_path / "x.arrow")
    flat, stream = (gpualign("nw", ONE, "--format", format).stdout for format in ("parquet", "arrow"))
    assert flat == (tmp_path / "x.parquet").read_bytes()
    with pa.ipc.open_stream(stream) as found:
        assert found.read_all() == read(tmp_path / "x.arrow")


def test_a_pipe_in_and_out_and_one_that_closes(small_16s):
    command = f"cat {small_16s} | gpualign nw -q --edit --format arrow - | "
    count = "python -c 'import sys, pyarrow as pa; print(len(pa.ipc.open_stream(sys.stdin.buffer).read_all()))'"
    assert shell(command + count).stdout.strip() == b"1770"
    done = shell(command + "head -c 9 | wc -c; echo ${PIPESTATUS[1]}")
    assert done.stdout.split() == [b"9", b"0"]
    assert done.stderr == b""


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_what_has_failed_writes_no_end(format):
    """A full disk; and nothing comes behind the message, from a library that tidies up."""
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    done = shell(f"gpualign nw -q --format {format} {ONE} > /dev/full")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["gpualign: error: cannot write standard output: No space left on device"]


def test_memory_and_threads_change_no_byte(tmp_path, small_16s):
    found = set()
    for options in (["--threads", "1"], ["--threads", "2"], ["--memory", "80M", "--threads", "1"]):
        gpualign("nw", "--edit", "--fields", "query,score,cigar", small_16s, "--device", "cpu", *options, "-o", tmp_path / "x.parquet")
        found.add((tmp_path / "x.parquet").read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize("container", [arrow.PARQUET, arrow.FILE, arrow.STREAM])
def test_batches_are_cut_by_rows_and_text_alone(monkeypatch, rng, container):
    # Real batches, of 2^18 rows or 16 MB, take seconds for each of the cuts.
    monkeypatch.setattr(arrow, "BATCH_ROWS", 16)
    monkeypatch.setattr(arrow, "BATCH_TEXT_BYTES", 100)
    names = SampleNames([f"s{k}" for k in range(9)])
    columns = [arrow.TypedColumn("id", ids=names), arrow.TypedColumn("n", np.dtype(np.int32)), arrow.TypedColumn("text")]
    count = 200
    records, numbers = rng.integers(0, 9, count), np.where(rng.random(count) < 0.1, np.nan, rng.integers(-9, 9, count))
    words = ["x" * int(length) for length in np.where(np.arange(count) < 100, rng.integers(0, 4, count), rng.integers(0, 150, count))]

    def written(cuts):
        table = arrow.TableWriter(stream := io.BytesIO(), container, columns)
        table.begin()
        for start, stop in zip([0, *cuts], [*cuts, count], strict=True):
            table.write([records[start:stop], numbers[start:stop], StringColumn.from_strings(words[start:stop])])
        table.finish()
        return stream.getvalue()

    whole = written([])
    for _ in range(5):
        assert written(sorted(rng.integers(0, count + 1, 12).tolist())) == whole
    if container == arrow.PARQUET:
        file = parquet.ParquetFile(io.BytesIO(whole))
        found, sizes = file.read(), [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    else:
        opened = pa.ipc.open_file(whole) if container == arrow.FILE else pa.ipc.open_stream(whole)
        found = opened.read_all()
        sizes = [batch.num_rows for batch in found.to_batches()]
    assert found["id"].to_pylist() == [names.ids[k] for k in records]
    assert found["n"].to_pylist() == [None if np.isnan(n) else int(n) for n in numbers]
    assert found["text"].to_pylist() == words
    assert max(sizes) == 16
    starts = np.cumsum([0, *sizes])
    texts = [word + (names.ids[k] if container == arrow.PARQUET else "") for word, k in zip(words, records, strict=True)]
    held = [sum(map(len, texts[start : stop - 1])) for start, stop in pairwise(starts.tolist())]
    assert max(held) < 100 <= max(map(len, words))


@pytest.mark.parametrize("length", [1_000, 50_000])
def test_long_ids_fit_the_memory(tmp_path, length):
    """Parquet has them in full in every row. The same rows with short ids say what pyarrow takes."""
    count, peaks = 600_000 // length + 400, []
    for long in (0, length):
        records = "".join(f">{k}{'x' * long}\nACGTACGT\n" for k in range(count if long else 20))
        (tmp_path / "x.fa").write_text(records)
        words = "nw", "--memory", "128M", "--device", "cpu", "--threads", "1", "--summary", "run.json", "x.fa", "-o", "x.parquet"
        gpualign(*words, cwd=tmp_path)
        peaks.append(json.loads((tmp_path / "run.json").read_text())["peak_memory"])
    assert peaks[1] < peaks[0] + (128 << 20) + 4 * count * length
    file = parquet.ParquetFile(tmp_path / "x.parquet")
    assert {str(file.schema_arrow.field(name).type) for name in ("query", "target")} == {"string"}
    first, last = file.read_row_group(0, ["query"])[0], file.read_row_group(file.num_row_groups - 1, ["target"])[0]
    assert (first[0].as_py(), last[-1].as_py()) == (f"0{'x' * length}", f"{count - 1}{'x' * length}")
    assert file.metadata.num_rows == count * (count - 1) // 2


def test_without_pyarrow(tmp_path):
    """It is told before anything is read."""
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError\n")
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for words in (
        ["nw", "missing.fa", "-o", "x.arrow"],
        ["sw", "missing.fa", "-o", "x.parquet"],
        ["dist", "missing.fa", "--format", "parquet"],
    ):
        done = gpualign(*words, check=False, env=env, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.endswith(b"needs pyarrow: pip install 'gpualign[arrow]'\n")
    assert gpualign("nw", ONE, env=env).returncode == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_pandas_is_not_imported(tmp_path, ending):
    """To import it takes longer than to write many tables."""
    (tmp_path / "pandas.py").write_text("raise RuntimeError('imported')\n")
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for words in (["nw", ONE], ["sw", GENES_QUERY, GENES_DB, "--evalue", "none"], ["cluster", ONE, "--edit", "--max-distance", "5"]):
        gpualign(*words, "-o", tmp_path / f"x.{ending}", "--device", "cpu", env=env)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nw", ONE, "-o", "x.parquet", "--value", "identity"], "parquet is not a matrix; write --format matrix"),
        (["nw", ONE, "-o", "x.arrow", "--condensed"], "--condensed is for .npy and .npz"),
        (["nw", ONE, "-o", "x.arrow", "--plot", "x.png"], "--plot draws a matrix, and arrow is a table of pairs"),
        (["nw", ONE, "-o", "x.parquet.gz"], "the name does not determine the format"),
        (
            ["nw", ONE, "-o", "x.m8", "--fields", "query"],
            "the columns of tsv, csv, parquet and arrow; it cannot be combined with m8",
        ),
        (["nw", ONE, "-o", "x.parquet", "--fields", "query,evalue"], "no column is called 'evalue'"),
        (["sw", ONE, "-o", "x.parquet", "--no-traceback", "--fields", "query,identity"], "leaves out the alignments, which identity needs"),
        (["sw", ONE, "--all", "--strand", "plus", "-o", "x.parquet", "--fields", "cigar"], "--all writes only scores"),
        (["dist", CORE, "-o", "x.arrow", "--plot", "x.png"], "it cannot be combined with arrow, for which no matrix is held"),
        (["index", ONE, "-o", "x.gpa", "--format", "parquet"], "No such option"),
    ],
)
def test_refusals(tmp_path, words, message):
    done = gpualign(*words, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []
