"""Sets of relatives, and lists of their pairs."""

import numpy as np
from relatives import edited, mutated
from work import sequence_set

from gpualign.core.alignment.pair_list import NearPairs


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
