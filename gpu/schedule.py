"""The order in which a device's blocks take the strips of a batch's items. Pure."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from gpualign.core.dataclass import dataclass

Integers = npt.NDArray[np.int64]

_LEVELS = 2**16 - 1  # start times are sorted as 16-bit numbers, which takes linear time


@dataclass(frozen=True)
class Schedule:
    """units: int32[units][2], (item, strip) in the order of the queue; strips of an item stand in order. slots: int32[items],
    the carry buffer of each; before: int32[items], the item that had it before, or -1; slot_count: buffers in all."""

    units: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]
    before: npt.NDArray[np.int32]
    slot_count: int


def _assign(durations: Integers, lanes: int) -> tuple[Integers, Integers, Integers]:
    """Greedy list scheduling: lane, start, and place within the lane of each item, in their order."""
    count = len(durations)
    if count <= lanes or durations.min() == durations.max():
        numbers = np.arange(count)
        return numbers % lanes, numbers // lanes * (durations[0] if count else 0), numbers // lanes
    free = [(0, lane) for lane in range(lanes)]
    taken = [0] * lanes
    lane_of, start_of, place_of = [], [], []
    for duration in durations.tolist():
        start, lane = free[0]
        heapq.heapreplace(free, (start + duration, lane))
        lane_of.append(lane)
        start_of.append(start)
        place_of.append(taken[lane])
        taken[lane] += 1
    return np.array(lane_of), np.array(start_of), np.array(place_of)


def make_schedule(strips: Integers, columns: Integers, lanes: int) -> Schedule:
    """Items, the costliest first, on `lanes` imaginary workers that take one item after the other, a strip at a time.

    Units start in the order in which those workers would start them. With as many lanes as blocks run, the strip above a unit
    is thus done when the unit is taken, nearly always; the queue stays full of units that need not wait until the end, when
    the strips of the last items run side by side. Each lane has two carry buffers in turn, so that an item can begin while the
    one before it ends. strips, columns: of each item.
    """
    count = len(strips)
    lanes = max(1, min(lanes, count))
    lane, start, place = _assign(strips * columns, lanes)
    item = np.repeat(np.arange(count, dtype=np.int32), strips)
    strip = np.arange(len(item), dtype=np.int32) - np.repeat((np.cumsum(strips) - strips).astype(np.int32), strips)
    # Rounded, but no strip of an item before the one above it.
    scale = min(1.0, _LEVELS / max(1, int((start + (strips - 1) * columns).max(initial=0))))
    begin, pace = (start * scale).astype(np.float32), (columns * scale).astype(np.float32)
    levels = np.minimum(np.repeat(begin, strips) + strip * np.repeat(pace, strips), np.float32(_LEVELS))
    order = np.argsort(levels.astype(np.uint16), kind="stable")
    slots = 2 * lane + place % 2
    before = np.full(count, -1, dtype=np.int32)
    for_slot = np.argsort(slots, kind="stable")  # the items of a slot, one after the other
    same = slots[for_slot][1:] == slots[for_slot][:-1]
    before[for_slot[1:][same]] = for_slot[:-1][same]
    units = np.stack([item[order], strip[order]], axis=1)
    return Schedule(units, slots.astype(np.int32), before, 2 * lanes)
