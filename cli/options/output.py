"""Output options: files, formats, columns and values."""

from __future__ import annotations

from collections.abc import Callable

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import ListType, PathType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.thresholds import ambiguous_option, hit_threshold_options, identity_definition_option, pair_threshold_options
from gpualign.core.output.formats.registry import ResultKind, format_names

_FOREIGN_FORMATS = (
    (("6", "blast", "blast6", "outfmt6"), "m8", "m8 has BLAST's columns"),
    (("long",), "molten", "molten has a row for each pair"),
)
"""Names of formats in other programs, the format of gpualign, and what to say of it where a command has it."""


def file_options(*results: ResultKind) -> tuple[Callable[[F], F], ...]:
    """Return the options --output and --format. results: kinds of results, whose formats are offered."""
    formats = list(dict.fromkeys(name for kind in results for name in format_names(kind)))
    return (
        Heading.OUTPUT.option(
            "-o",
            "--output",
            type=PathType(),
            default="-",
            metavar="FILE",
            help="Write to FILE, whose suffix sets the format; .gz compresses text.  [standard output]",
        ),
        Heading.OUTPUT.option(
            "--format",
            type=ChoiceType(formats, refused={name: text for names, word, text in _FOREIGN_FORMATS if word in formats for name in names}),
            help=f"Output format, regardless of the suffix{'; csr, a sparse matrix, stores value + 1' if 'csr' in formats else ''}.  [tsv]",
        ),
    )


_FIELD_NAMES = (
    "query,target,score,distance, qlen,tlen, identity,matches,mismatches, length,gap_opens,gaps, qstart,qend,tstart,tend,"
    " qcov,tcov, coverage,coverage_query, coverage_target,coverage_shorter, cigar,cigar_m, qaln,taln, strand,qtitle,ttitle"
)


_SHOWN_FIELD_NAMES = ", ".join(name.strip() for name in _FIELD_NAMES.split(","))


def condensed_option() -> Callable[[F], F]:
    """Return the option --condensed, which writes one-set matrices as vectors."""
    return Heading.OUTPUT.option(
        "--condensed", is_flag=True, help="With .npy and .npz: write only pairs i < j, as a vector in scipy's condensed form."
    )


def output_options(function: F) -> F:
    """Add the options for pair output: file, columns, thresholds, values and a heat map."""
    return combine_options(
        *file_options(ResultKind.PAIRS),
        Heading.OUTPUT.option(
            "--fields",
            type=ListType(_FIELD_NAMES),
            metavar="LIST",
            help=f"Columns of tables, comma-separated: {_SHOWN_FIELD_NAMES}.  [query, target, score, or with --edit distance; with --strand"
            " both also strand; and the values tested by --min-identity, --min-coverage and --max-distance]",
        ),
        identity_definition_option(),
        ambiguous_option(),
        *pair_threshold_options(),
        Heading.OUTPUT.option(
            "--value",
            type=ChoiceType(["score", "identity", "distance"]),
            help="Write a matrix of these values (csr: only of pairs that pass); distance is 1 - identity, or with --edit the edit"
            " distance.  [in matrix formats: score; with phylip, or with --edit: distance]",
        ),
        plot_option,
        condensed_option(),
    )(function)


def hit_options(function: F) -> F:
    """Add the options for hit output: file, columns and thresholds."""
    return combine_options(
        *file_options(ResultKind.HITS, ResultKind.SCORES),
        Heading.OUTPUT.option(
            "--fields",
            type=ListType(f"bits,evalue,hsp,organism,taxid,gene,qframe,tframe,{_FIELD_NAMES}"),
            metavar="LIST",
            help="Columns of tables, comma-separated: bits, evalue, hsp, organism, taxid, gene, qframe, tframe,"
            f" {_SHOWN_FIELD_NAMES}, and those of --annotate.  [query, target, score, bits, evalue, strand, identity, length, qstart,"
            " qend, tstart, tend, qcov, tcov; with --translate qframe, tframe instead of strand]",
        ),
        identity_definition_option(),
        *hit_threshold_options(),
    )(function)


def cluster_output_options(function: F) -> F:
    """Add the options for cluster output."""
    return combine_options(
        *file_options(ResultKind.CLUSTERS),
        Heading.OUTPUT.option(
            "--linkage-report",
            type=PathType(),
            metavar="FILE",
            help="Also write the size, diameter and longest link of each single-linkage cluster, which show chaining, and with --dates its"
            " first and last records.",
        ),
        Heading.OUTPUT.option(
            "--colours",
            type=PathType(),
            metavar="FILE",
            help="With --levels: also write a colour for each cluster (the same in all later runs), for Nextstrain (augur export"
            " --colors).",
        ),
        Heading.OUTPUT.option("--uc", type=PathType(), metavar="FILE", help="Also write the clusters in .uc format (usearch, vsearch)."),
        Heading.OUTPUT.option(
            "--representatives",
            type=PathType(),
            metavar="FILE",
            help="Also write the representative of each cluster as FASTA; --format fasta writes only these.",
        ),
    )(function)


def plot_option(function: F) -> F:
    """Add --plot, which draws the matrix."""
    return Heading.OUTPUT.option(
        "--plot",
        type=PathType(),
        metavar="FILE",
        help="Also draw the matrix as a clustered heat map: .png, .svg or .pdf (needs gpualign[plot]).",
    )(function)
