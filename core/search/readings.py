"""Searching nucleotide sequences on either strand: the queries of a search and which strand each of them is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpualign.core.alphabet import Alphabet
from gpualign.core.dataclass import dataclass
from gpualign.core.sequences import SequenceSet

PLUS, MINUS, BOTH = "plus", "minus", "both"


@dataclass(frozen=True)
class Stranded:
    """queries: `per_record` sequences for each record, its strands in the order plus, minus; `minus_only` where there is no plus."""

    queries: SequenceSet
    per_record: int
    minus_only: bool

    def records(self, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The records that these queries belong to."""
        return queries // self.per_record

    def is_minus(self, queries: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these queries are reverse complements."""
        return np.full(len(queries), True) if self.minus_only else queries % self.per_record == 1


def make_strands(sequences: SequenceSet, alphabet: Alphabet, strand: str) -> Stranded:
    """The queries of a search for "plus", "minus" or "both" strands of nucleotide sequences; proteins have "plus" alone."""
    if strand == PLUS:
        return Stranded(sequences, 1, False)
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
    per_record = 2 if strand == BOTH else 1
    of = np.repeat(np.arange(len(sequences)), per_record)
    ids, described = sequences.id_column.select(of), sequences.descriptions.select(of) if sequences.descriptions is not None else None
    queries = SequenceSet(sequences.source, ids, np.concatenate(pieces), offsets, descriptions=described)
    return Stranded(queries, per_record, strand == MINUS)
