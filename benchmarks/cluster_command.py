"""The same job with threads and with Dask's workers on this machine, whole commands: what `--cluster` costs.

python benchmarks/cluster_command.py [--records 1500] [--samples 4000] [--runs 3] [--output benchmarks/results/cluster_command.md]

Sequences are made up: relatives of 1.5 kb, and alignments of 30,000 sites (as in dist_command.py). dask:N has N processes
that share the machine's threads. The time to start Python, Dask and its workers is part of a command's; "computing" is the time in
gpualign's summary, which leaves it out. Needs Dask (`pip install '.[cluster]'`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, table, write_fasta, write_outbreak

from gpualign.cpu.processor import usable_cpu_count


def genes(path: Path, rng: np.random.Generator, count: int) -> str:
    """Records that differ from one ancestor in a fifth of their letters."""
    ancestor = rng.integers(0, 4, 1500)
    copies = np.where(rng.random((count, 1500)) < 0.2, rng.integers(0, 4, (count, 1500)), ancestor)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)[copies]
    return write_fasta(path, (row.tobytes().decode() for row in letters))


def jobs(folder: Path, records: int, samples: int) -> Iterator[tuple[str, list[str]]]:
    """Names and words of the commands."""
    rng = np.random.default_rng(1)
    path = genes(folder / "genes.fa", rng, records)
    yield f"nw, {records:,} genes, affine, to .npy", ["nw", path, "-o", str(folder / "x.npy")]
    fewer = genes(folder / "fewer.fa", rng, records // 2)
    paths = ["--fields", "query,target,identity,cigar", "-o", str(folder / "x.tsv")]
    yield f"nw, {records // 2:,} genes, identity and CIGAR", ["nw", fewer, *paths]
    queries = genes(folder / "queries.fa", rng, 40)
    yield f"sw, 40 genes, {records:,} genes", ["sw", queries, path, "-o", str(folder / "x.m8")]
    genomes = folder / "outbreak.fa"
    write_outbreak(genomes, samples, 30_000, 80)
    yield f"dist, {samples:,} genomes, to .npy", ["dist", str(genomes), "-o", str(folder / "y.npy")]


def seconds(words: list[str], cluster: str | None) -> tuple[float, float]:
    """(whole command, computing)."""
    start = time.perf_counter()
    more = ["--cluster", cluster] if cluster else []
    done = subprocess.run([sys.executable, "-m", "gpualign", *words, "--device", "cpu", *more], check=True, capture_output=True, text=True)
    found = re.search(r" in ([\d.]+) s", done.stderr)
    assert found is not None, done.stderr
    return time.perf_counter() - start, float(found[1])


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=1500)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    clusters = [None, *(f"dask:{number}" for number in (1, 2, 4) if number <= usable_cpu_count())]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, words in jobs(Path(folder), options.records, options.samples):
            runs = [[seconds(words, cluster) for cluster in clusters] for _ in range(options.runs)]  # in turns, as machines change
            medians = np.median(np.array(runs), axis=0)
            for cluster, (whole, computing) in zip(clusters, medians, strict=True):
                ratio = f"{computing / medians[0][1]:.2f}"
                rows.append([name, cluster or "threads", f"{whole:.1f}", f"{computing:.1f}", ratio])
                print(rows[-1], file=sys.stderr, flush=True)
    notes = [f"Seconds, medians of {options.runs} runs in turns. Last: computing by that of threads."]
    header = ["job", "workers", "whole command", "computing", "ratio"]
    finish(f"# --cluster\n\n{machine()}.\n\n" + table("dask:N beside threads", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
