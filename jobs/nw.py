"""Global alignment (Needleman-Wunsch) of every pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.ambiguity import AmbiguityRule, check_rule, count_ambiguity, default_rule
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Detail, EndGaps, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, TooLittleMemory, parameter
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.totals import Progress
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import BANDS_IN_FLIGHT, Pairing, Plan, row_bytes
from gpualign.core.results.blocks import NearPairBlock
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.listed_distances import ListedDistance
from gpualign.core.scoring.scoring import Scoring, ScoringOptions
from gpualign.core.scoring.tcrdist import MAX_DISTANCE
from gpualign.core.scoring.v_genes import VGenes
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.receptor_titles import V_CALL
from gpualign.core.sequences.strands_frames import BOTH
from gpualign.jobs.devices.memory import default_memory
from gpualign.jobs.devices.resources import AUTO, Resources
from gpualign.jobs.devices.selection import pick_near_pair_engine, pick_nw_engine, pick_pair_engine
from gpualign.jobs.every_pair import EveryPairJob, prepare_every_pair
from gpualign.jobs.options import OutputOptions, PairThresholds, check_strand
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.sequence_loading import Inputs, ReadOptions, scoring_of

if TYPE_CHECKING:
    from gpualign.core.alignment.pair_list import NearPairs
    from gpualign.core.execution.engine import PairAligningEngine
    from gpualign.core.scoring.edit_bounds import EditBound
    from gpualign.jobs.devices.selection import NearPairEngines
    from gpualign.jobs.job import PairJob
    from gpualign.jobs.near_pairs import NearPairJob

_RULE_DESCRIPTIONS = {
    AmbiguityRule.COMPATIBLE: "in identities they match what they may stand for",
    AmbiguityRule.SKIP: "identities leave out columns with one",
}


@dataclass(frozen=True)
class NwOptions:
    """Options of `nw`, as given; None: not given.

    scoring: scoring options, or a ready-made scoring
    with_self: whether, within one set, each record is also aligned with itself
    between, within: whether to align only pairs between different record groups, or within the same group
    alleles: whether records must have the same alleles, not only the same genes, in columns of gene calls (`TableColumns.same`)
    end_gaps: "penalised", "free", "query" or "target"
    strand: "plus", or "both" to report each pair's better-scoring strand
    identity_def: identity definition number, see core/alignment/identity.py
    ambiguous: how ambiguity letters count in identities: "unequal", "compatible" or "skip"
    kernel: "auto", or a kernel of Li et al. (2013)
    transfer: how the matrices of these kernels are copied back to the host
    traceback: where paths of alignments on a GPU are traced, "device" or "host"
    """

    scoring: ScoringOptions | Scoring = field(default_factory=ScoringOptions)
    read_options: ReadOptions = field(default_factory=ReadOptions)
    thresholds: PairThresholds = field(default_factory=PairThresholds)
    output_options: OutputOptions = field(default_factory=OutputOptions)
    resources: Resources = field(default_factory=Resources)
    with_self: bool = False
    between: bool = False
    within: bool = False
    alleles: bool = False
    end_gaps: str = EndGaps.PENALISED.value
    strand: str | None = None
    identity_def: int = DEFAULT_DEFINITION
    ambiguous: str | None = None
    kernel: str = AUTO
    transfer: str | None = None
    traceback: str = "device"

    @property
    def ambiguity_rule(self) -> AmbiguityRule | None:
        """Rule for ambiguity letters; None: the alphabet's default."""
        return None if self.ambiguous is None else AmbiguityRule(self.ambiguous)

    def make_filter(self, same_set: bool = False) -> Filter:
        """Return the conditions for pairs. same_set: whether query i and target i are the same record. Raises `InputError` for options that
        contradict each other, and for thresholds out of range."""
        check_rule(self.ambiguity_rule, self.identity_def)
        return self.thresholds.make_filter(self.scoring.edit, same_set)


def prepare(
    inputs: Inputs, options: NwOptions, detail: Detail, pairing: Pairing, reporter: Reporter = SILENT_REPORTER, engine: Engine | None = None
) -> EveryPairJob:
    """Plan the alignment of every pair.

    detail: results to compute for each alignment
    pairing: which pairs to align, within one set or between one set and added records
    engine: used instead of the engine that the options select

    Raises `InputError` if the sequences do not fit the scoring, `RunError` if there is not enough memory or a device is missing.
    """
    task, pairing, engine = _prepare_task(inputs, options, detail, pairing, reporter, engine)
    return prepare_every_pair(task, pairing, engine, options.resources, reporter, f"{task.scoring.name}; ")


def prepare_filtered(
    inputs: Inputs,
    options: NwOptions,
    filter: Filter,
    detail: Detail,
    pairing: Pairing,
    reporter: Reporter = SILENT_REPORTER,
    comparing_format: str | None = None,
    for_centroids: bool = False,
) -> PairJob:
    """Plan the pairs that may pass the filter. If its thresholds do not bound the edit distance, every pair is planned.

    comparing_format: the output format, if it compares all pairs of a query (`RowComparison`)
    for_centroids: whether pairs without a greedy centroid may be left out

    Other parameters and errors as for `prepare`.
    """
    task, pairing, chosen = _prepare_task(inputs, options, detail, pairing, reporter)
    prefix = f"{task.scoring.name}; "
    if filter.max_distance == 1:
        reporter.warn(
            f"{parameter('max_distance', 1)} is 1 - identity, so pairs of any identity pass; for at most 1 edit add {parameter('edit')},"
            f" for at most 1 unequal letter {parameter('hamming')}"
        )
    may_skip_pairs = filter != Filter() and options.kernel == AUTO
    if may_skip_pairs:
        from gpualign.core.near_pairs.thresholds import edit_bound
        from gpualign.jobs.near_pairs import excludes_pairs, prepare_near_pair_job

        def plan_near(bound: EditBound, reporter: Reporter = SILENT_REPORTER) -> NearPairJob:
            engines = _near_pair_engines(task, chosen, options.resources, reporter)
            return prepare_near_pair_job(task, bound, pairing, engines, options.resources, reporter, prefix)

        bound = edit_bound(filter, task, options.identity_def)
        if bound is not None and (task.scoring.listed_distance is not None or excludes_pairs(task, bound)):
            return replace(plan_near(bound, reporter), groups=filter.groups)
    every = prepare_every_pair(task, pairing, chosen, options.resources, reporter, prefix, filter.groups)
    if may_skip_pairs:
        from gpualign.jobs.every_pair_subset import compares_centroids
        from gpualign.jobs.threshold_advice import explain_full_alignment

        only_centroids = for_centroids and compares_centroids(every)
        if advice := explain_full_alignment(every, filter, options.identity_def, plan_near, only_centroids):
            reporter.note(advice)
    if filter.nearest_count is not None:
        _check_whole_rows(every.plan, parameter("nearest"))
    elif comparing_format is not None:
        _check_whole_rows(every.plan, parameter("format", comparing_format))
    return every


def _check_whole_rows(plan: Plan, option: str) -> None:
    """Raise `TooLittleMemory` if the bands of a plan hold only some of the pairs of a query: the best cannot be chosen from a subset.

    option: the option that compares all pairs of a query
    """
    if plan.targets_per_band < plan.target_count:
        needed = BANDS_IN_FLIGHT * row_bytes(plan.limits, plan.query_lengths, plan.target_lengths, plan.target_count)
        raise TooLittleMemory(
            f"the memory budget is too small: {option} compares all pairs of a query, whose results need {needed:,} bytes of"
            f" it, {plan.limits.result_bytes:,} are left",
            needed,
            available_bytes=plan.limits.result_bytes,
        )


def _prepare_task(
    inputs: Inputs, options: NwOptions, detail: Detail, pairing: Pairing, reporter: Reporter, engine: Engine | None = None
) -> tuple[Task, Pairing, Engine]:
    """Return (task, pairing, engine) for a run, after checking the strand and the scoring."""
    o = options
    scoring = o.scoring
    if isinstance(scoring, ScoringOptions):
        scoring = scoring_of(inputs, scoring)
    reporter.note(f"{inputs.alphabet.name} ({inputs.alphabet_reason}), {scoring.name}")
    if scoring.listed_distance is not None:
        _check_listed_distance(o, scoring.listed_distance, detail)
    if scoring.v_genes is not None:
        _report_v_genes(inputs, scoring.v_genes, reporter)
    check_strand(o.strand, inputs.alphabet)
    if both := o.strand == BOTH:
        check_complements(scoring, inputs.alphabet)
    ends = EndGaps(o.end_gaps)
    task = Task(inputs.queries, inputs.targets, scoring, detail=detail, end_gaps=ends, alphabet=inputs.alphabet, both_strands=both)
    task = _with_ambiguity_rule(task, o.ambiguity_rule, inputs.has_added, o.resources.host_threads, reporter)
    if engine is None and scoring.listed_distance is not None and _compares_columns(task, o.thresholds.max_distance):
        from gpualign.jobs.devices.local_engines import cpu_engine

        if o.resources.device not in (AUTO, "cpu") or o.resources.executor is not None:
            name, is_for_all = parameter(scoring.listed_distance.value), scoring.listed_distance is ListedDistance.TCRDIST
            limited = name if is_for_all else f"{name} up to this distance"
            reporter.note(f"{limited} has a kernel for CPUs alone; the CPU of this machine computes it")
        engine = cpu_engine(o.resources)
    if engine is None:
        engine = pick_nw_engine(o.resources, reporter, o.traceback == "host", o.kernel, o.transfer)
        if scoring.listed_distance is ListedDistance.ALIGNMENT:
            from gpualign.core.near_pairs.alignment_distance import AlignmentDistanceEngine

            engine = AlignmentDistanceEngine(engine)
    if both:
        from gpualign.core.execution.both_strands import with_both_strands

        engine = with_both_strands(engine)
    return task, pairing if inputs.one_set or inputs.has_added else Pairing.ALL, engine


def _with_ambiguity_rule(task: Task, rule: AmbiguityRule | None, has_added: bool, threads: int, reporter: Reporter) -> Task:
    """Return the task with a rule for ambiguity letters, and report how many records have such letters. If there are none, or if only
    scores are computed, the task is returned unchanged.

    rule: rule for ambiguity letters; None: the alphabet's default
    has_added: whether the queries are among the targets
    threads: maximum number of threads for counting
    """
    if task.detail is Detail.SCORE:
        return task
    ambiguous = count_ambiguity(rule or default_rule(task.alphabet), task.alphabet, task.queries, task.targets, threads)
    if ambiguous is None:
        return task
    counts = [ambiguous.target_counts] if has_added or task.targets is task.queries else [ambiguous.query_counts, ambiguous.target_counts]
    ambiguous_records, records = (f"{sum(numbers):,}" for numbers in ([np.count_nonzero(one) for one in counts], map(len, counts)))
    reporter.note(
        f"{ambiguous_records} of {records} records have ambiguity letters; {_RULE_DESCRIPTIONS[ambiguous.rule]} ({ambiguous.rule.option})"
    )
    return replace(task, detail=Detail.PATH, ambiguity=ambiguous)


def _compares_columns(task: Task, max_distance: float | None) -> bool:
    """Return whether near pairs are found by comparing columns, for which there is a kernel for CPUs."""
    if task.scoring.listed_distance is ListedDistance.TCRDIST:
        return True
    if task.scoring.listed_distance is not ListedDistance.ALIGNMENT:
        return False
    from gpualign.core.scoring.alignment_distance import column_filter

    assert max_distance is not None  # it has been checked
    return column_filter(int(max_distance), task.scoring.of_alignments, task.queries, task.targets) is not None


def _check_listed_distance(options: NwOptions, listed: ListedDistance, detail: Detail) -> None:
    """Raise `InputError` for options that do not go with distances that near pairs have without an alignment in the output."""
    name, farthest = parameter(listed.value), options.thresholds.max_distance
    if farthest is None:
        raise InputError(f"{name} finds the pairs within a distance; give {parameter('max_distance')} too, say {listed.usual_threshold}")
    if listed is ListedDistance.TCRDIST and farthest > MAX_DISTANCE:
        raise InputError(f"{name}: expected {parameter('max_distance')} of at most {MAX_DISTANCE}; found {farthest:g}")
    if listed is ListedDistance.ALIGNMENT:
        does, other = "lists distances without alignments", "a run without it"
    else:
        does, other = "compares letters without aligning them", parameter("edit")
    if detail is not Detail.SCORE:
        raise InputError(f"{name} {does}; identities, coverages and CIGARs need {other}")
    for conflicting, conflicts in {
        parameter("strand", BOTH): options.strand == BOTH,
        parameter("end_gaps", options.end_gaps): options.end_gaps != EndGaps.PENALISED.value,
        parameter("kernel", options.kernel): options.kernel != AUTO,
    }.items():
        if conflicts:
            raise InputError(f"{name} {does}; it cannot be combined with {conflicting}")


def _report_v_genes(inputs: Inputs, v_genes: VGenes, reporter: Reporter) -> None:
    """Report how many records have no known V gene. Raises `InputError` if records have no calls of V genes."""
    for records in [inputs.queries] if inputs.one_set else [inputs.queries, inputs.targets]:
        if V_CALL not in records.annotations:
            raise InputError(
                f"{parameter('v_genes')} needs a table of receptors with a column of V genes, such as v_call; {records.source} is not one"
            )
        if unknown := v_genes.unknown_count(records.annotations[V_CALL]):
            reporter.note(f"{unknown:,} of {len(records):,} records have no V gene of {v_genes.source}, and are near no other")


def check_complements(scoring: Scoring, alphabet: Alphabet) -> None:
    """Raise `InputError` if a matrix scores complements differently from the letters themselves. With such a matrix, the better strand of a
    pair would depend on which record is reverse-complemented."""
    codes = [alphabet.letters.index(letter) for letter in "ACGT"]
    complements = alphabet.complement()[codes]
    scores, complement_scores = scoring.substitution[np.ix_(codes, codes)], scoring.substitution[np.ix_(complements, complements)]
    if len(different := np.argwhere(scores != complement_scores)):
        one, other = different[0].tolist()
        raise InputError(
            f"{parameter('strand', BOTH)} needs a matrix that scores complements alike; by {scoring.name} {'ACGT'[one]} with"
            f" {'ACGT'[other]} scores {scores[one, other]} and their complements {complement_scores[one, other]}"
        )


def align_listed_pairs(task: Task, pairs: Sequence[NearPairs], options: NwOptions, progress: Progress) -> Iterator[NearPairBlock]:
    """Yield lists of pairs with their alignments, which the CPU computes.

    task: a task of `prepare` or `prepare_filtered`, without a listed distance
    pairs: the lists; their distances do not matter

    Raises `RunError` if there is not enough memory.
    """
    from gpualign.core.execution.both_strands import with_both_strands
    from gpualign.jobs.devices.local_engines import cpu_engine

    engine: PairAligningEngine = cpu_engine(options.resources)
    if task.both_strands:
        engine = with_both_strands(engine)
    with closing(engine.prepare_pair_aligner(task, Budget.from_total(options.resources.memory or default_memory()))) as aligner:
        for some in pairs:
            yield NearPairBlock(task, options.identity_def, some, aligner.align_pairs(some))
            progress.advance(int((task.queries.lengths[some.queries] * task.targets.lengths[some.targets]).sum()))


def _near_pair_engines(task: Task, chosen: Engine, resources: Resources, reporter: Reporter) -> NearPairEngines:
    """Return the engines for finding near pairs and aligning them."""
    from gpualign.jobs.devices.selection import NearPairEngines

    if not task.both_strands:
        aligner = pick_pair_engine(resources, chosen, reporter)
        if task.scoring.listed_distance is ListedDistance.ALIGNMENT:
            from gpualign.core.near_pairs.alignment_distance import AlignmentDistanceEngine

            aligner = AlignmentDistanceEngine(aligner)
        return NearPairEngines(chosen, pick_near_pair_engine(resources, chosen), aligner)
    from gpualign.core.execution.both_strands import with_both_strands

    one_strand = with_both_strands(chosen).inner
    return NearPairEngines(
        chosen,
        with_both_strands(pick_near_pair_engine(resources, one_strand)),
        with_both_strands(pick_pair_engine(resources, one_strand, reporter)),
    )
