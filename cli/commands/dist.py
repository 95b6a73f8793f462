"""`gpualign dist`: pairwise distances between samples, based on SNPs, genotypes or alleles."""

from __future__ import annotations

from typing import Any

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.distance import (
    distance_kernel_option,
    distance_output_options,
    sample_options,
    site_options,
    table_options,
)
from gpualign.cli.options.execution import executor_option, long_run_options, run_options
from gpualign.cli.options.headings import CommandWithHeadings, Heading


@click.command(cls=CommandWithHeadings, short_help="SNP, genotype and allele (cgMLST) distances of all pairs.")
@click.argument("samples", type=PathType())
@click.argument("others", type=PathType(), required=False)
@Heading.DISTANCE.option(
    "--metric",
    type=ChoiceType(
        ["hamming", "fraction", "ibs", "allele", "jc69", "tn93", "king", "grm"],
        refused=dict.fromkeys(["snp", "snps"], "hamming counts SNPs"),
    ),
    default="hamming",
    show_default=True,
    help="hamming: number of sites that differ; fraction: their share of the compared sites. Only genotypes: ibs (1 - shared alleles / 2),"
    " allele (number of alleles that differ), king (kinship by KING-robust), grm (genomic relationship). Only nucleotides: jc69, tn93"
    " (substitutions per site).",
)
@Heading.DISTANCE.option(
    "--missing",
    type=ChoiceType(["pairwise", "complete", "as-difference"]),
    help="How missing calls are treated. pairwise: the site is skipped for that pair; complete: the site is skipped for all pairs;"
    " as-difference: a missing call differs from every call. If this option is given, alignments of proteins are read too; their gaps"
    " and X are missing calls.  [pairwise]",
)
@Heading.INPUT.option(
    "--all-letters",
    is_flag=True,
    help="Alignments: compare all letters, and gaps too unless --missing is given.  [only A, C, G, T; others are missing calls]",
)
@Heading.DISTANCE.option(
    "--min-compared",
    metavar="N|F",
    help="A pair with fewer compared sites (where both samples have a call) has no distance (nan) and does not pass --max-distance. A"
    " number with a decimal point (0.5) is a fraction of the sites. If this option is given, tables of pairs have a column compared.  [1,"
    " or 0.5 with --max-distance]",
)
@sample_options
@site_options
@table_options
@Heading.INPUT.option("--allow-duplicates", is_flag=True, help="Number repeated sample ids (id, id_2, ...) instead of refusing them.")
@distance_output_options
@Heading.PAIRS.option(
    "--add",
    type=PathType(),
    metavar="OLD",
    help="Incremental run: compare the samples of SAMPLES with each other and with those of OLD, but not those of OLD with each other.",
)
@run_options
@executor_option
@long_run_options
@distance_kernel_option
def dist(
    samples: str,
    others: str | None,
    missing: str | None,
    min_compared: str | None,
    exclude: tuple[str, ...],
    min_called: str | None,
    regions: str | None,
    mask: str | None,
    core: str | None,
    maf: str | None,
    type_: str,
    missing_code: str | None,
    columns: str | None,
    ignore_columns: str | None,
    add: str | None,
    cluster: str | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
    **params: Any,
) -> None:
    """Exact SNP, genotype and allele (cgMLST) distances of all pairs of samples.

    \b
    SAMPLES is one of:
    - an alignment: FASTA, all rows of equal length; also CLUSTAL and PHYLIP
    - a table of genotypes: a header of SNP ids, then one row per sample, its id and 0, 1, 2 or letters
    - a table of alleles (MLST, cgMLST) from chewBBACA, PubMLST or EnteroBase
    - VCF or BCF
    - a PLINK .bed or .pgen with its tables beside it
    - a set of samples (.gps), made by `gpualign index`

    Text may be compressed; - is standard input; @LIST is all alignments named in LIST, one per line.

    With one file, all of its samples are compared with each other. With OTHERS, which must have the same sites, every sample of SAMPLES is
    compared with every sample of OTHERS. With --add OLD, the samples are compared with each other and with all of OLD, in one list.

    --exclude, --regions, --mask, --min-called, --core and --maf choose samples and sites of both files, in this order.

    \b
    Examples:
      gpualign dist core.aln > distances.tsv                SNP distances of a core-genome alignment
      gpualign dist snps.tsv -o distances.npy               ids in distances.ids.txt
      gpualign dist core.aln --max-distance 12 > near.tsv   pairs for outbreak clusters
      gpualign dist core.aln --max-distance 12 --clusters clusters.tsv > near.tsv
      gpualign dist results_alleles.tsv > distances.tsv     allele differences of a cgMLST table
      gpualign dist cohort.vcf.gz --metric ibs -o ibs.tsv
      gpualign dist cohort.bed --metric king --min-kinship 0.0884 > relatives.tsv
      gpualign dist new.aln old.aln --format molten         new samples against old ones
      gpualign dist new.aln --add old.aln --max-distance 12 > more.tsv     and with each other, in one list
      gpualign dist full.aln --mask repeats.bed --core 0.95 > d.tsv        sites called in 95 % of samples
      gpualign dist core.aln --exclude failed.txt --min-called 0.9 > d.tsv  without some samples
      gpualign dist cohort.bed --plot heat.png > d.tsv      a clustered heat map as well
    """
    from gpualign.cli.inputs.file_lists import input_files
    from gpualign.jobs.devices.cuda_prestart import distance_seconds, prestart_cuda

    sets = [input_files(one) for one in (samples, others or add) if one is not None]
    named = [path for one in sets for path in one.paths]
    prestart_cuda("cpu" if cluster else params["device"], distance_seconds(named), 0)  # beside the imports that follow
    import os
    from contextlib import ExitStack
    from dataclasses import replace

    from gpualign.cli.inputs.call_columns import column_choice, missing_codes, title_files
    from gpualign.cli.inputs.file_lists import check_stdin
    from gpualign.cli.inputs.genotype_files import (
        open_call_files,
        paths_of_input,
        rereadable_files,
        sample_counts,
        stored_sets,
    )
    from gpualign.cli.inputs.id_lists import id_files
    from gpualign.cli.inputs.samples import sample_filters
    from gpualign.cli.inputs.site_options import interval_files, site_filters
    from gpualign.cli.options.params import build_options
    from gpualign.cli.options.workers import resolve_resources
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.common.parameter_fractions import site_count_or_fraction
    from gpualign.core.distance.metrics import MissingRule
    from gpualign.core.distance.tables.options import TableType
    from gpualign.core.files.digests import digest_files
    from gpualign.core.sequences.ids import describe_shared_ids
    from gpualign.jobs.dist import DistOptions, engine_named_by_options, prepare, read_source
    from gpualign.jobs.output.atomic_files import OutputFiles
    from gpualign.jobs.output.distances import check_value, distance_spec, report_written_distances, write_distances
    from gpualign.jobs.output.run_identity import resume_policy_of

    reporter = ConsoleReporter.from_options("dist", quiet, verbose, log, summary)
    if add is not None and others is not None:
        raise InputError("--add takes one file, whose samples are also compared with each other; leave it out to compare two files")
    lists = [one.list_path for one in sets if one.list_path is not None]
    check_stdin(*named, *lists, mask, *id_files(exclude))
    options = build_options(
        DistOptions,
        params,
        missing=MissingRule.PAIRWISE if missing is None else MissingRule(missing),
        gaps_missing=missing is not None,
        min_compared=None if min_compared is None else site_count_or_fraction("min_compared", min_compared),
        added=add is not None,
        type=TableType(type_),
        missing_codes=missing_codes(missing_code),
    )
    options = replace(options, resources=resolve_resources(cluster, options.resources, reporter, options.kernel))
    one_set = len(sets) == 1
    spec = distance_spec(options, one_set)
    option_files = [*interval_files(regions, mask), *title_files(columns, ignore_columns), *id_files(exclude)]
    paths = [*lists, *(file for path in named for file in paths_of_input(path)), *option_files]
    again = rereadable_files(named, option_files)
    resume, shard = options.output_options.resume, options.output_options.shard
    if (resume or shard) and again is None:
        raise InputError(f"--{'resume' if resume else 'shard'}: input from a pipe cannot be read again; name files")
    nbytes = sum(os.path.getsize(path) for path in again or ())
    reporter.begin(paths, spec.outputs(one_set), resume)
    calls = replace(options.call_options, **column_choice(columns, ignore_columns))
    sites, selected = site_filters(regions, mask, core, maf), sample_filters(exclude, min_called)
    options = replace(options, compared=spec.writes_compared, call_options=calls, site_filters=sites, sample_filters=selected)
    task = options.task()  # refuses contradictory options before anything is read
    check_value(spec, task.metric)
    engine = engine_named_by_options(options, reporter)
    with OutputFiles(reporter.note) as files:
        with ExitStack() as inputs:
            stored = stored_sets(sets)
            opened = open_call_files([one for one, known in zip(sets, stored, strict=True) if known is None], inputs)
            names = [one.list_path or one.paths[0] for one in sets]
            source = read_source(opened, options, files, reporter, list(zip(names, stored, strict=True)))
        reporter.run_summary.record_inputs(sample_counts(sets, source.samples), options.resources, format=spec.format)
        job = prepare(options, source, engine, files.new_scratch, reporter)
        del source
        new, every = job.samples.queries.ids, job.samples.targets.ids
        if spec.plot_file is not None:
            from gpualign.jobs.matrix_memory import DRAWING_USE, check_memory

            check_memory(DRAWING_USE, f"--plot {spec.plot_file.path}", len(new), len(every))
        if add is not None and (shared := describe_shared_ids(new, every[len(new) :], add)):
            reporter.note(shared)
        resume_policy = None
        if again is not None and spec.clusters is None:
            resume_policy = resume_policy_of(reporter.invocation, resume, len(new), lambda: digest_files(again), nbytes)
        written = write_distances(spec, job, files, resume_policy, dry_run, reporter, options.resources.host_threads)
    if written is not None:
        report_written_distances(spec, job, *written, reporter)
