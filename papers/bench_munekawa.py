"""Benchmark of Munekawa et al. 2008: Smith-Waterman scores of a query against a database, computed by the scalar kernel, the char4 kernel,
and our current engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.papers.munekawa import METHODS, MunekawaEngine
from gpualign.gpu.runtime.device import Device
from gpualign.papers.report import MethodComparison, MethodMeasurement, Section, Table, without_published_values
from gpualign.papers.tasks import cpu_name, cpu_step_name, random_sequences, thread_counts, time_alignment
from gpualign.papers.timing import KernelClock, Timing, time_repeatedly

TARGET_COUNTS = {"small": 1_000, "paper": 250_143, "large": 1_000_572}
_MEAN_LENGTH, _LENGTH_SPREAD, _MAX_LENGTH = 362, 0.7, 35_213
"""Sequence lengths in the 2008 Swiss-Prot. The mean is from table 3 of the paper, the shape is approximated by a log-normal distribution,
and the maximum is the length of the longest known protein."""

_QUERY_LENGTHS = (128, 256, 384, 512, 640, 768, 896, 1024)
_COMPARED_QUERY_LENGTH = 512
_LETTER_COUNT = 20
_MEMORY_BYTES = 4 << 30
_RUN_COUNT = 5
_MAX_CPU_TARGETS = 5_000
"""Maximum number of targets for which the CPU is timed. For larger databases, the time is scaled."""

_SCALAR_SECONDS = {128: 2.0, 256: 4.4, 384: 7.3, 512: 13.4}
_VECTOR_SECONDS = {128: 1.5, 256: 2.8, 384: 4.8, 512: 6.3, 640: 9.5, 768: 11.3, 896: 17.4, 1024: 19.7}
_SSEARCH_SECONDS = {128: 84, 256: 159, 384: 253, 512: 318, 640: 428, 768: 507, 896: 598, 1024: 677}
"""Seconds by query length from tables 4 and 5 of the paper, measured on a GeForce 8800 GTX, and for SSEARCH on a Xeon E5440."""


def database_lengths(count: int) -> npt.NDArray[np.int64]:
    """Return lengths whose distribution and mean approximate those of Swiss-Prot: int64[count]."""
    drawn = np.random.default_rng(2008).lognormal(0, _LENGTH_SPREAD, count)
    lengths: npt.NDArray[np.int64] = np.clip(np.rint(drawn / drawn.mean() * _MEAN_LENGTH), 2, _MAX_LENGTH).astype(np.int64)
    return lengths


def run_benchmark(device: Device | None, size_name: str) -> Section:
    """Run all measurements or, without a device, only the measurements on the CPU."""
    database = random_sequences(database_lengths(TARGET_COUNTS[size_name]), _LETTER_COUNT, 1)
    subset = replace(database, ids=database.ids[:_MAX_CPU_TARGETS], offsets=database.offsets[: _MAX_CPU_TARGETS + 1])
    scoring = make_scoring(PROTEIN, ScoringOptions(match=2, mismatch=-1, gap=1), [database], local=True)
    clock = KernelClock()
    cpu = {cpu_step_name(threads): threads for threads in thread_counts()}
    timings: dict[tuple[str, int], Timing] = {}
    today = "today, CUDA"
    for length in _QUERY_LENGTHS:
        task = Task(random_sequences(np.array([length]), _LETTER_COUNT, length), database, scoring, Mode.LOCAL, alphabet=PROTEIN)
        small = replace(task, targets=subset)
        scale = int(database.offsets[-1]) / int(subset.offsets[-1])
        for name, threads in cpu.items():
            times = time_repeatedly(
                _RUN_COUNT,
                lambda _, threads=threads, task=small: time_alignment(task, CpuEngine(threads), _MEMORY_BYTES),  # type: ignore[misc]
            )
            timings[name, length] = Timing(times.median * scale, times.lower * scale, times.upper * scale, times.runs)
        if device is None:
            continue
        for method in METHODS:
            engine = MunekawaEngine(device, method, log=clock)
            timings[method, length] = time_repeatedly(
                _RUN_COUNT,
                lambda _, e=engine, task=task: clock.measure(lambda: time_alignment(task, e, _MEMORY_BYTES)),  # type: ignore[misc]
            )
        fastest = CudaEngine([device], on_finished=lambda batch: clock(batch.download_start - batch.kernel_start, 0))
        timings[today, length] = time_repeatedly(
            _RUN_COUNT,
            lambda _, e=fastest, task=task: clock.measure(lambda: time_alignment(task, e, _MEMORY_BYTES)),  # type: ignore[misc]
        )
    letters = int(database.offsets[-1])
    return Section(
        "Munekawa 2008",
        "Munekawa, Ino, Hagihara 2008: Smith-Waterman database search",
        [_compare_methods(timings, cpu, len(database), letters)],
        [_timing_table(timings, [*METHODS, *cpu, today], len(database), letters)],
        [] if device is not None else ["both GPU kernels and today's (no GPU)"],
    )


def _compare_methods(
    timings: dict[tuple[str, int], Timing], cpu_threads: dict[str, int], target_count: int, letter_count: int
) -> MethodComparison:
    n = _COMPARED_QUERY_LENGTH
    steps = []
    for method, times in zip(METHODS, (_SCALAR_SECONDS, _VECTOR_SECONDS), strict=True):
        if (method, n) in timings:
            name = method.removeprefix("munekawa-")
            steps.append(
                MethodMeasurement(
                    name, "GPU", timings[method, n], _SCALAR_SECONDS[n] / times[n], f"{times[n]:g} s: {_SCALAR_SECONDS[n] / times[n]:.1f}×"
                )
            )
    steps += [MethodMeasurement(name, cpu_name(threads), timings[name, n]) for name, threads in cpu_threads.items()]
    if ("today, CUDA", n) in timings:
        steps.append(MethodMeasurement("today, CUDA", "GPU", timings["today, CUDA", n]))
    database = f"{target_count:,} made-up proteins, {letter_count:,} letters"
    task = f"A query of {n} letters against {database}; 2/-1, gaps of 1; GPU: time in kernels."
    notes = (
        [f"Today's CPU engine is timed on {min(target_count, _MAX_CPU_TARGETS):,} of the proteins, and scaled."]
        if target_count > _MAX_CPU_TARGETS
        else []
    )
    ladder = MethodComparison(f"a query of {n} letters", task, steps, "GeForce 8800 GTX", notes)
    return ladder if target_count == TARGET_COUNTS["paper"] else without_published_values(ladder)


def _timing_table(timings: dict[tuple[str, int], Timing], names: list[str], target_count: int, letter_count: int) -> Table:
    methods = [name for name in names if (name, _QUERY_LENGTHS[0]) in timings]
    is_papers_size = target_count == TARGET_COUNTS["paper"]
    rows = []
    for n in _QUERY_LENGTHS:
        cells = [f"{timings[m, n].median:.4f} ({n * letter_count / timings[m, n].median / 1e9:,.0f})" for m in methods]
        published = [f"{times[n]:g}" if n in times else "" for times in (_SCALAR_SECONDS, _VECTOR_SECONDS, _SSEARCH_SECONDS)]
        rows.append([str(n), *cells, *(published if is_papers_size else [])])
    header = ["letters of the query", *(f"{m.removeprefix('munekawa-')}, s (GCUPS)" for m in methods)]
    if not is_papers_size:
        return Table("All queries", header, rows, [f"The published figures are of {TARGET_COUNTS['paper']:,} proteins (size paper)."])
    header += ["scalar 2008, s", "vector 2008, s", "SSEARCH 2008, s"]
    return Table("All queries", header, rows, ["The columns of 2008 are for 250,143 proteins with 90,588,910 letters."])
