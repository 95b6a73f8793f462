"""Hard masking of low-complexity regions: SEG for proteins, symmetric DUST for nucleotides.

Definitions and references are in core/scoring/src/seg.hpp and core/scoring/src/dust.hpp; parameters are NCBI's defaults.
"""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from gpualign.core.common.arrays import Integers, distinct
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

SEG, DUST, NONE = "seg", "dust", "none"

_METHOD_BY_ALPHABET = {"protein": SEG, "dna": DUST}
_CHUNK_LETTERS = 4 << 20
"""Approximate number of letters between two checks for a stop request."""


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


def check_method(method: str, alphabet: Alphabet) -> None:
    """Raise `InputError` if the masking method is for a different alphabet."""
    fitting = masking_method(alphabet)
    if method not in (NONE, fitting):
        kind = {SEG: "proteins", DUST: "DNA"}[method]
        this, other = parameter("mask", method), parameter("mask", fitting)
        raise InputError(f"{this} is for {kind}; these are {alphabet.name} sequences: expected {other} or {NONE}")


def low_complexity_intervals(sequences: SequenceSet, alphabet: Alphabet, seg: SegParameters = DEFAULT_SEG) -> Integers:
    """Return the low-complexity intervals: int64[intervals][2], half-open positions in `sequences.codes`, ascending.

    seg: parameters for proteins

    No interval spans two records.
    """
    from gpualign.core.scoring import _masking

    def find(offsets: Integers) -> Integers:
        if masking_method(alphabet) == DUST:
            return _masking.dust(sequences.codes, offsets)
        return _masking.seg(sequences.codes, offsets, seg.window, seg.trigger, seg.extend)

    intervals = [np.zeros((0, 2), dtype=np.int64)]
    first = 0
    while first < len(sequences):
        reach = int(np.searchsorted(sequences.offsets, sequences.offsets[first] + _CHUNK_LETTERS, side="right")) - 1
        stop = max(first + 1, reach)
        intervals.append(find(sequences.offsets[first : stop + 1]))
        first = stop
    return np.concatenate(intervals)


def mask(sequences: SequenceSet, alphabet: Alphabet, seg: SegParameters = DEFAULT_SEG) -> MaskedSequences:
    """Mask low-complexity regions using the alphabet's method. If there are no such regions, the result holds `sequences` itself.

    seg: parameters for proteins
    """
    intervals = low_complexity_intervals(sequences, alphabet, seg)
    codes = sequences.codes.copy()
    unknown = alphabet.unknown_code
    for begin, end in intervals.tolist():
        codes[begin:end] = unknown
    changed = int(np.count_nonzero(codes != sequences.codes))
    if not changed:
        return MaskedSequences(sequences, 0, np.zeros(0, dtype=np.int64))
    touched = distinct(np.searchsorted(sequences.offsets, intervals[:, 0], side="right") - 1)
    whole = [i for i in touched.tolist() if (codes[sequences.offsets[i] : sequences.offsets[i + 1]] == unknown).all()]
    return MaskedSequences(replace(sequences, codes=codes, known_code_counts=None), changed, np.array(whole, dtype=np.int64))


def mask_scoring(scoring: Scoring, alphabet: Alphabet) -> Scoring:
    """Return a scoring in which masked query letters never score above 0, even if N counts as a match to N, or the matrix lacks N or X.

    Returns `scoring` itself if its matrix has this property, as BLAST's matrices have.
    """
    code = alphabet.unknown_code
    row = scoring.substitution[code]
    if row.any() and row.max() <= 0:
        return scoring
    table = scoring.substitution.copy()
    table[code] = min(0, int(table.min())) if not row.any() else np.where(row > 0, min(0, int(row.min())), row)
    return replace(scoring, substitution=table, match=None, mismatch=None)
