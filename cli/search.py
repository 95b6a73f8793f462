"""A search for hits, from its options to its output."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from gpualign.cli.files import OutputFiles, naming_output
from gpualign.cli.formats import pick_format
from gpualign.cli.masking import mask_queries
from gpualign.cli.options import HIT_FORMATS
from gpualign.cli.output import check_identity
from gpualign.cli.plans import Run, budget_left, count_sequences, print_plan
from gpualign.cli.sizes import terminal_width
from gpualign.core.engine import Detail, Task
from gpualign.core.errors import InputError
from gpualign.core.fields import HIT_FIELDS, UNTRACED_HIT_FIELDS, parse_fields
from gpualign.core.formats.base import RowFormat
from gpualign.core.formats.m8 import M8
from gpualign.core.formats.paf import Paf
from gpualign.core.formats.sam import Sam
from gpualign.core.formats.tsv import Tsv
from gpualign.core.search.estimate import letter_frequencies, simulate_parameters
from gpualign.core.search.masking import NONE, method_for
from gpualign.core.search.runner import plan_search, run_search
from gpualign.core.search.significance import Parameters, SearchSpace, published
from gpualign.core.search.strands import Stranded, make_strands
from gpualign.core.sinks.blocks import BlocksSink
from gpualign.core.sinks.hits import NOTABLE, HitFilter, HitsWriter, Unwritten
from gpualign.core.sinks.pairs import Filter, PairsSink
from gpualign.core.sinks.table import TableSink
from gpualign.core.sinks.writer import ByteWriter
from gpualign.cpu.engine import CpuEngine
from gpualign.cpu.hit_paths import HitTracer
from gpualign.cpu.simulate import CpuSimulator

_DEFAULT_HITS = 25
_TRACE_SHARE = 4  # of the memory beside the sequences, one part in so many traces hits


@dataclass(frozen=True)
class HitOptions:
    """What a user asked for; None = not given."""

    output: str
    format: str | None = None
    fields: str | None = None
    identity_definition: int = 2
    max_hits: int | None = None
    min_score: int | None = None
    max_evalue: float | None = None
    min_identity: float | None = None
    evalue: str | None = None
    no_traceback: bool = False
    mask: str | None = None

    @property
    def has_threshold(self) -> bool:
        """Whether hits are wanted for what they are, and not only for being the best."""
        return not (self.min_score is None and self.max_evalue is None and self.min_identity is None)

    @property
    def most_hits(self) -> int | None:
        """Hits of each query that are written at most; None: all that pass the thresholds."""
        if self.max_hits is None:
            return None if self.has_threshold else _DEFAULT_HITS
        return self.max_hits


@dataclass(frozen=True)
class HitSpec:
    """path None is standard output; rows None is the format of blocks for people; traced: whether paths are needed."""

    options: HitOptions
    path: Path | None
    rows: RowFormat | None
    traced: bool


def hit_spec(o: HitOptions) -> HitSpec:
    """Check what the user asked for. Raises `InputError`."""
    if o.format is not None and o.format not in HIT_FORMATS:
        raise InputError(f"--format {o.format} holds every pair; it goes with --all")
    format, path = pick_format(o.output, o.format, HIT_FORMATS)
    if o.fields is not None and format != "tsv":
        raise InputError(f"--fields chooses the columns of tsv; it does not go with {format}")
    check_identity(o.min_identity)
    if o.max_evalue is not None and (o.evalue == "none" or not o.max_evalue >= 0):
        raise InputError(
            "--max-evalue needs E-values" if o.evalue == "none" else f"--max-evalue: E-values are 0 or more; found {o.max_evalue:g}"
        )
    default = UNTRACED_HIT_FIELDS if o.no_traceback else HIT_FIELDS
    fields = parse_fields(o.fields or default, of_hits=True)
    formats: dict[str, RowFormat] = {"tsv": Tsv(fields), "m8": M8(), "paf": Paf(), "sam": Sam()}
    rows = formats.get(format)
    if o.no_traceback:
        if o.min_identity is not None:
            raise InputError("--min-identity needs alignments; it does not go with --no-traceback")
        if rows is None or rows.detail is not Detail.SCORE:
            what = ", ".join(f.name for f in fields if f.detail is not Detail.SCORE) if format == "tsv" else f"format {format}"
            raise InputError(f"--no-traceback leaves out the alignments, which {what} needs")
    traced = rows is None or rows.detail is not Detail.SCORE or o.min_identity is not None
    return HitSpec(o, path, rows, traced)


def search(spec: HitSpec, task: Task, strand: str, with_self: bool, run: Run) -> None:
    """Find, trace and write the hits of every record of `task.queries`."""
    o = spec.options
    one_set = task.targets is task.queries
    filter = HitFilter(
        o.most_hits,
        1 if o.min_score is None else o.min_score,
        o.max_evalue,
        one_set and not with_self,
        Filter(least_identity=o.min_identity),
    )
    # What E-values rest on stays that of `task`, the sequences and scoring as given.
    masked = mask_queries(task, o.mask or (NONE if o.evalue == "none" else method_for(task.alphabet)), run.messages)
    stranded = make_strands(masked.queries, task.alphabet, strand)
    searched = replace(masked, queries=stranded.queries)
    left = budget_left(searched, run.memory)
    planned = plan_search(searched, filter, run.engine, left - left // _TRACE_SHARE)
    searched, plan = planned.task, planned.plan
    run.messages.detail(f"{run.engine.kernel(searched, planned.memory)}; {plan.band_count} bands of up to {plan.band_rows} queries")
    if run.dry_run:
        print_plan(plan, searched, run.engine, planned.memory)
        return
    space = _search_space(o, task, stranded, run)
    with OutputFiles(run.messages.note) as files, ExitStack() as stack, naming_output(spec.path):
        trace = stack.enter_context(HitTracer(searched, _cpu(run), left // _TRACE_SHARE)).trace if spec.traced else None
        report = _report(spec, task, stack.enter_context(files.text(spec.path)))
        writer = HitsWriter(report, searched, stranded, filter, space, trace, o.identity_definition)
        with run.messages.progress(plan.cells, spec.path) as progress:
            totals = run_search(planned, space, run.engine, writer, progress)
    if writer.unwritten.queries:
        run.messages.note(_describe_unwritten(writer.unwritten, o, len(task.queries), space is not None))
    run.messages.summary(count_sequences(task), totals, run.engine.describe(), writer.written)


def _describe_unwritten(unwritten: Unwritten, o: HitOptions, queries: int, with_evalues: bool) -> str:
    """What the limit on hits kept back, for people."""
    passing = "hits" if o.min_score is None and o.max_evalue is None else "hits that pass"
    limit = f"--max-hits {o.most_hits}" + (" by default" if o.max_hits is None else "")
    text = f"{unwritten.queries:,} of {queries:,} queries have more {passing} than the {o.most_hits:,} that are kept of each ({limit})"
    if o.min_identity is not None:
        return f"{text}; --min-identity chose among those"
    if o.has_threshold or not with_evalues:
        return text
    if not unwritten.notable:
        return f"{text}; the next hit of none has an E-value of {NOTABLE:g} or less"
    return (
        f"{text}; the next hit of {unwritten.notable:,} has an E-value of {NOTABLE:g} or less: "
        "a threshold such as --max-evalue, without --max-hits, writes all that pass"
    )


def _cpu(run: Run) -> CpuEngine:
    """The CPU's part of any search."""
    return run.engine if isinstance(run.engine, CpuEngine) else CpuEngine(run.threads)


def _report(spec: HitSpec, task: Task, writer: ByteWriter) -> PairsSink:
    if spec.rows is None:
        return BlocksSink(writer, task, terminal_width(spec.path))
    return TableSink(writer, task, spec.rows)


def _search_space(o: HitOptions, task: Task, stranded: Stranded, run: Run) -> SearchSpace | None:
    """What E-values are counted in; notes where its parameters are from. Raises `InputError` for what the table does not have."""
    if o.evalue == "none":
        return None
    parameters: Parameters | None = None if o.evalue == "estimate" else published(task.scoring)
    if o.evalue == "table" and parameters is None:
        raise InputError(f"--evalue table: BLAST's tables do not have {task.scoring.name}; --evalue estimate simulates")
    if parameters is None:
        frequencies = letter_frequencies(task.targets, task.alphabet.unambiguous)
        parameters = simulate_parameters(task.scoring, frequencies, CpuSimulator(task.scoring, task.alphabet, _cpu(run)))
    if parameters is None:
        if o.max_evalue is not None:
            raise InputError(
                f"--max-evalue: with {task.scoring.name} scores have no E-values, because those of random sequences are not rare"
            )
        run.messages.note(f"no E-values: with {task.scoring.name} the scores of random sequences grow as fast as their length")
        return None
    run.messages.note(f"E-values by {parameters.source}: lambda {parameters.lambda_:.4g}, K {parameters.k:.3g}")
    return SearchSpace(parameters, int(task.targets.offsets[-1]), len(task.targets), stranded.per_record)
