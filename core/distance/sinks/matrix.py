"""Whole matrices of distances, filled band by band, in files that are mapped into memory."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.sinks.base import BandDistances
from gpualign.core.sinks.matrix_files import NpyArray, Numbers, condensed_start, place_band


class MatrixSink:
    """Element [i][j]: query i, target j; of one set mirrored. counts: a second file, for the compared sites, or None."""

    def __init__(self, dtype: Numbers, file: BinaryIO, counts: BinaryIO | None) -> None:
        self._dtype = dtype
        self._files = file, counts

    def begin(self, samples: Samples) -> None:
        shape = len(samples.queries), len(samples.targets)
        file, counts = self._files
        self._mirror = samples.one_set
        self._first = samples.first_target
        self.values = NpyArray(file, shape, self._dtype)
        self.compared = NpyArray(counts, shape, np.dtype(np.int32)) if counts else None

    def accept(self, distances: BandDistances) -> None:
        band = distances.band
        rows, columns = (band.start, band.stop), (band.first_target - self._first, band.target_stop - self._first)
        place_band(self.values.values, distances.values, rows, columns, self._mirror)
        if self.compared and distances.compared is not None:
            place_band(self.compared.values, distances.compared, rows, columns, self._mirror)

    def finish(self) -> None:
        for array in (self.values, self.compared):
            if array:
                array.flush()


class CondensedSink:
    """The pairs i < j of one set in a vector, as scipy.spatial.distance has them."""

    def __init__(self, dtype: Numbers, file: BinaryIO, counts: BinaryIO | None) -> None:
        self._dtype = dtype
        self._files = file, counts

    def begin(self, samples: Samples) -> None:
        file, counts = self._files
        self._count = len(samples.queries)
        self.values = NpyArray(file, (samples.pairs,), self._dtype)
        self.compared = NpyArray(counts, (samples.pairs,), np.dtype(np.int32)) if counts else None

    def accept(self, distances: BandDistances) -> None:
        band = distances.band
        for row in range(band.start, band.stop):
            start, skipped = condensed_start(row, self._count), row + 1 - band.first_target
            stop = start + self._count - row - 1
            self.values.values[start:stop] = distances.values[row - band.start, skipped:]
            if self.compared and distances.compared is not None:
                self.compared.values[start:stop] = distances.compared[row - band.start, skipped:]

    def finish(self) -> None:
        for array in (self.values, self.compared):
            if array:
                array.flush()
