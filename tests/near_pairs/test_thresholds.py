"""Thresholds as users give them, checked in one place for the command line and Python."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpualign.core.common.errors import InputError
from gpualign.core.results.filter import Filter
from gpualign.jobs.options import PairThresholds, check_distance

NUMBERS = st.none() | st.sampled_from([0.0, 1.0, 2.0, -1.0, 0.5, 1.5, math.inf, math.nan]) | st.floats(-3, 30)


def is_fraction(value):
    return value is None or 0 <= value <= 1


def is_count(value):
    return value is None or value in range(100)


@example(None, None, None, math.inf, None, False, False)
@given(st.none() | st.integers(-5, 5), NUMBERS, NUMBERS, NUMBERS, st.none() | st.integers(1, 3), st.booleans(), st.booleans())
def test_thresholds_in_range_become_a_filter(score, identity, coverage, distance, nearest, edit, same):
    thresholds = PairThresholds(score, identity, coverage, distance, nearest)
    right = is_count(distance) and score is None if edit else is_fraction(distance)
    if not (right and is_fraction(identity) and is_fraction(coverage)):
        with pytest.raises(InputError, match=r"^m(in|ax)_"):
            thresholds.make_filter(edit, same)
        return
    assert thresholds.make_filter(edit, same) == Filter(
        min_score=score,
        max_score=distance if edit else None,
        min_identity=identity,
        max_distance=None if edit else distance,
        min_coverage=coverage,
        nearest_count=nearest,
        one_set=same and nearest is not None,
    )


@pytest.mark.parametrize("distance", [-1e-9, math.inf, math.nan])
def test_no_distance_is_negative_or_infinite(distance):
    with pytest.raises(InputError, match="max_distance: expected 0 or more"):
        check_distance(distance)


def test_distances_of_unknown_unit_may_be_any_number():
    for distance in (None, 0, 0.5, 1e300):
        check_distance(distance)
