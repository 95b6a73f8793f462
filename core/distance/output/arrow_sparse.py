"""Sinks that write pair distances as rows of typed columns or as a sparse matrix."""

from __future__ import annotations

import numpy as np

from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import NearPairDistances
from gpualign.core.distance.output.pairs import PairsSink
from gpualign.core.output.arrow import TableWriter, TypedColumn
from gpualign.core.output.matrix_files import NumberType
from gpualign.core.output.sparse import CsrSpoolWriter, SpoolFiles
from gpualign.core.output.writer import ByteWriter


class ArrowPairsSink(PairsSink):
    """Writes the columns query, target, `value` and, if `compared` is set, the compared sites.

    stream: destination of the table
    container: format of the table
    value: name of the value column (distance or kinship)
    dtype: type of the values; a pair without a value is null
    compared: whether there is a column for compared sites
    """

    def __init__(self, stream: ByteWriter, container: str, value: str, dtype: NumberType, compared: bool) -> None:
        self._output = stream, container
        self._numbers = [TypedColumn(value, dtype), *([TypedColumn("compared", np.dtype(np.int32))] if compared else [])]

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        ids = TypedColumn("query", ids=samples.queries), TypedColumn("target", ids=samples.targets)
        self._table = TableWriter(*self._output, [*ids, *self._numbers])
        self._table.begin()

    def write_pairs(self, pairs: NearPairDistances) -> None:
        self._table.write(
            [pairs.queries, pairs.targets, pairs.values, *([pairs.compared_sites] if pairs.compared_sites is not None else [])]
        )

    def finish(self) -> None:
        self._table.finish()


class CsrPairsSink(PairsSink):
    """Writes distances + 1 to temporary files, from which `write_csr` builds a sparse matrix. The 1 distinguishes a distance of 0
    from an absent pair.

    spools: the temporary files
    dtype: type of the distances; NaN for a pair without a distance
    """

    def __init__(self, spools: SpoolFiles, dtype: NumberType) -> None:
        self._rows = CsrSpoolWriter(spools, dtype)
        self.dtype = dtype

    def write_pairs(self, pairs: NearPairDistances) -> None:
        self._rows.add(pairs.queries, pairs.targets, pairs.values)
