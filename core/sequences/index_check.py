"""Compares a file of letters with its checksums in background threads, so that records at the start can be used while the end is read.

Only for `gpualign.core.sequences.database_index`, which describes the file.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import numpy as np
import numpy.typing as npt

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError

CHUNK_BYTES = 16 << 20
"""Number of bytes for which the file holds a checksum."""

Bytes = npt.NDArray[np.uint8]

_STEP_BYTES = 4 << 20
"""Number of bytes that a thread holds in memory. Smaller steps would wait longer for Python's lock than they take: beside a busy thread,
steps of 1 MiB take twice as long as these."""

_DROPPED_BYTES = 4 << 20
"""Size of the blocks in which pages are dropped. Systems keep up to 2 MB of adjacent pages together, and drop none of them if only some
are to be dropped."""

MAX_THREADS = 8
"""Maximum number of threads that compute checksums."""

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class CheckedRanges:
    """Ranges of the bytes of a file that checksums cover.

    start, stop: range of these bytes; every `CHUNK_BYTES` of them have a checksum
    codes_start, codes_stop: range of the letters, as alphabet codes, among them
    """

    start: int
    stop: int
    codes_start: int
    codes_stop: int

    def chunks(self) -> Iterator[tuple[int, int]]:
        """Yield the range of each chunk."""
        for start in range(self.start, self.stop, CHUNK_BYTES):
            yield start, min(self.stop, start + CHUNK_BYTES)


def scan_chunk(read: Callable[[int, int], Bytes], chunk: tuple[int, int], ranges: CheckedRanges) -> tuple[int, int]:
    """Return (CRC-32, highest code) of a chunk. The highest code is 0 if the chunk has no codes.

    read: returns the bytes of a range of the file, fewer at its end
    """
    checksum = highest = 0
    for start in range(*chunk, _STEP_BYTES):
        content = read(start, min(chunk[1], start + _STEP_BYTES))
        checksum = zlib.crc32(content.data, checksum)
        codes = content[max(ranges.codes_start - start, 0) : max(ranges.codes_stop - start, 0)]
        highest = max(highest, int(codes.max(initial=0)))
    return checksum, highest


class IndexCheck:
    """Checks a file in background threads, from its start on.

    path: path of the file
    checksums: CRC-32 of each chunk
    highest_code: highest code that a letter may have
    max_ahead_bytes: number of bytes that are checked beyond those waited for. The system should hold that much of the file in memory,
        because the letters are read again when they are used
    max_threads: maximum number of threads
    droppable: memory map of the file, whose pages are dropped after their use; None: they stay in memory

    The end of the program does not wait for the threads.
    """

    def __init__(
        self,
        path: str,
        ranges: CheckedRanges,
        checksums: npt.NDArray[np.uint32],
        highest_code: int,
        max_ahead_bytes: int,
        max_threads: int = MAX_THREADS,
        droppable: mmap.mmap | None = None,
    ) -> None:
        self._path = path
        self._ranges = ranges
        self._expected = checksums.tolist()
        self._highest = highest_code
        self._max_ahead = max_ahead_bytes
        self._max_threads = min(max_threads, MAX_THREADS, os.cpu_count() or 1)
        self._droppable = droppable
        self._used: Counter[int] = Counter()  # number of bytes used of each block that is not dropped yet, by its start
        self._chunks = list(ranges.chunks())
        self._problems: dict[int, str | None] = {}  # of chunks that have been scanned, by number
        self._error: Exception | None = None  # of a thread
        self._started = self._checked = 0  # numbers of chunks; all chunks before `_checked` are sound
        self._wanted = ranges.start  # end of the bytes waited for
        self._thread_count = 0
        self._seconds = self._since = 0.0  # how long threads have run, and when the first of those that run now was started
        self._changed = threading.Condition()
        self._stopped = False
        # Not mapped: the threads of a search map the same pages at the same time, and would wait for each other.
        self._descriptor = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._descriptor)
        self._version = self._current_version()
        with self._changed:
            self._start_threads()

    def wait_for_letters(self, count: int, is_stopped: Callable[[], bool] = lambda: False) -> bool:
        """Wait until the first `count` letters, and all that precedes them, have been checked. Returns False if `is_stopped` returns True
        or the check is closed before.

        Raises `InputError` if the file is damaged.
        """
        return self._wait(self._ranges.codes_start + count, is_stopped)

    def finish(self) -> None:
        """Wait until the whole file has been checked. Raises `InputError` if it is damaged."""
        self._wait(self._ranges.stop, lambda: False)

    def refuse_changes(self) -> None:
        """Raise `InputError` if the file has been written to since the check began: its letters were read again after they were checked."""
        if self._current_version() != self._version:
            raise InputError(f"{self._path}: the index was changed while it was searched; repeat the search")

    def _current_version(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_mtime_ns, status.st_size

    @property
    def drops_pages(self) -> bool:
        """True if the file does not fit in memory, so that pages are dropped after their use."""
        return self._droppable is not None

    @property
    def seconds(self) -> float:
        """Time that reading and checking the file has taken so far, in seconds, without that in which the check was far enough ahead."""
        with self._changed:
            return self._seconds + (time.perf_counter() - self._since if self._thread_count else 0.0)

    def drop_letters(self, start: int, stop: int) -> None:
        """Drop the pages of letters [start, stop), see `drop_pages`."""
        self.drop_pages(self._ranges.codes_start + start, self._ranges.codes_start + stop)

    def drop_pages(self, start: int, stop: int) -> None:
        """Drop the pages of bytes [start, stop), which have been used, from memory if the file does not fit there: in blocks, each as soon
        as all of it has been used. They make room for those that are read next; by itself, the system would keep them, because they were
        used twice. If they are used again, they are read again."""
        if self._droppable is None:
            return
        for block in range(start // _DROPPED_BYTES * _DROPPED_BYTES, stop, _DROPPED_BYTES):
            self._used[block] += min(stop, block + _DROPPED_BYTES) - max(start, block)
            if self._used[block] >= _DROPPED_BYTES:
                del self._used[block]
                with suppress(OSError, AttributeError):  # sandboxes may refuse advice, and not every system takes it
                    self._droppable.madvise(mmap.MADV_DONTNEED, block, _DROPPED_BYTES)
                    os.posix_fadvise(self._descriptor, block, _DROPPED_BYTES, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        """Ask the threads to end, without waiting for them."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _wait(self, stop: int, is_stopped: Callable[[], bool]) -> bool:
        with self._changed:
            if stop > self._wanted:
                self._wanted = stop
                self._start_threads()
            while self._checked < len(self._chunks) and self._chunks[self._checked][0] < stop:
                if self._error is not None:
                    raise self._error
                if (problem := self._problems.get(self._checked)) is not None:
                    self.refuse_changes()
                    raise InputError(f"{self._path}: the index is damaged: {problem}; build it again")
                if self._stopped or is_stopped():
                    return False
                self._changed.wait(_POLL_SECONDS)
        return True

    def _start_threads(self) -> None:
        """Start threads for the chunks that may be checked now. They end when there are no more, so that none is left waiting. The caller
        holds the lock."""
        # Reading, zlib and NumPy let other threads run.
        if not self._thread_count:
            self._since = time.perf_counter()
        for _ in range(min(self._max_threads - self._thread_count, self._chunk_limit - self._started)):
            threading.Thread(target=self._work, name="gpualign-check", daemon=True).start()
            self._thread_count += 1

    @property
    def _chunk_limit(self) -> int:
        """Number of the last chunk that may be checked now, plus one."""
        return min(len(self._chunks), -(-(self._wanted + self._max_ahead - self._ranges.start) // CHUNK_BYTES))

    def _work(self) -> None:
        try:
            self._scan_chunks(partial(_read, self._descriptor))
        except Exception as error:  # handed to the callers that wait
            self._error = error

    def _scan_chunks(self, read: Callable[[int, int], Bytes]) -> None:
        while True:
            with self._changed:
                number = self._started
                if self._stopped or number >= self._chunk_limit:
                    self._thread_count -= 1
                    if not self._thread_count:
                        self._seconds += time.perf_counter() - self._since
                    return
                self._started += 1
            problem = self._problem_of(number, read)
            with self._changed:
                self._problems[number] = problem
                while self._checked in self._problems and self._problems[self._checked] is None:
                    self._checked += 1
                self._changed.notify_all()

    def _problem_of(self, number: int, read: Callable[[int, int], Bytes]) -> str | None:
        """Return what is wrong with a chunk, for messages; None if it is sound."""
        chunk = self._chunks[number]
        checksum, code = scan_chunk(read, chunk, self._ranges)
        if checksum != self._expected[number]:
            return f"the checksum of the bytes from {chunk[0]:,} on is wrong"
        if code > self._highest:
            return f"a letter has code {code}; the highest code that its header counts is {self._highest}"
        return None


def _read(descriptor: int, start: int, stop: int) -> Bytes:
    """Return bytes [start, stop) of a file, or fewer at its end."""
    parts = []
    while start < stop and (part := os.pread(descriptor, stop - start, start)):  # not preadv, which some builds of Python for macOS lack
        parts.append(part)
        start += len(part)
    return np.frombuffer(b"".join(parts), dtype=np.uint8)
