"""Benchmark of Payne et al. 2010: the successive optimisations, from a CPU loop to GPU shared memory, plus our current engines."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from gpualign.core.common.arrays import Codes
from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.threads import ThreadPool
from gpualign.core.distance.bands import SampleBand, SampleBands
from gpualign.core.distance.bit_planes import find_used_codes, pack_panel
from gpualign.core.distance.count_recipe import CountRequest, Measure
from gpualign.core.distance.engine import DistanceEngine, Panel, PreparedCounter
from gpualign.cpu.distance import _distance
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.distance.engine import CudaDistanceEngine
from gpualign.gpu.papers.payne import METHODS, PayneEngine
from gpualign.gpu.runtime.device import Device
from gpualign.papers.report import MethodComparison, MethodMeasurement, Section, without_published_values
from gpualign.papers.timing import KernelClock, time_repeatedly, wall_seconds

_COUNT_REQUEST = CountRequest(Measure.DIFFERENCES, counts_compared_sites=False)
_PUBLISHED_MILLISECONDS = {"CPU loop": 44865, "naive": 2140, "coalesced": 1766, "char": 1784, "register": 683, "shared": 26}
"""Milliseconds from figure 4 of the paper, measured on a GeForce 9600M GT, and for the CPU loop on a 2.66 GHz Core 2 Duo."""


@dataclass(frozen=True)
class DataSize:
    """Number and size of the random data sets.

    set_count: number of data sets
    sample_count, site_count: numbers of samples and of sites in each data set
    """

    set_count: int
    sample_count: int
    site_count: int


DATA_SIZES = {"small": DataSize(5, 112, 512), "paper": DataSize(25, 112, 512), "large": DataSize(5, 1024, 4096)}


def _prepare_counter(engine: DistanceEngine, codes: Codes) -> tuple[PreparedCounter, Panel]:
    """Return (counter with enough memory to count all pairs in a single band, panel with the calls to be compared)."""
    counter = engine.prepare(_COUNT_REQUEST, 4 * len(codes) ** 2)
    with closing(ThreadPool(1)) as workers:
        return counter, pack_panel(codes, find_used_codes(codes, workers), counter, workers)


def _run_counter(counter: PreparedCounter, panel: Panel) -> object:
    samples = panel.bits.shape[1]
    bands = SampleBands.of([SampleBand(0, samples, 0, samples, False)])
    return list(counter.count_function([panel], bands, counter.count_names, lambda _: None))


def _time_plain_loop(codes: Codes) -> float:
    data = codes.astype(np.int32)
    distances = np.zeros((len(codes), len(codes)), dtype=np.int32)
    return wall_seconds(lambda: _distance.plain_loop(data, distances))


def run_benchmark(device: Device | None, size_name: str) -> Section:
    """Run all measurements or, without a device, only the measurements on the CPU."""
    shape = DATA_SIZES[size_name]
    rng = np.random.default_rng(2010)
    data = [rng.integers(0, 3, (shape.sample_count, shape.site_count), dtype=np.uint8) for _ in range(shape.set_count)]
    steps = [
        MethodMeasurement(
            "CPU loop",
            "CPU, 1 thread",
            time_repeatedly(shape.set_count, lambda k: _time_plain_loop(data[k])),
            1.0,
            f"{_PUBLISHED_MILLISECONDS['CPU loop']:,} ms",
        )
    ]
    clock = KernelClock()
    if device is not None:
        for method in METHODS:
            engine = PayneEngine(device, method, 1, log=clock)
            timing = time_repeatedly(
                shape.set_count,
                lambda k, engine=engine: clock.measure(lambda: _run_counter(*_prepare_counter(engine, data[k]))),  # type: ignore[misc]
            )
            published = _PUBLISHED_MILLISECONDS[method]
            text = f"{published:,} ms: {_PUBLISHED_MILLISECONDS['CPU loop'] / published:,.0f}×"
            steps.append(MethodMeasurement(method, "GPU", timing, _PUBLISHED_MILLISECONDS["CPU loop"] / published, text))
    steps.append(MethodMeasurement("today, CPU", "CPU, 1 thread", time_repeatedly(shape.set_count, lambda k: _time_cpu_engine(data[k]))))
    if device is not None:
        today = CudaDistanceEngine(device, 1, log=clock)
        kernel = today.prepare(_COUNT_REQUEST, 0).kernel
        steps.append(
            MethodMeasurement(
                f"today, {kernel}",
                "GPU",
                time_repeatedly(shape.set_count, lambda k: clock.measure(lambda: _run_counter(*_prepare_counter(today, data[k])))),
            )
        )
    data_size = f"{shape.sample_count:,} samples x {shape.site_count:,} ternary sites"
    task = f"{shape.set_count} random sets of {data_size}, all ordered pairs; GPU: time in kernels."
    ladder = MethodComparison("all-pairs distance", task, steps, "GeForce 9600M GT, Core 2 Duo")
    if (shape.sample_count, shape.site_count) != (DATA_SIZES["paper"].sample_count, DATA_SIZES["paper"].site_count):
        ladder = without_published_values(ladder)
    left_out = [] if device is not None else ["the five GPU kernels and today's (no GPU)"]
    return Section("Payne 2010", "Payne, Sinnott-Armstrong, Moore 2010: all-pairs distance", [ladder], [], left_out)


def _time_cpu_engine(codes: Codes) -> float:
    counter, panel = _prepare_counter(CpuDistanceEngine(1), codes)
    return wall_seconds(lambda: _run_counter(counter, panel))
