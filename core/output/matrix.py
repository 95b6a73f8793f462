"""All-pairs matrices, square, rectangular or condensed, filled band by band."""

from __future__ import annotations

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Task
from gpualign.core.output.matrix_files import ArrayMaker, condensed_places, condensed_start, matrix_places
from gpualign.core.output.matrix_value import SCORES, MatrixValue
from gpualign.core.output.mirroring import MatrixFiller
from gpualign.core.planning.tile_plan import Pairing, Plan


class _ArraySink:
    """Base class for sinks that fill one array of values. make: creates the array from a shape and dtype."""

    passed_pairs: int | None = None
    """Number of pairs that passed a filter; a matrix has none."""

    def __init__(self, make: ArrayMaker, task: Task, value: MatrixValue = SCORES) -> None:
        self._make = make
        self._task = task
        self._value = value

    def _open(self, shape: tuple[int, ...]) -> None:
        self.matrix = self._make(shape, self._value.dtype(self._task))

    def finish(self) -> None:
        self.matrix.flush()


class MatrixSink(_ArraySink):
    """Fills a matrix whose element [i][j] belongs to query i and target j. A one-set matrix is mirrored and includes the diagonal.

    The plan's pairing must be ALL or ABOVE_OR_EQUAL, so that every element is computed or mirrored.

    threads: writer threads
    rows: start and stop of the rows in the array, which has every target that any of these rows needs and is not mirrored; None for all
    """

    def __init__(
        self, make: ArrayMaker, task: Task, value: MatrixValue = SCORES, threads: int = 1, rows: tuple[int, int] | None = None
    ) -> None:
        super().__init__(make, task, value)
        self._threads = threads
        self._rows = rows

    def begin(self, plan: Plan) -> None:
        if plan.pairing is Pairing.ABOVE:
            raise ValueError("a matrix needs the diagonal")
        start, stop = self._rows or (0, plan.queries)
        origin = start, plan.pairing.first_target(start)
        self._open((stop - start, plan.targets - origin[1]))
        mirror = self._rows is None and plan.pairing is not Pairing.ALL
        self.matrix.places = matrix_places(start, plan.targets - origin[1], mirror)
        self._placement = MatrixFiller(self.matrix, mirror, self._threads, origin)

    def write(self, results: BandResults) -> None:
        band = results.band
        values = self._value.of_band(self._task, results)
        self._placement.place(values, (band.start, band.stop), (band.first_target, band.target_stop))

    def finish(self) -> None:
        self._placement.finish()
        super().finish()


class CondensedSink(_ArraySink):
    """Fills a vector with the pairs i < j of one set, row by row, as in scipy.spatial.distance's condensed form.

    The plan's pairing must be ABOVE.

    rows: start and stop of the rows in the vector; None for all
    """

    def __init__(self, make: ArrayMaker, task: Task, value: MatrixValue = SCORES, rows: tuple[int, int] | None = None) -> None:
        super().__init__(make, task, value)
        self._rows = rows

    def begin(self, plan: Plan) -> None:
        if plan.pairing is not Pairing.ABOVE:
            raise ValueError("a condensed matrix holds the pairs above the diagonal")
        self._count = plan.queries
        start, stop = self._rows or (0, plan.queries)
        self._first = condensed_start(start, self._count)
        self._open((condensed_start(stop, self._count) - self._first,))
        self.matrix.places = condensed_places(start, self._count)

    def write(self, results: BandResults) -> None:
        band = results.band
        values = self._value.of_band(self._task, results)
        for query in range(band.start, band.stop):
            first = max(query + 1, band.first_target)
            row = values[query - band.start, first - band.first_target :]
            start = condensed_start(query, self._count) + first - query - 1 - self._first
            self.matrix.reserve(start + len(row))
            self.matrix.values[start : start + len(row)] = row
