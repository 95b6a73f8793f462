"""Orders the strips of a batch's items in the queue that feeds a device's blocks. Pure."""

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
    """Order of the units, and the slots of the items.

    units: int32[units][2], (item, strip) in queue order; the strips of an item are in order
    slots: int32[items], the carry buffer of each item
    before: int32[items], the previous item in the same slot, or -1
    slot_count: number of carry buffers
    """

    units: Int32s
    slots: Int32s
    before: Int32s
    slot_count: int


def make_schedule(strips: Integers, columns: Integers, lanes: int) -> Schedule:
    """Return the order in which `lanes` imaginary workers start the units of the items.

    Each worker processes one item after another, most expensive first, one strip at a time. With as many lanes as running blocks, the strip
    above a unit has nearly always finished when the unit is dequeued. Until the strips of the last items run side by side, the queue always
    has units that need not wait. Each lane alternates between two carry buffers, so that an item can start before the previous item ends.

    strips, columns: number per item, in order of decreasing cost
    """
    lanes = max(1, min(lanes, len(strips)))
    units, slots, before = cast("tuple[Int32s, Int32s, Int32s]", _schedule.make_schedule(strips, columns, lanes))
    return Schedule(units, slots, before, 2 * lanes)
