"""`gpualign sw`: exhaustive local search of a database."""

from __future__ import annotations

import click

from gpualign.cli.completion import PathType
from gpualign.cli.options import hit_options, input_options, local_kernel_option, local_scoring_options, mask_option, run_options


@click.command()
@click.argument("query", type=PathType())
@click.argument("db", type=PathType(), required=False)
@local_scoring_options
@input_options
@click.option("--strand", type=click.Choice(["both", "plus", "minus"]), help="DNA: strands of the queries that are searched.  [both]")
@click.option("--self", "with_self", is_flag=True, help="One file: also each sequence against itself.")
@mask_option
@hit_options
@click.option("--no-traceback", is_flag=True, help="Scores of hits only, no alignments.")
@click.option("--all", "everything", is_flag=True, help="Write the score of every pair instead of hits, in input order (tsv or a matrix).")
@local_kernel_option
@run_options
def sw(
    query: str,
    db: str | None,
    match: int | None,
    mismatch: int | None,
    gap_open: int | None,
    gap_extend: int | None,
    gap: int | None,
    matrix: str | None,
    alphabet: str,
    allow_duplicates: bool,
    degap: bool,
    strand: str | None,
    with_self: bool,
    mask: str | None,
    output: str,
    format_: str | None,
    fields: str | None,
    identity_def: int,
    max_hits: int | None,
    min_score: int | None,
    max_evalue: float | None,
    min_identity: float | None,
    evalue: str | None,
    no_traceback: bool,
    everything: bool,
    kernel: str,
    device: str,
    threads: int | None,
    memory: int | None,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Local alignment (Smith-Waterman): every query against every sequence of DB, the best hits of each query first.

    No pair is left out, and scores are exact; what is of low complexity in the queries is masked first (--mask). The 25 best hits of each
    query are written, or with a threshold all that pass. DB is FASTA or FASTQ, plain or gzip, or an index made by `gpualign index`. Without
    DB the sequences of QUERY are searched with each other. - is standard input. A gap of n letters costs open + (n-1) * extend: the default
    for proteins, --gap-open 12 --gap-extend 1, is what BLAST calls 11/1.

    \b
    Examples:
      gpualign sw query.fa db.fa > hits.tsv                          the 25 best of each query
      gpualign sw query.fa db.fa --max-evalue 1e-3 --format m8       every hit that passes, in BLAST's columns
      gpualign sw query.fa db.fa --format aln | less                 alignments to look at
      gpualign index db.fa -o db.gpa; gpualign sw query.fa db.gpa    a database that is searched often
      gpualign sw genes.fa --max-hits 5                              best relatives of each sequence
      gpualign sw a.fa b.fa --all -o scores.npy                      every score
    """
    from gpualign.cli.engines import check_device, pick_local_engine, usable_threads
    from gpualign.cli.files import check_outputs, check_stdin
    from gpualign.cli.formats import output_paths
    from gpualign.cli.inputs import load_matrix, read_search
    from gpualign.cli.messages import Messages
    from gpualign.cli.plans import Run
    from gpualign.cli.scores import score_all, scores_spec
    from gpualign.cli.search import HitOptions, hit_spec, search
    from gpualign.core.errors import InputError
    from gpualign.core.scoring import ScoringOptions
    from gpualign.core.search.masking import NONE, check_method

    messages = Messages.of("sw", quiet, verbose)
    check_stdin(query, db)
    if with_self and db is not None:
        raise InputError("--self is for one file; two files are compared record by record anyway")
    check_device(device)
    threads = usable_threads(threads, messages)
    wanted = HitOptions(output, format_, fields, identity_def, max_hits, min_score, max_evalue, min_identity, evalue, no_traceback, mask)
    of_scores = scores_spec(wanted, strand, db is None, with_self) if everything else None
    of_hits = None if everything else hit_spec(wanted)
    if of_scores is not None:
        check_outputs([query, db, matrix], output_paths(of_scores.path, of_scores.format, db is None))
    elif of_hits is not None:
        check_outputs([query, db, matrix], [of_hits.path])

    options = ScoringOptions(match, mismatch, gap, gap_open, gap_extend, load_matrix(matrix) if matrix else None)
    task = read_search(query, db, alphabet, allow_duplicates, degap, options, messages)
    if strand is not None and task.alphabet.name != "dna":
        raise InputError(f"--strand is for DNA; these are {task.alphabet.name} sequences")
    check_method(mask or NONE, task.alphabet)
    run = Run(pick_local_engine(device, threads, messages, kernel), threads, memory, dry_run, messages)
    if of_scores is not None:
        score_all(of_scores, task, strand or "plus", with_self, mask or NONE, run)
    elif of_hits is not None:
        search(of_hits, task, strand or ("both" if task.alphabet.name == "dna" else "plus"), with_self, run)
