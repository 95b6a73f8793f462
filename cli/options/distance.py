"""The options of `gpualign dist`: how calls are read, which samples and sites are used, what is written."""

from __future__ import annotations

import click

from gpualign.cli.options import F, stack
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import kernel_option
from gpualign.cli.options.output import condensed_option, file_options, plot_option
from gpualign.cli.options.param_types import FiniteType, WholeType
from gpualign.core.output.formats.registry import Results


def table_options(function: F) -> F:
    """How tables of calls are read."""
    return stack(
        click.option(
            "--type",
            "type_",
            type=ChoiceType(["auto", "calls", "alleles", "centred", "abh"]),
            default="auto",
            show_default=True,
            help="Tables: alleles: numbers or hashes of alleles (MLST, cgMLST, wgMLST), 0 is missing; calls: genotypes 0, 1, 2 or"
            " nucleotides; centred: genotypes -1, 0, 1; abh: genotypes A, H, B of a cross; auto: by what is in all of the cells.",
        ),
        click.option("--ploidy", type=WholeType(1), metavar="P", help="Tables: genotypes are dosages from 0 to P."),
        click.option("--missing-code", metavar="LIST", help="Tables: further cells that are missing calls, with commas between several."),
        click.option(
            "--columns",
            type=PathType(),
            metavar="LIST|FILE",
            help="Tables: read only the columns with these titles: with commas between several, or a file with one per line.  [all but"
            " those with titles of metadata]",
        ),
        click.option(
            "--ignore-columns", type=PathType(), metavar="LIST|FILE", help="Tables: do not read the columns with these titles, likewise."
        ),
        click.option("--transpose", is_flag=True, help="Tables: a row is a SNP, a column a sample."),
        click.option(
            "--no-header",
            is_flag=True,
            help="Tables: the first line is data; sites, or with --transpose samples, are numbered from 1.",
        ),
    )(function)


def sample_options(function: F) -> F:
    """Which samples are compared."""
    return stack(
        click.option(
            "--exclude",
            type=PathType(),
            metavar="ID|FILE",
            multiple=True,
            help="Leave out this sample, or those that a file names, one id per line; may be given several times.",
        ),
        click.option(
            "--min-called",
            metavar="N|F",
            help="Leave out samples with a call at fewer sites; with a point (0.5) at less than this fraction of the sites.",
        ),
    )(function)


def site_options(function: F) -> F:
    """Which sites are used."""
    return stack(
        click.option(
            "--regions",
            type=PathType(),
            metavar="LIST|BED",
            help="Use only sites in these regions: CHR, CHR:POS, CHR:FROM-TO, with commas between several, or a BED file.",
        ),
        click.option("--mask", type=PathType(), metavar="BED", help="Leave out sites in the intervals of this file."),
        click.option("--core", metavar="F", help="Use only sites that have a call in at least this share of the samples (0.95)."),
        click.option("--maf", metavar="F", help="Use only sites whose minor allele has at least this share of the alleles (0.05)."),
        click.option(
            "--nonfounders",
            is_flag=True,
            help="PLINK filesets: allele frequencies of --maf and grm are those of all samples.  [of founders: neither parent is told]",
        ),
    )(function)


def distance_output_options(function: F) -> F:
    """Which distances are written, and where."""
    return stack(
        *file_options(Results.DISTANCES),
        click.option(
            "--max-distance",
            type=FiniteType(),
            metavar="D",
            help="Write only pairs at this distance or less, one row each; no matrix is ever held.",
        ),
        click.option(
            "--clusters",
            type=PathType(),
            metavar="FILE",
            help="With --max-distance: also write the single-linkage clusters of all samples, as `gpualign cluster` does (tsv, csv, uc,"
            " parquet, arrow).",
        ),
        click.option(
            "--min-kinship",
            type=FiniteType(),
            metavar="K",
            help="king, grm: write only pairs of this kinship (grm: relationship) or more, likewise.",
        ),
        condensed_option(),
        click.option(
            "--compared",
            is_flag=True,
            help="Also write the number of compared sites: a column of lists and tables, an array of npz, else a matrix in FILE.compared.*",
        ),
        plot_option,
    )(function)


def distance_kernel_option(function: F) -> F:
    """The kernels of Payne 2010."""
    return kernel_option(["naive", "coalesced", "char", "register", "shared"], "Payne et al. 2010 (hamming)")(function)
