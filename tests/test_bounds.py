"""The widths that core/bounds.py grants: every value that the recurrences form stays within them, and the forms are exact."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import global_score
from work import scoring, two_valued

from gpualign.core.bounds import difference_form, unary_form, width_for


def difference_recurrence(query, target, scheme):
    """The kernel's recurrence (cpu/src/difference.hpp) in Python integers: (score, every value it forms)."""
    form = difference_form(scheme)
    o = form.open_extra
    m, n = len(query), len(target)
    v = [0] + [o] * (n - 1)
    y = [0] * n
    seen = {0, o}
    for i in range(m):
        u, x = (0 if i == 0 else o), 0
        for j in range(n):
            s = int(form.shifted[query[i], target[j]])
            a, b = x + u, y[j] + v[j]
            z = max(s, a, b)
            u, v[j] = z - v[j], z - u
            if form.tight:
                t = z - o
                x, y[j] = max(0, a - t), max(0, b - t)
                seen |= {t}
            else:
                x, y[j] = max(0, a + o - z), max(0, b + o - z)
                seen |= {a + o, b + o}
            seen |= {s, a, b, z, u, v[j], x, y[j]}
    return sum(v) - o * (n + 1) - scheme.gap_extend * (m + n), seen


@st.composite
def problems(draw):
    letters = draw(st.integers(1, 4))
    weight = st.integers(-40, 40) if draw(st.booleans()) else st.integers(-1000, 1000)
    table = [[draw(weight) for _ in range(letters)] for _ in range(letters)]
    extend = draw(st.integers(0, 12))
    sequence = st.lists(st.integers(0, letters - 1), min_size=1, max_size=25)
    return draw(sequence), draw(sequence), scoring(table, extend + draw(st.integers(0, 30)), extend)


@given(problems())
@example(([0] * 20, [0] * 20, scoring([[15]], 60, 0)))
@example(([0], [1] * 9, scoring([[5, -4], [-4, 5]], 10, 1)))
def test_difference_recurrence_is_exact_and_stays_in_its_element(problem):
    query, target, scheme = problem
    form = difference_form(scheme)
    score, seen = difference_recurrence(query, target, scheme)
    assert score == global_score(query, target, scheme.substitution, scheme.gap_open, scheme.gap_extend)
    assert min(seen) >= 0
    assert max(seen) <= form.largest < 2**form.width


def test_the_step_bounds_are_attained():
    # A match beside a gap: the steps reach S + 2o, so the bound that picks the width is not slack by more than sums.
    scheme = scoring([[7, -9], [-9, 7]], 10, 1)
    _, seen = difference_recurrence([1, 0, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1, 1], scheme)
    assert max(seen) >= (7 + 2) + 2 * 9


@pytest.mark.parametrize(("largest", "width"), [(0, 8), (255, 8), (256, 16), (65535, 16), (65536, 32), (2**32 - 1, 32)])
def test_width_is_the_narrowest(largest, width):
    assert width_for(largest) == width


def test_width_refuses_what_does_not_fit():
    with pytest.raises(OverflowError):
        width_for(2**32)


@pytest.mark.parametrize(
    ("weights", "form"),
    [
        ((2, -1, 1), (4, 1, 1)),
        ((0, -1, 1), (2, 1, 1)),
        ((4, -2, 2), (4, 1, 2)),
        ((1, -5, 1), (1, 0, 3)),
        ((5, -4, 6), (17, 8, 1)),
        ((1, 0, 0), (1, 0, 1)),
    ],
)
def test_unary_form(weights, form):
    match, mismatch, gap = weights
    found = unary_form(two_valued(4, match, mismatch, gap, gap))
    assert (found.match_steps, found.mismatch_steps, found.factor) == form


def test_no_unary_form():
    assert unary_form(two_valued(4, 2, -1, 3, 1)) is None  # affine
    assert unary_form(two_valued(4, -1, 2, 1, 1)) is None  # a mismatch is better
    assert unary_form(scoring(np.eye(4), 1, 1)) is None  # not known to have two values


@given(st.integers(-3, 6), st.integers(-8, 5), st.integers(0, 4), st.data())
def test_unary_form_keeps_the_score(match, mismatch, gap, data):
    scheme = two_valued(3, match, mismatch, gap, gap)
    form = unary_form(scheme)
    if form is None:
        return
    sequence = st.lists(st.integers(0, 2), min_size=1, max_size=12)
    query, target = data.draw(sequence), data.draw(sequence)
    steps = two_valued(3, form.match_steps, form.mismatch_steps, 0, 0)
    rebased = global_score(query, target, steps.substitution, 0, 0)
    expected = global_score(query, target, scheme.substitution, gap, gap)
    assert form.factor * rebased - gap * (len(query) + len(target)) == expected
