"""Options of which pairs and hits are written, and how they are measured."""

from __future__ import annotations

from collections.abc import Callable

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.param_types import FiniteType, WholeType


def identity_option() -> Callable[[F], F]:
    """How identity is defined."""
    return click.option(
        "--identity-def",
        type=click.IntRange(0, 4),
        default=2,
        show_default=True,
        metavar="0..4",
        help="Equal letters as a fraction of 0: the shorter sequence, 1: all columns, 2: columns without gaps at the ends; 3: 1 -"
        " (mismatches + gaps) / the longer sequence; 4: as 1, BLAST's. The numbers are those of vsearch --iddef.",
    )


def ambiguous_option() -> Callable[[F], F]:
    """What ambiguity letters are in identities."""
    return click.option(
        "--ambiguous",
        type=ChoiceType(["unequal", "compatible", "skip"]),
        help="Ambiguity letters in identities: unequal: a match with the same letter alone; compatible: with letters that may stand for the"
        " same, as vsearch counts; skip: columns with one do not count.  [DNA: compatible, protein: unequal]",
    )


def pair_thresholds() -> tuple[Callable[[F], F], ...]:
    """Which pairs are written."""
    return (
        click.option("--min-score", type=WholeType(), metavar="S", help="Write only pairs that score S or more."),
        click.option("--min-identity", type=FiniteType(), metavar="F", help="Write only pairs of this identity or more, from 0 to 1."),
        click.option(
            "--min-coverage",
            type=FiniteType(),
            metavar="F",
            help="Write only pairs in which at least this fraction of each sequence is aligned with letters of the other.",
        ),
        click.option(
            "--max-distance",
            type=FiniteType(),
            metavar="D",
            help="Write only pairs at this distance or less: 1 - identity, with --edit the edit distance.",
        ),
        click.option(
            "--nearest",
            type=WholeType(1),
            metavar="K",
            help="Of the pairs that pass, write only the K nearest other records of each query: by distance or identity if there is a"
            " threshold on it, else by score.",
        ),
    )


def hit_thresholds() -> tuple[Callable[[F], F], ...]:
    """Which hits are written."""
    return (
        click.option(
            "--max-hits",
            type=WholeType(1),
            metavar="K",
            help="Write only the K best hits of each query.  [all that pass; 25 without a threshold]",
        ),
        click.option("--min-score", type=WholeType(), metavar="S", help="Write all hits that score S or more."),
        click.option("--max-evalue", type=FiniteType(), metavar="E", help="Write all hits with this E-value or a smaller one."),
        click.option("--min-identity", type=FiniteType(), metavar="F", help="Write all hits of this identity or more, from 0 to 1."),
        click.option(
            "--evalue",
            type=ChoiceType(["table", "estimate", "none"], of_numbers="--max-evalue"),
            help="Parameters of E-values: those published for BLAST, or estimated from simulated sequences.  [table if it has the"
            " scoring, else estimate]",
        ),
    )


def group_options(function: F) -> F:
    """Which pairs, by groups of records."""
    return stack(
        click.option(
            "--groups",
            type=PathType(),
            metavar="TABLE",
            help="With --between or --within: the group of each record, a table of ids and groups.",
        ),
        click.option("--between", is_flag=True, help="Only pairs of records of different groups."),
        click.option("--within", is_flag=True, help="Only pairs of records of the same group."),
    )(function)
