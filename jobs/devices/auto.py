"""What the device auto does where there may be a GPU: the CPU or CUDA, whichever ends first by estimate."""

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
"""Cells a second, of most tasks and of edit distances on a data centre's GPU. Of jobs so large that this matters a CPU is far behind
anyway."""
_CUDA_SCREENED = 8e10
"""Pairs a second of which the near ones are looked for."""

_RECORDS = 0.05
"""Seconds more until they are: records are laid out as bits and sent."""

_LATE = 0.1
"""Seconds more where CUDA starts only then; and what it takes the CPU's work if CUDA starts beside it in vain."""

# Comparisons of two calls a second: of a core with AVX2, and of a GPU with copies and the rest.
_CPU_COMPARED, _CUDA_COMPARED = 1.5e11, 2e14
_PLANES = 0.1
"""Seconds more until products begin: calls are laid out as planes and sent."""


def cuda_is_faster(comparisons: float, threads: int) -> bool:
    """For distances."""
    return comparisons / (threads * _CPU_COMPARED) > CUDA_START + _PLANES + comparisons / _CUDA_COMPARED


def cuda_seconds(task: Task, begun: bool) -> float:
    """About how long CUDA takes for a task, its start included, beside what the CPU takes with no CUDA that starts. begun: whether it has
    started already, or does."""
    start = CUDA_START - _LATE if begun else CUDA_START + _LATE
    if task.within is not None:
        return start + _RECORDS + task.pairs_about / _CUDA_SCREENED
    return start + task.cells_about / (_CUDA_EDIT_CELLS if task.scoring.edit else _CUDA_CELLS)


def _has_begun() -> bool:
    start = sys.modules.get("gpualign.gpu.runtime.prestart")  # which nobody needs to load for this
    return start is not None and start.has_begun()


class AutoDeviceEngine:
    """Implements `gpualign.core.execution.engine.Engine`: prepares each task for the one or the other.

    cpu: the CPU's. gpu: makes the CUDA engine, or None where there is no GPU; asked only when the CPU takes longer than CUDA to start.
    """

    capabilities: Capabilities = CpuEngine.capabilities

    def __init__(self, cpu: CpuEngine, gpu: Callable[[], TimedEngine | None], notes: Reporter) -> None:
        self._cpu = cpu
        self._make_gpu = gpu
        self._notes = notes

    @cached_property
    def _cuda(self) -> TimedEngine | None:
        return self._make_gpu()

    def prepare(self, task: Task, budget: Budget) -> Timed:
        """Raises `RunError` where neither has the memory."""
        try:
            prepared = self._cpu.prepare(task, budget)
        except RunError:
            gpu = self._cuda
            if gpu is None or gpu.capabilities.refusal(task):
                raise
            return gpu.prepare(task, budget)
        if prepared.seconds <= (needed := cuda_seconds(task, _has_begun())):
            self._notes.detail(f"on the CPU, which takes about {prepared.seconds:.1g} s; CUDA would take {needed:.1g}, most of it to start")
            return prepared
        gpu = self._cuda
        return prepared if gpu is None or gpu.capabilities.refusal(task) else gpu.prepare(task, budget)
