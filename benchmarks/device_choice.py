"""`--device auto` beside cpu and cuda, whole commands over a grid of sizes of jobs, on a machine with a GPU.

python benchmarks/device_choice.py [--runs 9] [--only reads,sw] [--output benchmarks/results/device_choice.md]

Sequences are made up: genes of 1.5 kb and reads of 100 letters (as in near_cuda.py), random ones, alignments of 30,000 sites (as in
dist_command.py).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, table, texts_of, usage, write_fasta, write_outbreak
from near_cuda import genes, reads

from gpualign.core.sequences.sequence_set import SequenceSet

DEVICES = "cpu", "cuda", "auto"
MIDDLE, LONG = 2.0, 4.0  # seconds from which on a job is run three times, and once


def write(path: Path, sequences: SequenceSet) -> str:
    return write_fasta(path, texts_of(sequences))


def random_records(rng: np.random.Generator, count: int, length: int) -> SequenceSet:
    codes = rng.integers(0, 4, count * length, dtype=np.uint8)
    return SequenceSet("random", [f"r{k}" for k in range(count)], codes, np.arange(count + 1, dtype=np.int64) * length)


def jobs(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Names and words of the commands."""
    rng = np.random.default_rng(1)
    for count in (60, 300, 1000, 2000):
        path = write(folder / f"genes{count}.fa", genes(rng, count))
        yield f"nw, {count:,} genes, affine", ["nw", path]
        if count <= 1000:
            yield f"nw, {count:,} genes, identity and CIGAR", ["nw", path, "--fields", "query,target,identity,cigar"]
        yield f"nw --edit, {count:,} genes", ["nw", "--edit", path]
    for count in (5_000, 20_000, 60_000, 120_000, 300_000):
        path = write(folder / f"reads{count}.fa", reads(rng, count))
        yield f"nw --edit --max-distance 5, {count:,} reads", ["nw", "--edit", "--max-distance", "5", path]
    query = write(folder / "query.fa", genes(rng, 1))
    for count in (300, 2000):
        yield f"sw, a gene, {count:,} genes", ["sw", query, str(folder / f"genes{count}.fa")]
    queries = write(folder / "queries.fa", genes(rng, 20))
    yield "sw, 20 genes, 2,000 genes", ["sw", queries, str(folder / "genes2000.fa")]
    for letters in (1_000, 30_000, 200_000):
        one, other = (write(folder / f"long{letters}_{k}.fa", random_records(rng, 1, letters)) for k in range(2))
        yield f"sw, a pair of {letters:,} letters", ["sw", one, other]
        yield f"sw --no-traceback, a pair of {letters:,} letters", ["sw", "--no-traceback", one, other]
    chromosome = write(folder / "chromosome.fa", random_records(rng, 1, 20_000_000))
    yield "sw --no-traceback, a gene, 20 Mb", ["sw", "--no-traceback", query, chromosome]
    for count in (1_000, 5_000, 20_000):
        genomes = folder / f"outbreak{count}.fa"
        write_outbreak(genomes, count, 30_000, 80)
        yield f"dist --max-distance 12, {count:,} genomes", ["dist", "--max-distance", "12", str(genomes)]


def run(words: list[str], device: str, out: str) -> tuple[float, float]:
    """Seconds, and 10^6 bytes of RAM at the peak."""
    took, _, memory = usage([sys.executable, "-m", "gpualign", *words, "-q", "--device", device, "-o", out], Path(out).parent)
    return took, memory


def times(least: float, runs: int) -> int:
    """Number of runs of a command whose quickest run so far took `least` seconds; inf: none yet."""
    return runs if least < MIDDLE or least == float("inf") else 3 if least < LONG else 1


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--only", default="", help="only jobs whose name contains one of these, separated by commas")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder, "out.tsv"))
        for name, words in jobs(Path(folder)):
            if not any(part in name for part in options.only.split(",")):
                continue
            run(words, "cuda", out)  # compiles
            found = dict.fromkeys(DEVICES, (float("inf"), 0.0))
            for turn in range(options.runs):
                for device in DEVICES:
                    if turn < times(found[device][0], options.runs):
                        found[device] = min(found[device], run(words, device, out))
            best = min(found["cpu"], found["cuda"])[0]
            seconds = [f"{found[device][0]:.2f}" for device in DEVICES]
            rows.append([name, *seconds, f"{found['auto'][0] / best:.2f}", f"{found['auto'][1]:.0f}"])
            print(rows[-1], file=sys.stderr, flush=True)
    notes = [
        f"Seconds of whole processes, the least of {options.runs} alternating runs ({times(MIDDLE, 0)} from {MIDDLE:.0f} s on, one from"
        f" {LONG:.0f} s on); kernels are in the cache.",
        "Last: auto by the better, and MB of RAM of auto at the peak, with the driver's own where it takes CUDA.",
    ]
    text = f"# --device auto\n\n{machine()}.\n\n"
    finish(text + table("Whole commands", ["job", *DEVICES, "auto / better", "MB"], rows, notes), options.output)


if __name__ == "__main__":
    main()
