"""Alignment scoring: a substitution table and gap costs, or unit-cost edit distance.

A gap of n letters costs gap_open + (n - 1) * gap_extend: with 10 and 1, a gap of 3 costs 12.

>>> from gpualign.core.sequences.alphabet import DNA
>>> make_scoring(DNA, ScoringOptions()).gap_cost(3)
12
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Booleans, Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.scoring import matrices
from gpualign.core.scoring.listed_distances import ListedDistance, has_distances, selected_distances
from gpualign.core.scoring.matrices import SubstitutionMatrix
from gpualign.core.scoring.tcrdist import GAP_COST, WEIGHT, amino_acid_costs
from gpualign.core.scoring.v_genes import VGenes
from gpualign.core.sequences.alphabet import PROTEIN, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet

MAX_SCORE = 2**31 - 1
"""Maximum score or cost of one alignment column, which must fit in 32 bits."""

_DEFAULT_SCORES = {"dna": (5, -4, 10, 1, "NUC.4.4"), "protein": (5, -4, 11, 1, "BLOSUM62")}

# With gaps as cheap as the defaults above, the local score of random DNA grows with its length instead of its logarithm, and is
# meaningless; for 5/-4, BLAST has parameters for gaps of 16 and 6. The gaps for proteins are BLAST's default, which it calls 11/1.
_DEFAULT_LOCAL_GAP_COSTS = {"dna": (16, 6), "protein": (12, 1)}


@dataclass(frozen=True)
class ScoringOptions:
    """Scoring options as given by the user. An option that the user has not given is None. `gap` sets both gap costs to one value (linear
    gaps), and each of the distances that only near pairs have (`ListedDistance`) sets `edit`."""

    match: int | None = None
    mismatch: int | None = None
    gap: int | None = None
    gap_open: int | None = None
    gap_extend: int | None = None
    matrix: SubstitutionMatrix | None = None
    edit: bool = False
    hamming: bool = False
    tcrdist: bool = False
    align_distance: bool = False
    v_genes: VGenes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "edit", has_distances(vars(self)))

    @property
    def listed_distance(self) -> ListedDistance | None:
        """The distance that only near pairs have, if one is selected. Raises `InputError` if several are."""
        selected = selected_distances(vars(self))
        if len(selected) > 1:
            one, other = (parameter(distance.value) for distance in selected[:2])
            raise InputError(f"{other} and {one} are two distances; give one of them")
        return selected[0] if selected else None


@dataclass(frozen=True)
class Scoring:
    """A scoring.

    name: human-readable description
    substitution: score of each query letter with each target letter, int64[letters][letters], indexed by code
    gap_open, gap_extend: costs of the first letter and of each additional letter in a gap, at least 0
    match, mismatch: scores of equal and of unequal letters, if the table has only these two values; otherwise None
    edit: whether results are distances, which are minimised: edit distances if `listed_distance` is None. The table is then 0 for equal
        letters and -1 for unequal letters, and both gap costs are 1, so the distance is the negated score
    matrix: name of the matrix, if `match` and `mismatch` are not set
    listed_distance: kind of the distances if only near pairs have them; `edit` is then set, too. With TCRDIST the table has the negated
        costs of unequal letters (core/scoring/tcrdist.py), with ALIGNMENT table and gap costs are those of the scores from which
        distances are computed (core/scoring/alignment_distance.py)
    v_genes: V genes whose distances are added to TCRdist; records are then annotated with `V_CALL`
    """

    name: str
    substitution: Integers = field(repr=False)
    gap_open: int
    gap_extend: int
    match: int | None = None
    mismatch: int | None = None
    edit: bool = False
    matrix: str | None = None
    listed_distance: ListedDistance | None = None
    v_genes: VGenes | None = None

    @property
    def of_alignments(self) -> Scoring:
        """The scoring that aligns pairs: this one, unless results are computed from the scores of another."""
        return replace(self, edit=False, listed_distance=None) if self.listed_distance is ListedDistance.ALIGNMENT else self

    @property
    def has_linear_gaps(self) -> bool:
        return self.gap_open == self.gap_extend

    def gap_cost(self, length: int) -> int:
        """Return the cost of a gap of `length` letters; `length` is at least 1."""
        return self.gap_open + (length - 1) * self.gap_extend

    def score_bounds(self, query_length: int, target_length: int) -> tuple[int, int]:
        """Return the lowest and the highest possible result for a pair: scores, or distances if `edit` is set.

        An optimal score is at most the best column score times the shorter length. It is at least the score of the alignment that deletes
        one sequence and inserts the other.
        """
        if self.edit and self.listed_distance is not ListedDistance.ALIGNMENT:
            return 0, max(query_length, target_length)
        best = max(0, int(self.substitution.max()))
        low, high = -(self.gap_cost(query_length) + self.gap_cost(target_length)), best * min(query_length, target_length)
        if not self.edit:
            return low, high
        # The lower of two scores of a sequence with itself, less a score.
        return -2 * self.gap_cost(max(query_length, target_length)) - high, high - low

    def self_alignment_is_gapless(self, codes: npt.NDArray[np.uint8]) -> bool:
        """Return whether the alignment of a sequence with itself is certain to be gapless, with identity 1 or distance 0.

        codes: codes that the sequence may contain

        This holds if each pair of letters scores at most the mean of the two letters' scores with themselves, and each letter in a gap at
        most half the letter's score with itself. Summed over both copies of the sequence, no other alignment then scores higher, and ties
        are decided in favour of the diagonal.
        """
        table = self.substitution[np.ix_(codes, codes)]
        own = np.diagonal(table)
        return bool((2 * table <= own[:, None] + own[None, :]).all() and (own >= -2 * self.gap_extend).all())

    def dtype(self, query_length: int, target_length: int) -> np.dtype[np.signedinteger]:
        """Return int32 if it can hold all results for pairs up to these lengths, else int64."""
        low, high = self.score_bounds(query_length, target_length)
        return np.dtype(np.int32 if low >= -MAX_SCORE and high <= MAX_SCORE else np.int64)


def _two_valued_table(letters: int, match: int, mismatch: int) -> Integers:
    return np.where(np.eye(letters, dtype=bool), match, mismatch).astype(np.int64)


def _check_gap_costs(gap_open: int, gap_extend: int) -> None:
    if gap_open < 0 or gap_extend < 0:
        name = "gap" if gap_open == gap_extend else "gap open" if gap_open < 0 else "gap extend"
        cost = gap_open if gap_open < 0 else gap_extend
        raise InputError(f"gap costs are given as positive numbers: {name} {-cost}, not {cost}")
    if gap_extend > gap_open:
        raise InputError(
            f"gap extend ({gap_extend}) costs more than gap open ({gap_open}): a gap of n letters costs open + (n-1) * extend, "
            "so open must be at least extend"
        )


def _check_matrix_covers(matrix: SubstitutionMatrix, covered: Booleans, alphabet: Alphabet, sets: Sequence[SequenceSet]) -> None:
    for sequences in sets:
        for code in sequences.used_codes:
            if not covered[code]:
                record = sequences.first_record_with(int(code))
                raise InputError(
                    f"matrix {matrix.name} has no row for the letter {alphabet.letters[code]!r}, "
                    f"which record {sequences.ids[record]!r} of {sequences.file_of(record)} holds"
                )


def is_protein_matrix(matrix: SubstitutionMatrix) -> bool:
    """Return whether a matrix is for proteins, that is, has scores for amino acids whose letters are not nucleotide letters."""
    return set("EFILPQ") <= set(matrix.letters)


def _make_tcrdist(alphabet: Alphabet, options: ScoringOptions) -> Scoring:
    """Return the scoring of TCRdist. Raises `InputError` for nucleotides."""
    if alphabet is not PROTEIN:
        option = parameter(ListedDistance.TCRDIST.value)
        raise InputError(f"{option} compares amino acids; these are nucleotides (if not, add {parameter('alphabet', 'protein')})")
    gap = GAP_COST if options.gap is None else options.gap
    _check_gap_costs(gap, gap)
    name = f"TCRdist of {'V genes and ' if options.v_genes else ''}CDR3s, gap {gap}"
    listed = ListedDistance.TCRDIST
    return Scoring(name, -WEIGHT * amino_acid_costs(), gap, gap, edit=True, listed_distance=listed, v_genes=options.v_genes)


def _make_alignment_distance(scores: Scoring, alphabet: Alphabet) -> Scoring:
    """Return the scoring of distances that are computed from scores. Raises `InputError` if the distance would depend on the order of the
    two sequences."""
    table = scores.substitution
    if len(different := np.argwhere(table != table.T)):
        i, j = different[0].tolist()
        name, one, other = parameter(ListedDistance.ALIGNMENT.value), alphabet.letters[i], alphabet.letters[j]
        raise InputError(
            f"{name} needs a symmetric matrix; by {scores.matrix} {one} with {other} scores {table[i, j]}, {other} with {one} {table[j, i]}"
        )
    return replace(scores, name=f"alignment distance by {scores.name}", edit=True, listed_distance=ListedDistance.ALIGNMENT)


def check_combination(options: ScoringOptions) -> None:
    """Raise `InputError` for options that contradict each other whatever the alphabet is."""
    listed = options.listed_distance
    name = parameter("edit" if listed is None else listed.value)
    given = [other for other in ("match", "mismatch", "gap", "gap_open", "gap_extend", "matrix") if getattr(options, other) is not None]
    if listed is ListedDistance.TCRDIST:
        if others := [other for other in given if other != "gap"]:
            raise InputError(f"{name} has its own costs; it cannot be combined with {parameter(others[0])}")
        return
    if options.v_genes is not None:
        raise InputError(f"{parameter('v_genes')} adds distances of V genes to those of CDR3s; it needs {parameter('tcrdist')}")
    if options.edit and listed is not ListedDistance.ALIGNMENT and given:
        raise InputError(f"{name} fixes every cost at 1; it cannot be combined with {parameter(given[0])}")
    if options.matrix is not None and (options.match is not None or options.mismatch is not None):
        one, other = parameter("matrix"), f"{parameter('match')}/{parameter('mismatch')}"
        raise InputError(f"{one} and {other} exclude each other; give one of them")
    if options.gap is not None and (options.gap_open is not None or options.gap_extend is not None):
        linear, opening, extension = (parameter(name) for name in ("gap", "gap_open", "gap_extend"))
        raise InputError(f"{linear} is the linear form of {opening} and {extension}; give one or the other")


def make_scoring(alphabet: Alphabet, options: ScoringOptions, sets: Sequence[SequenceSet] = (), local: bool = False) -> Scoring:
    """Return the scoring for the options, using the alphabet's defaults for options that the user has not given.

    sets: sequences whose letters the matrix must contain
    local: whether to use the defaults for local alignments

    The default for DNA is the matrix NUC.4.4 (EDNAFULL: 5 and -4, and other values for ambiguity letters) with gap open 10 and extend 1
    (local alignments: 16 and 6). The default for proteins is BLOSUM62 with gap open 11 and extend 1 (local alignments: 12 and 1). If match
    or mismatch is given, every pair of equal letters has the match score and every pair of unequal letters the mismatch score.

    Raises `InputError` for conflicting options, a matrix that lacks a letter used in `sets`, and weights that do not fit in 32 bits.
    """
    check_combination(options)
    listed = options.listed_distance
    if listed is ListedDistance.TCRDIST:
        return _make_tcrdist(alphabet, options)
    if listed is ListedDistance.ALIGNMENT:
        return _make_alignment_distance(make_scoring(alphabet, replace(options, edit=False, align_distance=False), sets), alphabet)
    if options.edit:
        name = "edit distance" if listed is None else "Hamming distance"
        return Scoring(name, _two_valued_table(len(alphabet), 0, -1), 1, 1, 0, -1, edit=True, listed_distance=listed)
    match, mismatch, gap_open, gap_extend, matrix_name = _DEFAULT_SCORES[alphabet.name]
    if local:
        gap_open, gap_extend = _DEFAULT_LOCAL_GAP_COSTS[alphabet.name]
    if options.gap is not None:
        gap_open = gap_extend = options.gap
    gap_open = gap_open if options.gap_open is None else options.gap_open
    gap_extend = gap_extend if options.gap_extend is None else options.gap_extend
    _check_gap_costs(gap_open, gap_extend)
    gaps = f"gap {gap_open}" if gap_open == gap_extend else f"gap open {gap_open}, extend {gap_extend}"

    if options.match is not None or options.mismatch is not None:
        match = match if options.match is None else options.match
        mismatch = mismatch if options.mismatch is None else options.mismatch
        scoring = Scoring(
            f"match {match}, mismatch {mismatch}{' (a reward: penalties are negative)' if mismatch > 0 else ''}, {gaps}",
            _two_valued_table(len(alphabet), match, mismatch),
            gap_open,
            gap_extend,
            match,
            mismatch,
        )
    else:
        matrix = options.matrix if options.matrix is not None else matrices.matrix_by_name(matrix_name)
        table, covered = matrix.table(alphabet)
        _check_matrix_covers(matrix, covered, alphabet, sets)
        scoring = Scoring(f"{matrix.name}, {gaps}", table, gap_open, gap_extend, matrix=matrix.name)
    largest = int(np.abs(scoring.substitution).max()) + 4 * gap_open
    if largest > MAX_SCORE:
        raise InputError(
            f"the scores do not fit 32 bits: the largest substitution score and 4 gap openings add up to {largest:,}, more than "
            f"{MAX_SCORE:,}; divide all of them by the same number"
        )
    return scoring
