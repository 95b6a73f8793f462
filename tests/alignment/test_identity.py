"""The definitions of identity on statistics made by hand."""

import numpy as np
import pytest

from gpualign.core.alignment.identity import DEFINITIONS, fraction, identity_ratio
from gpualign.core.alignment.tile_results import STATISTICS

SHORT, LONG = 10, 12


def fractions(definition, **counts):
    statistics = np.zeros((1, 1), dtype=STATISTICS)
    for name, value in counts.items():
        statistics[name] = value
    return fraction(*identity_ratio(statistics, np.array([[SHORT]]), np.array([[LONG]]), definition))[0, 0]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_an_alignment_without_columns(definition):
    assert fractions(definition) == 0


@pytest.mark.parametrize(("definition", "expected"), list(zip(DEFINITIONS, [7 / 10, 7 / 13, 7 / 11, 1 - 4 / 12, 7 / 13], strict=True)))
def test_an_alignment(definition, expected):
    assert fractions(definition, matches=7, mismatches=2, gaps=4, gap_opens=2, end_gaps=2) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(("definition", "expected"), list(zip(DEFINITIONS, [0, 0, 0, 1 - 2 / 12, 0], strict=True)))
def test_an_alignment_of_gaps_alone(definition, expected):
    assert fractions(definition, gaps=22, gap_opens=2, end_gaps=22) == pytest.approx(expected, abs=1e-15)
