"""Scoring options: matches, gaps and matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.completion_types import MatrixType, PathType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.param_types import SCORE_OR_COST_TYPE


def _scoring_options(gap_open_default: str, gap_extend_default: str) -> tuple[Callable[[F], F], ...]:
    return (
        Heading.SCORING.option(
            "--match", type=SCORE_OR_COST_TYPE, metavar="S", help="Score of equal letters; all other pairs then score --mismatch.  [DNA: 5]"
        ),
        Heading.SCORING.option("--mismatch", type=SCORE_OR_COST_TYPE, metavar="S", help="Score of unequal letters (negative).  [DNA: -4]"),
        Heading.SCORING.option(
            "--gap-open", type=SCORE_OR_COST_TYPE, metavar="C", help=f"Cost of the first letter of a gap.  [{gap_open_default}]"
        ),
        Heading.SCORING.option(
            "--gap-extend", type=SCORE_OR_COST_TYPE, metavar="C", help=f"Cost of each further letter of a gap.  [{gap_extend_default}]"
        ),
        Heading.SCORING.option("--gap", type=SCORE_OR_COST_TYPE, metavar="C", help="Linear gaps: every letter of a gap costs C."),
        Heading.SCORING.option(
            "--matrix",
            type=MatrixType(),
            metavar="NAME|FILE",
            help="Substitution matrix: a name such as BLOSUM80, or an NCBI-format file.  [NUC.4.4, BLOSUM62]",
        ),
    )


def scoring_options(function: F) -> F:
    """Add the scoring options for global alignments."""
    edit = Heading.SCORING.option("--edit", is_flag=True, help="Compute edit distances, in which each edit costs 1, instead of scores.")
    hamming = Heading.SCORING.option(
        "--hamming",
        is_flag=True,
        help="With --max-distance: the distance is the number of unequal letters; only sequences of equal length can be near.",
    )
    tcrdist = Heading.SCORING.option(
        "--tcrdist",
        is_flag=True,
        help="With --max-distance: the distance is TCRdist of CDR3s (Dash et al. 2017). --gap sets the cost of each letter in the gap: 12"
        " by default, as published; pwseqdist and scirpy use 4.",
    )
    v_genes = Heading.SCORING.option(
        "--v-genes",
        type=PathType(),
        metavar="TABLE",
        help="With --tcrdist: add the distances of V genes. TABLE lists their CDR1, CDR2 and CDR2.5, for example the table of tcrdist3.",
    )
    align_distance = Heading.SCORING.option(
        "--align-distance",
        is_flag=True,
        help="With --max-distance: the distance is how far the score of the pair is below the score of a sequence with itself (the lower of"
        " the two). With --gap 11 this is scirpy's metric alignment.",
    )
    return combine_options(*_scoring_options("DNA: 10, protein: 11", "1"), edit, hamming, tcrdist, v_genes, align_distance)(function)


def local_scoring_options(function: F) -> F:
    """Add the scoring options for local alignments."""
    return combine_options(*_scoring_options("DNA: 16, protein: 12", "DNA: 6, protein: 1"))(function)


def are_distances(params: Mapping[str, Any]) -> bool:
    """Return whether the results are distances. params: values of options by their names

    Raises `InputError` if --edit is given with another distance.
    """
    from gpualign.core.common.errors import InputError, parameter
    from gpualign.core.scoring.listed_distances import has_distances, selected_distances

    if params["edit"] and (others := selected_distances(params)):
        raise InputError(f"{parameter('edit')} and {parameter(others[0].value)} are two distances; give one of them")
    return has_distances(params)
