"""Measures the duration of kernels on the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpualign.gpu.runtime.device import wait_for
from gpualign.gpu.runtime.stream_buffers import StreamBuffers
from gpualign.gpu.runtime.stream_pipeline import StreamPipeline

BUSY_FILL_BYTES = 512 << 20  # clearing them takes some tenths of a millisecond

KernelLog = Callable[[float, int], None]
"""Called with the kernel time in seconds and the number of DP cells or comparisons computed."""


@contextmanager
def log_kernel_time(pipeline: StreamPipeline, stream: StreamBuffers, work_count: int, log: KernelLog | None) -> Iterator[None]:
    """Measure the kernels launched on a stream within the context, wait for them, and call `log`. Without a log, do nothing.

    work_count: number of DP cells or comparisons that these kernels compute
    """
    if log is None:
        yield
        return
    # Keep the device busy while the host launches, so that the times of short kernels do not include the host's.
    stream.fill(pipeline.resident.address("ballast", BUSY_FILL_BYTES, max_bytes=0), 0, BUSY_FILL_BYTES)
    started = stream.record_event()
    yield
    ended = stream.record_event()
    wait_for(ended)
    log(ended.seconds_since(started), work_count)
