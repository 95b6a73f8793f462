"""Options of `gpualign cluster`: distance sources, thresholds and methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.input import strand_option
from gpualign.cli.options.param_types import FiniteNumberType, LevelListType
from gpualign.cli.options.thresholds import ambiguous_option, identity_definition_option
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.jobs.options import NO_SIDES_IN_CLUSTERS


def bound_by_levels(params: dict[str, Any]) -> None:
    """Make the largest of --levels, if given, the value of --max-distance. Raises `InputError` if another threshold is given too."""
    if not params["levels"]:
        return
    for name in ("max_distance", "min_identity"):
        if params[name] is not None:
            raise InputError(f"{parameter('levels')} has the thresholds already; leave out {parameter(name)}")
    params["max_distance"] = params["levels"][0]


def check_sources(seqs: str | None, given: Mapping[str, Any]) -> None:
    """Raise `InputError` unless there is exactly one source of distances, and the other options apply to it.

    seqs: file of sequences; None: not given
    given: options by their names
    """
    edges, distances = given["edges"], given["distances"]
    if edges is not None and distances is not None:
        raise InputError(f"{parameter('edges')} and {parameter('distances')} both name the distances; give only one of them")
    if given["ids"] is not None and (edges is None or seqs is not None):
        remark = "; SEQS already lists their records" if edges else ""
        raise InputError(f"{parameter('ids')} is for the pairs of {parameter('edges')}{remark}")
    if seqs is None and edges is None and distances is None:
        raise InputError(f"nothing to cluster: give a file of sequences, {parameter('edges')} or {parameter('distances')}")
    of_costs = ("match", "mismatch", "gap", "gap_open", "gap_extend", "matrix", *(one.value for one in ListedDistance), "v_genes")
    of_alignments = (*of_costs, "strand", "ambiguous", "same", "locus", "and_locus")
    unused = [name for name in of_alignments if given[name] not in (None, False, ())]
    if unused and (edges is not None or distances is not None):
        option, source = parameter(unused[0].removesuffix("_locus")), parameter("edges" if edges else "distances")
        raise InputError(f"{option} applies to alignments; with {source} nothing is aligned")


def cluster_options(function: F) -> F:
    """Add the options for distance sources, thresholds and clustering methods."""
    return combine_options(
        Heading.INPUT.option(
            "--edges",
            type=PathType(),
            metavar="FILE",
            help="Read the pairs from this list instead of aligning: columns query, target and distance or identity, as written by nw and"
            " dist --max-distance.",
        ),
        Heading.INPUT.option(
            "--ids",
            type=PathType(),
            metavar="FILE",
            help="With --edges: a file with the ids of all records, one per line. Records without a pair become clusters of one.",
        ),
        Heading.INPUT.option(
            "--distances",
            type=PathType(),
            metavar="FILE",
            help="Read all pairs from this matrix of distances or identities, of nw, dist or another program: .npy, .npz, text or PHYLIP.",
        ),
        Heading.INPUT.option(
            "--previous",
            type=PathType(),
            metavar="NAMES",
            help="With --levels: keep the cluster names of this table, written by an earlier run with -o. If new records join two"
            " clusters, the older name is kept; each merge becomes a line of the log beside the output, FILE.log.",
        ),
        Heading.INPUT.option(
            "--dates",
            type=PathType(),
            metavar="TABLE[:COLUMN]",
            help="With --linkage-report: a table with an id per line and a column of dates, such as 2026-11-27.",
        ),
        Heading.INPUT.option(
            "--verify",
            type=PathType(),
            metavar="CLUSTERS",
            help="Read clusters from this file (a table, .uc, .clstr, or the two columns of MMseqs2) instead of making them, and list what"
            " breaks the threshold: members that are not near their representative, representatives that are near each other, missing"
            " records; with --method single, clusters that are not connected, and near records in different clusters. The exit code is 0"
            " whatever is found.",
        ),
        Heading.PAIRS.option(
            "--min-identity", type=FiniteNumberType(), metavar="F", help="Pairs of this identity or more are near, from 0 to 1."
        ),
        Heading.PAIRS.option(
            "--max-distance",
            type=FiniteNumberType(),
            metavar="D",
            help="Pairs at this distance or less are near: 1 - identity, the distance of --edit, --hamming, --tcrdist or --align-distance,"
            " or the value in the file of --edges or --distances.",
        ),
        Heading.PAIRS.option(
            "--levels",
            type=LevelListType(),
            default=(),
            metavar="LIST",
            help="Several distances instead of one, such as 250,100,50,25,10,5,0: write the names of the single-linkage clusters at each of"
            " them (SNP addresses).",
        ),
        Heading.PAIRS.option(
            "--min-coverage",
            type=FiniteNumberType(),
            metavar="F",
            help="Near pairs must also have at least this fraction of each sequence aligned with letters of the other; 0 accepts any."
            "  [0.8 for identities that leave out end gaps, --identity-def 0 and 2; else 0]",
        ),
        Heading.PAIRS.option(
            "--coverage-of",
            type=ChoiceType(["both", "shorter"], refused=dict.fromkeys(["query", "target"], NO_SIDES_IN_CLUSTERS)),
            help="Sequence to which --min-coverage applies: both (CD-HIT -aL, MMseqs2 --cov-mode 0), or the shorter (CD-HIT -aS), which"
            " lets fragments join clusters.  [both]",
        ),
        strand_option,
        identity_definition_option(),
        ambiguous_option(),
        Heading.METHOD.option(
            "--method",
            type=ChoiceType(["single", "complete", "average", "greedy"], refused={"upgma": "average is UPGMA"}),
            default="single",
            show_default=True,
            help="single: records connected by near pairs; complete: all pairs of a cluster are near; average: two clusters are joined if"
            " the mean distance between their members is within the threshold (UPGMA); greedy: each record joins the nearest centroid"
            " within the threshold, or becomes one. All but greedy need gpualign[linkage].",
        ),
        Heading.METHOD.option(
            "--fix",
            is_flag=True,
            help="With --verify: change as few records as possible so that nothing breaks the threshold, and write the clusters.",
        ),
        Heading.METHOD.option(
            "--order",
            type=ChoiceType(["length", "size", "input"]),
            help="Order for greedy: longest records first, most abundant first (;size=N in ids, or duplicate_count in AIRR tables), or"
            " input order.  [length; input if lengths are unknown]",
        ),
    )(function)
