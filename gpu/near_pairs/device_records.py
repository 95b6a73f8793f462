"""Record sets in the kernels' format: bit planes and sketches, built on the device from codes that are then discarded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.kernels.argument_structs import NEAR_MAKE, NEAR_RECORDS, arguments
from gpualign.gpu.near_pairs.kernels import RECORDS, THREADS
from gpualign.gpu.near_pairs.recipe import NearRecipe
from gpualign.gpu.near_pairs.sketches import hash_shift
from gpualign.gpu.runtime.device import Device, Memory, wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

_PIECE_LETTERS = 32 << 20  # letters that are copied to a device at a time (approximate)
_WAVES = 8  # number of blocks, in multiples of those that fill a device


def plane_starts(lengths: npt.NDArray[np.int64], planes: int) -> npt.NDArray[np.int64]:
    """Return the index of each record's first word, followed by the total: int64[records + 1]."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(-(-lengths // 32) * planes, out=starts[1:])
    return starts


def device_bytes(task: Task, recipe: NearRecipe) -> int:
    """Return the device memory needed for a task's records, in bytes."""
    sets = {id(s): s for s in (task.queries, task.targets)}.values()
    planes = sum(4 * int((-(-s.lengths // 32)).sum()) * recipe.planes for s in sets)
    pieces = 2 * max(_PIECE_LETTERS, *(s.longest for s in sets))
    return planes + sum(len(s) for s in sets) * (recipe.sketch_bytes + 24) + min(pieces, 2 * max(len(s.codes) for s in sets))


class DeviceRecords:
    """Records of a task on one device, stored once if queries and targets are the same set.

    Methods that allocate raise `OutOfMemory`. Call `free` before the device is closed.

    queries, targets: `NEAR_RECORDS`
    """

    def __init__(self, device: Device, slots: list[StreamBuffers], task: Task, recipe: NearRecipe) -> None:
        self._device = device
        self._slots = slots
        self._recipe = recipe
        self._memory: list[Memory] = []
        try:
            self.queries = self._make(task.queries)
            self.targets = self.queries if task.targets is task.queries else self._make(task.targets)
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        """Free the records' memory. No kernel may still be reading the records."""
        while self._memory:
            self._memory.pop().free()

    def _allocate(self, nbytes: int) -> int:
        self._memory.append(self._device.allocate(max(nbytes, 1)))
        return self._memory[-1].address

    def _copied(self, array: npt.NDArray[np.generic]) -> int:
        """Copy an array to the device and return the address."""
        address = self._allocate(array.nbytes)
        stream = self._device.stream()
        stream.upload(address, np.ascontiguousarray(array).view(np.uint8))
        wait_for(stream.record())
        return address

    def _make(self, records: SequenceSet) -> np.void:
        recipe = self._recipe
        starts = plane_starts(records.lengths, recipe.planes)
        device_records = arguments(
            NEAR_RECORDS,
            planes=self._allocate(4 * int(starts[-1])),
            starts=self._copied(starts[:-1]),
            lengths=self._copied(records.lengths.astype(np.int32)),
            sketches=self._allocate(len(records) * recipe.sketch_bytes),
            sizes=self._allocate(4 * len(records)),
        )
        temporary = self._device.allocate(records.offsets.nbytes), self._device.allocate(recipe.ranks.nbytes)
        try:
            stream = self._device.stream()
            for memory, array in zip(temporary, (records.offsets, recipe.ranks), strict=True):
                stream.upload(memory.address, np.ascontiguousarray(array).view(np.uint8))
            wait_for(stream.record())
            self._fill(records, device_records, *(memory.address for memory in temporary))
        finally:
            for memory in temporary:
                memory.free()
        return device_records

    def _fill(self, records: SequenceSet, device_records: np.void, offsets: int, ranks: int) -> None:
        """Build all records on the device, with one piece of the codes in each slot. offsets, ranks: device addresses."""
        steps = self._recipe.steps
        for number, (first, stop) in enumerate(_pieces(records.offsets)):
            slot = self._slots[number % len(self._slots)]
            if slot.passed:
                wait_for(slot.passed[-1])
            codes = records.codes[records.offsets[first] : records.offsets[stop]]
            slot.host("codes", codes.nbytes)[:] = codes
            slot.upload("codes", codes.nbytes)
            filled = arguments(
                NEAR_MAKE,
                records=device_records,
                codes=slot.address("codes", codes.nbytes),
                offsets=offsets,
                ranks=ranks,
                first=first,
                count=stop - first,
                planes=self._recipe.planes,
                radix=self._recipe.letters,
                q=steps.q,
                sketch_words=steps.bits // 32,
                shift=hash_shift(steps.bits) if steps.q else 0,
            )
            slot.launch(RECORDS, min(stop - first, _WAVES * slot.blocks(RECORDS, THREADS)), THREADS, filled)
            slot.begin()
        for slot in self._slots:
            if slot.passed:
                wait_for(slot.passed[-1])


def _pieces(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield record ranges (first, stop) to copy at a time: approximately `_PIECE_LETTERS` letters, at least one record."""
    first, count = 0, len(offsets) - 1
    while first < count:
        stop = int(np.searchsorted(offsets, offsets[first] + _PIECE_LETTERS, side="right")) - 1
        stop = min(count, max(stop, first + 1))
        yield first, stop
        first = stop
