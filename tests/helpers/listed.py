"""Sets of relatives, and lists of their pairs, aligned by a GPU's engine and by the CPU's."""

import numpy as np
from relatives import edited, mutated
from work import expand, sequence_set

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.pair_list import CudaPairEngine


def families(rng, letters, count, longest):
    """Two sets of sequences, from equal to unrelated. Some begin or end later than others."""
    ancestors = [rng.integers(0, letters, int(rng.integers(1, longest))) for _ in range(max(1, count // 12))]

    def copy():
        one = mutated(rng, ancestors[int(rng.integers(len(ancestors)))], rng.choice([0, 0.02, 0.1, 0.4]), letters, rng.choice([0, 0.02]))
        one = edited(rng, one, int(rng.integers(0, 3)), letters, 30)
        return one[int(rng.integers(0, 1 + len(one) // 5)) :]

    return sequence_set([copy() for _ in range(count)]), sequence_set([copy() for _ in range(count)])


def all_pairs_in_disorder(rng, queries, targets, edits=40):
    """All pairs of two sets as near pairs in random order, with random distances below `edits`."""
    i, j = (indices.ravel() for indices in np.indices((len(queries), len(targets))))
    order = rng.permutation(len(i))
    return NearPairs(i[order], j[order], rng.integers(0, edits, len(i)))


def align_by_both(devices, queries, targets, scheme, pairs, detail=Detail.PATH, end_gaps=EndGaps.PENALISED):
    """The results of the devices, and those of the CPU engine."""
    task, budget, host = Task(queries, targets, scheme, detail=detail, end_gaps=end_gaps), Budget.from_total(1 << 28), CpuEngine(2)
    aligner = CudaPairEngine(lambda: devices, host, print).prepare_pair_aligner(task, budget)
    try:
        found = aligner.align_pairs(pairs)
        again = aligner.align_pairs(pairs)  # on open devices
    finally:
        aligner.close()
    np.testing.assert_array_equal(found.scores, again.scores)
    return found, host.prepare_pair_aligner(task, budget).align_pairs(pairs)


def check_equal(found, expected):
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(found.statistics, expected.statistics)
    paths = [[expand(one.runs.data[s : s + n]) for s, n in zip(one.runs.starts, one.runs.sizes, strict=True)] for one in (found, expected)]
    assert paths[0] == paths[1]


def check_equal_without_runs(found, expected, detail):
    """Check results without paths, which have no more detail than asked for."""
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert found.runs is None
    if detail is Detail.SCORE:
        assert found.statistics is None
    else:
        np.testing.assert_array_equal(found.statistics, expected.statistics)
