"""Li et al. 2014: global alignment of many pairs, with four ways to fill the matrices, three ways to copy them back, and our current
engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.processor import usable_cpus
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.papers.base import session
from gpualign.gpu.papers.li import MEMORY_SHARE, METHODS, RECORD_BYTES, BlockSizes, LiEngine, TaskOnDevice, Transfer
from gpualign.gpu.runtime.device import Device
from gpualign.papers.report import MethodComparison, Section, Step, Table
from gpualign.papers.tasks import align, cpu_name, random_sequences, thread_counts, today_on_cpu
from gpualign.papers.timing import KernelClock, Timing, repeat

_PUBLISHED = {"rodinia": 1.0, "tiled-dscan": 2.0}
"""Speed-ups over Rodinia on a K20. The paper gives no value at this length for the remaining methods (figures 6 and 7)."""

_PUBLISHED_TEXT = {
    "rodinia": "1×",
    "tiled-dscan": "1.2× (Quadro 2000) to 2× (K20)",
    "dscan": "better than tiled-dscan, but for C207x",
    "rscan": "poor for 1.5 kb; up to 5× for 512, memory full",
}
_RUNS = 5
_LONG_RUNS = 3
_RODINIA_PAIRS = 64


@dataclass(frozen=True)
class TaskSize:
    """Size of the task.

    length: length of every sequence
    queries, targets: the kernels align queries x targets pairs
    transfer_targets: the transfer runs align queries x more_targets pairs
    memory: bytes per batch in the transfer runs
    max_fill: maximum fraction of device memory filled with matrices
    """

    length: int
    queries: int
    targets: int
    transfer_targets: int
    memory: int
    max_fill: float


TASK_SIZES = {
    "small": TaskSize(1536, 4, 4, 16, 64 << 20, 0.01),
    "paper": TaskSize(1536, 8, 8, 600, 2 << 30, MEMORY_SHARE),
    "large": TaskSize(1536, 32, 32, 600, 8 << 30, MEMORY_SHARE),
}


def _task(length: int, queries: int, targets: int, detail: Detail) -> Task:
    """Return a task with random sequences of equal length, like those of one gene."""
    sequences = random_sequences(np.full(queries + targets, length), 4, 14)
    first = replace(sequences, ids=sequences.ids[:queries], offsets=sequences.offsets[: queries + 1])
    others = replace(
        sequences, ids=sequences.ids[queries:], codes=sequences.codes[queries * length :], offsets=sequences.offsets[: targets + 1]
    )
    return Task(first, others, make_scoring(DNA, ScoringOptions(match=4, mismatch=-5, gap=6), [first]), detail=detail)


def _measure_cpu(task: Task, threads: int, memory: int) -> Timing:
    return repeat(_RUNS, lambda _: align(task, CpuEngine(threads), memory))


def run(device: Device | None, size: str) -> Section:
    """Run all measurements; without a device, only those on the CPU."""
    shape = TASK_SIZES[size]
    ladders, tables = [_kernels(device, shape)], []
    if device is not None:
        tables += [_full_memory(device, shape), _transfers(device, shape)]
    left_out = [] if device is not None else ["the four GPU kernels, their transfers, and today's (no GPU)"]
    return Section("Li 2014", "Li, Sajjapongse, Truong, Conant, Becchi 2014: all-against-all Needleman-Wunsch", ladders, tables, left_out)


def _kernels(device: Device | None, shape: TaskSize) -> MethodComparison:
    task = _task(shape.length, shape.queries, shape.targets, Detail.SCORE)
    memory = 4 << 30
    clock = KernelClock()
    steps = []
    if device is not None:
        for method in METHODS:
            engine = LiEngine(device, method, Transfer.PINNED, log=clock)
            timing = repeat(_RUNS, lambda _, engine=engine: clock.measure(lambda: align(task, engine, memory)))  # type: ignore[misc]
            steps.append(Step(method, "GPU", timing, _PUBLISHED.get(method), _PUBLISHED_TEXT[method]))
    for threads in thread_counts():
        steps.append(Step(today_on_cpu(threads), cpu_name(threads), _measure_cpu(task, threads, memory)))
    if device is not None:
        seconds = KernelClock()
        today = CudaEngine([device], log=lambda batch: seconds(batch.download - batch.kernels, 0))
        steps.append(Step("today, CUDA", "GPU", repeat(_RUNS, lambda _: seconds.measure(lambda: align(task, today, memory)))))
    pairs = shape.queries * shape.targets
    text = f"{pairs:,} pairs of {shape.length:,} letters, 4/-5, gaps of 6; whole matrices, but today only scores; GPU: time in kernels."
    return MethodComparison(f"{pairs:,} pairs of {shape.length:,} letters", text, steps, "six GPUs of 2010 to 2012, over Rodinia")


def _full_memory(device: Device, shape: TaskSize) -> Table:
    """Measure only the kernels, with enough pairs that their matrices fill the device memory: pairs per second (figure 7)."""
    lengths = (shape.length, max(1, shape.length // 3))
    rates = {method: [_time_full_batch(device, method, length, shape.max_fill) for length in lengths] for method in METHODS}
    rows = []
    for method, measured in rates.items():
        cells = [f"{pairs / seconds:,.0f} ({pairs:,} pairs)" for pairs, seconds in measured]
        rows.append([method, *cells])
    fill = f"{shape.max_fill:.0%}"
    notes = [
        f"Matrices fill {fill} of the device's free memory, and stay there. Rodinia takes pairs one by one: its rate is that of",
        f"{_RODINIA_PAIRS} pairs. Published for 512 letters: rscan up to 5 times as fast as Rodinia.",
    ]
    return Table("Kernels with a full memory, pairs per second", ["", *(f"{length:,} letters" for length in lengths)], rows, notes)


def _time_full_batch(device: Device, method: str, length: int, max_fill: float) -> tuple[int, float]:
    """Return (pairs, seconds) for the kernels of one batch."""
    size = (length + 1) ** 2
    clock = KernelClock()
    with session(device, 1) as pipeline:
        # A matrix takes 4 bytes a cell; the records of a pair are small beside it.
        max_pairs = int(device.free_memory() * max_fill) // (4 * size + RECORD_BYTES)
        count = max(1, min(max_pairs, _RODINIA_PAIRS if method == "rodinia" else max_pairs))
        task = _task(length, min(count, 32), -(-count // 32), Detail.SCORE)
        pairs = np.stack(np.divmod(np.arange(count), len(task.targets)), axis=1).astype(np.int64)
        work = TaskOnDevice(pipeline, task, method, BlockSizes(), clock)
        starts = np.arange(count + 1, dtype=np.int64) * size
        timing = repeat(_LONG_RUNS, lambda _: clock.measure(lambda: work.fill(pairs, starts, pipeline.streams[0])))
    return count, timing.median


def _transfers(device: Device, shape: TaskSize) -> Table:
    """Measure complete runs with traceback, as in figure 8: pairs per second."""
    task = _task(shape.length, shape.queries, shape.transfer_targets, Detail.PATH)
    pairs = shape.queries * shape.transfer_targets
    rows = []
    engines = [LiEngine(device, "dscan", transfer) for transfer in Transfer]
    times = [repeat(_LONG_RUNS, lambda _, engine=engine: align(task, engine, shape.memory)) for engine in engines]  # type: ignore[misc]
    rows.append(["dscan, traced on the host", *(f"{pairs / time.median:,.0f}" for time in times)])
    today = repeat(_LONG_RUNS, lambda _: align(task, CudaEngine([device]), shape.memory))
    rows.append(["today, CUDA, traced on the device", "", "", f"{pairs / today.median:,.0f}"])
    threads = usable_cpus()
    rows.append([f"today, CPU, {threads} threads", "", "", f"{pairs / _measure_cpu(task, threads, shape.memory).median:,.0f}"])
    half = max(1, shape.memory >> 31)
    notes = [
        f"{pairs:,} pairs with their alignments, copies and tracing included. Batches fill {half:,} GiB of the host's memory, not three",
        "quarters of the device's. Published: 200 to 330 pairs per second on one GPU; page-locked memory 1.6 times as fast as pageable,",
        "double buffering 1.2 times on top; 1,015 on a cluster of six.",
    ]
    header = ["", "pageable", "pinned", "pinned, double buffering"]
    return Table(f"Alignments of {shape.length:,} letters, pairs per second", header, rows, notes)
