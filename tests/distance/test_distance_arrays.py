"""Arrays in memory are read as tables with the same cells, and matrices come back in memory."""

import io
from pathlib import Path

import numpy as np
import pytest
from distance_oracle import compute, dense_source, plain_distances, random_codes
from hypothesis import given
from hypothesis import strategies as st
from sites import panels_of, stream, vcf_text

from gpualign.core.common.errors import InputError
from gpualign.core.distance.calls import MISSING, CallKind
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.metrics import METRICS, MissingRule
from gpualign.core.distance.output.matrix import DistanceMatrices
from gpualign.core.distance.preparation import DistanceTask, prepare
from gpualign.core.distance.readers.array import CallArray, read_arrays
from gpualign.core.distance.readers.detection import CallFile, read_calls
from gpualign.core.distance.readers.table import read_tables
from gpualign.core.distance.runner import compute_distances
from gpualign.core.distance.tables.options import CallOptions
from gpualign.core.execution.totals import NullProgress
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.memory import MemoryArray
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.output.result_writing import write_results

LETTERS = np.array([*b"ACGT"] + [0] * 251 + [*b"N"], np.uint8)


def _read(arrays, options, warn=pytest.fail):
    return read_arrays(arrays, options, warn)


def as_table(cells, scratch, all_letters=False):
    lines = ["\t".join(["id", *(f"r{k}" for k in range(cells.shape[1]))])]
    lines += ["\t".join([f"{k}", *row]) for k, row in enumerate(cells.tolist(), 1)]
    return read_tables([(stream("\n".join(lines) + "\n"), "t.tsv")], CallOptions(all_letters=all_letters), 1 << 20, scratch, pytest.fail)


def same(array, table):
    assert array.kind is table.kind
    assert array.site_count == table.site_count
    assert array.samples.queries.ids == table.samples.queries.ids
    np.testing.assert_array_equal(panels_of(array, panel_bytes=1)[0], panels_of(table)[0])


# ---- the same as tables


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.float32, np.float64, ">i4"])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_genotypes_as_numbers(rng, scratch, dtype, layout):
    codes = random_codes(rng, 6, 1200, 2, 0.1)
    numbers = np.where(codes == MISSING, -1, codes.astype(np.int64)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        numbers[::2][numbers[::2] == -1] = np.nan
    elif np.dtype(dtype).kind == "i":
        numbers[::2][numbers[::2] == -1] = -9
    if layout == "F":
        numbers = np.asfortranarray(numbers)
    elif layout == "strided":
        numbers = np.repeat(numbers, 2, axis=1)[:, ::2]
    cells = np.array(["0", "1", "2"] + ["NA"] * 253)[codes]
    same(_read([CallArray(numbers)], CallOptions()), as_table(cells, scratch))


@pytest.mark.parametrize("all_letters", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "S1", "U1", ">U1"])
def test_letters(rng, scratch, dtype, all_letters):
    letters = rng.choice(np.array([*b"ACGTacgtuNVXn-.?"], np.uint8), (5, 900))
    cells = letters.view("S1").astype("U1")
    array = letters if dtype == "uint8" else letters.view("S1").astype(dtype)
    same(_read([CallArray(array)], CallOptions(all_letters=all_letters)), as_table(cells, scratch, all_letters))


@pytest.mark.parametrize("dtype", ["S1", "U1"])
def test_genotypes_as_text(rng, scratch, dtype):
    cells = rng.choice(np.array(["0", "1", "2", "", ".", "-", "N", "?"]), (5, 70))
    cells[0] = "N"  # tells nothing
    same(_read([CallArray(cells.astype(dtype))], CallOptions()), as_table(cells, scratch))


def test_bool_is_one_allele(rng):
    calls = rng.random((5, 90)) < 0.5
    np.testing.assert_array_equal(panels_of(_read([CallArray(calls)], CallOptions()))[0], calls)


def test_what_is_masked_is_missing(rng):
    codes = random_codes(rng, 5, 90, 2, 0)
    mask = rng.random(codes.shape) < 0.2
    found, _ = panels_of(_read([CallArray(np.ma.masked_array(codes.astype(int), mask))], CallOptions()))
    np.testing.assert_array_equal(found, np.where(mask, MISSING, codes))


def test_a_number_of_ones_own_for_missing_calls():
    found, _ = panels_of(_read([CallArray(np.array([[0, 3, -1], [2, 1, 3]]))], CallOptions(missing_codes=("3",))))
    np.testing.assert_array_equal(found, [[0, MISSING, MISSING], [2, 1, MISSING]])
    found, _ = panels_of(_read([CallArray(np.array([[0, 1], [2, 1]]))], CallOptions(missing_codes=("2",))))
    np.testing.assert_array_equal(found, [[0, 1], [MISSING, 1]])


# ---- ids, two arrays, refusals


def test_ids():
    calls = np.zeros((3, 2), int)
    assert _read([CallArray(calls)], CallOptions()).samples.queries.ids == ["1", "2", "3"]
    assert _read([CallArray(calls, [7, "b", "c"])], CallOptions()).samples.queries.ids == ["7", "b", "c"]
    assert _read([CallArray(calls, ["b", "b", "c"])], CallOptions(allow_duplicates=True)).samples.queries.ids == ["b", "b_2", "c"]
    with pytest.raises(InputError, match="array: samples 1 and 2 have the same id 'b'"):
        _read([CallArray(calls, ["b", "b", "c"])], CallOptions())
    with pytest.raises(InputError, match="mine: 2 ids for 3 samples"):
        _read([CallArray(calls, ["a", "b"], "mine")], CallOptions())


def test_two_arrays(rng):
    codes = random_codes(rng, 9, 80, 2, 0.1)
    numbers = np.where(codes == MISSING, -1, codes.astype(int))
    source = _read([CallArray(numbers[:4]), CallArray(codes[4:])], CallOptions())  # of different types
    found, compared = compute(source, CpuDistanceEngine(1), "hamming")
    expected = plain_distances(codes, 4, "hamming", "pairwise")
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(compared, expected[1])
    with pytest.raises(InputError, match="new: 79 sites, old has 80; sites must be the same"):
        _read([CallArray(numbers, source="old"), CallArray(numbers[:, 1:], source="new")], CallOptions())
    with pytest.raises(InputError, match="new holds nucleotides, old genotypes"):
        _read([CallArray(numbers, source="old"), CallArray(LETTERS[codes], source="new")], CallOptions())


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (np.zeros(5, int), r"array: an array of shape \(5,\); calls have two dimensions"),
        (np.zeros((0, 5), int), "array: no samples"),
        (np.zeros((5, 0), int), "array: no sites"),
        (np.array([["0", "NA"]]), "an array of type <U2"),
        (np.array([[0, None]], dtype=object), "an array of type object"),
        (np.zeros((2, 2), complex), "an array of type complex128"),
    ],
)
def test_arrays_of_no_calls(calls, message):
    with pytest.raises(InputError, match=message):
        _read([CallArray(calls)], CallOptions())


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            np.array([[0, 1, 2], [0, 1, 3]]),
            r"sample 2 \('2'\), site 3: 3 in an array of genotypes; expected 0, 1, 2, or for",
        ),
        (np.array([[0.0, 0.5]]), "site 2: 0.5 in an array of genotypes"),
        (np.array([[np.inf, 0]]), "site 1: inf in"),
        (np.array([[-2, 0]]), "site 1: -2 in"),
        (np.array([[65535]], np.uint16), "site 1: 65535 in"),
        (np.array([["0", "A"]]), "site 2: 'A' in an array of genotypes; expected 0, 1, 2, or for a missing call empty"),
        (np.array([["A", "0"]]), "site 2: '0' in an array of nucleotides; expected letters"),
        (np.array([["A", "\u0391"]]), "site 2: '\u0391' in"),  # Greek Alpha
        (np.array([["A", "\u0141"]]), "site 2: '\u0141' in"),  # its lowest byte is an A's
        (np.array([[*b"AC"], [0, 1]], np.uint8), r"sample 2 \('2'\), site 1: 0 in an array of nucleotides"),
        (np.array([[0, 1], [*b"AC"]], np.uint8), r"sample 2 \('2'\), site 1: 65 in an array of genotypes"),
    ],
)
def test_cells_that_are_no_calls(calls, message):
    with pytest.raises(InputError, match=f"array: .*{message}"):
        panels_of(_read([CallArray(calls)], CallOptions()))


def test_further_missing_calls_among_letters():
    found, _ = panels_of(_read([CallArray(np.array([["A", "C"], ["X", "C"]]))], CallOptions(missing_codes=("C",))))
    np.testing.assert_array_equal(found, [[0, MISSING], [MISSING, MISSING]])


# ---- distances in memory


@given(st.integers(1, 40), st.one_of(st.none(), st.integers(1, 9)), st.booleans(), st.integers(0, 2**32 - 1))
def test_matrices_in_memory(samples, queries, compared, seed):
    codes = random_codes(np.random.default_rng(seed), samples + (queries or 0), 60, 2, 0.1)
    source = dense_source(codes, queries=queries)
    with ScratchFiles() as files:
        task = DistanceTask(METRICS["allele"], MissingRule.PAIRWISE, compared)
        prepared = prepare(source, task, CpuDistanceEngine(1), DistanceBudget.of(6000), files.new_scratch)
        sink = MatrixSink(DistanceMatrices(prepared.dtype, compared), [MemoryArray] * (1 + compared))
        write_results(sink, prepared.samples, compute_distances(prepared, NullProgress())[0])
    expected = plain_distances(codes, queries or len(codes), "allele", "pairwise")
    np.testing.assert_array_equal(sink.arrays[0].values, expected[0])
    assert sink.arrays[0].values.dtype == prepared.dtype
    if compared:
        np.testing.assert_array_equal(sink.arrays[1].values, expected[1])
    else:
        assert len(sink.arrays) == 1


# ---- files for callers without a command line


def test_streams_without_a_name(tmp_path):
    """What the command reads, a caller with a stream can read; the same file twice gives a rectangle."""
    pytest.importorskip("cyvcf2")
    text = vcf_text(["a", "b"], [(["C", "A"], ["0/0", "0/1"]), (["C", "A"], ["./.", "1/1"])]).encode()
    for content, kind, sites in (
        (text, CallKind.GENOTYPE, 2),
        (b">a\nACGT\n>b\nACGA\n", CallKind.NUCLEOTIDE, 4),
        (b"id\tx\na\t0\nb\t1\n", CallKind.GENOTYPE, 1),
    ):
        with ScratchFiles() as files:
            inputs = (CallFile(io.BytesIO(content), name) for name in ("one", "other"))
            source = read_calls(inputs, CallOptions(), 1 << 20, files, pytest.fail)
            assert (source.kind, source.site_count) == (kind, sites)
            assert (source.samples.queries.ids, source.samples.targets.ids) == (["a", "b"], ["a", "b"])


def test_temporary_files_go():
    with ScratchFiles() as files:
        one, (other, path) = files.new_scratch(), files.named_scratch(".vcf")
        assert path.endswith(".vcf")
    assert one.closed
    assert other.closed
    assert not Path(path).exists()
