"""The value that a matrix holds for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.identity import DEFAULT_DEFINITION
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.results.blocks import Block, RectangleBlock

if TYPE_CHECKING:
    from gpualign.core.alignment.band_results import BandResults
    from gpualign.core.output.matrix_files import NumberType
    from gpualign.core.planning.rectangle import Rect
    from gpualign.core.planning.tile_plan import Pairing, Plan


@dataclass(frozen=True)
class MatrixValueKind:
    """Kind of value that a matrix holds for each pair.

    name: "score" (int32 or int64), "identity" or "distance", which is 1 - identity (float64)
    is_edit_distance: whether scores, and therefore distances, are edit distances
    """

    name: str
    identity_definition: int
    is_edit_distance: bool = False

    @property
    def display_name(self) -> str:
        """Name of the value for messages and programs: score, identity or distance."""
        return "distance" if self.is_edit_distance and self.name == "score" else self.name

    @property
    def _is_engine_result(self) -> bool:
        """True if engines compute this value directly for every pair."""
        return self.name == "score" or (self.is_edit_distance and self.name == "distance")

    @property
    def detail(self) -> Detail:
        return Detail.SCORE if self._is_engine_result else Detail.STATISTICS

    @property
    def array_name(self) -> str:
        return "scores" if self.display_name == "score" else self.display_name

    def dtype(self, task: Task) -> NumberType:
        return task.score_dtype if self._is_engine_result else np.dtype(np.float64)

    def block_values(self, block: Block) -> npt.NDArray[Any]:
        """Return the values for a block's pairs, in the shape of the block's scores."""
        if self._is_engine_result:
            return block.scores
        return block.identity_fraction if self.name == "identity" else block.identity_distance


SCORE_VALUE = MatrixValueKind("score", DEFAULT_DEFINITION)


@dataclass(frozen=True)
class ValueMatrix:
    """Matrix with one value per pair, such as the score or the identity (implements `gpualign.core.output.matrix.MatrixContents`).

    task: the task whose results the matrix holds
    value: which value the matrix holds
    """

    task: Task
    value: MatrixValueKind = SCORE_VALUE

    @property
    def dtypes(self) -> Sequence[NumberType]:
        return (self.value.dtype(self.task),)

    def shape(self, plan: Plan) -> tuple[int, int, Pairing]:
        return plan.query_count, plan.target_count, plan.pairing

    def band_values(self, results: BandResults) -> tuple[Rect, Sequence[npt.NDArray[Any]]]:
        return results.band, (self.value.block_values(RectangleBlock(self.task, self.value.identity_definition, results)),)
