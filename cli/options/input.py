"""Input options: strands, alphabet, ids, gaps, unusual letters and masking."""

from __future__ import annotations

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.param_types import NameListType


def strand_option(function: F) -> F:
    """Add --strand."""
    return Heading.INPUT.option(
        "--strand",
        type=ChoiceType(["both", "plus"]),
        help="DNA: with both, also compare the reverse complement of one of the two sequences and keep the better strand.  [plus]",
    )(function)


def input_options(function: F) -> F:
    """Add the options for alphabet, gaps, repeated ids and unknown letters."""
    return combine_options(
        Heading.INPUT.option(
            "--alphabet",
            type=ChoiceType(["auto", "dna", "protein"]),
            default="auto",
            show_default=True,
            help="auto: DNA if every letter is an IUPAC nucleotide code and at least 80 % are A, C, G, T, U or N; otherwise protein.",
        ),
        Heading.INPUT.option("--degap", is_flag=True, help="Remove the gaps (- and .) of aligned sequences instead of refusing them."),
        Heading.INPUT.option("--allow-duplicates", is_flag=True, help="Number repeated ids (id, id_2, ...) instead of refusing them."),
        Heading.INPUT.option(
            "--unknown",
            type=ChoiceType(["n", "x"]),
            help="Read . and ? and letters outside the alphabet as N (n: DNA) or X (x: protein) instead of refusing them.",
        ),
    )(function)


def locus_options(function: F) -> F:
    """Add the options that select rows of tables of receptors by their locus."""
    return combine_options(
        Heading.INPUT.option(
            "--locus",
            type=NameListType(upper=True),
            default=(),
            metavar="LOCI",
            help="Tables: read only the rows of this locus, such as TRB, or of several, such as IGK,IGL. The locus of a row is in the"
            " column locus, or else follows from its gene calls.",
        ),
        Heading.INPUT.option(
            "--and",
            "and_locus",
            type=NameListType(upper=True),
            default=(),
            metavar="LOCI",
            help="With --locus: compare cells by their chains of two loci, as in --locus TRB --and TRA. Two cells are near if they are"
            " near at both loci; if a cell has several chains of a locus, the nearest counts. The column cell_id names the cells.",
        ),
    )(function)


def table_options(function: F) -> F:
    """Add the options that name columns of tables of records."""
    return combine_options(
        Heading.INPUT.option(
            "--sequence-column",
            metavar="TITLE",
            help="Tables: column with the sequences.  [AIRR tables: junction_aa, else cdr3_aa, junction or cdr3]",
        ),
        Heading.INPUT.option("--id-column", metavar="TITLE", help="Tables: column with the ids.  [sequence_id]"),
    )(function)


def drop_empty_option(function: F) -> F:
    """Add --drop-empty, for records without letters, such as reads left empty by trimming."""
    return Heading.INPUT.option("--drop-empty", is_flag=True, help="Leave out records without letters instead of refusing them.")(function)


def mask_lower_option(function: F) -> F:
    """Add --mask-lower, for letters masked in the input files."""
    return Heading.INPUT.option(
        "--mask-lower", is_flag=True, help="Read lower-case letters as N (proteins: X), for example soft-masked repeats of genomes."
    )(function)


def strict_option(function: F) -> F:
    """Add --strict, which refuses truncated files."""
    return Heading.INPUT.option(
        "--strict",
        is_flag=True,
        help="Refuse input whose last line does not end in a newline, because it may be truncated. Without this option, input from a pipe"
        " gets a note.",
    )(function)


def mask_options(function: F) -> F:
    """Add --mask and --mask-target, which mask low-complexity regions of the queries and of the targets."""
    methods = ["seg", "dust", "none"]
    return combine_options(
        Heading.INPUT.option(
            "--mask",
            type=ChoiceType(methods),
            help="Mask low-complexity parts of the queries: proteins by SEG, DNA by DUST.  [DNA: dust; proteins: none, but seg with"
            " --translate or --composition none; with --evalue none or --all: none]",
        ),
        Heading.INPUT.option("--mask-target", type=ChoiceType(methods), help="Mask low-complexity parts of the targets.  [none]"),
    )(function)
