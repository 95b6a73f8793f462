"""What a search compares in place of the records that were given: their strands, or the reading frames that they are translated in."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.translation import CODON, FRAMES, skipped, translate

if TYPE_CHECKING:
    from gpualign.core.common.arrays import Integers

PLUS, MINUS, BOTH = "plus", "minus", "both"

_STRANDS = {PLUS: (1,), MINUS: (-1,), BOTH: (1, -1)}
_FRAMES = {PLUS: FRAMES[:3], MINUS: FRAMES[3:], BOTH: FRAMES}


@dataclass(frozen=True)
class FrameSet:
    """sequences: of each record given one for each of `frames`, in this order. frames: below 0 for reverse complements; of translations -3
    to 3, else 1 and -1. given: int64[records], letters of the records; letters: of them that one letter of `sequences` stands for."""

    sequences: SequenceSet
    given: Integers
    frames: tuple[int, ...] = (1,)
    letters: int = 1

    @property
    def per_record(self) -> int:
        """Sequences of each record."""
        return len(self.frames)

    @property
    def translated(self) -> bool:
        return self.letters == CODON

    def records(self, numbers: Integers) -> Integers:
        """The records that these sequences belong to."""
        return numbers // self.per_record

    def frames_of(self, numbers: Integers) -> Integers:
        """The frame of each of these sequences."""
        return np.array(self.frames, dtype=np.int64)[numbers % self.per_record]

    def is_reverse_complement(self, numbers: Integers) -> npt.NDArray[np.bool_]:
        """Which of these sequences are reverse complements, or translations of them."""
        return self.frames_of(numbers) < 0

    @cached_property
    def lengths(self) -> Integers:
        """Letters of the record that each sequence belongs to: int64[sequences]."""
        return np.repeat(self.given, self.per_record)

    @cached_property
    def chance_lengths(self) -> Integers:
        """The length of each sequence that E-values of a target count, int64[sequences]: as BLAST does, of any frame all its codons."""
        return self.lengths // self.letters

    @property
    def chance_letters(self) -> int:
        """Letters of a database of these records that E-values count: of one frame."""
        return int(self.given.sum()) // self.letters

    def place(self, numbers: Integers, starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
        """Parts of these sequences, 0-based and half-open, as parts of their records: int64 of the same shape."""
        lengths, frames = self.lengths[numbers], self.frames_of(numbers)
        skip = skipped(lengths, frames) if self.translated else np.zeros(len(numbers), dtype=np.int64)
        first, last = skip + self.letters * starts.astype(np.int64), skip + self.letters * ends.astype(np.int64)
        return np.where(frames < 0, lengths - last, first), np.where(frames < 0, lengths - first, last)


@dataclass(frozen=True)
class QueryTargetFrames:
    """What the queries and the targets of a search are."""

    queries: FrameSet
    targets: FrameSet

    @property
    def translated(self) -> bool:
        """Whether either is a translation."""
        return self.queries.translated or self.targets.translated

    @property
    def strands(self) -> int:
        """Of each query, those that E-values count. They count one frame of a translation, as those of BLAST do."""
        return 1 if self.translated else self.queries.per_record


def untranslated(sequences: SequenceSet) -> FrameSet:
    """The records themselves."""
    return FrameSet(sequences, sequences.lengths)


def make_strands(sequences: SequenceSet, alphabet: Alphabet, strand: str) -> FrameSet:
    """The queries of a search for "plus", "minus" or "both" strands of nucleotide sequences; proteins have "plus" alone."""
    if strand == PLUS:
        return untranslated(sequences)
    # Reversing the whole array reverses every record, and their order.
    complements = alphabet.complement()[sequences.codes][::-1]
    total = sequences.offsets[-1]
    pieces = []
    for start, stop in pairwise(sequences.offsets.tolist()):
        if strand == BOTH:
            pieces.append(sequences.codes[start:stop])
        pieces.append(complements[total - stop : total - start])
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    frames = _STRANDS[strand]
    of = np.repeat(np.arange(len(sequences)), len(frames))
    ids, described = sequences.id_column.select(of), sequences.descriptions.select(of) if sequences.descriptions is not None else None
    queries = SequenceSet(sequences.source, ids, np.concatenate(pieces), offsets, descriptions=described)
    return FrameSet(queries, sequences.lengths, frames)


def make_frames(sequences: SequenceSet, code: npt.NDArray[np.uint8], strand: str) -> FrameSet:
    """The frames of "plus", "minus" or "both" strands of nucleotide sequences of a codon each at least, translated by a table of
    `gpualign.core.sequences.translation.codon_table`."""
    frames = _FRAMES[strand]
    return FrameSet(translate(sequences, frames, code), sequences.lengths, frames, CODON)
