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
    """Order of the items' strips in the queue, and the items' carry buffers.

    queued_strips: int32[strips][2], (item, strip) in queue order; the strips of an item are in order
    item_slots: int32[items], the carry buffer of each item
    previous_items: int32[items], the previous item in the same slot, or -1
    slot_count: number of carry buffers
    """

    queued_strips: Int32s
    item_slots: Int32s
    previous_items: Int32s
    slot_count: int


def make_schedule(item_strips: Integers, item_columns: Integers, worker_count: int) -> Schedule:
    """Return the order in which `worker_count` imaginary workers start the items' strips.

    Each worker processes one item after another, most expensive first, one strip at a time. With as many lanes as running blocks, the strip
    above a unit has nearly always finished when the unit is dequeued. Until the strips of the last items run side by side, the queue always
    has units that need not wait. Each lane alternates between two carry buffers, so that an item can start before the previous item ends.

    item_strips, item_columns: number per item, in order of decreasing cost
    """
    worker_count = max(1, min(worker_count, len(item_strips)))
    units, slots, before = cast("tuple[Int32s, Int32s, Int32s]", _schedule.make_schedule(item_strips, item_columns, worker_count))
    return Schedule(units, slots, before, 2 * worker_count)
