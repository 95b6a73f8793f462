"""Scoring of alignments, as given in Python."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath

from gpualign._execution_options import checked_choice, checked_count, checked_flag
from gpualign.core.common.errors import InputError
from gpualign.core.scoring import matrices
from gpualign.core.scoring.listed_distances import ListedDistance, has_distances, selected_distances
from gpualign.core.scoring.scoring import ScoringOptions, check_combination
from gpualign.jobs.v_gene_tables import load_v_genes


@dataclass(frozen=True)
class Scoring:
    """Letter scores and gap costs. None: the default for the alphabet and the kind of alignment, as in the commands.

    A gap of n letters costs gap_open + (n - 1) * gap_extend.

    match: score for equal letters
    mismatch: score for unequal letters
    gap: cost per gap letter, instead of `gap_open` and `gap_extend` (linear gap costs)
    gap_open: cost of the first letter in a gap
    gap_extend: cost of each additional letter in a gap
    matrix: name or file of a substitution matrix, used instead of `match` and `mismatch`
    edit: whether to compute the unit-cost edit distance; cannot be combined with any other field
    hamming: whether to count the unequal letters of sequences of equal lengths, which sets `edit` and needs a maximum distance
    v_genes: table of V genes, whose distances `tcrdist` then adds to those of the CDR3s; needs sequences that `gpualign.read` read from a
        table with V genes
    tcrdist: whether to compute the TCRdist of CDR3s, which also sets `edit` and needs a maximum distance; can be combined only with
        `gap` and `v_genes`
    align_distance: whether to compute how far the score of the pair is below the score of a sequence with itself (the lower of the two),
        which also sets `edit` and needs a maximum distance; can be combined with all letter scores and gap costs

    Raises `InputError` for numbers that are not integers, for fields that exclude each other, such as `gap` and `gap_open`, or if `matrix`
    is neither a name nor a path.

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
    hamming: bool = False
    tcrdist: bool = False
    align_distance: bool = False
    v_genes: str | None = None

    def __post_init__(self) -> None:
        """Check the fields. Raises the errors that the class documents."""
        for name in ("match", "mismatch", "gap", "gap_open", "gap_extend"):
            object.__setattr__(self, name, checked_count(name, getattr(self, name)))
        for name in ("edit", *(one.value for one in ListedDistance)):
            object.__setattr__(self, name, checked_flag(name, getattr(self, name)))
        object.__setattr__(self, "edit", has_distances(vars(self)))
        for name in ("matrix", "v_genes"):
            if (value := getattr(self, name)) is not None:
                if not isinstance(value, (str, PathLike)) or not isinstance(path := fspath(value), str):
                    raise InputError(f"{name}: expected a name or a path; found {type(value).__name__}")
                object.__setattr__(self, name, path)
        check_combination(ScoringOptions(**vars(self)))

    def options(self) -> ScoringOptions:
        """Return the scoring options for the jobs. Raises `InputError` for a matrix that cannot be loaded."""
        matrix = None if self.matrix is None else matrices.load_matrix(self.matrix)
        v_genes = None if self.v_genes is None else load_v_genes(self.v_genes)
        return ScoringOptions(**{**vars(self), "matrix": matrix, "v_genes": v_genes})


DEFAULT_SCORING = Scoring()

EDIT = Scoring(edit=True)
"""Unit-cost edit distance."""

HAMMING = Scoring(hamming=True)
"""Number of unequal letters, of sequences of equal lengths."""

TCRDIST = Scoring(tcrdist=True)
"""TCRdist of CDR3s (Dash et al. 2017)."""

ALIGN_DISTANCE = Scoring(align_distance=True)
"""The lower of two sequences' scores with themselves less their score with each other, by the default scores. scirpy's metric of alignments
is `Scoring(align_distance=True, gap=11)`."""


METRICS = {"edit": EDIT, "hamming": HAMMING, "tcrdist": TCRDIST, "align_distance": ALIGN_DISTANCE}
"""Scorings that have a name."""


def checked_scoring_of_every_pair(scoring: Scoring | None, local: bool = False) -> Scoring:
    """Return the scoring, or the default for None. local: whether the scoring is for local alignments

    Raises the same errors as `checked_scoring`, and `InputError` for distances that are only known of pairs within a maximum distance.
    """
    checked = checked_scoring(scoring, local)
    if selected_distances(vars(checked)):
        raise InputError(
            "Hamming distances, TCRdists and alignment distances are computed without an alignment; gpualign.pairs finds the pairs within"
            " one"
        )
    return checked


def checked_scoring(scoring: Scoring | None, local: bool = False, metric: str | None = None) -> Scoring:
    """Return the scoring, or the default for None.

    local: whether the scoring is for local alignments
    metric: name from `METRICS`, instead of a scoring

    Raises `InputError` if the argument is not a `Scoring`, is unsuitable for local alignments, or is given with a metric.
    """
    if metric is not None:
        checked_choice("metric", metric, METRICS)
        if scoring is not None:
            raise InputError("metric and scoring both say what is computed; give one of them")
        return METRICS[metric]
    if scoring is None:
        return DEFAULT_SCORING
    if not isinstance(scoring, Scoring):
        raise InputError(f"scoring: expected gpualign.Scoring(...) or gpualign.EDIT; found {type(scoring).__name__}")
    if local and scoring.edit and not selected_distances(vars(scoring)):
        raise InputError("edit distances need global alignments; the best local alignment by edit distance is empty")
    return scoring
