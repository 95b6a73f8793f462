"""Sinks that fill complete distance matrices, band by band."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import BandDistances
from gpualign.core.output.matrix_files import ArrayMaker, FilledArray, NumberType, Places, condensed_places, condensed_start, matrix_places
from gpualign.core.output.mirroring import MatrixFiller


class _ArraySink:
    """Base class for sinks that fill an array `values` and, optionally, an array `compared` of compared sites.

    dtype: type of `values`
    make: creates `values`
    make_compared: creates `compared`, int32; None: there is none
    rows: (start, stop) of the rows in the arrays; None: all rows
    """

    def __init__(
        self, dtype: NumberType, make: ArrayMaker, make_compared: ArrayMaker | None = None, rows: tuple[int, int] | None = None
    ) -> None:
        self._rows = rows
        self._dtype = dtype
        self._make = make
        self._make_compared = make_compared

    def _open(self, shape: tuple[int, ...], places: Places) -> None:
        self.values = self._make(shape, self._dtype)
        self.compared: FilledArray | None = self._make_compared(shape, np.dtype(np.int32)) if self._make_compared else None
        for array in self._arrays:
            array.places = places

    @property
    def _arrays(self) -> list[FilledArray]:
        return [array for array in (self.values, self.compared) if array]

    def _place(self, array: FilledArray, values: npt.NDArray[Any], band: SampleBand) -> None:
        raise NotImplementedError

    def write(self, distances: BandDistances) -> None:
        self._place(self.values, distances.values, distances.band)
        if self.compared and distances.compared is not None:
            self._place(self.compared, distances.compared, distances.band)

    def finish(self) -> None:
        for array in self._arrays:
            array.flush()


class MatrixSink(_ArraySink):
    """Fills a matrix whose element [i][j] belongs to query i and target j.

    A one-set matrix is mirrored; a part (shard) of one is not, and contains every target that any of its rows needs.
    threads: writer threads
    """

    def __init__(
        self,
        dtype: NumberType,
        make: ArrayMaker,
        make_compared: ArrayMaker | None = None,
        rows: tuple[int, int] | None = None,
        *,
        threads: int = 1,
    ) -> None:
        super().__init__(dtype, make, make_compared, rows)
        self._threads = threads

    def begin(self, samples: Samples) -> None:
        self._first_target = samples.first_target
        start, stop = self._rows or (0, len(samples.queries))
        origin = start, start if samples.one_set else 0
        mirror, columns = samples.one_set and self._rows is None, len(samples.targets) - origin[1]
        self._open((stop - start, columns), matrix_places(start, columns, mirror))
        self._placements = {array: MatrixFiller(array, mirror, self._threads, origin) for array in self._arrays}

    def _place(self, array: FilledArray, values: npt.NDArray[Any], band: SampleBand) -> None:
        columns = band.first_target - self._first_target, band.target_stop - self._first_target
        self._placements[array].place(values, (band.start, band.stop), columns)

    def finish(self) -> None:
        for placement in self._placements.values():
            placement.finish()
        super().finish()


class CondensedSink(_ArraySink):
    """Fills a vector with the pairs i < j of one set, in the condensed order used by scipy.spatial.distance."""

    def begin(self, samples: Samples) -> None:
        self._count = len(samples.queries)
        start, stop = self._rows or (0, self._count)
        self._first = condensed_start(start, self._count)
        self._open((condensed_start(stop, self._count) - self._first,), condensed_places(start, self._count))

    def _place(self, array: FilledArray, values: npt.NDArray[Any], band: SampleBand) -> None:
        for row in range(band.start, band.stop):
            start = condensed_start(row, self._count) - self._first
            array.reserve(start + self._count - row - 1)
            array.values[start : start + self._count - row - 1] = values[row - band.start, row + 1 - band.first_target :]
