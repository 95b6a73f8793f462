"""Simulated times of 1 to 64 GPUs for a job that is too long to try: the real planner and load balancing on a simulated clock.

python benchmarks/simulate.py [--records 1000000] [--output simulate.md] [--chart docs/cluster_scaling.svg]   (chart: matplotlib)

Needs no GPU. simulation.py says what is simulated; the constants below were measured on one H200 and its host, or are assumed. The first
table compares the simulation with jobs that were timed on one and two H200s: start-up and the overhead of a tile are fitted to the times of
one GPU; those of two are the check.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from common import finish, machine, make_parser, table
from simulation import FREE, Excerpt, Gpu, Link, Node, Sink, excerpt, fleet_seconds, node_seconds, pool_seconds, whole

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.common.dataclass import dataclass
from gpualign.core.execution.remote.coordinator import CALLS_PER_WORKER, MAX_CALLS_AHEAD_FACTOR
from gpualign.core.execution.remote.tile_sizes import WorkerCapabilities, remote_tile_limits
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, make_plan
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.alignment.engine import CudaEngine, CudaPreparedTask
from gpualign.gpu.kernels.kernel import Hardware

if TYPE_CHECKING:
    from matplotlib.axes import Axes

H200 = Hardware(132, 1.98e9)

CONTEXT = 0.11
"""Seconds of a context; those of several devices start one after the other (benchmarks/log: W-002)."""

NPY = Sink(2.0e-9, 1 / 89.1e6)
TSV = Sink(2.0e-9, 1 / 46.1e6)
"""Seconds a pair. Gather: two-byte scores into a band, measured on one core of a Xeon; write: pairs written by nw_cuda.py, 2026-11-21."""

UNPACK = 2.6e-9
"""Additional seconds a pair for results from another machine, measured in the same way; PACK: those of the machine that sends them."""
PACK = 2.2e-9

PAIR_BYTES = 2.0
"""Bytes that the score of a pair of 1.5 kb takes in transfer (core/execution/remote/serialization.py)."""

UPLOAD = 22e9
"""Bytes a second from a host to one GPU (a tenth of the time of page-locking; benchmarks/log: W-004)."""

# Assumed, not measured.
CALL = 1e-3
"""Seconds of Dask's scheduler and the coordinator for a call."""
JOURNEY = 1e-3
"""Latency of a message in seconds."""
CHECK = 1.5e9
"""Bytes a second of SHA-256, with which a node checks the task."""

NETWORKS = {"10 Gb/s": 1.25e9, "100 Gb/s": 12.5e9}

GPUS = [1, 2, 4, 8, 16, 32, 64]


@dataclass(frozen=True)
class Scoring:
    """Scores to compute.

    rate: cells a second of the kernel, by nw_cuda.py and paths_cuda.py (an H200; kernels have become faster since)
    """

    options: ScoringOptions
    rate: float
    detail: Detail = Detail.SCORE


EDIT = Scoring(ScoringOptions(edit=True), 74.15e12)
LINEAR = Scoring(ScoringOptions(match=2, mismatch=-1, gap=1), 22.52e12)
AFFINE = Scoring(ScoringOptions(), 6.30e12)
IDENTITY = Scoring(ScoringOptions(), 4.31e12, Detail.STATISTICS)


@dataclass(frozen=True)
class Timed:
    """A job of made-up genes, to .npy on a RAM disk: seconds in its summary on one H200 and on two (2026-11-22)."""

    name: str
    scoring: Scoring
    records: int
    length: int
    one: float
    two: float


SHORT = [
    Timed("edit distance", EDIT, 12_000, 1500, 2.38, 1.46),
    Timed("2/-1/1", LINEAR, 7_442, 1500, 2.94, 1.82),
    Timed("affine", AFFINE, 4_435, 1500, 3.85, 2.22),
    Timed("identity", IDENTITY, 3_566, 1500, 3.79, 2.50),
]
LONG = [
    Timed("edit distance", EDIT, 25_000, 1536, 10.5, 5.56),
    Timed("2/-1/1", LINEAR, 25_000, 1536, 33.9, 17.0),
    Timed("affine", AFFINE, 10_000, 1536, 19.8, 10.2),
    Timed("identity", IDENTITY, 10_000, 1536, 39.5, 20.8),
]


@dataclass(frozen=True)
class Fit:
    """Seconds until the first GPU takes a tile, and the overhead of each tile in seconds."""

    start: float
    tile: float

    def gpus(self, rate: float, count: int) -> list[Gpu]:
        """The GPUs of one machine."""
        return [Gpu(rate, self.tile, self.start + k * CONTEXT) for k in range(count)]


def stand_in(records: int, length: int) -> SequenceSet:
    """Records of one length, without letters: only their number and length are used."""
    letters = records * length
    codes = np.broadcast_to(np.uint8(0), (letters,))
    counts = np.zeros(256, dtype=np.int64)
    counts[:4] = letters // 4
    ids = cast("Sequence[str]", range(records))
    return SequenceSet("made up", ids, codes, np.arange(records + 1, dtype=np.int64) * length, known_code_counts=counts)


def task_of(scoring: Scoring, records: int, length: int) -> Task:
    sequences = stand_in(records, length)
    return Task(sequences, sequences, make_scoring(DNA, scoring.options), detail=scoring.detail)


def prepared_for(task: Task, gpus: int, memory: int) -> CudaPreparedTask:
    """The task as the CUDA engine prepares it; the engine only asks a device for its size and architecture."""
    device: Any = SimpleNamespace(name="NVIDIA H200", arch="sm_90a", hardware=H200)
    prepared = CudaEngine([device] * gpus).prepare(task, Budget.from_total(memory))
    assert isinstance(prepared, CudaPreparedTask)
    return prepared


def timed_plan(job: Timed, gpus: int) -> Excerpt:
    prepared = prepared_for(task_of(job.scoring, job.records, job.length), gpus, 2 << 30)
    return whole(plan_task(prepared, Pairing.ABOVE_OR_EQUAL))


def fitted(jobs: Sequence[Timed]) -> Fit:
    """Fit to the times of one GPU by least squares; neither value is below 0."""
    plans = [timed_plan(job, 1) for job in jobs]
    ideal = [pool_seconds(plan, Fit(0.0, 0.0).gpus(job.scoring.rate, 1), NPY) for plan, job in zip(plans, jobs, strict=True)]
    more = np.array([job.one for job in jobs]) - ideal
    tiles = np.array([len(plan.tiles) for plan in plans])
    (start, tile), *_ = np.linalg.lstsq(np.stack([np.ones(len(jobs)), tiles], axis=1), more, rcond=None)
    if tile < 0:
        start, tile = more.mean(), 0.0
    if start < 0:
        start, tile = 0.0, float((more * tiles).sum() / (tiles**2).sum())
    return Fit(max(0.0, float(start)), float(tile))


def check_rows(jobs: Sequence[Timed], fit: Fit) -> Iterator[list[str]]:
    for job in jobs:
        one, two = (pool_seconds(timed_plan(job, n), fit.gpus(job.scoring.rate, n), NPY) for n in (1, 2))
        seconds = [f"{job.one:.2f}", f"{one:.2f}", f"{job.two:.2f}", f"{two:.2f}", f"{100 * (two / job.two - 1):+.1f} %"]
        yield [job.name, f"{job.records:,} x {job.length:,}", *seconds, f"{job.one / job.two:.2f}", f"{one / two:.2f}"]


@dataclass(frozen=True)
class Prediction:
    """A long job. memory: of every machine, in bytes."""

    scoring: Scoring
    task: Task
    memory: int
    fit: Fit

    def machine(self, gpus: int) -> Iterator[tuple[bool, float]]:
        """(whether results are small, seconds) of one machine with all GPUs."""
        part = excerpt(plan_task(prepared_for(self.task, gpus, self.memory), Pairing.ABOVE), gpus)
        for small in SMALL:
            yield small, pool_seconds(part, self.fit.gpus(self.scoring.rate, gpus), FREE if small else TSV)

    def cluster(self, nodes: int, gpus: int) -> Iterator[tuple[bool, str, float]]:
        """(whether results are small, network, seconds) of so many machines with so many GPUs each."""
        task = self.task
        node = prepared_for(task, gpus, self.memory)
        facts = WorkerCapabilities(node.limits, node.kernel, node.hardware, task.approximate_cell_count / node.estimated_seconds)
        limits = remote_tile_limits(task, facts, nodes, MAX_CALLS_AHEAD_FACTOR * CALLS_PER_WORKER * nodes, Budget.from_total(self.memory))
        part = excerpt(make_plan(task.queries.lengths, task.targets.lengths, Pairing.ABOVE, limits, task.cost), nodes)
        for small in SMALL:
            inside, upload = [Gpu(self.scoring.rate, self.fit.tile)] * gpus, task.queries.nbytes / UPLOAD
            seconds = node_seconds(task, node.limits, inside, FREE if small else Sink(TSV.gather + PACK))
            sink = FREE if small else replace(TSV, gather=TSV.gather + UNPACK)
            for name, rate in NETWORKS.items():
                # Dask's workers fetch the task from each other, so the number of those that have it doubles in each round.
                sent, ready = task.queries.nbytes / rate, task.queries.nbytes / CHECK + self.fit.start + (gpus - 1) * CONTEXT + upload
                fleet = [Node(seconds, math.ceil(math.log2(k + 2)) * sent + ready, upload) for k in range(nodes)]
                yield small, name, fleet_seconds(part, fleet, Link(JOURNEY, rate, 0.0 if small else PAIR_BYTES, CALL), sink)


SMALL, TITLES = (True, False), ("few results", "all scores to TSV")
"""Results are small if only those of few pairs are sent and written; otherwise every score is sent and written to a TSV."""

ONE_MACHINE = "one machine"

NODES = {1: "machines of 1 GPU, ", 8: "machines of 8 GPUs, "}
"""Name of an arrangement by the GPUs of a machine; the name of a network follows."""

Curves = dict[str, dict[int, float]]
"""Seconds by arrangement and GPUs."""


def curves(prediction: Prediction) -> dict[bool, Curves]:
    """Curves by whether results are small."""
    names = [ONE_MACHINE, *(f"{start}{network}" for start in NODES.values() for network in NETWORKS)]
    found: dict[bool, Curves] = {small: {name: {} for name in names} for small in SMALL}
    for gpus in GPUS:
        for small, seconds in prediction.machine(gpus):
            found[small][ONE_MACHINE][gpus] = seconds
        for each, start in NODES.items():
            if gpus >= each:
                for small, network, seconds in prediction.cluster(gpus // each, each):
                    found[small][start + network][gpus] = seconds
    return found


def duration(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def prediction_table(title: str, found: Curves, one: float) -> str:
    """one: seconds of one GPU."""
    rows = [[name, *(f"{duration(curve[n])} ({one / curve[n]:.1f})" if n in curve else "" for n in GPUS)] for name, curve in found.items()]
    return table(title, ["GPUs", *map(str, GPUS)], rows, ["In brackets: times as fast as one GPU with few results."])


DRAWN = {
    ONE_MACHINE: ("#222222", ONE_MACHINE),
    NODES[1] + "10 Gb/s": ("#4c78a8", "machines of 1 GPU"),
    NODES[8] + "10 Gb/s": ("#e45756", "machines of 8 GPUs"),
}
"""Colour and name of an arrangement; with a faster network the lines would be the same."""


def draw(path: str, found: dict[str, dict[bool, Curves]], records: int) -> None:
    """found: curves by scoring, and by whether results are small."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "gpualign"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(found), figsize=(10, 5), sharey=True, layout="constrained")
    for axes, (name, kinds) in zip(panels, found.items(), strict=True):
        _draw_panel(axes, kinds)
        axes.set_title(f"{name}: one GPU {duration(kinds[True][ONE_MACHINE][1])}", fontsize=11)
    panels[0].set_ylabel("times as fast as one GPU")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.suptitle(f"Every pair of {records:,} genes of 1.5 kb on H200s, simulated", fontsize=12)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def _draw_panel(axes: Axes, kinds: dict[bool, Curves]) -> None:
    one = kinds[True][ONE_MACHINE][1]
    for small, style, what in zip(SMALL, ("-", "--"), TITLES, strict=True):
        for name, (colour, label) in DRAWN.items():
            curve = kinds[small][name]
            speed = [one / seconds for seconds in curve.values()]
            axes.plot(list(curve), speed, style, color=colour, marker="o", markersize=3.5, linewidth=1.5, label=f"{label}, {what}")
    axes.plot(GPUS, GPUS, ":", color="#999999", linewidth=1, label="n GPUs, n times")
    axes.set_xlabel("GPUs")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(GPUS, [str(n) for n in GPUS])
    axes.set_yticks([1 / 4, 1 / 2, *GPUS], ["1/4", "1/2", *map(str, GPUS)])
    axes.grid(color="#eeeeee")
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=1500)
    parser.add_argument("--memory", type=int, default=64, help="GiB of every machine for gpualign")
    parser.add_argument("--chart")
    options = parser.parse_args()
    fit = fitted(SHORT)
    header = ["job", "records", "one GPU, s", "fitted", "two GPUs, s", "predicted", "off by", "gain", "predicted"]
    notes = [f"Fitted to the first four times of one GPU: {fit.start:.2f} s of start, {1e3 * fit.tile:.1f} ms a tile."]
    text = f"# Many GPUs, simulated\n\n{machine()}. Constants of an H200: see simulate.py.\n\n"
    text += table("Check", header, [*check_rows(SHORT, fit), *check_rows(LONG, fit)], notes)
    found: dict[str, dict[bool, Curves]] = {}
    for name, scoring in {"Edit distance": EDIT, "Affine gaps": AFFINE}.items():
        task = task_of(scoring, options.records, options.length)
        found[name] = curves(Prediction(scoring, task, options.memory << 30, fit))
        one = found[name][True][ONE_MACHINE][1]
        for small, title in zip(SMALL, TITLES, strict=True):
            text += prediction_table(f"{name}, {title}", found[name][small], one)
    finish(text, options.output)
    if options.chart:
        draw(options.chart, found, options.records)


if __name__ == "__main__":
    main()
