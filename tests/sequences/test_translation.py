"""Genetic codes and the six frames, beside Biopython's translation of one frame at a time."""

import numpy as np
import pytest
from Bio.Data.CodonTable import unambiguous_dna_by_id
from Bio.Seq import Seq

from gpualign.core.common.errors import InputError
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn
from gpualign.core.sequences.translation import FRAMES, codon_table, translate


def nucleotides(rng, lengths, ambiguous=0.1):
    letters = rng.choice(15, int(sum(lengths)), p=[(1 - ambiguous) / 4] * 4 + [ambiguous / 11] * 11).astype(np.uint8)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    ids = [f"r{i}" for i in range(len(lengths))]
    return SequenceSet(
        "test", ids, letters, offsets, known_file_positions=rng.permutation(len(lengths)), descriptions=StringColumn.from_strings(ids)
    )


def texts(sequences, alphabet):
    letters = np.array(list(alphabet.letters))[sequences.codes]
    return ["".join(part) for part in np.split(letters, sequences.offsets[1:-1])]


def translated(text, frame, code):
    """By Biopython, which also knows B, Z and J for what two amino acids may be."""
    strand = text if frame > 0 else str(Seq(text).reverse_complement())
    part = strand[abs(frame) - 1 :]
    if len(part) < 3:
        part = strand
    found = str(Seq(part[: len(part) // 3 * 3]).translate(table=code))
    return found.translate(str.maketrans("BZJ", "XXX"))


@pytest.mark.parametrize("code", [1, 2, 11])
def test_frames(rng, code):
    records = nucleotides(rng, [3, 4, 5, 6, 7, 8, *rng.integers(3, 400, 20)])
    found = translate(records, FRAMES, codon_table(code))
    wanted = [translated(text, frame, code) for text in texts(records, DNA) for frame in FRAMES]
    assert texts(found, PROTEIN) == wanted
    assert "*" in "".join(wanted)
    assert "X" in "".join(wanted)
    assert list(found.ids) == list(found.descriptions) == [f"r{i}" for i in range(len(records)) for _ in FRAMES]
    places = np.argsort(found.known_file_positions)
    assert (places // 6 == np.repeat(np.argsort(records.known_file_positions), 6)).all()
    assert (places % 6 == np.tile(np.arange(6), len(records))).all()


def test_records_that_go_over_several_batches(rng):
    """Of 2^18 codons; others begin and end within one."""
    records = nucleotides(rng, [10, 1_000_003, 500_000, 31])
    found = translate(records, (2, -3), codon_table(1))
    assert texts(found, PROTEIN) == [translated(text, frame, 1) for text in texts(records, DNA) for frame in (2, -3)]


def test_some_frames(rng):
    records = nucleotides(rng, [30, 31, 32])
    every = texts(translate(records, FRAMES, codon_table(1)), PROTEIN)
    assert texts(translate(records, FRAMES[3:], codon_table(1)), PROTEIN) == [every[6 * i + j] for i in range(3) for j in (3, 4, 5)]


@pytest.mark.parametrize("code", sorted(unambiguous_dna_by_id))
def test_genetic_codes(code):
    table, known = codon_table(code), unambiguous_dna_by_id[code]
    for a, first in enumerate("ACGT"):
        for b, second in enumerate("ACGT"):
            for c, third in enumerate("ACGT"):
                found = PROTEIN.letters[table[a, b, c]]
                assert found == known.forward_table.get(first + second + third, "*")
    assert PROTEIN.letters[table[14, 14, 14]] == "X"  # NNN


def test_ambiguous_codons():
    def acid(codon):
        return PROTEIN.letters[codon_table(1)[tuple(DNA.letters.index(letter) for letter in codon)]]

    assert [acid(codon) for codon in ("CTN", "MGR", "YTR", "TAR", "TRA", "RAY", "SAR", "TAN", "MTT")] == list("LRL**XXXX")


@pytest.mark.parametrize("code", [0, 7, 8, 34, 1000])
def test_unknown_genetic_codes(code):
    with pytest.raises(InputError, match=rf"genetic_code={code}: .* 1-6, 9-16, 21-"):
        codon_table(code)
