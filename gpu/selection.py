"""The hits of a batch of a search: where a device puts them, and what they are. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpualign.gpu.device import Bytes

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HitPlan:
    """The `hits` best targets of each of `rows` queries, as cuda_src/select.cu writes them: scores, then columns."""

    rows: int
    hits: int

    @property
    def columns_at(self) -> int:
        """Bytes before the columns."""
        return 4 * self.rows * self.hits

    @property
    def result_bytes(self) -> int:
        return 2 * self.columns_at

    def results(self, host: Bytes) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Scores and columns, [rows][hits] in any order, of a finished batch; copies."""
        shape = self.rows, self.hits
        scores, columns = host[: self.columns_at], host[self.columns_at : self.result_bytes]
        return scores.view(np.int32).reshape(shape).copy(), columns.view(np.int32).reshape(shape).copy()
