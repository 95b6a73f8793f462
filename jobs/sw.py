"""Exhaustive local search (Smith-Waterman) for hits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from gpualign.core.alignment.hits import HitBatch, Hits
from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Mode, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, TooLittleMemory, parameter
from gpualign.core.common.iterators import closing_iterator
from gpualign.core.common.parameter_fractions import check_fraction
from gpualign.core.common.threads import map_ahead
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.totals import ExtendableProgress, Totals
from gpualign.core.output.pairs import FilteredBlocks
from gpualign.core.results.filter import Filter
from gpualign.core.results.hit_blocks import HitBlock
from gpualign.core.scoring import composition
from gpualign.core.scoring.composition import MatrixModel
from gpualign.core.scoring.evalues import EvalueParameters, SearchSpace, published_parameters
from gpualign.core.scoring.masking import NONE, check_method, masking_method
from gpualign.core.scoring.scoring import Scoring, ScoringOptions
from gpualign.core.search.hit_selection import NOTABLE_EVALUE, HitFilter, HitSelector, SuppressedHitCounts
from gpualign.core.search.runner import SearchPlan, find_hits, plan_search
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.strands_frames import BOTH, PLUS, QueryTargetFrames, make_strands, untranslated_frames
from gpualign.core.sequences.translation import STANDARD_CODE
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.jobs.devices.local_engines import cpu_engine
from gpualign.jobs.devices.memory import default_memory, remaining_memory
from gpualign.jobs.devices.resources import AUTO, Resources
from gpualign.jobs.devices.selection import pick_sw_engine
from gpualign.jobs.every_pair import count_sequences, describe_plan, describe_work
from gpualign.jobs.hit_alignment import AlignedHits, HitAligner
from gpualign.jobs.job import DescriptionRows, WorkPerQuery
from gpualign.jobs.options import OutputOptions, check_strand, check_with_self
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter
from gpualign.jobs.search_masking import MaskingMethods, mask_task
from gpualign.jobs.sequence_loading import Inputs, ReadOptions, scoring_of

if TYPE_CHECKING:
    from gpualign.jobs.translated_search import TranslatedInputs

DEFAULT_MAX_HITS = 25
_BATCHES_AT_ONCE = 3  # batches of hits that are scored at the same time, and batches that are aligned at the same time
_BATCHES_AHEAD = 3
_MIN_CONCURRENT_MEMORY = 128 << 20
"""Minimum memory for tracing hits, in bytes, with which several batches are scored or aligned at the same time."""

_TRACE_DIVISOR = 4
"""The memory that remains after the sequences is divided by this number; one such part is for tracing hits."""


@dataclass(frozen=True)
class SwOptions:
    """Options of `sw`, as given; None: not given.

    scoring: scoring options, or a ready-made scoring
    strand: "plus", "minus" or "both"
    translate: which nucleotides to search as proteins: "query", "target" or "both"
    genetic_code: NCBI genetic code number
    with_self: whether, within one set, hits between a record and itself are also reported
    mask, mask_target: how low-complexity parts of the queries and of the targets are masked: "seg", "dust" or "none"
    composition: how scores are adjusted to the compositions of proteins: "adjust", "scale" or "none"
    evalue: source of the parameters of E-values: "table" or "estimate"; "none": no E-values
    evalue_letters: number of letters of the database on which E-values are based; None: that of the targets
    identity_def: identity definition number, see core/alignment/identity.py
    max_hsps: maximum number of alignments of a query with a target, which share no pair of letters
    no_traceback: whether hits are reported without alignments
    kernel: "auto", or a kernel of Munekawa et al. (2008)
    """

    scoring: ScoringOptions | Scoring = field(default_factory=ScoringOptions)
    read_options: ReadOptions = field(default_factory=ReadOptions)
    output_options: OutputOptions = field(default_factory=OutputOptions)
    resources: Resources = field(default_factory=Resources)
    strand: str | None = None
    translate: str | None = None
    genetic_code: int | None = None
    with_self: bool = False
    mask: str | None = None
    mask_target: str | None = None
    composition: str | None = None
    evalue: str | None = None
    evalue_letters: int | None = None
    max_hits: int | None = None
    min_score: int | None = None
    max_evalue: float | None = None
    min_identity: float | None = None
    identity_def: int = DEFAULT_DEFINITION
    max_hsps: int = 1
    no_traceback: bool = False
    kernel: str = AUTO

    def make_hit_filter(self, one_set: bool) -> HitFilter:
        """Return the conditions for hits. Raises `InputError` for options that contradict each other, and for thresholds out of range."""
        check_with_self(self.with_self, one_set)
        if self.genetic_code is not None and self.translate is None:
            raise InputError(f"{parameter('genetic_code')} needs {parameter('translate')}, which says what to translate")
        check_fraction("min_identity", self.min_identity)
        for name in ("max_evalue", "evalue_letters"):
            if getattr(self, name) is not None and self.evalue == "none":
                raise InputError(f"{parameter(name)} needs E-values")
        if self.composition not in (None, composition.NONE) and self.evalue == "none":
            raise InputError(f"{parameter('composition', self.composition)} needs E-values")
        if self.max_evalue is not None and not self.max_evalue >= 0:
            raise InputError(f"{parameter('max_evalue')}: expected 0 or more; found {self.max_evalue:g}")
        if self.no_traceback and self.min_identity is not None:
            raise InputError(f"{parameter('min_identity')} needs alignments; it cannot be combined with {parameter('no_traceback')}")
        if self.no_traceback and self.max_hsps > 1:
            raise InputError(f"{parameter('max_hsps')} needs alignments; it cannot be combined with {parameter('no_traceback')}")
        min_score = 1 if self.min_score is None else self.min_score
        without_self = one_set and not self.with_self
        return HitFilter(
            self.max_hits_per_query, min_score, self.max_evalue, without_self, Filter(min_identity=self.min_identity), self.max_hsps
        )

    @property
    def has_threshold(self) -> bool:
        """True if a threshold selects the hits to report; otherwise a fixed number of best hits is reported."""
        return not (self.min_score is None and self.max_evalue is None and self.min_identity is None)

    @property
    def max_hits_per_query(self) -> int | None:
        """Maximum number of hits reported per query; None: all that pass the thresholds."""
        if self.max_hits is None:
            return None if self.has_threshold else DEFAULT_MAX_HITS
        return self.max_hits


@dataclass
class SearchTotals(Totals):
    """Totals of a search.

    suppressed: counts of queries with more hits than the limit allows
    hit_count: number of reported hits
    """

    suppressed: SuppressedHitCounts
    hit_count: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Counts that checkpoints record."""
        more = self.suppressed
        return {"hits": self.hit_count, "queries_with_more_hits": more.query_count, "notable": more.notable_query_count or 0}

    def add_earlier(self, counts: Mapping[str, int]) -> None:
        """Add the `counts` of the earlier runs that this run resumes; {}: this run resumes none."""
        self.hit_count += counts.get("hits", 0)
        self.suppressed.query_count += counts.get("queries_with_more_hits", 0)
        if self.suppressed.notable_query_count is not None:
            self.suppressed.notable_query_count += counts.get("notable", 0)

    @property
    def summary_values(self) -> dict[str, object]:
        return {**super().summary_values, "hits": self.hit_count, "queries_with_more_hits": self.suppressed.query_count}


def make_local_task(inputs: Inputs, scoring: ScoringOptions | Scoring, reporter: Reporter) -> Task:
    """Return the local-alignment task. Raises `InputError` if the sequences do not fit the scoring."""
    if isinstance(scoring, ScoringOptions):
        scoring = scoring_of(inputs, scoring, local=True)
    reporter.note(f"{inputs.alphabet.name} ({inputs.alphabet_reason}), {scoring.name}")
    return Task(inputs.queries, inputs.targets, scoring, Mode.LOCAL, alphabet=inputs.alphabet)


def check_strand_and_masks(task: Task, strand: str | None, options: SwOptions) -> None:
    """Raise `InputError` if the strand or a masking method of the options does not fit the alphabet."""
    check_strand(strand, task.alphabet)
    check_method(options.mask or NONE, task.alphabet)
    check_method(options.mask_target or NONE, task.alphabet, "mask_target")


@dataclass(frozen=True)
class SearchJob:
    """A planned search.

    task: original sequences and scoring; in a translated search, some of the sequences are nucleotides
    needs_paths: whether the alignments of hits are computed
    search_plan: the search actually computed, with masked sequences in their strands or frames; if scores are adjusted, its hits are
        candidates
    filter: selects the hits to write
    matrix_model: model for adjusting scores to compositions; None: scores are not adjusted
    unmasked_queries, unmasked_targets: sequences of `search_plan` with their original letters, which the output shows and counts
    trace_memory: memory for tracing the paths of hits, in bytes
    work_unit: unit of `total_work`
    """

    task: Task
    options: SwOptions
    needs_paths: bool
    search_plan: SearchPlan
    filter: HitFilter
    matrix_model: MatrixModel | None
    unmasked_queries: SequenceSet
    unmasked_targets: SequenceSet
    engine: Engine
    trace_memory: int
    reporter: Reporter
    work_unit: ClassVar[str] = "cells"

    @property
    def sequence_count(self) -> int:
        """Number of records compared."""
        return count_sequences(self.task)

    @property
    def pair_count(self) -> int:
        """Number of pairs searched."""
        return self.search_plan.plan.pair_count

    @property
    def total_work(self) -> int:
        """Number of DP cells, not counting those of queries that are searched again."""
        return self.search_plan.plan.cells

    @property
    def hardware(self) -> str:
        return self.search_plan.prepared.hardware

    @property
    def kernel(self) -> str:
        return self.search_plan.prepared.kernel

    def describe(self) -> DescriptionRows:
        """Return the plan as rows, including a time estimate from a short measurement."""
        search, plan, reading_seconds = self.search_plan, self.search_plan.plan, None
        if (check := search.index_check) is not None:
            check.finish()
            if check.drops_pages:  # the letters are then read for each band of queries
                bands = plan.band_count // -(-plan.target_count // plan.targets_per_band)
                reading_seconds = bands * check.seconds
        return describe_plan(plan, search.prepared, self.engine, search.budget, reading_seconds=reading_seconds)

    @property
    def row_work(self) -> WorkPerQuery:
        """Approximate work for each record as a query: float64[records]."""
        cells: WorkPerQuery = self.search_plan.plan.row_cells.reshape(-1, self.search_plan.frame_sets.queries.sequences_per_record).sum(
            axis=1
        )
        return cells

    def for_queries(self, start: int, stop: int) -> SearchJob:
        """Return a job for only the records [start, stop) as queries."""
        return replace(self, search_plan=self.search_plan.slice(start, stop))

    def run(self, progress: ExtendableProgress) -> tuple[Iterator[FilteredBlocks], SearchTotals]:
        """Return (the hits of every query, in order, which are found as they are requested; the totals of what has been yielded so far).
        Closing the iterator stops all work. Raises `InputError` if requested E-values cannot be computed."""
        space, search = self._search_space(), self.search_plan
        selector = HitSelector(self._unmasked_task, search.frame_sets, self.filter, space)
        totals = SearchTotals(self.pair_count, self.total_work, selector.suppressed)
        return self._iterate_results(space, selector, progress, totals), totals

    def _iterate_results(
        self, space: SearchSpace | None, selector: HitSelector, progress: ExtendableProgress, totals: SearchTotals
    ) -> Iterator[FilteredBlocks]:
        search, task = self.search_plan, self._unmasked_task
        with ExitStack() as stack:
            if search.index_check is not None:
                stack.callback(search.index_check.close)
            aligner, call = None, cast("Callable[..., Iterator[Any]]", map)
            if self.needs_paths or self.matrix_model is not None:
                aligner = stack.enter_context(
                    HitAligner(search, task, self.filter, space, self.matrix_model, self._cpu_engine(), self.trace_memory)
                )
                if not isinstance(self.engine, CpuEngine) and self.trace_memory >= _MIN_CONCURRENT_MEMORY:
                    # The processors are idle otherwise, and threads that have finished their part of a batch continue with the next.
                    call = partial(map_ahead, ahead=_BATCHES_AHEAD, stop=aligner.close, threads=_BATCHES_AT_ONCE)
            found = stack.enter_context(closing_iterator(find_hits(search, space, self.engine, progress, totals)))

            def adjust(batch: HitBatch) -> HitBatch:
                return batch if aligner is None else replace(batch, hits=aligner.adjust(batch.hits))

            def parts() -> Iterator[Hits | int]:
                """Yield the hits of each batch in chunks, and then its `record_stop`."""
                for batch in call(adjust, found):
                    yield from selector.chunks(batch.hits)
                    yield batch.record_stop

            def align(part: Hits | int) -> tuple[FilteredBlocks, int]:
                """Return (blocks, number of hits)."""
                if isinstance(part, int):
                    return FilteredBlocks([], part), 0
                aligned = aligner.align(part) if aligner is not None and self.needs_paths else AlignedHits.without_paths(part)
                block = HitBlock(
                    task, self.options.identity_def, search.frame_sets, aligned.hits, space, aligned.paths, aligned.hsp_numbers
                )
                mask = self.filter.pair_filter.mask(block)
                return FilteredBlocks([(block, mask)]), len(aligned.hits) if mask is None else int(mask.sum())

            for blocks, hit_count in call(align, parts()):
                totals.hit_count += hit_count
                yield blocks
            if search.index_check is not None:
                search.index_check.refuse_changes()

    @property
    def _unmasked_task(self) -> Task:
        return replace(self.search_plan.task, queries=self.unmasked_queries, targets=self.unmasked_targets.scattered)

    def _cpu_engine(self) -> CpuEngine:
        """Return the engine for the work that every search does on the CPU."""
        return self.engine if isinstance(self.engine, CpuEngine) else cpu_engine(self.options.resources)

    def _search_space(self) -> SearchSpace | None:
        """Return the search space for E-values, based on the original sequences and scoring, and report the source of its parameters.
        Returns None if there are no E-values."""
        o, task, frame_sets = self.options, self.task, self.search_plan.frame_sets
        if o.evalue == "none":
            return None
        parameters: EvalueParameters | None = None if o.evalue == "estimate" else published_parameters(task.scoring)
        if o.evalue == "table" and parameters is None:
            table, estimate = parameter("evalue", "table"), parameter("evalue", "estimate")
            raise InputError(f"{table}: BLAST's tables do not have {task.scoring.name}; {estimate} simulates")
        if parameters is None:
            from gpualign.core.search.evalue_estimation import letter_frequencies, simulate_parameters
            from gpualign.cpu.alignment.score_simulation import CpuSimulator

            frequencies = letter_frequencies(self.unmasked_targets, task.alphabet.unambiguous_count)
            parameters = simulate_parameters(task.scoring, frequencies, CpuSimulator(task.scoring, task.alphabet, self._cpu_engine()))
        if parameters is None:
            if o.max_evalue is not None:
                raise InputError(
                    f"{parameter('max_evalue')}: with {task.scoring.name} scores have no E-values, because those of"
                    " random sequences are not rare"
                )
            self.reporter.note(f"no E-values: with {task.scoring.name} the scores of random sequences grow as fast as their length")
            return None
        adjusted = "" if self.matrix_model is None else "; scores are adjusted to the composition of each pair"
        self.reporter.note(f"E-values by {parameters.source}: lambda {parameters.lambda_:.4g}, K {parameters.k:.3g}{adjusted}")
        space = SearchSpace(parameters, frame_sets.targets.evalue_letters, len(task.targets), frame_sets.strand_count)
        return space if o.evalue_letters is None else space.with_letter_count(frame_sets.targets.evalue_letter_count(o.evalue_letters))


_MAX_FILE_MEMORY_RATIO = 4
"""Size of a database file, relative to the memory for the run, above which it is refused without being read. Most of a smaller file might
be titles and qualities, which take no memory."""


def check_database_size(paths: Sequence[str], options: SwOptions) -> None:
    """Raise `TooLittleMemory` if the files of a database, which would be read into memory, are much larger than the memory for the run.

    paths: paths of files that are not indexes; sizes of pipes and other special files are unknown
    """
    memory = options.resources.memory or default_memory()
    size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    if size > _MAX_FILE_MEMORY_RATIO * memory:
        others = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        problem = f"{paths[0]}{others}: {size:,} bytes are too much to be read into {memory:,} bytes of memory"
        raise TooLittleMemory(problem, size, _memory_advice(options))


def _memory_advice(options: SwOptions) -> str:
    """Return what the user can do if a database does not fit in memory."""
    advice = f"raise {parameter('memory')}"
    if options.translate in ("target", "both"):
        return advice  # translations are made in memory, even those of an index
    return f"{advice}, or search an index, which stays on disk: gpualign index makes it"


def prepare(
    inputs: Inputs, options: SwOptions, reporter: Reporter = SILENT_REPORTER, engine: Engine | None = None, needs_paths: bool = True
) -> SearchJob:
    """Plan a search.

    engine: used instead of the engine that the options select
    needs_paths: whether the alignments of hits are computed

    Raises `InputError` if the sequences do not fit the options, `RunError` if there is not enough memory or a device is missing.
    """
    o = options
    translated = None
    if o.translate is not None:
        from gpualign.jobs.translated_search import translate_inputs

        translated = translate_inputs(inputs, o.translate, o.genetic_code or STANDARD_CODE, o.strand, reporter)
    task = make_local_task(inputs if translated is None else translated.searched, o.scoring, reporter)
    check_strand_and_masks(task, None if translated else o.strand, o)
    if engine is None:
        engine = pick_sw_engine(o.resources, reporter, o.kernel)
    filter = o.make_hit_filter(inputs.one_set)
    needs_paths |= filter.max_hsps > 1
    model = _matrix_model(task, o)
    method = o.mask or (NONE if o.evalue == "none" or (model is not None and translated is None) else masking_method(task.alphabet))
    if not _reads_letters_by_tile(o):
        inputs.finish_check()
    if (o.mask_target or NONE) != NONE:
        remaining_memory(task, o.resources.memory, task.targets.codes.nbytes)  # a masked index is held in memory: refuse before it is made
    masked = mask_task(
        task,
        MaskingMethods(method, o.mask_target or NONE),
        reporter,
        queries_per_record=1 if translated is None else translated.frames.queries.sequences_per_record,
        targets_per_record=1 if translated is None else translated.frames.targets.sequences_per_record,
        already_masked=inputs.is_masked,
        threads=o.resources.host_threads,
    )
    frame_sets, unmasked_queries = _masked_frame_sets(task, masked, translated, o.strand)
    unmasked_targets, held = task.targets, 0
    if translated is not None:
        held = translated.held_bytes
        task = replace(task, queries=translated.original.queries, targets=translated.original.targets)
    if unmasked_queries is not frame_sets.queries.sequences:
        held += unmasked_queries.codes.nbytes
    if unmasked_targets is not frame_sets.targets.sequences:
        held += unmasked_targets.memory_bytes
    is_indexed = inputs.targets.known_file_positions is not None  # even if only a part of the index, in memory, is searched
    advice = f"raise {parameter('memory')}" if inputs.one_set or is_indexed else _memory_advice(o)
    left = remaining_memory(replace(masked, queries=frame_sets.queries.sequences), o.resources.memory, held, advice)
    candidates = filter if model is None else filter.candidate_filter()
    index_check = inputs.index_check if masked.targets.is_mapped else None  # if targets are in memory, it has been finished
    search = replace(plan_search(masked, frame_sets, candidates, engine, left - left // _TRACE_DIVISOR), index_check=index_check)
    reporter.detail(describe_work(search.prepared, search.plan))
    return SearchJob(
        task, o, needs_paths, search, filter, model, unmasked_queries, unmasked_targets, engine, left // _TRACE_DIVISOR, reporter
    )


def _masked_frame_sets(
    task: Task, masked: Task, translated: TranslatedInputs | None, strand: str | None
) -> tuple[QueryTargetFrames, SequenceSet]:
    """Return (strands or frames of the masked sequences, the same strands or frames of the queries with their original letters).

    task, masked: task before and after masking; in a translated search, its sequences are already translations
    strand: strand of untranslated queries; None: both for DNA
    """
    if translated is not None:
        queries, targets = translated.frames.queries, translated.frames.targets
        return QueryTargetFrames(replace(queries, sequences=masked.queries), replace(targets, sequences=masked.targets)), task.queries
    strand = strand or (BOTH if task.alphabet.name == "dna" else PLUS)
    frame_sets = QueryTargetFrames(make_strands(masked.queries, task.alphabet, strand), untranslated_frames(masked.targets))
    if masked.queries is task.queries:
        return frame_sets, frame_sets.queries.sequences
    return frame_sets, make_strands(task.queries, task.alphabet, strand).sequences


def _reads_letters_by_tile(options: SwOptions) -> bool:
    """Return whether a search reads the letters of targets only as its tiles are computed, in this process. An index can then be checked
    meanwhile."""
    o = options
    is_local = o.kernel == AUTO and o.resources.executor is None
    return is_local and (o.mask_target or NONE) == NONE and not o.output_options.resume and o.output_options.shard is None


def _matrix_model(task: Task, options: SwOptions) -> MatrixModel | None:
    """Return the model for adjusting scores to compositions, or None if scores are not adjusted. Raises `InputError` if the scoring does
    not fit the method that is asked for."""
    method = options.composition
    if method is None:
        # BLAST adjusts no scores of two translations either.
        adjusts = task.alphabet.name == "protein" and options.evalue != "none" and options.translate != "both"
        return composition.matrix_model(task.scoring, composition.ADJUST) if adjusts else None
    composition.check_composition(method, task.scoring, task.alphabet)
    return None if method == composition.NONE else composition.matrix_model(task.scoring, method)


def describe_suppressed(suppressed: SuppressedHitCounts, o: SwOptions, queries: int) -> str:
    """Return a human-readable sentence about the hits that the limit suppressed."""
    passing = "hits" if o.min_score is None and o.max_evalue is None else "hits that pass"
    limit = parameter("max_hits", o.max_hits_per_query) + (" by default" if o.max_hits is None else "")
    text = f"{suppressed.query_count:,} of {queries:,} queries have more {passing}"
    text += f" than the {o.max_hits_per_query:,} that are kept of each ({limit})"
    if o.min_identity is not None:
        return f"{text}; {parameter('min_identity')} chose among those"
    if o.has_threshold or suppressed.notable_query_count is None:
        return text
    if not suppressed.notable_query_count:
        return f"{text}; their next hits have E-values above {NOTABLE_EVALUE:g}"
    return (
        f"{text}; for {suppressed.notable_query_count:,} of them the next hit has an E-value of {NOTABLE_EVALUE:g} or less: "
        f"a threshold such as {parameter('max_evalue')}, without {parameter('max_hits')}, writes all that pass"
    )
