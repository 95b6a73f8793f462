"""`gpualign nw`: global alignment of every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import global_kernel_options, going_on_options, nodes_option, run_options
from gpualign.cli.options.headings import HeadedCommand, Heading
from gpualign.cli.options.input import drop_empty_option, input_options, mask_lower_option, strand_option, strict_option
from gpualign.cli.options.output import output_options
from gpualign.cli.options.scoring import scoring_options
from gpualign.cli.options.thresholds import group_options

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.output.shards import Shard


@click.command(cls=HeadedCommand)
@click.argument("seqs", type=PathType())
@click.argument("seqs2", type=PathType(), required=False)
@strand_option
@input_options
@drop_empty_option
@mask_lower_option
@strict_option
@scoring_options
@Heading.SCORING.option(
    "--end-gaps",
    type=ChoiceType(["penalised", "free", "query", "target"]),
    default="penalised",
    show_default=True,
    help="Free end gaps. free: both ends of both sequences (overlap); query: gaps in the query (query inside target); target: the reverse.",
)
@output_options
@group_options
@Heading.PAIRS.option(
    "--add",
    type=PathType(),
    metavar="OLD",
    help="Incremental run: compare SEQS with each other and with OLD, but not OLD with itself.",
)
@Heading.PAIRS.option("--self", "with_self", is_flag=True, help="One file: also each sequence against itself.")
@run_options
@nodes_option
@going_on_options
@global_kernel_options
@Heading.PAPERS.option(
    "--traceback",
    type=ChoiceType(["device", "host"]),
    default="device",
    show_default=True,
    help="Where paths of alignments on a GPU are traced back; host copies whole matrices back, as Li et al. 2014 did.",
)
def nw(
    seqs: str,
    seqs2: str | None,
    strand: str | None,
    alphabet: str,
    degap: bool,
    allow_duplicates: bool,
    unknown: str | None,
    drop_empty: bool,
    mask_lower: bool,
    strict: bool,
    match: int | None,
    mismatch: int | None,
    gap_open: int | None,
    gap_extend: int | None,
    gap: int | None,
    matrix: str | None,
    edit: bool,
    end_gaps: str,
    output: str,
    format_: str | None,
    fields: str | None,
    identity_def: int,
    ambiguous: str | None,
    min_identity: float | None,
    max_distance: float | None,
    min_coverage: float | None,
    min_score: int | None,
    nearest: int | None,
    value: str | None,
    plot: str | None,
    condensed: bool,
    between: bool,
    within: bool,
    groups: str | None,
    add: str | None,
    with_self: bool,
    device: str,
    threads: int | None,
    memory: int | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
    cluster: str | None,
    resume: bool,
    shard: Shard | None,
    kernel: str,
    transfer: str | None,
    traceback: str,
) -> None:
    """Global alignment (Needleman-Wunsch) of every pair: scores, identities, alignments.

    One file: all of its pairs i < j. Two files: every query of SEQS against every target of SEQS2. Files are FASTA, FASTQ or a plain list
    of peptides, also compressed; - is standard input, @LIST is all files named in a text file, one per line, as one set. A gap of n letters
    costs open + (n-1) * extend. Scores are exact.

    \b
    Examples:
      gpualign nw reads.fasta > scores.tsv
      gpualign nw reads.fasta --fields query,target,identity,cigar --min-identity 0.97 --min-coverage 0.98
      gpualign nw a.fa b.fa --format aln | less              alignments to look at
      gpualign nw genes.fa -o tree.phy                       distance matrix, 1 - identity
      gpualign nw reads.fasta -o scores.npy                  square matrix, ids in scores.ids.txt
      gpualign nw reads.fasta -o scores.parquet              the table, for pandas, polars, DuckDB
      gpualign nw genes.fa -o genes.npz --value identity --plot genes.png     a heat map as well
      gpualign nw --edit --max-distance 30 reads.fasta       only near pairs, by edit distance
      gpualign nw --match 2 --mismatch -1 --gap 1 a.fa b.fa
      zcat reads.fq.gz | gpualign nw --fields query,target,score,qlen,tlen - | sort -k3,3nr | head
    """
    from gpualign.cli.inputs.file_lists import input_files
    from gpualign.jobs.devices.cuda_prestart import EDIT_CELLS, GLOBAL_CELLS, start_for_pairs
    from gpualign.jobs.options import PairThresholds

    sets = [input_files(one) for one in (seqs, add or seqs2) if one is not None]
    queries, others = sets[0].paths, sets[1].paths if len(sets) > 1 else None
    thresholds = PairThresholds(min_score, min_identity, min_coverage, max_distance)
    bounded = thresholds.bound_edits(edit, identity_def, end_gaps != "penalised")
    # Beside the imports that follow.
    start_for_pairs("cpu" if cluster else device, queries, others, EDIT_CELLS if edit else GLOBAL_CELLS, bounded)
    from dataclasses import replace

    from gpualign.cli.inputs.record_groups import read_group_pairs
    from gpualign.cli.options.workers import find_resources
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.alignment.ambiguity import Rule, check_rule
    from gpualign.core.alignment.task import EndGaps
    from gpualign.core.common.errors import InputError
    from gpualign.core.planning.tile_plan import Pairing
    from gpualign.core.results.columns import fields_needing_descriptions
    from gpualign.core.scoring import matrices
    from gpualign.core.scoring.scoring import ScoringOptions
    from gpualign.core.sequences.ids import describe_shared
    from gpualign.core.sequences.strands_frames import BOTH
    from gpualign.jobs.nw import NwOptions, Thresholds, prepare_filtered
    from gpualign.jobs.output.atomic_files import check_stdin, open_inputs
    from gpualign.jobs.output.format_selection import output_paths
    from gpualign.jobs.output.pairs import OutputOptions, output_spec, write_every_pair
    from gpualign.jobs.output.run_summary import counts_of
    from gpualign.jobs.record_groups import check_groups
    from gpualign.jobs.sequence_loading import ReadOptions, add_targets, read_inputs

    messages = ConsoleReporter.of("nw", quiet, verbose, log, summary)
    if add is not None and seqs2 is not None:
        raise InputError("--add takes one file, whose sequences are also compared with each other; leave it out to compare two files")
    files = [path for one in sets for path in one.everything]
    check_stdin(*files, groups)
    check_groups(groups is not None, between, within)
    if with_self and seqs2 is not None:
        raise InputError("--self is for one file; two files are compared record by record anyway")
    if with_self and nearest is not None:
        raise InputError("--nearest chooses among other records; it cannot be combined with --self")
    resources = find_resources(cluster, device, threads, memory, messages, kernel, traceback)
    both = strand == BOTH
    output_options = OutputOptions(
        output,
        format_,
        fields,
        identity_def,
        min_score,
        min_identity,
        max_distance,
        value,
        condensed,
        plot,
        min_coverage,
        nearest,
        resume,
        shard,
        both,
        groups is not None,
    )
    rule = None if ambiguous is None else Rule(ambiguous)
    check_rule(rule, identity_def)
    spec = output_spec(output_options, edit, others is None, with_self, add is not None)
    picture = None
    if plot is not None:
        from gpualign.jobs.plotting.output import check_plot

        picture = check_plot(plot)
    pictures = [picture.path] if picture else []
    messages.begin([*files, matrix, groups], [*output_paths(spec.path, spec.format, others is None, shard), *pictures], resume)

    scoring = ScoringOptions(match, mismatch, gap, gap_open, gap_extend, matrices.load(matrix) if matrix else None, edit)
    inputs = read_inputs(
        (open_inputs(one.paths) for one in sets),
        ReadOptions(alphabet, allow_duplicates, degap, bool(fields_needing_descriptions(fields)), mask_lower, unknown, drop_empty, strict),
        messages,
    )
    if add is not None:
        if shared := describe_shared(inputs.queries.ids, inputs.targets.ids, add):
            messages.note(shared)
        inputs = add_targets(inputs)
    if groups is not None:
        chosen = read_group_pairs(groups, within, inputs.queries.ids, inputs.targets.ids, messages.warn)
        spec = replace(spec, filter=replace(spec.filter, groups=chosen))
    messages.run_summary.record_inputs(counts_of(inputs), resources, alphabet=inputs.alphabet.name, format=spec.format)
    pairing = Pairing.ABOVE_OR_EQUAL if with_self or (spec.is_matrix and not spec.condensed) else Pairing.ABOVE
    if nearest is not None:
        pairing = Pairing.ALL
    options = NwOptions(scoring, EndGaps(end_gaps), spec.detail, pairing, resources, kernel, transfer, traceback == "host", strand, rule)
    job = prepare_filtered(inputs, options, Thresholds(spec.filter, identity_def), messages)
    if job.pairs == 0 and not dry_run:
        messages.note(
            "one sequence makes no pairs (--self aligns it with itself)"
            if groups is None
            else f"no two records are of {'the same group' if within else 'different groups'}"
        )
    drawing = None
    if picture is not None:
        from gpualign.core.common.errors import parameter
        from gpualign.jobs.matrix_memory import DRAWING, check_memory
        from gpualign.jobs.output.atomic_files import naming_output
        from gpualign.jobs.output.pairs import Drawing
        from gpualign.jobs.plotting.heatmap import heatmap_of_alignments
        from gpualign.jobs.plotting.output import write_plot

        def draw(values: npt.NDArray[Any], files: OutputFiles) -> None:
            with naming_output(picture.path):
                write_plot(files.open(picture.path), picture, heatmap_of_alignments(values, job.task, spec.value), messages)

        drawing = Drawing(picture.path, draw)
        check_memory(DRAWING, f"{parameter('plot')} {picture.path}", len(job.task.queries), len(job.task.targets))
    write_every_pair(spec, job, inputs.count, dry_run, messages, resources.host_threads, drawing)
