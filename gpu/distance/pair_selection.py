"""Selects near pairs from counts held on a device. Only the records of pairs that satisfy the rule are copied back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.pair_selection import COMPARED, PairSelectionRule, SelectedPairs
from gpualign.gpu.kernels.argument_structs import CHOOSE, arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import Device, Memory, Stream, wait_for

CHOOSE_PAIRS = Kernel("distance_choose.cu", "choose_pairs")

MAX_RECORDS = 1 << 22
"""Maximum number of records copied back at a time, through tens of megabytes of page-locked memory."""

_MIN_STAGED = 1 << 20
"""Initial size of the page-locked buffer for copying records back, bytes. The buffer grows by doubling, because allocation is expensive."""

_TOTALS_BYTES = 24
"""Size of the totals: the numbers of selected, lacking and undefined pairs."""

_NO_FLOOR = -(1 << 31)
"""Floor below every count."""

_THREADS = 256
_PAIRS = 8  # pairs of a thread in a strip (kPairs)
_BLOCKS = 8  # blocks of a multiprocessor


def needed_counts(names: Iterable[str], filled: Iterable[str], rule: PairSelectionRule) -> tuple[str, ...]:
    """Return the counts that a device needs to apply a rule: counts that some term fills, and counts with a minimum. The rest are 0."""
    needed = {*filled, *([COMPARED] if rule.min_compared is not None else []), *rule.floors}
    return tuple(name for name in names if name in needed)


class DeviceChooser:
    """Selects pairs on one open device, in one of its streams.

    names: all counts; held: counts on the device, as consecutive matrices; capacity: maximum number of records, at least one row's.
    """

    def __init__(
        self,
        device: Device,
        stream: Stream,
        allocate: Callable[[int], Memory],
        names: tuple[str, ...],
        held: tuple[str, ...],
        rule: PairSelectionRule,
        capacity: int,
    ) -> None:
        self._function = device.function(CHOOSE_PAIRS)
        self._max_blocks = _BLOCKS * device.hardware.multiprocessors
        self._stream = stream
        self._names, self._held, self._rule, self._capacity = names, held, rule, capacity
        self._numbers = 2 + len(held)  # of a record
        self._records = allocate(4 * self._numbers * capacity)
        self._totals = allocate(_TOTALS_BYTES)
        self._device = device
        self._staging = device.pinned(_MIN_STAGED)
        self._staged_totals = device.pinned(_TOTALS_BYTES)
        self._offsets = 0
        if rule.offsets is not None:
            self._offsets = allocate(rule.offsets.nbytes).address
            staging = device.pinned(rule.offsets.nbytes)
            np.copyto(staging.view(np.int64), rule.offsets)
            stream.upload(self._offsets, staging)
            self._wait()

    def choose(self, counts: int, band: SampleBand, start: int, stop: int) -> SelectedPairs | None:
        """Return the near pairs in rows start .. stop - 1 of a band, or None if they exceed the capacity. counts: device address."""
        rows, columns = band.shape
        rule, stream = self._rule, self._stream
        filled = arguments(
            CHOOSE,
            counts=counts,
            offsets=self._offsets,
            records=self._records.address,
            totals=self._totals.address,
            weights=[rule.weights.get(name, 0) for name in self._held],
            most=rule.max_sum,
            matrix=rows * columns,
            capacity=self._capacity,
            first_row=start - band.start,
            last_row=stop - band.start,
            columns=columns,
            row_start=band.start,
            column_start=band.first_target,
            kinds=len(self._held),
            least_of=-1 if rule.min_compared is None else self._held.index(COMPARED),
            least=0 if rule.min_compared is None else rule.min_compared,
            upper=band.upper_triangle,
            floored=bool(rule.floors),
            floors=[rule.floors.get(name, _NO_FLOOR) for name in self._held],
        )
        strips = (stop - start) * -(-columns // (_THREADS * _PAIRS))
        stream.fill(self._totals.address, 0, _TOTALS_BYTES)
        stream.launch(self._function, max(1, min(strips, self._max_blocks)), _THREADS, filled)
        stream.download(self._staged_totals, self._totals.address)
        self._wait()
        selected, lacking, undefined = self._staged_totals.view(np.int64).tolist()
        if selected > self._capacity:
            return None
        needed = 4 * self._numbers * selected
        if needed > len(self._staging):
            self._staging = self._device.pinned(max(needed, 2 * len(self._staging)))
        staging = self._staging[:needed]
        if selected:
            stream.download(staging, self._records.address)
            self._wait()
        records = staging.view(np.int32).reshape(selected, self._numbers).T
        zeros = np.zeros(selected, dtype=np.int32)
        counted = {name: records[2 + self._held.index(name)] if name in self._held else zeros for name in self._names}
        places = records[0].astype(np.int64), records[1].astype(np.int64)
        return SelectedPairs.joined([SelectedPairs(*places, counted, lacking, undefined)], self._names, stop)

    def _wait(self) -> None:
        wait_for(self._stream.record())
