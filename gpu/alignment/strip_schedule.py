"""The order in which a device's blocks take the strips of a batch's items. Pure."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from gpualign.core.common.arrays import Integers
from gpualign.core.common.dataclass import dataclass
from gpualign.gpu.alignment import _schedule

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Schedule:
    """units: int32[units][2], (item, strip) in the order of the queue; strips of an item stand in order. slots: int32[items],
    the carry buffer of each; before: int32[items], the item that had it before, or -1; slot_count: buffers in all."""

    units: Int32s
    slots: Int32s
    before: Int32s
    slot_count: int


def make_schedule(strips: Integers, columns: Integers, lanes: int) -> Schedule:
    """Items, the costliest first, on `lanes` imaginary workers that take one item after the other, a strip at a time.

    Units start in the order in which those workers would start them. With as many lanes as blocks run, the strip above a unit
    is thus done when the unit is taken, nearly always; the queue stays full of units that need not wait until the end, when
    the strips of the last items run side by side. Each lane has two carry buffers in turn, so that an item can begin while the
    one before it ends. strips, columns: of each item.
    """
    lanes = max(1, min(lanes, len(strips)))
    units, slots, before = cast("tuple[Int32s, Int32s, Int32s]", _schedule.make_schedule(strips, columns, lanes))
    return Schedule(units, slots, before, 2 * lanes)
