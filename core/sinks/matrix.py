"""Matrices of all pairs, square, rectangular or condensed, filled band by band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from gpualign.core.engine import Detail, Task, TileResult
from gpualign.core.fields import BlockData
from gpualign.core.identity import DEFAULT
from gpualign.core.plan import Pairing, Plan
from gpualign.core.sinks.base import BandResults, Bands
from gpualign.core.sinks.matrix_files import NpyArray, Numbers, condensed_start, place_band


@dataclass(frozen=True)
class Value:
    """What a matrix holds: "score" (int32 or int64), "identity" or "distance", which is 1 - identity (float64)."""

    name: str
    identity_definition: int

    @property
    def detail(self) -> Detail:
        return Detail.SCORE if self.name == "score" else Detail.STATISTICS

    @property
    def array_name(self) -> str:
        return "scores" if self.name == "score" else self.name

    def dtype(self, task: Task) -> Numbers:
        return task.dtype if self.name == "score" else np.dtype(np.float64)

    def of(self, task: Task, results: BandResults) -> npt.NDArray[Any]:
        """Values of a band's pairs: [queries][targets]."""
        if self.name == "score":
            return results.scores
        found = BlockData(task, results.band.start, results, self.identity_definition).identity_fraction
        return found if self.name == "identity" else 1 - found


SCORES = Value("score", DEFAULT)


class MatrixSink:
    """Fills a matrix, element [i][j] = query i, target j; for one set mirrored, the diagonal included.

    The plan's pairing must be ALL or ABOVE_OR_EQUAL, so that every element is computed or mirrored.
    """

    def __init__(self, file: BinaryIO, task: Task, value: Value = SCORES) -> None:
        self._file = file
        self._task = task
        self._value = value

    def begin(self, plan: Plan) -> None:
        if plan.pairing is Pairing.ABOVE:
            raise ValueError("a matrix needs the diagonal")
        self._mirror = plan.pairing is Pairing.ABOVE_OR_EQUAL
        self.matrix = NpyArray(self._file, (plan.queries, plan.targets), self._value.dtype(self._task))
        self._bands = Bands(plan, self._task, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def _write(self, results: BandResults) -> None:
        band = results.band
        values = self._value.of(self._task, results)
        place_band(self.matrix.values, values, (band.start, band.stop), (band.first_target, band.target_stop), self._mirror)

    def finish(self) -> None:
        self._bands.finish()
        self.matrix.flush()


class CondensedSink:
    """Fills a vector of the pairs i < j of one set, row by row, as scipy.spatial.distance's condensed form has them.

    The plan's pairing must be ABOVE.
    """

    def __init__(self, file: BinaryIO, task: Task, value: Value = SCORES) -> None:
        self._file = file
        self._task = task
        self._value = value

    def begin(self, plan: Plan) -> None:
        if plan.pairing is not Pairing.ABOVE:
            raise ValueError("a condensed matrix holds the pairs above the diagonal")
        self._count = plan.queries
        self.matrix = NpyArray(self._file, (plan.pairs,), self._value.dtype(self._task))
        self._bands = Bands(plan, self._task, self._write)

    def accept(self, result: TileResult) -> None:
        self._bands.accept(result)

    def _write(self, results: BandResults) -> None:
        band = results.band
        values = self._value.of(self._task, results)
        for query in range(band.start, band.stop):
            first = max(query + 1, band.first_target)
            part = values[query - band.start, first - band.first_target :]
            start = condensed_start(query, self._count) + first - query - 1
            self.matrix.values[start : start + len(part)] = part

    def finish(self) -> None:
        self._bands.finish()
        self.matrix.flush()
