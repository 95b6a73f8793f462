"""What an alignment is worth, as Python programs say it."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from gpualign._execution_options import checked_count, checked_flag
from gpualign.core.common.errors import InputError
from gpualign.core.scoring import matrices
from gpualign.core.scoring.scoring import ScoringOptions


@dataclass(frozen=True)
class Scoring:
    """Scores of letters and costs of gaps; None = the default of the alphabet and the kind of alignment, as in the commands.

    match, mismatch: scores of equal and unequal letters; matrix: the name of a substitution matrix, or of a file with one, instead. A gap
    of n letters costs gap_open + (n - 1) * gap_extend; gap: the linear form, every letter costs the same. edit: unit-cost edit distance,
    with nothing else.

    >>> Scoring(matrix="BLOSUM62", gap_open=12, gap_extend=1).gap_open
    12
    """

    match: int | None = None
    mismatch: int | None = None
    gap: int | None = None
    gap_open: int | None = None
    gap_extend: int | None = None
    matrix: str | None = None
    edit: bool = False

    def __post_init__(self) -> None:
        """Raises `InputError` for fractions, and for what is no name of a matrix."""
        for name in ("match", "mismatch", "gap", "gap_open", "gap_extend"):
            object.__setattr__(self, name, checked_count(name, getattr(self, name)))
        object.__setattr__(self, "edit", checked_flag("edit", self.edit))
        if self.matrix is not None and not isinstance(self.matrix, (str, PathLike)):
            raise InputError(f"matrix: expected a name or a path; found {type(self.matrix).__name__}")

    def options(self) -> ScoringOptions:
        """As the jobs take it. Raises `InputError` for a matrix that cannot be had."""
        matrix = None if self.matrix is None else matrices.load(self.matrix)
        return ScoringOptions(self.match, self.mismatch, self.gap, self.gap_open, self.gap_extend, matrix, self.edit)


DEFAULT = Scoring()

EDIT = Scoring(edit=True)
"""Unit-cost edit distance."""


def checked_scoring(scoring: Scoring | None, local: bool = False) -> Scoring:
    """None is the default. local: of local alignments. Raises `InputError` for what is no scoring of such alignments."""
    if scoring is None:
        return DEFAULT
    if not isinstance(scoring, Scoring):
        raise InputError(f"scoring is a {type(scoring).__name__}; gpualign.Scoring(...) or gpualign.EDIT is wanted")
    if local and scoring.edit:
        raise InputError("edit distances are about global alignments; of local ones the best has no letters")
    return scoring
