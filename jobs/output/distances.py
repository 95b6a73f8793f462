"""Where and in which format distances go, decided before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import Metric, Values
from gpualign.core.distance.output.base import DECIMALS, AnySink
from gpualign.core.distance.output.matrix import CondensedSink, MatrixSink
from gpualign.core.distance.output.pairs import NearPairsSink, PairsSink, PairText
from gpualign.core.distance.runner import DistanceTotals
from gpualign.core.execution.pipeline import CheckpointListener
from gpualign.core.output.formats.registry import FORMATS, Layout, Results, formats_of
from gpualign.core.output.matrix_files import ArrayMaker, NumberType
from gpualign.jobs.output.atomic_files import STDIO, naming_output
from gpualign.jobs.output.format_selection import check_condensed, container_of, pick_format, separator_of, with_separator
from gpualign.jobs.output.matrices import write_matrices, write_sparse
from gpualign.jobs.output.run_identity import check_resume
from gpualign.jobs.output.shards import Shard, check_shard
from gpualign.jobs.output.specs import MatrixSpec

if TYPE_CHECKING:
    from gpualign.core.output.sparse import Spools
    from gpualign.core.output.writer import ByteWriter
    from gpualign.jobs.dist import DistJob
    from gpualign.jobs.output.query_range import OutputSession


@dataclass(frozen=True)
class DistanceSpec:
    """path None is standard output. threshold: the option that asks for some pairs only, as a list; None: all. added: a list of what
    `Samples.added` wants, near pairs or all. container: of typed columns, as pyarrow writes them. condensed: a vector of
    the pairs i < j."""

    format: str
    path: Path | None
    threshold: str | None
    compared: bool
    added: bool = False
    container: str | None = None
    condensed: bool = False

    @property
    def layout(self) -> Layout:
        return FORMATS[self.format].layouts[Results.DISTANCES]

    @property
    def of_pairs(self) -> bool:
        """Whether pairs are written as they come, each once, and no matrix is held."""
        return self.threshold is not None or self.added or self.layout in (Layout.COLUMNS, Layout.SPARSE)

    @property
    def without_matrix(self) -> str | None:
        """Why no matrix is held, for people; None where one is."""
        if self.threshold is not None:
            return f"{self.threshold}, which writes only near ones"
        if self.added:
            return f"{parameter('add')}, which writes a list of pairs"
        return f"{self.format}, for which no matrix is held" if self.of_pairs else None

    @property
    def beside(self) -> Path | None:
        """The second matrix, of compared sites; None where they are a column, or not wanted, or part of the first file."""
        if not self.compared or self.of_pairs or self.format in ("molten", "npz"):
            return None
        assert self.path is not None
        return beside_of(self.path)


def beside_of(path: Path) -> Path:
    """The second matrix, of compared sites, beside the first."""
    suffixes = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    return path.with_name(f"{path.name[: len(path.name) - len(suffixes)]}.compared{suffixes}")


def distance_spec(
    output: str,
    format: str | None,
    most: float | None,
    min_kinship: float | None,
    compared: bool,
    one_set: bool,
    added: bool = False,
    resume: bool = False,
    shard: Shard | None = None,
    plot: str | None = None,
    condensed: bool = False,
    min_given: bool = False,
) -> DistanceSpec:
    """Check what the user asked for. added: as for `DistanceSpec`; min_given: compared sites decide which pairs have a distance, and
    tables with names of columns show how many there are. Raises `InputError` for contradictions and unknown suffixes."""
    format, path = pick_format(output, format, Results.DISTANCES)
    check_resume(resume, path, format, Results.DISTANCES)
    check_shard(shard, path, format, Results.DISTANCES, plot)
    threshold = parameter("max_distance") if most is not None else parameter("min_kinship") if min_kinship is not None else None
    if threshold is not None and not FORMATS[format].keeps_any_pairs:
        raise InputError(f"{threshold} writes a table of pairs, as {_lists()}; {format} holds every pair")
    if most is not None and most < 0:
        raise InputError(f"{parameter('max_distance')}: distances are 0 or more; found {most:g}")
    if added and not FORMATS[format].keeps_any_pairs:
        raise InputError(f"{parameter('add')} makes a table of pairs, as {_lists()}; {format} is a matrix, of one file or of two")
    if not one_set and FORMATS[format].square:
        raise InputError(f"{FORMATS[format].square} is of one set; for two inputs write tsv, csv, molten, npy or npz")
    if condensed:
        check_condensed(format, one_set)
    format = with_separator(format, path)
    spec = DistanceSpec(format, path, threshold, compared, added, container_of(format, path), condensed)
    if min_given and spec.of_pairs and spec.layout is not Layout.SPARSE and format != "molten":
        spec = replace(spec, compared=True)
    if compared and spec.layout is Layout.SPARSE:
        raise InputError(f"{parameter('compared')}: {format} holds one number a pair; write parquet, arrow or molten, or a second file")
    if compared and path is None and not spec.of_pairs and format != "molten":
        raise InputError(
            f"{parameter('compared')} with {format} writes a second matrix beside the first: name a file with -o, or write"
            f" {parameter('format', 'molten')}"
        )
    return spec


def check_clusters(spec: DistanceSpec, clusters: str, one_set: bool, resume: bool, shard: Shard | None) -> None:
    """Raises `InputError` where a run does not find all near pairs of one set, of which clusters are made."""
    later = f"make clusters of its list with `gpualign cluster {parameter('edges')}`"
    if spec.threshold != parameter("max_distance"):
        raise InputError(f"{parameter('clusters')} is of near pairs; give {parameter('max_distance')}")
    if not one_set:
        raise InputError(f"{parameter('clusters')} is of all pairs of one set, and some of two files are not compared; {later}")
    if shard is not None:
        raise InputError(
            f"{parameter('clusters')} needs all near pairs, and {parameter('shard')} finds a part of them; merge the parts, then {later}"
        )
    if resume:
        raise InputError(f"{parameter('clusters')} needs all near pairs in one run; leave it out to resume, then {later}")
    if clusters == STDIO:
        raise InputError(f"{parameter('clusters')}: name a file; standard output is for the pairs")
    if spec.path is not None and spec.path.absolute() == Path(clusters).absolute():
        raise InputError(f"-o and {parameter('clusters')} name the same file; each wants its own")


def check_value(spec: DistanceSpec, metric: Metric) -> None:
    """Raises `InputError` for a metric that is no distance with a format of distances."""
    if metric.similarity and (square := FORMATS[spec.format].square):
        raise InputError(
            f"{square} is of distances, and {parameter('metric', metric.name)} is a {metric.value}; write tsv, csv, molten, npy or npz"
        )


def _lists() -> str:
    """The formats of pairs, for people."""
    return ", ".join(name for name in formats_of(Results.DISTANCES) if FORMATS[name].keeps_any_pairs)


def no_distance(spec: DistanceSpec, job: DistJob) -> str:
    """What stands in the place of a distance that a pair does not have, for people."""
    metric = job.prepared.task.metric
    if spec.threshold is not None:
        return "they are not near"
    shown = "null" if spec.layout is Layout.COLUMNS else "?" if spec.format == "mega" else "nan"
    if FORMATS[spec.format].needs_file and job.dtype != metric.dtype:
        shown += f"; the array is {job.dtype}, not {metric.dtype}"
    return f"they have no {metric.value} ({shown})"


Run = Callable[[AnySink, CheckpointListener], DistanceTotals]
"""Carries out a job with a sink, told to marks."""


def pairs_sink(spec: DistanceSpec, metric: Metric, stream: ByteWriter, threads: int = 1) -> PairsSink:
    """What writes a list of pairs to a stream."""
    if spec.container is not None:
        from gpualign.core.distance.output.arrow_sparse import ArrowPairsSink

        return ArrowPairsSink(stream, spec.container, metric.value, metric.dtype, spec.compared)
    separator, headed = separator_of(spec.format, spec.path), spec.format != "molten"
    text = PairText(separator, 0 if metric.counts else DECIMALS, headed, metric.value)
    return NearPairsSink(stream, text, spec.compared, threads)


class DistanceWriter:
    """Output of one run: `run` is called with a sink, then what it filled is written; all of it appears, or nothing.

    dtype: of the distances, float64 where some of them may not be defined. threads: that write a matrix, or make text.
    """

    def __init__(self, spec: DistanceSpec, metric: Metric, dtype: NumberType, writing: OutputSession, threads: int) -> None:
        self._spec = spec
        self._metric = metric
        self._dtype = dtype
        self._writing = writing
        self._threads = threads
        self._decimals = 0 if metric.counts else DECIMALS

    def write(self, samples: Samples, run: Run) -> tuple[DistanceTotals, Values | None]:
        """(totals, the square or condensed matrix that was written; None where none is held, or a part)."""
        spec, writing = self._spec, self._writing
        with naming_output(writing.portion.path):
            if spec.of_pairs:
                return self._of_pairs(samples, run), None

            def fill(makes: Sequence[ArrayMaker]) -> tuple[DistanceTotals, Sequence[Values]]:
                sink = self._matrix(*makes)
                totals = run(sink, writing.marks)
                return totals, [array.values for array in (sink.values, sink.compared) if array is not None]

            count = 1 + spec.compared
            names, titles = (self._metric.value, "compared")[:count], (self._metric.name, "compared sites")[:count]
            matrices = MatrixSpec(spec.format, spec.path, spec.beside, names, titles, self._decimals)
            return write_matrices(matrices, writing.files, samples.queries, samples.targets, fill, self._threads, writing.part)

    def _matrix(self, make: ArrayMaker, make_compared: ArrayMaker | None = None) -> MatrixSink | CondensedSink:
        """A sink that fills the matrices that are wanted."""
        rows = self._writing.rows
        if self._spec.condensed:
            return CondensedSink(self._dtype, make, make_compared, rows)
        return MatrixSink(self._dtype, make, make_compared, rows, threads=self._threads)

    def _of_pairs(self, samples: Samples, run: Run) -> DistanceTotals:
        spec = self._spec
        if spec.container is not None:
            with self._writing.files.binary(spec.path) as stream:
                return run(pairs_sink(spec, self._metric, stream), self._writing.marks)
        if spec.layout is Layout.SPARSE:
            return self._sparse(samples, run)
        with self._writing.text() as (lines, marks):
            return run(pairs_sink(spec, self._metric, lines, self._threads), marks)

    def _sparse(self, samples: Samples, run: Run) -> DistanceTotals:
        from gpualign.core.distance.output.arrow_sparse import CsrPairsSink

        writing = self._writing

        def fill(spools: Spools) -> tuple[DistanceTotals, NumberType]:
            sink = CsrPairsSink(spools, self._dtype)
            return run(sink, writing.marks), sink.dtype

        return write_sparse(self._spec.path, writing.files, samples.queries, samples.targets, fill, writing.part)
