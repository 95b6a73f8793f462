"""Hard masking of low-complexity regions: SEG for proteins, symmetric DUST for nucleotides.

Definitions and references are in core/scoring/src/seg.hpp and core/scoring/src/dust.hpp; parameters are NCBI's defaults.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Integers, distinct, expand_ranges, ranges_of_limited_size
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.threads import map_in_order
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

SEG, DUST, NONE = "seg", "dust", "none"
MASKS = (SEG, DUST, NONE)

_METHOD_BY_ALPHABET = {"protein": SEG, "dna": DUST}
_MIN_CHUNK_LETTERS, _MAX_CHUNK_LETTERS = 1 << 19, 4 << 20
"""Minimum and maximum number of letters, approximately, that a thread masks at a time: starting sixteen threads takes as long as masking
the minimum, and requests to stop are noticed between two chunks."""

_CHUNKS_PER_THREAD = 4
"""Number of chunks per thread of large sets, so that threads end at about the same time."""


@dataclass(frozen=True)
class SegParameters:
    """Parameters of SEG.

    window: number of letters in a window
    trigger: maximum entropy, in bits, of a window that starts a segment
    extend: maximum entropy, in bits, of a window that extends a segment
    """

    window: int = 12
    trigger: float = 2.2
    extend: float = 2.5


DEFAULT_SEG = SegParameters()
"""Parameters of segmasker, and of blastp with `-seg yes`."""


@dataclass(frozen=True)
class MaskedSequences:
    """Sequences after masking.

    sequences: the input with masked letters replaced by X or N
    masked_letter_count: number of letters replaced
    fully_masked_records: numbers of the records whose letters are all X or N after masking, int64
    """

    sequences: SequenceSet
    masked_letter_count: int
    fully_masked_records: Integers = field(repr=False)


def masking_method(alphabet: Alphabet) -> str:
    """Return the name of the masking method for an alphabet."""
    return _METHOD_BY_ALPHABET[alphabet.name]


def check_method(method: str, alphabet: Alphabet, option: str = "mask") -> None:
    """Raise `InputError` if the masking method is for a different alphabet. option: name of the parameter that states the method"""
    fitting = masking_method(alphabet)
    if method not in (NONE, fitting):
        kind = {SEG: "proteins", DUST: "DNA"}[method]
        this, other = parameter(option, method), parameter(option, fitting)
        raise InputError(f"{this} is for {kind}; these are {alphabet.name} sequences: expected {other} or {NONE}")


def low_complexity_intervals(sequences: SequenceSet, alphabet: Alphabet, seg: SegParameters = DEFAULT_SEG, threads: int = 1) -> Integers:
    """Return the low-complexity intervals: int64[intervals][2], half-open positions in `sequences.codes`, ascending.

    seg: parameters for proteins
    threads: maximum number of threads

    No interval spans two records.
    """
    from gpualign.core.scoring import _masking

    def find(offsets: Integers) -> Integers:
        if masking_method(alphabet) == DUST:
            return _masking.dust(sequences.codes, offsets)
        return _masking.seg(sequences.codes, offsets, seg.window, seg.trigger, seg.extend)

    letters = min(_MAX_CHUNK_LETTERS, max(_MIN_CHUNK_LETTERS, int(sequences.offsets[-1]) // (_CHUNKS_PER_THREAD * threads)))
    chunks = (sequences.offsets[start : stop + 1] for start, stop in ranges_of_limited_size(sequences.offsets, letters))
    return np.concatenate([np.zeros((0, 2), dtype=np.int64), *map_in_order(find, chunks, threads)])


def mask(sequences: SequenceSet, alphabet: Alphabet, seg: SegParameters = DEFAULT_SEG, threads: int = 1) -> MaskedSequences:
    """Mask low-complexity regions using the alphabet's method. If there are no such regions, the result holds `sequences` itself; otherwise
    its letters are in memory, also if those of `sequences` are mapped.

    seg: parameters for proteins
    threads: maximum number of threads
    """
    intervals = low_complexity_intervals(sequences, alphabet, seg, threads)
    codes = sequences.codes.copy()
    begins, lengths = intervals[:, 0], intervals[:, 1] - intervals[:, 0]
    codes[expand_ranges(begins, lengths)[1]] = alphabet.unknown_code
    changed = int(np.count_nonzero(codes != sequences.codes))
    if not changed:
        return MaskedSequences(sequences, 0, np.zeros(0, dtype=np.int64))
    touched = distinct(np.searchsorted(sequences.offsets, begins, side="right") - 1)
    whole = touched[np.logical_and.reduceat(codes == alphabet.unknown_code, sequences.offsets[:-1])[touched]]
    masked = replace(sequences, codes=codes, known_code_counts=None, known_used_codes=None, scattered_codes=None)
    return MaskedSequences(masked, changed, whole)


def mask_scoring(scoring: Scoring, alphabet: Alphabet, of_queries: bool = True, of_targets: bool = False) -> Scoring:
    """Return a scoring in which masked letters never score above 0, even if N counts as a match to N, or the matrix lacks N or X.

    of_queries, of_targets: whether letters of queries and of targets are masked

    Returns `scoring` itself if its matrix has this property, as BLAST's matrices have.
    """
    code, table = alphabet.unknown_code, scoring.substitution.copy()
    if of_queries:
        table[code] = _never_positive(scoring.substitution[code], scoring)
    if of_targets:
        # A pair of masked letters is in the row too.
        table[:, code] = np.minimum(table[:, code], _never_positive(scoring.substitution[:, code], scoring))
    return scoring if (table == scoring.substitution).all() else replace(scoring, substitution=table, match=None, mismatch=None)


def _never_positive(scores: Integers, scoring: Scoring) -> Integers:
    """Return the scores of N or X with each letter, the positive ones replaced by the lowest; if all are 0, which means that the matrix
    lacks the letter, the lowest score of the matrix."""
    if not scores.any():
        return np.full_like(scores, min(0, int(scoring.substitution.min())))
    return np.where(scores > 0, min(0, int(scores.min())), scores)
