"""Generates random sequences, and aligns them with any engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Task
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.runner import plan_task, time_plan
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.processor import usable_cpu_count


def random_sequences(lengths: npt.NDArray[np.int64], letter_count: int, seed: int) -> SequenceSet:
    """Return random sequences of these lengths. letter_count: number of different letters"""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    codes = np.random.default_rng(seed).integers(0, letter_count, int(offsets[-1]), dtype=np.uint8)
    return SequenceSet("made up", [f"s{k}" for k in range(len(lengths))], codes, offsets)


def thread_counts() -> list[int]:
    """Return the numbers of threads with which the CPU is measured: one thread, and one thread per usable CPU."""
    return sorted({1, usable_cpu_count()})


def cpu_name(thread_count: int) -> str:
    """Return a human-readable name for the CPU with `thread_count` threads."""
    return f"CPU, {thread_count} thread{'' if thread_count == 1 else 's'}"


def cpu_step_name(thread_count: int) -> str:
    """Return the name, in a comparison, of our current CPU engine with `thread_count` threads."""
    return "today, CPU" if thread_count == 1 else f"today, {cpu_name(thread_count)}"


def time_alignment(task: Task, engine: Engine, memory_bytes: int) -> float:
    """Align all pairs of queries and targets. Return the time taken in seconds, excluding planning."""
    prepared = engine.prepare(task, Budget.from_total(memory_bytes))
    return time_plan(plan_task(prepared, Pairing.ALL), prepared)
