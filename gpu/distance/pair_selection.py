"""Near pairs of counts that are on a device: only records of the pairs that a rule chooses leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gpualign.core.distance.bands import Band
from gpualign.core.distance.pair_selection import COMPARED, ChosenPairs, PairSelectionRule
from gpualign.gpu.kernels.argument_structs import CHOOSE, arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.device import Device, Memory, Stream, wait_for

CHOOSE_PAIRS = Kernel("distance_choose.cu", "choose_pairs")

MOST_RECORDS = 1 << 22
"""That leave a device at a time: what is page-locked for them is tens of megabytes."""

_FEWEST_STAGED = 1 << 20
"""Bytes of page-locked memory that records come back through: it is dear to make, so it grows by doubling."""

_TOTALS_BYTES = 24
"""Pairs that are chosen, lacking ones, undefined ones."""

_NO_FLOOR = -(1 << 31)
"""Below every count."""

_THREADS = 256
_PAIRS = 8  # of a thread at a time (kPairs)
_BLOCKS = 8  # of a multiprocessor


def needed_counts(names: Iterable[str], filled: Iterable[str], rule: PairSelectionRule) -> tuple[str, ...]:
    """The counts that a device must hold to choose by: those that some term fills, and what must be at least so much. Others are 0."""
    kept = {*filled, *([COMPARED] if rule.least is not None else []), *rule.floors}
    return tuple(name for name in names if name in kept)


class DeviceChooser:
    """Works on one device, which is open, in one of its streams.

    names: of all counts; held: of those that the device has, matrices one behind the other. capacity: records that fit, at least one row's.
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
        self._staging = device.pinned(_FEWEST_STAGED)
        self._staged_totals = device.pinned(_TOTALS_BYTES)
        self._offsets = 0
        if rule.offsets is not None:
            self._offsets = allocate(rule.offsets.nbytes).address
            staging = device.pinned(rule.offsets.nbytes)
            np.copyto(staging.view(np.int64), rule.offsets)
            stream.upload(self._offsets, staging)
            self._wait()

    def choose(self, counts: int, band: Band, start: int, stop: int) -> ChosenPairs | None:
        """The pairs of rows start .. stop of a band, whose counts lie at an address; None where these are more than there is room for."""
        rows, columns = band.shape
        rule, stream = self._rule, self._stream
        filled = arguments(
            CHOOSE,
            counts=counts,
            offsets=self._offsets,
            records=self._records.address,
            totals=self._totals.address,
            weights=[rule.weights.get(name, 0) for name in self._held],
            most=rule.most,
            matrix=rows * columns,
            capacity=self._capacity,
            first_row=start - band.start,
            last_row=stop - band.start,
            columns=columns,
            row_start=band.start,
            column_start=band.first_target,
            kinds=len(self._held),
            least_of=-1 if rule.least is None else self._held.index(COMPARED),
            least=0 if rule.least is None else rule.least,
            upper=band.upper_triangle,
            floored=bool(rule.floors),
            floors=[rule.floors.get(name, _NO_FLOOR) for name in self._held],
        )
        strips = (stop - start) * -(-columns // (_THREADS * _PAIRS))
        stream.fill(self._totals.address, 0, _TOTALS_BYTES)
        stream.launch(self._function, max(1, min(strips, self._max_blocks)), _THREADS, filled)
        stream.download(self._staged_totals, self._totals.address)
        self._wait()
        found, lacking, undefined = self._staged_totals.view(np.int64).tolist()
        if found > self._capacity:
            return None
        needed = 4 * self._numbers * found
        if needed > len(self._staging):
            self._staging = self._device.pinned(max(needed, 2 * len(self._staging)))
        staging = self._staging[:needed]
        if found:
            stream.download(staging, self._records.address)
            self._wait()
        records = staging.view(np.int32).reshape(found, self._numbers).T
        nothing = np.zeros(found, dtype=np.int32)
        counted = {name: records[2 + self._held.index(name)] if name in self._held else nothing for name in self._names}
        places = records[0].astype(np.int64), records[1].astype(np.int64)
        return ChosenPairs.joined([ChosenPairs(*places, counted, lacking, undefined)], self._names, stop)

    def _wait(self) -> None:
        wait_for(self._stream.record())
