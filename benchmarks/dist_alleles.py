"""`gpualign dist` of cgMLST tables: whole commands beside cgmlst-dists, reading and counting alone.

python benchmarks/dist_alleles.py [--samples 5000] [--loci 3000] [--peer cgmlst-dists] [--device cpu] [--threads 1 2] [--runs 3]
    [--what text npy near reading] [--output benchmarks/results/dist_alleles.md]
python benchmarks/dist_alleles.py --samples 46000 --peer '' --runs 1 --what near reading

A table as chewBBACA writes it, of lineages whose members share most alleles: hundreds of alleles at most loci, thousands at some, 3 %
of the cells without one. The peer is cgmlst-dists (Bioconda), which is left out if it is not installed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from common import GPUALIGN, finish, machine, make_parser, table, usage

WORDS = np.array(["LNF", "NIPH", "NIPHEM", "ASM", "ALM", "PLOT3", "PLOT5", "LOTSC"])
NEAR = 10


def write_alleles(path: Path, samples: int, loci: int, seed: int = 7) -> None:
    """A hundred lineages; a sample has a tenth of its alleles from elsewhere, and some of these are new ones (INF-)."""
    rng = np.random.default_rng(seed)
    kinds = np.clip(rng.lognormal(5.5, 0.8, loci), 2, 5000).astype(int)
    lineages = rng.integers(0, 1 << 30, (100, loci)) % kinds + 1
    with path.open("w") as out:
        out.write("\t".join(["FILE", *(f"locus_{k}" for k in range(loci))]) + "\n")
        for sample in range(samples):
            alleles = lineages[rng.integers(len(lineages))].copy()
            changed = rng.random(loci) < 0.1
            alleles[changed] = rng.integers(0, 1 << 30, int(changed.sum())) % kinds[changed] + 1
            words = alleles.astype(str).astype(object)
            new = changed & (rng.random(loci) < 0.1)
            words[new] = [f"INF-{word}" for word in words[new]]
            lost = rng.random(loci) < 0.03
            words[lost] = WORDS[rng.integers(len(WORDS), size=int(lost.sum()))]
            out.write("\t".join([f"genome_{sample}", *words.tolist()]) + "\n")


def best(command: list[object], folder: Path, runs: int) -> tuple[float, float, float]:
    """(seconds, processor seconds, MB) of the quickest run."""
    return min(usage(command, folder) for _ in range(runs))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--loci", type=int, default=3000)
    parser.add_argument("--peer", default="cgmlst-dists")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--what", nargs="+", default=["text", "npy", "near", "reading"])
    options = parser.parse_args()
    rows = []
    pairs = options.samples * (options.samples - 1) / 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "alleles.tsv"
        write_alleles(path, options.samples, options.loci)
        commands: dict[str, list[object]] = {}
        for threads in options.threads:
            common = [GPUALIGN, "dist", "-q", path, "--device", options.device, "--threads", threads]
            parts = {
                "text": ("whole matrix as text", ["-o", folder / "ours.tsv"]),
                "npy": ("whole matrix as .npy", ["-o", folder / "ours.npy"]),
                "near": (f"pairs at most {NEAR} apart", ["--max-distance", NEAR, "-o", folder / "near.tsv"]),
                "reading": ("reading and bit planes alone", ["--max-distance", 0, "--missing", "complete", "-o", folder / "nothing.tsv"]),
            }
            for what in options.what:
                title, words = parts[what]
                commands[f"gpualign, {threads} {'thread' if threads == 1 else 'threads'}, {title}"] = [*common, *words]
        peer = shutil.which(options.peer) if options.peer and "text" in options.what else None
        if peer is None:
            print("without cgmlst-dists")
        for title, command in commands.items():
            took, worked, memory = best(command, folder, options.runs)
            rows.append([title, f"{took:.2f}", f"{worked:.2f}", f"{memory:,.0f}", f"{pairs * options.loci / took / 1e9:.1f}"])
            print(rows[-1], flush=True)
        if peer is not None:
            theirs = folder / "theirs.tsv"
            took, worked, memory = usage(["sh", "-c", f"{peer} -q {path} > {theirs}"], folder)
            rows.append(["cgmlst-dists", f"{took:.2f}", f"{worked:.2f}", f"{memory:,.0f}", f"{pairs * options.loci / took / 1e9:.1f}"])
            print(rows[-1], flush=True)
            ours = (folder / "ours.tsv").read_bytes().partition(b"\n")[2]
            assert ours == theirs.read_bytes().partition(b"\n")[2], "the matrices differ"
    notes = [
        f"Best of {options.runs} runs; cgmlst-dists: one run, to text. Files were in the page cache. Comparisons a second: pairs x loci,",
        "divided by the whole time. *Reading alone*: with `--missing complete --max-distance 0`, loci with a missing allele are left out",
        "for all pairs, so hardly any locus is compared.",
        *(["cgmlst-dists writes the same rows as gpualign, byte for byte."] if peer is not None else []),
    ]
    header = ["command", "time, s", "processor time, s", "peak memory, MB", "10^9 comparisons a second"]
    text = f"# cgMLST tables\n\n{machine()}. --device {options.device}.\n\n"
    finish(text + table(f"{options.samples:,} samples x {options.loci:,} loci", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
