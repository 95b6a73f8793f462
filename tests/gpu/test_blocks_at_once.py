"""Blocks that hand each other their carries: in many orders of their turns, and with more items than slots, so that slots change hands."""

import numpy as np
import pytest
from host_device import HostDevice, compiler
from relatives import mutated
from work import edit, run_scores, sequence_set, two_valued

from gpualign.core.alignment.task import Mode
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import batch_layout
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import bit_sliced, one_thread_per_pair, warp_chain, warp_chain_edit

pytestmark = [pytest.mark.slow, pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")]

AFFINE, LINEAR = two_valued(4, 5, -4, 10, 1), two_valued(4, 5, -4, 6, 6)


@pytest.fixture
def schedules(monkeypatch):
    """The schedules of all batches, as they are made."""
    made = []

    def make(*arguments):
        made.append(make_schedule(*arguments))
        return made[-1]

    make_schedule = batch_layout.make_schedule
    monkeypatch.setattr(batch_layout, "make_schedule", make)
    return made


def relatives_of_many_strips(rng, counts, longest):
    """Queries and targets of one ancestor, long enough that a strip waits for the one above it several times.

    Half of the targets are as long as the longest, whose last columns are nothing to others.
    """
    ancestor = rng.integers(0, 4, max(longest))
    lengths = [rng.integers(n // 2, n + 1, count) for n, count in zip(longest, counts, strict=True)]
    lengths[1][::2] = longest[1]
    deleted = 0.1, 0.0
    return [sequence_set([mutated(rng, ancestor[:n], 0.2, 4, share) for n in some]) for some, share in zip(lengths, deleted, strict=True)]


QUEUES = [
    pytest.param(one_thread_per_pair, AFFINE, Mode.GLOBAL, id="threads-affine"),
    pytest.param(one_thread_per_pair, LINEAR, Mode.LOCAL, id="threads-local"),
    pytest.param(bit_sliced, edit(4), Mode.GLOBAL, id="slices"),
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("family", "scheme", "mode"), QUEUES)
def test_slots_change_hands(rng, force, schedules, family, scheme, mode, seed):
    force(family)
    many = 20 if family is one_thread_per_pair else 800  # an item of slices has 32 times 32 pairs
    queries, targets = relatives_of_many_strips(rng, (24, many), (160, 420))
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([HostDevice(multiprocessors=1, seed=seed)]), mode=mode)
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2), mode=mode))
    assert schedules
    assert all(schedule.slot_count < len(schedule.item_slots) for schedule in schedules)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("family", "scheme"), [(warp_chain, AFFINE), (warp_chain_edit, edit(4))], ids=["chain", "edit"])
def test_chains_of_several_blocks(rng, force, family, scheme, seed):
    force(family)
    queries, targets = relatives_of_many_strips(rng, (5, 3), (1200, 500))
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([HostDevice(seed=seed)]))
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2)))


@pytest.mark.parametrize(
    ("family", "scheme"),
    [(one_thread_per_pair, AFFINE), (bit_sliced, edit(4))],
    ids=["threads", "slices"],
)
def test_few_pairs_of_several_strips(rng, force, family, scheme):
    """Small enough for ThreadSanitizer (test_cuda_sanitized.py): strips that look at the flag of the strip above three times."""
    force(family)
    queries, targets = relatives_of_many_strips(rng, (3, 4), (200, 300))
    scores = run_scores(queries, targets, scheme, engine=CudaEngine([HostDevice()]))
    np.testing.assert_array_equal(scores, run_scores(queries, targets, scheme, engine=CpuEngine(2)))
