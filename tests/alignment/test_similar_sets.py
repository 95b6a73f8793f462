"""Scores of similar long sequences, which are found in bands of diagonals: when that is chosen, and that nothing changes but the time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import edit_distance
from work import collect, edit, sequence_set, two_valued

from gpualign.core.alignment.task import Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.cpu.alignment import engine as engine_module
from gpualign.cpu.alignment import similarity
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

SETS = [one.name for one in instruction_sets() if one.is_supported]
SCORINGS = {
    "affine": make_scoring(DNA, ScoringOptions()),
    "linear": two_valued(15, 2, -1, 1, 1),
    "edit": edit(15),
    "proteins": make_scoring(PROTEIN, ScoringOptions()),
}
PLENTY = Budget.from_total(1 << 30)


def mutated(rng, letters, changes, alphabet_size):
    """A copy in which letters are replaced, deleted and inserted."""
    copy = letters.copy()
    places = rng.choice(len(copy), changes, replace=False)
    copy[places] = rng.integers(0, alphabet_size, changes)
    copy = np.delete(copy, places[: changes // 4])
    return np.insert(copy, rng.integers(0, len(copy), changes // 4), rng.integers(0, alphabet_size, changes // 4))


def family(rng, count, length, changes, alphabet_size=4):
    first = rng.integers(0, alphabet_size, length)
    return [mutated(rng, first, changes, alphabet_size) for _ in range(count)]


def task_of(records, scoring, others=None):
    queries = sequence_set(records)
    return Task(queries, queries if others is None else sequence_set(others), scoring)


def uses_bands(prepared):
    return prepared.kernel.endswith("with directions") or ", in bands of up to " in prepared.kernel


@pytest.fixture
def sampling(monkeypatch):
    """Sets of few sequences are sampled as well."""
    monkeypatch.setattr("gpualign.cpu.alignment.engine._MIN_SECONDS_TO_SAMPLE", 0.0)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("scoring", SCORINGS)
def test_scores_are_the_same(rng, sampling, monkeypatch, name, scoring):
    """With records unlike the others, shorter ones and equal ones among them."""
    size = 20 if scoring == "proteins" else 4
    records = family(rng, 5, 3000, 12, size)
    records += [records[0].copy(), records[1][:2500], rng.integers(0, size, 2800), rng.integers(0, size, 3)]
    task = task_of(records, SCORINGS[scoring])
    engine = CpuEngine(2, name)
    monkeypatch.setattr(similarity, "may_prefer_bands", lambda *_: False)
    full = engine.prepare(task, PLENTY)
    assert not uses_bands(full)
    monkeypatch.setattr(similarity, "may_prefer_bands", lambda *_: True)
    for edits in (0, 9, 40):
        monkeypatch.setattr(similarity, "edits_in_bands", lambda *_, edits=edits: edits)
        banded = engine.prepare(task, PLENTY)
        assert uses_bands(banded)
        for pairing in (Pairing.ALL, Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL):
            for tile_cells in (None, 10_000, 40_000_000):
                np.testing.assert_array_equal(collect(banded, pairing, tile_cells).scores, collect(full, pairing).scores)


@pytest.mark.parametrize("scoring", ["affine", "linear", "edit"])
def test_bands_are_for_long_similar_sequences(rng, sampling, scoring):
    similar = family(rng, 12, 40_000, 40)
    engine = CpuEngine(1)

    def chosen(records, others=None):
        return uses_bands(engine.prepare(task_of(records, SCORINGS[scoring], others), PLENTY))

    assert chosen(similar)
    assert chosen(similar[:6], similar[6:])
    assert not chosen([rng.integers(0, 4, 40_000) for _ in range(12)])
    assert not chosen(family(rng, 12, 40_000, 8000))
    assert not chosen(similar[:6], [rng.integers(0, 4, 40_000) for _ in range(6)])
    assert not chosen(family(rng, 12, 300, 2))  # full matrices are quicker
    assert chosen(family(rng, 12, 1500, 8)) is (scoring == "edit")
    assert chosen([*similar, *similar, *similar, rng.integers(0, 4, 40_000)])


def test_a_sequence_unlike_the_others_costs_only_its_own_pairs(rng, sampling, monkeypatch):
    records = family(rng, 30, 6000, 20)
    records[7] = rng.integers(0, 4, 6000)
    prepared = CpuEngine(1).prepare(task_of(records, SCORINGS["edit"]), PLENTY)
    assert uses_bands(prepared)
    shapes = []
    compute = engine_module._score_tile
    monkeypatch.setattr(engine_module, "_score_tile", lambda *a: shapes.append(a[-2].shape) or compute(*a))
    prepared = CpuEngine(1).prepare(prepared.task, PLENTY)
    assert (collect(prepared).scores > 2000).sum() == 2 * 29
    assert sum(rows * columns for rows, columns in shapes) <= 2 * 30 + 30


def test_targets_in_any_order(rng, sampling):
    """Bit-sliced kernels have them in groups that share pairs to be left out, of lengths in no order."""
    records = [record[: int(rng.integers(2900, 3000))] for record in family(rng, 70, 3000, 6)]
    task = task_of(records, SCORINGS["edit"])
    prepared = CpuEngine(2).prepare(task, PLENTY)
    assert uses_bands(prepared)
    assert prepared.limits.diagonal_group_size
    for pairing in (Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL):
        scores = collect(prepared, pairing).scores
        for i, j in rng.integers(0, 70, (12, 2)).tolist():
            if i < j:
                assert scores[i, j] == edit_distance(records[i], records[j])


def test_short_runs_are_not_sampled(rng, monkeypatch):
    monkeypatch.setattr(similarity, "sample_pairs", lambda _: pytest.fail("a sample"))
    assert not uses_bands(CpuEngine(1).prepare(task_of(family(rng, 3, 5000, 5), SCORINGS["affine"]), PLENTY))


def test_too_little_memory_for_bands(rng, sampling):
    """Then scores are computed as ever."""
    engine, task = CpuEngine(1), task_of(family(rng, 4, 100_000, 5), SCORINGS["edit"])
    needed = engine.prepare(task, PLENTY).limits.scratch_bytes
    assert uses_bands(engine.prepare(task, replace(PLENTY, scratch_bytes=needed)))
    assert not uses_bands(engine.prepare(task, replace(PLENTY, scratch_bytes=needed - 1)))
    sampled, pairs = similarity.sample_pairs(replace(task, scoring=SCORINGS["affine"]))
    aligner = engine.prepare_pair_aligner(sampled, PLENTY)
    enough, too_little = (similarity.path_seconds(sampled, aligner, pairs, 64, one) for one in (1 << 30, 1 << 20))
    assert similarity.edits_in_bands(sampled, pairs, enough, 24e9, 2) is not None
    assert similarity.edits_in_bands(sampled, pairs, too_little, 24e9, 2) is None


def test_one_record(rng, sampling):
    record = rng.integers(0, 4, 50_000)
    for task in (task_of([record], SCORINGS["edit"]), task_of([record], SCORINGS["edit"], [record[:-7]])):
        assert collect(CpuEngine(1).prepare(task, PLENTY)).scores.item() == len(task.queries.codes) - len(task.targets.codes)


def test_long_sequences_are_judged_by_their_first_letters(rng):
    one = rng.integers(0, 4, 1_000_000).astype(np.uint8)
    other = mutated(rng, one, 1000, 4).astype(np.uint8)
    assert 300 < similarity._estimate_edits(one, other, 15) < 3000
    assert similarity._estimate_edits(one, one[::-1], 15) > 100_000


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([DNA, PROTEIN]))
def test_estimates_of_edits(seed, changes, alphabet):
    """They need not be close: the rest of the decision has a margin of several times."""
    rng = np.random.default_rng(seed)
    size = alphabet.unambiguous_count
    one = rng.integers(0, size, 2000).astype(np.uint8)
    other = mutated(rng, one, changes, size).astype(np.uint8)
    exact = edit_distance(one, other)
    estimated = similarity._estimate_edits(one, other, len(alphabet))
    assert exact / 3 - 12 <= estimated <= 3 * exact + 12
    assert similarity._estimate_edits(one, rng.integers(0, size, 1500).astype(np.uint8), len(alphabet)) > 1000
    assert similarity._estimate_edits(one, one[:5], len(alphabet)) == 2000
    assert similarity._estimate_edits(one, one, len(alphabet)) == 0
