"""Selects near pairs from counts held on a device. Only the records of pairs that satisfy the rule are copied back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.pair_selection import COMPARED, PairSelectionRule, SelectedPairs
from gpualign.gpu.kernels.argument_structs import CHOOSE_PAIRS_ARGS, arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

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
    """Selects pairs on one open device, with the buffers of one stream.

    names: all counts; held: counts on the device, as consecutive matrices; capacity: maximum number of records, at least one row's.
    """

    def __init__(
        self, buffers: StreamBuffers, names: tuple[str, ...], held: tuple[str, ...], rule: PairSelectionRule, capacity: int
    ) -> None:
        self._buffers = buffers
        self._names, self._held, self._rule, self._capacity = names, held, rule, capacity
        self._numbers = 2 + len(held)  # of a record
        buffers.load(CHOOSE_PAIRS)
        buffers.host("records", _MIN_STAGED)
        self._records = buffers.address("records", 4 * self._numbers * capacity, max_bytes=0)
        self._totals = buffers.address("totals", _TOTALS_BYTES)
        self._offsets = 0 if rule.offsets is None else buffers.copy("offsets", rule.offsets)

    def choose(self, counts: int, band: SampleBand, start: int, stop: int) -> SelectedPairs | None:
        """Return the near pairs in rows start .. stop - 1 of a band, or None if they exceed the capacity. counts: device address."""
        rows, columns = band.shape
        rule, buffers = self._rule, self._buffers
        filled = arguments(
            CHOOSE_PAIRS_ARGS,
            counts=counts,
            offsets=self._offsets,
            records=self._records,
            totals=self._totals,
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
        buffers.fill(self._totals, 0, _TOTALS_BYTES)
        buffers.launch(CHOOSE_PAIRS, max(1, min(strips, _BLOCKS * buffers.multiprocessors)), _THREADS, filled)
        selected, lacking, undefined = buffers.fetch("totals", (3,), np.int64).tolist()
        if selected > self._capacity:
            return None
        nbytes = 4 * self._numbers * selected
        if selected:
            buffers.download_list("records", nbytes)
            buffers.wait()
        records = buffers.host("records", nbytes).view(np.int32).reshape(selected, self._numbers).T
        zeros = np.zeros(selected, dtype=np.int32)
        counted = {name: records[2 + self._held.index(name)] if name in self._held else zeros for name in self._names}
        places = records[0].astype(np.int64), records[1].astype(np.int64)
        return SelectedPairs.joined([SelectedPairs(*places, counted, lacking, undefined)], self._names, stop)
