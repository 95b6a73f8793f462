"""Options that several commands share, as decorators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gpualign.cli.completion import DeviceType, ListType, MatrixType, PathType
from gpualign.cli.sizes import WEIGHTS, FiniteType, ShardType, SizeType, WholeType
from gpualign.cli.typos import ChoiceType
from gpualign.core.output.formats.registry import Results, formats_of

F = TypeVar("F", bound=Callable[..., Any])


def stack(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Decorator that adds these options to a command, in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


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


def _scoring_options(gaps: str, extend: str) -> tuple[Callable[[F], F], ...]:
    return (
        click.option(
            "--match", type=WEIGHTS, metavar="S", help="Score of equal letters. With it, all other pairs score --mismatch.  [DNA: 5]"
        ),
        click.option("--mismatch", type=WEIGHTS, metavar="S", help="Score of unequal letters (negative).  [DNA: -4]"),
        click.option("--gap-open", type=WEIGHTS, metavar="C", help=f"Cost of a gap's first letter.  [{gaps}]"),
        click.option("--gap-extend", type=WEIGHTS, metavar="C", help=f"Cost of each further letter.  [{extend}]"),
        click.option("--gap", type=WEIGHTS, metavar="C", help="Linear gaps: every letter costs C."),
        click.option(
            "--matrix",
            type=MatrixType(),
            metavar="NAME|FILE",
            help="Substitution matrix: a name such as BLOSUM80, or an NCBI-format file.  [NUC.4.4, BLOSUM62]",
        ),
    )


def scoring_options(function: F) -> F:
    """What a global alignment is worth."""
    edit = click.option("--edit", is_flag=True, help="Unit-cost edit distance (smaller is closer) instead of a score.")
    return stack(*_scoring_options("DNA: 10, protein: 11", "1"), edit)(function)


def local_scoring_options(function: F) -> F:
    """What a local alignment is worth."""
    return stack(*_scoring_options("DNA: 16, protein: 12", "DNA: 6, protein: 1"))(function)


def _identity_option() -> Callable[[F], F]:
    return click.option(
        "--identity-def",
        type=click.IntRange(0, 4),
        default=2,
        show_default=True,
        metavar="0..4",
        help="Equal letters as a fraction of 0: the shorter sequence, 1: all columns, 2: columns without gaps at the ends; 3: 1 -"
        " (mismatches + gaps) / the longer sequence; 4: as 1, BLAST's. The numbers are those of vsearch --iddef.",
    )


def _ambiguous_option() -> Callable[[F], F]:
    return click.option(
        "--ambiguous",
        type=ChoiceType(["unequal", "compatible", "skip"]),
        help="Ambiguity letters in identities: unequal: a match with the same letter alone; compatible: with letters that may stand for the"
        " same, as vsearch counts; skip: columns with one do not count.  [DNA: compatible, protein: unequal]",
    )


def file_options(*results: Results) -> tuple[Callable[[F], F], ...]:
    """Where the output goes, and in which of the formats for these results."""
    formats = list(dict.fromkeys(name for kind in results for name in formats_of(kind)))
    return (
        click.option(
            "-o",
            "--output",
            type=PathType(),
            default="-",
            metavar="FILE",
            help="Write to FILE; its suffix sets the format (text also .gz).  [standard output]",
        ),
        click.option(
            "--format",
            "format_",
            type=ChoiceType(formats),
            help=f"Output format, whatever the suffix{'; csr stores value + 1' if 'csr' in formats else ''}.  [tsv]",
        ),
    )


_FIELDS = (
    "query,target,score,distance, qlen,tlen, identity,matches,mismatches, length,gap_opens,gaps, qstart,qend,tstart,tend,"
    " qcov,tcov,coverage, cigar,cigar_m, qaln,taln, strand,qtitle,ttitle"
)


def condensed_option() -> Callable[[F], F]:
    """Matrices of one set as vectors."""
    return click.option("--condensed", is_flag=True, help="With .npy and .npz: only pairs i < j, in a vector, as scipy takes it.")


def hit_options(function: F) -> F:
    """Which hits of a search are written, and where."""
    return stack(
        *file_options(Results.HITS, Results.SCORES),
        click.option(
            "--fields",
            type=ListType(f"bits,evalue,qframe,tframe,{_FIELDS}"),
            metavar="LIST",
            help=f"Columns of tables: bits,evalue,qframe,tframe, {_FIELDS}."
            "  [query,target,score,bits,evalue,strand,identity,length,qstart,qend,tstart,tend,qcov,tcov; with --translate qframe,tframe"
            " instead of strand]",
        ),
        _identity_option(),
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
    )(function)


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


def strand_option(function: F) -> F:
    """By which strands records are compared."""
    return click.option(
        "--strand",
        type=ChoiceType(["both", "plus"]),
        help="DNA: both: each pair by its better strand, the query as it is or its reverse complement.  [plus]",
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


def output_options(function: F) -> F:
    """What is written, and where."""
    return stack(
        *file_options(Results.PAIRS),
        click.option(
            "--fields",
            type=ListType(_FIELDS),
            metavar="LIST",
            help=f"Columns of tables: {_FIELDS}.  [query,target,score, with --edit distance, with --strand both strand; and"
            " what --min-identity, --min-coverage and --max-distance look at]",
        ),
        _identity_option(),
        _ambiguous_option(),
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
        click.option(
            "--value",
            type=ChoiceType(["score", "identity", "distance"]),
            help="Write a matrix of these values (csr: of the pairs that pass); distance is 1 - identity, with --edit the edit distance."
            "  [of matrices: score; with phylip and --edit: distance]",
        ),
        condensed_option(),
    )(function)


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
        _identity_option(),
        _ambiguous_option(),
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


def cluster_output_options(function: F) -> F:
    """Which files of clusters are written."""
    return stack(
        *file_options(Results.CLUSTERS),
        click.option("--uc", type=PathType(), metavar="FILE", help="Also write the clusters as .uc, the format of usearch and vsearch."),
        click.option("--representatives", type=PathType(), metavar="FILE", help="Also write the representative of each cluster as FASTA."),
    )(function)


def plot_option(function: F) -> F:
    """A picture of the matrix."""
    return click.option(
        "--plot",
        type=PathType(),
        metavar="FILE",
        help="Also draw the matrix as a clustered heat map: .png, .svg or .pdf (needs gpualign[plot]).",
    )(function)


def kernel_option(names: Sequence[str], paper: str) -> Callable[[F], F]:
    """Which kernel computes: the choice of this program, or one of a paper."""
    return click.option(
        "--kernel",
        type=ChoiceType(["auto", *names]),
        default="auto",
        show_default=True,
        help=f"auto: the fastest one. The others are those of {paper}, for a GPU, kept to learn from and to measure.",
    )


def global_kernel_options(function: F) -> F:
    """The kernels of Li 2014."""
    return stack(
        kernel_option(["rodinia", "tiled-dscan", "dscan", "rscan", "li-auto"], "Li et al. 2014 (linear gaps)"),
        click.option(
            "--transfer",
            type=ChoiceType(["pageable", "pinned", "double"]),
            help="How Li's matrices are copied back: pageable memory, page-locked memory, or that with two batches at a time.  [double]",
        ),
    )(function)


def local_kernel_option(function: F) -> F:
    """The kernels of Munekawa 2008."""
    return kernel_option(["munekawa-scalar", "munekawa-vector"], "Munekawa et al. 2008")(function)


def going_on_options(function: F) -> F:
    """A job in several runs."""
    return stack(
        click.option(
            "--resume", is_flag=True, help="Go on with the output of the same command that was interrupted; if there is none, start."
        ),
        click.option(
            "--shard",
            type=ShardType(),
            metavar="K/N",
            help="Do the K-th of N shares of equal work, into FILE.K-of-N.part; `gpualign merge` joins them.",
        ),
    )(function)


def nodes_option(function: F) -> F:
    """Who computes."""
    return click.option(
        "--cluster",
        metavar="NAME",
        help="Compute on other machines: tls://HOST:PORT or dask://HOST:PORT, a Dask scheduler; dask:N, N processes of this machine; mpi,"
        " under mpirun. --device, --threads and --memory then apply to each worker's machine.  [this process]",
    )(function)


def log_option(function: F) -> F:
    """What is said, in a file."""
    return _log_option("")(function)


def _log_option(more: str) -> Callable[[F], F]:
    return click.option(
        "--log", type=PathType(), metavar="FILE", help=f"Also write the messages to this file, with times, even with -q{more}."
    )


def run_options(function: F, resumable: bool = True) -> F:
    """How the work is done. resumable: the command has --resume."""
    return stack(
        click.option(
            "--device",
            type=DeviceType(),
            default="auto",
            show_default=True,
            metavar="NAME",
            help="auto (the first GPU, or the CPU if it is faster or there is no GPU), cpu, cuda, cuda:0,1, cuda:all, all (every GPU "
            "and the CPU), or a list such as cpu,cuda:0.",
        ),
        click.option("--threads", type=click.IntRange(min=1), metavar="N", help="CPU threads.  [the CPUs this process may use]"),
        click.option(
            "--memory", type=SizeType(), metavar="SIZE", help="Memory budget, for instance 500M.  [2G, at most half of the memory there is]"
        ),
        click.option(
            "--dry-run", is_flag=True, help="Print the plan, its memory and a time estimate, where there can be one; compute nothing."
        ),
        _log_option("; --resume appends to it" if resumable else ""),
        click.option(
            "--summary",
            type=PathType(),
            metavar="FILE",
            help="Also write what the run read, did and wrote to this file, as JSON; NAME_mqc.json is a section for MultiQC.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="No notes and no progress on stderr."),
        click.option("-v", "--verbose", is_flag=True, help="Also report which kernel runs and how the work is cut."),
    )(function)
