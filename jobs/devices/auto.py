"""Implements the device name "auto" on machines that may have a GPU: chooses the CPU or CUDA, whichever is estimated to finish first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property

from gpualign.core.alignment.task import Task
from gpualign.core.common.errors import RunError
from gpualign.core.execution.engine import Capabilities, TimedEngine, TimedPreparedTask
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.jobs.devices.cuda_prestart import CUDA_START_SECONDS
from gpualign.jobs.reporter import Reporter

_CUDA_CELLS_PER_SECOND, _CUDA_EDIT_CELLS_PER_SECOND = 4e12, 2e13
"""DP cells per second on a data-centre GPU, for most tasks and for edit distances. Approximate values are enough: on jobs large enough
for the GPU, a CPU is far slower."""
_CUDA_SCREENED_PAIRS_PER_SECOND = 8e10
"""Pairs that a data-centre GPU screens per second when it finds near pairs."""

_RECORD_CONVERSION_SECONDS = 0.05
"""Extra seconds before screening starts, to convert records to bits and copy them to the GPU."""

_LATE_START_SECONDS = 0.1
"""Additional seconds for starting CUDA if it was not prestarted; also the time that an unused prestart costs a run on the CPU."""

# Comparisons of two calls per second: by a core with AVX2, and by a GPU with copies and all else.
_CPU_COMPARISONS_PER_SECOND, _CUDA_COMPARISONS_PER_SECOND = 1.5e11, 2e14
_PLANE_CONVERSION_SECONDS = 0.1
"""Extra seconds before counting starts, to convert calls to bit planes and copy them to the GPU."""


def cuda_is_faster(comparisons: float, threads: int) -> bool:
    """True if CUDA is expected to compute distances faster than the CPU. threads: number of CPU threads."""
    return (
        comparisons / (threads * _CPU_COMPARISONS_PER_SECOND)
        > CUDA_START_SECONDS + _PLANE_CONVERSION_SECONDS + comparisons / _CUDA_COMPARISONS_PER_SECOND
    )


def cuda_seconds(task: Task, started: bool) -> float:
    """Return the approximate seconds that CUDA takes for a task, including start-up, for comparison with a run on the CPU. If CUDA has
    already started, the start also slows down the run on the CPU, so this cost is left out.

    started: whether CUDA has started or is starting
    """
    start = CUDA_START_SECONDS - _LATE_START_SECONDS if started else CUDA_START_SECONDS + _LATE_START_SECONDS
    if task.edit_bound is not None:
        return start + _RECORD_CONVERSION_SECONDS + task.approximate_pair_count / _CUDA_SCREENED_PAIRS_PER_SECOND
    return start + task.approximate_cell_count / (_CUDA_EDIT_CELLS_PER_SECOND if task.scoring.edit else _CUDA_CELLS_PER_SECOND)


def _is_cuda_started() -> bool:
    start = sys.modules.get("gpualign.gpu.runtime.prestart")  # not loaded for this alone
    return start is not None and start.context_started()


class AutoDeviceEngine:
    """Implements `gpualign.core.execution.engine.Engine`: prepares each task for the CPU or for CUDA.

    cpu: CPU engine
    make_gpu_engine: creates the CUDA engine, or returns None if there is no GPU; called only if the CPU would take longer than CUDA, or has
        too little memory
    reporter: receives the reason why the CPU was chosen
    """

    capabilities: Capabilities = CpuEngine.capabilities

    def __init__(self, cpu: CpuEngine, make_gpu_engine: Callable[[], TimedEngine | None], reporter: Reporter) -> None:
        self._cpu = cpu
        self._make_gpu = make_gpu_engine
        self._reporter = reporter

    @cached_property
    def _cuda(self) -> TimedEngine | None:
        return self._make_gpu()

    def prepare(self, task: Task, budget: Budget) -> TimedPreparedTask:
        """Prepare a task. Raises `RunError` if neither engine has enough memory."""
        try:
            prepared = self._cpu.prepare(task, budget)
        except RunError:
            gpu = self._cuda
            if gpu is None or gpu.capabilities.unsupported_reason(task):
                raise
            return gpu.prepare(task, budget)
        if prepared.estimated_seconds <= (needed := cuda_seconds(task, _is_cuda_started())):
            self._reporter.detail(
                f"on the CPU, which takes about {prepared.estimated_seconds:.1g} s; CUDA would take {needed:.1g}, most of it to start"
            )
            return prepared
        gpu = self._cuda
        return prepared if gpu is None or gpu.capabilities.unsupported_reason(task) else gpu.prepare(task, budget)
