"""`gpualign cluster`: clusters of similar records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gpualign.cli.options.clustering import bound_by_levels, check_sources, cluster_options
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import run_options
from gpualign.cli.options.headings import CommandWithHeadings
from gpualign.cli.options.input import drop_empty_option, input_options, locus_options, strict_option, table_options
from gpualign.cli.options.output import cluster_output_options
from gpualign.cli.options.scoring import are_distances, scoring_options
from gpualign.cli.options.thresholds import same_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpualign.jobs.cluster import ClusterOptions


@click.command(cls=CommandWithHeadings, short_help="Cluster records, or check clusters of other programs.")
@click.argument("seqs", type=PathType(), required=False)
@scoring_options
@cluster_options
@same_options
@input_options
@table_options
@locus_options
@drop_empty_option
@strict_option
@cluster_output_options
@partial(run_options, resumable=False)
def cluster(
    seqs: str | None,
    edges: str | None,
    ids: str | None,
    distances: str | None,
    matrix: str | None,
    v_genes: str | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
    **params: Any,
) -> None:
    """Cluster similar records by single, complete or average linkage, or around greedy centroids.

    A pair of records is near if it passes --min-identity or --max-distance, by its exact global alignment; no near pair is missed.

    SEQS is FASTA, FASTQ, a plain list of peptides (one per line) or a table of immune receptors (AIRR). Files may be compressed; - is
    standard input; @LIST is all files named in LIST, one per line. With --edges or --distances nothing is aligned: the pairs are read
    from that file. SEQS or --ids may then name the records, and must name all of them.

    Clusters are numbered in the order of their first records. The representative of a greedy cluster is its centroid. With the other
    methods it is the record with the most near records in its cluster; among equals, the one with the smallest sum of distances to these,
    then the first. If SEQS is a table of receptors, the output is that table with the clusters in its column clone_id, unless you name
    another format.

    With --verify nothing is clustered. Clusters made by any program are checked instead, and a row is written for each record, or pair of
    representatives, that breaks the threshold. With --fix the corrected clusters are written, with as few changes as possible.

    \b
    Examples:
      gpualign cluster genes.fa --min-identity 0.97 > clusters.tsv
      gpualign cluster genes.fa --min-identity 0.97 --method greedy --representatives otus.fa -o otus.uc
      gpualign cluster reads.fa --edit --max-distance 3 --method greedy --order size
      gpualign cluster airr.tsv --hamming --max-distance 1 --same v_call,j_call > clones.tsv      the table with clone_id
      gpualign cluster cells.tsv --hamming --max-distance 1 --locus TRB --and TRA > clones.tsv      clones of cells
      gpualign dist core.aln --max-distance 12 | gpualign cluster --edges - --max-distance 12
      gpualign cluster --distances snps.npy --max-distance 12 --method average
      gpualign cluster --distances snps.npy --levels 50,25,10,5,0 -o names.tsv
      gpualign cluster genes.fa --min-identity 0.97 --verify otus.uc > problems.tsv      what breaks the threshold
    """
    from gpualign.cli.inputs.file_lists import InputFiles, input_files
    from gpualign.cli.options.params import build_options, is_given
    from gpualign.core.scoring.listed_distances import may_use_device
    from gpualign.jobs.devices.cuda_prestart import EDIT_CELLS_PER_SECOND, GLOBAL_CELLS_PER_SECOND, prestart_for_pairs
    from gpualign.jobs.options import PairThresholds

    params["edit"] = are_distances(params)
    bound_by_levels(params)
    read = InputFiles(()) if seqs is None else input_files(seqs)
    if edges is None and distances is None:
        edit = params["edit"]
        thresholds = build_options(PairThresholds, params).with_cluster_coverage(edit, params["identity_def"])
        bounded = thresholds.bounds_edits(edit, params["identity_def"], free_ends=False)
        # Beside the imports that follow.
        device = params["device"] if may_use_device(params) else "cpu"
        prestart_for_pairs(device, read.paths, None, EDIT_CELLS_PER_SECOND if edit else GLOBAL_CELLS_PER_SECOND, bounded)
    from dataclasses import replace

    from gpualign.cli.inputs.distance_matrices import matrix_files
    from gpualign.cli.inputs.file_lists import check_stdin
    from gpualign.cli.inputs.precomputed_distances import read_cluster_distances
    from gpualign.cli.inputs.record_groups import read_dates, read_record_ids, split_file_and_columns
    from gpualign.cli.options.workers import resolve_resources
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.clustering.edge_builder import EdgeStorage
    from gpualign.core.scoring import matrices
    from gpualign.jobs.cluster import ClusterOptions, listed_pair_memory
    from gpualign.jobs.cluster_names import NamesFiles
    from gpualign.jobs.cluster_sources import prepare_known_distances, prepare_sequences
    from gpualign.jobs.cluster_verification import method_of, read_listed_clusters
    from gpualign.jobs.cluster_verification import prepare as prepare_check
    from gpualign.jobs.devices.memory import default_memory
    from gpualign.jobs.linkage_report import report_paths
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.output.cluster_results import ClusterRun
    from gpualign.jobs.output.clusters import cluster_spec, describe_clusters_size
    from gpualign.jobs.output.run_summary import input_counts_of
    from gpualign.jobs.sequence_loading import read_inputs
    from gpualign.jobs.v_gene_tables import load_v_genes

    reporter = ConsoleReporter.from_options("cluster", quiet, verbose, log, summary)
    check_sources(seqs, {**params, "edges": edges, "ids": ids, "distances": distances, "matrix": matrix, "v_genes": v_genes})
    known = edges or distances
    check_stdin(*read.all_paths, edges, distances, ids, v_genes, params["verify"])
    loaded = {"matrix": matrices.load_matrix(matrix) if matrix else None, "v_genes": load_v_genes(v_genes) if v_genes else None}
    options = build_options(ClusterOptions, params, **loaded, reads_v_calls=v_genes is not None)
    spec = cluster_spec(options, seqs is not None)
    names = NamesFiles(options.levels, options.previous, spec.path, spec.format, options.colours) if options.levels else None
    name_inputs, name_outputs = (names.inputs, names.files_beside) if names is not None else ([], [])
    dates_path = None if options.dates is None else split_file_and_columns(options.dates)[0]
    outputs = [*spec.outputs, *name_outputs, *report_paths(options.linkage_report)]
    reporter.begin(
        [*read.all_paths, edges, ids, *matrix_files(distances), matrix, v_genes, *name_inputs, dates_path, options.verify], outputs
    )
    resources = resolve_resources(None, options.alignment_options.resources, reporter)
    listed = None if options.verify is None else read_listed_clusters(options.verify)
    if listed is not None and not is_given("method"):
        options = replace(options, method=method_of(listed))
        reporter.note(f"{listed.source}: {listed.kind.value}, verified as by --method {options.method}")
    reading = spec.read_options(options)
    options = replace(options, alignment_options=replace(options.alignment_options, resources=resources, read_options=reading))
    _check_options(options, spec.formats, read.paths, known, distances)
    earlier = None if names is None else names.read(reporter)

    with OutputFiles(reporter.note) as files:
        inputs = read_inputs([read.paths], reading, reporter, threads=resources.host_threads) if read.paths else None
        counts = {} if inputs is None else input_counts_of(inputs)
        if names is None:
            spec = spec.for_tables(inputs.tables if inputs else (), are_aligned=known is None)
        if known is None:
            assert inputs is not None
            reporter.run_summary.record_inputs(counts, resources, format=spec.format)
            source = prepare_sequences(inputs, options, reporter)
        else:
            known_ids = inputs.queries.ids if inputs else None if ids is None else read_record_ids(ids)
            if edges is not None and known_ids is None and listed is not None:
                known_ids = listed.ids
            if edges is not None and known_ids is not None and earlier is not None:
                known_ids, inputs = earlier.with_ids(known_ids), None
            storage = EdgeStorage(listed_pair_memory(resources.memory or default_memory()), files.new_scratch)
            values, are_identities = read_cluster_distances(edges, distances, known_ids, options, reporter, storage)
            reporter.run_summary.record_inputs(counts, resources, format=spec.format)
            source = prepare_known_distances(values, are_identities, inputs, options, reporter)
        if earlier is not None and edges is None:
            earlier.check_compared(source.ids)
        all_ids = source.ids if earlier is None else earlier.with_ids(source.ids)
        dates = None if options.dates is None else read_dates(options.dates, all_ids, reporter.warn)
        check = None if listed is None else prepare_check(listed, source.ids, source.job)
        if dry_run:
            size = describe_clusters_size(spec, source) if earlier is None else earlier.describe_size(source.ids)
            reporter.print_plan([*source.job.describe(), ("output", size)])
            return
        run = ClusterRun(source, options, spec, dates, files, reporter)
        results: dict[str, object]
        if names is not None and earlier is not None:
            # A list may lack pairs of earlier records, whose names say that they are connected.
            named, near = run.write_names(names, earlier, edges is None or options.previous is None)
            results, report = named.summary, partial(reporter.report_names, named, near.count, names.log)
        elif check is not None and not options.fix:
            problems, near = run.write_problems(check)
            results, report = problems.summary, partial(reporter.report_problems, check.given, problems, near.count)
        else:
            clustering, near, changed = run.write_clusters(check)
            results = {**clustering.summary, **({} if changed is None else {"changed": changed})}
            report = partial(reporter.report_clusters, clustering.sizes.tolist(), near, changed_count=changed)
        engine, pairs = None, {}
        if (alignments := source.alignments) is not None:
            engine = (alignments.job.hardware, alignments.job.kernel)
            reporter.run_summary.record_resolved(alphabet=alignments.task.alphabet.name, scoring=alignments.task.scoring.name)
            pairs["pairs"] = alignments.pair_count
        reporter.run_summary.write(files, engine, {"sequences": len(source.ids), **pairs, "near_pairs": near.count, **results})
    report(engine and engine[0])


def _check_options(options: ClusterOptions, formats: Sequence[str], seqs: Sequence[str], known: str | None, distances: str | None) -> None:
    """Raise `InputError` for options that contradict each other or do not apply to the input, and for a matrix that does not fit the
    memory.

    formats: formats of all outputs
    seqs: paths of the sequences
    known: file of known distances; None: records are aligned
    distances: the same file, if it is a matrix
    """
    from gpualign.core.common.errors import InputError

    try:
        options.check(aligned=known is None)
    except InputError:
        if known is None:
            from gpualign.cli.inputs.pair_lists import refuse_pair_lists

            refuse_pair_lists(seqs)  # whose distances are mostly no fractions
        raise
    if options.alignment_options.read_options.columns.and_locus:
        from gpualign.jobs.cell_clusters import check_cell_options

        check_cell_options(options, formats)
    if distances is not None:
        from gpualign.cli.inputs.matrix_sizes import check_matrix_size
        from gpualign.jobs.matrix_memory import CLUSTERING_USE

        check_matrix_size(distances, CLUSTERING_USE)
