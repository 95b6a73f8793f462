"""`gpualign nw`: global alignment of every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import executor_option, global_kernel_options, long_run_options, run_options
from gpualign.cli.options.headings import CommandWithHeadings, Heading
from gpualign.cli.options.input import (
    drop_empty_option,
    input_options,
    locus_options,
    mask_lower_option,
    strand_option,
    strict_option,
    table_options,
)
from gpualign.cli.options.output import output_options
from gpualign.cli.options.scoring import are_distances, scoring_options
from gpualign.cli.options.thresholds import group_options, same_options

if TYPE_CHECKING:
    from gpualign.jobs.job import PairJob


@click.command(cls=CommandWithHeadings, short_help="Global alignment of every pair.")
@click.argument("seqs", type=PathType())
@click.argument("seqs2", type=PathType(), required=False)
@strand_option
@input_options
@table_options
@locus_options
@drop_empty_option
@mask_lower_option
@strict_option
@scoring_options
@Heading.SCORING.option(
    "--end-gaps",
    type=ChoiceType(["penalised", "free", "query", "target"]),
    default="penalised",
    show_default=True,
    help="Which gaps at the ends are free. penalised: none; free: all (the sequences may overlap); query: those in the query (the query"
    " lies inside the target); target: those in the target (the target lies inside the query).",
)
@output_options
@same_options
@group_options
@Heading.PAIRS.option(
    "--add",
    type=PathType(),
    metavar="OLD",
    help="Incremental run: compare the records of SEQS with each other and with those of OLD, but not those of OLD with each other.",
)
@Heading.PAIRS.option("--self", "with_self", is_flag=True, help="One file: also each sequence against itself.")
@run_options
@executor_option
@long_run_options
@global_kernel_options
@Heading.PAPERS.option(
    "--traceback",
    type=ChoiceType(["device", "host"]),
    default="device",
    show_default=True,
    help="Where a GPU's alignments are traced back: on the device, or on the host, which copies whole matrices back, as Li et al. 2013"
    " did.",
)
def nw(
    seqs: str,
    seqs2: str | None,
    matrix: str | None,
    v_genes: str | None,
    add: str | None,
    groups: str | None,
    cluster: str | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
    **params: Any,
) -> None:
    """Align every pair globally (Needleman-Wunsch) and write scores, identities or alignments.

    With one file, each record is aligned with every other, each pair once. With two files, each query of SEQS is aligned with each target
    of SEQS2. Scores are exact. A gap of n letters costs open + (n-1) * extend.

    SEQS and SEQS2 are FASTA, FASTQ, a plain list of peptides (one per line) or a table of immune receptors (AIRR). Files may be compressed;
    - is standard input; @LIST is all files named in LIST, one per line, read as one set.

    Below, a pair is near if it passes --max-distance or --min-identity.

    \b
    Examples:
      gpualign nw reads.fasta > scores.tsv                   the score of every pair
      gpualign nw reads.fasta --fields query,target,identity,cigar --min-identity 0.97 --min-coverage 0.98
      gpualign nw a.fa b.fa --format aln | less              alignments to look at
      gpualign nw genes.fa -o genes.phy                      distance matrix, 1 - identity
      gpualign nw reads.fasta -o scores.npy                  square matrix, ids in scores.ids.txt
      gpualign nw reads.fasta -o scores.parquet              the table, for pandas, polars, DuckDB
      gpualign nw genes.fa -o genes.npz --value identity --plot genes.png     a heat map as well
      gpualign nw --edit --max-distance 30 reads.fasta       only near pairs, by edit distance
      gpualign nw airr.tsv --hamming --max-distance 1 --same v_call,j_call      neighbours of immune receptors
      gpualign nw --match 2 --mismatch -1 --gap 1 a.fa b.fa
      zcat reads.fq.gz | gpualign nw --fields query,target,score,qlen,tlen - | sort -k3,3nr | head
    """
    from gpualign.cli.inputs.file_lists import input_files
    from gpualign.cli.options.params import build_options
    from gpualign.core.scoring.listed_distances import may_use_device
    from gpualign.jobs.devices.cuda_prestart import EDIT_CELLS_PER_SECOND, GLOBAL_CELLS_PER_SECOND, prestart_for_pairs
    from gpualign.jobs.options import PairThresholds, check_same_columns

    sets = [input_files(one) for one in (seqs, add or seqs2) if one is not None]
    queries, others = sets[0].paths, sets[1].paths if len(sets) > 1 else None
    params["edit"] = edit = are_distances(params)
    free_ends = params["end_gaps"] != "penalised"
    bounded = build_options(PairThresholds, params).bounds_edits(edit, params["identity_def"], free_ends)
    device = "cpu" if cluster or not may_use_device(params) else params["device"]
    # Beside the imports that follow.
    prestart_for_pairs(device, queries, others, EDIT_CELLS_PER_SECOND if edit else GLOBAL_CELLS_PER_SECOND, bounded)
    from dataclasses import replace

    from gpualign.cli.inputs.file_lists import check_stdin
    from gpualign.cli.inputs.record_groups import read_group_pairs
    from gpualign.cli.options.workers import resolve_resources
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.results.columns import description_fields
    from gpualign.core.scoring import matrices
    from gpualign.core.sequences.ids import describe_shared_ids
    from gpualign.jobs.nw import NwOptions, prepare_filtered
    from gpualign.jobs.output.pairs import output_spec, write_every_pair
    from gpualign.jobs.output.run_summary import input_counts_of
    from gpualign.jobs.record_groups import check_groups
    from gpualign.jobs.sequence_loading import add_targets, read_inputs
    from gpualign.jobs.v_gene_tables import load_v_genes

    reporter = ConsoleReporter.from_options("nw", quiet, verbose, log, summary)
    if add is not None and seqs2 is not None:
        raise InputError("--add takes one file, whose sequences are also compared with each other; leave it out to compare two files")
    described = bool(description_fields(params["fields"]))
    loaded = {"matrix": matrices.load_matrix(matrix) if matrix else None, "v_genes": load_v_genes(v_genes) if v_genes else None}
    options = build_options(NwOptions, params, **loaded, reads_v_calls=v_genes is not None, keep_descriptions=described)
    files = [path for one in sets for path in one.all_paths]
    check_stdin(*files, groups, v_genes)
    check_groups(groups is not None, options.between, options.within)
    same, joined = options.read_options.columns.same, bool(options.read_options.columns.and_locus)
    check_same_columns(same, options.alleles, groups is not None)
    resources = resolve_resources(cluster, options.resources, reporter, options.kernel, options.traceback)
    options = replace(options, resources=resources)
    spec = output_spec(options, others is None, add is not None)
    reporter.begin([*files, matrix, v_genes, groups], spec.outputs(others is None), spec.options.resume)

    inputs = read_inputs([one.paths for one in sets], options.read_options, reporter, threads=resources.host_threads)
    if add is not None:
        if shared := describe_shared_ids(inputs.queries.ids, inputs.targets.ids, add):
            reporter.note(shared)
        inputs = add_targets(inputs)
    if groups is not None:
        chosen = read_group_pairs(groups, options.within, inputs.queries.ids, inputs.targets.ids, reporter.warn)
        spec = replace(spec, filter=replace(spec.filter, groups=chosen))
    elif same and not joined:
        from gpualign.jobs.shared_annotations import shared_annotation_pairs

        chosen = shared_annotation_pairs(inputs.queries, inputs.targets, same, options.alleles, reporter)
        spec = replace(spec, filter=replace(spec.filter, groups=chosen))
    reporter.run_summary.record_inputs(input_counts_of(inputs), resources, alphabet=inputs.alphabet.name, format=spec.format)
    job: PairJob
    if joined:
        from gpualign.jobs.paired_chains import prepare as prepare_cells

        job, _ = prepare_cells(inputs, options, spec.filter, spec.pairing, reporter)
        spec = replace(spec, filter=job.filter)
    else:
        job = prepare_filtered(inputs, options, spec.filter, spec.detail, spec.pairing, reporter, spec.comparing_format)
    if job.pair_count == 0 and not dry_run:
        reporter.note(
            "one cell makes no pairs"
            if joined
            else "one sequence makes no pairs (--self aligns it with itself)"
            if inputs.record_count == 1
            else f"no two records agree in {' and '.join(same)}"
            if same
            else f"no two records are of {'the same group' if options.within else 'different groups'}"
        )
    write_every_pair(spec, job, inputs.record_count, dry_run, reporter, resources.host_threads)
