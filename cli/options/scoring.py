"""Scoring options: matches, gaps, matrices and strands."""

from __future__ import annotations

from collections.abc import Callable

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import MatrixType
from gpualign.cli.options.param_types import WEIGHTS


def _scoring_options(gaps: str, extend: str) -> tuple[Callable[[F], F], ...]:
    return (
        click.option("--match", type=WEIGHTS, metavar="S", help="Score of equal letters; all other pairs then score --mismatch.  [DNA: 5]"),
        click.option("--mismatch", type=WEIGHTS, metavar="S", help="Score of unequal letters (negative).  [DNA: -4]"),
        click.option("--gap-open", type=WEIGHTS, metavar="C", help=f"Cost of the first letter of a gap.  [{gaps}]"),
        click.option("--gap-extend", type=WEIGHTS, metavar="C", help=f"Cost of each further letter of a gap.  [{extend}]"),
        click.option("--gap", type=WEIGHTS, metavar="C", help="Linear gaps: every letter of a gap costs C."),
        click.option(
            "--matrix",
            type=MatrixType(),
            metavar="NAME|FILE",
            help="Substitution matrix: a name such as BLOSUM80, or an NCBI-format file.  [NUC.4.4, BLOSUM62]",
        ),
    )


def scoring_options(function: F) -> F:
    """Add the scoring options for global alignments."""
    edit = click.option("--edit", is_flag=True, help="Unit-cost edit distance (smaller is closer) instead of a score.")
    return stack(*_scoring_options("DNA: 10, protein: 11", "1"), edit)(function)


def local_scoring_options(function: F) -> F:
    """Add the scoring options for local alignments."""
    return stack(*_scoring_options("DNA: 16, protein: 12", "DNA: 6, protein: 1"))(function)


def strand_option(function: F) -> F:
    """Add --strand."""
    return click.option(
        "--strand",
        type=ChoiceType(["both", "plus"]),
        help="DNA only. both: also align the query's reverse complement and keep the better strand.  [plus]",
    )(function)
