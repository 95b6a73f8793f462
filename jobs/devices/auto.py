"""Implements the device auto on machines that may have a GPU: chooses the CPU or CUDA, whichever is estimated to finish first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Capabilities, Timed, TimedEngine
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.jobs.devices.cuda_prestart import CUDA_START
from gpualign.jobs.reporter import Reporter

_CUDA_CELLS, _CUDA_EDIT_CELLS = 4e12, 2e13
"""Cells per second on a data centre's GPU, for most tasks and for edit distances. A CPU is far slower at jobs that are large enough for
this to matter."""
_CUDA_SCREENED = 8e10
"""Pairs per second that are searched for near ones."""

_RECORDS = 0.05
"""Extra seconds before that: records are laid out as bits and sent."""

_LATE = 0.1
"""Extra start-up seconds if CUDA was not prestarted; also what an unused prestart costs a CPU run."""

# Comparisons of two calls per second: by a core with AVX2, and by a GPU with copies and all else.
_CPU_COMPARED, _CUDA_COMPARED = 1.5e11, 2e14
_PLANES = 0.1
"""Extra seconds before products start: calls are laid out as planes and sent."""


def cuda_is_faster(comparisons: float, threads: int) -> bool:
    """True if CUDA is expected to compute distances faster than the CPU. threads: of the CPU."""
    return comparisons / (threads * _CPU_COMPARED) > CUDA_START + _PLANES + comparisons / _CUDA_COMPARED


def cuda_seconds(task: Task, started: bool) -> float:
    """Return the approximate seconds that CUDA takes for a task, start-up included, to be compared with those of the CPU while no CUDA
    starts.

    started: whether CUDA has started or is starting
    """
    start = CUDA_START - _LATE if started else CUDA_START + _LATE
    if task.within is not None:
        return start + _RECORDS + task.pairs_about / _CUDA_SCREENED
    return start + task.cells_about / (_CUDA_EDIT_CELLS if task.scoring.edit else _CUDA_CELLS)


def _has_started() -> bool:
    start = sys.modules.get("gpualign.gpu.runtime.prestart")  # not loaded for this alone
    return start is not None and start.has_started()


class AutoDeviceEngine:
    """Implements `gpualign.core.execution.engine.Engine`: prepares each task for the CPU or for CUDA.

    cpu: engine of the CPU
    gpu: makes the CUDA engine, or returns None if there is no GPU; called only if the CPU takes longer than CUDA takes to start
    """

    capabilities: Capabilities = CpuEngine.capabilities

    def __init__(self, cpu: CpuEngine, gpu: Callable[[], TimedEngine | None], reporter: Reporter) -> None:
        self._cpu = cpu
        self._make_gpu = gpu
        self._reporter = reporter

    @cached_property
    def _cuda(self) -> TimedEngine | None:
        return self._make_gpu()

    def prepare(self, task: Task, budget: Budget) -> Timed:
        """Prepare a task. Raises `RunError` if neither engine has enough memory."""
        try:
            prepared = self._cpu.prepare(task, budget)
        except RunError:
            gpu = self._cuda
            if gpu is None or gpu.capabilities.refusal(task):
                raise
            return gpu.prepare(task, budget)
        if prepared.seconds <= (needed := cuda_seconds(task, _has_started())):
            self._reporter.detail(
                f"on the CPU, which takes about {prepared.seconds:.1g} s; CUDA would take {needed:.1g}, most of it to start"
            )
            return prepared
        gpu = self._cuda
        return prepared if gpu is None or gpu.capabilities.refusal(task) else gpu.prepare(task, budget)
