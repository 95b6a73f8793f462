"""Options of `gpualign dist`: call parsing, sample and site selection, and output."""

from __future__ import annotations

from gpualign.cli.options import F, combine_options
from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import kernel_option
from gpualign.cli.options.headings import Heading
from gpualign.cli.options.output import condensed_option, file_options, plot_option
from gpualign.cli.options.param_types import FiniteNumberType, IntegerType
from gpualign.core.output.formats.registry import ResultKind


def table_options(function: F) -> F:
    """Add the options for reading call tables."""
    return combine_options(
        Heading.INPUT.option(
            "--type",
            "type_",
            type=ChoiceType(["auto", "calls", "alleles", "centred", "abh"]),
            default="auto",
            show_default=True,
            help="What the cells of tables hold. alleles: numbers or hashes of alleles (MLST, cgMLST, wgMLST), 0 is missing; calls:"
            " genotypes 0, 1, 2 or nucleotides; centred: genotypes -1, 0, 1; abh: genotypes A, H, B of a cross; auto: inferred from all"
            " cells.",
        ),
        Heading.INPUT.option("--ploidy", type=IntegerType(1), metavar="P", help="Tables: genotypes are dosages from 0 to P."),
        Heading.INPUT.option("--missing-code", metavar="LIST", help="Tables: further values that mean a missing call, comma-separated."),
        Heading.INPUT.option(
            "--columns",
            type=PathType(),
            metavar="LIST|FILE",
            help="Tables: read only the columns with these titles, comma-separated or in a file, one per line.  [all except columns"
            " titled as metadata]",
        ),
        Heading.INPUT.option(
            "--ignore-columns",
            type=PathType(),
            metavar="LIST|FILE",
            help="Tables: skip the columns with these titles, given as for --columns.",
        ),
        Heading.INPUT.option("--transpose", is_flag=True, help="Tables: rows are SNPs, columns are samples."),
        Heading.INPUT.option(
            "--no-header",
            is_flag=True,
            help="Tables: the first line is data; sites (with --transpose: samples) are numbered from 1.",
        ),
    )(function)


def sample_options(function: F) -> F:
    """Add the options for selecting samples."""
    return combine_options(
        Heading.SAMPLES_AND_SITES.option(
            "--exclude",
            type=PathType(),
            metavar="ID|FILE",
            multiple=True,
            help="Leave out this sample, or the samples listed in a file, one id per line; may be repeated.",
        ),
        Heading.SAMPLES_AND_SITES.option(
            "--min-called",
            metavar="N|F",
            help="Leave out samples with calls at fewer than N sites; a number with a decimal point (0.5) is a fraction of the sites.",
        ),
    )(function)


def site_options(function: F) -> F:
    """Add the options for selecting sites."""
    return combine_options(
        Heading.SAMPLES_AND_SITES.option(
            "--regions",
            type=PathType(),
            metavar="LIST|BED",
            help="Use only sites in these regions: CHR, CHR:POS or CHR:FROM-TO, comma-separated, or a BED file.",
        ),
        Heading.SAMPLES_AND_SITES.option(
            "--mask", type=PathType(), metavar="BED", help="Leave out sites in the intervals of this BED file."
        ),
        Heading.SAMPLES_AND_SITES.option(
            "--core", metavar="F", help="Use only sites called in at least this fraction of the samples, for instance 0.95."
        ),
        Heading.SAMPLES_AND_SITES.option(
            "--maf", metavar="F", help="Use only sites with at least this minor allele frequency, for instance 0.05."
        ),
        Heading.SAMPLES_AND_SITES.option(
            "--nonfounders",
            is_flag=True,
            help="PLINK filesets: compute the allele frequencies for --maf and grm from all samples.  [from founders only: samples"
            " whose parents are both 0 in .fam or .psam]",
        ),
    )(function)


def distance_output_options(function: F) -> F:
    """Add the options for distance output."""
    return combine_options(
        *file_options(ResultKind.DISTANCES),
        Heading.PAIRS.option(
            "--max-distance",
            type=FiniteNumberType(),
            metavar="D",
            help="Write only pairs at this distance or less, one row each; no matrix is held in memory.",
        ),
        Heading.OUTPUT.option(
            "--clusters",
            type=PathType(),
            metavar="FILE",
            help="With --max-distance: also write the single-linkage clusters of all samples, in the format of FILE's suffix: .tsv, .csv,"
            " .uc, .parquet or .arrow.",
        ),
        Heading.PAIRS.option(
            "--min-kinship",
            type=FiniteNumberType(),
            metavar="K",
            help="With king or grm: write only pairs with at least this kinship (grm: relationship), one row each.",
        ),
        plot_option,
        Heading.OUTPUT.option(
            "--compared",
            is_flag=True,
            help="Also write the number of compared sites: as a column (lists, tables), an array (npz), or a second matrix named"
            " NAME.compared.SUFFIX.",
        ),
        condensed_option(),
    )(function)


def distance_kernel_option(function: F) -> F:
    """Add --kernel, which offers the kernels of Payne et al. (2010)."""
    return kernel_option(["naive", "coalesced", "char", "register", "shared"], "Payne et al. 2010 (hamming)")(function)
