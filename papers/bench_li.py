"""Benchmark of Li et al. 2013: global alignment of many pairs, with four ways to fill the matrices, three ways to copy them back, and our
current engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.cpu.processor import usable_cpu_count
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.papers.base import device_session
from gpualign.gpu.papers.li import MAX_MEMORY_FRACTION, METHODS, PAIR_RECORD_BYTES, BlockSizes, DeviceTask, LiEngine, TransferMode
from gpualign.gpu.runtime.device import Device
from gpualign.papers.report import MethodComparison, MethodMeasurement, Section, Table
from gpualign.papers.tasks import cpu_name, cpu_step_name, random_sequences, thread_counts, time_alignment
from gpualign.papers.timing import KernelClock, Timing, time_repeatedly

_PUBLISHED_SPEEDUPS = {"rodinia": 1.0, "tiled-dscan": 2.0}
"""Speed-ups over Rodinia on a Tesla K20 (figures 6 and 7). The paper gives no values for the remaining methods at this sequence length."""

_PUBLISHED_TEXT = {
    "rodinia": "1×",
    "tiled-dscan": "1.2× (Quadro 2000) to 2× (K20)",
    "dscan": "better than tiled-dscan, but for C207x",
    "rscan": "poor for 1.5 kb; up to 5× for 512, memory full",
}
_RUN_COUNT = 5
_LONG_RUN_COUNT = 3
_MAX_RODINIA_PAIRS = 64


@dataclass(frozen=True)
class TaskSize:
    """Size of the benchmark's tasks, in which all queries are aligned with all targets.

    sequence_length: length of every sequence
    query_count: number of queries
    kernel_target_count: number of targets when only kernels are measured
    transfer_target_count: number of targets when transfers are measured
    batch_bytes: memory per batch when transfers are measured
    max_memory_fraction: maximum fraction of device memory filled with matrices
    """

    sequence_length: int
    query_count: int
    kernel_target_count: int
    transfer_target_count: int
    batch_bytes: int
    max_memory_fraction: float


TASK_SIZES = {
    "small": TaskSize(1536, 4, 4, 16, 64 << 20, 0.01),
    "paper": TaskSize(1536, 8, 8, 600, 2 << 30, MAX_MEMORY_FRACTION),
    "large": TaskSize(1536, 32, 32, 600, 8 << 30, MAX_MEMORY_FRACTION),
}


def _make_task(length: int, query_count: int, target_count: int, detail: Detail) -> Task:
    """Return a task with random sequences, which all have the same length, like the sequences of one gene."""
    sequences = random_sequences(np.full(query_count + target_count, length), 4, 14)
    first = replace(sequences, ids=sequences.ids[:query_count], offsets=sequences.offsets[: query_count + 1])
    others = replace(
        sequences,
        ids=sequences.ids[query_count:],
        codes=sequences.codes[query_count * length :],
        offsets=sequences.offsets[: target_count + 1],
    )
    return Task(first, others, make_scoring(DNA, ScoringOptions(match=4, mismatch=-5, gap=6), [first]), detail=detail)


def _measure_cpu(task: Task, threads: int, memory_bytes: int) -> Timing:
    return time_repeatedly(_RUN_COUNT, lambda _: time_alignment(task, CpuEngine(threads), memory_bytes))


def run_benchmark(device: Device | None, size_name: str) -> Section:
    """Run all measurements or, without a device, only the measurements on the CPU."""
    shape = TASK_SIZES[size_name]
    ladders, tables = [_compare_kernels(device, shape)], []
    if device is not None:
        tables += [_measure_full_memory(device, shape), _measure_transfers(device, shape)]
    left_out = [] if device is not None else ["the four GPU kernels, their transfers, and today's (no GPU)"]
    return Section("Li 2013", "Li, Sajjapongse, Truong, Conant, Becchi 2013: all-against-all Needleman-Wunsch", ladders, tables, left_out)


def _compare_kernels(device: Device | None, task_size: TaskSize) -> MethodComparison:
    task = _make_task(task_size.sequence_length, task_size.query_count, task_size.kernel_target_count, Detail.SCORE)
    memory = 4 << 30
    clock = KernelClock()
    steps = []
    if device is not None:
        for method in METHODS:
            engine = LiEngine(device, method, TransferMode.PINNED, log=clock)
            timing = time_repeatedly(_RUN_COUNT, lambda _, engine=engine: clock.measure(lambda: time_alignment(task, engine, memory)))  # type: ignore[misc]
            steps.append(MethodMeasurement(method, "GPU", timing, _PUBLISHED_SPEEDUPS.get(method), _PUBLISHED_TEXT[method]))
    for threads in thread_counts():
        steps.append(MethodMeasurement(cpu_step_name(threads), cpu_name(threads), _measure_cpu(task, threads, memory)))
    if device is not None:
        seconds = KernelClock()
        today = CudaEngine([device], on_finished=lambda batch: seconds(batch.download_start - batch.kernel_start, 0))
        steps.append(
            MethodMeasurement(
                "today, CUDA", "GPU", time_repeatedly(_RUN_COUNT, lambda _: seconds.measure(lambda: time_alignment(task, today, memory)))
            )
        )
    pairs = task_size.query_count * task_size.kernel_target_count
    title = f"{pairs:,} pairs of {task_size.sequence_length:,} letters"
    text = f"{title}, 4/-5, gaps of 6; whole matrices, but today only scores; GPU: time in kernels."
    return MethodComparison(title, text, steps, "six GPUs of 2010 to 2012, over Rodinia")


def _measure_full_memory(device: Device, task_size: TaskSize) -> Table:
    """Measure the kernels alone, in pairs per second, while matrices fill the device memory, as in figure 7 of the paper."""
    lengths = (task_size.sequence_length, max(1, task_size.sequence_length // 3))
    rates = {method: [_time_full_batch(device, method, length, task_size.max_memory_fraction) for length in lengths] for method in METHODS}
    rows = []
    for method, measured in rates.items():
        cells = [f"{pairs / seconds:,.0f} ({pairs:,} pairs)" for pairs, seconds in measured]
        rows.append([method, *cells])
    fill = f"{task_size.max_memory_fraction:.0%}"
    notes = [
        f"Matrices fill {fill} of the device's free memory, and stay there. Rodinia takes pairs one by one: its rate is that of",
        f"{_MAX_RODINIA_PAIRS} pairs. Published for 512 letters: rscan up to 5 times as fast as Rodinia.",
    ]
    return Table("Kernels with a full memory, pairs per second", ["", *(f"{length:,} letters" for length in lengths)], rows, notes)


def _time_full_batch(device: Device, method: str, length: int, max_memory_fraction: float) -> tuple[int, float]:
    """Return (number of pairs, kernel time in seconds) for one batch that fills the memory."""
    size = (length + 1) ** 2
    clock = KernelClock()
    with device_session(device, 1) as pipeline:
        # A matrix takes 4 bytes a cell; the records of a pair are small beside it.
        max_pairs = int(device.free_memory() * max_memory_fraction) // (4 * size + PAIR_RECORD_BYTES)
        count = max(1, min(max_pairs, _MAX_RODINIA_PAIRS if method == "rodinia" else max_pairs))
        task = _make_task(length, min(count, 32), -(-count // 32), Detail.SCORE)
        pairs = np.stack(np.divmod(np.arange(count), len(task.targets)), axis=1).astype(np.int64)
        work = DeviceTask(pipeline, task, method, BlockSizes(), clock)
        starts = np.arange(count + 1, dtype=np.int64) * size
        timing = time_repeatedly(_LONG_RUN_COUNT, lambda _: clock.measure(lambda: work.fill(pairs, starts, pipeline.streams[0])))
    return count, timing.median


def _measure_transfers(device: Device, task_size: TaskSize) -> Table:
    """Measure complete runs with traceback, in pairs per second, as in figure 8 of the paper."""
    task = _make_task(task_size.sequence_length, task_size.query_count, task_size.transfer_target_count, Detail.PATH)
    pairs = task_size.query_count * task_size.transfer_target_count
    rows = []
    engines = [LiEngine(device, "dscan", transfer) for transfer in TransferMode]
    times = [
        time_repeatedly(_LONG_RUN_COUNT, lambda _, engine=engine: time_alignment(task, engine, task_size.batch_bytes))  # type: ignore[misc]
        for engine in engines
    ]
    rows.append(["dscan, traced on the host", *(f"{pairs / time.median:,.0f}" for time in times)])
    today = time_repeatedly(_LONG_RUN_COUNT, lambda _: time_alignment(task, CudaEngine([device]), task_size.batch_bytes))
    rows.append(["today, CUDA, traced on the device", "", "", f"{pairs / today.median:,.0f}"])
    threads = usable_cpu_count()
    rows.append([f"today, CPU, {threads} threads", "", "", f"{pairs / _measure_cpu(task, threads, task_size.batch_bytes).median:,.0f}"])
    half = max(1, task_size.batch_bytes >> 31)
    notes = [
        f"{pairs:,} pairs with their alignments, copies and tracing included. Batches fill {half:,} GiB of the host's memory, not three",
        "quarters of the device's. Published: 200 to 330 pairs per second on one GPU; page-locked memory 1.6 times as fast as pageable,",
        "double buffering 1.2 times on top; 1,015 on a cluster of six.",
    ]
    header = ["", "pageable", "pinned", "pinned, double buffering"]
    return Table(f"Alignments of {task_size.sequence_length:,} letters, pairs per second", header, rows, notes)
