"""Orders the strips of a batch's items in the queue from which a device's blocks take their work. Pure."""

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
    """Order of the items' strips in the queue, and the items' slots.

    queued_strips: int32[strips][2], (item, strip) in queue order; the strips of an item are in order
    item_slots: int32[items], the slot of each item
    previous_items: int32[items], the previous item in the same slot, or -1
    slot_count: number of slots
    """

    queued_strips: Int32s
    item_slots: Int32s
    previous_items: Int32s
    slot_count: int


def make_schedule(item_strips: Integers, item_columns: Integers, worker_count: int) -> Schedule:
    """Return the order in which `worker_count` imaginary workers start the items' strips.

    Each worker processes one item after another, most expensive first, one strip at a time. If there are as many workers as running blocks,
    the strip above a unit has nearly always finished when a block takes the unit from the queue. Until only the last items are left, whose
    strips run side by side, the queue always has units that need not wait. Each worker alternates between two slots, so that its next item
    can start before the previous one ends.

    item_strips, item_columns: number of strips and of columns of each item, in order of decreasing cost
    """
    worker_count = max(1, min(worker_count, len(item_strips)))
    units, slots, before = cast("tuple[Int32s, Int32s, Int32s]", _schedule.make_schedule(item_strips, item_columns, worker_count))
    return Schedule(units, slots, before, 2 * worker_count)
