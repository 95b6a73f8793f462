"""`gpualign.dist` with calls in memory, and what it says of them."""

import io
import logging
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpualign
from gpualign import dist

ALLELES = "FILE\tl1\tl2\tl3\nA\t7\t12\t3\nB\t7\t13\t0\nC\t8\t12\t3\n"


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([[0, 1]], [[0]]),
        (((0, 1), (1, 1)), [[0, 1], [1, 0]]),
        ([[0, None, 2], [1, 1, 1]], [[0, 2], [2, 0]]),
        ([[0.0, float("nan")], [1, 1]], [[0, 1], [1, 0]]),
        ([[True, False], [True, True]], [[0, 1], [1, 0]]),
        ([["A", "C"], ["A", "g"]], [[0, 1], [1, 0]]),
        ([["A", None], ["T", ""]], [[0, 1], [1, 0]]),
        ([["0", "1"], ["2", "."]], [[0, 1], [1, 0]]),
        ([np.array([0, 1]), np.array([1, 1])], [[0, 1], [1, 0]]),
        (np.array([[0, "A"], [0, "C"]], dtype=object)[:, 1:], [[0, 1], [1, 0]]),
        (np.array([["A", "C"], ["A", "T"]], dtype="U5"), [[0, 1], [1, 0]]),
        (np.array([[b"A", b"C"], [b"A", b"T"]], dtype="S5"), [[0, 1], [1, 0]]),
        (np.array([[b"A", b"C"], [b"A", b"T"]], dtype=object), [[0, 1], [1, 0]]),
        (np.ma.array([["A", "C"], ["T", "T"]], mask=[[0, 1], [0, 0]], dtype=object), [[0, 1], [1, 0]]),
        (np.ma.array([[0, 2], [1, 1]], mask=[[0, 1], [0, 0]], dtype=object), [[0, 1], [1, 0]]),
        ([np.ma.array([0, 2], mask=[0, 1]), np.ma.array([1, 1])], [[0, 1], [1, 0]]),
    ],
)
def test_lists_and_arrays_of_objects(calls, expected):
    assert dist(calls).values.tolist() == expected


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2 is needed")
def test_text_of_any_length():
    assert dist(np.array([["A", "C"], ["A", "T"]], dtype=np.dtypes.StringDType())).values.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([], "list: an array of shape (0,); calls have two dimensions"),
        ([[]], "list: no sites"),
        ([0, 1], "calls have two dimensions, [samples][sites]"),
        ([[[0]]], "calls have two dimensions"),
        ([[0, 1], [1]], "a list whose rows have different lengths"),
        ([[0, "A"], ["C", 1]], "'A'"),
        ([["AC", "A"], ["A", "A"]], "'AC'"),
        ([[object()]], "among letters"),
        ([[0, 3], [1, 1]], "site 2: 3 in an array of genotypes"),
        ([[7, 12], [7, 13]], "7 in an array of genotypes"),
        ({"a": [0, 1]}, "found dict"),
        (5, "found int"),
        (None, "found NoneType"),
        (np.array([[1 + 2j]]), "complex128"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "datetime64"),
        (iter([[0, 1]]), "found list_iterator"),
    ],
)
def test_what_is_no_rectangle_of_calls(calls, reason):
    with pytest.raises(gpualign.InputError) as error:
        dist(calls)
    assert reason in str(error.value)


@given(st.recursive(st.none() | st.booleans() | st.integers(-3, 300) | st.floats() | st.text(max_size=2), st.lists, max_leaves=12))
def test_any_nest_of_lists_is_computed_or_refused(calls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gpualign.InputWarning)
        try:
            assert dist([calls]).values.shape[0] > 0
        except gpualign.InputError:
            pass


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s1": [0, 1], "s2": [2, 0]}, index=["x", "y"])
    found = dist(frame)
    assert (found.ids, found.values.tolist()) == (["x", "y"], [[0, 2], [2, 0]])
    assert dist(frame, ids=["p", "q"]).ids == ["p", "q"]
    assert dist(frame.reset_index(drop=True)).ids == ["1", "2"]
    assert dist(frame, frame).values.tolist() == [[0, 2], [2, 0]]
    for column in ([0, None], pandas.array([0, None], dtype="Int64"), [0, float("nan")]):
        assert dist(pandas.DataFrame({"s1": column, "s2": [2, 0]})).values.tolist() == [[0, 1], [1, 0]]
    for column in (["A", "C"], pandas.Categorical(["A", "C"]), pandas.array(["A", "C"], dtype="string")):
        assert dist(pandas.DataFrame({"s1": column, "s2": ["A", pandas.NA]})).values.tolist() == [[0, 1], [1, 0]]
    for wrong in (pandas.DataFrame({"id": ["x", "y"], "s1": [0, 1]}), pandas.Series([0, 1]), pandas.DataFrame()):
        with pytest.raises(gpualign.InputError):
            dist(wrong)


@pytest.mark.parametrize("calls", [[[-1, 0, 1], [1, 1, 0]], np.array([[-1, 0], [1, 1]]), np.array([[-1.0, 0], [0, 0]])])
def test_minus_one_without_a_two_is_decided_by_the_caller(calls):
    with pytest.raises(gpualign.InputError, match=r"genotype \(type='centred'\) or a missing call \(missing_code='-1'\)"):
        dist(calls)
    count = np.array(calls)
    plain = [int((count[0] != count[1]).sum()), int(((count[0] != count[1]) & (count >= 0).all(axis=0)).sum())]
    assert [dist(calls, type="centred").values[0, 1], dist(calls, missing_code=-1).values[0, 1]] == plain


def test_other_codings():
    dosages = np.array([[0, 3, 4], [1, 3, 0], [4, 4, 4]])
    assert dist(dosages, ploidy=4).values.tolist() == [[0, 2, 2], [2, 0, 3], [2, 3, 0]]
    assert dist(np.array([[0, 1, 9], [1, 1, 0]]), missing_code=9).values[0, 1] == 1
    assert dist(np.array([[0, 1, 99], [1, 1, 7]]), missing_code=[7, "99"]).values[0, 1] == 1
    for wrong in ({"ploidy": 0}, {"ploidy": 9}, {"ploidy": 2.5}, {"type": "genotypes"}):
        with pytest.raises(gpualign.InputError):
            dist(dosages, **wrong)
    for metric in ("ibs", "allele", "king", "grm"):
        with pytest.raises(gpualign.InputError, match="these are dosages"):
            dist(dosages, ploidy=4, metric=metric)
    with pytest.raises(gpualign.InputError, match="maf is for genotypes 0, 1, 2 and for letters; these are dosages"):
        dist(dosages, ploidy=4, maf=0.1)


@pytest.mark.parametrize("dtype", ["U1", "S1", "uint8"])
def test_letters_of_a_cross(dtype):
    letters = np.array([list("AHBA"), list("ABB-"), list("BBHA")], dtype="S1")
    array = letters.view(np.uint8) if dtype == "uint8" else letters.astype(dtype)
    with pytest.warns(gpualign.InputWarning, match="only A, B and H"):
        guessed = dist(array).values
    said = dist(array, type="abh").values
    assert guessed.tolist() == said.tolist() == [[0, 1, 3], [1, 0, 2], [3, 2, 0]]
    assert np.nansum(dist(array, type="calls").values) == 0
    with pytest.warns(gpualign.InputWarning, match="only A, B and H"):
        assert dist(array, missing_code="H").values.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    with pytest.raises(gpualign.InputError, match="the letter E is not a nucleotide"):
        dist([["A", "E"], ["C", "A"]])


def test_options_of_tables(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(ALLELES.replace("l2", "ST"))
    with pytest.warns(gpualign.InputWarning) as heard:
        assert dist(path).values.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert [str(one.message).partition(": ")[2] or str(one.message) for one in heard] == [
        "read as alleles, 0 meaning no allele (type='alleles' confirms this, type='calls' reads genotypes instead)",
        "column 'ST' is left out as metadata, by title; columns names the columns to read",
    ]
    assert all(one.filename == __file__ for one in heard)
    everything = dist(path, type="alleles", columns=["l1", "ST", "l3"])
    assert everything.values.tolist() == [[0, 1, 1], [1, 0, 2], [1, 2, 0]]
    assert dist(path, type="alleles", columns=["l1", "ST", "l3"], ignore_columns=["ST"]).values.tolist() == [
        [0, 0, 1],
        [0, 0, 1],
        [1, 1, 0],
    ]
    assert dist(path, type="alleles", ignore_columns=["ST", "l1"]).values[0, 2] == 0
    with pytest.raises(gpualign.InputError, match=r"columns: there is no column 'l4'"):
        dist(path, columns=["l4"])
    with pytest.raises(gpualign.InputError, match="expected a list of titles"):
        dist(path, columns="l1")
    for option in ({"columns": ["a"]}, {"ignore_columns": ["a"]}, {"no_header": True}, {"type": "alleles"}):
        with pytest.raises(gpualign.InputError, match="is for tables in files"):
            dist([[0, 1]], **option)
    path.write_text("".join(ALLELES.splitlines(keepends=True)[1:]))
    with pytest.raises(gpualign.InputError, match="use no_header if it is a row"):
        dist(path)
    assert dist(path, no_header=True, type="alleles").ids == ["A", "B", "C"]


def test_guesses_are_warnings_and_not_log_messages(tmp_path, caplog):
    path = tmp_path / "g.csv"
    path.write_text("id,m1,m2\na,0,9\nb,1,2\n")
    with caplog.at_level(logging.INFO, "gpualign"), pytest.warns(gpualign.InputWarning, match="9 is read as a missing call"):
        assert dist(path).values[0, 1] == 1
    assert "9 is read" not in caplog.text


# ---- DataFrames
FRAME = {"rs1": [0, 1, 2], "rs2": [0, 0, 1], "rs3": [2, 2, 0]}
BETWEEN = [[0, 1, 3], [1, 0, 3], [3, 3, 0]]


@pytest.fixture
def frame():
    return pytest.importorskip("pandas").DataFrame(FRAME)


def test_frames_are_of_the_same_sites(frame):
    assert dist(frame, frame).values.tolist() == BETWEEN
    with pytest.raises(gpualign.InputError, match="others: site 1 is 'rs3', in samples it is 'rs1'"):
        dist(frame, frame[["rs3", "rs2", "rs1"]])
    with pytest.raises(gpualign.InputError, match="others: other sites"):
        dist(frame, frame[["rs1", "rs2"]])


@pytest.mark.parametrize("title", ["ST", "sex", "Unnamed: 0", "sample"])
def test_columns_of_metadata_in_frames(frame, title):
    with_it = frame.assign(**{title: [1, 2, 1]})
    with pytest.raises(gpualign.InputError, match=f"column '{title}' is metadata"):
        dist(with_it)
    assert dist(with_it.to_numpy()).values.tolist() == [[0, 2, 3], [2, 0, 4], [3, 4, 0]]
    assert dist(with_it.drop(columns=title)).values.tolist() == BETWEEN


def test_ids_of_frames(frame):
    assert dist(frame).ids == ["1", "2", "3"]
    assert dist(frame.iloc[1:]).ids == ["1", "2"]
    assert dist(frame.set_axis([10, 20, 30])).ids == ["10", "20", "30"]
    with pytest.raises(gpualign.InputError, match="sample 2 has no id; found nan"):
        dist(frame.set_axis(["a", float("nan"), "c"]))
    assert dist(frame.to_numpy(), ids=(name for name in "abc")).ids == ["a", "b", "c"]
    with pytest.raises(gpualign.InputError, match="sample 2 has no id; found None"):
        dist(frame.to_numpy(), ids=["a", None, "c"])


def test_a_matrix_in_a_frame(frame):
    with pytest.raises(gpualign.InputError, match="this is a matrix"):
        dist(type(frame)([[0, 1, 2], [1, 0, 2], [2, 2, 0]], index=list("abc"), columns=list("abc")))


def test_categories_with_gaps(frame):
    categories = type(frame)({"a": frame["rs1"].astype("category"), "b": [0, 1, 2]})
    categories.loc[1, "a"] = None
    assert dist(categories).values.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([["A", "C"], ["A", float("nan")]], 0),
        ([["A", "C"], ["G", "NA"]], 1),
        ([["0", "1"], ["-1", "2"]], 1),
        ([["0", "1.0"], ["NA", "2"]], 1),
        ([["0", "1"], ["-9", "1"]], 0),
    ],
)
def test_text_as_in_tables(calls, expected):
    assert dist(calls).values[0, 1] == expected


def test_words_for_missing_calls():
    assert dist([["A", "XX"], ["G", "C"]], missing_code="XX").values[0, 1] == 1
    with pytest.raises(gpualign.InputError, match="missing_code='XX' if it is a missing call"):
        dist([["A", "XX"], ["G", "C"]])
    assert dist(np.array([[0.0, 9.0], [0.0, 1.0]]), missing_code=9.0).values[0, 1] == 0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: dist(["ACGT", "ACGA"]), r"give \[list\(sequence\) for sequence in samples\]"),
        (lambda: dist(io.StringIO("id\ta\n")), "opened as text; open it with mode 'rb'"),
        (lambda: dist([[0, 1]], regions=["1:1-2"]), "regions: expected text or a path; found list"),
        (lambda: dist([[0, 1]], missing_code=None), "missing_code None: expected text or a number"),
        (lambda: dist([[0, 1]], missing_code=float("nan")), "missing_code nan: expected text or a number"),
    ],
)
def test_arguments_of_other_types(wrong, message):
    with pytest.raises(gpualign.InputError, match=message):
        wrong()
