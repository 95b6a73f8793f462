"""Describes what a job may use: devices, threads, memory, and workers on other machines."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import parameter
from gpualign.core.common.units import format_bytes
from gpualign.jobs.reporter import SILENT, Reporter

if TYPE_CHECKING:
    from concurrent.futures import Executor


AUTO = "auto"
ALL = "all"


@dataclass(frozen=True)
class Resources:
    """What a job may use. device: auto, cpu, cuda, cuda:all, cuda:0,1, all, or a list such as cpu,cuda:0; threads: of the CPU, None: as
    many as this process may use and memory holds, but for `spare`; memory: bytes, None: `gpualign.jobs.devices.memory.default_memory`.

    executor: whose workers compute, with what device and memory say of their own machines; None: this process does. worker_threads: of
    each worker; sharing: workers that share a machine's threads and memory.
    """

    device: str = AUTO
    threads: int | None = None
    memory: int | None = None
    spare: int = 0
    executor: Executor | None = None
    worker_threads: int | None = None
    sharing: int = 1

    @property
    def host_threads(self) -> int:
        """Threads of the CPU, as a number."""
        from gpualign.cpu.processor import usable_cpus

        return self.threads or max(1, usable_cpus() - self.spare)

    def of_worker(self) -> Resources:
        """What a worker of the executor may use of its machine."""
        return replace(self, threads=self.worker_threads, executor=None)


def checked_resources(device: str, threads: int | None, memory: int | None, notes: Reporter = SILENT) -> Resources:
    """No more threads than this machine has processors, which is noted, and so is memory that this process may not have. Raises
    `InputError` for what is no device's name."""
    if device not in (AUTO, "cpu"):
        from gpualign.gpu.runtime.inventory import check_selection

        check_selection(device)
    most = os.cpu_count() or 1
    if threads is not None and threads > most:
        notes.note(f"{parameter('threads', threads)}: this machine has {most} processors, so {most} are used")
        threads = most
    if memory is not None:
        from gpualign.core.common.memory import describe_limit, usable_memory

        there = usable_memory()
        if there is not None and memory > there:
            notes.note(f"{parameter('memory')} {format_bytes(memory)}: {describe_limit()}; the system may end it when it has more")
    return Resources(device, threads, memory)
