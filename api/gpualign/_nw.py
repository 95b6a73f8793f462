"""Global alignment of every pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    checked_score,
    checked_titles,
    make_resources,
)
from gpualign._output import checked_array_path, make_filled_array
from gpualign._record_annotations import GroupsInput, group_pair_selector
from gpualign._results import Matrix, Pairs, Table, join_columns
from gpualign._scoring import Scoring, checked_scoring, checked_scoring_of_every_pair
from gpualign._sequences import READ_DEFAULTS, SequencesInput, StrPath, encode_inputs
from gpualign.core.alignment.ambiguity import AmbiguityRule
from gpualign.core.alignment.coverage import CoveredSequence
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Detail, EndGaps
from gpualign.core.common.errors import InputError
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_files import ArrayMaker, FilledArray
from gpualign.core.output.matrix_value import MatrixValueKind, ValueMatrix
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.columns import description_fields, detail_of, parse_fields
from gpualign.core.results.filter import Filter
from gpualign.core.sequences.strands_frames import BOTH, PLUS
from gpualign.jobs.job import PairJob
from gpualign.jobs.nw import NwOptions, prepare, prepare_filtered
from gpualign.jobs.options import PairThresholds
from gpualign.jobs.output.result_writing import write_results
from gpualign.jobs.pairs_as_arrays import passing_pairs, result_blocks

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gpualign.core.planning.group_pairs import GroupPairSelector
    from gpualign.jobs.sequence_loading import Inputs


def nw(
    seqs: SequencesInput,
    targets: SequencesInput | None = None,
    scoring: Scoring | None = None,
    *,
    value: str = "score",
    end_gaps: str = "penalised",
    strand: str | None = None,
    identity_def: int = DEFAULT_DEFINITION,
    ambiguous: str | None = None,
    out: StrPath | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Matrix:
    """Align every pair globally (Needleman-Wunsch) and return one value per pair: the matrix that `gpualign nw -o FILE.npy` writes.

    seqs: one set, compared with itself, or the queries to compare with `targets`
    targets: second set; None: `seqs` is compared with itself
    scoring: letter scores and gap costs; None: the defaults for the alphabet
    value: "score", "identity" or "distance" (1 - identity); with `gpualign.EDIT`, both score and distance are the edit distance
    end_gaps: which end gaps are free: "penalised" (none), "free" (all), "query" (gaps in the query) or "target"
    strand: for DNA only: "both" (the better strand for each pair) or "plus" (default)
    identity_def: identity definition, numbered 0 to 4 as in vsearch
    ambiguous: how ambiguity letters count in identities: "compatible" (default for DNA), as a match with any letter they may stand for;
        "unequal" (default for proteins), as a match only with the same letter; "skip", not at all
    out: .npy file to write the matrix to and map it from; None: the matrix is in memory
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the sequences and the matrix
    executor: a `concurrent.futures.Executor` (Dask's `client.get_executor()`, for instance) whose workers do the computing; `device`
        and `threads` then apply to each worker
    progress: called with (DP cells done, total)

    Returns a `Matrix` of int32 or int64 scores or edit distances, or of float64 identities or distances.
    Raises `InputError` for bad input, `RunError` if a device fails or memory runs out.

    >>> nw(["ACGT", "AGT"], scoring=Scoring(match=2, mismatch=-1, gap=1)).values.tolist()
    [[8, 5], [5, 6]]
    """
    checked_choice("value", value, ("score", "identity", "distance"))
    options = nw_options(
        scoring=checked_scoring_of_every_pair(scoring).options(),
        end_gaps=end_gaps,
        strand=strand,
        identity_def=identity_def,
        ambiguous=ambiguous,
        resources=make_resources(device, threads, memory, executor),
    )
    options.make_filter()
    matrix_value = MatrixValueKind(value, options.identity_def, options.scoring.edit)
    path = checked_array_path(out, seqs, targets)
    job = prepare(encode_inputs(seqs, targets, options.resources.host_threads), options, matrix_value.detail, Pairing.ABOVE_OR_EQUAL, LOG)

    def fill(make: ArrayMaker) -> FilledArray:
        sink = MatrixSink(ValueMatrix(job.task, matrix_value), [make], threads=options.resources.host_threads)
        write_results(sink, job.plan, job.run(_reporter(job, progress))[0])
        return sink.arrays[0]

    one_set = job.task.targets is job.task.queries
    return Matrix(make_filled_array(path, fill), list(job.task.queries.ids), list(job.task.targets.ids), matrix_value.display_name, one_set)


def pairs(
    seqs: SequencesInput,
    targets: SequencesInput | None = None,
    scoring: Scoring | None = None,
    *,
    metric: str | None = None,
    max_distance: float | None = None,
    min_identity: float | None = None,
    min_score: int | None = None,
    min_coverage: float | None = None,
    coverage_of: str | None = None,
    groups: GroupsInput | None = None,
    between: bool = False,
    within: bool = False,
    same: str | Sequence[str] | None = None,
    alleles: bool = False,
    end_gaps: str = "penalised",
    strand: str | None = None,
    identity_def: int = DEFAULT_DEFINITION,
    ambiguous: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Pairs:
    """Return the pairs whose global alignments pass one threshold, with the value tested by the threshold.

    Give exactly one of `max_distance`, `min_identity` and `min_score`. If the threshold bounds the edit distance, pairs that cannot pass
    are not aligned.

    seqs: one set, in which each pair is aligned once (i < j), or the queries to compare with `targets`
    targets: second set; None: `seqs` is compared with itself
    scoring: letter scores and gap costs; None: the defaults for the alphabet
    metric: "edit", "hamming", "tcrdist" or "align_distance", short for the scoring `gpualign.EDIT`, `HAMMING`, `TCRDIST` or
        `ALIGN_DISTANCE`
    max_distance: maximum distance, 1 - identity; with `gpualign.EDIT` or a metric the maximum of that distance
    min_identity: minimum identity, a fraction
    min_score: minimum score
    min_coverage: minimum fraction of each sequence that is aligned to letters of the other; applied in addition to the threshold
    coverage_of: sequence to which `min_coverage` applies: "both" (default), "query", "target" or "shorter"; in one set the query is the
        earlier record
    groups: group for each record: a dict from ids to groups, a pandas.Series, or a one-column DataFrame with the ids as its index (or as
        the first of two columns)
    between: whether only pairs between different groups are aligned
    within: whether only pairs within the same group are aligned
    same: titles of columns, as a list or delimited by commas: only pairs with the same value in each, as in "v_call,j_call". Files must be
        tables with these columns; `Sequences` have them as `annotations`. Gene calls are compared by gene, without the allele; if a call
        names several genes, any of them may match
    alleles: whether `same` compares alleles, such as TRBV7-2*01, instead of genes
    end_gaps: which end gaps are free: "penalised" (none), "free" (all), "query" (gaps in the query) or "target"
    strand: for DNA only: "both" (the better strand for each pair) or "plus" (default)
    identity_def: identity definition, numbered 0 to 4 as in vsearch
    ambiguous: how ambiguity letters count in identities: "compatible", "unequal" or "skip", as for `nw`
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the sequences and results
    executor: executor whose workers do the computing, as for `nw`
    progress: called with (DP cells done, total)

    Returns `Pairs`, in input order.
    Raises `InputError` for bad input and for a record without a group, `RunError` if a device fails or memory runs out.

    >>> found = pairs(["ACGT", "AGT", "TTTT"], metric="edit", max_distance=1)
    >>> list(found)
    [('0', '1', 1)]
    """
    thresholds = {"max_distance": max_distance, "min_identity": min_identity, "min_score": min_score}
    names = [name for name, one in thresholds.items() if one is not None]
    if len(names) != 1:
        found = f"; found {' and '.join(names)}" if names else ""
        raise InputError(f"pairs: expected one threshold of {', '.join(thresholds)}{found}")
    options = nw_options(
        scoring=checked_scoring(scoring, metric=metric).options(),
        thresholds=pair_thresholds(min_score, min_identity, min_coverage, max_distance, coverage_of),
        end_gaps=end_gaps,
        strand=strand,
        identity_def=identity_def,
        ambiguous=ambiguous,
        same=same,
        alleles=alleles,
        resources=make_resources(device, threads, memory, executor),
    )
    job, filter = _prepare_filtered_job(seqs, targets, options, group_pair_selector(groups, between, within, options), Detail.SCORE)
    i, j, values = passing_pairs(job, filter, options.identity_def, _reporter(job, progress))
    return Pairs(i, j, values, list(job.task.queries.ids), list(job.task.targets.ids), names[0].partition("_")[2])


def iter_pairs(
    seqs: SequencesInput,
    targets: SequencesInput | None = None,
    scoring: Scoring | None = None,
    *,
    fields: Sequence[str] = ("query", "target", "score"),
    batch: int = 10_000,
    metric: str | None = None,
    max_distance: float | None = None,
    min_identity: float | None = None,
    min_score: int | None = None,
    min_coverage: float | None = None,
    coverage_of: str | None = None,
    groups: GroupsInput | None = None,
    between: bool = False,
    within: bool = False,
    same: str | Sequence[str] | None = None,
    alleles: bool = False,
    end_gaps: str = "penalised",
    strand: str | None = None,
    identity_def: int = DEFAULT_DEFINITION,
    ambiguous: str | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: int | None = None,
    executor: Executor | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[Table]:
    """Align every pair globally, or only the pairs that may pass the thresholds, and yield tables of up to `batch` pairs, in input order.
    Only a few tables are held in memory at the same time.

    seqs: one set, in which each pair is aligned once (i < j), or the queries to compare with `targets`
    targets: second set; None: `seqs` is compared with itself
    scoring: letter scores and gap costs; None: the defaults for the alphabet
    fields: column names, as for `gpualign nw --fields`: "identity", "cigar" and so on
    batch: maximum number of rows per table
    metric: "edit", "hamming", "tcrdist" or "align_distance", as for `pairs`
    max_distance, min_identity, min_score, min_coverage, coverage_of: thresholds as for `pairs`; none, one or several
    groups, between, within: groups of the records, and which pairs are aligned according to them, as for `pairs`
    same, alleles: columns in which records must agree, as for `pairs`
    end_gaps: which end gaps are free: "penalised" (none), "free" (all), "query" (gaps in the query) or "target"
    strand: for DNA only: "both" (the better strand for each pair) or "plus" (default)
    identity_def: identity definition, numbered 0 to 4 as in vsearch
    ambiguous: how ambiguity letters count in identities: "compatible", "unequal" or "skip", as for `nw`
    device: "auto", "cpu", "cuda", "all", ...
    threads: CPU threads
    memory: bytes of memory for work, in addition to the sequences and results
    executor: executor whose workers do the computing, as for `nw`
    progress: called with (DP cells done, total)

    Yields a `Table` per batch. Closing the iterator stops all workers.
    Raises the same errors as `pairs`; bad arguments are reported immediately, not when the first table is requested.

    >>> for table in iter_pairs(["ACGT", "AGT"], fields=["query", "target", "cigar"]):
    ...     print(list(table))
    [{'query': '0', 'target': '1', 'cigar': '1=1I2='}]
    """
    names = ",".join(checked_names("fields", fields, "columns"))
    costs = checked_scoring(scoring, metric=metric).options()
    columns = parse_fields(names, edit_distance=costs.edit)
    if lacking := sorted(description_fields(names)):
        raise InputError(f"fields: {lacking[0]} needs a file; sequences in memory have no descriptions")
    if checked_count("batch", batch, 1) is None:
        raise InputError("batch None: expected a whole number")
    options = nw_options(
        scoring=costs,
        thresholds=pair_thresholds(min_score, min_identity, min_coverage, max_distance, coverage_of),
        end_gaps=end_gaps,
        strand=strand,
        identity_def=identity_def,
        ambiguous=ambiguous,
        same=same,
        alleles=alleles,
        resources=make_resources(device, threads, memory, executor),
    )
    select_groups = group_pair_selector(groups, between, within, options)
    job, filter = _prepare_filtered_job(seqs, targets, options, select_groups, detail_of(columns))
    blocks = result_blocks(job, options.identity_def, _reporter(job, progress))

    def tables() -> Iterator[Table]:
        waiting: list[dict[str, Any]] = []  # pieces of the next table, which has room for `room` more rows
        room = batch
        with closing_iterator(blocks):
            for block in blocks:
                mask = filter.mask(block)
                rows_by_column = {column.name: column.values_to_write(block, mask) for column in columns}
                start, rows = 0, len(rows_by_column[columns[0].name])
                while start < rows:
                    stop = min(start + room, rows)
                    waiting.append({name: values[start:stop] for name, values in rows_by_column.items()})
                    room -= stop - start
                    start = stop
                    if not room:
                        yield Table(join_columns(waiting, columns, job.task))
                        waiting, room = [], batch
        if waiting:
            yield Table(join_columns(waiting, columns, job.task))

    return tables()


def nw_options(
    *,
    identity_def: int,
    strand: str | None,
    ambiguous: str | None,
    end_gaps: str = "penalised",
    same: str | Sequence[str] | None = None,
    alleles: bool = False,
    **others: Any,
) -> NwOptions:
    """Return options of `nw` with these values. Each argument has the name of its option. Raises `InputError` for words that are not among
    the choices of an option, and for an unknown identity definition."""
    checked_choice("end_gaps", end_gaps, (one.value for one in EndGaps))
    if strand is not None:
        checked_choice("strand", strand, (PLUS, BOTH))
    if ambiguous is not None:
        checked_choice("ambiguous", ambiguous, (one.value for one in AmbiguityRule))
    definition = checked_identity_definition(identity_def)
    return NwOptions(
        identity_def=definition,
        strand=strand,
        ambiguous=ambiguous,
        end_gaps=end_gaps,
        alleles=checked_flag("alleles", alleles),
        read_options=replace(READ_DEFAULTS, columns=replace(READ_DEFAULTS.columns, same=checked_titles("same", same))),
        **others,
    )


def pair_thresholds(
    min_score: int | None, min_identity: float | None, min_coverage: float | None, max_distance: float | None, coverage_of: str | None
) -> PairThresholds:
    """Return the thresholds. Raises `InputError` for anything but numbers and None, and for an unknown `coverage_of`."""
    if coverage_of is not None:
        checked_choice("coverage_of", coverage_of, (one.value for one in CoveredSequence))
    return PairThresholds(
        checked_score("min_score", min_score),
        checked_fraction("min_identity", min_identity),
        checked_fraction("min_coverage", min_coverage),
        checked_fraction("max_distance", max_distance),
        coverage_of=coverage_of,
    )


def _prepare_filtered_job(
    seqs: SequencesInput,
    targets: SequencesInput | None,
    options: NwOptions,
    groups: Callable[[Inputs], GroupPairSelector | None],
    detail: Detail,
) -> tuple[PairJob, Filter]:
    """Return the job for the pairs that may pass the thresholds, and the filter that they must pass.

    groups: returns the pairs selected by group, or None for all pairs
    detail: results to compute for each alignment; `Detail.SCORE`: what the filter needs, at least the score
    """
    filter = options.make_filter()
    inputs = encode_inputs(seqs, targets, options.resources.host_threads, options.read_options)
    filter = replace(filter, groups=groups(inputs))
    detail = filter.detail if detail is Detail.SCORE else detail
    return prepare_filtered(inputs, options, filter, detail, Pairing.ABOVE, LOG), filter


def _reporter(job: PairJob, progress: ProgressCallback | None) -> ProgressReporter:
    reporter = ProgressReporter(progress)
    reporter.expect(job.total_work)
    return reporter
