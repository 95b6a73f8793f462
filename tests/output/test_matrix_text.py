"""Text of whole matrices and of their pairs: the same bytes with any number of threads, in any blocks, and those of plain Python."""

import io
import tracemalloc

import numpy as np
import pytest
from command import GPUALIGN, gpualign, shell
from hypothesis import given
from hypothesis import strategies as st

from gpualign.core.distance.calls import make_samples
from gpualign.core.distance.output.base import NearPairDistances
from gpualign.core.distance.output.pairs import NearPairsSink, PairTextFormat, write_molten
from gpualign.core.output.formats.mega import write_mega
from gpualign.core.output.matrix_files import write_matrix_text, write_phylip
from gpualign.core.output.writer import row_blocks
from gpualign.core.results._rows import format_matrix_rows
from gpualign.core.sequences.ids import SampleNames

DECIMALS = 4


def shown(value, undefined="nan"):
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{DECIMALS}f}"
    return undefined if np.isnan(value) else text.lstrip("-") if float(text) == 0 else text


def lines_of(names, rows, separator, undefined="nan"):
    return "".join(
        name + "".join(separator + shown(value, undefined) for value in row) + "\n" for name, row in zip(names, rows, strict=True)
    )


def expected(format, names, targets, rows):
    """As plain Python writes it."""
    if format == "tsv":
        return "".join(f"\t{name}" for name in targets) + "\n" + lines_of(names, rows, "\t")
    if format == "phylip":
        return f"{len(names)}\n" + lines_of(names, rows, " ")
    if format == "mega":
        head = f"#mega\n!Title: t;\n!Format DataType=Distance DataFormat=LowerLeft NTaxa={len(names)};\n\n"
        listed = "".join(f"[{k}] #{name}\n" for k, name in enumerate(names, 1))
        return head + listed + "\n" + lines_of([f"[{k + 1}]" for k in range(len(names))], [row[:k] for k, row in enumerate(rows)], " ", "?")
    return "".join(f"{a}\t{b}\t{shown(value)}\n" for a, row in zip(names, rows, strict=True) for b, value in zip(targets, row, strict=True))


def written(format, names, targets, values, threads):
    stream, queries = io.BytesIO(), SampleNames(names)
    if format == "tsv":
        write_matrix_text(stream, values, queries, SampleNames(targets), "\t", DECIMALS, threads)
    elif format == "phylip":
        write_phylip(stream, values, queries, DECIMALS, threads)
    elif format == "mega":
        write_mega(stream, queries, values, "t", DECIMALS, threads)
    else:
        write_molten(stream, queries, SampleNames(targets), values, None, PairTextFormat("\t", DECIMALS), threads)
    return stream.getvalue().decode()


@st.composite
def matrices(draw):
    """Of numbers of any length, some not defined, in any of the types, some half way between two that can be written."""
    rows, columns = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    whole = rng.integers(-(2**31), 2**31, (rows, columns)) >> rng.integers(0, 31, (rows, columns))
    dtype = draw(st.sampled_from([np.int32, np.int64, np.float64]))
    if dtype is np.float64:
        return np.where(rng.random(whole.shape) < 0.1, np.nan, whole / 2 ** rng.integers(0, 20, whole.shape))
    return whole.astype(dtype)


@pytest.mark.parametrize("format", ["tsv", "phylip", "mega", "molten"])
@given(matrices(), st.integers(0, 40))
def test_any_number_of_threads(format, values, width):
    if format != "tsv" and format != "molten":
        values = values[: min(values.shape), : min(values.shape)]
    names, targets = ([f"{letter * width}é{k}" for k in range(count)] for letter, count in zip("qt", values.shape, strict=True))
    text = expected(format, names, targets, values.tolist())
    for threads in (1, 4):
        assert written(format, names, targets, values, threads) == text


@pytest.mark.parametrize("format", ["tsv", "phylip", "mega", "molten"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_threads_share_many_pieces(rng, format, dtype):
    """Pieces begin and end inside of rows, and blocks of a million cells or fewer between them."""
    count = 1030
    values = (rng.integers(0, 10**6, (count, count)) / (1 if dtype is np.int32 else 7)).astype(dtype)
    names = [f"s{k}" for k in range(count)]
    text = expected(format, names, names, values.tolist())
    for threads in (1, 2, 4, 13):
        assert written(format, names, names, values, threads) == text


def test_a_small_matrix_takes_little_memory():
    """The large block that sets malloc up is made once in a process, not for each matrix."""
    for _ in range(2):
        tracemalloc.start()
        written("tsv", ["a"], ["b"], np.zeros((1, 1)), 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("compared", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_lists_of_pairs(rng, compared, threads):
    """Ids with a comma are quoted; numbers of samples and values come from any array."""
    names, count = [f"s,{k}" if k % 7 == 0 else "é" * k for k in range(30)], 100_000
    queries, targets, values, sites = rng.integers(0, 30, (count, 4)).T
    sink = NearPairsSink(stream := io.BytesIO(), PairTextFormat(",", 0, has_header=True), compared, threads)
    sink.begin(make_samples(names))
    sink.write(NearPairDistances(queries, targets.astype(np.int32), values, sites if compared else None))
    quoted = [f'"{name}"' if "," in name else name for name in names]
    rows = (
        [quoted[q], quoted[t], str(v), *([str(n)] if compared else [])] for q, t, v, n in zip(queries, targets, values, sites, strict=True)
    )
    head = ["query", "target", "distance", *(["compared"] if compared else [])]
    assert stream.getvalue().decode() == "".join(",".join(row) + "\n" for row in [head, *rows])


def test_a_wide_matrix_is_cut_inside_its_rows(rng):
    values = rng.integers(0, 10**9, (2, 500_000)).astype(np.int32)
    names = np.frombuffer(b"ab", np.uint8), np.array([0, 1, 2])
    pieces = format_matrix_rows(*names, values, "\t", threads=3)
    assert len(pieces) > 4
    assert max(map(len, pieces)) < 3 << 20
    assert b"".join(pieces).decode() == lines_of("ab", values.tolist(), "\t")


@pytest.mark.parametrize(
    ("change", "message"), [({"offsets": np.array([0, 1])}, "name"), ({"threads": 0}, "thread"), ({"undefined": "?" * 21}, "undefined")]
)
def test_the_formatter_refuses(change, message):
    given = {"names": np.frombuffer(b"ab", np.uint8), "offsets": np.array([0, 1, 2]), "values": np.zeros((2, 3))}
    with pytest.raises(ValueError, match=message):
        format_matrix_rows(**given | change)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 100), st.integers(1, 100))
def test_blocks_of_rows(rows, columns, cells, threads):
    blocks = list(row_blocks((rows, columns), cells, threads))
    assert [row for start, stop in blocks for row in range(start, stop)] == list(range(rows))
    assert all(stop - start == 1 or (stop - start) * columns <= 4 * cells for start, stop in blocks)


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    """An alignment of which text is a few MB."""
    path = tmp_path_factory.mktemp("aligned") / "x.fa"
    letters = np.random.default_rng(4).choice(np.frombuffer(b"ACGT", np.uint8), (700, 50))
    path.write_bytes(b"".join(b">sample_%03d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters)))
    return path


@pytest.mark.parametrize("format", ["tsv", "molten"])
def test_files_and_pipes_hold_the_same(aligned, tmp_path, format):
    """A file is written by a thread of its own, a named pipe and standard output are not."""
    words = ["dist", "-q", aligned, "--device", "cpu", "--threads", "2", "--format", format]
    text = gpualign(*words).stdout
    assert len(text) > 1 << 20
    gpualign(*words, "-o", tmp_path / "x.tsv")
    assert (tmp_path / "x.tsv").read_bytes() == text
    piped = shell(f"mkfifo pipe; cat pipe & {GPUALIGN} {' '.join(map(str, words))} -o pipe; wait", cwd=tmp_path)
    assert piped.stdout == text


def test_an_array_needs_a_file(aligned, tmp_path):
    done = shell(f"mkfifo pipe; cat pipe & {GPUALIGN} dist -q {aligned} --device cpu --format npy -o pipe; echo $?; wait", cwd=tmp_path)
    assert done.stdout == b"1\n"
    assert b"cannot write pipe: it is a pipe, and this format needs a file; name a file, or choose another format" in done.stderr


def test_a_full_disk_leaves_nothing(aligned, tmp_path):
    done = shell(f"ulimit -f 4000; trap '' XFSZ; {GPUALIGN} dist -q {aligned} --device cpu --format molten -o x.tsv", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(b"gpualign: error: cannot write x.tsv: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e13, -1e300])
def test_what_64_bits_do_not_hold_is_undefined(value):
    text, ends = np.frombuffer(b"a", np.uint8), np.array([0, 1])
    assert b"".join(format_matrix_rows(text, ends, np.array([[value, -0.25]]))) == b"a\tnan\t-0.250000\n"
