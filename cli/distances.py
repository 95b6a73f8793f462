"""Where and in which format distances go, decided before any work is done."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from gpualign.cli.files import OutputFiles, naming_output
from gpualign.cli.formats import container_of, open_id_lists, pick_format
from gpualign.cli.keeping import check_resume
from gpualign.core.dataclass import dataclass
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.metrics import Metric, Values
from gpualign.core.distance.runner import DistanceTotals
from gpualign.core.distance.sinks.base import DECIMALS, AnySink
from gpualign.core.distance.sinks.matrix import CondensedSink, MatrixSink
from gpualign.core.distance.sinks.pairs import NearPairsSink, PairText, write_molten
from gpualign.core.errors import InputError
from gpualign.core.formats.registry import FORMATS, Labels, Layout, Results, formats_of
from gpualign.core.sinks.matrix_files import ArrayMaker, Numbers, write_ids, write_npz

if TYPE_CHECKING:
    from fractions import Fraction

    from gpualign.jobs.dist import DistJob


@dataclass(frozen=True)
class DistanceSpec:
    """path None is standard output. most: only pairs at this distance or less, as a list. added: a list of what `Samples.added` wants,
    near pairs or all. container: of typed columns, as pyarrow writes
    them."""

    format: str
    path: Path | None
    most: float | None
    compared: bool
    added: bool = False
    container: str | None = None

    @property
    def layout(self) -> Layout:
        return FORMATS[self.format].layouts[Results.DISTANCES]

    @property
    def of_pairs(self) -> bool:
        """Whether pairs are written as they come, each once, and no matrix is held."""
        return self.most is not None or self.added or self.layout in (Layout.COLUMNS, Layout.SPARSE)

    @property
    def without_matrix(self) -> str | None:
        """Why no matrix is held, for people; None where one is."""
        if self.most is not None:
            return "--max-distance, which writes only near ones"
        if self.added:
            return "--add, which writes a list of pairs"
        return f"{self.format}, for which no matrix is held" if self.of_pairs else None

    @property
    def beside(self) -> Path | None:
        """The second matrix, of compared sites; None where they are a column, or not wanted, or part of the first file."""
        if not self.compared or self.of_pairs or self.format in ("molten", "npz"):
            return None
        assert self.path is not None
        suffixes = "".join(self.path.suffixes[-2:] if self.path.suffix == ".gz" else self.path.suffixes[-1:])
        return self.path.with_name(f"{self.path.name[: len(self.path.name) - len(suffixes)]}.compared{suffixes}")


def distance_spec(
    output: str, format: str | None, most: float | None, compared: bool, one_set: bool, added: bool = False, resume: bool = False
) -> DistanceSpec:
    """Check what the user asked for. added: as for `DistanceSpec`. Raises `InputError` for contradictions and unknown suffixes."""
    format, path = pick_format(output, format, Results.DISTANCES)
    check_resume(resume, path, format, Results.DISTANCES)
    if most is not None:
        if not FORMATS[format].keeps_any_pairs:
            lists = ", ".join(name for name in formats_of(Results.DISTANCES) if FORMATS[name].keeps_any_pairs)
            raise InputError(f"--max-distance writes a list of pairs, as {lists}; {format} holds every pair")
        if most < 0:
            raise InputError(f"--max-distance: distances are 0 or more; found {most:g}")
    if added and most is None and FORMATS[format].layouts[Results.DISTANCES] in (Layout.MATRIX, Layout.ARRAY):
        raise InputError(
            f"--add makes a list of pairs; {format} is a matrix, of one file or of two; give --max-distance, or write molten, parquet, "
            "arrow or csr"
        )
    if not one_set and FORMATS[format].square:
        raise InputError(f"{FORMATS[format].square} is of one set; for two inputs write tsv, csv, molten, npy or npz")
    spec = DistanceSpec(format, path, most, compared, added, container_of(format, path))
    if compared and spec.layout is Layout.SPARSE:
        raise InputError(f"--compared: {format} holds one number a pair; write parquet, arrow or molten, or a second file")
    if compared and path is None and not spec.of_pairs and format != "molten":
        raise InputError(f"--compared with {format} writes a second matrix beside the first: name a file with -o, or write --format molten")
    return spec


def least_compared(text: str) -> int | Fraction:
    """--min-compared: sites, or with a point a fraction of the sites, exactly as it is written. Raises `InputError`."""
    if re.fullmatch(r"[0-9]+", text) and int(text) >= 1:
        return int(text)
    from fractions import Fraction

    if re.fullmatch(r"[0-9]*\.[0-9]+", text) and 0 < Fraction(text) <= 1:
        return Fraction(text)
    raise InputError(
        f"--min-compared is a whole number of sites from 1 on (50), or a fraction of the sites with a point, up to 1 (0.5); found {text}"
    )


def no_distance(spec: DistanceSpec, job: DistJob) -> str:
    """What stands in the place of a distance that a pair does not have, for people."""
    if spec.most is not None:
        return "they are not near"
    shown = "null" if spec.layout is Layout.COLUMNS else "?" if spec.format == "mega" else "nan"
    counted = job.prepared.task.metric.dtype
    if FORMATS[spec.format].needs_file and job.dtype != counted:
        shown += f"; the array is {job.dtype}, not {counted}"
    return f"they have no distance ({shown})"


class DistanceWriter:
    """Output of one run: `run` is called with a sink, then what it filled is written; `files` makes all of it appear, or nothing.

    dtype: of the distances, float64 where some of them may not be defined. threads: that write a matrix.
    """

    def __init__(self, spec: DistanceSpec, metric: Metric, dtype: Numbers, files: OutputFiles, threads: int) -> None:
        self._spec = spec
        self._metric = metric
        self._dtype = dtype
        self._files = files
        self._threads = threads
        self._pairs = PairText(FORMATS[spec.format].lists or "\t", 0 if metric.counts else DECIMALS)

    def write(self, samples: Samples, run: Callable[[AnySink], DistanceTotals]) -> tuple[DistanceTotals, Values | None]:
        """(totals, the square or condensed matrix that was written; None where none is held)."""
        spec = self._spec
        with naming_output(spec.path):
            if spec.of_pairs:
                return self._of_pairs(run), None
            return self._arrays(samples, run) if FORMATS[spec.format].is_array else self._text(samples, run)

    @property
    def _names(self) -> tuple[str, ...]:
        """Of the matrices that are wanted."""
        return ("distances", "compared") if self._spec.compared else ("distances",)

    def _array(self, name: str) -> tuple[ArrayMaker, BinaryIO]:
        """A matrix to make others of, as `OutputFiles.array` has it."""
        return self._files.array(name, None, self._spec.path)

    def _matrix(self, *makes: ArrayMaker) -> MatrixSink | CondensedSink:
        """A sink that fills the matrices that are wanted."""
        if self._spec.format == "condensed":
            return CondensedSink(self._dtype, *makes)
        return MatrixSink(self._dtype, *makes, threads=self._threads)

    def _of_pairs(self, run: Callable[[AnySink], DistanceTotals]) -> DistanceTotals:
        spec = self._spec
        if spec.container is not None:
            from gpualign.core.distance.sinks.tables import ArrowPairsSink

            with self._files.binary(spec.path) as stream:
                return run(ArrowPairsSink(stream, spec.container, self._metric.dtype, spec.compared))
        if spec.layout is Layout.SPARSE:
            from gpualign.core.distance.sinks.tables import CsrPairsSink
            from gpualign.core.sinks.csr import SPOOLS

            assert spec.path is not None  # as below
            counts, indices, data = (self._files.spool(name, spec.path) for name in SPOOLS)
            return run(CsrPairsSink(self._files.open(spec.path), (counts, indices, data), self._dtype))
        with self._files.rows(spec.path) as stream:
            return run(NearPairsSink(stream, self._pairs))

    def _text(self, samples: Samples, run: Callable[[AnySink], DistanceTotals]) -> tuple[DistanceTotals, Values]:
        spec = self._spec
        with ExitStack() as stack:
            stream = stack.enter_context(self._files.text(spec.path))
            beside = stack.enter_context(self._files.text(spec.beside)) if spec.beside else None
            sink = self._matrix(*(self._array(name)[0] for name in self._names))
            totals = run(sink)
            values, compared = sink.values.values, sink.compared.values if sink.compared else None
            if spec.format == "molten":
                write_molten(stream, samples, values, compared, self._pairs)
                return totals, values
            if spec.format == "phylip":
                _check_defined(values, samples)
            write_text = FORMATS[spec.format].matrix
            assert write_text is not None  # of every other format that is no array
            for out, matrix, title in ((stream, values, self._metric.name), (beside, compared, "compared sites")):
                if out is not None and matrix is not None:
                    write_text(out, matrix, Labels(samples.queries, samples.targets, title, self._pairs.decimals))
            return totals, values

    def _arrays(self, samples: Samples, run: Callable[[AnySink], DistanceTotals]) -> tuple[DistanceTotals, Values]:
        spec = self._spec
        assert spec.path is not None  # distance_spec() refuses arrays on standard output
        if spec.format == "npz":
            npz = self._files.open(spec.path)
            arrays = {name: self._array(name) for name in self._names}
            packed = self._matrix(*(make for make, _ in arrays.values()))
            totals = run(packed)
            write_npz(npz, {name: file for name, (_, file) in arrays.items()}, samples.queries, samples.targets)
            return totals, packed.values.values
        makes = [self._files.array("", spec.path, None)[0]]
        if spec.beside:
            makes.append(self._files.array("compared", spec.beside, None)[0])
        lists = open_id_lists(self._files, spec.path, samples.queries, samples.targets)
        sink = self._matrix(*makes)
        totals = run(sink)
        for file, records in lists:
            write_ids(file, records)
        return totals, sink.values.values


def _check_defined(values: Values, samples: Samples) -> None:
    """Raises `InputError`: PHYLIP has no sign for a distance that is not defined, and tree programs make something of any word."""
    for row in range(len(values)):
        if len(places := np.flatnonzero(np.isnan(values[row]))):
            ids = samples.queries.ids
            raise InputError(
                f"phylip has no way to say that a distance is not defined, and that of {ids[row]!r} and {ids[places[0]]!r} is not: too few "
                "compared sites, or saturated; leave out samples with few calls, or write mega (?) or tsv (nan)"
            )
