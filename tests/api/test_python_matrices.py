"""Matrices that a caller makes: what `cluster`, `tree` and the network of `plot` take and refuse."""

import numpy as np
import pytest

import gpualign


def matrix(values, ids=None, value="distance"):
    ids = [str(k) for k in range(len(values))] if ids is None else ids
    return gpualign.Matrix(values, ids, ids, value, True)


REFUSED = {
    "list": (matrix([[0, 1], [1, 0]]), r"expected an array of numbers of shape \(2, 2\), no dimension of it 0; found list"),
    "text": (matrix(np.array([["0", "1"], ["1", "0"]])), "expected an array of numbers"),
    "empty": (matrix(np.zeros((0, 0))), "no dimension of it 0"),
    "fewer ids": (matrix(np.zeros((2, 2)), ["a"]), r"shape \(1, 1\), no dimension of it 0; found float64 \(2, 2\)"),
    "not square": (matrix(np.zeros((2, 3))), r"found float64 \(2, 3\)"),
    "negative": (matrix(np.array([[0, -1.5], [-1.5, 0]])), "finite and not negative, .* found -1.5 for '0' and '1'$"),
    "infinite": (matrix(np.array([[0, np.inf], [np.inf, 0]])), "finite and not negative, .* found inf for '0' and '1'$"),
    "not symmetric": (matrix(np.array([[0, 0.1], [0.2, 0]])), "in both directions; found 0.1 for '0' and '1', and 0.2 the other way"),
    "percent": (
        matrix(np.array([[100, 97], [97, 100]]), value="identity"),
        "identities from 0 to 1, .* found 100 for '0' and '0'",
    ),
    "repeated ids": (matrix(np.zeros((2, 2)), ["a", "a"]), "2 records have the same id 'a'"),
    "no id": (matrix(np.zeros((2, 2)), ["a", None]), "matrix.ids: expected a list of ids; item 1 is None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_are_no_distances_within_one_set_are_refused(tmp_path, name):
    wrong, message = REFUSED[name]
    for call in (
        lambda: gpualign.cluster(wrong, max_distance=0.3),
        lambda: gpualign.tree(wrong),
        lambda: gpualign.plot(wrong, tmp_path / "x.svg", network=True),
    ):
        with pytest.raises(gpualign.InputError, match=message):
            call()


def test_a_wrong_pair_is_found_in_a_large_matrix(rng):
    values = rng.random((1500, 1500))
    values += values.T
    assert len(gpualign.cluster(matrix(values), max_distance=0).labels) == 1500
    values[1400, 3] = np.nan
    with pytest.raises(gpualign.InputError, match="for '3' and '1400', and nan the other way"):
        gpualign.tree(matrix(values))


def test_ids_of_any_type_and_rounding_errors_are_taken():
    values = np.array([[0, -1e-17, 1], [1e-17, 0, 1], [1, 1, 0]])
    for ids in ([1, 2, 3], np.array(["1", "2", "3"]), np.array([b"1", b"2", b"3"])):
        found = gpualign.cluster(matrix(values, ids), max_distance=0.1)
        assert (found.ids, found.labels.tolist()) == (["1", "2", "3"], [0, 0, 1])
        assert str(gpualign.tree(matrix(values, ids), "upgma")) == "(3:0.5,(1:0,2:0):0.5);"


def test_rounding_errors_of_single_precision_are_taken():
    """As in files. A diagonal of 1 + 1e-7 comes from a product of normalised float32 vectors."""
    identities = np.array([[1, 0.9, 0.2], [0.9, 1, 0.3], [0.2, 0.3, 1]], dtype=np.float32)
    identities[0, 0] = np.nextafter(np.float32(1), np.float32(2))
    assert gpualign.cluster(matrix(identities, value="identity"), min_identity=0.9).labels.tolist() == [0, 0, 1]
    distances = np.array([[0, -1e-8, 1], [-1e-8, 0, 1], [1, 1, 0]], dtype=np.float32)
    assert gpualign.cluster(matrix(distances), max_distance=0).labels.tolist() == [0, 0, 1]


RESULTS = {
    "matrix": lambda records: gpualign.nw(records),
    "pairs": lambda records: gpualign.pairs(records, max_distance=0.9),
    "table": lambda records: next(gpualign.iter_pairs(records)),
    "hits": lambda records: list(gpualign.sw(records, records, evalue="none")),
    "clusters": lambda records: gpualign.cluster(records, min_identity=0.7),
    "distances": lambda records: gpualign.dist([list(record) for record in records], type="calls"),
}


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS)
def test_results_are_compared_by_their_content(make):
    """NumPy's comparison of their arrays would raise an error."""
    one, same, other = make(["ACGTACGT", "ACGAACGA"]), make(["ACGTACGT", "ACGAACGA"]), make(["ACGTACGT", "ACCAACCA"])
    assert one == same
    assert one != other
    assert one != 1


def test_undefined_values_are_equal_and_results_have_no_hash():
    one, same = (matrix(np.array([[0, np.nan], [np.nan, 0]])) for _ in range(2))
    assert one == same
    assert one != matrix(np.zeros((2, 2)))
    assert one != matrix(one.values, ["a", "b"])
    with pytest.raises(TypeError, match="unhashable type: 'Matrix'"):
        hash(one)


def test_a_matrix_is_an_array_for_numpy():
    given = matrix(np.array([[0, 3], [3, 0]]))
    assert np.asarray(given) is given.values
    assert np.asarray(given, dtype=np.float32).dtype == np.float32
    copied = np.array(given)
    copied[0, 1] = 9
    assert given.values[0, 1] == np.max(given) == 3
    with pytest.raises(ValueError, match="int64 values cannot become float32 without a copy"):
        given.__array__(np.float32, copy=False)


def test_a_matrix_is_no_table_of_calls():
    with pytest.raises(gpualign.InputError, match="found Matrix"):
        gpualign.dist(matrix(np.array([[0, 1], [1, 0]])))
