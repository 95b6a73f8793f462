"""`gpualign cluster`: clusters of similar records."""

from __future__ import annotations

from functools import partial

import click

from gpualign.cli.options.clustering import cluster_options
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import run_options
from gpualign.cli.options.headings import HeadedCommand
from gpualign.cli.options.input import drop_empty_option, input_options, strict_option
from gpualign.cli.options.output import cluster_output_options
from gpualign.cli.options.scoring import scoring_options


@click.command(cls=HeadedCommand)
@click.argument("seqs", type=PathType(), required=False)
@scoring_options
@cluster_options
@input_options
@drop_empty_option
@strict_option
@cluster_output_options
@partial(run_options, resumable=False)
def cluster(
    seqs: str | None,
    match: int | None,
    mismatch: int | None,
    gap_open: int | None,
    gap_extend: int | None,
    gap: int | None,
    matrix: str | None,
    edit: bool,
    edges: str | None,
    ids: str | None,
    distances: str | None,
    min_identity: float | None,
    max_distance: float | None,
    min_coverage: float | None,
    strand: str | None,
    identity_def: int,
    ambiguous: str | None,
    method: str,
    order: str | None,
    alphabet: str,
    degap: bool,
    allow_duplicates: bool,
    unknown: str | None,
    drop_empty: bool,
    strict: bool,
    output: str,
    format_: str | None,
    uc: str | None,
    representatives: str | None,
    device: str,
    threads: int | None,
    memory: int | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
) -> None:
    """Cluster similar records: single, complete or average linkage, or greedy centroids.

    SEQS is FASTA or FASTQ, plain or compressed, or @LIST: all files named in a text file, one per line. Every pair is judged by its global
    alignment, and no filter loses any. With --edges or --distances nothing is aligned: the pairs are read from the file, and SEQS or --ids,
    if given, must list all records. A pair is near if it passes --min-identity or --max-distance. - is standard input.

    Clusters are numbered in the order of their first records. The representative of a greedy cluster is its centroid; with a linkage it is
    the record with the most near records in its cluster; on a tie the one nearest to these, then the first.

    \b
    Examples:
      gpualign cluster genes.fa --min-identity 0.97 --min-coverage 0.98 > clusters.tsv
      gpualign cluster genes.fa --min-identity 0.97 --method greedy --representatives otus.fa -o otus.uc
      gpualign cluster reads.fa --edit --max-distance 3 --method greedy --order size
      gpualign dist core.aln --max-distance 12 | gpualign cluster --edges - --max-distance 12
      gpualign cluster --distances snps.npy --max-distance 12 --method average
    """
    from gpualign.cli.inputs.file_lists import InputFiles, input_files
    from gpualign.jobs.devices.cuda_prestart import EDIT_CELLS, GLOBAL_CELLS, start_for_pairs
    from gpualign.jobs.options import PairThresholds

    read = InputFiles(()) if seqs is None else input_files(seqs)
    if edges is None and distances is None:
        thresholds = PairThresholds(None, min_identity, min_coverage, max_distance)
        bounded = thresholds.bound_edits(edit, identity_def, free_ends=False)
        start_for_pairs(device, read.paths, None, EDIT_CELLS if edit else GLOBAL_CELLS, bounded)  # beside the imports that follow
    from gpualign.cli.inputs.precomputed_distances import in_order_of, read_precomputed
    from gpualign.cli.inputs.record_groups import read_ids
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.alignment.ambiguity import Rule
    from gpualign.core.common.errors import InputError
    from gpualign.core.scoring import matrices
    from gpualign.core.scoring.scoring import ScoringOptions
    from gpualign.jobs.cluster import ClusterOptions, prepare, prepare_precomputed
    from gpualign.jobs.devices.memory import default_memory
    from gpualign.jobs.devices.resources import checked_resources
    from gpualign.jobs.member_alignments import align_members
    from gpualign.jobs.output.atomic_files import OutputFiles, check_stdin, open_inputs
    from gpualign.jobs.output.clusters import Clustered, cluster_spec, expected_clusters, opened_outputs
    from gpualign.jobs.output.run_summary import counts_of
    from gpualign.jobs.sequence_loading import ReadOptions, read_inputs

    messages = ConsoleReporter.of("cluster", quiet, verbose, log, summary)
    if edges is not None and distances is not None:
        raise InputError("--edges and --distances both name the distances; give only one of them")
    if ids is not None and (edges is None or seqs is not None):
        raise InputError("--ids is for the pairs of --edges" + ("; SEQS already lists their records" if edges else ""))
    known = edges or distances
    if seqs is None and known is None:
        raise InputError("nothing to cluster: give a file of sequences, --edges or --distances")
    costs = {
        "match": match,
        "mismatch": mismatch,
        "gap": gap,
        "gap-open": gap_open,
        "gap-extend": gap_extend,
        "matrix": matrix,
        "strand": strand,
        "ambiguous": ambiguous,
    }
    if known is not None and (set_costs := [name for name, one in costs.items() if one is not None]):
        raise InputError(f"--{set_costs[0]} applies to alignments; with {'--edges' if edges else '--distances'} nothing is aligned")
    check_stdin(*read.everything, edges, distances, ids)
    spec = cluster_spec(output, format_, uc, representatives, seqs is not None)
    messages.begin([*read.everything, edges, ids, distances, matrix], spec.outputs)
    scoring = ScoringOptions(match, mismatch, gap, gap_open, gap_extend, matrices.load(matrix) if matrix else None, edit)
    resources = checked_resources(device, threads, memory, messages)
    rule = None if ambiguous is None else Rule(ambiguous)
    options = ClusterOptions(max_distance, min_identity, method, order, scoring, identity_def, resources, min_coverage, strand, rule)
    options.check(aligned=known is None)
    if distances is not None:
        from gpualign.cli.inputs.matrix_sizes import check_size
        from gpualign.jobs.matrix_memory import CLUSTERING

        check_size(distances, CLUSTERING)

    reading = ReadOptions(alphabet, allow_duplicates, degap, spec.with_sequences, unknown=unknown, drop_empty=drop_empty, strict=strict)
    inputs = read_inputs([open_inputs(read.paths)], reading, messages) if read.paths else None
    counts = {} if inputs is None else counts_of(inputs)
    if known is None:
        assert inputs is not None
        messages.run_summary.record_inputs(counts, resources, format=spec.format)
        job, alignments = prepare(inputs, options, messages)
        records, of_identities = inputs.queries.ids, not (edit and max_distance is not None)
    else:
        known_ids = inputs.queries.ids if inputs else None if ids is None else list(read_ids(ids))
        precomputed, of_identities = read_precomputed(
            edges, distances, edit, min_identity is not None, known_ids, messages.warn, resources.memory or default_memory()
        )
        messages.run_summary.record_inputs(counts, resources, format=spec.format)
        if edges is not None and known_ids is None:
            count = f"{len(precomputed.ids):,} record{'s'[: len(precomputed.ids) != 1]}"
            messages.note(
                f"{edges} names {count}; a record that is in no pair is in no cluster: --ids FILE names all records, or give the sequences"
            )
        inputs, alignments, records = in_order_of(precomputed, inputs), None, list(precomputed.ids)
        job = prepare_precomputed(precomputed, of_identities, inputs.queries.lengths if inputs else None, options, messages)
    if dry_run:
        messages.plan([*job.describe(), ("output", expected_clusters(spec, records, inputs, of_identities))])
        return
    engine = None if alignments is None else (alignments.job.hardware, alignments.job.prepared.kernel)
    with OutputFiles(messages.note) as files:
        with opened_outputs(spec, files) as write:
            with messages.progress(job.work, spec.path, job.unit) as progress:
                clustering, near = job.run(progress)
                members = None
                if alignments is not None and spec.with_uc:
                    members = align_members(alignments.task, alignments.duplicates, clustering, identity_def, memory)
            write(Clustered(records, clustering, inputs, members, of_identities))
        pairs = {}
        if alignments is not None:
            messages.run_summary.resolve(alphabet=alignments.task.alphabet.name, scoring=alignments.task.scoring.name)
            pairs["pairs"] = alignments.pairs
        messages.run_summary.write(files, engine, {"sequences": len(records), **pairs, "near_pairs": near, **clustering.figures})
    messages.cluster_summary(clustering.sizes.tolist(), near, engine and engine[0])
