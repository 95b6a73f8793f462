"""Generates random sequences, and aligns them with any engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.runner import Discard, plan_task, run_plan
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.processor import usable_cpus


def random_sequences(lengths: npt.NDArray[np.int64], letters: int, seed: int) -> SequenceSet:
    """Return random sequences with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    codes = np.random.default_rng(seed).integers(0, letters, int(offsets[-1]), dtype=np.uint8)
    return SequenceSet("made up", [f"s{k}" for k in range(len(lengths))], codes, offsets)


def thread_counts() -> list[int]:
    """Return the thread counts with which to measure the CPU: one, and all."""
    return sorted({1, usable_cpus()})


def cpu_name(threads: int) -> str:
    """Return a human-readable name for the CPU with `threads` threads."""
    return f"CPU, {threads} thread{'' if threads == 1 else 's'}"


def today_on_cpu(threads: int) -> str:
    """Return the benchmark step name for the current CPU engine with `threads` threads."""
    return "today, CPU" if threads == 1 else f"today, {cpu_name(threads)}"


def align(task: Task, engine: Engine, memory: int) -> float:
    """Align all pairs of queries and targets. Return the time taken in seconds, excluding planning."""
    nowhere = Discard()
    prepared = engine.prepare(task, Budget.of(memory))
    return run_plan(plan_task(prepared, Pairing.ALL), prepared, nowhere, nowhere).seconds
