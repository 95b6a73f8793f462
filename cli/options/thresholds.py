"""Identity, threshold and group options, which select pairs and hits."""

from __future__ import annotations

from collections.abc import Callable

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.param_types import FiniteNumberType, IntegerType, NameListType


def identity_definition_option() -> Callable[[F], F]:
    """Return the option --identity-def."""
    return Heading.SCORING.option(
        "--identity-def",
        type=IntegerType(0, 4),
        default=2,
        show_default=True,
        metavar="0..4",
        help="How identity is computed. 0: equal letters / letters of the shorter sequence; 1: equal letters / all columns (as in BLAST);"
        " 2: equal letters / columns without end gaps; 3: 1 - (mismatches + gaps) / letters of the longer sequence; 4: the same as 1."
        " vsearch --iddef has the same numbers.",
    )


def ambiguous_option() -> Callable[[F], F]:
    """Return the option --ambiguous."""
    return Heading.SCORING.option(
        "--ambiguous",
        type=ChoiceType(["unequal", "compatible", "skip"]),
        help="How ambiguity letters (such as N and R) count in identities. unequal: they match only themselves; compatible: they match"
        " letters that may stand for the same base, as in vsearch; skip: their columns are ignored.  [DNA: compatible, protein: unequal]",
    )


def pair_threshold_options() -> tuple[Callable[[F], F], ...]:
    """Return the options that select the pairs to write."""
    return (
        Heading.PAIRS.option(
            "--min-identity", type=FiniteNumberType(), metavar="F", help="Write only pairs with this identity or more, from 0 to 1."
        ),
        Heading.PAIRS.option(
            "--max-distance",
            type=FiniteNumberType(),
            metavar="D",
            help="Write only pairs at this distance or less: 1 - identity, or the distance of --edit, --hamming, --tcrdist or"
            " --align-distance.",
        ),
        Heading.PAIRS.option(
            "--min-coverage",
            type=FiniteNumberType(),
            metavar="F",
            help="Write only pairs in which at least this fraction of each sequence is aligned with letters of the other; 0.8 is usual."
            " With --min-identity it also saves most of the time: pairs that cannot pass are not aligned, and no pair that passes is lost.",
        ),
        Heading.PAIRS.option(
            "--coverage-of",
            type=ChoiceType(["both", "query", "target", "shorter"]),
            help="Sequence to which --min-coverage applies: both (CD-HIT -aL, MMseqs2 --cov-mode 0), the query (--cov-mode 2), the target"
            " (--cov-mode 1) or the shorter (CD-HIT -aS). In one file the query is the earlier record.  [both]",
        ),
        Heading.PAIRS.option("--min-score", type=IntegerType(), metavar="S", help="Write only pairs with score S or more."),
        Heading.PAIRS.option(
            "--nearest",
            type=IntegerType(1),
            metavar="K",
            help="Of the pairs that pass, write only the K nearest of each query, by distance or identity if one of them has a threshold,"
            " otherwise by score.",
        ),
    )


def hit_threshold_options() -> tuple[Callable[[F], F], ...]:
    """Return the options that select the hits to write."""
    return (
        Heading.PAIRS.option(
            "--max-hits",
            type=IntegerType(1),
            metavar="K",
            help="Write only the K best hits of each query.  [all that pass; 25 without a threshold]",
        ),
        Heading.PAIRS.option(
            "--max-hsps",
            type=IntegerType(1),
            default=1,
            metavar="N",
            help="Write up to N alignments (HSPs) of each query with each target, best first, for instance one for each domain or copy of a"
            " repeat. No two letters are aligned with each other twice. Without --max-evalue, only the first may have an E-value above 10."
            "  [1]",
        ),
        Heading.PAIRS.option("--max-evalue", type=FiniteNumberType(), metavar="E", help="Write all hits with E-value E or less."),
        Heading.PAIRS.option(
            "--min-identity", type=FiniteNumberType(), metavar="F", help="Write all hits with this identity or more, from 0 to 1."
        ),
        Heading.PAIRS.option("--min-score", type=IntegerType(), metavar="S", help="Write all hits with score S or more."),
        Heading.SCORING.option(
            "--evalue",
            type=ChoiceType(["table", "estimate", "none"], number_option="--max-evalue"),
            help="Where the parameters of E-values come from. table: published for BLAST; estimate: from simulated sequences; none:"
            " E-values and bit scores are nan.  [table if it covers the scoring, else estimate]",
        ),
        Heading.SCORING.option(
            "--evalue-letters",
            type=IntegerType(1),
            metavar="N",
            help="Compute E-values as if DB had N letters, for searches of a part of a database. gpualign assumes that its records are"
            " on average as long as those searched.  [the letters of the records searched]",
        ),
        Heading.SCORING.option(
            "--composition",
            type=ChoiceType(["adjust", "scale", "none"], refused={"on": "adjust is the default", "off": "that is none"}),
            help="Proteins: adjust the scores of hits to the compositions of query and target, as blastp does by default, only scale them,"
            " or leave them as they are.  [adjust for BLAST's matrices; none with --evalue none or --translate both]",
        ),
    )


def target_options(function: F) -> F:
    """Add the options that annotate and select records of a database."""
    ids_type = {"type": PathType(), "metavar": "ID|FILE", "multiple": True}
    return combine_options(
        Heading.PAIRS.option(
            "--targets",
            **ids_type,
            help="Search only this record of DB, or the records listed in a file, one id per line; may be repeated.",
        ),
        Heading.PAIRS.option("--exclude", **ids_type, help="Leave out this record of DB, or those listed in a file; may be repeated."),
        Heading.PAIRS.option(
            "--where",
            metavar="COLUMN=LIST",
            multiple=True,
            help="Search only the records of DB whose COLUMN is one of these comma-separated values, as in taxid=9606,10090. COLUMN is a"
            " column of --annotate, or organism, taxid or gene, read from UniProt's titles. If --where is repeated, all must hold.",
        ),
        Heading.INPUT.option(
            "--annotate",
            type=PathType(),
            metavar="TABLE",
            help="Table about the records of DB, with a line of titles and the ids in the first column. --fields and --where can use its"
            " other columns.",
        ),
    )(function)


def same_options(function: F) -> F:
    """Add the options that select pairs of records that agree in columns of their table."""
    return combine_options(
        Heading.PAIRS.option(
            "--same",
            type=NameListType(),
            default=(),
            metavar="TITLES",
            help="Tables: compare only records with the same value in each of these columns, as in v_call,j_call. Gene calls are compared"
            " by gene, without the allele; a call that names several genes matches if any of them does.",
        ),
        Heading.PAIRS.option("--alleles", is_flag=True, help="With --same: compare alleles, such as TRBV7-2*01, instead of genes."),
    )(function)


def group_options(function: F) -> F:
    """Add the options that select pairs according to record groups."""
    return combine_options(
        Heading.PAIRS.option("--between", is_flag=True, help="Write only pairs of records from different groups."),
        Heading.PAIRS.option("--within", is_flag=True, help="Write only pairs of records from the same group."),
        Heading.PAIRS.option(
            "--groups",
            type=PathType(),
            metavar="TABLE",
            help="With --between or --within: a table with an id and its group on each line.",
        ),
    )(function)
