"""Describes the resources available to a job: devices, threads, memory, and workers on other machines."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import parameter
from gpualign.core.common.units import format_bytes
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter

if TYPE_CHECKING:
    from concurrent.futures import Executor


AUTO = "auto"
ALL_DEVICES = "all"


@dataclass(frozen=True)
class Resources:
    """Resources that a job may use.

    device: auto, cpu, cuda, cuda:all, cuda:0,1, all, or a list such as cpu,cuda:0
    threads: CPU threads; None: as many as this process may use and memory allows, except `spare_threads`
    memory: bytes that the run may use; None: `gpualign.jobs.devices.memory.default_memory`
    reserved_bytes: bytes of the memory that the user gave that are not part of `memory`, because the job keeps them for something else
    spare_threads: number of processors to leave free
    executor: runs the work on its workers, each using the device and memory of its own machine; None: this process does the work
    worker_threads: threads per worker
    workers_per_machine: number of workers that share a machine's threads and memory
    """

    device: str = AUTO
    threads: int | None = None
    memory: int | None = None
    reserved_bytes: int = 0
    spare_threads: int = 0
    executor: Executor | None = None
    worker_threads: int | None = None
    workers_per_machine: int = 1

    @property
    def host_threads(self) -> int:
        """Number of CPU threads that this process may use."""
        from gpualign.cpu.processor import usable_cpu_count

        return self.threads or max(1, usable_cpu_count() - self.spare_threads)

    def with_memory(self, available_bytes: int, all_bytes: int) -> Resources:
        """Return the resources with only `available_bytes` of the `all_bytes` that the run may use."""
        return replace(self, memory=available_bytes, reserved_bytes=self.reserved_bytes + all_bytes - available_bytes)

    def worker_resources(self) -> Resources:
        """Return the resources that one of the executor's workers may use on its own machine."""
        return replace(self, threads=self.worker_threads, executor=None)


def checked_resources(device: str, threads: int | None, memory: int | None, reporter: Reporter = SILENT_REPORTER) -> Resources:
    """Return resources with no more threads than this machine has processors. Reports a thread count that is too high, and memory that this
    process may not be allowed to use.

    Raises `InputError` if `device` is not a device name.
    """
    if device not in (AUTO, "cpu"):
        from gpualign.gpu.runtime.inventory import check_selection

        check_selection(device)
    processors = os.cpu_count() or 1
    if threads is not None and threads > processors:
        reporter.note(f"{parameter('threads', threads)}: this machine has {processors} processors, so {processors} are used")
        threads = processors
    if memory is not None:
        from gpualign.core.common.memory import describe_limit, usable_memory

        usable = usable_memory()
        if usable is not None and memory > usable:
            reporter.note(f"{parameter('memory')} {format_bytes(memory)}: {describe_limit()}; the system may end it when it has more")
    return Resources(device, threads, memory)
