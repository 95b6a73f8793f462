"""Decides by a sample of pairs whether a task's scores are found faster in bands of diagonals than in full matrices.

Similar sequences need only a narrow band: their score proves that no best path leaves it. The path kernels try bands first, so they compute
scores of similar long sequences faster than the score kernels, although they also store directions. Edit distances are faster still with
the kernel for near pairs, which computes no cells beyond a bound on edits.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Task
from gpualign.core.common.arrays import Codes, Integers, Reals, distinct
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.pair_list import CpuPairAligner

SAMPLED_PAIRS = 8

_WORD_BITS = 60
"""Number of bits in a word, a substring of fixed length. The share of common words says how similar two sequences are."""

_MAX_EXAMINED_LETTERS = 1 << 17
"""Maximum number of letters at the start of a sequence whose words are compared. Sorting the words of a chromosome would take seconds and
much memory."""

_MIN_SAVING = 4
"""Bands are used only if full matrices take at least this many times as long, because the rates of full matrices are those of slow
machines."""

_SECONDS_PER_STEP = 2.4e-9
"""Time that a core takes for a step of the block kernel, in which the costs below are measured."""

_VECTOR_COST, _WALK_COST = 2.5, 1.5
"""Cost of an antidiagonal of a band for each of its vectors, and for the traceback (`band_paths.cpp`)."""

_MIN_LANES = 64
"""Number of lanes of the narrowest band. A lane has two diagonals."""

BOUND_PER_EDIT = 2
"""Edit distances are found in bands if they are at most this many times those of the sampled pairs."""

FULL_PATH_COST, FULL_DISTANCE_COST = 2.0, 1.2
"""Time for a pair whose band turns out too narrow, relative to a full matrix without directions: for a full matrix with directions, and for
one without after an attempt in a band of edit distances."""

_WORD_BYTE_SECONDS, _ROW_COST = 1.3e-8, 6
"""Time that a core takes for 64 diagonals of one row of a bit-parallel band, multiplied by the bytes of a vector; and the overhead of a
row, which takes as long as this many times 64 diagonals. Both lie in the middle of what was measured with 1,500 to 20,000 letters and up to
3 % of edits."""


def may_prefer_bands(task: Task, cells_per_second: float, vector_bytes: int) -> bool:
    """Return whether sequences are so long that bands would be faster if the sequences of each pair were identical.

    cells_per_second: number of cells of full matrices that a core computes per second
    vector_bytes: vector size in bytes
    """
    longest, none = np.array([min(task.queries.max_length, task.targets.max_length)]), np.zeros(1, dtype=np.int64)
    if task.scoring.edit:
        band = _edit_seconds(longest, none, vector_bytes)
    else:
        band = _path_seconds(2 * longest, _path_vectors(none, vector_bytes))
    return bool((_MIN_SAVING * band <= longest**2 / cells_per_second).all())


def edits_in_bands(task: Task, pairs: NearPairs, seconds: Reals, cells_per_second: float, full_cost: float) -> int | None:
    """Return the largest number of edits of sampled pairs that are faster in bands, or None if bands are not faster for all pairs together.

    task, pairs: the sampled sequences and pairs (`sample_pairs`)
    seconds: time for each pair in its band, float64[pairs]
    cells_per_second: as for `may_prefer_bands`
    full_cost: time for a pair whose band turns out too narrow, relative to a full matrix
    """
    full = task.queries.lengths[pairs.queries] * task.targets.lengths[pairs.targets] / cells_per_second
    are_faster = seconds < full
    if _MIN_SAVING * np.minimum(seconds, full_cost * full).sum() > full.sum():
        return None
    return int(pairs.distances[are_faster].max())


def edit_distance_seconds(task: Task, pairs: NearPairs, vector_bytes: int) -> Reals:
    """Return the time that a core takes for the edit distance of each sampled pair, in a band for `BOUND_PER_EDIT` times its edits: in
    seconds, float64[pairs]."""
    return _edit_seconds(task.queries.lengths[pairs.queries], pairs.distances, vector_bytes)


def path_seconds(task: Task, aligner: CpuPairAligner, pairs: NearPairs, vector_bytes: int, worker_bytes: int) -> Reals:
    """Return the time that a core takes for the path of each sampled pair in a band, inf if the band does not fit in memory: in seconds,
    float64[pairs].

    aligner: aligner of the task's pairs
    worker_bytes: scratch memory of a thread, in bytes
    """
    rows, columns = task.queries.lengths[pairs.queries], task.targets.lengths[pairs.targets]
    if not aligner.proves_bands:
        return np.full(len(pairs), np.inf)
    vectors = _path_vectors(np.abs(columns - rows) + 2 * aligner.needed_slacks(pairs, None), vector_bytes)
    fits = (rows + columns) * (vectors * vector_bytes + 1) <= worker_bytes
    return np.where(fits, _path_seconds(rows + columns, vectors), np.inf)


def sample_pairs(task: Task) -> tuple[Task, NearPairs]:
    """Return (a task with the sequences of a sample of pairs, these pairs with their estimated edits). The sample is always the same."""
    rng = np.random.default_rng(0)
    one_set = task.targets is task.queries
    queries = rng.integers(0, len(task.queries), SAMPLED_PAIRS)
    others = rng.integers(0, max(1, len(task.targets) - one_set), SAMPLED_PAIRS)
    targets = np.minimum(others + (others >= queries), len(task.targets) - 1) if one_set else others
    sampled = replace(task, queries=_select(task.queries, queries), targets=_select(task.targets, targets))
    numbers = np.arange(SAMPLED_PAIRS)
    letters, other_letters = ([one.codes[a:b] for a, b in pairwise(one.offsets)] for one in (sampled.queries, sampled.targets))
    edits = [_estimate_edits(*pair, len(task.alphabet)) for pair in zip(letters, other_letters, strict=True)]
    return sampled, NearPairs(numbers, numbers, np.array(edits, dtype=np.int64))


def _select(records: SequenceSet, numbers: Integers) -> SequenceSet:
    """Return selected records, without their ids."""
    letters = records.gather(numbers)
    return SequenceSet(records.source, [""] * len(numbers), letters.text, letters.offsets)


def _path_vectors(diagonals: Integers, vector_bytes: int) -> Integers:
    """Return the number of vectors in an antidiagonal of each band. diagonals: number of diagonals besides that of the first cell"""
    lanes = np.maximum(_MIN_LANES, (diagonals + 4) // 2 + 1)
    return -(-lanes // vector_bytes)


def _path_seconds(antidiagonals: Integers, vectors: Integers) -> Reals:
    seconds: Reals = antidiagonals * (vectors * _VECTOR_COST + _WALK_COST) * _SECONDS_PER_STEP
    return seconds


def _edit_seconds(rows: Integers, edits: Integers, vector_bytes: int) -> Reals:
    words = BOUND_PER_EDIT * 2 * edits // 64 + 1
    seconds: Reals = rows * (words + _ROW_COST) * _WORD_BYTE_SECONDS / vector_bytes
    return seconds


def _estimate_edits(query: Codes, target: Codes, letters: int) -> int:
    """Estimate the edit distance of two sequences from the share of common words (Ondov et al. 2016, Mash, equation 4).

    letters: number of letters of the alphabet
    """
    bits = (letters - 1).bit_length()
    length = _WORD_BITS // bits
    longest = max(len(query), len(target))
    words, others = (distinct(_words(codes[:_MAX_EXAMINED_LETTERS], length, bits)) for codes in (query, target))
    shared = len(np.intersect1d(words, others, assume_unique=True))
    if not shared:
        return longest
    jaccard = shared / (len(words) + len(others) - shared)
    return min(longest, abs(len(query) - len(target)) + int(-longest / length * np.log(2 * jaccard / (1 + jaccard))))


def _words(codes: Codes, length: int, bits: int) -> npt.NDArray[np.uint64]:
    """Return the word of `length` letters at each position of a sequence, as a number: uint64[positions]. bits: bits per letter"""
    positions = max(0, len(codes) - length + 1)
    words = np.zeros(positions, dtype=np.uint64)
    for k in range(length):
        words = words << np.uint64(bits) | codes[k : k + positions]
    return words
