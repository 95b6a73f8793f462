"""Rules for ambiguity letters in identities: unequal to other letters, equal to letters that they may stand for, or not counted. Pure.

Only the scoring decides how ambiguity letters are scored and aligned. Matches, mismatches and values derived from them are recounted
according to the rule.
"""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from functools import cached_property

import numpy as np

from gpualign.core.alignment.recount import MATCH, MISMATCH, NOT_COUNTED, ColumnKinds, identical_letter_kinds
from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.sequences._records import count_in_records
from gpualign.core.sequences.alphabet import DNA, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet


class AmbiguityRule(Enum):
    """How to count a column that contains an ambiguity letter.

    UNEQUAL: count a match only if both letters are the same
    COMPATIBLE: count a match if both letters may stand for the same nucleotide or amino acid, as in vsearch
    SKIP: do not count the column
    """

    UNEQUAL = "unequal"
    COMPATIBLE = "compatible"
    SKIP = "skip"

    @property
    def option(self) -> str:
        """The option or parameter that selects the rule, for use in messages."""
        return parameter("ambiguous", self.value)


_POSSIBLE_LETTERS = {
    "dna": {
        **{"R": "AG", "Y": "CT", "K": "GT", "M": "AC", "S": "CG", "W": "AT"},
        **{"B": "CGT", "D": "AGT", "H": "ACT", "V": "ACG", "N": "ACGT"},
    },
    "protein": {"B": "ND", "Z": "QE", "J": "IL", "X": "ARNDCQEGHILKMFPSTWYVUO"},
}
"""IUPAC ambiguity codes and the letters that each of them may stand for, keyed by alphabet."""

_COLUMN_DEFINITIONS = (1, 2, 4)
"""Identity definitions that divide by a number of columns. Columns can be left out of the count only under these definitions."""


@dataclass(frozen=True)
class AmbiguityCounts:
    """A rule for ambiguity letters, and the numbers of these letters in a task's records.

    query_counts, target_counts: number of ambiguity letters in each query and in each target, int64[records]
    max_letters: maximum number of ambiguity letters in any pair
    threads: maximum number of threads for recounting statistics
    """

    rule: AmbiguityRule
    query_counts: Integers = field(repr=False)
    target_counts: Integers = field(repr=False)
    max_letters: int
    threads: int = 1

    def column_kinds(self, alphabet: Alphabet) -> ColumnKinds:
        """Return a table of what each pair of letters counts as (such as `recount.MATCH`): uint8[32][32], indexed by code."""
        table = identical_letter_kinds(alphabet)
        stand_for = _possibility_masks(alphabet)
        size = len(alphabet)
        if self.rule is AmbiguityRule.COMPATIBLE:
            table[:size, :size] = np.where(stand_for[:, None] & stand_for[None, :], MATCH, MISMATCH)
        if self.rule is AmbiguityRule.SKIP:
            unclear = _ambiguity_mask(alphabet)
            table[:size, :size][unclear[:, None] | unclear[None, :]] = NOT_COUNTED
        return table

    def for_both_strands(self) -> AmbiguityCounts:
        """Return the same rule, with counts for a task in which each query is replaced by its two strands."""
        return replace(self, query_counts=np.repeat(self.query_counts, 2))

    def select(self, queries: Integers, targets: Integers) -> AmbiguityCounts:
        """Return the same rule, with counts for only the records with these numbers."""
        return replace(self, query_counts=self.query_counts[queries], target_counts=self.target_counts[targets])

    @cached_property
    def mean_letters(self) -> int:
        """Average number of ambiguity letters per pair, rounded down."""
        return int(self.query_counts.mean() + self.target_counts.mean())


def default_rule(alphabet: Alphabet) -> AmbiguityRule:
    """Return the default rule for an alphabet: vsearch's rule for DNA, BLAST's rule for proteins."""
    return AmbiguityRule.COMPATIBLE if alphabet is DNA else AmbiguityRule.UNEQUAL


def check_rule(rule: AmbiguityRule | None, definition: int) -> None:
    """Raise `InputError` if the rule is incompatible with the identity definition.

    rule: rule chosen by the user; None if the user has chosen none
    definition: number of the identity definition, see core/alignment/identity.py
    """
    if rule is AmbiguityRule.SKIP and definition not in _COLUMN_DEFINITIONS:
        raise InputError(
            f"{rule.option} leaves columns out, and {parameter('identity_def', definition)} divides by whole sequences:"
            f" choose one of {', '.join(map(str, _COLUMN_DEFINITIONS))}"
        )


def count_ambiguity(
    rule: AmbiguityRule, alphabet: Alphabet, queries: SequenceSet, targets: SequenceSet, threads: int
) -> AmbiguityCounts | None:
    """Count the ambiguity letters in the records. Returns None if there are none, or if engines already count according to the rule.

    threads: maximum number of threads, also for recounting statistics
    """
    if rule is AmbiguityRule.UNEQUAL:
        return None
    unclear = np.flatnonzero(_ambiguity_mask(alphabet))
    if not any(np.isin(unclear, one.used_codes).any() for one in (queries, targets)):
        return None
    is_ambiguous = np.zeros(256, dtype=np.bool_)
    is_ambiguous[unclear] = True
    of_queries = count_in_records(queries.codes, queries.offsets, is_ambiguous, threads)
    of_targets = of_queries if targets is queries else count_in_records(targets.codes, targets.offsets, is_ambiguous, threads)
    return AmbiguityCounts(rule, of_queries, of_targets, int(of_queries.max() + of_targets.max()), threads)


def _possibility_masks(alphabet: Alphabet) -> Integers:
    """Return a bit mask for each letter, in which the bits of all letters that it may stand for are set: int64[letters]."""
    stand_for = _POSSIBLE_LETTERS[alphabet.name]
    return np.array([sum(1 << alphabet.letters.index(one) for one in stand_for.get(letter, letter)) for letter in alphabet.letters])


def _ambiguity_mask(alphabet: Alphabet) -> Booleans:
    """Return a mask of the letters that may stand for more than one letter: bool[letters]."""
    return np.array([letter in _POSSIBLE_LETTERS[alphabet.name] for letter in alphabet.letters])
