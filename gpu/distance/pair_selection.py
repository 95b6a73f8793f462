"""Selects near pairs from counts that are stored on a device. Only pairs that satisfy the rule are copied back, with their counts."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpualign.core.distance.bands import SampleBand
from gpualign.core.distance.pair_selection import COMPARED, PairSelectionRule, SelectedPairs
from gpualign.gpu.kernels.argument_structs import CHOOSE_PAIRS_ARGS, pack_arguments
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

CHOOSE_PAIRS_KERNEL = Kernel("distance_choose.cu", "choose_pairs")

MAX_RECORDS = 1 << 22
"""Maximum number of pairs that are copied back in one step. They take tens of megabytes of pinned memory."""

_INITIAL_STAGING_BYTES = 1 << 20
"""Initial size, in bytes, of the pinned buffer for pairs that are copied. It grows by doubling, because allocation is expensive."""

_TOTALS_BYTES = 24
"""Size, in bytes, of three totals: the numbers of pairs that are selected, that have too few compared sites, and that have no value."""

_NO_MIN_COUNT = -(1 << 31)
"""Minimum of a count for which the rule sets none. Every count exceeds it."""

_BLOCK_THREADS = 256
_PAIRS_PER_THREAD = 8  # in a strip of a row (kPairs in cuda_src/)
_BLOCKS_PER_SM = 8


def needed_counts(count_names: Iterable[str], filled_names: Iterable[str], rule: PairSelectionRule) -> tuple[str, ...]:
    """Return the names of the counts that a device needs to apply a rule.

    These are the counts in `filled_names`, and the counts for which the rule has a minimum.

    filled_names: counts to which a term contributes; all others are 0
    """
    needed = {*filled_names, *([COMPARED] if rule.min_compared is not None else []), *rule.floors}
    return tuple(name for name in count_names if name in needed)


class DevicePairSelector:
    """Selects pairs on one open device, with the buffers of one stream.

    count_names: names of all counts in the results
    device_count_names: names of the counts on the device, where their matrices are stored consecutively
    max_records: maximum number of pairs selected in one step; at least the number of pairs in one row
    """

    def __init__(
        self,
        buffers: StreamBuffers,
        count_names: tuple[str, ...],
        device_count_names: tuple[str, ...],
        rule: PairSelectionRule,
        max_records: int,
    ) -> None:
        self._buffers = buffers
        self._names, self._device_count_names, self._rule, self._capacity = count_names, device_count_names, rule, max_records
        self._record_bytes = 4 * (2 + len(device_count_names))  # row, column and counts
        buffers.load(CHOOSE_PAIRS_KERNEL)
        buffers.host_buffer("records", _INITIAL_STAGING_BYTES)
        self._records = buffers.address("records", self._record_bytes * max_records, max_bytes=0)
        self._totals = buffers.address("totals", _TOTALS_BYTES)
        self._offsets = 0 if rule.offsets is None else buffers.copy("offsets", rule.offsets)

    def select(self, counts_address: int, band: SampleBand, start: int, stop: int) -> SelectedPairs | None:
        """Return the near pairs in rows start .. stop - 1 of a band, or None if there are more than `max_records`."""
        rows, columns = band.shape
        rule, buffers = self._rule, self._buffers
        arguments = pack_arguments(
            CHOOSE_PAIRS_ARGS,
            counts=counts_address,
            offsets=self._offsets,
            records=self._records,
            totals=self._totals,
            weights=[rule.weights.get(name, 0) for name in self._device_count_names],
            most=rule.max_sum,
            matrix=rows * columns,
            capacity=self._capacity,
            first_row=start - band.start,
            last_row=stop - band.start,
            columns=columns,
            row_start=band.start,
            column_start=band.first_target,
            kinds=len(self._device_count_names),
            least_of=-1 if rule.min_compared is None else self._device_count_names.index(COMPARED),
            least=0 if rule.min_compared is None else rule.min_compared,
            upper=band.upper_triangle,
            floored=bool(rule.floors),
            floors=[rule.floors.get(name, _NO_MIN_COUNT) for name in self._device_count_names],
        )
        strips = (stop - start) * -(-columns // (_BLOCK_THREADS * _PAIRS_PER_THREAD))
        buffers.fill(self._totals, 0, _TOTALS_BYTES)
        buffers.launch(CHOOSE_PAIRS_KERNEL, max(1, min(strips, _BLOCKS_PER_SM * buffers.multiprocessor_count)), _BLOCK_THREADS, arguments)
        selected, lacking, undefined = buffers.fetch("totals", (3,), np.int64).tolist()
        if selected > self._capacity:
            return None
        nbytes = self._record_bytes * selected
        if selected:
            buffers.download_list("records", nbytes)
            buffers.wait()
        records = buffers.host_buffer("records", nbytes).view(np.int32).reshape(selected, self._record_bytes // 4).T
        zeros = np.zeros(selected, dtype=np.int32)
        counted = {
            name: records[2 + self._device_count_names.index(name)] if name in self._device_count_names else zeros for name in self._names
        }
        places = records[0].astype(np.int64), records[1].astype(np.int64)
        return SelectedPairs.joined([SelectedPairs(*places, counted, lacking, undefined)], self._names, stop)
