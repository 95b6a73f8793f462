"""Paths of edit distances with one bit a target, against the definition and against the kernels with an element a lane."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from path_cases import SCHEMES, SETS, check, repeats
from relatives import relatives
from work import records, run_paths, sequence_set

from gpualign.core.alignment.task import Detail, EndGaps
from gpualign.core.planning.tile_plan import Pairing
from gpualign.cpu.alignment import _kernels, engine
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.alignment.native_recipes import native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

EDIT = SCHEMES["edit"]


@pytest.fixture
def recipes(monkeypatch):
    """Changes the recipes of all runs that follow: recipes(banded=False) leaves no pair to bands of diagonals."""

    def change(worker_bytes=None, **fields):
        def changed(recipe, bytes_there):
            return native_path_recipe(replace(recipe, **fields), worker_bytes or bytes_there)

        monkeypatch.setattr(engine, "native_path_recipe", changed)

    return change


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("make", [relatives, repeats])
@pytest.mark.parametrize("letters", [2, 15])
def test_every_path_is_the_one_of_the_definition(rng, recipes, name, make, letters):
    recipes(banded=False)
    check(make(rng, 3, 150, letters), make(rng, 40, 150, letters), EDIT, EndGaps.PENALISED, CpuEngine(1, name))


@pytest.mark.parametrize("name", SETS)
def test_every_lane_and_edge_of_a_tile(rng, recipes, name):
    """More targets than a vector has bits; lengths on both sides of the edges of tiles; the same paths as by elements."""
    lengths = [1, 2, 63, 64, 65, 127, 128, 129, 200]
    ancestor = rng.integers(0, 4, 200)
    queries = sequence_set([np.where(rng.random(n) < 0.8, ancestor[:n], rng.integers(0, 4, n)) for n in lengths])
    picked = [*lengths, *rng.integers(1, 200, 591)]
    starts = [rng.integers(0, 201 - n) for n in picked]
    targets = sequence_set(
        [np.where(rng.random(n) < 0.7, ancestor[s : s + n], rng.integers(0, 4, n)) for n, s in zip(picked, starts, strict=True)]
    )
    recipes(banded=False)
    found = run_paths(queries, targets, EDIT, engine=CpuEngine(1, name))
    recipes(banded=False, sliced=False)
    expected = run_paths(queries, targets, EDIT, engine=CpuEngine(1, name))
    assert len(found.paths) == len(lengths) * 600
    assert found.paths == expected.paths
    assert found.statistics == expected.statistics
    np.testing.assert_array_equal(found.scores, expected.scores)


few_letters = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=70), min_size=1, max_size=8)


@settings(max_examples=100)
@given(few_letters, few_letters)
def test_many_ties(queries, targets):
    check(sequence_set(queries), sequence_set(targets), EDIT, EndGaps.PENALISED, CpuEngine(1))


def test_pairs_above_the_diagonal_and_statistics_alone(rng, recipes):
    recipes(banded=False)
    sequences = relatives(rng, 90, 200, 4)
    found = run_paths(sequences, sequences, EDIT, pairing=Pairing.ABOVE, engine=CpuEngine(2))
    alone = run_paths(sequences, sequences, EDIT, pairing=Pairing.ABOVE, detail=Detail.STATISTICS)
    assert len(found.paths) == 90 * 89 // 2
    assert alone.statistics == found.statistics
    assert not alone.paths


@pytest.mark.parametrize("name", SETS)
def test_little_memory_takes_fewer_targets_at_once(rng, recipes, name):
    """Less than a block of bits needs, enough for one of elements."""
    queries, targets = sequence_set(rng.integers(0, 4, (2, 400))), sequence_set(rng.integers(0, 4, (30, 400)))
    expected = run_paths(queries, targets, EDIT, engine=CpuEngine(1, name))
    whole = make_path_recipe(EDIT, 4, EndGaps.PENALISED)
    bits, elements = (
        _kernels.path_bytes(name, native_path_recipe(replace(whole, sliced=sliced), 0), 400, 400)[0] for sliced in (True, False)
    )
    assert elements < bits
    recipes(worker_bytes=elements)
    assert run_paths(queries, targets, EDIT, engine=CpuEngine(1, name)).paths == expected.paths
    assert len(records(targets)) * len(records(queries)) == len(expected.paths)
