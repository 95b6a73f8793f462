"""All-pairs matrices, square, rectangular or condensed, filled band by band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy.typing as npt

from gpualign.core.common.condensed_form import condensed_start
from gpualign.core.output.matrix_files import ArrayMaker, NumberType, PieceLocator, condensed_locator, matrix_locator
from gpualign.core.output.mirroring import MatrixFiller
from gpualign.core.planning.rectangle import Rect
from gpualign.core.planning.tile_plan import Pairing

PlanT = TypeVar("PlanT", contravariant=True)
BandT = TypeVar("BandT", contravariant=True)


class MatrixContents(Protocol[PlanT, BandT]):
    """Contents of one or more matrices of the same pairs, such as scores, or distances and compared sites."""

    @property
    def dtypes(self) -> Sequence[NumberType]:
        """Type of the values in each matrix."""

    def shape(self, plan: PlanT, /) -> tuple[int, int, Pairing]:
        """Return (number of queries, number of targets, which pairs the bands contain)."""

    def band_values(self, band: BandT, /) -> tuple[Rect, Sequence[npt.NDArray[Any]]]:
        """Return (the rectangle of the matrices that a band fills, its values in each matrix: [queries][targets])."""


class MatrixSink(Generic[PlanT, BandT]):
    """Fills matrices whose element [i][j] belongs to query i and target j. The matrix of one set includes the diagonal, and its lower
    triangle is mirrored.

    The plan's pairing must be ALL or ABOVE_OR_EQUAL, so that every element is computed or mirrored. If only some rows of a matrix of one
    set are written, the array has only the columns of the targets that these rows need, and is not mirrored.

    contents: the values of the matrices
    array_makers: for each matrix, a function that creates its array from shape and type
    rows: start and stop of the rows to write; None for all
    threads: writer threads
    """

    passed_pairs: int | None = None
    """Number of pairs that passed a filter; always None, because matrices are not filtered."""

    def __init__(
        self,
        contents: MatrixContents[PlanT, BandT],
        array_makers: Sequence[ArrayMaker],
        rows: tuple[int, int] | None = None,
        threads: int = 1,
    ) -> None:
        self._contents = contents
        self._array_makers = array_makers
        self._rows = rows
        self._threads = threads
        self._fillers: list[MatrixFiller] = []

    def begin(self, plan: PlanT) -> None:
        query_count, target_count, pairing = self._contents.shape(plan)
        if pairing is Pairing.ABOVE:
            raise ValueError("a matrix needs the diagonal")
        start, stop = self._rows or (0, query_count)
        origin = start, pairing.first_target(start)
        symmetric, is_part, columns = pairing is not Pairing.ALL, self._rows is not None, target_count - origin[1]
        self._open_arrays((stop - start, columns), matrix_locator(start, columns, symmetric and not is_part))
        self._fillers = [MatrixFiller(array, symmetric, self._threads, origin, is_part) for array in self.arrays]

    def _open_arrays(self, shape: tuple[int, ...], locator: PieceLocator) -> None:
        self.arrays = [make(shape, dtype) for make, dtype in zip(self._array_makers, self._contents.dtypes, strict=True)]
        for array in self.arrays:
            array.locator = locator

    def write(self, band: BandT) -> None:
        place, values = self._contents.band_values(band)
        for filler, some in zip(self._fillers, values, strict=True):
            filler.copy_values(some, (place.start, place.stop), (place.first_target, place.target_stop))

    def finish(self) -> None:
        for filler in self._fillers:
            filler.finish()
        for array in self.arrays:
            array.flush()


class CondensedSink(MatrixSink[PlanT, BandT]):
    """Fills vectors with the pairs i < j of one set, row by row, as in scipy.spatial.distance's condensed form."""

    def begin(self, plan: PlanT) -> None:
        self._count, _, pairing = self._contents.shape(plan)
        if pairing is Pairing.ALL:
            raise ValueError("a condensed matrix holds the pairs above the diagonal")
        start, stop = self._rows or (0, self._count)
        self._first = condensed_start(start, self._count)
        self._open_arrays((condensed_start(stop, self._count) - self._first,), condensed_locator(start, self._count))

    def write(self, band: BandT) -> None:
        place, values = self._contents.band_values(band)
        for query in range(place.start, place.stop):
            first = max(query + 1, place.first_target)
            start = condensed_start(query, self._count) + first - query - 1 - self._first
            for array, some in zip(self.arrays, values, strict=True):
                row = some[query - place.start, first - place.first_target :]
                array.reserve(start + len(row))
                array.values[start : start + len(row)] = row
