"""Exhaustive local search."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign._execution_options import (
    LOG,
    ProgressCallback,
    ProgressReporter,
    checked_choice,
    checked_count,
    checked_flag,
    checked_fraction,
    checked_identity_definition,
    checked_names,
    checked_number,
    checked_score,
    make_resources,
)
from gpualign._index import Index
from gpualign._results import Hits, join_columns
from gpualign._scoring import Scoring, checked_scoring_of_every_pair
from gpualign._sequences import READ_DEFAULTS, SequencesInput, StrPath, checked_path, encode_inputs, encode_translated_inputs
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Detail
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.files.paths import is_index
from gpualign.core.results.columns import Field, hit_fields, parse_fields
from gpualign.core.scoring.composition import METHODS
from gpualign.core.scoring.masking import MASKS
from gpualign.core.sequences.strands_frames import BOTH, MINUS, PLUS
from gpualign.core.sequences.translation import STANDARD_CODE
from gpualign.jobs.sw import SearchJob, SwOptions, prepare
from gpualign.jobs.target_annotations import plan_annotations
from gpualign.jobs.target_selection import Condition, TargetFilters, select_targets

if TYPE_CHECKING:
    from concurrent.futures import Executor

_METHOD_NAMES = {
    "mask": MASKS,
    "mask_target": MASKS,
    "composition": METHODS,
    "evalue": ("table", "estimate", "none"),
    "strand": (PLUS, MINUS, BOTH),
    "translate": ("query", "target", "both"),
}


def sw(
    queries: SequencesInput,
    db: SequencesInput | Index | None = None,
    scoring: Scoring | None = None,
    *,
    max_hits: int | None = None,
    max_hsps: int = 1,
    min_score: int | None = None,
    max_evalue: float | None = None,
    min_identity: float | None = None,
    targets: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    where: Mapping[str, str | Sequence[str]] | None = None,
    annotate: StrPath | None = None,
    strand: str | None = None,
    translate: str | None = None,
    genetic_code: int = STANDARD_CODE,
    mask: str | None = None,
    mask_target: str | None = None,
    composition: str | None = None,
    evalue: str | None = None,
    evalue_letters: int | None = None,
    traceback: bool = True,
    with_self: bool = False,
    fields: Sequence[str] | None = None,
    identity_def: int = DEFAULT_DEFINITION,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[Hits]:
    """Search a database exhaustively for every query (Smith-Waterman), and yield the hits for each query, like `gpualign sw`.

    queries: sequences or a sequence file
    db: sequences, a file or an index; None: the queries are searched against each other
    scoring: letter scores and gap costs; None: the defaults for the alphabet
    max_hits: maximum number of hits per query, best first (default: 25, or with a threshold all hits that pass)
    max_hsps: maximum number of alignments of a query with a target, which share no pair of letters; they are consecutive rows, best first,
        numbered in the column `hsp`
    min_score: minimum score
    max_evalue: maximum E-value
    min_identity: minimum identity, a fraction
    targets: ids of the records of `db` to search; None: all records
    exclude: ids of records of `db` to leave out
    where: search only the records of `db` with these annotations: a dict from names to a text or a list of texts, as in
        `{"taxid": ["9606", "10090"]}`. Annotations are the columns of `annotate`, and, if `db` is a file, organism, taxid and gene in
        UniProt's titles
    annotate: table of annotations: ids in the first column, titles in the first line
    strand: for DNA only: "both" (default), "plus" or "minus"
    translate: "query", "target" or "both": which nucleotide sequences are translated in six frames and searched as proteins
    genetic_code: NCBI number of the genetic code, for `translate`
    mask: how low-complexity parts of the queries are masked: "seg", "dust" or "none" (default: the method for the alphabet, unless
        scores are adjusted)
    mask_target: how low-complexity parts of the records of `db` are masked: "seg", "dust" or "none" (default)
    composition: for proteins: how scores are adjusted to the compositions of query and target: "adjust", "scale" or "none" (default:
        "adjust" if there are E-values and the matrix has published frequencies)
    evalue: source of the parameters of E-values: "table" (published for BLAST) or "estimate" (simulated sequences); "none": no E-values
    evalue_letters: number of letters of the database for which E-values hold; None: the letters of the records searched
    traceback: whether hits are returned with their alignments, not only with scores
    with_self: whether, if `db` is None, each query is also searched against itself
    fields: column names, as for `gpualign sw --fields`, also of annotations
    identity_def: identity definition, numbered 0 to 4 as in vsearch
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the sequences and results
    executor: executor whose workers do the computing, as for `gpualign.nw`
    progress: called with (DP cells done, total)

    Yields the `Hits` for each query in query order, including queries without hits. Closing the iterator stops all work.
    Raises `InputError` for bad input (bad arguments are reported immediately, not when the first hits are requested); `RunError` if a
    device fails or memory runs out.

    >>> hits = next(sw(["GATTACAGATTACA"], ["CCGATTACAGATTACACC", "TTTTTTTT"], min_score=50, evalue="none"))
    >>> hits["target"], hits["score"].tolist()
    (['0'], [70])
    """
    choices = {
        "mask": mask,
        "mask_target": mask_target,
        "composition": composition,
        "evalue": evalue,
        "strand": strand,
        "translate": translate,
    }
    for name, one in choices.items():
        if one is not None:
            checked_choice(name, one, _METHOD_NAMES[name])
    traceback = checked_flag("traceback", traceback)
    options = SwOptions(
        scoring=checked_scoring_of_every_pair(scoring, local=True).options(),
        resources=make_resources(device, threads, memory, executor),
        strand=strand,
        translate=translate,
        genetic_code=None if (code := checked_count("genetic_code", genetic_code)) == STANDARD_CODE else code,
        with_self=checked_flag("with_self", with_self),
        mask=mask,
        mask_target=mask_target,
        composition=composition,
        evalue=evalue,
        evalue_letters=checked_count("evalue_letters", evalue_letters, 1),
        max_hits=checked_count("max_hits", max_hits, 1),
        max_hsps=checked_count("max_hsps", max_hsps, 1) or 1,
        min_score=checked_score("min_score", min_score),
        max_evalue=checked_number("max_evalue", max_evalue),
        min_identity=checked_fraction("min_identity", min_identity),
        identity_def=checked_identity_definition(identity_def),
        no_traceback=not traceback,
    )
    options.make_hit_filter(db is None)
    conditions = _conditions(where)
    names = (
        hit_fields(traceback, translate is not None, options.max_hsps > 1)
        if fields is None
        else ",".join(checked_names("fields", fields, "columns"))
    )
    annotations = plan_annotations(None if annotate is None else checked_path("annotate", annotate), names, conditions)
    columns = parse_fields(names, allow_hits_only=True, annotations=annotations.titles)
    traced = [one.name for one in columns if one.detail is not Detail.SCORE]
    if traced and not traceback:
        raise InputError(f"{parameter('no_traceback')} leaves out the alignments, which {', '.join(traced)} needs")
    filters = TargetFilters(
        None if targets is None else dict.fromkeys(checked_names("targets", targets, "ids"), parameter("targets")),
        dict.fromkeys(checked_names("exclude", exclude, "ids"), parameter("exclude")),
        conditions,
    )
    filters.check(db is None)
    database, host_threads = _database_sequences(db), options.resources.host_threads
    reading = replace(READ_DEFAULTS, keep_descriptions=bool(annotations.from_titles))
    if translate is None:
        inputs = encode_inputs(queries, database, host_threads, reading)
    else:
        inputs = encode_translated_inputs(queries, database, translate, host_threads, reading)
    inputs = annotations.annotate(inputs, False, LOG)
    inputs = select_targets(inputs, filters, LOG, host_threads)
    job = prepare(inputs, options, LOG, needs_paths=bool(traced) or min_identity is not None)
    return _iterate_hits(job, columns, ProgressReporter(progress))


def _conditions(where: Mapping[str, str | Sequence[str]] | None) -> list[Condition]:
    """Return the conditions of `where`. Raises `InputError` for anything but a dict of texts and lists of texts."""
    if where is None:
        return []
    if not isinstance(where, Mapping):
        raise InputError(f"where: expected a dict of names and texts; found {type(where).__name__}")
    return [
        Condition(str(name), [texts] if isinstance(texts, str) else checked_names(f"where[{name!r}]", texts, "texts"))
        for name, texts in where.items()
    ]


def _database_sequences(db: SequencesInput | Index | None) -> SequencesInput | None:
    if isinstance(db, Index):
        return db.sequences
    if isinstance(db, (str, os.PathLike)) and is_index(os.fspath(db)):
        return Index.open(db).sequences
    return db


def _iterate_hits(job: SearchJob, columns: list[Field], reporter: ProgressReporter) -> Iterator[Hits]:
    reporter.expect(job.search_plan.plan.cells)
    ids = job.task.queries.ids
    following = 0
    waiting: list[dict[str, Any]] = []  # pieces of the hits of the query `following`

    def hits(pieces: list[dict[str, Any]]) -> Hits:
        return Hits(join_columns(pieces, columns, job.task), ids[following], following)

    with closing_iterator(job.run(reporter)[0]) as results:
        for one in results:
            for block, mask in one.blocks:
                selected = block.output_mask(mask)
                records = block.query_record_numbers[selected]
                by_column = {one.name: one.values_to_write(block, mask) for one in columns}
                starts = np.flatnonzero(np.diff(records, prepend=-1))
                for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(records)], strict=True):
                    while following < int(records[start]):
                        yield hits(waiting)
                        following, waiting = following + 1, []
                    waiting.append({name: values[start:stop] for name, values in by_column.items()})
    while following < len(ids):
        yield hits(waiting)
        following, waiting = following + 1, []
