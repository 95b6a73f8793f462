"""How the CPU engine plans the search for near pairs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from oracle import edit_distance
from relatives import edited

from gpualign.core.alignment.task import Task
from gpualign.core.near_pairs.filter_cascade import FilterCascade
from gpualign.core.near_pairs.sampling import sample_records
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.near_pairs.recipe import NearPairRecipe, make_near_pair_recipe, near_pair_instruction_set, near_pair_tile_limits

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


def test_the_sample_tells_how_many_pairs_are_near(rng):
    parents = [rng.integers(0, 4, 40).tolist() for _ in range(8)]
    sets = []
    for count in (20, 2600):
        records = [edited(rng, parents[int(rng.integers(8))], 6, 4) for _ in range(count)]
        offsets = np.concatenate(([0], np.cumsum([len(record) for record in records])))
        codes = np.array([code for record in records for code in record], dtype=np.uint8)
        sets.append(SequenceSet("made up", [f"r{k}" for k in range(count)], codes, offsets))
    task = Task(*sets, make_scoring(DNA, ScoringOptions(edit=True)), edit_bound=EditBound(0.0, 0.0, 9.0))
    recipe = make_near_pair_recipe(task, 4, near_pair_instruction_set(None), 1 << 30, allow_full_matrix=False)
    queries, targets = ([one.codes[start:stop].tolist() for start, stop in pairwise(one.offsets.tolist())] for one in sample_records(*sets))
    near = sum(edit_distance(query, target) <= 9 for query in queries for target in targets)
    assert recipe.survivor_counts.examined == len(queries) * len(targets)
    assert near <= recipe.survivor_counts.after_sketches
    assert recipe.near_fraction == (near + 1) / (len(queries) * len(targets) + 1)
