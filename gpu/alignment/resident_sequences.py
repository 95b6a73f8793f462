"""Sequences of a task in the memory of a device. Their letters are copied in pieces as batches need them, so that the first batches of a
large database are computed while the rest is still read from a file, and each of several devices copies only what it needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.alignment.batches import Batch
from gpualign.gpu.runtime.device import ByteArray, Event, wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

PIECE_BYTES = 16 << 20
"""Size of a piece of letters, and of each of the two pinned buffers through which pieces are copied: one is filled while the device reads
the other. A set that is no larger than one of them is copied directly, because pinned memory takes longer to allocate."""


class ResidentSequences:
    """Sequences of a task on a device. Raises `OutOfMemory` if the device has too little memory for them.

    buffers: hold the sequences; their stream is used for nothing else during a copy
    copy_bytes: copies (to, from) within host memory with several threads: with one, reading a mapped file takes longer than a search of it
    addresses: address of each array, by name
    """

    def __init__(self, buffers: StreamBuffers, task: Task, copy_bytes: Callable[[ByteArray, ByteArray], None]) -> None:
        self._buffers = buffers
        self._copy_bytes = copy_bytes
        self._targets = task.targets
        self._queries_are_targets = task.queries is task.targets
        self._is_copied = np.zeros(-(-task.targets.codes.nbytes // PIECE_BYTES), dtype=np.bool_)  # for each piece of the targets' letters
        self.addresses: dict[str, int] = {}
        self._reserve("target", task.targets)
        if self._queries_are_targets:
            self.addresses |= {f"query_{part}": self.addresses[f"target_{part}"] for part in ("codes", "offsets")}
        else:
            self._reserve("query", task.queries)
            buffers.send(np.asarray(task.queries.codes), self.addresses["query_codes"])
            buffers.wait()
        if task.targets.codes.nbytes > PIECE_BYTES:
            self._pinned = [buffers.host_buffer(f"letters {number}", PIECE_BYTES) for number in range(2)]

    def _reserve(self, name: str, sequences: SequenceSet) -> None:
        """Make room for the letters of a set, and copy where its sequences begin."""
        self.addresses[f"{name}_codes"] = self._buffers.address(f"{name}_codes", sequences.codes.nbytes, max_bytes=0)
        self.addresses[f"{name}_offsets"] = self._buffers.copy(f"{name}_offsets", sequences.offsets)

    def copy_letters(self, batch: Batch) -> None:
        """Copy the pieces between the first and the last letter of a batch's sequences that are not on the device yet."""
        numbers = [batch.targets, batch.queries] if self._queries_are_targets else [batch.targets]
        first, last = min(some.min() for some in numbers), max(some.max() for some in numbers)
        start, stop = int(self._targets.offsets[first]) // PIECE_BYTES, -(-int(self._targets.offsets[last + 1]) // PIECE_BYTES)
        missing = start + np.flatnonzero(~self._is_copied[start:stop])
        if not len(missing):
            return
        codes = np.asarray(self._targets.codes)
        if codes.nbytes <= PIECE_BYTES:
            self._buffers.send(codes, self.addresses["target_codes"])
        else:
            self._copy_pieces(codes, (missing * PIECE_BYTES).tolist())
        self._buffers.wait()
        self._is_copied[missing] = True

    def _copy_pieces(self, codes: ByteArray, starts: list[int]) -> None:
        copied: list[Event] = []
        for number, start in enumerate(starts):
            piece = codes[start : start + PIECE_BYTES]
            if number >= 2:
                wait_for(copied[number - 2])
            pinned = self._pinned[number % 2][: len(piece)]
            self._copy_bytes(pinned, piece)
            self._buffers.send(pinned, self.addresses["target_codes"] + start)
            copied.append(self._buffers.record_event())
