"""Options of what is clustered, and how."""

from __future__ import annotations

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.param_types import FiniteType
from gpualign.cli.options.scoring import strand_option
from gpualign.cli.options.thresholds import ambiguous_option, identity_option


def cluster_options(function: F) -> F:
    """What is clustered, and how."""
    return stack(
        click.option(
            "--edges",
            type=PathType(),
            metavar="FILE",
            help="Take the pairs of this list instead of aligning: columns query, target and distance or identity, as nw and dist"
            " --max-distance write them.",
        ),
        click.option(
            "--ids",
            type=PathType(),
            metavar="FILE",
            help="With --edges: the ids of all records, one per line. Those that are in no pair are clusters of their own.",
        ),
        click.option(
            "--distances",
            type=PathType(),
            metavar="FILE",
            help="Take all pairs of this matrix, of distances or identities, that nw or dist wrote: .npy, .npz or text.",
        ),
        click.option(
            "--max-distance",
            type=FiniteType(),
            metavar="D",
            help="Pairs at this distance or less are near: 1 - identity, with --edit the edit distance, or the value in the file.",
        ),
        click.option("--min-identity", type=FiniteType(), metavar="F", help="Pairs of this identity or more are near, from 0 to 1."),
        click.option(
            "--min-coverage",
            type=FiniteType(),
            metavar="F",
            help="Also require that at least this fraction of each sequence is aligned with letters of the other.",
        ),
        strand_option,
        identity_option(),
        ambiguous_option(),
        click.option(
            "--method",
            type=ChoiceType(["single", "complete", "average", "greedy"]),
            default="single",
            show_default=True,
            help="single: everything that near pairs connect; complete: all pairs of a cluster are near; average: their mean is (UPGMA);"
            " greedy: each record joins the nearest centroid within the threshold, or becomes one. All but greedy need gpualign[linkage].",
        ),
        click.option(
            "--order",
            type=ChoiceType(["length", "size", "input"]),
            help="For greedy: longest records first, most abundant first (;size=N in ids), or input order.  [length; input if lengths"
            " are not known]",
        ),
    )(function)
