"""Kinships and relationships beside plink2: whole commands, from a PLINK fileset to a matrix and to a list of relatives, on the CPU.

python benchmarks/kinship_command.py [--sizes 2000x20000 4000x50000] [--plink2 plink2] [--runs 3] [--output kinship_command.md]
python benchmarks/kinship_command.py --metric grm --sizes 2000x20000 --output benchmarks/results/relationship_command.md

People of which four in eight are a family, with 1 % of the calls missing; alleles with frequencies of 1 to 50 %. Commands run in turns.
Processor seconds are those of the command and of what it started, and do not change where others use the machine; seconds are as the shell
sees them. Both programs' results are compared: a difference ends the run. plink2's relationships are products of matrices by the machine's
BLAS, which is to be OpenBLAS (Debian: libopenblas0-pthread): with the reference BLAS they take many times as long.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, median_usage, require, table, write_fileset

LEAST = 0.0884  # up to the second degree
TITLES = {"king": "Kinship by KING-robust, whole commands", "grm": "Genomic relationships, whole commands"}


def write_people(path: Path, samples: int, sites: int) -> None:
    """Two parents and two children, and four others, again and again."""
    rng = np.random.default_rng(5)
    frequency = rng.uniform(0.01, 0.5, (sites, 1))
    maternal, paternal = ((rng.random((sites, samples)) < frequency).astype(np.uint8) for _ in range(2))
    for first in range(0, samples - 3, 8):
        for child in (first + 2, first + 3):
            for haplotypes, parent in ((maternal, first), (paternal, first + 1)):
                haplotypes[:, child] = np.where(rng.random(sites) < 0.5, maternal[:, parent], paternal[:, parent])
    dosage = maternal + paternal
    dosage[rng.random(dosage.shape) < 0.01] = 3
    write_fileset(path, dosage)


def check(folder: Path, metric: str) -> str:
    """Compares the results that lie in the folder; says how far they are apart."""
    ours = np.load(folder / "ours.npy")
    theirs = np.fromfile(folder / f"theirs.{'king' if metric == 'king' else 'rel'}.bin").reshape(ours.shape)
    apart = float(np.abs(ours - theirs).max())
    if metric == "grm" and apart <= 1e-12:
        return f"Relationships are {apart:.0e} apart at most."
    lines = [line.split("\t") for line in (folder / "ours.tsv").read_text().splitlines()[1:]]
    header, *listed = [line.lstrip("#").split("\t") for line in (folder / "theirs.kin0").read_text().splitlines()]
    ends = header.index("IID1"), header.index("IID2")
    pairs, their_pairs = {frozenset(cells[:2]) for cells in lines}, {frozenset(cells[k] for k in ends) for cells in listed}
    if apart > 1e-12 or pairs != their_pairs or len(pairs) != len(lines):
        raise SystemExit(f"kinships differ by {apart:g}, or other pairs are listed: {len(lines)} and {len(listed)}")
    return f"Kinships are {apart:.0e} apart at most; both list the same {len(lines):,} pairs."


def works(plink2: str, metric: str, threads: int) -> dict[str, dict[str, list[object]]]:
    """What is timed: our command and theirs."""
    ours = [sys.executable, "-m", "gpualign", "dist", "-q", "--device", "cpu", "--metric", metric, "--threads", threads, "x.bed"]
    theirs = [plink2, "--bfile", "x", "--threads", threads, "--out", "theirs"]
    if metric == "grm":
        return {"matrix": {"ours": [*ours, "-o", "ours.npy"], "theirs": [*theirs, "--make-rel", "square", "bin"]}}
    listed = [*theirs, "--make-king-table", "--king-table-filter", LEAST]
    return {
        "matrix": {"ours": [*ours, "-o", "ours.npy"], "theirs": [*theirs, "--make-king", "square", "bin"]},
        f"list from {LEAST}": {"ours": [*ours, "--min-kinship", LEAST, "-o", "ours.tsv"], "theirs": listed},
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--metric", choices=["king", "grm"], default="king")
    parser.add_argument("--sizes", nargs="+", default=["2000x20000", "4000x50000"], metavar="SAMPLESxSITES")
    parser.add_argument("--plink2", default="plink2")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    require(options.plink2)
    version = subprocess.run([options.plink2, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    rows, said = [], []
    for size in options.sizes:
        samples, sites = map(int, size.split("x"))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_people(folder / "x.bed", samples, sites)
            for threads in (1, 2):
                for what, commands in works(options.plink2, options.metric, threads).items():
                    found = median_usage(commands, folder, options.runs)
                    (ours, our_work, _), (theirs, their_work, _) = found["ours"], found["theirs"]
                    numbers = (ours, theirs, theirs / ours, our_work, their_work, their_work / our_work)
                    rows.append([f"{samples:,} x {sites:,}, {what}", str(threads), *(f"{number:.2f}" for number in numbers)])
                    print(rows[-1], flush=True)
            said.append(f"{samples:,} x {sites:,}: {check(folder, options.metric)}")
    header = ["", "threads", "gpualign, s", "plink2, s", "ratio", "gpualign, CPU s", "plink2, CPU s", "ratio"]
    notes = [
        f"Samples x sites; medians of {options.runs} runs in turns; {version}.",
        *said,
        "",
        f"On {machine()}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}: where they"
        " are shared with other work compare processor seconds.",
    ]
    finish("# Relatives, beside plink2\n\n" + table(TITLES[options.metric], header, rows, notes), options.output)


if __name__ == "__main__":
    main()
