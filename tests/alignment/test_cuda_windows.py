"""Local scores of long sequences in windows: that windows hold every alignment, and the kernel that computes them."""

from dataclasses import replace

import numpy as np
import pytest
from host_device import HostDevice, HostStream
from hypothesis import given
from hypothesis import strategies as st
from oracle import local_score
from relatives import mutated
from work import records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.scoring.recurrence_forms import rebased_form
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import sequence_windows, worker
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import warp_chain as chain
from gpualign.gpu.alignment.kernel_selection import choose_kernel_variant
from gpualign.gpu.alignment.recipe import make_recipe
from gpualign.gpu.alignment.sequence_windows import WHOLE_SEQUENCES, Windows, max_aligned_letters, window_choices
from gpualign.gpu.kernels.kernel import Hardware

H200 = Hardware(132, 1.98e9)
DNA_WEIGHTS = two_valued(15, 5, -4, 16, 6)
LINEAR = two_valued(4, 5, -4, 6, 6)
WIDE = two_valued(4, 500, -400, 1600, 600)
WIDEST = two_valued(4, 4 * 10**7, -(10**7), 10**8, 5 * 10**7)
BLOSUM62 = scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 12, 6)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=5), st.integers(1, 20), st.integers(0, 20))
def test_every_run_of_letters_is_in_a_window(lengths, stride, overlap):
    windows = Windows(stride, overlap)
    sequences, ranges = windows.divide(np.array(lengths))
    assert sequences.tolist() == sorted(sequences.tolist())
    assert sorted((ranges[:, 1] - ranges[:, 0]).tolist()) == sorted(windows.lengths(np.array(lengths)).tolist())
    for number, length in enumerate(lengths):
        found = [tuple(r) for r in ranges[sequences == number].tolist()]
        assert [first for first, _ in found] == list(range(0, stride * len(found), stride))
        assert all(0 <= first < end <= length and end - first <= stride + overlap for first, end in found)
        for start in range(length):
            end = min(length, start + overlap + 1)
            assert any(first <= start and end <= stop for first, stop in found)
        assert len(found) == 1 or length > stride + overlap, "one window is enough"


weights = st.integers(-9, 9)
sequences = st.lists(st.integers(0, 2), min_size=1, max_size=12)


@given(
    st.lists(st.lists(weights, min_size=3, max_size=3), min_size=3, max_size=3),
    st.integers(0, 12),
    st.integers(1, 6),
    st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.lists(st.integers(0, 2), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_the_best_window_has_the_score_of_the_sequence(table, more, extend, query, target, stride):
    scheme = scoring(table, extend + more, extend)
    letters = max_aligned_letters(rebased_form(scheme, local=True), len(query))

    def score(part):
        return local_score(query, np.array(part), scheme.substitution, scheme.gap_open, scheme.gap_extend)

    _, ranges = Windows(stride, letters - 1).divide(np.array([len(target)]))
    assert max(score(target[first:end]) for first, end in ranges.tolist()) == score(target)


def test_windows_a_letter_shorter_than_an_alignment_miss_it():
    """Two runs of equal letters, and between them the longest gap that either pays for."""
    scheme, run = two_valued(4, 5, -4, 3, 1), 20
    query, target = [0] * run + [2] * run, [0] * run + [1] * (5 * run - 3) + [2] * run
    letters = max_aligned_letters(rebased_form(scheme, local=True), len(query))
    assert letters >= len(target) > 3 * len(query)
    target = np.array([3, *target, 3])
    found = {}
    for overlap in (letters - 1, len(target) - 3, len(target) - 4):
        _, ranges = Windows(1, overlap).divide(np.array([len(target)]))
        found[overlap] = max(local_score(query, target[first:end], scheme.substitution, 3, 1) for first, end in ranges.tolist())
    assert list(found.values()) == [101, 101, 100]


def test_without_extension_costs_an_alignment_has_any_length():
    form = rebased_form(two_valued(4, 5, -4, 10, 0), local=True)
    assert max_aligned_letters(form, 4) is None
    assert max_aligned_letters(form, 2) == 2  # two letters do not pay for a gap
    assert not list(window_choices(form, 100, 10**6))


@pytest.mark.parametrize(
    ("query", "target", "divided"),
    [
        (1000, 10**7, "target"),
        (10**7, 1000, "query"),
        (10**5, 10**5, None),
        (1000, 1000, None),
        (3000, 10**5, "target"),
        (1, 10**6, "target"),
    ],
)
def test_long_sequences_are_divided_where_the_others_are_short(query, target, divided):
    sets = [sequence_set([np.arange(n) % 4]) for n in (query, target)]
    recipe = make_recipe(Task(*sets, two_valued(4, 5, -4, 16, 6), Mode.LOCAL))
    lengths = np.array([query]), np.array([target])
    chosen = choose_kernel_variant(recipe, *lengths, H200)
    assert (chosen.query_windows != WHOLE_SEQUENCES) == (divided == "query")
    assert (chosen.target_windows != WHOLE_SEQUENCES) == (divided == "target")
    if divided and max(query, target) >= 10**6:
        whole = replace(chosen, query_windows=WHOLE_SEQUENCES, target_windows=WHOLE_SEQUENCES)
        assert 20 * chosen.estimate_clocks(*lengths, H200) < whole.estimate_clocks(*lengths, H200)


@pytest.fixture
def divide(monkeypatch):
    """Makes the CUDA engine divide the queries or the targets into windows of so many letters more than they share."""

    def to(side, stride, rows=12):
        def choose(recipe, queries, targets, hardware, memory=None):
            whole = next(v for v in chain.kernel_variants(recipe, int(queries.max()), int(targets.max())) if v.strip_rows == rows)
            others = targets if side == "query" else queries
            return replace(whole, **{f"{side}_windows": Windows(stride, max_aligned_letters(recipe.rebased_form, int(others.max())) - 1)})

        monkeypatch.setattr(worker, "choose_kernel_variant", choose)

    return to


def long_and_short(rng, letters, longest):
    """Sets of short sequences and of long ones that hold mutated copies of them, also at their ends and beside each other."""
    short = [rng.integers(0, letters, n) for n in (1, 7, 19, 33)]

    def long(length):
        parts = [rng.integers(0, letters, length)]
        for query in short:
            at = int(rng.integers(0, length))
            copy = mutated(rng, query, 0.1, letters, 0.1)
            parts[0] = np.concatenate([parts[0][:at], copy, parts[0][at:]])
        return np.concatenate([short[-1][5:], parts[0], short[-1][:-3]])

    return sequence_set(short), sequence_set([long(n) for n in (longest, longest // 3, 40)] + [np.array([1])])


@pytest.mark.parametrize("side", ["target", "query"])
@pytest.mark.parametrize(
    ("scheme", "letters"),
    [
        pytest.param(DNA_WEIGHTS, 15, id="affine"),
        pytest.param(LINEAR, 4, id="linear"),
        pytest.param(WIDE, 4, id="table"),
        pytest.param(WIDEST, 4, id="64 bits"),
        pytest.param(BLOSUM62, 27, id="protein"),
    ],
)
def test_scores_in_windows(rng, device, divide, side, scheme, letters):
    on_host = isinstance(device, HostDevice)
    short, long = long_and_short(rng, letters, 500 if on_host else 20_000)
    queries, targets = (short, long) if side == "target" else (long, short)
    expected = [
        [local_score(q, t, scheme.substitution, scheme.gap_open, scheme.gap_extend) for t in records(targets)] for q in records(queries)
    ]
    for stride, rows in ((37, 12), (130, 24)):
        divide(side, stride, rows)
        scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]), mode=Mode.LOCAL)
        np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("pairing", [Pairing.ABOVE, Pairing.ABOVE_OR_EQUAL])
def test_windows_of_one_set(rng, device, divide, pairing):
    """Each window belongs to its record, and pairs that nobody wants stay as they were."""
    short, long = long_and_short(rng, 4, 300)
    one = sequence_set([*records(short), *records(long)])
    divide("target", 50)
    scores = run_scores(one, one, LINEAR, pairing, CudaEngine([device]), mode=Mode.LOCAL)
    np.testing.assert_array_equal(np.triu(scores, 1), np.triu(run_scores(one, one, LINEAR, pairing, CpuEngine(2), mode=Mode.LOCAL), 1))


def test_windows_where_memory_is_short(rng, divide, monkeypatch):
    """Sequences come with each batch, and there are slots for some of the windows at a time."""
    monkeypatch.setattr(worker, "MAX_SEQUENCE_MEMORY_FRACTION", 0.0)  # small sequences beside windows that need all other memory
    short, long = long_and_short(rng, 4, 900)
    device = HostDevice(reported=1 << 18)
    launches, launch = [], HostStream.launch
    monkeypatch.setattr(HostStream, "launch", lambda *given: (launches.append(given[1].kernel), launch(*given)))
    divide("target", 20)
    scores = run_scores(short, long, LINEAR, engine=CudaEngine([device]), mode=Mode.LOCAL)
    assert sum(kernel.function == "align_chain" for kernel in launches) > 1
    assert device.used == 0
    np.testing.assert_array_equal(scores, run_scores(short, long, LINEAR, engine=CpuEngine(2), mode=Mode.LOCAL))


def test_long_targets_are_divided_without_being_told(rng, device, monkeypatch):
    monkeypatch.setattr(sequence_windows, "MIN_STRIDE", 60)  # of 1,024 letters: an emulated device takes minutes for longer targets
    chosen, choose = [], worker.choose_kernel_variant
    monkeypatch.setattr(worker, "choose_kernel_variant", lambda *given: chosen.append(choose(*given)) or chosen[-1])
    short, long = long_and_short(rng, 4, 2500 if isinstance(device, HostDevice) else 200_000)
    long = sequence_set(records(long)[:1])
    scores = run_scores(short, long, DNA_WEIGHTS, engine=CudaEngine([device]), mode=Mode.LOCAL)
    assert chosen
    assert all(variant.target_windows != WHOLE_SEQUENCES for variant in chosen)
    np.testing.assert_array_equal(scores, run_scores(short, long, DNA_WEIGHTS, engine=CpuEngine(2), mode=Mode.LOCAL))
