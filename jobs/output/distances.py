"""Writes distances. The format and files are decided before any work is done."""

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
    """Distance output.

    format: output format
    path: output file; None: standard output
    threshold: option that limits the output to a list of near pairs; None: all pairs
    compared: also write the number of compared sites
    added: write a list of the pairs selected by `Samples.added`, near pairs or all pairs
    container: container of typed columns, written with pyarrow; None: text
    condensed: write the matrix as a vector of the pairs i < j
    """

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
    def is_pair_list(self) -> bool:
        """True if pairs are written once each, as computed, without holding a matrix in memory."""
        return self.threshold is not None or self.added or self.layout in (Layout.COLUMNS, Layout.SPARSE)

    @property
    def without_matrix(self) -> str | None:
        """Human-readable reason why no matrix is held in memory; None if there is a matrix."""
        if self.threshold is not None:
            return f"{self.threshold}, which writes only near ones"
        if self.added:
            return f"{parameter('add')}, which writes a list of pairs"
        return f"{self.format}, for which no matrix is held" if self.is_pair_list else None

    @property
    def compared_path(self) -> Path | None:
        """Path of the second matrix, of compared sites; None if compared sites are a column, in the first file, or not requested."""
        if not self.compared or self.is_pair_list or self.format in ("molten", "npz"):
            return None
        assert self.path is not None
        return compared_path(self.path)


def compared_path(path: Path) -> Path:
    """Return the path of the second matrix, of compared sites, next to the first matrix."""
    suffixes = "".join(path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:])
    return path.with_name(f"{path.name[: len(path.name) - len(suffixes)]}.compared{suffixes}")


def distance_spec(
    output: str,
    format: str | None,
    max_distance: float | None,
    min_kinship: float | None,
    compared: bool,
    one_set: bool,
    added: bool = False,
    resume: bool = False,
    shard: Shard | None = None,
    plot: str | None = None,
    condensed: bool = False,
    has_min_compared: bool = False,
) -> DistanceSpec:
    """Return the requested output.

    max_distance: value of max_distance
    added: as in `DistanceSpec`
    has_min_compared: whether min_compared is given; if so, tables with column names show the number of compared sites, because this number
        decides which pairs have a distance

    Raises `InputError` for contradictory options and unknown suffixes.
    """
    format, path = pick_format(output, format, Results.DISTANCES)
    check_resume(resume, path, format, Results.DISTANCES)
    check_shard(shard, path, format, Results.DISTANCES, plot)
    threshold = parameter("max_distance") if max_distance is not None else parameter("min_kinship") if min_kinship is not None else None
    if threshold is not None and not FORMATS[format].keeps_any_pairs:
        raise InputError(f"{threshold} writes a table of pairs, as {_lists()}; {format} holds every pair")
    if max_distance is not None and max_distance < 0:
        raise InputError(f"{parameter('max_distance')}: expected 0 or more; found {max_distance:g}")
    if added and not FORMATS[format].keeps_any_pairs:
        raise InputError(f"{parameter('add')} makes a table of pairs, as {_lists()}; {format} is a matrix, of one file or of two")
    if not one_set and FORMATS[format].square:
        raise InputError(f"{FORMATS[format].square} needs one set; for two inputs write tsv, csv, molten, npy or npz")
    if condensed:
        check_condensed(format, one_set)
    format = with_separator(format, path)
    spec = DistanceSpec(format, path, threshold, compared, added, container_of(format, path), condensed)
    if has_min_compared and spec.is_pair_list and spec.layout is not Layout.SPARSE and format != "molten":
        spec = replace(spec, compared=True)
    if compared and spec.layout is Layout.SPARSE:
        raise InputError(f"{parameter('compared')}: {format} holds one number per pair; write parquet, arrow or molten, or a second file")
    if compared and path is None and not spec.is_pair_list and format != "molten":
        raise InputError(
            f"{parameter('compared')} with {format} writes a second matrix beside the first: name a file with -o, or write"
            f" {parameter('format', 'molten')}"
        )
    return spec


def check_clusters(spec: DistanceSpec, clusters: str, one_set: bool, resume: bool, shard: Shard | None) -> None:
    """Raise `InputError` if a run does not find all near pairs within one set, as required for clusters."""
    later = f"make clusters of its list with `gpualign cluster {parameter('edges')}`"
    if spec.threshold != parameter("max_distance"):
        raise InputError(f"{parameter('clusters')} needs near pairs; give {parameter('max_distance')}")
    if not one_set:
        raise InputError(f"{parameter('clusters')} needs all pairs of one set, and of two files some are not compared; {later}")
    if shard is not None:
        raise InputError(
            f"{parameter('clusters')} needs all near pairs, and {parameter('shard')} finds a part of them; merge the parts, then {later}"
        )
    if resume:
        raise InputError(f"{parameter('clusters')} needs all near pairs in one run; leave it out to resume, then {later}")
    if clusters == STDIO:
        raise InputError(f"{parameter('clusters')}: name a file; standard output is for the pairs")
    if spec.path is not None and spec.path.absolute() == Path(clusters).absolute():
        raise InputError(f"-o and {parameter('clusters')} name the same file; each needs its own")


def check_value(spec: DistanceSpec, metric: Metric) -> None:
    """Raise `InputError` if the format needs distances and the metric is not a distance."""
    if metric.similarity and (square := FORMATS[spec.format].square):
        raise InputError(
            f"{square} needs distances, and {parameter('metric', metric.name)} is a {metric.value}; write tsv, csv, molten, npy or npz"
        )


def _lists() -> str:
    """Return the names of the pair-list formats, for messages."""
    return ", ".join(name for name in formats_of(Results.DISTANCES) if FORMATS[name].keeps_any_pairs)


def no_distance(spec: DistanceSpec, job: DistJob) -> str:
    """Return a description of how the output represents pairs without a distance, for messages."""
    metric = job.prepared.task.metric
    if spec.threshold is not None:
        return "they are not near"
    shown = "null" if spec.layout is Layout.COLUMNS else "?" if spec.format == "mega" else "nan"
    if FORMATS[spec.format].needs_file and job.dtype != metric.dtype:
        shown += f"; the array is {job.dtype}, not {metric.dtype}"
    return f"they have no {metric.value} ({shown})"


Run = Callable[[AnySink, CheckpointListener], DistanceTotals]
"""Runs a job with a sink and the listener to be notified of progress."""


def pairs_sink(spec: DistanceSpec, metric: Metric, stream: ByteWriter, threads: int = 1) -> PairsSink:
    """Return a sink that writes a pair list to a stream."""
    if spec.container is not None:
        from gpualign.core.distance.output.arrow_sparse import ArrowPairsSink

        return ArrowPairsSink(stream, spec.container, metric.value, metric.dtype, spec.compared)
    separator, headed = separator_of(spec.format, spec.path), spec.format != "molten"
    text = PairText(separator, 0 if metric.is_integer else DECIMALS, headed, metric.value)
    return NearPairsSink(stream, text, spec.compared, threads)


class DistanceWriter:
    """Writes the output of one run: calls `run` with a sink, then writes the results. The output appears completely or not at all.

    dtype: type of the distances; float64 if some may be undefined
    session: the open output
    threads: threads for writing a matrix or formatting text
    """

    def __init__(self, spec: DistanceSpec, metric: Metric, dtype: NumberType, session: OutputSession, threads: int) -> None:
        self._spec = spec
        self._metric = metric
        self._dtype = dtype
        self._session = session
        self._threads = threads
        self._decimals = 0 if metric.is_integer else DECIMALS

    def write(self, samples: Samples, run: Run) -> tuple[DistanceTotals, Values | None]:
        """Write the output and return (totals, square or condensed matrix; None if no matrix is held, and for a shard)."""
        spec, session = self._spec, self._session
        with naming_output(session.query_range.path):
            if spec.is_pair_list:
                return self._write_pairs(samples, run), None

            def fill(makes: Sequence[ArrayMaker]) -> tuple[DistanceTotals, Sequence[Values]]:
                sink = self._matrix(*makes)
                totals = run(sink, session.checkpoints)
                return totals, [array.values for array in (sink.values, sink.compared) if array is not None]

            count = 1 + spec.compared
            names, titles = (self._metric.value, "compared")[:count], (self._metric.name, "compared sites")[:count]
            matrices = MatrixSpec(spec.format, spec.path, spec.compared_path, names, titles, self._decimals)
            return write_matrices(matrices, session.files, samples.queries, samples.targets, fill, self._threads, session.part)

    def _matrix(self, make: ArrayMaker, make_compared: ArrayMaker | None = None) -> MatrixSink | CondensedSink:
        """Return a sink that fills the requested matrices."""
        rows = self._session.rows
        if self._spec.condensed:
            return CondensedSink(self._dtype, make, make_compared, rows)
        return MatrixSink(self._dtype, make, make_compared, rows, threads=self._threads)

    def _write_pairs(self, samples: Samples, run: Run) -> DistanceTotals:
        spec = self._spec
        if spec.container is not None:
            with self._session.files.binary(spec.path) as stream:
                return run(pairs_sink(spec, self._metric, stream), self._session.checkpoints)
        if spec.layout is Layout.SPARSE:
            return self._write_sparse(samples, run)
        with self._session.text() as (lines, checkpoints):
            return run(pairs_sink(spec, self._metric, lines, self._threads), checkpoints)

    def _write_sparse(self, samples: Samples, run: Run) -> DistanceTotals:
        from gpualign.core.distance.output.arrow_sparse import CsrPairsSink

        session = self._session

        def fill(spools: Spools) -> tuple[DistanceTotals, NumberType]:
            sink = CsrPairsSink(spools, self._dtype)
            return run(sink, session.checkpoints), sink.dtype

        return write_sparse(self._spec.path, session.files, samples.queries, samples.targets, fill, session.part)
