"""Distances on a GPU: rates of the kernels, one set and all ordered pairs; the whole command, also for near pairs.

python benchmarks/dist_cuda.py [--samples 8192] [--sites 65536] [--near 40000] [--output benchmarks/results/dist_cuda.md]

A comparison is the calls of two samples at one site. "all ordered pairs" computes every element of the matrix; "one set" computes one
half and mirrors it, but its rate counts the whole matrix, too.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import finish, machine, make_parser, open_gpu, seconds, table, write_fileset, write_outbreak

from gpualign.core.distance.bands import SampleBand, SampleBands
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import CountRequest, Measure, make_recipe
from gpualign.core.distance.engine import Panel, empty_planes
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.gpu.distance.engine import CudaDistanceEngine
from gpualign.gpu.distance.kernels import MMA_KERNEL, POPC_KERNEL, WGMMA_KERNEL, DistanceKernel, usable_kernels

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

WANTED = CountRequest(Measure.DIFFERENCES, True)


def made_up_panel(engine: CudaDistanceEngine, rng: np.random.Generator, samples: int, sites: int, kinds: int, missing: bool) -> Panel:
    """Random calls of two or three kinds, made as bit planes."""
    every = frozenset(range(kinds))
    used = every | {MISSING} if missing else every
    counter = engine.prepare(WANTED, 0)
    recipe = make_recipe(WANTED, used, counter.products_only)
    words = counter.words_per_sample(sites)
    raw = rng.integers(0, 2**64, (3, samples, words), dtype=np.uint64, endpoint=False)
    raw[:, :, -(-sites // 64) :] = 0
    called = raw[2] | rng.integers(0, 2**64, raw[2].shape, dtype=np.uint64) if missing else np.full_like(raw[2], 2**64 - 1)
    two = raw[0] & raw[1] & called if kinds == 3 else np.zeros_like(called)
    planes = {frozenset({0}): called & ~raw[0], frozenset({1}): raw[0] & ~two & called, frozenset({2}): two, every: called}
    bits = empty_planes(len(recipe.planes), samples, words)
    for k, plane in enumerate(recipe.planes):
        bits[k] = planes[plane]
    bits[:, :, -(-sites // 64) :] = 0
    return Panel(bits, sites, recipe)


def kernel_rate(
    device: CudaDevice, kernel: DistanceKernel, panel: Panel, upper_triangle: bool, repeats: int = 3
) -> tuple[float, dict[str, np.ndarray]]:
    """(comparisons a second in kernels, counts) of the best of some runs."""
    times: list[tuple[float, int]] = []
    samples = panel.bits.shape[1]
    best, bands = 1e9, SampleBands.of([SampleBand(0, samples, 0, samples, upper_triangle)])
    counts: dict[str, np.ndarray] = {}
    for _ in range(repeats):
        times.clear()
        engine = CudaDistanceEngine(device, 1, kernel, lambda took, work: times.append((took, work)))
        counter = engine.prepare(WANTED, 4 * samples**2)
        ((_, counts),) = counter.count_function([panel], bands, counter.count_names, lambda work: None)
        best = min(best, sum(took for took, _ in times))
    return sum(work for _, work in times) / best, counts


def command(*words: object) -> float:
    return seconds([sys.executable, "-m", "gpualign", *words])


def near_pairs(folder: Path, samples: int, sites: int) -> list[list[str]]:
    """Rows: of each device, seconds of the whole command for pairs at most 12 apart and for the whole matrix. The lists must be equal."""
    path = folder / "outbreak.fa"
    write_outbreak(path, samples, sites)
    rows = []
    for name in ("cuda", "cpu"):
        near = min(command("dist", "-q", path, "--device", name, "--max-distance", 12, "-o", folder / f"near.{name}.tsv") for _ in range(3))
        whole = command("dist", "-q", path, "--device", name, "-o", folder / "whole.npy")
        rows.append([name, f"{near:.2f}", f"{whole:.2f}"])
        print(rows[-1], flush=True)
    if (folder / "near.cuda.tsv").read_bytes() != (folder / "near.cpu.tsv").read_bytes():
        raise SystemExit("the engines differ")
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=8192)
    parser.add_argument("--sites", type=int, default=65536)
    parser.add_argument("--near", type=int, default=40_000, help="genomes of 30 kb whose near pairs are looked for")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    device = open_gpu()
    rows = []
    for kinds, missing in ((3, False), (3, True), (2, False), (2, True)):
        for kernel in (WGMMA_KERNEL, MMA_KERNEL, POPC_KERNEL):
            if kernel not in usable_kernels(device.arch):
                continue
            samples = options.samples if kernel is not POPC_KERNEL else options.samples // 4
            engine = CudaDistanceEngine(device, 1, kernel)
            panel = made_up_panel(engine, rng, samples, options.sites, kinds, missing)
            ordered, counts = kernel_rate(device, kernel, panel, False)
            upper_triangle, _ = kernel_rate(device, kernel, panel, True)
            few = Panel(np.ascontiguousarray(panel.bits[:, :64]), panel.site_count, panel.recipe)
            # The planes are those of products alone, which the CPU can do too.
            products = replace(CpuDistanceEngine(8).prepare(WANTED, 4 * 64**2), products_only=True)
            bands = SampleBands.of([SampleBand(0, 64, 0, 64, False)])
            ((_, expected),) = products.count_function([few], bands, products.count_names, lambda work: None)
            same = all(np.array_equal(counts[name][:64, :64], expected[name]) for name in counts)
            rows.append(
                [
                    kernel.title,
                    str(kinds),
                    "1/8" if missing else "none",
                    f"{samples:,}",
                    f"{ordered / 1e12:,.0f}",
                    f"{upper_triangle / 1e12:,.0f}",
                    "yes" if same else "NO",
                ]
            )
            print(rows[-1], flush=True)
    commands = []
    with tempfile.TemporaryDirectory() as folder:
        bed = Path(folder, "made_up.bed")
        write_fileset(bed, rng.integers(0, 3, (options.sites, options.samples), dtype=np.uint8))
        work = options.samples**2 * options.sites
        for name in ("cuda", "cpu"):
            best = min(
                command("dist", "-q", bed, "--device", name, "-o", Path(folder, f"{name}.npy")) for _ in range(3 if name == "cuda" else 1)
            )
            commands.append([name, f"{best:.2f}", f"{work / best / 1e12:.1f}"])
            print(commands[-1], flush=True)
        if Path(folder, "cuda.npy").read_bytes() != Path(folder, "cpu.npy").read_bytes():
            raise SystemExit("the engines differ")
        near = near_pairs(Path(folder), options.near, 30_000)
    title = "\n\n".join(
        [
            "# Distances on a GPU",
            f"{device.name}; {machine()}; {options.sites:,} random sites. T/s: 10^12 comparisons (of two calls) a second.",
        ]
    )
    kernels = table(
        "Kernels",
        ["kernel", "calls", "missing", "samples", "all ordered pairs, T/s", "one set, T/s", "equal to the CPU's"],
        rows,
        [
            "Of the time in which kernels ran, by events (best of 3). One set: the half of the matrix that does not mirror is computed,",
            "in tiles; the rate counts the whole matrix. Calls: different ones; genotypes have three, most sites of an alignment two.",
            "cuBLAS, int8 one-hot operands, all ordered pairs: 174 (on such a machine, 2026-11-21).",
        ],
    )
    notes = [
        f"`gpualign dist made_up.bed -o distances.npy`, {options.samples:,} samples, as the shell sees it; both engines: the same bytes."
    ]
    whole = table("Whole command", ["device", "s", "T/s of the whole matrix"], commands, notes)
    listed = table(
        "Near pairs, whole command",
        ["device", "at most 12 apart, s", "whole matrix, s"],
        near,
        [f"{options.near:,} genomes of 30,000 sites, of a tree (`write_outbreak` in common.py), from FASTA; both devices: the same bytes."],
    )
    finish("\n\n".join([title, kernels, whole, listed]) + "\n", options.output)


if __name__ == "__main__":
    main()
