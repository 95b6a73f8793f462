"""How the CPU engine cuts the search for near pairs."""

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.near_pairs.filter_cascade import FilterCascade
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.near_pairs.recipe import NearPairRecipe, near_pair_tile_limits

SKETCHED = NearPairRecipe(FilterCascade(q=4, sketch_bits=256), pair_nanoseconds=1.5, near_fraction=1e-5)


def task_of(count):
    codes = np.zeros(count * 4, dtype=np.uint8)
    records = SequenceSet("made up", [f"r{k}" for k in range(count)], codes, np.arange(count + 1) * 4)
    return Task(records, records, make_scoring(DNA, ScoringOptions(edit=True)), edit_bound=EditBound(0.0, 0.0, 1.0))


def limits_of(recipe=SKETCHED, count=100_000, memory=1 << 30, threads=2):
    return near_pair_tile_limits(task_of(count), recipe, Budget.from_total(memory), 4, threads)


def test_more_memory_has_no_larger_bands():
    """Near pairs of a family that stands together come in few bands, whatever the sample says of all pairs."""
    assert limits_of().band_rows == limits_of(memory=1 << 40, threads=64).band_rows == 512


def test_results_of_a_band_fit_the_memory():
    """Of a quarter of all pairs."""
    found = limits_of(replace(SKETCHED, near_fraction=0.25), memory=1 << 30)
    assert 3 * found.band_rows * 100_000 * 0.25 * 100 <= found.result_bytes
