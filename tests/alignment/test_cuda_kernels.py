"""Every CUDA kernel against the CPU engine or the plain recurrence: on the host everywhere, on a device where there is one."""

import numpy as np
import pytest
from host_device import HostDevice, name_of
from oracle import local_score
from relatives import mutated, related_sets, relatives
from work import edit, records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.scoring.matrices import matrix_by_name
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import (
    bit_sliced as slices,
)
from gpualign.gpu.alignment.families import (
    one_thread_per_pair as threads,
)
from gpualign.gpu.alignment.families import (
    warp_chain as chain,
)
from gpualign.gpu.alignment.families import (
    warp_chain_edit as chain_edit,
)
from gpualign.gpu.alignment.recipe import H16X2, make_recipe

BLOSUM62 = scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 12, 1)
BLOSUM62_LINEAR = scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 8, 8)

# name: scoring, letters, shapes
GLOBAL = {
    "linear 16 bits": (two_valued(15, 5, -4, 6, 6), 15, [threads, chain]),
    "linear 32 bits": (two_valued(4, 500, -400, 600, 600), 4, [threads]),
    "linear 64 bits": (two_valued(4, 5 * 10**8, -4 * 10**8, 10**8, 10**8), 4, [threads, chain]),
    "free gaps": (two_valued(4, 3, -2, 0, 0), 4, [threads]),
    "affine 16 bits": (two_valued(4, 5, -4, 10, 1), 4, [threads, chain]),
    "affine, free extension": (two_valued(4, 5, -4, 10, 0), 4, [threads]),
    "affine, dear mismatch": (two_valued(4, 1, -50, 3, 1), 4, [threads]),
    "affine, two letters": (two_valued(2, 5, -4, 10, 1), 2, [threads]),
    "affine 32 bits": (two_valued(4, 500, -400, 1000, 100), 4, [threads, chain]),
    "affine 64 bits": (two_valued(4, 5 * 10**8, -4 * 10**8, 10**8, 10**7), 4, [threads, chain]),
    "protein affine": (BLOSUM62, 27, [threads, chain]),
    "protein linear": (BLOSUM62_LINEAR, 27, [threads]),
    "steps 1": (two_valued(5, 1, 0, 0, 0), 5, [slices]),
    "steps 3": (two_valued(15, 1, -1, 1, 1), 15, [slices]),
    "steps 4": (two_valued(4, 2, -1, 1, 1), 4, [slices]),
    "steps 4, mismatch 3": (two_valued(4, 2, 1, 1, 1), 4, [slices]),
    "edit": (edit(15), 15, [slices, chain_edit]),
    "edit protein": (edit(27), 27, [slices, chain_edit]),
}
LOCAL = {
    "linear 16 bits": (two_valued(4, 5, -4, 6, 6), 4, [threads, chain]),
    "linear 32 bits": (two_valued(4, 500, -400, 600, 600), 4, [threads]),
    "affine 16 bits": (two_valued(15, 5, -4, 10, 1), 15, [threads]),
    "affine, dear mismatch": (two_valued(4, 4, -50, 3, 1), 4, [threads]),
    "linear, dear gaps": (two_valued(4, 63, -64, 90, 90), 4, [threads]),
    "linear, cheap gaps beside its scores": (two_valued(4, 100, -27, 10, 10), 4, [threads]),
    "affine, dear gaps": (two_valued(4, 63, -64, 90, 2), 4, [threads, chain]),
    "affine, gaps that nothing pays": (two_valued(15, 5, -4, 1000, 10), 15, [threads]),
    "affine, cheap gaps beside its scores": (two_valued(4, 100, -27, 10, 1), 4, [threads]),
    "protein, dear gaps": (scoring(matrix_by_name("BLOSUM62").table(PROTEIN)[0], 130, 1), 27, [threads]),
    "affine, nothing pays": (two_valued(4, -50, -150, 100, 10), 4, [threads]),
    "protein affine": (BLOSUM62, 27, [threads, chain]),
    "affine 32 bits": (two_valued(4, 500, -400, 1000, 100), 4, [threads, chain]),
    "affine 64 bits": (two_valued(4, 5 * 10**8, -4 * 10**8, 10**8, 10**7), 4, [threads, chain]),
}


def cases(table):
    return [pytest.param(s, n, family, id=f"{name}-{name_of(family)}") for name, (s, n, families) in table.items() for family in families]


def sizes(device):
    """Queries, targets and the longest of them that this kind of device gets through in a moment."""
    return (6, 41, 140) if isinstance(device, HostDevice) else (100, 1300, 1200)


@pytest.mark.parametrize(("scheme", "letters", "family"), cases(GLOBAL))
def test_global_scores(rng, device, force, scheme, letters, family):
    force(family)
    rows, columns, longest = sizes(device)
    if scheme.dtype(longest, longest) == np.int64 and not isinstance(device, HostDevice):
        rows, columns = 10, 100
    queries, targets = related_sets(rng, [rows, columns], longest, letters)
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]))
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(4)))


@pytest.mark.parametrize(("scheme", "letters", "family"), cases(LOCAL))
def test_local_scores(rng, device, force, scheme, letters, family):
    force(family)
    queries, targets = related_sets(rng, [5, 24], 130, letters)
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]), mode=Mode.LOCAL)
    expected = [
        [local_score(q, t, scheme.substitution, scheme.gap_open, scheme.gap_extend) for t in records(targets)] for q in records(queries)
    ]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("longest", [255, 256])
def test_the_largest_distances_of_a_narrow_type(device, longest):
    """255 is all that a byte holds."""
    queries, targets = sequence_set([[0] * longest, [0, 1, 2]]), sequence_set([[1] * longest, [3] * 7, [2] * (longest - 1)])
    scores = run_scores(queries, targets, edit(4), engine=CudaEngine([device]))
    assert scores.tolist() == [[longest, longest, longest], [longest - 1, 7, longest - 2]]


def test_the_least_scores_of_a_narrow_type(device):
    """-32,768 of 16 bits, where two gaps are cheaper than columns of unequal letters."""
    for length, gap in ((128, 128), (113, 145)):
        queries, targets = sequence_set([[0] * length]), sequence_set([[1] * length, [0] * length])
        scores = run_scores(queries, targets, two_valued(2, 1, -300, gap, gap), engine=CudaEngine([device]))
        assert scores.tolist() == [[-2 * length * gap, length]]


HALF_FLOATS = [(GLOBAL, name, Mode.GLOBAL) for name, (scheme, *_) in GLOBAL.items() if "16 bits" in name or "affine" in name]
HALF_FLOATS += [(LOCAL, name, Mode.LOCAL) for name in LOCAL]


@pytest.mark.parametrize(("table", "name", "mode"), [pytest.param(*case, id=f"{case[1]}-{case[2]}") for case in HALF_FLOATS])
def test_halves_of_words_as_half_floats(rng, device, monkeypatch, force, table, name, mode):
    """As on devices without DPX; scores that do not fit go in 32 bits or 64."""
    force(threads)
    if isinstance(device, HostDevice):
        monkeypatch.setattr(device, "arch", "sm_80")
    else:
        monkeypatch.setattr("gpualign.gpu.alignment.engine.packed_score_type", lambda archs: H16X2)
    scheme, letters, _ = table[name]
    rows, columns, longest = (6, 41, 140) if scheme.dtype(1200, 1200) == np.int64 else sizes(device)
    queries, targets = related_sets(rng, [rows, columns], longest, letters)
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]), mode=mode)
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(4), mode=mode))
    if isinstance(device, HostDevice) and "16 bits" in name:
        assert any(("CELL", H16X2) in kernel.macros for kernel in device.launched)


def test_half_floats_up_to_infinity(device, monkeypatch, force):
    """31,744: equal letters as many as fit, and one more, for which scores have 32 bits."""
    force(threads)
    monkeypatch.setattr("gpualign.gpu.alignment.engine.packed_score_type", lambda archs: H16X2)
    scheme = two_valued(4, 63, -20, 60, 30)
    form = make_recipe(Task(sequence_set([[0]]), sequence_set([[0]]), scheme), packed_score_type=H16X2).rebased_form
    most = max(n for n in range(1, 400) if form.max_value(n, n + 4) <= 0x7C00)
    for n in (most, most + 1):
        queries, targets = sequence_set([[1] * n, [1] * (n - 1) + [2]]), sequence_set([[1] * n] * 3)
        scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]))
        assert scores.tolist() == [[63 * n] * 3, [63 * (n - 1) - 20] * 3]


def with_few_others(rng, sequences, letters):
    """One letter in a hundred becomes another than the first four."""
    return sequence_set([np.where(rng.random(len(s)) < 0.01, rng.integers(4, letters, len(s)), s) for s in records(sequences)])


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", ["linear", "affine"])
def test_columns_with_and_without_rare_letters(rng, device, force, name, mode):
    """Of nucleotides, each column takes one of two ways to its scores."""
    force(threads)
    scheme = two_valued(15, 5, -4, 6, 6) if name == "linear" else two_valued(15, 5, -4, 10, 1)
    queries, targets = (with_few_others(rng, relatives(rng, count, 130, 4), 15) for count in (6, 41))
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]), mode=mode)
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2), mode=mode))


@pytest.mark.parametrize("letters", [5, 15])
@pytest.mark.parametrize("scheme", [edit, lambda letters: two_valued(letters, 2, -1, 1, 1)], ids=["edit", "mismatch"])
def test_slices_of_columns_with_and_without_rare_letters(rng, device, force, scheme, letters):
    """A letter that few columns have must be gone in the next, and in the next strip, though the last column has it."""
    force(slices)
    sets = [with_few_others(rng, relatives(rng, count, 130, 4), letters) for count in (40, 41)]
    both = [sequence_set([[*np.where(rng.random(len(s)) < 0.03, 4, s), 4] for s in records(one)]) for one in sets]
    for queries, targets in (sets, both):
        scores = run_scores(queries, targets, scheme(letters), engine=CudaEngine([device]))
        np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme(letters), engine=CpuEngine(2)))


@pytest.mark.parametrize("family", [threads, chain], ids=name_of)
@pytest.mark.parametrize("longest", [1, 2, 5])
def test_nothing_scores_beside_columns_that_there_are_not(device, force, family, longest):
    """Before the first and behind the last, where lanes are at others' columns."""
    force(family)
    queries, targets = sequence_set([[1] * 100, [1] * 700]), sequence_set([[1] * n for n in range(1, longest + 1)])
    scores = run_scores(queries, targets, two_valued(4, 5, -4, 6, 6), engine=CudaEngine([device]), mode=Mode.LOCAL)
    assert scores.tolist() == [[5 * n for n in range(1, longest + 1)]] * 2


def relatives_by_strips(rng, letters, strip):
    """Queries of up to five strips, first ones that are full and others, and targets of less than a batch of columns and of many."""
    ancestor = rng.integers(0, letters, max(1001, 5 * strip))

    def beginnings(lengths):
        return sequence_set([mutated(rng, ancestor[:n], 0.1, letters) for n in lengths])

    return beginnings([1, strip - 1, strip, strip + 1, 3 * strip, 4 * strip + 17]), beginnings([1, 7, 8, 9, 31, 32, 33, 255, 300, 1001])


@pytest.mark.parametrize(("letters", "words"), [(4, 1), (4, 2), (4, 4), (27, 1), (27, 2)])
def test_chains_of_words_of_several_strips_and_any_number_of_columns(rng, device, force, letters, words):
    force(chain_edit, strip_rows=32 * words)
    queries, targets = relatives_by_strips(rng, letters, (256 if isinstance(device, HostDevice) else 1024) * words)
    scores = run_scores(queries, targets, edit(letters), engine=CudaEngine([device]))
    np.testing.assert_array_equal(scores, run_scores(queries, targets, edit(letters), engine=CpuEngine(2)))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("rows", [12, 24])
@pytest.mark.parametrize("name", ["linear 16 bits", "affine 16 bits", "affine 32 bits", "affine 64 bits"])
def test_chains_of_several_strips_and_any_number_of_columns(rng, device, force, name, rows, mode):
    force(chain, strip_rows=rows)
    scheme, letters, _ = GLOBAL[name]
    queries, targets = relatives_by_strips(rng, letters, (8 if isinstance(device, HostDevice) else 32) * rows)
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([device]), mode=mode)
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2), mode=mode))
