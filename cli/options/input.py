"""Options of what is read."""

from __future__ import annotations

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType


def input_options(function: F) -> F:
    """What is read: alphabet, repeated ids, gaps, and what may be cut."""
    return stack(
        click.option(
            "--alphabet",
            type=ChoiceType(["auto", "dna", "protein"]),
            default="auto",
            show_default=True,
            help="auto: DNA if every letter is an IUPAC nucleotide letter and 80 % are A, C, G, T, U or N.",
        ),
        click.option("--allow-duplicates", is_flag=True, help="Number repeated ids (id, id_2, ...) instead of refusing them."),
        click.option("--degap", is_flag=True, help="Aligned sequences: remove their gaps (- and .) instead of refusing them."),
        click.option(
            "--unknown",
            type=ChoiceType(["n", "x"]),
            help="Read letters of no alphabet, . and ? as n of DNA or x of proteins, instead of refusing them.",
        ),
        click.option(
            "--strict", is_flag=True, help="Refuse input whose last line has no line end: it may be cut. Of pipes a note says so anyway."
        ),
    )(function)


def drop_empty_option(function: F) -> F:
    """Records without letters, such as reads that trimming left empty."""
    return click.option("--drop-empty", is_flag=True, help="Leave out records without letters instead of refusing them.")(function)


def mask_lower_option(function: F) -> F:
    """Letters that are masked in the files."""
    return click.option(
        "--mask-lower", is_flag=True, help="Read letters in lower case as N (in proteins as X): soft-masked repeats of genomes."
    )(function)


def mask_option(function: F) -> F:
    """Which letters of the queries are not searched."""
    return click.option(
        "--mask",
        type=ChoiceType(["seg", "dust", "none"]),
        help="Mask low-complexity parts of the queries: proteins by SEG, DNA by DUST.  [seg or dust; with --evalue none and with"
        " --all: none]",
    )(function)
