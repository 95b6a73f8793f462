"""`gpualign sw`: exhaustive local search in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gpualign.cli.options.choice_suggestions import ChoiceType
from gpualign.cli.options.completion_types import PathType
from gpualign.cli.options.execution import executor_option, local_kernel_option, long_run_options, run_options
from gpualign.cli.options.headings import CommandWithHeadings, Heading
from gpualign.cli.options.input import drop_empty_option, input_options, mask_lower_option, mask_options, strict_option
from gpualign.cli.options.output import hit_options
from gpualign.cli.options.param_types import IntegerType
from gpualign.cli.options.scoring import local_scoring_options
from gpualign.cli.options.thresholds import target_options

if TYPE_CHECKING:
    from gpualign.jobs.output.specs import HitSpec, OutputSpec


@click.command(cls=CommandWithHeadings, short_help="Local search: the best hits of each query in a database.")
@click.argument("query", type=PathType())
@click.argument("db", type=PathType(), required=False)
@Heading.INPUT.option(
    "--translate",
    type=ChoiceType(["query", "target", "both"]),
    help="Translate nucleotides in all six frames and search them as proteins: the queries (like blastx), DB (tblastn) or both (tblastx).",
)
@Heading.INPUT.option(
    "--genetic-code", type=IntegerType(1), metavar="N", help="With --translate: NCBI number of the genetic code.  [1, the standard code]"
)
@Heading.INPUT.option("--strand", type=ChoiceType(["both", "plus", "minus"]), help="DNA: strands of the queries to search.  [both]")
@mask_options
@input_options
@drop_empty_option
@mask_lower_option
@strict_option
@local_scoring_options
@hit_options
@target_options
@Heading.PAIRS.option("--self", "with_self", is_flag=True, help="One file: also each sequence against itself.")
@Heading.OUTPUT.option(
    "--all", "everything", is_flag=True, help="Write the score of every pair, in input order, instead of hits: a table or a matrix."
)
@Heading.OUTPUT.option("--no-traceback", is_flag=True, help="Write only the scores of hits, without alignments, which saves time.")
@run_options
@executor_option
@long_run_options
@local_kernel_option
def sw(
    query: str,
    db: str | None,
    matrix: str | None,
    everything: bool,
    targets: tuple[str, ...],
    exclude: tuple[str, ...],
    where: tuple[str, ...],
    annotate: str | None,
    cluster: str | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    log: str | None,
    summary: str | None,
    **params: Any,
) -> None:
    """Search DB with each query by local alignment (Smith-Waterman), and write the best hits of each query.

    Every query is aligned with every sequence of DB: no pair is skipped, and scores are exact. The 25 best hits of each query are written,
    or with a threshold (--max-evalue, --min-identity, --min-score) all that pass. The scores of protein hits are adjusted to the
    compositions of query and target, as in BLAST (--composition).

    QUERY is FASTA, FASTQ or a plain list of peptides (one per line); so is DB, or it is an index made by `gpualign index`. Without DB the
    sequences of QUERY are searched against each other. Files may be compressed; - is standard input; @LIST is all files named in LIST, one
    per line.

    A gap of n letters costs open + (n-1) * extend. The default for proteins, --gap-open 12 --gap-extend 1, is what BLAST calls 11/1.

    \b
    Examples:
      gpualign sw query.fa db.fa > hits.tsv                          the 25 best of each query
      gpualign sw query.fa db.fa --max-evalue 1e-3 --format m8       every hit that passes, in BLAST's columns
      gpualign sw query.fa db.fa --format aln | less                 alignments to look at
      gpualign index db.fa -o db.gpa; gpualign sw query.fa db.gpa    a database that is searched often
      gpualign sw genes.fa --max-hits 5                              best relatives of each sequence
      gpualign sw a.fa b.fa --all -o scores.npy                      every score
      gpualign sw contigs.fa proteins.fa --translate query           six frames against proteins, as blastx
    """
    from gpualign.cli.inputs.file_lists import input_files
    from gpualign.jobs.devices.cuda_prestart import LOCAL_CELLS_PER_SECOND, prestart_for_pairs

    sets = [input_files(one) for one in (query, db) if one is not None]
    queries, others = sets[0].paths, sets[1].paths if len(sets) > 1 else None
    prestart_for_pairs("cpu" if cluster else params["device"], queries, others, LOCAL_CELLS_PER_SECOND)  # beside the imports that follow
    from dataclasses import replace

    from gpualign.cli.inputs.conditions import parse_conditions
    from gpualign.cli.inputs.file_lists import check_stdin
    from gpualign.cli.inputs.id_lists import id_files, listed_ids
    from gpualign.cli.options.params import build_options
    from gpualign.cli.options.workers import resolve_resources
    from gpualign.cli.terminal.reporter import ConsoleReporter
    from gpualign.core.common.errors import InputError
    from gpualign.core.files.paths import is_index
    from gpualign.core.results.columns import description_fields
    from gpualign.core.scoring import matrices
    from gpualign.jobs import sw as search
    from gpualign.jobs.output.hits import hit_spec, write_hits
    from gpualign.jobs.output.run_summary import input_counts_of
    from gpualign.jobs.sequence_loading import read_inputs, read_queries_for_index
    from gpualign.jobs.target_annotations import plan_annotations
    from gpualign.jobs.target_selection import TargetFilters, select_targets

    reporter = ConsoleReporter.from_options("sw", quiet, verbose, log, summary)
    files = [*(path for one in sets for path in one.all_paths), *id_files([*targets, *exclude])]
    check_stdin(*files, annotate)
    described, conditions = description_fields(params["fields"]), parse_conditions(where)
    annotations = plan_annotations(annotate, params["fields"], conditions)
    options = build_options(
        search.SwOptions,
        params,
        matrix=matrices.load_matrix(matrix) if matrix else None,
        keep_descriptions=bool(described or annotations.from_titles),
    )
    options = replace(options, resources=resolve_resources(cluster, options.resources, reporter, options.kernel))
    of_scores = of_hits = None
    if everything:
        from gpualign.jobs.output.local_scores import scores_spec

        spec: OutputSpec | HitSpec = (of_scores := scores_spec(options, db is None))
    else:
        spec = of_hits = hit_spec(options, db is None, annotations.titles)
    reporter.begin([*files, matrix, annotate], spec.outputs(db is None), spec.options.resume)
    filters = TargetFilters(
        listed_ids(targets, "--targets") if targets else None,
        listed_ids(exclude, "--exclude"),
        conditions,
    )
    filters.check(db is None)

    by_index = db is not None and is_index(db)
    if by_index and "ttitle" in described:
        raise InputError(f"{db} is an index, which holds no descriptions for the column ttitle; search the file it was made from")
    threads = options.resources.host_threads
    named = [one.paths for one in (sets[:1] if by_index else sets)]
    if others is not None and not by_index:
        search.check_database_size(others, options)
    if options.translate is not None:
        from gpualign.jobs.translated_search import read_translated

        inputs = read_translated(named, options.translate, options.read_options, db if by_index else None, reporter, threads)
    elif db is not None and by_index:
        inputs = read_queries_for_index(queries, db, options.read_options, reporter, threads)
    else:
        inputs = read_inputs(named, options.read_options, reporter, local=True, threads=threads)
    reporter.run_summary.record_inputs(input_counts_of(inputs), options.resources, alphabet=inputs.alphabet.name, format=spec.format)
    inputs = annotations.annotate(inputs, bool(described), reporter)
    inputs = select_targets(inputs, filters, reporter, threads)
    if of_scores is not None:
        from gpualign.jobs import sw_all_scores as every_score
        from gpualign.jobs.output.pairs import write_every_pair

        job = every_score.prepare(inputs, options, of_scores.pairing, reporter)
        write_every_pair(of_scores, job, job.sequence_count, dry_run, reporter, options.resources.host_threads)
    elif of_hits is not None:
        write_hits(of_hits, search.prepare(inputs, options, reporter, needs_paths=of_hits.needs_paths), dry_run, reporter)
