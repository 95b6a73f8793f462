"""Translates nucleotide sequences using NCBI's genetic codes.

Frame f in 1, 2, 3 starts at letter f of a record, frame -f at letter f of its reverse complement; letters after the last whole codon are
dropped. An ambiguous codon is translated if all codons it may stand for code for the same amino acid, or are all stops; otherwise it is
translated as X. Stops are *. Codons that are stops in some contexts and code for an amino acid in others (codes 27, 28 and 31) are
translated as the amino acid. Start codons are not treated specially.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet

STANDARD_CODE = 1
"""Number of the standard genetic code."""

CODON_LENGTH = 3
"""Number of letters in a codon."""

FRAMES = (1, 2, 3, -1, -2, -3)

_CHUNK_CODONS = 1 << 18
"""Number of codons translated in one step. The positions of the codons take 50 bytes per codon."""


def codon_table(code: int) -> npt.NDArray[np.uint8]:
    """Return the amino acid for each codon in one of NCBI's genetic codes: `PROTEIN` codes, uint8[15][15][15], indexed by `DNA` codes.

    code: NCBI's number of the genetic code

    Raises `InputError` if no known genetic code has this number.
    """
    from Bio.Data import CodonTable, IUPACData

    known = CodonTable.unambiguous_dna_by_id
    if code not in known:
        raise InputError(f"{parameter('genetic_code', code)}: expected one of NCBI's genetic codes {_format_ranges(sorted(known))}")
    acids = dict.fromkeys(known[code].stop_codons, "*") | known[code].forward_table
    bases = DNA.letters[: DNA.unambiguous_count]
    # The set of amino acids that each codon may be, one bit for each.
    possible = np.array([[[1 << PROTEIN.letters.index(acids[a + b + c]) for c in bases] for b in bases] for a in bases])
    stands_for = [[bases.index(base) for base in IUPACData.ambiguous_dna_values[letter]] for letter in DNA.letters]
    for axis in range(CODON_LENGTH):
        possible = np.stack([np.bitwise_or.reduce(possible.take(some, axis), axis) for some in stands_for], axis)
    unknown = 1 << PROTEIN.letters.index("X")
    one = np.where(possible & (possible - 1) == 0, possible, unknown)
    table: npt.NDArray[np.uint8] = np.log2(one).round().astype(np.uint8)
    return table


def _format_ranges(numbers: Sequence[int]) -> str:
    """Format ascending numbers as human-readable ranges, such as 1-6, 9."""
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, ends, strict=True))


def skipped_letter_counts(lengths: Integers, frames: Integers) -> Integers:
    """Return the number of letters before the first codon, for records of these lengths in these frames. The arrays are broadcast.

    If a record is too short to have a codon in a frame (three or four letters), the first frame of the same strand is used instead.
    """
    skip = np.abs(frames) - 1
    return np.where(lengths - skip >= CODON_LENGTH, skip, 0)


@dataclass(frozen=True)
class _CodonPositions:
    """Positions of the codons of several translations in the codes of all records.

    firsts: position of each translation's first codon
    steps: for each translation, the distance from one codon to the next; negative for reverse complements
    offsets: offsets of the translations, int64[translations + 1]
    """

    firsts: Integers
    steps: Integers
    offsets: Integers


def _codon_positions(sequences: SequenceSet, frames: tuple[int, ...]) -> _CodonPositions:
    lengths, numbers = sequences.lengths[:, None], np.array(frames, dtype=np.int64)
    skip = skipped_letter_counts(lengths, numbers)
    offsets = np.zeros(skip.size + 1, dtype=np.int64)
    np.cumsum(((lengths - skip) // CODON_LENGTH).ravel(), out=offsets[1:])
    firsts = np.where(numbers > 0, sequences.offsets[:-1, None] + skip, sequences.offsets[1:, None] - skip - CODON_LENGTH)
    return _CodonPositions(firsts.ravel(), np.tile(np.where(numbers > 0, CODON_LENGTH, -CODON_LENGTH), len(sequences)), offsets)


def translate(sequences: SequenceSet, frames: tuple[int, ...], code: npt.NDArray[np.uint8]) -> SequenceSet:
    """Translate each record in each of the frames. A record's translations are consecutive, and have the record's id.

    sequences: nucleotide sequences of at least one codon each
    code: table from `codon_table`
    """
    places, count = _codon_positions(sequences, frames), len(frames)
    letters = len(DNA)
    complement = DNA.complement()
    reverse = code.transpose(2, 1, 0)[np.ix_(complement, complement, complement)]
    table = np.concatenate((code.ravel(), reverse.ravel()))
    codes = np.empty(int(places.offsets[-1]), dtype=np.uint8)
    for start in range(0, len(codes), _CHUNK_CODONS):
        stop = min(start + _CHUNK_CODONS, len(codes))
        first, last = np.searchsorted(places.offsets, (start, stop - 1), side="right") - 1
        ends = np.clip(places.offsets[first : last + 2], start, stop)
        of = np.repeat(np.arange(first, last + 1), np.diff(ends))
        steps = places.steps[of]
        at = places.firsts[of] + steps * (np.arange(start, stop) - places.offsets[of])
        codon = np.where(steps > 0, 0, letters**CODON_LENGTH)
        for place in range(CODON_LENGTH):
            # Without a type of its own the product has 8 bits in NumPy 1.
            codon += sequences.codes[at + place].astype(np.int64) * letters ** (CODON_LENGTH - 1 - place)
        codes[start:stop] = table[codon]
    of = np.repeat(np.arange(len(sequences)), count)
    described = sequences.descriptions.select(of) if sequences.descriptions is not None else None
    ranks = (
        None
        if sequences.known_file_positions is None
        else sequences.known_file_positions[of] * count + np.tile(np.arange(count), len(sequences))
    )
    return SequenceSet(sequences.source, sequences.id_column.select(of), codes, places.offsets, ranks, descriptions=described)
