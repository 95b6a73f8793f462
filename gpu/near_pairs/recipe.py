"""Recipe for finding a task's near pairs on a device: the filter cascade, selected on a sample, and the ranks of letters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.near_pairs.filter_cascade import (
    FilterCascade,
    StepCosts,
    SurvivorCounts,
    cheapest_cascade,
    effective_letters,
    sketch_candidates,
)
from gpualign.core.near_pairs.sampling import sample_records
from gpualign.core.scoring.edit_bounds import EditBound
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.distance.kernels import CHUNK_WORDS
from gpualign.gpu.near_pairs.sketches import hash_grams, make_sketches

_MIN_SKETCH_BITS = CHUNK_WORDS * 64
"""Bits in the smallest sketch: the number of bits that the kernels process in one step."""

_TENSOR_COSTS = StepCosts(pair=4e-4, letter_counts=0.0, word=1.8e-5, column=6e-3, cell=0.0)
_POPC_COSTS = StepCosts(pair=4e-4, letter_counts=0.0, word=8e-4, column=6e-3, cell=0.0)
"""Costs of the filter steps on a device with binary tensor cores, and on a device without. Only the ratios of the costs matter."""

_MIN_PAIRS_FOR_SAMPLE = 200_000
"""Minimum number of pairs for which a sample is worthwhile."""


@dataclass(frozen=True)
class NearPairRecipe:
    """Steps for finding near pairs, and the facts on which the selection of steps was based.

    nanoseconds_per_pair: estimated time per pair of the task
    bound: bound that near pairs without ambiguity letters satisfy
    letters: codes of the letters in use, ascending
    letter_ranks: uint8[256], rank of each code among the letters in use
    survivor_counts: number of sample pairs that survive each step; None if there was no sample
    """

    cascade: FilterCascade
    nanoseconds_per_pair: float
    bound: EditBound
    letters: Codes
    letter_ranks: npt.NDArray[np.uint8] = field(repr=False)
    survivor_counts: SurvivorCounts | None = None

    @property
    def letter_count(self) -> int:
        return len(self.letters)

    @property
    def bits_per_letter(self) -> int:
        """Number of bits in a letter's rank."""
        return max(1, (self.letter_count - 1).bit_length())

    @property
    def ordinary_ranks(self) -> int:
        """Number of leading ranks of letters that stand for a single nucleotide or amino acid (`EditBound.pairing`)."""
        return int(np.count_nonzero(self.letters < self.bound.pairing.ordinary))

    @property
    def sketch_bytes(self) -> int:
        """Size of a record's sketch, in bytes."""
        return self.cascade.sketch_bits // 8


def make_near_pair_recipe(task: Task, has_tensor_cores: bool) -> NearPairRecipe:
    """Return the recipe for a task that has an edit bound (`Task.edit_bound`). The same task always gives the same recipe."""
    assert task.edit_bound is not None
    bound = task.mean_edit_bound
    used = np.union1d(task.queries.used_codes, task.targets.used_codes)
    ranks = np.zeros(256, dtype=np.uint8)
    ranks[used] = np.arange(len(used))
    queries, targets = task.queries, task.targets
    if worth := len(queries) * len(targets) >= _MIN_PAIRS_FOR_SAMPLE:
        queries, targets = sample_records(queries, targets)
    lengths = queries.lengths.mean(keepdims=True).astype(np.int64), targets.lengths.mean(keepdims=True).astype(np.int64)
    mean_lengths = float(lengths[0][0]), float(lengths[1][0])
    max_diagonals = max(0, int(bound.max_diagonals(*lengths)[0]))
    costs = _TENSOR_COSTS if has_tensor_cores else _POPC_COSTS

    def max_different_fraction(q: int) -> float:
        return bound.max_different_gram_fraction(q, *lengths)

    @cache  # of several sizes of sketches
    def hashes(q: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        ours = hash_grams(queries, ranks, len(used), q)
        return ours, ours if targets is queries else hash_grams(targets, ranks, len(used), q)

    def measure(steps: FilterCascade) -> SurvivorCounts:
        return _count_survivors(steps, queries, targets, bound, hashes) if worth else SurvivorCounts(1, 1, 1, 1)

    def options() -> Iterator[FilterCascade]:
        yield FilterCascade()
        if worth:
            tried = sketch_candidates(mean_lengths[1], effective_letters(targets.codes), max_different_fraction)
            for q, bits in dict.fromkeys((q, max(bits, _MIN_SKETCH_BITS)) for q, bits in tried):
                yield FilterCascade(q=q, sketch_bits=bits)

    steps, nanoseconds, survivors = cheapest_cascade(options(), measure, mean_lengths, max_diagonals, costs)
    return NearPairRecipe(steps, nanoseconds, task.edit_bound.with_ambiguity_letters(0), used, ranks, survivors if worth else None)


def _count_survivors(
    cascade: FilterCascade,
    queries: SequenceSet,
    targets: SequenceSet,
    bound: EditBound,
    hashes: Callable[[int], tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]],
) -> SurvivorCounts:
    """Return how many pairs survive each step of the cascade, not counting pairs of a record with itself.

    hashes: given q, returns `hash_grams` of the queries and of the targets
    """
    m, n = queries.lengths[:, None], targets.lengths[None, :]
    passing = np.abs(m - n) <= bound.max_edits(m, n)
    if targets is queries:
        np.fill_diagonal(passing, False)
    pairs, by_length = max(1, passing.size - (len(queries) if targets is queries else 0)), int(passing.sum())
    if cascade.q:
        query_hashes, target_hashes = hashes(cascade.q)
        ours = make_sketches(queries, query_hashes, cascade.q, cascade.sketch_bits)
        theirs = ours if targets is queries else make_sketches(targets, target_hashes, cascade.q, cascade.sketch_bits)
        common = ours @ theirs.T
        passing &= ours.sum(axis=1)[:, None] - common <= bound.max_different_grams(cascade.q, m, n)
        passing &= theirs.sum(axis=1)[None, :] - common <= bound.max_different_grams(cascade.q, n, m)
    return SurvivorCounts(pairs, by_length, by_length, int(passing.sum()))
