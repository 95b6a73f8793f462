"""The kernels of near pairs against plain distances of every pair, for every instruction set of this machine."""

import math
import os
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import UNLIMITED, depths_of_free_ends, edit_distance, edit_distance_free_ends, edit_distances_free_ends
from relatives import edited

from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.near_pairs import _near

SETS = [name for name, _, _, runs in _near.instruction_sets() if runs]


def held(records, letters, q=0, bits=0):
    found = _near.Records(*coded(records), letters, q, bits)
    found.build(0, len(records))
    return found


def coded(records):
    offsets = np.cumsum([0, *map(len, records)], dtype=np.int64)
    return np.concatenate([np.zeros(0, np.uint8), *(np.asarray(r, np.uint8) for r in records)]), offsets


def limit(bound, query, target):
    m, n = len(query), len(target)
    return math.floor(bound[0] * (m + n) + bound[1] * min(m, n) + bound[2])


def distances(pairs):
    """Edit distances by the plain recurrence, a row of many pairs at a time: a gap along the row is a running minimum."""
    return [d for k in range(0, len(pairs), 500) for d in some_distances(pairs[k : k + 500])]


def some_distances(pairs):
    sizes = np.array([[len(q), len(t)] for q, t in pairs])
    queries, targets = (np.full((len(pairs), most), -1 - side, np.int16) for side, most in enumerate(sizes.max(axis=0)))
    for k, (query, target) in enumerate(pairs):
        queries[k, : len(query)], targets[k, : len(target)] = query, target
    columns = np.arange(targets.shape[1] + 1, dtype=np.int16)
    row = np.repeat(columns[None], len(pairs), axis=0)
    found = sizes[:, 1].copy()
    for i in range(1, queries.shape[1] + 1):
        best = np.full_like(row, i)
        best[:, 1:] = np.minimum(row[:, 1:] + 1, row[:, :-1] + (queries[:, i - 1, None] != targets))
        row = np.minimum.accumulate(best - columns, axis=1) + columns
        ends = sizes[:, 0] == i
        found[ends] = row[ends, sizes[ends, 1]]
    return found.tolist()


def test_the_reference_itself(rng):
    pairs = [pair for pair in pairs_of(rng, 4) if 0 < len(pair[0]) < 50 and len(pair[1])]
    assert distances(pairs) == [edit_distance(*map(np.array, pair)) for pair in pairs]
    overhangs = rng.integers(-1, 12, (len(pairs), 2)).tolist()
    for depths in (rng.integers(0, 12, (len(pairs), 2)).tolist(), [UNLIMITED] * len(pairs)):
        assert edit_distances_free_ends(pairs, overhangs, depths) == [
            edit_distance_free_ends(*pair, *ends) for pair, *ends in zip(pairs, overhangs, depths, strict=True)
        ]


def pairs_of(rng, letters):
    """Pairs that kernels may take wrong, far and near."""

    def random(length):
        return rng.integers(0, letters, length).tolist()

    for length in (1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 96, 127, 128, 129, 200, 300):
        record = random(length)
        yield record, record
        yield record, random(length)
        yield record, random(int(rng.integers(1, 2 * length + 1)))
        yield record, record[: length // 2 + 1]
        yield record[length // 3 :], record
        yield [1] * length, [1] * (length + int(rng.integers(0, 70)))
        yield [0] * length, [1] * length
        yield ([0, 1] * length)[:length], ([1, 0] * length)[: length + 3]
        for edits in (1, 2, 7, 15, 16, 17, 40, 70):
            yield record, edited(rng, record, edits, letters)
            few = [letter % 4 for letter in record]  # what further letters are compared with in one plane
            yield few, edited(rng, few, edits, letters)
            yield edited(rng, record, edits, letters, stop=3), record
            yield record, edited(rng, record, edits, letters, start=length - 2)
            yield record, edited(rng, record, edits, letters, start=length // 2, stop=length // 2 + 5)
    yield random(1), []
    yield [], random(40)
    yield [], []
    block = random(100)
    yield block + random(150), random(150) + block


@cache
def known(letters):
    """Pairs of a run, and their edit distances: a kernel takes less time than the plain recurrence, which is asked once for all of them."""
    pairs = list(pairs_of(np.random.default_rng([int(os.environ["GPUALIGN_TEST_SEED"]), letters]), letters))
    return pairs, distances(pairs)


def within(name, pairs, letters, bound):
    queries, targets = (held([p[side] for p in pairs], letters) for side in (0, 1))
    ids = np.arange(len(pairs))
    return _near.within(name, queries, targets, ids, ids, _near.Bound(*bound), _near.Cancel()).tolist()


def expected(pairs, truth, bound):
    return [d if d <= limit(bound, q, t) else -1 for d, (q, t) in zip(truth, pairs, strict=True)]


@pytest.fixture(params=SETS)
def name(request):
    return request.param


GAINS = [(0, 0, 0), (7, -2, 2), (3, -1, 32), (1, -3, 5), (2, 1, 4)]
"""Gains from pairing two equal letters, from pairing any two, and the number of letters that may count as equal."""


def edits_inside(coverage, pairs, of_shorter=False, gains=GAINS[0]):
    """The fewest edits between the parts that a coverage requires, of each pair; more than any limit if it allows no such parts."""
    overhangs = []
    for pair in pairs:
        covered = (min if of_shorter else max)(map(len, pair))
        overhangs.append([math.floor(len(one) - coverage * covered + 1e-6) for one in pair])
    found = [
        edit_distance_free_ends(*pair, ends, depths_of_free_ends(*pair, ends, gains)) for pair, ends in zip(pairs, overhangs, strict=True)
    ]  # lengths differ too much for one table
    return [10**9 if edits is None else edits for edits in found]


def expected_inside(pairs, truth, inside):
    limits = [math.floor(inside * min(len(q), len(t)) + 1e-6) for q, t in pairs]
    return [d if d <= limit else -1 for d, limit in zip(truth, limits, strict=True)]


@pytest.mark.parametrize("of_shorter", [False, True], ids=["both", "shorter"])
@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.8, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("letters", [2, 4, 15, 32])
def test_distances_with_free_ends(rng, letters, coverage, of_shorter):
    pairs = [pair for pair in pairs_of(rng, letters) if len(pair[0]) and len(pair[1])]
    pairs = [pairs[k] for k in rng.permutation(len(pairs))[:70]]
    part, ends = rng.integers(0, letters, 400).tolist(), rng.integers(0, letters, (4, 200)).tolist()
    for size in (0, 3, 15, 16, 17, 60, 63, 64, 65, 130, 200):  # of what stands out, on either side
        other = edited(rng, part, int(rng.integers(12)), letters)
        pairs += [(ends[0][:size] + part + ends[1][:size], ends[2][: size // 2] + other + ends[3][:size]), (part[size:], other)]
        fragment = edited(rng, part[size : size + 50], int(rng.integers(4)), letters)
        pairs += [(fragment, part), (ends[0][:size] + part, ends[1][: size // 16] + fragment), (fragment[:20], ends[0])]
    gains = GAINS[int(rng.integers(len(GAINS)))]
    truth = edits_inside(coverage, pairs, of_shorter, gains)
    for inside in (0.0, 0.03, 0.2, 0.95):
        for name in SETS:
            found = within(name, pairs, letters, (2, 0, 0, inside, coverage, of_shorter, 0, *gains))
            assert found == expected_inside(pairs, truth, inside), (inside, name)


@pytest.mark.parametrize("letters", [2, 4, 8, 15, 20, 32])
def test_distances_up_to_a_limit(letters, name):
    pairs, truth = known(letters)
    for most in (0, 1, 2, 5, 15, 16, 17, 31, 32, 47, 48, 49, 63, 64, 65, 111, 112, 113, 127, 128, 200, 1000):
        bound = (0, 0, most)
        assert within(name, pairs, letters, bound) == expected(pairs, truth, bound), most


def test_limits_of_each_pair(name):
    pairs, truth = known(4)
    for bound in ((0.1, 0, 0), (1, -1.9, 0), (0.5, -0.5, 3), (0, 0.3, -2), (0, 0, -1), (2, 0, 0), (-1, 0, 90)):
        assert within(name, pairs, 4, bound) == expected(pairs, truth, bound), bound


def test_limit_is_met_exactly(rng, name):
    """Substitutions by a letter that occurs nowhere else: as many as the limit, and one more."""
    for most in (0, 1, 16, 17, 48, 49, 63, 64, 113):
        record = rng.integers(0, 3, 400)
        for edits in (most, most + 1):
            changed = record.copy()
            changed[rng.choice(len(record), edits, replace=False)] = 3
            longer = np.concatenate([np.full(edits, 3), record])
            found = within(name, [(record, changed), (changed, record), (record, longer), (longer, record)], 4, (0, 0, most))
            assert found == [edits if edits <= most else -1] * 4


def test_long_records(rng, name):
    record = rng.integers(0, 4, 3000).tolist()
    pairs = [(record, edited(rng, record, edits, 4)) for edits in (3, 40, 60, 300)]
    pairs += [(record[k:], record) for k in (1, 64, 500)]
    truth = distances(pairs)
    for most in (10, 45, 90, 350, 3000):
        assert within(name, pairs, 4, (0, 0, most)) == expected(pairs, truth, (0, 0, most))


strings = st.lists(st.integers(0, 2), max_size=90)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(strings, strings), min_size=1, max_size=40),
    st.sampled_from([0.0, 0.02, 0.1, 0.5, 1.0]),
    st.sampled_from([0.1, 0.5, 0.75, 0.9, 1.0]),
    st.booleans(),
    st.sampled_from(GAINS),
)
def test_free_ends_of_any_strings(pairs, inside, coverage, of_shorter, gains):
    pairs = [pair for pair in pairs if pair[0] and pair[1]]
    truth = expected_inside(pairs, edits_inside(coverage, pairs, of_shorter, gains), inside)
    for name in SETS:
        assert within(name, pairs, 3, (2, 0, 0, inside, coverage, of_shorter, 0, *gains)) == truth


@settings(max_examples=100)
@given(st.lists(st.tuples(strings, strings), min_size=1, max_size=40), st.integers(0, 70), st.integers(3, 32))
def test_distances_of_any_strings(pairs, most, letters):
    truth = expected(pairs, distances(pairs), (0, 0, most))
    for name in SETS:
        assert within(name, pairs, letters, (0, 0, most)) == truth


# ---- tiles


def families(rng, count, length, letters, edits):
    """Records in ascending order of length, with relatives of each other among them."""
    parents = [rng.integers(0, letters, int(rng.integers(max(1, length // 2), length + 1))).tolist() for _ in range(max(1, count // 8))]
    out = [edited(rng, parents[int(rng.integers(len(parents)))], int(rng.integers(edits + 1)), letters) for _ in range(count)]
    return sorted(out, key=len)


def tile(name, queries, targets, bound, letters, *, q=0, bits=0, counts=False, firsts=None, ids=None, most=10**6):
    query_ids, target_ids = ids or (np.arange(len(queries)), np.arange(len(targets)))
    firsts = np.zeros(len(query_ids), np.int64) if firsts is None else firsts
    sets = held(queries, letters, q, bits), held(targets, letters, q, bits)
    return _near.near_tile(name, *sets, query_ids, firsts, target_ids, _near.Bound(*bound), counts, most, _near.Cancel())


def survivors(name, queries, targets, bound, letters, *, q=0, bits=0, counts=False):
    numbers = np.arange(len(queries)), np.zeros(len(queries), np.int64), np.arange(len(targets))
    sets = held(queries, letters, q, bits), held(targets, letters, q, bits)
    return _near.count_survivors(name, *sets, *numbers, _near.Bound(*bound), counts).tolist()


def triples(found):
    return list(zip(found.queries.tolist(), found.targets.tolist(), found.distances.tolist(), strict=True))


def brute_force(queries, targets, *bounds, wanted=lambda i, j: True):
    """The triples of each bound; of one, those alone."""
    truth = distances([(q, t) for q in queries for t in targets])
    every = [(i, j, truth[i * len(targets) + j]) for i in range(len(queries)) for j in range(len(targets)) if wanted(i, j)]
    near = [[(i, j, d) for i, j, d in every if d <= limit(bound, queries[i], targets[j])] for bound in bounds]
    return near if len(bounds) > 1 else near[0]


@pytest.mark.parametrize("counts", [False, True])
def test_tiles(rng, name, counts):
    queries, targets = (families(rng, count, 60, 4, 6) for count in (40, 150))
    bounds = (0, 0, 3), (0.05, 0, 0), (0, 0, 0), (1, -1.7, 0)
    truth = brute_force(queries, targets, *bounds)
    for q, bits in ((0, 0), (1, 64), (2, 64), (3, 512), (6, 4096), (40, 128), (5, 32768)):
        for bound, near in zip(bounds, truth, strict=True):
            found = tile(name, queries, targets, bound, 4, q=q, bits=bits, counts=counts)
            assert triples(found) == near
            assert not found.overflow
            steps = found.steps.tolist()
            assert steps[0] == len(queries) * len(targets)
            assert steps[1] == sum(abs(len(s) - len(t)) <= limit(bound, s, t) for s in queries for t in targets)
            assert sorted(steps, reverse=True) == steps
            assert steps[3] >= len(near)
            assert counts or steps[2] == steps[1]
            assert q or steps[3] == steps[2]


@pytest.mark.parametrize("bound", [(0, 0, 3), (0.5, -0.4, 1.0, 1 / 32, 15 / 16)], ids=["edits", "coverage"])
def test_survivors_are_counted_without_distances(rng, name, bound):
    queries, targets = (families(rng, count, 60, 4, 6) for count in (40, 300))
    for q, bits, counts in ((0, 0, False), (0, 0, True), (3, 64, False), (3, 512, True)):
        found = tile(name, queries, targets, bound, 4, q=q, bits=bits, counts=counts)
        assert survivors(name, queries, targets, bound, 4, q=q, bits=bits, counts=counts) == found.steps.tolist()


@pytest.mark.parametrize("letters", [20, 32])
def test_tiles_of_proteins(rng, name, letters):
    queries, targets = (families(rng, count, 90, letters, 9) for count in (30, 140))
    found = tile(name, queries, targets, (0, 0, 8), letters, q=2, bits=1024, counts=True)
    assert triples(found) == brute_force(queries, targets, (0, 0, 8))


def test_each_step_leaves_what_the_definition_leaves(rng, name):
    records = families(rng, 150, 40, 4, 5)
    most, q = 4, 3
    found = tile(name, records, records, (0, 0, most), 4, q=q, bits=32768, counts=True)
    lengths = counts = sketches = 0
    for s in records:
        for t in records:
            surplus = np.bincount(s, minlength=4) - np.bincount(t, minlength=4)
            if abs(len(s) - len(t)) > most:
                continue
            lengths += 1
            if max(surplus.clip(0).sum(), (-surplus).clip(0).sum()) > most:
                continue
            counts += 1
            a, b = ({tuple(r[k : k + q]) for k in range(len(r) - q + 1)} for r in (s, t))
            sketches += max(len(a - b), len(b - a)) <= most * q
    # 64 3-grams in 32,768 bits: a collision could leave more, none of these does.
    assert found.steps.tolist() == [len(records) ** 2, lengths, counts, sketches]


@pytest.mark.parametrize("of_shorter", [False, True], ids=["both", "shorter"])
@pytest.mark.parametrize("few", [False, True], ids=["panels", "pairs"])
def test_covered_steps_leave_what_the_definition_leaves(rng, name, few, of_shorter):
    """With a coverage the two records of a pair have limits of their own, by their lengths. few: too few targets for whole panels."""
    q, inside, coverage = 3, 1 / 32, 15 / 16
    targets = families(rng, 12 if few else 150, 80, 4, 9)
    targets[1] = sorted(targets[0])  # as long and with as many of each letter, but few of its q-grams
    queries = [edited(rng, [*record[int(rng.integers(4)) :], 0, 1, 2], 3, 4) for record in targets[:: 1 if few else 3]]
    bound = (0.5, -0.4, 1.0, inside, coverage, of_shorter)
    found = tile(name, queries, targets, bound, 4, q=q, bits=32768, counts=True)
    lengths, counts, sketches = [], [], []
    for i, s in enumerate(queries):
        for j, t in enumerate(targets):
            k, covered = limit(bound, s, t), (min if of_shorter else max)(len(s), len(t))
            if abs(len(s) - len(t)) > k:
                continue
            lengths.append((i, j))
            beyond = [math.floor(len(r) - coverage * covered) for r in (s, t)]
            part = min(len(s), len(t)) - min(beyond)  # letters of the shorter one at least, between the ends
            surplus = np.bincount(s, minlength=4) - np.bincount(t, minlength=4)
            letters, *most = (
                max(0, min(g * k, math.floor(g * inside * part) + e, g * math.floor(inside * min(len(s), len(t))) + e))
                if min(beyond) >= 0
                else 0
                for g, e in ((1, max(beyond)), *((q, e) for e in beyond))
            )
            if max(surplus.clip(0).sum(), (-surplus).clip(0).sum()) > letters:
                continue
            counts.append((i, j))
            a, b = ({tuple(r[at : at + q]) for at in range(len(r) - q + 1)} for r in (s, t))
            if len(a - b) <= most[0] and len(b - a) <= most[1]:
                sketches.append((i, j))
    assert found.steps.tolist() == [len(queries) * len(targets), len(lengths), len(counts), len(sketches)]
    assert 0 < len(sketches) < len(counts) <= len(lengths)
    assert few or len(counts) < len(lengths)
    pairs = [(queries[i], targets[j]) for i, j in sketches]
    edits = expected_inside(pairs, edits_inside(coverage, pairs, of_shorter), inside)
    assert triples(found) == [(*pair, d) for pair, d in zip(sketches, edits, strict=True) if d >= 0]
    assert few or 0 < len(found.queries) < len(sketches)
    assert any(len(queries[i]) != len(targets[j]) for i, j in sketches)


def test_wanted_targets_and_numbers(rng, name):
    records = families(rng, 150, 30, 4, 3)
    bound = (0, 0, 2)
    firsts = np.arange(1, len(records) + 1)
    found = tile(name, records, records, bound, 4, q=2, bits=256, counts=True, firsts=firsts)
    assert triples(found) == brute_force(records, records, bound, wanted=lambda i, j: j > i)
    assert found.steps[0] == len(records) * (len(records) - 1) // 2
    # Numbers that do not rise with the length, of some of the records
    shuffled = [records[k] for k in rng.permutation(len(records))]
    some = np.sort(rng.choice(len(records), 140, replace=False))
    target_ids = np.array(sorted(some.tolist(), key=lambda k: len(shuffled[k])))
    query_ids = rng.permutation(some)[:60]
    found = tile(name, shuffled, shuffled, bound, 4, q=2, bits=256, firsts=query_ids + 1, ids=(query_ids, target_ids))
    wanted = {(i, j) for i in query_ids.tolist() for j in target_ids.tolist() if j > i}
    assert triples(found) == brute_force(shuffled, shuffled, bound, wanted=lambda i, j: (i, j) in wanted)
    assert found.steps[0] == len(wanted)


def test_many_letters_in_one_record(name):
    """Counts and sketches that 16 bits cannot hold must not lose a pair."""
    long = np.zeros(70_000, np.uint8)
    other = long.copy()
    other[::2000] = 1
    records = [long[:66_000], long, other]
    found = tile(name, records, records, (0, 0, 4000), 2, q=1, bits=64, counts=True)
    assert triples(found) == [
        *((0, j, (0, 4000, 4000)[j]) for j in range(3)),
        *((1, j, (4000, 0, 35)[j]) for j in range(3)),
        *((2, j, (4000, 35, 0)[j]) for j in range(3)),
    ]


def test_too_many_pairs(rng, name):
    records = families(rng, 130, 20, 2, 2)
    enough = len(brute_force(records, records, (0, 0, 5)))
    assert len(tile(name, records, records, (0, 0, 5), 2, q=2, bits=64, most=enough).queries) == enough
    found = tile(name, records, records, (0, 0, 5), 2, q=2, bits=64, most=enough - 1)
    assert found.overflow
    assert [len(column) for column in (found.queries, found.targets, found.distances)] == [0, 0, 0]


@settings(max_examples=60)
@given(
    st.lists(strings, min_size=1, max_size=30),
    st.lists(strings, min_size=1, max_size=30),
    st.integers(1, 6),
    st.sampled_from([64, 256, 4096]),
    st.integers(0, 20),
    st.booleans(),
)
def test_tiles_of_any_strings(queries, targets, q, bits, most, counts):
    targets = sorted(targets, key=len)
    truth = brute_force(queries, targets, (0, 0, most))
    for name in SETS:
        assert triples(tile(name, queries, targets, (0, 0, most), 3, q=q, bits=bits, counts=counts)) == truth


def test_real_letters(name):
    """N is a letter like others, as it is in edit distances of the tool."""
    texts = [b"ACGTNNNRYACGT" * 3, b"ACGTNNARYACGT" * 3, b"ACGTACGTNACGT" * 3]
    records = [DNA.encoding[np.frombuffer(text, np.uint8)] for text in texts]
    found = tile(name, records, records, (0, 0, 12), 15, q=3, bits=512, counts=True)
    assert triples(found) == brute_force(records, records, (0, 0, 12))


# ---- what is refused, and stopped


def test_building_in_ranges(rng):
    records = families(rng, 50, 80, 15, 5)
    parts = _near.Records(*coded(records), 15, 4, 1024)
    for first, stop in ((20, 50), (0, 7), (7, 20)):
        with pytest.raises(ValueError, match="not built"):
            _near.within(SETS[0], parts, parts, np.arange(2), np.arange(2), _near.Bound(0, 0, 3), _near.Cancel())
        parts.build(first, stop, threads=3)
    whole = held(records, 15, 4, 1024)
    ids, firsts = np.arange(50), np.zeros(50, np.int64)
    found = [
        triples(_near.near_tile(SETS[0], r, r, ids, firsts, ids, _near.Bound(0, 0, 8), True, 10**6, _near.Cancel())) for r in (parts, whole)
    ]
    assert found[0] == found[1] == brute_force(records, records, (0, 0, 8))
    assert parts.nbytes == whole.nbytes > 50 * 1024 // 8


@pytest.mark.parametrize(
    ("codes", "offsets", "letters", "q", "bits", "message"),
    [
        ([0, 1, 4], [0, 3], 4, 0, 0, "code"),
        ([0, 1], [0, 3], 4, 0, 0, "offsets"),
        ([0, 1], [1, 2], 4, 0, 0, "offsets"),
        ([0, 1], [0, 2, 1, 2], 4, 0, 0, "offsets"),
        ([0, 1], [0, 9, 2], 4, 0, 0, "offsets"),
        ([0, 1], [], 4, 0, 0, "offsets"),
        ([0], [0, 1], 33, 0, 0, "letters"),
        ([0], [0, 1], 0, 0, 0, "letters"),
        ([0], [0, 1], 4, -1, 64, "q must"),
        ([0], [0, 1], 4, 3, 96, "power of two"),
        ([0], [0, 1], 4, 3, 65536, "power of two"),
    ],
)
def test_records_that_are_refused(codes, offsets, letters, q, bits, message):
    with pytest.raises(ValueError, match=message):
        _near.Records(np.array(codes, np.uint8), np.array(offsets, np.int64), letters, q, bits)


def test_arguments_that_are_refused():
    records, others = held([[0], [1, 1]], 4), held([[0], [1, 1]], 4, 2, 64)
    bound, stop, two = _near.Bound(0, 0, 1), _near.Cancel(), np.arange(2)
    with pytest.raises(ValueError, match="same letters"):
        _near.within(SETS[0], records, others, two, two, bound, stop)
    with pytest.raises(IndexError, match="targets"):
        _near.within(SETS[0], records, records, two, two + 1, bound, stop)
    with pytest.raises(IndexError, match="queries"):
        _near.near_tile(SETS[0], records, records, two - 1, two, two, bound, False, 9, stop)
    with pytest.raises(ValueError, match="ascending"):
        _near.near_tile(SETS[0], records, records, two, two, two[::-1].copy(), bound, False, 9, stop)
    with pytest.raises(ValueError, match="instruction set"):
        _near.within("mmx", records, records, two, two, bound, stop)
    for numbers in ((0, math.nan, 0), (0, 0, 0, math.inf, 0.9), (0, 0, 0, 0.1, math.nan)):
        with pytest.raises(ValueError, match="finite"):
            _near.Bound(*numbers)
    with pytest.raises(IndexError, match="records"):
        records.build(0, 3)


def test_cancelled(rng, name):
    records = families(rng, 200, 60, 4, 4)
    stop = _near.Cancel()
    stop.request()
    ids, all_of = np.arange(200), held(records, 4, 3, 256)
    assert _near.within(name, all_of, all_of, ids, ids, _near.Bound(0, 0, 9), stop) is None
    assert _near.near_tile(name, all_of, all_of, ids, ids * 0, ids, _near.Bound(0, 0, 9), False, 10**6, stop) is None
