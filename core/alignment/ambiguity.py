"""What ambiguity letters count as in identities: unequal to others, equal to letters that they may stand for, or nothing. Pure.

Scores and alignments stay what the scoring makes of these letters; matches and mismatches, and what is made of them, are counted anew.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.recount import MATCH, MISMATCH, NOTHING, CountsAs, same_letters
from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences.alphabet import DNA, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet


class Rule(Enum):
    """How columns with an ambiguity letter count.

    UNEQUAL: as a match only where both letters are the same. COMPATIBLE: as a match where both may stand for one nucleotide or amino acid,
    which is vsearch's rule. SKIP: not at all.
    """

    UNEQUAL = "unequal"
    COMPATIBLE = "compatible"
    SKIP = "skip"

    @property
    def option(self) -> str:
        """How users choose it, for messages."""
        return parameter("ambiguous", self.value)


_STANDS_FOR = {
    "dna": {
        **{"R": "AG", "Y": "CT", "K": "GT", "M": "AC", "S": "CG", "W": "AT"},
        **{"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
    },
    "protein": {"B": "ND", "Z": "QE", "J": "IL", "X": "ARNDCQEGHILKMFPSTWYVUO"},
}
"""IUPAC's ambiguity letters."""

_AT_ONCE = 16 << 20
"""Letters that are looked at in one step."""

_OF_COLUMNS = (1, 2, 4)
"""Definitions of identity that divide by columns, some of which can be left out."""


@dataclass(frozen=True)
class Ambiguous:
    """A rule, and the letters that it is for. queries, targets: int64[records], how many ambiguity letters each has; most: of a pair at
    most."""

    rule: Rule
    queries: Integers = field(repr=False)
    targets: Integers = field(repr=False)
    most: int

    def counts_as(self, alphabet: Alphabet) -> CountsAs:
        """What pairs of letters count as."""
        table = same_letters(alphabet)
        stand_for = _masks(alphabet)
        size = len(alphabet)
        if self.rule is Rule.COMPATIBLE:
            table[:size, :size] = np.where(stand_for[:, None] & stand_for[None, :], MATCH, MISMATCH)
        if self.rule is Rule.SKIP:
            unclear = _is_ambiguous(alphabet)
            table[:size, :size][unclear[:, None] | unclear[None, :]] = NOTHING
        return table

    def of_strands(self) -> Ambiguous:
        """The same where both strands of each query are queries, one behind the other."""
        return Ambiguous(self.rule, np.repeat(self.queries, 2), self.targets, self.most)

    def part(self, queries: Integers, targets: Integers) -> Ambiguous:
        """The same of some of the records."""
        return Ambiguous(self.rule, self.queries[queries], self.targets[targets], self.most)

    @property
    def usual(self) -> int:
        """Ambiguity letters of a pair on average."""
        return int(self.queries.mean() + self.targets.mean())


def default_rule(alphabet: Alphabet) -> Rule:
    """For DNA as vsearch counts, for proteins as BLAST does."""
    return Rule.COMPATIBLE if alphabet is DNA else Rule.UNEQUAL


def check_rule(rule: Rule | None, definition: int) -> None:
    """definition: of the identity, as core/alignment/identity.py numbers them. Raises `InputError` where the two contradict each other."""
    if rule is Rule.SKIP and definition not in _OF_COLUMNS:
        raise InputError(
            f"{rule.option} leaves columns out, and {parameter('identity_def', definition)} divides by whole sequences:"
            f" choose one of {', '.join(map(str, _OF_COLUMNS))}"
        )


def find_ambiguous(rule: Rule, alphabet: Alphabet, queries: SequenceSet, targets: SequenceSet) -> Ambiguous | None:
    """Letters for which a rule makes a difference, or None where there are none."""
    if rule is Rule.UNEQUAL:
        return None
    unclear = np.flatnonzero(_is_ambiguous(alphabet))
    if not any(np.isin(unclear, one.used_codes).any() for one in (queries, targets)):
        return None
    of_queries = _count(queries, alphabet)
    of_targets = of_queries if targets is queries else _count(targets, alphabet)
    return Ambiguous(rule, of_queries, of_targets, int(of_queries.max() + of_targets.max()))


def _count(sequences: SequenceSet, alphabet: Alphabet) -> Integers:
    """Ambiguity letters of each record."""
    unclear = np.zeros(256, dtype=np.bool_)
    unclear[: len(alphabet)] = _is_ambiguous(alphabet)
    counts = np.zeros(len(sequences), dtype=np.int64)
    for start in range(0, len(sequences.codes), _AT_ONCE):
        places = np.flatnonzero(unclear[sequences.codes[start : start + _AT_ONCE]]) + start
        counts += np.bincount(np.searchsorted(sequences.offsets, places, side="right") - 1, minlength=len(sequences))
    return counts


def _masks(alphabet: Alphabet) -> npt.NDArray[np.int64]:
    """Of each letter, a bit for each letter that it may stand for; int64[letters]."""
    stand_for = _STANDS_FOR[alphabet.name]
    return np.array([sum(1 << alphabet.letters.index(one) for one in stand_for.get(letter, letter)) for letter in alphabet.letters])


def _is_ambiguous(alphabet: Alphabet) -> npt.NDArray[np.bool_]:
    """Of each letter, whether it may stand for several."""
    return np.array([letter in _STANDS_FOR[alphabet.name] for letter in alphabet.letters])
