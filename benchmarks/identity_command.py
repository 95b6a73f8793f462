"""`gpualign nw` and `cluster` by identity and coverage, as whole commands beside vsearch, MMseqs2 and CD-HIT, and what those miss.

python benchmarks/identity_command.py --genes 16s.fasta.gz --proteins proteins.fasta.gz [--sizes 4000 10000] [--reads 20000 100000]
    [--device cuda:0] [--output benchmarks/results/identity_command.md]

Genes and reads at 97 %, proteins at 90 %, at least 0.8 of each record aligned; families of records made from those of the files, and reads
of one amplicon (near_sets.py), which are only clustered around representatives. All programs have their default options otherwise. Those
that are not installed are left out, and one that did not end within --limit seconds is not started for larger sets.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import GPUALIGN, children_seconds, finish, machine, make_parser, table, write_fasta
from near_sets import families, reads

from gpualign.cpu.processor import usable_cpu_count

COVERAGE = "0.8"
WORKS = PAIRS, LINKAGE, GREEDY = "pairs", "single linkage", "representatives"
ALL_PAIRS = "vsearch --allpairs_global"
MARGIN = 0.01  # above the threshold, for pairs that are clearly near
READ_LETTERS = 250
LONG = 20.0  # seconds from which on a command is run once


@dataclass(frozen=True)
class Records:
    """A set of records, whose ids are their numbers.

    kind: as near_sets.py names it
    identity: threshold
    near: numbers of the two records of each pair that is clearly near, int64[2][pairs]; None: not known
    """

    kind: str
    count: int
    path: str
    identity: str
    near: np.ndarray | None = None

    def __str__(self) -> str:
        return f"{self.count:,} {self.kind.removeprefix('partial-')}"


@dataclass(frozen=True)
class Program:
    """A command and what it writes.

    words: run in a folder of its own
    work: PAIRS, LINKAGE or GREEDY
    read: reads the result in that folder: pairs as int64[2][pairs], clusters as the representative of each record, int64[records]
    """

    name: str
    work: str
    words: list[str]
    read: Callable[[Path, int], np.ndarray]


def read_pairs(folder: Path, _: int) -> np.ndarray:
    return np.loadtxt(folder / "out.tsv", np.int64, delimiter="\t", usecols=(0, 1), skiprows=1, ndmin=2, unpack=True)


def read_vsearch_pairs(folder: Path, _: int) -> np.ndarray:
    return np.sort(np.loadtxt(folder / "out.tsv", np.int64, delimiter="\t", usecols=(0, 1), ndmin=2, unpack=True), axis=0)


def representative_of(members: np.ndarray, representatives: np.ndarray, count: int) -> np.ndarray:
    found = np.arange(count)
    found[members] = representatives
    return found


def read_clusters(folder: Path, count: int) -> np.ndarray:
    members, representatives = np.loadtxt(folder / "out.tsv", np.int64, delimiter="\t", usecols=(0, 3), skiprows=1, ndmin=2, unpack=True)
    return representative_of(members, representatives, count)


def read_mmseqs_clusters(folder: Path, count: int) -> np.ndarray:
    representatives, members = np.loadtxt(folder / "out_cluster.tsv", np.int64, delimiter="\t", ndmin=2, unpack=True)
    return representative_of(members, representatives, count)


def read_vsearch_clusters(folder: Path, count: int) -> np.ndarray:
    found = np.arange(count)
    with (folder / "out.uc").open() as file:
        for line in file:
            if line[0] == "H":
                member, representative = line.split("\t")[8:10]
                found[int(member)] = int(representative)
    return found


def read_cd_hit_clusters(folder: Path, count: int) -> np.ndarray:
    found = np.arange(count)
    for cluster in (folder / "out.clstr").read_text().split(">Cluster ")[1:]:
        members = re.findall(r">(\d+)\.\.\. (\*|at)", cluster)
        representative = next(int(member) for member, mark in members if mark == "*")
        found[[int(member) for member, _ in members]] = representative
    return found


def where(options: argparse.Namespace) -> list[str]:
    """Options of gpualign: where it runs, if that was chosen."""
    return ["--device", options.device] * bool(options.device) + ["--threads", str(options.threads)] * bool(options.threads)


def programs(records: Records, options: argparse.Namespace) -> list[Program]:
    """Commands for a set of records: gpualign's, and those of the peers on PATH."""
    threads = str(options.threads or usable_cpu_count())
    ours = ["--min-identity", records.identity, records.path, "-q", "-o", "out.tsv", *where(options)]
    cluster = [GPUALIGN, "cluster", *ours]
    found = [
        Program("gpualign nw", PAIRS, [GPUALIGN, "nw", *ours, "--min-coverage", COVERAGE], read_pairs),
        Program("gpualign cluster", LINKAGE, cluster, read_clusters),
        Program("gpualign cluster --method greedy", GREEDY, [*cluster, "--method", "greedy"], read_clusters),
    ]
    if shutil.which("mmseqs"):
        limits = ["--min-seq-id", records.identity, "-c", COVERAGE, "--threads", threads]
        for workflow in ("easy-linclust", "easy-cluster"):
            words = ["mmseqs", workflow, records.path, "out", "temporary", *limits]
            name = f"MMseqs2 {workflow}"
            linked = [*words, "--cluster-mode", "1"]
            found += [Program(f"{name} --cluster-mode 1", LINKAGE, linked, read_mmseqs_clusters)]
            found += [Program(name, GREEDY, words, read_mmseqs_clusters)]
    proteins = records.kind == "proteins"
    if shutil.which("vsearch") and not proteins:
        limits = ["--id", records.identity, "--query_cov", COVERAGE, "--target_cov", COVERAGE, "--threads", threads]
        listed = ["vsearch", "--allpairs_global", records.path, "--userout", "out.tsv", "--userfields", "query+target+id", *limits]
        found += [Program(ALL_PAIRS, PAIRS, listed, read_vsearch_pairs)]
        words = ["vsearch", "--cluster_fast", records.path, "--uc", "out.uc", *limits]
        found += [Program("vsearch --cluster_fast", GREEDY, words, read_vsearch_clusters)]
    cd_hit = "cd-hit" if proteins else "cd-hit-est"
    if shutil.which(cd_hit):
        words = [cd_hit, "-i", records.path, "-o", "out", "-c", records.identity, "-aL", COVERAGE, "-aS", COVERAGE]
        words += ["-T", threads, "-M", "0", "-d", "0"]  # no limit of memory, whole ids
        found += [Program(cd_hit, GREEDY, words, read_cd_hit_clusters)]
    return sorted(found, key=lambda program: WORKS.index(program.work))


def seconds(words: list[str], folder: Path, limit: float) -> tuple[float, float]:
    """Seconds of a run in a new folder, and of processors. inf: it did not end within the limit; nan: it failed, which is reported."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    start, before = time.perf_counter(), children_seconds()
    with (folder / "messages").open("wb") as messages:
        process = subprocess.Popen(words, cwd=folder, stdout=messages, stderr=messages, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # MMseqs2 starts processes of its own
            process.wait()
            return float("inf"), float("inf")
    took = time.perf_counter() - start, children_seconds() - before
    if status:
        print(f"{' '.join(words)}: {(folder / 'messages').read_text(errors='replace')[-500:]}", file=sys.stderr, flush=True)
        return float("nan"), float("nan")
    return took


def clearly_near(records: Records, folder: Path, options: argparse.Namespace) -> tuple[np.ndarray | None, str]:
    """The pairs that every program should find, and the device that gpualign runs on. Also fills gpualign's cache of kernels.

    No definition of identity gives a pair less than the first, which divides by all columns, with ambiguity letters as mismatches. Programs
    with other scores have slightly other alignments, hence the margin.
    """
    least = str(round(float(records.identity) + MARGIN, 3))
    words = [GPUALIGN, "nw", "--identity-def", "1", "--ambiguous", "unequal", "--min-identity", least, records.path]
    words += ["--format", "csr", "-o", "near.npz", "--summary", "summary.json", *where(options)]
    if not np.isfinite(seconds(words, folder, options.limit)[0]):
        return None, "device unknown"
    hardware = json.loads((folder / "summary.json").read_text())["engine"]["hardware"]
    with np.load(folder / "near.npz") as found:
        queries = np.repeat(np.arange(records.count), np.diff(found["indptr"]))
        return np.stack([queries, found["indices"]]).astype(np.int64), hardware


def result(program: Program, folder: Path, records: Records) -> list[str]:
    """Number of pairs or clusters that a run wrote to the folder, then numbers of clearly near pairs: of lists, those that are not listed;
    of clusters, those in two clusters, and of these the pairs of two representatives."""
    found = program.read(folder, records.count)
    size = found.shape[1] if program.work == PAIRS else len(np.unique(found))
    if records.near is None:
        return [f"{size:,}", "-", *["-"] * (program.work != PAIRS)]
    queries, targets = records.near
    if program.work == PAIRS:
        listed = np.isin(queries * records.count + targets, found[0] * records.count + found[1])
        return [f"{size:,}", f"{np.count_nonzero(~listed):,}"]
    apart = found[queries] != found[targets]
    both = (found[queries] == queries) & (found[targets] == targets)
    return [f"{size:,}", f"{np.count_nonzero(apart):,}", f"{np.count_nonzero(both):,}" if program.work == GREEDY else "-"]


class Bench:
    """Rows of the tables, and the programs that are not started any more.

    rows: of pairs and of clusters
    given_up: kinds of records and names of programs
    near: numbers of clearly near pairs, with the records
    """

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder = folder
        self.options = options
        self.rows: dict[bool, list[list[str]]] = {True: [], False: []}
        self.given_up: set[tuple[str, str]] = set()
        self.near: list[str] = []

    def compare(self, records: Records, started: list[Program]) -> None:
        """Add a row for each program. They take turns; one that takes long runs once."""
        times: dict[str, list[tuple[float, float]]] = {program.name: [] for program in started}
        for _ in range(self.options.runs):
            for program in started:
                before = times[program.name]
                if not before or before[-1][0] < LONG:
                    before.append(seconds(program.words, self.folder / program.name, self.options.limit))
        ours: dict[str, float] = {}  # of each kind of work
        for program in started:
            taken, used = zip(*times[program.name], strict=True)
            took, worked = (statistics.median(taken), statistics.median(used)) if np.isfinite(taken[-1]) else (taken[-1], used[-1])
            if program.name.startswith("gpualign"):
                ours[program.work] = took
            ratio = took / ours.get(program.work, float("nan"))
            work = [] if program.work == PAIRS else [program.work]
            row = [str(records), *work, f"`{program.name}`"]
            if np.isfinite(took):
                row += [f"{took:.2f}", f"{worked:.2f}", f"{ratio:.1f}", *result(program, self.folder / program.name, records)]
            else:
                self.given_up.add((records.kind, program.name))
                row += ["failed" if np.isnan(took) else f"> {self.options.limit:.0f}", *["-"] * (4 + len(work))]
            self.rows[program.work == PAIRS].append(row)
            print(row, file=sys.stderr, flush=True)

    def run(self, kind: str, source: str, identity: str) -> str:
        """Compare programs on all sizes of records of a kind, and return the device that gpualign runs on."""
        hardware = ""
        some = [] if kind == "proteins" else [self.options.some]
        for count in (*some, *sorted(self.options.sizes)):
            path = write_fasta(self.folder / "records.fa", families(kind, count, 1, source), prefix="")
            records = Records(kind, count, path, identity)
            near, hardware = clearly_near(records, self.folder / "near", self.options)
            records = replace(records, near=near)
            if near is not None:
                self.near.append(f"{near.shape[1]:,} of {records}")
            started = [program for program in programs(records, self.options) if (kind, program.name) not in self.given_up]
            # vsearch aligns every pair of the few records, and only of those.
            few = count in some
            self.compare(records, [p for p in started if (p.work == PAIRS if few else p.name != ALL_PAIRS)])
        return hardware

    def run_reads(self) -> str:
        """Compare clusters of reads around representatives, and return the device that gpualign runs on. Their near pairs are not listed,
        because most reads of a species are near each other."""
        hardware = ""
        for count in sorted(self.options.reads):
            path = write_fasta(self.folder / "records.fa", reads(count, READ_LETTERS, 1), prefix="")
            records = Records("reads", count, path, "0.97")
            started = [p for p in programs(records, self.options) if p.work == GREEDY and ("reads", p.name) not in self.given_up]
            folder = self.folder / "first"
            seconds([*started[0].words, "--summary", "summary.json"], folder, self.options.limit)  # fills the cache of kernels
            hardware = json.loads((folder / "summary.json").read_text())["engine"]["hardware"]
            self.compare(records, started)
        return hardware


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--genes", metavar="FASTA", help="real genes")
    parser.add_argument("--proteins", metavar="FASTA", help="real proteins")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4000, 10_000], help="records of a set")
    parser.add_argument("--some", type=int, default=200, help="genes of which vsearch aligns all pairs")
    parser.add_argument("--reads", type=int, nargs="+", default=[], help="reads of a set")
    parser.add_argument("--device", help="of gpualign")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300, help="seconds of a command")
    options = parser.parse_args()
    if not (options.genes or options.proteins or options.reads):
        parser.error("--genes, --proteins or --reads is needed")
    hardware = ""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), options)
        if options.genes:
            hardware = bench.run("partial-genes", options.genes, "0.97")
        if options.proteins:
            hardware = bench.run("proteins", options.proteins, "0.9")
        if options.reads:
            hardware = bench.run_reads()
    source = ", ".join(Path(path).name for path in (options.genes, options.proteins) if path)
    text = f"# Near pairs and clusters by identity\n\n{machine()}. gpualign on {hardware}. Founders: {source}.\n\n"
    notes = [
        "Genes and reads at 97 % identity, proteins at 90 %, at least 0.8 of each record aligned. Seconds of whole processes, from the",
        f"file to the result, medians of {options.runs} alternating runs (one run from {LONG:.0f} s on), and how many times as long as",
        "gpualign.",
        "",
        f"*Clearly near* pairs are at least {MARGIN * 100:.0f} percentage point above the threshold by a strict definition: equal letters",
        "divided by all columns, where gaps at the ends and ambiguity letters count as differences. The margin is there because other",
        "scores, and other definitions of identity and coverage, give slightly other results. The alignments are gpualign's. There are",
        f"{', '.join(bench.near)}.",
    ]
    if options.reads:
        notes += ["", f"Reads of one amplicon have {READ_LETTERS} letters, and their clearly near pairs are not counted."]
    if bench.given_up:
        notes += ["", f"A program that took more than {options.limit:.0f} s, or failed, was not started for larger sets."]
    missing = [name for name in ("vsearch", "mmseqs", "cd-hit", "cd-hit-est") if not shutil.which(name)]
    notes += ["", f"Not on this machine: {', '.join(missing)}."] * bool(missing)
    of_clusters = [
        "Single linkage should leave no near pair in different clusters. Clusters around representatives (centroids; in MMseqs2 a set",
        "cover) inevitably separate some near pairs, but no two representatives should be near each other.",
    ]
    times = ["time, s", "processor time, s", "times as long as gpualign"]
    text += table("Lists of pairs", ["records", "program", *times, "pairs listed", "clearly near pairs missed"], bench.rows[True], notes)
    counts = ["clusters", "clearly near pairs in different clusters", "clearly near pairs among representatives"]
    header = ["records", "clusters by", "program", *times, *counts]
    finish(text + table("Clusters", header, bench.rows[False], of_clusters), options.output)


if __name__ == "__main__":
    main()
