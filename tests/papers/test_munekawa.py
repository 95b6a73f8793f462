"""The kernels of Munekawa et al. 2008 give the scores of the CPU engine: on the host everywhere, on a device where there is one."""

import numpy as np
import pytest
from relatives import relatives
from work import records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Mode
from gpualign.core.common.errors import InputError
from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.papers.munekawa import MAX_STRIP_ROWS, METHODS, MunekawaEngine

SCORINGS = {
    "the paper's": (two_valued(4, 2, -1, 1, 1), 4),
    "affine": (two_valued(4, 5, -4, 10, 1), 4),
    "protein": (scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 12, 1), 27),
}


@pytest.fixture(params=METHODS)
def engine(request, device):
    return MunekawaEngine(device, request.param, 16 if device.arch == "host" else MAX_STRIP_ROWS[request.param])


@pytest.mark.parametrize("name", SCORINGS)
@pytest.mark.parametrize("longest", [5, 16, 17, 75])
def test_queries_of_any_length_are_split(rng, engine, name, longest):
    """On the host a strip has 16 rows."""
    scheme, letters = SCORINGS[name]
    queries, targets = relatives(rng, 3, longest, letters), relatives(rng, 4, 60, letters)
    found = run_scores(queries, targets, scheme, engine=engine, mode=Mode.LOCAL)
    np.testing.assert_array_equal(found, run_scores(queries, targets, scheme, engine=CpuEngine(1), mode=Mode.LOCAL))


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("longest", [1023, 1025, 2049, 6000])
def test_long_queries_on_a_device(rng, real_device, method, longest):
    scheme, letters = SCORINGS["protein"]
    queries = sequence_set([rng.integers(0, letters, longest), rng.integers(0, letters, 40)])
    targets = relatives(rng, 300, 700, letters)
    targets = sequence_set([*records(targets), np.tile(records(queries)[0], 2)])
    found = run_scores(queries, targets, scheme, engine=MunekawaEngine(real_device, method), mode=Mode.LOCAL)
    np.testing.assert_array_equal(found, run_scores(queries, targets, scheme, engine=CpuEngine(), mode=Mode.LOCAL))


def test_scores_beyond_32_bits_are_refused(device):
    one = sequence_set([np.zeros(50, np.uint8)])
    with pytest.raises(InputError, match="scores of 32 bits"):
        run_scores(one, one, two_valued(4, 10**8, -4, 10, 1), engine=MunekawaEngine(device, METHODS[0], 16), mode=Mode.LOCAL)
