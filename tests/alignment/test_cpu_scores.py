"""Scores of the CPU engine against the definition, for every instruction set that this machine runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import edit_distance, score_matrix
from work import edit, records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.planning.tile_plan import Pairing
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.recipe import make_recipe

pytestmark = pytest.mark.slow

SETS = [s.name for s in instruction_sets() if s.is_supported]


@pytest.fixture(params=SETS)
def engine(request):
    return CpuEngine(1, request.param)


def check(engine, queries, targets, scheme, copies=1):
    expected = np.tile(score_matrix(records(queries), records(targets), scheme), copies)
    targets = sequence_set(records(targets) * copies)
    np.testing.assert_array_equal(run_scores(queries, targets, scheme, engine=engine), expected)


def random_set(rng, count, low, high, letters):
    """Some records are mutated copies of others, so that long matches, gaps and ties occur."""
    out = []
    for _ in range(count):
        if out and rng.random() < 0.5:
            record = out[rng.integers(len(out))].copy()
            where = rng.random(len(record))
            record[where < 0.1] = rng.integers(0, letters, int((where < 0.1).sum()))
            record = record[where < 0.95]
            cut = rng.integers(0, len(record) + 1) if rng.random() < 0.3 else 0
            record = record[cut:]
        else:
            record = rng.integers(0, letters, rng.integers(low, high + 1))
        out.append(record if len(record) else np.zeros(1, dtype=np.int64))
    return sequence_set(out)


# One scoring of each kernel and form: (name, scoring by letters).
SCORINGS = {
    "bytes, linear": lambda n: two_valued(n, 5, -4, 6, 6),
    "bytes, affine": lambda n: two_valued(n, 5, -4, 10, 1),
    "bytes, affine, dear mismatches": lambda n: two_valued(n, 5, -60, 10, 1),
    "16 bits, affine": lambda n: two_valued(n, 91, -114, 400, 30),
    "16 bits, linear": lambda n: two_valued(n, 300, -200, 77, 77),
    "32 bits, affine": lambda n: two_valued(n, 10**6, -(10**6), 30_000, 5),
    "32 bits, linear": lambda n: two_valued(n, 80_000, -9, 70_000, 70_000),
    "free gaps": lambda n: two_valued(n, 3, -1, 0, 0),
    "all scores negative": lambda n: two_valued(n, -2, -3, 4, 1),
    "free extension": lambda n: two_valued(n, 5, -4, 7, 0),
    "edit": edit,
}
for _weights in ["2/-1/1", "1/-1/1", "0/-1/1", "1/0/1", "1/0/0", "2/0/1", "1/-2/1", "2/1/1", "1/-1/0", "3/-1/0", "4/3/0", "6/-3/3"]:
    _match, _mismatch, _gap = map(int, _weights.split("/"))
    SCORINGS[f"unary {_weights}"] = lambda n, m=_match, x=_mismatch, g=_gap: two_valued(n, m, x, g, g)


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("letters", [2, 4, 15, 27])
def test_random_sets(engine, rng, name, letters):
    scheme = SCORINGS[name](letters)
    queries = random_set(rng, 4, 1, 150, letters)
    lanes = engine.instruction_set.vector_bytes
    targets = random_set(rng, int(rng.integers(1, 2 * lanes)), 1, 40, letters)
    check(engine, queries, targets, scheme)
    if name.startswith("unary"):  # bit-sliced from 8 targets a byte of a vector on
        check(engine, queries, random_set(rng, 8 * lanes + int(rng.integers(0, 9)), 1, 12, letters), scheme)


@pytest.mark.parametrize("span", [2, 30, 3000, 10**6])
@pytest.mark.parametrize("linear", [True, False])
def test_random_matrices(engine, rng, span, linear):
    for letters in (3, 15, 27):
        extend = int(rng.integers(0, span))
        scheme = scoring(rng.integers(-span, span, (letters, letters)), extend + (0 if linear else int(rng.integers(0, span))), extend)
        check(engine, random_set(rng, 5, 1, 40, letters), random_set(rng, 70, 1, 30, letters), scheme)


@st.composite
def cases(draw):
    letters = draw(st.sampled_from([1, 2, 4, 15, 27]))
    sequence = st.lists(st.integers(0, letters - 1), min_size=1, max_size=300)
    weight = st.integers(*draw(st.sampled_from([(-3, 3), (-10, 10), (-300, 300), (-(2**20), 2**20)])))
    extend = draw(st.integers(0, 6))
    extra = draw(st.sampled_from([0, 0, 1, 5, 1000]))
    if draw(st.booleans()):
        scheme = two_valued(letters, draw(weight), draw(weight), extend + extra, extend)
    else:
        seed = draw(st.integers(0, 2**32 - 1))
        low, high = sorted((draw(weight), draw(weight)))
        scheme = scoring(np.random.default_rng(seed).integers(low, high + 1, (letters, letters)), extend + extra, extend)
    if draw(st.integers(0, 3)) == 0:
        scheme = edit(letters)
    return sequence_set([draw(sequence) for _ in range(2)]), sequence_set([draw(sequence) for _ in range(3)]), scheme


@settings(max_examples=150)
@given(cases())
def test_any_case_on_any_instruction_set(case):
    queries, targets, scheme = case
    expected = score_matrix(records(queries), records(targets), scheme)
    for name in SETS:
        np.testing.assert_array_equal(run_scores(queries, targets, scheme, engine=CpuEngine(1, name)), expected)


@pytest.mark.parametrize("name", ["bytes, affine", "bytes, linear", "unary 2/-1/1", "edit"])
def test_lengths_of_one(engine, name):
    scheme = SCORINGS[name](4)
    ones, mixed = sequence_set([[0], [1], [3]]), sequence_set([[0], [2] * 200, [1, 0], [3]])
    for queries, targets in [(ones, ones), (ones, mixed), (mixed, ones), (mixed, mixed)]:
        check(engine, queries, targets, scheme)


@pytest.mark.parametrize("name", ["bytes, affine", "16 bits, affine", "32 bits, linear", "unary 2/-1/1", "edit"])
def test_lengths_around_strips_and_column_groups(engine, name):
    scheme = SCORINGS[name](4)
    rng = np.random.default_rng(5)
    for rows in (63, 64, 65, 127, 128, 129, 257):
        queries = sequence_set([rng.integers(0, 4, rows)])
        targets = sequence_set([rng.integers(0, 4, n) for n in (1, 2, 3, 4, 5, 63, 64, 65)])
        check(engine, queries, targets, scheme, copies=engine.instruction_set.vector_bytes)  # enough to be bit-sliced


@pytest.mark.parametrize("pairing", [Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL])
@pytest.mark.parametrize("name", ["bytes, affine", "unary 2/-1/1", "edit"])
def test_one_set_with_itself(engine, rng, pairing, name):
    sequences = random_set(rng, 70, 1, 40, 4)
    scheme = SCORINGS[name](4)
    expected = score_matrix(records(sequences), records(sequences), scheme)
    found = run_scores(sequences, sequences, scheme, pairing, engine)
    i, j = np.indices(expected.shape)
    wanted = j > i if pairing is Pairing.ABOVE else j >= i
    np.testing.assert_array_equal(found[wanted], expected[wanted])


@pytest.mark.parametrize("name", [name for name in SCORINGS if name.startswith("unary")] + ["edit"])
@pytest.mark.parametrize("letters", [4, 7, 8, 15, 16, 27])
def test_several_queries_in_a_vector(engine, rng, name, letters):
    """As where a set is compared with itself: of a query and the block it is in, few pairs are wanted. The letters fill one table of a
    column or two, or are too many. The baseline takes a query at a time.
    """
    scheme = SCORINGS[name](letters)
    sequences = random_set(rng, 6 * engine.instruction_set.vector_bytes + int(rng.integers(0, 50)), 1, 14, letters)
    if name == "edit":
        sequences = random_set(rng, int(rng.integers(2, 80)), 1, 200, letters)
    for pairing in (Pairing.ABOVE, Pairing.ALL):
        found = run_scores(sequences, sequences, scheme, pairing, engine)
        np.testing.assert_array_equal(found, run_scores(sequences, sequences, scheme, pairing, CpuEngine(1, "baseline")))


@pytest.mark.parametrize("name", ["bytes, affine", "16 bits, affine", "unary 1/-1/1", "edit"])
def test_tile_size_and_threads_change_nothing(rng, name):
    sequences = random_set(rng, 120, 1, 80, 15)
    scheme = SCORINGS[name](15)
    expected = run_scores(sequences, sequences, scheme, Pairing.ABOVE_OR_EQUAL)
    for threads in (1, 2, 3):
        for cells in (1, 5000, 10**6):
            found = run_scores(sequences, sequences, scheme, Pairing.ABOVE_OR_EQUAL, CpuEngine(threads), tile_cells=cells)
            np.testing.assert_array_equal(found, expected)


def test_scores_past_32_bits(engine):
    scheme = two_valued(4, 2**30, -(2**30), 5, 5)
    sequences = sequence_set([[0, 1, 2, 3] * 3, [0, 1, 2, 3] * 2])
    assert int(score_matrix(records(sequences), records(sequences), scheme).max()) > 2**31
    check(engine, sequences, sequences, scheme)


# ---- Myers' words: what decides is the number of targets, so single pairs go that way


@pytest.mark.parametrize("letters", [2, 4, 5, 15, 27])
@pytest.mark.parametrize("identity", [0.0, 0.5, 0.9, 0.999])
def test_single_pairs_by_edit_distance(engine, rng, letters, identity):
    for length in (1, 63, 64, 65, 300, 1023, 1025, 2500):
        query = rng.integers(0, letters, length)
        target = query.copy()
        change = rng.random(length) > identity
        target[change] = rng.integers(0, letters, int(change.sum()))
        target = np.concatenate([rng.integers(0, letters, rng.integers(0, 80)), target[rng.random(length) < 0.99], [0]])
        expected = edit_distance(query, target)  # either way round
        for a, b in ((query, target), (target, query)):
            assert run_scores(sequence_set([a]), sequence_set([b]), edit(letters), engine=engine)[0, 0] == expected


@pytest.mark.parametrize("letters", [2, 4, 15, 27])
@pytest.mark.parametrize("name", ["bytes, linear", "bytes, affine", "bytes, affine, dear mismatches", "free extension", "free gaps"])
def test_single_pairs_by_score(engine, rng, letters, name):
    """Long enough to go to the wavefront; lengths around its lanes, depth and column groups."""
    scheme = SCORINGS[name](letters)
    lanes = engine.instruction_set.vector_bytes
    for rows, columns in [(200, 300), (lanes * 48, 257), (lanes * 48 + 1, 258), (lanes * 96 - 1, 259), (lanes * 7, 1500), (1001, 1000)]:
        query = rng.integers(0, letters, rows)
        target = np.resize(query, columns).copy()
        change = rng.random(columns) < 0.3
        target[change] = rng.integers(0, letters, int(change.sum()))
        check(engine, sequence_set([query]), sequence_set([target]), scheme)


def test_kernels_agree_where_the_choice_is_free(engine, rng):
    """The same pairs alone (kernels of single pairs) and among many (targets in lanes)."""
    sequences = random_set(rng, 300, 200, 260, 5)
    for scheme in (edit(5), two_valued(5, 5, -4, 10, 1), two_valued(5, 5, -4, 6, 6)):
        together = run_scores(sequences, sequences, scheme, engine=engine)
        for i, record in enumerate(records(sequences)[:3]):
            for j in (0, 150, 299):
                alone = run_scores(sequence_set([record]), sequence_set([records(sequences)[j]]), scheme, engine=engine)
                assert alone[0, 0] == together[i, j]


def test_the_recipe_follows_its_rule():
    def kernel(scheme, targets=1000, longest=1500, memory=1 << 28, vector_bytes=64):
        recipe = make_recipe(scheme, 15, targets, longest, vector_bytes, memory)
        return recipe.bitsliced, recipe.pairs, recipe.width

    assert kernel(edit(15)) == (True, "myers", 8)
    assert kernel(two_valued(15, 2, -1, 1, 1)) == (True, "", 8)
    assert kernel(two_valued(15, 5, -4, 6, 6)) == (False, "wavefront", 8)
    assert kernel(two_valued(15, 5, -4, 10, 1)) == (False, "wavefront", 8)
    assert kernel(two_valued(15, 91, -114, 400, 30)) == (False, "", 16)
    assert kernel(two_valued(15, 10**6, -1, 9, 9)) == (False, "", 32)
    assert kernel(two_valued(15, 2, -1, 1, 1), targets=3) == (True, "", 8)
    for less in ({"targets": 84, "vector_bytes": 16}, {"longest": 65_537}, {"memory": 1 << 20}):
        assert kernel(two_valued(15, 2, -1, 1, 1), **less) == (False, "wavefront", 8)
