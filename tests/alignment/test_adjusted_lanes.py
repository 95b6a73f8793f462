"""Hits with score tables of their own: side by side in lanes they have the scores and paths that they have one by one."""

from dataclasses import replace

import numpy as np
import pytest
from oracle import local_score
from path_cases import SETS

from gpualign.core.alignment.task import EndGaps
from gpualign.core.scoring.composition import ADJUST, UNITS_PER_POINT, matrix_model
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment import _kernels
from gpualign.cpu.alignment.local_recipe import make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe, native_path_recipe
from gpualign.cpu.alignment.path_recipe import make_path_recipe

PLAIN = make_scoring(PROTEIN, ScoringOptions(), local=True)
SCORING = replace(
    PLAIN,
    substitution=PLAIN.substitution * UNITS_PER_POINT,
    gap_open=PLAIN.gap_open * UNITS_PER_POINT,
    gap_extend=PLAIN.gap_extend * UNITS_PER_POINT,
)
MODEL = matrix_model(PLAIN, ADJUST)
ADJUSTER = _kernels.MatrixAdjuster(
    MODEL.target_frequencies, MODEL.ungapped_lambda, MODEL.stop_score, MODEL.stop_stop_score, MODEL.only_scales
)
RECIPE = make_local_recipe(SCORING, len(PROTEIN), 2000, 2000)
PATHS = native_path_recipe(make_path_recipe(SCORING, len(PROTEIN), EndGaps.PENALISED), 64 << 20)
ONE_BY_ONE = native_local_recipe(replace(RECIPE, most_columns=0))
IN_LANES = native_local_recipe(replace(RECIPE, column_steps=1e18))
IN_WIDE_LANES = native_local_recipe(replace(RECIPE, column_steps=1e18, widest=8))


def joined(records):
    return np.concatenate(records).astype(np.uint8), np.concatenate(([0], np.cumsum([len(r) for r in records]))).astype(np.int64)


def family(rng, founder, count):
    """Relatives from equal to unlike, some a part of the founder or twice it, some with letters that are not amino acids."""
    for number in range(count):
        copy = founder.copy()
        changed = rng.random(len(copy)) < rng.random() * (number % 3) / 2
        copy[changed] = rng.integers(0, len(PROTEIN), changed.sum())
        start, stop = sorted(rng.integers(0, len(copy) + 1, 2)) if number % 4 == 1 else (0, len(copy))
        part = copy[start:stop] if stop > start else copy
        yield np.concatenate((part, founder)) if number % 7 == 6 else part


@pytest.fixture
def hits(rng):
    """Arguments of the kernels up to the windows: two queries, one of which has scores of more than 16 bits with its relatives."""
    queries = [rng.choice(20, n, p=rng.dirichlet(np.ones(20))) for n in (700, 90)]
    targets = [target for query in queries for target in family(rng, query, 45)]
    query_ids = np.repeat(np.arange(2), 45)
    windows = np.array([[0, len(queries[q]), 0, len(target)] for q, target in zip(query_ids, targets, strict=True)])
    plain = [
        local_score(queries[q], t, PLAIN.substitution, PLAIN.gap_open, PLAIN.gap_extend) for q, t in zip(query_ids, targets, strict=True)
    ]
    pairs = (*joined(queries), query_ids, *joined(targets), np.arange(len(targets)))
    return queries, targets, pairs, np.maximum(1, plain), windows


def scored(name, pairs, scores, windows, recipe):
    return _kernels.score_adjusted_hits(name, *pairs, scores, windows, adjuster=ADJUSTER, recipe=recipe, cancel=_kernels.Cancel())


@pytest.mark.parametrize("name", SETS)
def test_scores_are_those_of_the_definition(hits, name):
    queries, targets, pairs, plain, windows = hits
    tables = [ADJUSTER.scores(queries[q].astype(np.uint8), t.astype(np.uint8)) for q, t in zip(pairs[2], targets, strict=True)]
    expected = [
        0 if table is None else local_score(queries[q], t, table, SCORING.gap_open, SCORING.gap_extend)
        for q, t, table in zip(pairs[2], targets, tables, strict=True)
    ]
    assert max(expected) > 1 << 16
    for recipe in (ONE_BY_ONE, IN_LANES, IN_WIDE_LANES):
        assert list(scored(name, pairs, plain, windows, recipe)) == expected
        # The scores of the search only tell with which width to begin.
        assert list(scored(name, pairs, np.ones_like(plain), windows, recipe)) == expected


@pytest.mark.parametrize("name", SETS)
def test_paths_are_those_of_hits_one_by_one(hits, name):
    _, _, pairs, plain, windows = hits
    scores = np.asarray(scored(name, pairs, plain, windows, ONE_BY_ONE))
    found = scores > 0
    query_codes, query_offsets, query_ids, target_codes, target_offsets, target_ids = pairs
    kept = (query_codes, query_offsets, query_ids[found], target_codes, target_offsets, target_ids[found])

    def traced(recipe):
        more = {"adjuster": ADJUSTER, "recipe": recipe, "path_recipe": PATHS, "cancel": _kernels.Cancel()}
        return _kernels.trace_adjusted_hits(name, *kept, scores[found], windows[found], **more)

    assert found.sum() > 60
    alone = traced(ONE_BY_ONE)
    for recipe in (IN_LANES, IN_WIDE_LANES):
        for expected, array in zip(alone, traced(recipe), strict=True):
            np.testing.assert_array_equal(array, expected)
