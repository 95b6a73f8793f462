"""Bands of diagonals that prove themselves: the paths are those of the whole matrix, ties included."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import align
from path_cases import SCHEMES
from relatives import edited
from work import records, run_paths, sequence_set, two_valued

from gpualign.core.alignment.task import EndGaps
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment import path_recipe as paths
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.native_recipes import native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

SETS = [s.name for s in instruction_sets() if s.is_supported]
BYTES = [name for name, scheme in SCHEMES.items() if make_path_recipe(scheme, 15, EndGaps.PENALISED).banded]


def without_bands(monkeypatch):
    make = paths.make_path_recipe
    monkeypatch.setattr(paths, "make_path_recipe", lambda *a: replace(make(*a), banded=False))


def family(rng, letters, period):
    """A query and targets from equal to unrelated. period: letters after which the ancestor repeats, so that shifts are as good."""
    length = int(rng.integers(1, 500))
    ancestor = np.resize(rng.integers(0, letters, min(period, length)), length)
    targets = [
        edited(rng, ancestor, int(edits), letters, int(gap)) for edits, gap in zip([0, 1, 3, 9, 30], rng.integers(1, 90, 5), strict=True)
    ]
    targets.append(rng.integers(0, letters, int(rng.integers(1, 500))))
    return sequence_set([ancestor]), sequence_set(targets)


@pytest.mark.parametrize("period", [3, 40, 1000])
@pytest.mark.parametrize("scheme", BYTES)
@pytest.mark.parametrize("name", SETS)
def test_as_the_whole_matrix(rng, monkeypatch, name, scheme, period):
    letters = 15 if scheme == "protein" else int(rng.integers(2, 7))
    families = [family(rng, letters, period) for _ in range(4)]
    found = [run_paths(*sets, SCHEMES[scheme], engine=CpuEngine(1, name)) for sets in families]
    without_bands(monkeypatch)
    for sets, one in zip(families, found, strict=True):
        whole = run_paths(*sets, SCHEMES[scheme], engine=CpuEngine(1, name))
        np.testing.assert_array_equal(one.scores, whole.scores)
        assert one.paths == whole.paths
        assert one.statistics == whole.statistics


weights = st.tuples(st.integers(0, 6), st.integers(-6, 0), st.integers(0, 8), st.integers(0, 8))


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), weights, st.integers(1, 3), st.integers(2, 90))
def test_any_weights_and_many_ties(seed, weights, letters, gap):
    match, mismatch, first, second = weights
    rng = np.random.default_rng(seed)
    ancestor = np.resize(rng.integers(0, letters, int(rng.integers(1, 9))), int(rng.integers(1, 300)))
    target = edited(rng, ancestor, int(rng.integers(0, 8)), letters, gap)
    scheme = two_valued(3, match, mismatch, max(first, second), min(first, second))
    query, target = sequence_set([ancestor]), sequence_set([target])
    found = run_paths(query, target, scheme)
    score, path, _ = align(records(query)[0], records(target)[0], scheme, False, False)
    assert (found.scores[0, 0], found.paths[0, 0]) == (score, path)


@pytest.mark.parametrize("name", SETS)
def test_letters_of_every_table(rng, monkeypatch, name):
    """Four letters share a look-up, up to 15 take one each, more than that two."""
    for letters, scheme in ((4, "default"), (15, "default"), (24, "protein")):
        ancestor = rng.integers(0, letters, 700)
        query, target = sequence_set([ancestor]), sequence_set([edited(rng, ancestor, 20, letters, 5)])
        with monkeypatch.context() as patch:
            found = run_paths(query, target, SCHEMES[scheme], engine=CpuEngine(1, name))
            without_bands(patch)
            assert found.paths == run_paths(query, target, SCHEMES[scheme], engine=CpuEngine(1, name)).paths


def test_near_pairs_take_no_more_than_a_band(rng):
    query = rng.integers(0, 4, 20_000)
    near, far = query.copy(), rng.integers(0, 4, 20_000)
    near[::5_000] ^= 1
    recipe = make_path_recipe(SCHEMES["default"], 4, EndGaps.PENALISED)
    name = CpuEngine(1).instruction_set.name
    little = _kernels.path_bytes(name, native_path_recipe(recipe, 0), 20_000, 20_000)[1] - 1  # for the edges of the whole matrix

    def align_to(target, recipe):
        sets = sequence_set([query]), sequence_set([target])
        place = [array for one in sets for array in (one.codes, one.offsets, np.arange(1))]
        return _kernels.align_tile(name, *place, "all", native_path_recipe(recipe, little), True, _kernels.Cancel())

    scores, statistics, *_ = align_to(near, recipe)
    assert scores[0, 0] == 5 * 19_996 - 4 * 4
    assert statistics[0, 0, :4].tolist() == [19_996, 4, 0, 0]
    for sequence, bands in ((far, True), (near, False)):
        with pytest.raises(_kernels.ScratchTooSmall):
            align_to(sequence, replace(recipe, banded=bands))


def test_free_ends_and_wide_numbers_have_no_bands():
    assert not make_path_recipe(SCHEMES["default"], 4, EndGaps.QUERY).banded
    assert not make_path_recipe(SCHEMES["16 bits"], 4, EndGaps.PENALISED).banded
    assert make_path_recipe(SCHEMES["edit"], 4, EndGaps.PENALISED).banded
