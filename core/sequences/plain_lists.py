"""Reads lists of peptides or other short sequences, one per line, and tells titles from sequences. Pure."""

from __future__ import annotations

import re

import numpy as np

from gpualign.core.common.errors import InputError
from gpualign.core.sequences.string_column import StringColumn

_MAX_LINE_LETTERS = 50
"""Maximum number of letters per line in a list. Receptor CDR3s have up to 40 letters, and sequences are wrapped at 60 or more."""

_BLANKS_AT_LINE_END = re.compile(rb" +(?=\r*(?:\n|\Z))")

_TITLE = re.compile(
    "(ADAPTER|ANTIGEN|BARCODE|CLONE|CLONOTYPE|EPITOPE|FRAGMENT|GUIDE|INSERT|LIGAND|MOTIF|NUCLEOTIDE|OLIGO|PEPTIDE|PRIMER|PROTEIN"
    "|PROTOSPACER|READ|SEQUENCE|SPACER|TARGET|(S?G|CR|SI|SH)?RNA|KMER|SEQ)S?|AASEQ(UENCE)?|CDR(H|L)?|HEAVY|ID|INDEX|JUNCTION|LIGHT|NAME"
    "|QUERY|TAG|UMI"
)
"""Pattern of words that, as the first line of a list, are its title rather than a sequence."""

_SHORT_TITLE = re.compile("AA|CELL|DNA|MHC|NT|V[HL]|X")
"""Pattern of such words that peptides may have as well."""

_MISSING = "NA"
"""Word that R writes for a missing sequence."""

_NUCLEOTIDES = re.compile("[ACGTUN]+")
_NO_NUCLEOTIDE = re.compile("[EFJLOPQZ*]")
_MIN_LONG_LETTERS = 5
"""Minimum number of letters of sequences beside which two or three letters are words rather than peptides."""

_MIN_NUCLEOTIDES = 8
"""Minimum number of letters of sequences that are taken for nucleotides. A peptide has that many of their letters alone once in 10,000."""


def parse_list(text: bytes) -> StringColumn | None:
    """Return the sequences in a list, or None if the text is not such a list.

    A list has two or more lines, each with at most `_MAX_LINE_LETTERS` capital letters (or *, a stop), and perhaps blanks after them.
    Longer lines may belong to one sequence, and lower-case letters may belong to words.
    """
    data = np.frombuffer(_BLANKS_AT_LINE_END.sub(b"", text) if b" " in text else text, dtype=np.uint8)
    ends_line = data == ord("\n")
    in_line = ~ends_line & (data != ord("\r"))
    letters = data[in_line]
    if not (((letters >= ord("A")) & (letters <= ord("Z"))) | (letters == ord("*"))).all():
        return None
    ends = np.append(np.cumsum(in_line, dtype=np.int64)[ends_line], len(letters))
    offsets = np.append(0, ends[np.diff(ends, prepend=0) > 0])  # without empty lines
    if len(offsets) < 3 or np.diff(offsets).max() > _MAX_LINE_LETTERS:
        return None
    return StringColumn(letters, offsets)


def refuse_other_lines(sequences: StringColumn, source: str) -> None:
    """Raise `InputError` if the first line of a list may be its title, or if a line may stand for a missing sequence.

    source: name of the file, for messages
    """
    first, lengths = sequences[0], sequences.lengths
    shortest = int(lengths[1:].min())
    is_short_title = _SHORT_TITLE.fullmatch(first) is not None and shortest >= _MIN_LONG_LETTERS
    if _TITLE.fullmatch(first) or is_short_title or (_NO_NUCLEOTIDE.search(first) and shortest >= _MIN_NUCLEOTIDES and _are_dna(sequences)):
        raise InputError(f"{source}: {first!r} in the first line may be the title of the list; delete it, or write the list as FASTA")
    short = np.flatnonzero(lengths < _MIN_LONG_LETTERS).tolist()
    missing = next((record for record in short if sequences[record] == _MISSING), None)
    if missing is not None and len(short) < len(lengths) and all(sequences[record] == _MISSING for record in short):
        raise InputError(
            f"{source}: {_MISSING!r} (sequence {missing + 1}) may stand for a missing sequence; delete it, or write the list as FASTA"
        )


def _are_dna(sequences: StringColumn) -> bool:
    """Return whether all sequences but the first have the letters of nucleotides alone."""
    return all(_NUCLEOTIDES.fullmatch(sequences[record]) for record in range(1, len(sequences)))
