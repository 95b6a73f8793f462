"""Orders the strips of a batch's items in the queue from which a device's blocks take them. Pure."""

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

    units: int32[units][2], (item, strip) in the order of the queue; the strips of an item are in order
    slots: int32[items], the carry buffer of each item
    before: int32[items], the item that had the slot before, or -1
    slot_count: number of carry buffers
    """

    units: Int32s
    slots: Int32s
    before: Int32s
    slot_count: int


def make_schedule(strips: Integers, columns: Integers, lanes: int) -> Schedule:
    """Return the order in which `lanes` imaginary workers start the units of the items.

    Each worker takes one item after the other, the most expensive first, a strip at a time. With as many lanes as blocks run, the strip
    above a unit has nearly always finished when the unit is taken. The queue has units that need not wait until the end, when the strips
    of the last items run side by side. Each lane uses two carry buffers alternately, so that an item can start while the previous one ends.

    strips, columns: of each item, in order of decreasing cost
    """
    lanes = max(1, min(lanes, len(strips)))
    units, slots, before = cast("tuple[Int32s, Int32s, Int32s]", _schedule.make_schedule(strips, columns, lanes))
    return Schedule(units, slots, before, 2 * lanes)
