"""The kernels of Li et al. 2013 give the alignments of the CPU engine: on the host everywhere, on a device where there is one."""

from dataclasses import replace

import numpy as np
import pytest
from host_device import HostDevice, compiler
from relatives import relatives
from work import edit, run_paths, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.common.errors import InputError, RunError
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.papers.li import METHODS, BlockSizes, LiEngine, TransferMode, pick_method

SMALL = BlockSizes(tile_size=4, dscan_threads=8, max_query_length=60, rscan_threads=4, section_columns=5)
SCORINGS = {
    "the paper's": (two_valued(4, 4, -5, 6, 6), 4),
    "ties": (two_valued(4, 1, -1, 1, 1), 4),
    "edit": (edit(4), 4),
    "protein": (scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 8, 8), 27),
}


def same(queries, targets, scheme, pairing, engine, detail=Detail.PATH, **more):
    found = run_paths(queries, targets, scheme, pairing=pairing, engine=engine, detail=detail, **more)
    expected = run_paths(queries, targets, scheme, pairing=pairing, engine=CpuEngine(2), detail=detail)
    assert found.statistics == expected.statistics
    assert found.paths == expected.paths
    assert len(found.statistics) == (found.delivered > 0).sum() or pairing is not Pairing.ALL


def make(device, method, transfer=TransferMode.DOUBLE):
    return LiEngine(device, method, transfer, SMALL if device.arch == "host" else None)


@pytest.fixture(params=METHODS)
def engine(request, device):
    return make(device, request.param)


@pytest.mark.parametrize("name", SCORINGS)
def test_scores_of_pairs_of_any_length(rng, engine, name):
    scheme, letters = SCORINGS[name]
    queries, targets = relatives(rng, 5, 23, letters), relatives(rng, 4, 17, letters)
    found = run_scores(queries, targets, scheme, engine=engine)
    np.testing.assert_array_equal(found, run_scores(queries, targets, scheme, engine=CpuEngine(1)))


@pytest.mark.parametrize("name", SCORINGS)
def test_paths_take_the_same_turns(rng, engine, name):
    scheme, letters = SCORINGS[name]
    sequences = relatives(rng, 6, 23, letters)
    same(sequences, sequences, scheme, Pairing.ABOVE, engine)
    same(sequences, relatives(rng, 3, 20, letters), scheme, Pairing.ALL, engine)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize("transfer", TransferMode)
def test_transfers_and_batches_do_not_matter(rng, transfer):
    scheme, letters = SCORINGS["the paper's"]
    sequences = relatives(rng, 7, 20, letters)
    device = HostDevice()
    engine = make(device, "tiled-dscan", transfer)
    same(sequences, sequences, scheme, Pairing.ABOVE_OR_EQUAL, engine, Detail.STATISTICS, memory=1 << 15)
    assert device.used == 0
    assert not device.opened


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("transfer", TransferMode)
def test_real_lengths_on_a_device(rng, real_device, method, transfer):
    scheme, letters = SCORINGS["the paper's"]
    sequences = relatives(rng, 12, 1600, letters)
    same(sequences, sequences, scheme, Pairing.ABOVE, LiEngine(real_device, method, transfer))


def test_what_the_papers_kernels_do_not_compute(device):
    sequences = sequence_set([np.zeros(80, np.uint8)])
    linear, affine = SCORINGS["the paper's"][0], two_valued(4, 5, -4, 10, 1)
    refused = [
        (Task(sequences, sequences, affine), "linear gaps"),
        (Task(sequences, sequences, linear, Mode.LOCAL), "linear gaps"),
        (replace(Task(sequences, sequences, linear), end_gaps=EndGaps.FREE), "no free end gaps"),
    ]
    for task, message in refused:
        with pytest.raises(InputError, match=message):
            LiEngine(device, "rscan").prepare(task, Budget.from_total(1 << 20))
    with pytest.raises(InputError, match=r"dscan .* 60 letters .*, a query has 80; use tiled-dscan"):
        LiEngine(device, "dscan", block_sizes=SMALL).prepare(Task(sequences, sequences, linear), Budget.from_total(1 << 20))
    with pytest.raises(RunError, match="a matrix takes 26,244 bytes"):
        LiEngine(device, "rscan").prepare(Task(sequences, sequences, linear), Budget.from_total(1 << 15))


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize("transfer", TransferMode)
def test_a_device_without_memory_for_one_matrix(rng, transfer):
    sequences = sequence_set([rng.integers(0, 4, 40) for _ in range(3)])
    with pytest.raises(RunError, match="too little free memory: the matrix of the two longest sequences takes 6,724 bytes"):
        run_scores(sequences, sequences, edit(4), engine=LiEngine(HostDevice(reported=6000), "rscan", transfer, SMALL))


def test_the_papers_choice():
    assert pick_method("Tesla C2075") == "tiled-dscan"
    assert pick_method("NVIDIA H200") == "dscan"
