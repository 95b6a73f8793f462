"""Paths, statistics and free end gaps of the CPU engine against the definition, for every instruction set of this machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import rescore
from path_cases import SCHEMES, SETS, check
from relatives import related_sets, relatives
from work import run_paths, run_scores, sequence_set, two_valued

from gpualign.core.alignment.task import Detail, EndGaps
from gpualign.core.common.errors import RunError
from gpualign.core.planning.tile_plan import Pairing
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.native_recipes import native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("end_gaps", EndGaps)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_blocks_of_lanes(rng, scheme, end_gaps):
    check(*related_sets(rng, [3, 70], 150, 4), scheme, end_gaps, CpuEngine(1))


@pytest.mark.parametrize("end_gaps", EndGaps)
@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=SCHEMES)
def test_single_pairs(rng, scheme, end_gaps, single_pairs):
    check(*related_sets(rng, [3, 2], 200, 4), scheme, end_gaps, CpuEngine(1))


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("targets", [2, 40])
@pytest.mark.parametrize("scheme", ["default", "linear", "protein", "16 bits", "32 bits"])
def test_instruction_sets(rng, name, targets, scheme):
    letters = 20 if scheme == "protein" else 15
    check(*related_sets(rng, [2, targets], 300, letters), SCHEMES[scheme], EndGaps.FREE, CpuEngine(1, name))


weights = st.tuples(st.integers(0, 6), st.integers(-6, 0), st.integers(0, 8), st.integers(0, 8))
sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=40), min_size=1, max_size=12)


@settings(max_examples=150)
@given(sequences, sequences, weights, st.sampled_from(EndGaps))
def test_any_weights_and_many_ties(queries, targets, weights, end_gaps):
    match, mismatch, first, second = weights
    scheme = two_valued(3, match, mismatch, max(first, second), min(first, second))
    check(sequence_set(queries), sequence_set(targets), scheme, end_gaps, CpuEngine(1))


@pytest.mark.parametrize("scheme", ["default", "edit"])
def test_paths_do_not_depend_on_the_cut(rng, scheme):
    sequences = relatives(rng, 90, 260, 4)
    expected = run_paths(sequences, sequences, SCHEMES[scheme], pairing=Pairing.ABOVE)
    for more in ({"tile_cells": 300_000}, {"engine": CpuEngine(3)}, {"memory": 3 << 20}):
        found = run_paths(sequences, sequences, SCHEMES[scheme], pairing=Pairing.ABOVE, **more)
        assert found.paths == expected.paths
        assert found.statistics == expected.statistics
    assert len(expected.paths) == 90 * 89 // 2
    alone = run_paths(sequences, sequences, SCHEMES[scheme], pairing=Pairing.ABOVE, detail=Detail.STATISTICS)
    assert alone.statistics == expected.statistics
    assert not alone.paths


@pytest.mark.parametrize("scheme", ["default", "linear", "edit"])
@pytest.mark.parametrize("targets", [1, 60])
def test_many_tiles(rng, scheme, targets):
    """Longer than a tile both ways; gaps that leave a tile sideways."""
    scheme = SCHEMES[scheme]
    ancestor = rng.integers(0, 4, 900)
    query = np.concatenate([ancestor[:200], ancestor[500:]])
    others = [np.concatenate([ancestor[: k * 10], rng.integers(0, 4, 7 * k), ancestor[k * 10 :]]) for k in range(targets)]
    check(sequence_set([query]), sequence_set(others), scheme, EndGaps.PENALISED, CpuEngine(1))
    check(sequence_set([query]), sequence_set(others[-1:]), scheme, EndGaps.QUERY, CpuEngine(1))


def test_scores_of_free_ends_need_no_paths(rng):
    queries, targets = related_sets(rng, [4, 9], 120, 4)
    for scheme in SCHEMES.values():
        full = run_paths(queries, targets, scheme, EndGaps.FREE)
        alone = run_paths(queries, targets, scheme, EndGaps.FREE, detail=Detail.SCORE)
        np.testing.assert_array_equal(full.scores, alone.scores)
        np.testing.assert_array_equal(run_paths(queries, targets, scheme).scores, run_scores(queries, targets, scheme))


@pytest.mark.parametrize("scheme", ["default", "edit"])
def test_a_pair_of_100_kb_in_a_gigabyte(rng, scheme):
    """Its full matrix would have 10^10 cells."""
    scheme = SCHEMES[scheme]
    query = rng.integers(0, 4, 100_000)
    kept = query[rng.random(len(query)) > 0.01]
    target = np.where(rng.random(len(kept)) < 0.05, rng.integers(0, 4, len(kept)), kept)
    queries, targets = sequence_set([query]), sequence_set([target])
    found = run_paths(queries, targets, scheme, memory=1 << 30)
    assert rescore(found.paths[0, 0], query, target, scheme) == found.scores[0, 0] == run_scores(queries, targets, scheme)[0, 0]
    small = run_paths(queries, targets, scheme, memory=64 << 20)
    assert small.paths == found.paths


def test_too_little_memory_is_said(rng):
    sequences = sequence_set([rng.integers(0, 4, 200_000)])
    with pytest.raises(RunError, match="raise memory"):
        run_paths(sequences, sequences, SCHEMES["default"], memory=1 << 20)


def test_scratch_that_is_too_small_has_an_error_of_its_own(rng):
    pair = sequence_set([rng.integers(0, 4, 2000)])
    recipe = native_path_recipe(make_path_recipe(SCHEMES["default"], 4, EndGaps.PENALISED), 100)
    ids = np.arange(1)
    place = pair.codes, pair.offsets, ids, pair.codes, pair.offsets, ids
    with pytest.raises(_kernels.ScratchTooSmall, match=r"needs \d+ bytes of scratch, a worker has 100"):
        _kernels.align_tile(CpuEngine(1).instruction_set.name, *place, "all", recipe, True, _kernels.Cancel())
