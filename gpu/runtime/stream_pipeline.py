"""Loop that every GPU computation runs in: a few streams take turns, so that host work and copies overlap with kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from gpualign.core.common.errors import RunError
from gpualign.core.common.threads import SerialExecutor
from gpualign.gpu.runtime.device import Device, Event, OutOfMemory, wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers

USABLE_MEMORY_FRACTION = 0.75
"""Fraction of the device's free memory to use; the rest is for the driver and for other processes."""


class StreamPipeline:
    """Streams of an open device. Each stream is idle or has work in flight. Work is collected in the order in which it was started.

    Pipelines are created by `open_pipeline`. All methods but `wait` are called in one thread.

    streams: streams that take turns, with the buffers for the work
    resident: stream with the buffers that all work shares
    """

    def __init__(
        self, device: Device, stream_count: int, poll_seconds: float, is_stopped: Callable[[], bool], collects_in_background: bool
    ) -> None:
        self._device = device
        self._seconds = poll_seconds
        self._stopped = is_stopped
        self.streams = [StreamBuffers(device, number) for number in range(stream_count)]
        self.resident = StreamBuffers(device, stream_count)
        self._idle = self.streams.copy()
        self._in_flight: deque[tuple[StreamBuffers, Callable[[], bool]]] = deque()
        self._cancelled = False
        self._collector = SerialExecutor("gpualign-collect", device.activate, device.deactivate) if collects_in_background else None

    @property
    def has_idle_stream(self) -> bool:
        """True if new work can start before earlier work is collected."""
        return bool(self._idle)

    def usable_memory(self) -> int:
        """Return how much of the free device memory may be used, in bytes."""
        return int(self._device.free_memory() * USABLE_MEMORY_FRACTION)

    def start(self, submit: Callable[[StreamBuffers], None], collect: Callable[[StreamBuffers], bool] = lambda stream: True) -> None:
        """Submit work on an idle stream, after collecting the oldest work if no stream is idle. Does nothing once the run is stopped.

        submit: queues the work on a stream and marks its end; may raise `OutOfMemory`, but only before anything is launched
        collect: takes the results from the stream when the work is finished; returns False if the run is stopped meanwhile
        """
        if not self._idle:
            self.collect_oldest()
        if self._stopped():
            return
        stream = self._idle.pop()
        try:
            submit(stream)
        except OutOfMemory:
            self._idle.append(stream)
            raise
        finish = partial(self._finish, stream, collect)
        self._in_flight.append((stream, self._collector.submit(finish).result if self._collector else finish))

    def collect_oldest(self) -> bool:
        """Wait until the oldest work has been collected. Returns False if none is in flight, or if the run is stopped first."""
        if not self._in_flight:
            return False
        stream, finished = self._in_flight[0]
        if not finished():
            return False
        self._in_flight.popleft()
        self._idle.append(stream)
        return True

    def drain(self) -> None:
        """Collect until no work is in flight, or until the run is stopped."""
        while not self._stopped() and self.collect_oldest():
            pass

    def free_idle(self) -> None:
        """Free the buffers of idle streams."""
        for stream in self._idle:
            stream.release()

    def wait(self, event: Event) -> bool:
        """Wait for an event. Returns False if the run is stopped first."""
        return wait_for(event, self._seconds, self._stopped)

    def close(self) -> None:
        """Terminate the work in flight, and free all buffers."""
        try:
            self._cancel()
        finally:
            if self._collector:
                self._collector.close()
            try:
                for buffers in (*self.streams, self.resident):
                    buffers.release()
            finally:
                # No object of the device may outlive its context.
                self._in_flight.clear()
                self._idle.clear()
                self.streams.clear()
                del self.resident

    def _finish(self, stream: StreamBuffers, collect: Callable[[StreamBuffers], bool]) -> bool:
        return self.wait(stream.events[-1]) and not self._cancelled and collect(stream)

    def _cancel(self) -> None:
        """Terminate the kernels in flight after an error or a stop, and wait for them, so that their memory can be freed."""
        self._cancelled = True
        if len(self._idle) == len(self.streams):
            return
        try:
            control = self._device.create_stream()
            for stream in self.streams:
                stream.stop_kernel(control)
            for stream in self.streams:
                stream.wait()
        except (RunError, OutOfMemory):
            pass  # the device failed; the error that led here reports it


@contextmanager
def open_pipeline(
    device: Device,
    stream_count: int,
    poll_seconds: float = 50e-6,
    is_stopped: Callable[[], bool] = lambda: False,
    collects_in_background: bool = False,
) -> Iterator[StreamPipeline]:
    """Open a device, and yield its pipeline. At the end, work in flight is terminated, all memory is freed, and the device is closed.

    stream_count: number of streams that take turns
    poll_seconds: time between polls of a stream
    is_stopped: called before work is started and while waiting; once it returns True, nothing more is started
    collects_in_background: whether a second thread collects results while the caller's thread prepares the next work
    """
    device.open()
    try:
        pipeline = StreamPipeline(device, stream_count, poll_seconds, is_stopped, collects_in_background)
        try:
            yield pipeline
        finally:
            pipeline.close()
    finally:
        device.close()
