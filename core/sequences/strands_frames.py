"""Strands or reading-frame translations of records, which a search compares instead of the input records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.annotations import AnnotationColumn
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.translation import CODON_LENGTH, FRAMES, skipped_letter_counts, translate

if TYPE_CHECKING:
    from gpualign.core.common.arrays import Booleans, Integers

PLUS, MINUS, BOTH = "plus", "minus", "both"

_STRANDS = {PLUS: (1,), MINUS: (-1,), BOTH: (1, -1)}
_FRAMES = {PLUS: FRAMES[:3], MINUS: FRAMES[3:], BOTH: FRAMES}


@dataclass(frozen=True)
class FrameSet:
    """Strands or translations of input records.

    sequences: for each input record in turn, one sequence per frame
    record_lengths: lengths of the input records, int64[records]
    frames: frames in which every record is read: for translations, 1 to 3 and -1 to -3; otherwise 1 and -1. Negative numbers stand for the
        reverse complement
    input_letters_per_letter: number of input letters represented by one letter of `sequences`
    annotations: annotations of the input records, by name
    """

    sequences: SequenceSet
    record_lengths: Integers
    frames: tuple[int, ...] = (1,)
    input_letters_per_letter: int = 1
    annotations: Mapping[str, AnnotationColumn] = field(default_factory=dict)

    @property
    def sequences_per_record(self) -> int:
        """Number of sequences per input record."""
        return len(self.frames)

    @property
    def is_translated(self) -> bool:
        return self.input_letters_per_letter == CODON_LENGTH

    def record_numbers(self, numbers: Integers) -> Integers:
        """Return the numbers of the input records to which these sequences belong.

        numbers: numbers of the sequences
        """
        return numbers // self.sequences_per_record

    def frames_of(self, numbers: Integers) -> Integers:
        """Return the frame of each of these sequences.

        numbers: numbers of the sequences
        """
        return np.array(self.frames, dtype=np.int64)[numbers % self.sequences_per_record]

    def is_reverse_complement(self, numbers: Integers) -> Booleans:
        """Return a mask of the sequences that are reverse complements, or translations of reverse complements.

        numbers: numbers of the sequences
        """
        return self.frames_of(numbers) < 0

    @cached_property
    def lengths(self) -> Integers:
        """Length of the input record for each sequence: int64[sequences]."""
        return self.record_lengths if self.sequences_per_record == 1 else np.repeat(self.record_lengths, self.sequences_per_record)

    @cached_property
    def evalue_lengths(self) -> Integers:
        """Length that E-values use for each sequence as a target: int64[sequences].

        As in BLAST, the length of a translation is the length of its record in codons, whatever the frame.
        """
        return self.lengths if self.input_letters_per_letter == 1 else self.lengths // self.input_letters_per_letter

    @property
    def evalue_letters(self) -> int:
        """Number of letters in a database of these records, as used for E-values. Only one frame of each record is counted."""
        return self.evalue_letter_count(int(self.record_lengths.sum()))

    def evalue_letter_count(self, input_letters: int) -> int:
        """Return the number of letters that E-values use for `input_letters` letters of the input."""
        return max(1, input_letters // self.input_letters_per_letter)

    def annotation_byte_counts(self, numbers: Integers) -> Integers:
        """Return the size of the annotations of these sequences' records in bytes: int64[numbers].

        numbers: numbers of the sequences
        """
        records = self.record_numbers(numbers)
        return sum((column.byte_counts(records) for column in self.annotations.values()), np.zeros(len(numbers), dtype=np.int64))

    def record_intervals(self, numbers: Integers, starts: Integers, ends: Integers) -> tuple[Integers, Integers]:
        """Convert intervals in sequences to intervals in their input records: int64[numbers] each. All intervals are 0-based and half-open.

        numbers: for each interval, the number of its sequence
        starts, ends: the intervals in the sequences
        """
        lengths, frames = self.lengths[numbers], self.frames_of(numbers)
        skip = skipped_letter_counts(lengths, frames) if self.is_translated else np.zeros(len(numbers), dtype=np.int64)
        first, last = (
            skip + self.input_letters_per_letter * starts.astype(np.int64),
            skip + self.input_letters_per_letter * ends.astype(np.int64),
        )
        return np.where(frames < 0, lengths - last, first), np.where(frames < 0, lengths - first, last)


@dataclass(frozen=True)
class QueryTargetFrames:
    """Strands or translations of a search's queries and targets."""

    queries: FrameSet
    targets: FrameSet

    @property
    def is_translated(self) -> bool:
        """True if the queries or the targets are translations."""
        return self.queries.is_translated or self.targets.is_translated

    @property
    def strand_count(self) -> int:
        """Number of strands per query, as used for E-values. As in BLAST, all frames of a translation count as one strand."""
        return 1 if self.is_translated else self.queries.sequences_per_record


def untranslated_frames(sequences: SequenceSet) -> FrameSet:
    """Return the records themselves, untranslated, as a `FrameSet`."""
    return FrameSet(sequences, sequences.lengths, annotations=sequences.annotations)


def make_strands(sequences: SequenceSet, alphabet: Alphabet, strand: str) -> FrameSet:
    """Return the strands of nucleotide sequences.

    strand: "plus", "minus" or "both"; for proteins, only "plus" is valid
    """
    if strand == PLUS:
        return untranslated_frames(sequences)
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
    """Return the translations of nucleotide sequences in the reading frames of their strands.

    sequences: sequences of at least one codon each
    code: table from `gpualign.core.sequences.translation.codon_table`
    strand: "plus", "minus" or "both"
    """
    frames = _FRAMES[strand]
    return FrameSet(translate(sequences, frames, code), sequences.lengths, frames, CODON_LENGTH, sequences.annotations)
