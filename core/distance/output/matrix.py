"""The matrices of distances and of compared sites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.distance.calls import Samples
from gpualign.core.distance.output.base import BandDistances
from gpualign.core.output.matrix_files import NumberType
from gpualign.core.planning.rectangle import Rect
from gpualign.core.planning.tile_plan import Pairing


@dataclass(frozen=True)
class DistanceMatrices:
    """Contents of the matrices of a distance run; implements `gpualign.core.output.matrix.MatrixContents`.

    dtype: type of the distances
    has_compared_sites: whether there is a second matrix, of compared sites
    """

    dtype: NumberType
    has_compared_sites: bool = False

    @property
    def dtypes(self) -> Sequence[NumberType]:
        return (self.dtype, np.dtype(np.int32)) if self.has_compared_sites else (self.dtype,)

    def shape(self, samples: Samples) -> tuple[int, int, Pairing]:
        return len(samples.queries), len(samples.targets), Pairing.ABOVE_OR_EQUAL if samples.is_one_set else Pairing.ALL

    def band_values(self, distances: BandDistances) -> tuple[Rect, Sequence[npt.NDArray[Any]]]:
        if not self.has_compared_sites:
            return distances.band, (distances.values,)
        assert distances.compared_sites is not None
        return distances.band, (distances.values, distances.compared_sites)
