"""Near pairs by the CUDA engine against plain edit distances of all pairs: on the host everywhere, on a device where there is one."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from host_device import HostDevice, compiler
from oracle import depths_of_free_ends, edit_distances_free_ends
from relatives import edited
from work import edit, records, sequence_set

from gpualign.core.alignment.ambiguity import AmbiguityCounts, AmbiguityRule
from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.runner import plan_task
from gpualign.core.near_pairs.filter_cascade import FilterCascade, SurvivorCounts
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.edit_bounds import EditBound, PairingGains, columns_bound, covered_bound, distance_bound, matches_bound
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.near_pairs import engine as prepared_module
from gpualign.gpu.near_pairs import recipe as recipe_module
from gpualign.gpu.near_pairs import worker as worker_module
from gpualign.gpu.near_pairs.kernels import screening_kernels, verification_kernel
from gpualign.gpu.near_pairs.rectangles import SortedQueries, compatible_lengths
from gpualign.gpu.near_pairs.sketches import hash_grams, make_sketches

on_the_host = pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")


def plain_pairs(queries, targets, bound, pairing):
    """{(query, target): distance} of the pairs within the bound."""
    ours, theirs = records(queries), records(targets)
    pairs = [(i, j) for i in range(len(ours)) for j in range(pairing.first_target(i), len(theirs))]
    lengths = np.array([(len(ours[i]), len(theirs[j])) for i, j in pairs]).T
    most, overhangs = bound.max_edits(*lengths), np.zeros_like(lengths)
    if bound.coverage:
        covered = np.abs(lengths[0] - lengths[1]) <= most
        overhangs = np.where(covered, [bound.max_overhang(*lengths), bound.max_overhang(*lengths[::-1])], 0)
        most = np.where(covered, bound.max_edits_inside(*lengths), most)
    gains = bound.pairing.equal, bound.pairing.other, bound.pairing.ordinary
    both = [(ours[i], theirs[j]) for i, j in pairs]
    depths = [depths_of_free_ends(*pair, ends, gains) for pair, ends in zip(both, overhangs.T.tolist(), strict=True)]
    found = edit_distances_free_ends(both, overhangs.T.tolist(), depths)
    return {pair: edits for pair, edits, limit in zip(pairs, found, most.tolist(), strict=True) if edits is not None and edits <= limit}


def near_pairs(queries, targets, bound, pairing, devices, ambiguity=None):
    """The same by the engine, and what its steps left."""
    task = Task(queries, targets, edit(27), edit_bound=bound, ambiguity=ambiguity)
    prepared = CudaEngine(devices).prepare(task, Budget.from_total(1 << 26))
    plan = plan_task(prepared, pairing)
    found, left = {}, {}
    for result in prepared.run(plan.tiles()):
        for i, j, d in zip(result.pairs.queries.tolist(), result.pairs.targets.tolist(), result.pairs.distances.tolist(), strict=True):
            assert (i, j) not in found
            found[i, j] = d
        for name, count in result.survivor_counts.items():
            left[name] = left.get(name, 0) + count
    return found, left


def check(queries, targets, bound, pairing, *devices):
    found, left = near_pairs(queries, targets, bound, pairing, devices)
    expected = plain_pairs(queries, targets, bound, pairing)
    assert found == expected
    m, n = queries.lengths[:, None], targets.lengths[None, :]
    wanted = np.arange(len(targets))[None, :] >= np.array([pairing.first_target(i) for i in range(len(queries))])[:, None]
    assert left["pairs"] == wanted.sum()
    assert left["lengths"] == (wanted & (np.abs(m - n) <= bound.max_edits(m, n))).sum()
    assert list(left.values()) == sorted(left.values(), reverse=True)
    assert left["edit distance"] == len(expected)
    return found, left


@pytest.fixture
def use(monkeypatch):
    """Makes the engine take these steps, whatever it would have chosen."""

    def to(steps):
        monkeypatch.setattr(
            recipe_module, "cheapest_cascade", lambda options, measure, lengths, most, costs: (steps, 1.0, SurvivorCounts(1, 1, 1, 1))
        )

    return to


def families(rng, kinds, longest, edits):
    """Records that a kernel could get wrong, and relatives of them."""
    base = rng.integers(0, kinds, longest)
    few = [base, base.copy(), base[1:], base[:-1], np.append(base, 0), np.append(kinds - 1, base), base[::-1]]
    few += [np.concatenate([base[edits:], base[:edits]]), np.concatenate([base, base[:edits]])]
    few += [np.zeros(1), np.full(1, kinds - 1), np.zeros(longest), np.full(longest - 1, kinds - 1), np.zeros(longest + edits)]
    few += [rng.integers(0, kinds, n) for n in (1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129)]
    few += [base[:n] for n in (63, 64, 65, longest // 2) if n <= longest]
    few += [edited(rng, base, count, kinds) for count in (1, edits, edits, edits + 1, 2 * edits)]
    few += [edited(rng, rng.integers(0, kinds, longest), 2, kinds) for _ in range(3)]
    return sequence_set([np.asarray(record, dtype=np.uint8) for record in few])


SKETCHES = FilterCascade(q=4, sketch_bits=1024)


@pytest.mark.parametrize("steps", [FilterCascade(), SKETCHES], ids=["lengths", "sketches"])
@pytest.mark.parametrize("most", [0, 1, 5, 20])
def test_every_pair_within_a_distance(rng, device, use, steps, most):
    use(steps)
    few = families(rng, 4, 90, max(1, most))
    check(few, few, distance_bound(most), Pairing.ABOVE, device)


@pytest.mark.parametrize("kinds", [1, 2, 5, 15, 27])
def test_any_number_of_letters(rng, device, use, kinds):
    use(SKETCHES)
    few = families(rng, kinds, 70, 6)
    check(few, few, distance_bound(6), Pairing.ABOVE, device)


@pytest.mark.parametrize("most", [63, 64, 127, 128, 255, 256, 300])
def test_bands_of_several_words(rng, device, use, most):
    use(FilterCascade())
    base = rng.integers(0, 4, 400)
    few = [base, base[most:], base[: len(base) - most], base[most + 1 :], base[: len(base) - most - 1]]
    few += [np.concatenate([rng.integers(0, 4, n), base]) for n in (most // 2, most, most + 1)]
    few += [edited(rng, base, count, 4) for count in (most // 2, most, 2 * most)]
    few += [np.concatenate([base[100:], base[:100]]), rng.integers(0, 4, 400), rng.integers(0, 4, 350)]
    # Sums of which a carry passes through a whole word: no letter of it is equal, every row is one more than the last.
    few += [np.repeat([0, 1], runs) for runs in ((1, 300), (30, 300), (100, 250), (30, 300 - most // 2), (1 + most // 2, 300))]
    few = sequence_set(few)
    check(few, few, distance_bound(most), Pairing.ABOVE, device)


def test_bands_in_memory(rng, device, use):
    """More words than a thread has registers."""
    use(FilterCascade())
    assert verification_kernel(2, 9, free_ends=False).scratch_bytes > 0
    base = rng.integers(0, 4, 700)
    few = sequence_set([base, base[540:], base[520:], edited(rng, base, 300, 4), rng.integers(0, 4, 700), rng.integers(0, 4, 200)])
    check(few, few, distance_bound(530), Pairing.ABOVE, device)


@pytest.mark.parametrize(
    "bound",
    [
        matches_bound(0.9),
        matches_bound(1.0),
        columns_bound(0.9),
        replace(covered_bound(0.9, 0.8), inside=0.0, coverage=0.0),
        covered_bound(0.9, 0.8),
        covered_bound(0.97, 1.0),
        covered_bound(0.6, 0.5),
        covered_bound(0.9, 0.8, of_shorter=True),
        covered_bound(0.97, 1.0, of_shorter=True),
        replace(covered_bound(0.9, 0.8), pairing=PairingGains(7, -2, 4)),
        replace(covered_bound(0.8, 0.6), pairing=PairingGains(4, -3, 2)),
        EditBound(2.5, 0.0, -600.0),
        EditBound(0.0, 0.0, -1.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("steps", [FilterCascade(), SKETCHES], ids=["lengths", "sketches"])
def test_bounds_that_depend_on_the_lengths(rng, device, use, steps, bound):
    use(steps)
    few = families(rng, 4, 130, 9)
    check(few, few, bound, Pairing.ABOVE_OR_EQUAL, device)


@pytest.mark.parametrize("size", [0, 5, 31, 32, 33, 60, 64, 100, 150, 230])
def test_free_ends_of_several_words(rng, device, use, size):
    """Records that share 300 letters, and `size` letters of their own at either end, or at one."""
    use(FilterCascade())
    part, ends = rng.integers(0, 4, 300), rng.integers(0, 4, (6, size))
    few = [part, *(edited(rng, part, edits, 4) for edits in (2, 14, 15, 16, 40))]
    few += [np.concatenate([ends[k], edited(rng, part, 4 * k, 4), ends[k + 1][: size // (1 + k % 2)]]) for k in range(5)]
    few += [np.concatenate([part[size // 2 :], ends[5]]), np.concatenate([ends[5], part[size:]]), rng.integers(0, 4, 300 + size)]
    few = sequence_set(few)
    bound = covered_bound(0.95, 300 / (300 + 2 * size) - 1e-9)
    check(few, few, replace(bound, pairing=PairingGains(3, -2, 3)), Pairing.ABOVE, device)
    found, _ = check(few, few, bound, Pairing.ABOVE, device)
    assert 5 < len(found) < len(few) * (len(few) - 1) // 2


@pytest.mark.parametrize("steps", [FilterCascade(), SKETCHES], ids=["lengths", "sketches"])
@pytest.mark.parametrize("bound", [columns_bound(0.95), covered_bound(0.95, 0.9)], ids=["columns", "covered"])
def test_each_pair_has_the_bound_of_its_ambiguity_letters(rng, device, use, steps, bound):
    """Few letters raise the bound of a pair a little, many by so much that their records are compared apart."""
    use(steps)
    few, targets = (families(rng, 4, 150, 9) for _ in range(2))
    targets = sequence_set([*records(few), *records(targets)[-9:]])
    ambiguity = AmbiguityCounts(
        AmbiguityRule.COMPATIBLE,
        rng.choice([0, 0, 1, 3, 8, 9, 60], len(few)).astype(np.int64),
        rng.choice([0, 0, 0, 2, 9, 40], len(targets)).astype(np.int64),
        100,
    )
    found, left = near_pairs(few, targets, bound.with_ambiguity_letters(100), Pairing.ALL, [device], ambiguity)
    m, n = few.lengths[:, None], targets.lengths[None, :]
    letters = ambiguity.query_counts[:, None] + ambiguity.target_counts[None, :]
    most = bound.max_edits_inside(m, n) if bound.coverage else bound.max_edits(m, n)
    near = plain_pairs(few, targets, bound.with_ambiguity_letters(1000), Pairing.ALL)  # of any number of edits
    expected = {
        (i, j): edits
        for (i, j), edits in near.items()
        if edits <= most[i, j] + letters[i, j] and abs(int(m[i, 0]) - int(n[0, j])) <= bound.max_edits(m, n)[i, j] + letters[i, j]
    }
    assert found == expected
    assert (letters[tuple(zip(*found, strict=True))] > 0).any()
    assert len(expected) == left["edit distance"] < len(few) * len(targets)


@pytest.mark.parametrize("bound", [columns_bound(0.95), covered_bound(0.95, 0.9)], ids=["columns", "covered"])
def test_letters_that_have_not_been_counted_may_be_in_any_pair(rng, device, use, bound):
    use(SKETCHES)
    few = families(rng, 4, 150, 9)
    found, _ = check(few, few, bound.with_ambiguity_letters(12), Pairing.ABOVE, device)
    assert found.keys() > plain_pairs(few, few, bound, Pairing.ABOVE).keys()


def test_two_sets(rng, device, use):
    use(SKETCHES)
    queries = families(rng, 4, 90, 5)
    targets = sequence_set([edited(rng, record, int(rng.integers(0, 8)), 4) for record in records(queries)[::-1]] * 2)
    found, _ = check(queries, targets, distance_bound(5), Pairing.ALL, device)
    assert len(found) > 20


def clusters(rng, count, length, spread):
    """Relatives of a few records, and strangers: more than one tile of every screen."""
    roots = [rng.integers(0, 4, length) for _ in range(5)]
    return sequence_set([edited(rng, roots[int(rng.integers(0, 5))], int(rng.integers(0, spread)), 4) for _ in range(count)])


# Real tiles hold 2^18 pairs or more, and lists 2^12 or more: an emulated device takes minutes for several of them.
def test_tiles_of_any_size(rng, device, use, monkeypatch):
    use(SKETCHES)
    many = clusters(rng, 90 if isinstance(device, HostDevice) else 700, 60, 4)
    whole = check(many, many, distance_bound(4), Pairing.ABOVE, device)
    for pairs, rows in ((1, 7), (4096, 33)):
        monkeypatch.setattr(prepared_module, "TILE_PAIR_LIMITS", (pairs, pairs))
        monkeypatch.setattr(prepared_module, "BAND_ROWS", rows)
        assert near_pairs(many, many, distance_bound(4), Pairing.ABOVE, [device]) == whole


@pytest.mark.parametrize(("candidates", "found"), [(1, 1), (7, 3), (1 << 20, 2), (50, 1 << 20)])
def test_lists_that_are_too_short_lose_nothing(rng, device, use, monkeypatch, candidates, found):
    use(SKETCHES)
    many = clusters(rng, 40, 60, 4)
    whole = near_pairs(many, many, distance_bound(4), Pairing.ABOVE, [device])
    assert len(whole[0]) > 60
    monkeypatch.setattr(worker_module, "MIN_CANDIDATES", candidates)
    monkeypatch.setattr(worker_module, "MAX_CANDIDATES", candidates)
    monkeypatch.setattr(prepared_module, "MAX_NEAR_PAIRS", found)
    device.launched = []
    assert near_pairs(many, many, distance_bound(4), Pairing.ABOVE, [device]) == whole


@pytest.mark.gpu
def test_every_screen_of_a_device(rng, device, use, monkeypatch):
    use(FilterCascade(q=5, sketch_bits=2048))
    many = clusters(rng, 900, 300, 40)
    found = []
    for screen in screening_kernels(device.arch, 2048 // 8):
        monkeypatch.setattr(prepared_module, "screening_kernels", lambda arch, size, one=screen: (one,))
        found.append(near_pairs(many, many, distance_bound(30), Pairing.ABOVE, [device]))
    use(FilterCascade())
    assert all(one == found[0] for one in found)
    assert near_pairs(many, many, distance_bound(30), Pairing.ABOVE, [device])[0] == found[0][0]


@on_the_host
@pytest.mark.slow
@pytest.mark.parametrize("screen", screening_kernels("sm_90a", 1024 // 8)[:2], ids=lambda screen: screen.kernel.function)
@pytest.mark.parametrize("seed", range(2))
def test_the_screen_of_tensor_cores(rng, use, monkeypatch, screen, seed):
    """Emulated (tests/cuda_host/tensor_cores.hpp): against plain distances, and in several tiles against the screen by popc."""
    use(SKETCHES)
    monkeypatch.setattr(
        prepared_module, "screening_kernels", lambda arch, size: (screen,) if arch == "sm_90a" else screening_kernels(arch, size)
    )
    device = HostDevice(arch="sm_90a", seed=seed)
    few = families(rng, 4, 90, 5)
    check(few, few, distance_bound(5), Pairing.ABOVE, device)
    many = clusters(rng, 300, 60, 9)
    found, expected = (near_pairs(many, many, distance_bound(6), Pairing.ABOVE, [one]) for one in (device, HostDevice()))
    assert found == expected
    assert len(found[0]) > 60
    assert "mma" in screen.title
    assert screen.kernel in device.launched


@on_the_host
@pytest.mark.slow
@pytest.mark.parametrize(("bits", "shape"), [(1024, (129, 257)), (1024, (1, 700)), (2048, (700, 1)), (8192, (300, 1300)), (8192, (1, 1))])
@pytest.mark.parametrize("seed", range(2))
def test_the_stages_of_a_screen(use, bits, shape, seed):
    """More chunks than stages, in one segment or several, rows of several clusters; records with many ambiguity letters for one seed."""
    rng = np.random.default_rng(seed)
    use(FilterCascade(q=5, sketch_bits=bits))
    roots = [rng.integers(0, 4, rng.integers(60, 140)) for _ in range(12)]
    sets = [sequence_set([edited(rng, roots[rng.integers(12)], int(rng.integers(0, 6)), 4) for _ in range(count)]) for count in shape]
    letters = [rng.integers(0, 12, count) * (rng.random(count) < 0.3) for count in shape]
    most = int(letters[0].max() + letters[1].max())
    ambiguity = AmbiguityCounts(AmbiguityRule.COMPATIBLE, *letters, most) if seed else None
    bound = distance_bound(7).with_ambiguity_letters(most if seed else 0)
    device = HostDevice(arch="sm_90a", seed=seed, multiprocessors=1 if seed else 8)
    found, expected = (near_pairs(*sets, bound, Pairing.ALL, [one], ambiguity) for one in (device, HostDevice()))
    assert any(kernel.function == "near_screen_wgmma" for kernel in device.launched)
    assert found == expected


def test_what_a_screen_keeps_is_what_sketches_say(rng, device, use):
    """Counted from sketches made on the host; the sample does the same."""
    use(SKETCHES)
    many = clusters(rng, 60, 60, 9)
    _, left = near_pairs(many, many, distance_bound(4), Pairing.ABOVE, [device])
    used = np.zeros(256, dtype=np.uint8)
    used[many.used_codes] = np.arange(len(many.used_codes))
    ours = make_sketches(many, hash_grams(many, used, len(many.used_codes), 4), 4, 1024)
    only = ours.sum(axis=1)[:, None] - ours @ ours.T
    near = (np.maximum(only, only.T) <= 4 * 4) & (np.abs(many.lengths[:, None] - many.lengths[None, :]) <= 4)
    assert left["q-grams"] == np.triu(near, 1).sum()


@pytest.mark.parametrize("of_shorter", [False, True], ids=["both", "shorter"])
@pytest.mark.parametrize("size", [0, 30, 64, 100, 230])
def test_fragments(rng, device, use, size, of_shorter):
    """Pieces of 50 letters of longer records, some of them with strange ends: covered themselves, while the longer records are not."""
    use(SKETCHES)
    part, ends = rng.integers(0, 4, 100 + 2 * size), rng.integers(0, 4, (5, size))
    few = [part, edited(rng, part, 3, 4), rng.integers(0, 4, 50), rng.integers(0, 4, 100 + 2 * size)]
    few += [
        edited(rng, part[at : at + 50], edits, 4) for at, edits in ((0, 0), (size, 2), (size + 17, 3), (50 + size, 1), (50 + 2 * size, 0))
    ]
    few += [np.concatenate([ends[k], part[size + 20 * k : size + 20 * k + 50], ends[k + 1][: size // (1 + k)]]) for k in range(3)]
    few = sequence_set([few[k] for k in rng.permutation(len(few))])
    found, _ = check(few, few, covered_bound(0.9, 0.9, of_shorter), Pairing.ABOVE, device)
    apart = [abs(int(few.lengths[i]) - int(few.lengths[j])) for i, j in found]
    assert (max(apart, default=0) >= 50) == of_shorter


@pytest.mark.parametrize(
    "bound",
    [
        covered_bound(0.95, 0.9),
        covered_bound(0.97, 0.8),
        covered_bound(0.95, 0.9, of_shorter=True),
        EditBound(0.9, 0.0, 0.0, 1 / 16, 15 / 16),
    ],
    ids=str,
)
@pytest.mark.parametrize("pairing", [Pairing.ABOVE, Pairing.ALL])
def test_what_a_screen_keeps_by_a_coverage(rng, device, use, bound, pairing):
    """Records of different lengths have limits of their own; no pair is left out but by them."""
    use(SKETCHES)
    many = [record[int(rng.integers(0, 9)) : len(record) - int(rng.integers(0, 9))] for record in records(clusters(rng, 60, 90, 9))]
    queries = sequence_set(many)
    targets = queries if pairing is Pairing.ABOVE else sequence_set(many[::-1])
    found, left = near_pairs(queries, targets, bound, pairing, [device])
    used = np.zeros(256, dtype=np.uint8)
    used[queries.used_codes] = np.arange(len(queries.used_codes))
    ours, theirs = (make_sketches(one, hash_grams(one, used, len(queries.used_codes), 4), 4, 1024) for one in (queries, targets))
    m, n = queries.lengths[:, None], targets.lengths[None, :]
    common = ours @ theirs.T
    near = (ours.sum(axis=1)[:, None] - common <= bound.max_different_grams(4, m, n)) & (
        theirs.sum(axis=1)[None, :] - common <= bound.max_different_grams(4, n, m)
    )
    near &= np.abs(m - n) <= bound.max_edits(m, n)
    near &= np.arange(len(targets))[None, :] >= np.array([pairing.first_target(i) for i in range(len(queries))])[:, None]
    assert left["q-grams"] == near.sum() < left["lengths"]
    # The bound on q-grams weighs letters at the ends against edits, which the last step takes one by one.
    assert found == {pair: edits for pair, edits in plain_pairs(queries, targets, bound, pairing).items() if near[pair]}
    assert all(near[pair] for pair in found)
    assert 0 < len(found) < near.sum()


def test_sketches_of_the_host_are_sets_of_q_grams(rng):
    many = sequence_set([rng.integers(0, 4, n) for n in (1, 3, 4, 5, 40, 40)])
    found = make_sketches(many, hash_grams(many, np.arange(256, dtype=np.uint8), 4, 4), 4, 1 << 15)
    grams = [{tuple(record[at : at + 4].tolist()) for at in range(len(record) - 3)} for record in records(many)]
    assert [int(row.sum()) for row in found] == [len(one) for one in grams]  # 256 q-grams in 32,768 bits: none share one
    assert int(found[4] @ found[5]) == len(grams[4] & grams[5])


@pytest.mark.parametrize(
    "bound",
    [
        distance_bound(3),
        matches_bound(0.8),
        columns_bound(0.7),
        covered_bound(0.9, 0.7),
        covered_bound(0.9, 0.7, of_shorter=True),
        EditBound(1.4, 0, -40),
    ],
)
@pytest.mark.parametrize("longest", [5, 60])
def test_lengths_that_fit(rng, bound, longest):
    ours, theirs = np.sort(rng.integers(1, 60, 30)), np.arange(longest + 1)
    none = np.zeros_like(ours)
    first, stop = compatible_lengths(SortedQueries(none, ours, none, none), bound, longest)
    ours = np.unique(ours)
    fits = np.abs(ours[:, None] - theirs[None, :]) <= bound.max_edits(ours[:, None], theirs[None, :])
    np.testing.assert_array_equal((theirs >= first[:, None]) & (theirs < stop[:, None]), fits)


def genes(rng, count):
    return sequence_set([edited(rng, base, 6, 4) for base in [rng.integers(0, 4, 300) for _ in range(count // 4)] for _ in range(4)])


@on_the_host
def test_a_sample_chooses_sketches_and_is_the_same_each_time(rng):
    many = genes(rng, 600)
    task = Task(many, many, edit(4), edit_bound=distance_bound(15))
    one, other = (recipe_module.make_near_pair_recipe(task, True) for _ in range(2))
    assert one.cascade == other.cascade
    assert one.cascade.q > 0
    assert one.cascade.sketch_bits % 1024 == 0
    wide = recipe_module.make_near_pair_recipe(Task(many, many, edit(4), edit_bound=distance_bound(149)), True)
    assert wide.cascade == FilterCascade()


def test_a_sample_counts_what_steps_leave(rng):
    many = clusters(rng, 30, 60, 9)
    bound, hashes = distance_bound(4), hash_grams(many, np.arange(256, dtype=np.uint8), 4, SKETCHES.q)
    left = recipe_module._count_survivors(SKETCHES, many, many, bound, lambda q: (hashes, hashes))
    near = 2 * len(plain_pairs(many, many, bound, Pairing.ABOVE))
    assert left.examined == 30 * 29
    assert left.examined >= left.after_lengths >= left.after_sketches >= near
    assert recipe_module._count_survivors(FilterCascade(), many, many, bound, lambda q: (hashes, hashes)) == SurvivorCounts(
        left.examined, left.after_lengths, left.after_lengths, left.after_lengths
    )


@on_the_host
def test_devices_share_the_tiles_and_are_left_clean(rng, use, monkeypatch):
    use(SKETCHES)
    monkeypatch.setattr(prepared_module, "TILE_PAIR_LIMITS", (100, 100))
    devices = [HostDevice(), HostDevice(), HostDevice()]
    many = clusters(rng, 60, 60, 4)
    check(many, many, distance_bound(4), Pairing.ABOVE, *devices)
    assert_clean(*devices)


def assert_clean(*devices):
    for device in devices:
        assert device.used == 0
        assert not device.opened
    assert not [t for t in threading.enumerate() if t.name.startswith("gpualign-cuda")]


@on_the_host
@pytest.mark.parametrize(
    ("reported", "limit", "told"), [(1 << 12, 1 << 12, "too small for these records"), (1 << 26, 1 << 16, "less memory than it reported")]
)
def test_records_that_do_not_fit_are_an_error_and_free(rng, use, reported, limit, told):
    use(SKETCHES)
    many = clusters(rng, 60, 60, 4)
    device = HostDevice(reported, limit)
    with pytest.raises(RunError, match=told):
        near_pairs(many, many, distance_bound(4), Pairing.ABOVE, [device])
    assert_clean(device)


@on_the_host
def test_stopping_early_frees_everything(rng, use, monkeypatch):
    use(SKETCHES)
    monkeypatch.setattr(prepared_module, "TILE_PAIR_LIMITS", (100, 100))
    many = clusters(rng, 60, 60, 4)
    device = HostDevice()
    prepared = CudaEngine([device]).prepare(Task(many, many, edit(4), edit_bound=distance_bound(4)), Budget.from_total(1 << 26))
    results = prepared.run(plan_task(prepared, Pairing.ABOVE).tiles())
    next(results)
    results.close()
    assert_clean(device)
