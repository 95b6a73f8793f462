"""Listed pairs that a GPU aligns in groups of 32, against those of the CPU engine: on the host everywhere, on a device if there is one."""

import numpy as np
import pytest
from host_device import HostDevice
from hypothesis import given, settings
from hypothesis import strategies as st
from listed import align_by_both, all_pairs_in_disorder, check_equal, check_equal_without_runs, families
from path_cases import SCHEMES
from relatives import mutated
from work import sequence_set, two_valued

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.gpu.alignment import pair_list, sliced_bands
from gpualign.gpu.alignment.recipe import make_recipe
from gpualign.gpu.alignment.sliced_bands import (
    SLICED_WIDTHS,
    GroupLimits,
    SlicedBandBatch,
    SlicedScores,
    group_limits,
    plan_sliced_batches,
    sliced_scores,
)
from gpualign.gpu.kernels.kernel import Hardware

SCHEMES |= {"usearch": two_valued(15, 2, -4, 20, 2), "blastn": two_valued(15, 2, -3, 7, 2), "cheap gaps": two_valued(15, 1, -2, 3, 1)}
SCORES = {
    "default": SlicedScores(7, -2, 9, 5),
    "linear": SlicedScores(17, 8, 0, 5),
    "2/-1/1": SlicedScores(4, 1, 0, 3),
    "edit": SlicedScores(2, 1, 0, 2),
    "free extension": SlicedScores(3, -2, 4, 4),
    "usearch": SlicedScores(1, 0, 3, 4),
    "blastn": SlicedScores(6, 1, 5, 5),
    "cheap gaps": SlicedScores(3, 0, 2, 3),
}
FILE = "trace_sliced_bands.cu"


@pytest.fixture(autouse=True)
def every_list_is_long(monkeypatch):
    """For a device, and for groups of pairs."""
    monkeypatch.setattr(pair_list, "MIN_CELLS_PER_THREAD", 0)
    monkeypatch.setattr(sliced_bands, "MIN_WARPS", 0)


@pytest.fixture
def two_widths(monkeypatch):
    """Fewer kernels to compile."""
    monkeypatch.setattr(sliced_bands, "SLICED_WIDTHS", (2, 6))


def relatives(rng, count, length, rate=0.1, letters=4):
    """Copies of one sequence with edits, which begin and end at different places."""
    ancestor = rng.integers(0, letters, length)
    copies = [mutated(rng, ancestor, rng.choice([0, rate]), letters, rng.choice([0, rate / 4])) for _ in range(count)]
    return sequence_set([copy[int(rng.integers(0, 4)) : len(copy) - int(rng.integers(0, 4))] for copy in copies])


def launched_widths(device):
    return {int(dict(kernel.macros)["CELLS"]) for kernel in device.launched if kernel.file == FILE}


@pytest.mark.parametrize("scheme", SCORES)
def test_as_on_the_cpu(rng, device, two_widths, scheme):
    """From equal to unrelated: groups of 32, the pairs that are left, and pairs for the host."""
    on_host = isinstance(device, HostDevice)
    queries, targets = families(rng, int(rng.choice([2, 4])), 16 if on_host else 100, 60 if on_host else 900)
    more = relatives(rng, 12, 40 if on_host else 300)
    for one, other in ((queries, targets), (more, more)):
        check_equal(*align_by_both([device], one, other, SCHEMES[scheme], all_pairs_in_disorder(rng, one, other)))
    if on_host:
        assert {kernel.file for kernel in device.launched} == {"trace_bands.cu", FILE}


def test_every_width(rng, device):
    """Bands of every width, by the number of edits in the list."""
    records = relatives(rng, 14, 120)
    pairs = all_pairs_in_disorder(rng, records, records)
    widths = set()
    for edits in (1, 4, 10, 16, 22, 30, 40, 60):
        told = NearPairs(pairs.queries, pairs.targets, np.full(len(pairs), edits))
        check_equal(*align_by_both([device], records, records, SCHEMES["default"], told))
        if isinstance(device, HostDevice):
            widths |= launched_widths(device)
    assert not isinstance(device, HostDevice) or widths == set(SLICED_WIDTHS)


@pytest.mark.parametrize("detail", [Detail.SCORE, Detail.STATISTICS])
def test_no_more_detail_than_asked_for(rng, device, two_widths, detail):
    records = relatives(rng, 12, 40)
    found, expected = align_by_both([device], records, records, SCHEMES["default"], all_pairs_in_disorder(rng, records, records), detail)
    check_equal_without_runs(found, expected, detail)


def test_other_letters_are_aligned_otherwise(rng, two_widths):
    """Pairs in which either sequence has a letter that two bits do not hold."""
    plain, ambiguous = relatives(rng, 12, 40), relatives(rng, 12, 40, letters=15)
    for queries, targets, sliced in (
        (plain, ambiguous, False),
        (ambiguous, plain, False),
        (ambiguous, ambiguous, False),
        (plain, plain, True),
    ):
        device = HostDevice()
        check_equal(*align_by_both([device], queries, targets, SCHEMES["default"], all_pairs_in_disorder(rng, queries, targets)))
        assert (FILE in {kernel.file for kernel in device.launched}) == sliced


def test_sequences_of_very_different_lengths(rng, two_widths):
    """Groups of tiny and long sequences."""
    ancestor = rng.integers(0, 4, 60)
    records = sequence_set([ancestor[:length] for length in (1, 1, 2, 3, 5, 8, 9, 31, 32, 33, 59, 60)])
    for scheme in ("default", "edit"):
        pairs = all_pairs_in_disorder(rng, records, records, 60)
        check_equal(*align_by_both([HostDevice()], records, records, SCHEMES[scheme], pairs))


def test_long_runs_of_equal_pairs(rng, device, two_widths):
    """Runs around 64 pairs, the most that a byte holds, and around twice as many."""
    ancestor = rng.integers(0, 4, 160)
    records = sequence_set([ancestor[start : start + length] for start in range(2) for length in (*range(61, 69), *range(126, 131))])
    check_equal(*align_by_both([device], records, records, SCHEMES["default"], all_pairs_in_disorder(rng, records, records, 8)))


def test_several_devices_and_many_batches(rng, monkeypatch, two_widths):
    monkeypatch.setattr(sliced_bands, "MAX_GROUPED_PAIRS", 32)  # of 131,072
    records = relatives(rng, 16, 40)
    devices = [HostDevice(), HostDevice()]
    check_equal(*align_by_both(devices, records, records, SCHEMES["default"], all_pairs_in_disorder(rng, records, records)))
    assert all(device.launched and not device.opened for device in devices)


@pytest.mark.parametrize("memory", [1 << 12, 1 << 19, 1 << 21])
def test_a_device_with_little_memory(rng, two_widths, memory):
    """Groups that do not fit side by side are aligned one after the other, or by the host."""
    records = relatives(rng, 24, 40)
    device = HostDevice(memory)
    check_equal(*align_by_both([device], records, records, SCHEMES["default"], all_pairs_in_disorder(rng, records, records)))
    assert device.used == 0


@pytest.mark.parametrize("scheme", [*SCORES, "protein", "loose", "dear mismatch", "dear mismatch, linear", "free gaps", "16 bits"])
def test_scores_of_a_scoring(scheme):
    letters = sequence_set([list(range(20 if scheme == "protein" else 15))])
    recipe = make_recipe(Task(letters, letters, SCHEMES[scheme], detail=Detail.PATH))
    assert sliced_scores(recipe) == (SCORES["default"] if scheme == "16 bits" else SCORES.get(scheme))  # ten times as much


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 32]), st.integers(1, 200), st.integers(32, 200), st.integers(0, 200_000))
def test_batches_hold_whole_groups(seed, lanes, min_pairs, max_pairs, max_words):
    """Each pair once, 32 by 32 with the same band, which holds both corners and the slack."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 600))
    m = rng.integers(1, 300, count)
    n = np.maximum(1, m + rng.integers(-12, 13, count))
    indices = rng.permutation(count)[: int(rng.integers(1, count + 1))]
    slacks = rng.integers(0, int(rng.choice([4, 40, 300])), len(indices))
    batches, left = plan_sliced_batches((m, n), indices, slacks, lanes, GroupLimits(min_pairs, max_pairs, max_words))
    planned = np.concatenate([batch.indices for batch in batches] + [indices[left]])
    np.testing.assert_array_equal(np.sort(planned), np.sort(indices))
    needed = dict(zip(indices.tolist(), slacks.tolist(), strict=True))
    for width in {batch.width for batch in batches}:
        assert sum(len(batch.indices) for batch in batches if batch.width == width) >= min_pairs
    for batch in batches:
        assert len(batch.indices) <= max_pairs
        assert batch.words_per_team(lanes) <= max_words
        groups = batch.indices.reshape(-1, SlicedBandBatch.group_pairs)
        lowest = batch.lowest.reshape(groups.shape)
        assert (lowest == lowest[:, :1]).all()
        assert (lowest % 2 == 1).all()
        longest = (m + n)[groups].max(axis=1)
        assert (np.diff(longest) <= 0).all()
        assert longest.max() == batch.max_letters
        highest = lowest + 2 * lanes * batch.width - 1
        slack = batch.slacks.reshape(groups.shape)
        assert (slack >= np.vectorize(needed.get)(groups)).all()
        difference = (n - m)[groups]
        assert (lowest <= np.minimum(0, difference) - slack).all()
        assert (highest >= np.maximum(0, difference) + slack).all()


def test_a_pair_that_fits_no_band_leaves_the_groups_as_they_are():
    """Bands of two widths share no group, however far another pair's corners are apart."""
    m, n = np.array([900_000_000] + [40] * 32), np.array([10] + [40] * 16 + [100] * 16)
    batches, left = plan_sliced_batches((m, n), np.arange(33), np.full(33, 3), 32, GroupLimits(1, 1024, 1 << 24))
    assert not batches  # 16 pairs of each width
    assert len(left) == 33


def test_limits_of_a_device(monkeypatch):
    """Four warps of each multiprocessor have groups, and memory for these."""
    monkeypatch.setattr(sliced_bands, "MIN_WARPS", 4)
    limits = group_limits(Hardware(132, 2e9), 1 << 33)
    assert limits.min_pairs == 4 * 132 * 32
    assert limits.max_team_words * 4 * 4 * 132 <= 1 << 33


def test_halves_hold_whole_groups():
    numbers = np.arange(5 * 32)
    batch = SlicedBandBatch(1, False, numbers, numbers, numbers, 100)
    one, other = batch.halves()
    assert isinstance(one, SlicedBandBatch)
    assert (len(one.indices), len(other.indices)) == (64, 96)
    np.testing.assert_array_equal(np.concatenate([one.indices, other.indices]), numbers)
