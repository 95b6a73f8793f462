"""Distances on the CPU: the counting alone, whole commands beside plink 1.9 and hammingdist, alignments beside snp-dists, near pairs beside
whole matrices.

python benchmarks/dist_cpu.py [--samples 2000] [--sites 20000] [--snp-dists PATH] [--runs 7] [--output benchmarks/results/dist_cpu.md]
python benchmarks/dist_cpu.py --parts near --output benchmarks/results/dist_near.md

Peers are plink1.9 (Debian), hammingdist (PyPI) and snp-dists (by its path, or on the PATH); those not installed are left out. A comparison
is the calls of two samples at one site, each pair of samples once. Whole commands are timed from start to end, in turns.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, median_usage, medians, table, usage, write_fileset, write_outbreak

from gpualign.core.distance.bands import SampleBand, SampleBands
from gpualign.core.distance.calls import MISSING
from gpualign.core.distance.count_recipe import CountRequest, Measure, make_recipe
from gpualign.core.distance.engine import Panel, empty_planes
from gpualign.cpu.distance.engine import CpuDistanceEngine, instruction_sets

HAMMINGDIST = "import hammingdist; hammingdist.from_fasta_large('x.fa').dump_lower_triangular('lower.txt')"


def counting_rate(name: str, samples: int, sites: int, missing: bool) -> float:
    """Comparisons a second on one core, in 10^9."""
    rng = np.random.default_rng(1)
    engine = CpuDistanceEngine(1, name)
    used = frozenset({0, 1, 2, MISSING}) if missing else frozenset({0, 1, 2})
    wanted = CountRequest(Measure.DIFFERENCES, False)
    counter = engine.prepare(wanted, 4 * samples**2)
    recipe = make_recipe(wanted, used, counter.products_only)
    bits = empty_planes(len(recipe.planes), samples, counter.words_per_sample(sites))
    bits[:] = rng.integers(0, 2**63, bits.shape, dtype=np.uint64)
    panels, bands = [Panel(bits, sites, recipe)], SampleBands.of([SampleBand(0, samples, 0, samples, True)])
    best = 1e9
    for _ in range(3):
        start = time.perf_counter()
        list(counter.count_function(panels, bands, counter.count_names, lambda work: None))
        best = min(best, time.perf_counter() - start)
    return samples * (samples - 1) / 2 * sites / best / 1e9


def counting_table(samples: int, sites: int) -> str:
    rows = []
    for name, supported in instruction_sets():
        if supported:
            rows.append([name, *(f"{counting_rate(name, samples, sites, missing):,.0f}" for missing in (False, True))])
            print(rows[-1], flush=True)
    return table(
        "Counting alone, one core",
        ["instruction set", "none missing, G/s", "some missing, G/s"],
        rows,
        [
            f"G/s: 10^9 comparisons a second, of random bits in the layout of {samples:,} samples x {sites:,} genotypes, each pair once.",
            "The time includes filling the matrix of distances, but not packing genotypes into bits.",
        ],
    )


def write_inputs(folder: Path, samples: int, sites: int) -> None:
    """The same genotypes, of alleles with frequencies of 5 to 50 %, as a PLINK fileset and as letters."""
    rng = np.random.default_rng(2)
    frequency = rng.uniform(0.05, 0.5, (sites, 1))  # of the first allele
    dosage = (rng.random((sites, samples)) < frequency).astype(np.uint8) + (rng.random((sites, samples)) < frequency)
    write_fileset(folder / "x.bed", dosage)
    letters = np.array([*b"ACG"], np.uint8)[dosage.T]
    (folder / "x.fa").write_bytes(b"".join(b">s%d\n%s\n" % (k, row.tobytes()) for k, row in enumerate(letters)))


def write_genomes(path: Path, count: int, sites: int) -> None:
    """An alignment of relatives: 20 clades 0.1 % from an ancestor, members 0.01 % from their clade, 2 % of each without a call."""
    rng = np.random.default_rng(3)
    acgt = np.frombuffer(b"ACGT", np.uint8)

    def mutated(parent: np.ndarray, changes: int) -> np.ndarray:
        child = parent.copy()
        child[rng.integers(0, sites, changes)] = rng.choice(acgt, changes)
        return child

    ancestor = rng.choice(acgt, sites)
    clades = [mutated(ancestor, sites // 1000) for _ in range(20)]
    with path.open("wb") as file:
        for k in range(count):
            genome = mutated(clades[k % 20], sites // 10_000)
            for start in rng.integers(0, sites, 20):
                genome[start : start + sites // 1000] = ord("N")
            lines = genome.reshape(-1, 80)
            ended = np.concatenate([lines, np.full((len(lines), 1), 10, np.uint8)], axis=1)
            file.write(b">genome%d\n%s" % (k, ended.tobytes()))


def seconds(command: Sequence[object], folder: Path, threads: int) -> float:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def gpualign(*words: object) -> list[object]:
    return [sys.executable, "-m", "gpualign", "dist", "-q", "--device", "cpu", *words]


def whole_commands(folder: Path, runs: int) -> list[list[str]]:
    """Rows: of each number of threads, ours and the peers'."""
    rows = []
    for threads in (1, 2):
        ours = {
            ".bed to .npy, allele": gpualign("--threads", threads, "x.bed", "-o", "a.npy", "--metric", "allele"),
            "FASTA to .npy, hamming": gpualign("--threads", threads, "x.fa", "-o", "h.npy"),
            "FASTA to .tsv, hamming": gpualign("--threads", threads, "x.fa", "-o", "h.tsv"),
        }
        peers: dict[str, Sequence[object]] = {}
        if plink := shutil.which("plink1.9"):
            peers["plink"] = [plink, "--bfile", "x", "--distance", "square", "bin", "--threads", threads, "--out", "p"]
        if find_spec("hammingdist"):
            peers["hammingdist"] = [sys.executable, "-c", HAMMINGDIST]
        found = medians({name: partial(seconds, words, folder, threads) for name, words in (ours | peers).items()}, runs)
        for name in ours:
            peer = "plink" if name.startswith(".bed") else "hammingdist"
            label = "plink1.9 --distance square bin" if peer == "plink" else "hammingdist, lower triangle"
            if peer in found:
                rows.append([name, str(threads), f"{found[name]:.3f}", label, f"{found[peer]:.3f}", f"{found[peer] / found[name]:.2f}"])
                print(rows[-1], flush=True)
    return rows


def near_pairs(folder: Path, runs: int) -> list[list[str]]:
    """Rows: of each alignment, pairs at most 12 apart, the whole matrix, and the peer's, which has no threshold."""
    rows = []
    for what, write, count, sites in (("a tree", write_outbreak, 5000, 30_000), ("20 clades", write_genomes, 1000, 200_000)):
        write(folder / "near.fa", count, sites)
        commands: dict[str, Sequence[object]] = {
            "gpualign --max-distance 12": gpualign("--threads", 2, "near.fa", "--max-distance", 12, "-o", "near.tsv"),
            "gpualign --max-distance 12 --metric fraction / sites": gpualign(
                "--threads", 2, "near.fa", "--metric", "fraction", "--max-distance", 12 / sites, "-o", "share.tsv"
            ),
            "gpualign, whole matrix": gpualign("--threads", 2, "near.fa", "-o", "whole.npy"),
        }
        if find_spec("hammingdist"):
            commands["hammingdist, lower triangle"] = [sys.executable, "-c", HAMMINGDIST.replace("x.fa", "near.fa")]
        found = median_usage(commands, folder, runs)
        lines = sum(1 for _ in (folder / "near.tsv").open())
        for name, (took, worked, memory) in found.items():
            shape = f"{count:,} x {sites:,}, {what}: {lines:,} near"
            rows.append([shape, name, f"{took:.2f}", f"{worked:.2f}", f"{memory:,.0f}"])
            print(rows[-1], flush=True)
    return rows


def describe_difference(text: bytes, count: int) -> str:
    """Describe what differs in a matrix of `count` samples."""
    rows = text.splitlines()
    broken = sum(row.count(b"\t") != count for row in rows)
    return f"{broken} of {len(rows)} rows without {count} values" if broken else "other rows"


def alignments(folder: Path, snp_dists: str | None) -> list[list[str]]:
    rows = []
    for count, sites in ((100, 1_000_000), (1000, 1_000_000)):
        write_genomes(folder / "genomes.fa", count, sites)
        work = count * (count - 1) / 2 * sites
        for metric in ("hamming", "fraction", "tn93"):
            took, _, memory = usage(gpualign("genomes.fa", "--metric", metric, "-o", f"{metric}.tsv"), folder)
            rows.append([f"{count:,} x {sites:,}", f"gpualign, {metric}", f"{took:.1f}", f"{memory:,.0f}", f"{work / took / 1e9:,.0f}"])
            print(rows[-1], flush=True)
        if snp_dists and count == 100:
            for threads in (1, 2):
                start = time.perf_counter()
                done = subprocess.run(
                    [snp_dists, "-q", "-b", "-j", str(threads), "genomes.fa"], cwd=folder, check=True, capture_output=True
                )
                took = time.perf_counter() - start
                same = done.stdout == (folder / "hamming.tsv").read_bytes()
                what = f"snp-dists -j {threads}, {'the same bytes' if same else describe_difference(done.stdout, count)}"
                rows.append([f"{count:,} x {sites:,}", what, f"{took:.1f}", "", f"{work / took / 1e9:,.2f}"])
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--sites", type=int, default=20_000)
    parser.add_argument("--snp-dists", default=shutil.which("snp-dists"))
    parser.add_argument("--parts", default="counting,commands,alignments,near", help="which of these to measure")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    wanted = options.parts.split(",")
    parts = [f"# Distances on the CPU\n\n{machine()}.\n\n"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if "counting" in wanted:
            parts.append(counting_table(options.samples, options.sites))
        if "commands" in wanted:
            write_inputs(folder, options.samples, options.sites)
            parts.append(
                table(
                    "Whole commands",
                    ["gpualign", "threads", "gpualign, s", "other program", "other program, s", "times as fast"],
                    whole_commands(folder, options.runs),
                    [
                        f"{options.samples:,} x {options.sites:,} ternary genotypes, alleles of 5 to 50 %; medians of {options.runs} runs "
                        "in turns. FASTA holds the genotypes as A, C, G."
                    ],
                )
            )
        if "alignments" in wanted:
            parts.append(
                table(
                    "Alignments",
                    ["rows x sites", "program, metric", "s", "peak MB", "G/s"],
                    alignments(folder, options.snp_dists),
                    [
                        "Made-up genomes (20 clades, each 0.1 % from a common ancestor; members 0.01 % from their clade; 2 % N), FASTA",
                        "with lines of 80, to .tsv; two threads. G/s count all sites, although sites at which all calls agree are dropped.",
                    ],
                )
            )
        if "near" in wanted:
            parts.append(
                table(
                    "Near pairs",
                    ["alignment", "what", "s", "processor s", "MB"],
                    near_pairs(folder, options.runs),
                    [
                        f"Medians of {options.runs} runs in turns, two threads. A tree: each genome is one of the 500 before it with",
                        "4 changes on average, every tenth lacks 2 % of its calls. 20 clades at 0.1 %, members at 0.01 %, 2 % N.",
                    ],
                )
            )
    finish("\n".join(parts), options.output)


if __name__ == "__main__":
    main()
