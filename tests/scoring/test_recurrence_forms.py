"""The widths that core/scoring/recurrence_forms.py grants: every value that the recurrences form stays within them, and the forms are
exact."""

from math import gcd

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracle import global_score
from work import scoring, two_valued

from gpualign.core.scoring.recurrence_forms import difference_form, element_width, unary_form


def difference_recurrence(query, target, scheme):
    """The kernel's recurrence (cpu/alignment/src/difference.hpp) in Python integers: (score, every value it forms)."""
    form = difference_form(scheme)
    o = form.open_extra
    m, n = len(query), len(target)
    v = [-o] + [0] * (n - 1)
    y = [step - o for step in v]
    seen = {0, -o, *y}
    for i in range(m):
        u = -o if i == 0 else 0
        x = u - o
        for j in range(n):
            s = int(form.rebased_scores[query[i], target[j]])
            z = max(s, x, y[j]) if o else max(s, u, v[j])
            opened = z - o
            x, y[j] = max(x, opened) - v[j], max(y[j], opened) - u
            u, v[j] = z - v[j], z - u
            seen |= {s, z, opened, u, v[j], x, y[j]}
    return sum(v) - o - scheme.gap_extend * (m + n), seen


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
    assert form.min_value <= min(seen)
    assert max(seen) <= form.max_value
    lowest, highest = (0, 2**form.width) if form.open_extra == 0 else (-(2 ** (form.width - 1)), 2 ** (form.width - 1))
    assert lowest <= form.min_value
    assert form.max_value < highest


def test_the_step_bounds_are_attained():
    # A match beside a gap, and a gap that opens where two others meet: the bounds that pick the width are not slack.
    scheme = scoring([[7, -90], [-90, 7]], 10, 1)
    _, seen = difference_recurrence([1, 0, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1, 1], scheme)
    form = difference_form(scheme)
    assert max(seen) == form.max_value == (7 + 2) + 9
    assert min(seen) == form.min_value == -3 * 9


@pytest.mark.parametrize(
    ("least", "largest", "width"),
    [
        (0, 0, 8),
        (0, 255, 8),
        (0, 256, 16),
        (0, 65535, 16),
        (0, 65536, 32),
        (0, 2**32 - 1, 32),
        (-1, 127, 8),
        (-128, 0, 8),
        (-1, 128, 16),
        (-129, 0, 16),
        (-(2**15), 2**15 - 1, 16),
        (-1, 2**15, 32),
        (-(2**31), 2**31 - 1, 32),
    ],
)
def test_width_is_the_narrowest(least, largest, width):
    assert element_width(least, largest) == width


@pytest.mark.parametrize(("least", "largest"), [(0, 2**32), (-1, 2**31), (-(2**31) - 1, 0)])
def test_width_refuses_what_does_not_fit(least, largest):
    with pytest.raises(OverflowError):
        element_width(least, largest)


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
    assert gcd(form.match_steps, form.mismatch_steps) == 1  # others are not compiled (cpu/alignment/src/bitsliced.hpp)
    sequence = st.lists(st.integers(0, 2), min_size=1, max_size=12)
    query, target = data.draw(sequence), data.draw(sequence)
    steps = two_valued(3, form.match_steps, form.mismatch_steps, 0, 0)
    rebased = global_score(query, target, steps.substitution, 0, 0)
    expected = global_score(query, target, scheme.substitution, gap, gap)
    assert form.factor * rebased - gap * (len(query) + len(target)) == expected
