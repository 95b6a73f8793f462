"""`gpualign dist` of a big alignment: reading, making bit planes and counting alone, and the whole command beside them; peers.

python benchmarks/dist_command.py [--samples 5000] [--sites 30000] [--lines 0 60 80] [--threads 1 2] [--device cpu] [--runs 5]
    [--peers PYTHON] [--choosing] [--output benchmarks/results/dist_command.md]
python benchmarks/dist_command.py --samples 40000 --device cuda:0 --threads 16
python benchmarks/dist_command.py --samples 2000 --lines 80 --choosing

Genomes of a tree (`write_outbreak` in common.py), near pairs as .tsv and .npz and whole matrices as .npy. peers: a Python that has
hammingdist and pairsnp, if any; these write whole matrices. choosing: also whole commands with options that choose sites. The parts are
timed inside one process each, in turns with the commands.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from common import finish, machine, make_parser, table, usage, write_outbreak

HAMMINGDIST = "import hammingdist; hammingdist.from_fasta({!r}).dump_lower_triangular('lower.txt')"
MOST = 12

# In a process of its own: what modules and devices need at their first use is the command's, and in none of the parts.
PARTS = """
import sys, time
from gpualign.core.files.scratch import ScratchFiles
from gpualign.core.distance.readers.detection import CallFile
from gpualign.jobs.dist import DistOptions, prepare, read_source
from gpualign.jobs.devices.resources import checked_resources
from gpualign.jobs.devices.selection import pick_distance_engine
from gpualign.jobs.reporter import SILENT_REPORTER
path, device, threads, most = sys.argv[1:]
resources = checked_resources(device, int(threads), None)
options = DistOptions(max_distance=float(most) if most else None, resources=resources)
engine = pick_distance_engine(resources, SILENT_REPORTER)
with ScratchFiles() as files, open(path, 'rb') as stream:
    times = [time.perf_counter()]
    source = read_source([CallFile(stream, path, path)], options, files, SILENT_REPORTER)
    times.append(time.perf_counter())
    prepared = prepare(options, source, engine, files.new_scratch, SILENT_REPORTER).prepared
    times.append(time.perf_counter())
    counter, bands = prepared.counter, prepared.plan.bands()
    ignore = lambda work: None
    panels = prepared.panels
    if most:
        parts = counter.select_pairs(panels, bands, counter.count_names, prepared.selection_rule, ignore)
    else:
        parts = counter.count_function(panels, bands, counter.count_names, ignore)
    for part in parts:
        del part
    times.append(time.perf_counter())
print(*(later - earlier for earlier, later in zip(times, times[1:])))
"""


def parts(path: Path, device: str, threads: int, most: str) -> list[float]:
    """Seconds of reading, of making bit planes and of counting."""
    words = [sys.executable, "-c", PARTS, str(path), device, str(threads), most]
    return [float(word) for word in subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()]


def whole(path: Path, device: str, threads: int, most: str, output: str) -> tuple[float, float]:
    """(seconds, 10^6 bytes at the peak) of a command."""
    near = ["--max-distance", most] if most else []
    near += ["--format", "csr"] if most and output.endswith(".npz") else []
    command = [sys.executable, "-m", "gpualign", "dist", "-q", path, "--device", device, "--threads", threads, *near, "-o", output]
    path.with_name(output).unlink(missing_ok=True)  # what a file that was there costs is the system's
    took, _, memory = usage(command, path.parent)
    return took, memory


def ours(path: Path, options: argparse.Namespace) -> list[list[str]]:
    """Rows: of each width of lines, output and number of threads."""
    rows = []
    for width in options.lines:
        write_outbreak(path, options.samples, options.sites, width)
        size = path.stat().st_size
        text = f"lines of {width}" if width else "a line a record"
        for threads in options.threads:
            for output, most in (("near.tsv", str(MOST)), ("near.npz", str(MOST)), ("whole.npy", "")):
                if width != options.lines[-1] and output != "near.tsv":
                    continue
                found, commands = [], []
                for _ in range(options.runs):
                    found.append(parts(path, options.device, threads, most))
                    commands.append(whole(path, options.device, threads, most, output))
                reading, planes, counting = (min(times) for times in zip(*found, strict=True))
                took, memory = min(commands)
                rows.append(
                    [
                        *(text, output, str(threads), f"{reading:.3f}", f"{size / reading / 1e9:.2f}", f"{planes:.3f}", f"{counting:.3f}"),
                        *(f"{took:.2f}", f"{took / (reading + counting):.2f}", f"{memory:,.0f}"),
                    ]
                )
                print(rows[-1], flush=True)
    return rows


def peers(path: Path, options: argparse.Namespace) -> list[list[str]]:
    """Rows: of each peer that is there, on the alignment that was written last."""
    python = Path(options.peers)
    commands: dict[str, Sequence[object]] = {
        "hammingdist, lower triangle": [python, "-c", HAMMINGDIST.format(str(path))],
        "pairsnp, whole matrix": [python.with_name("pairsnp"), "-f", path, "-o", path.with_name("pairsnp.tsv")],
    }
    rows = []
    for name, command in commands.items():
        took, worked, memory = usage(command, path.parent)
        rows.append([name, f"{took:.2f}", f"{worked:.2f}", f"{memory:,.0f}"])
        print(rows[-1], flush=True)
    return rows


CHOICES = [[], ["--core", "0.95"], ["--mask", "mask.bed"], ["--maf", "0.01"], ["--mask", "mask.bed", "--core", "0.95", "--maf", "0.01"]]


def choosing(path: Path, options: argparse.Namespace) -> list[list[str]]:
    """Rows: whole matrices of the alignment that was written last, of the sites that options choose, in turns."""
    lines = (f"x\t{start}\t{start + 50}\n" for start in range(0, options.sites - 50, 1000))
    path.with_name("mask.bed").write_text("".join(lines))
    found: list[list[tuple[float, float]]] = [[] for _ in CHOICES]
    for _ in range(options.runs):
        for times, choice in zip(found, CHOICES, strict=True):
            words = ["-q", path, "--device", options.device, "--threads", options.threads[-1], "-o", "whole.npy"]
            took, _, memory = usage([sys.executable, "-m", "gpualign", "dist", *choice, *words], path.parent)
            times.append((took, memory))
    best = [min(times) for times in found]
    return [
        [" ".join(choice) or "all sites", f"{took:.2f}", f"{took / best[0][0]:.2f}", f"{memory:,.0f}"]
        for choice, (took, memory) in zip(CHOICES, best, strict=True)
    ]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--sites", type=int, default=30_000)
    parser.add_argument("--lines", type=int, nargs="+", default=[0, 60, 80], help="letters of a line of FASTA; 0: a line a record")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peers", help="a Python with hammingdist and pairsnp")
    parser.add_argument("--choosing", action="store_true", help="also with options that choose sites")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "outbreak.fa")
        start = time.perf_counter()
        rows = ours(path, options)
        sections = [
            f"# The dist command\n\n{machine()}. {options.samples:,} genomes of {options.sites:,} sites; --device {options.device}.\n",
            table(
                "Whole command and its parts",
                ["FASTA", "output", "threads", "reading, s", "GB/s", "planes, s", "counting, s", "whole, s", "ratio", "MB"],
                rows,
                [
                    f"Best of {options.runs}, files in the page cache. near: pairs at most {MOST} apart, .npz as --format csr.",
                    "Parts are timed inside a process of their own, and what is counted is thrown away.",
                    "Ratio: of the whole command, from the shell, to reading plus counting. MB: at the peak of the command.",
                ],
            ),
        ]
        if options.peers:
            sections.append(
                table("Peers", ["what", "s", "processor s", "MB"], peers(path, options), ["Once each, the last alignment above."])
            )
        if options.choosing:
            note = f"Best of {options.runs}, in turns, whole.npy, {options.threads[-1]} threads; mask.bed has a twentieth of the sites."
            sections.append(table("Choosing sites", ["options", "s", "ratio", "MB"], choosing(path, options), [note]))
        print(f"{time.perf_counter() - start:.0f} s in all")
    finish("\n".join(sections), options.output)


if __name__ == "__main__":
    main()
