"""`import gpualign` beside the command, and beside loops over edlib, parasail and pyopal in Python.

python benchmarks/python_api.py 16s.fasta.gz [--output benchmarks/results/python_api.md]
"""

from __future__ import annotations

import itertools
import random
import subprocess
import tempfile
import time
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path

import edlib
import numpy as np
import parasail
import pyopal
from common import GPUALIGN, finish, machine, make_parser, medians, table
from scoring_matrices import ScoringMatrix

import gpualign

FEW = 60  # records of the loops: 1,770 pairs
AFFINE = gpualign.Scoring(match=5, mismatch=-4, gap_open=10, gap_extend=1)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def beside_the_command(fasta: str, runs: int) -> str:
    """The same matrix into a file, from reading to the last byte, in a process that has imported gpualign, and as a command."""
    with tempfile.TemporaryDirectory() as folder:
        out, other = Path(folder, "api.npy"), Path(folder, "command.npy")
        words = [GPUALIGN, "nw", "-q", "--edit", "--allow-duplicates", fasta, "-o", str(other)]

        def api() -> None:
            gpualign.nw(gpualign.read(fasta, allow_duplicates=True), scoring=gpualign.EDIT, out=out)

        actions = {"api": lambda: seconds(api), "command": lambda: seconds(lambda: subprocess.run(words, check=True))}
        found = medians(actions, runs)
        matrix = np.load(out, mmap_mode="r")
        if not np.array_equal(matrix, np.load(other, mmap_mode="r")):
            raise SystemExit("the matrices differ")
        count = len(matrix)
    row = [
        f"edit distances of {count:,} records",
        f"{found['api']:.2f}",
        f"{found['command']:.2f}",
        f"{found['api'] / found['command']:.2f}",
    ]
    notes = [
        f"Medians of {runs} alternating runs, in seconds, reading and writing included; the command also starts Python. Equal matrices."
    ]
    return table("Beside the command", ["work", "`gpualign.nw(..., out=...)`", "`gpualign nw -o`", "ratio"], [row], notes)


def beside_loops(fasta: str, runs: int) -> str:
    """All pairs of a few genes on one thread."""
    genes = gpualign.read(fasta, allow_duplicates=True)[:FEW]
    texts = list(genes)
    pairs = list(itertools.combinations(texts, 2))
    nucleotides = parasail.matrix_create("ACGT", 5, -4)
    letters = "".join(sorted(set("".join(texts))))
    scores = ScoringMatrix([[5.0 if a == b else -4.0 for b in letters] for a in letters], letters, name="dna")
    opal = pyopal.Aligner(scores, 10, 1)
    database = pyopal.Database(texts, alphabet=pyopal.Alphabet(letters))

    def by_parasail(kernel: Callable[..., object]) -> None:
        for query, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
            profile = parasail.profile_create_16(query, nucleotides)
            for _, target in group:
                kernel(profile, target, 10, 1)

    def by_pyopal() -> None:
        for i in range(len(texts) - 1):
            opal.align(texts[i], database, mode="score", algorithm="nw", overflow="simple", start=i + 1)

    actions = {
        "edit": lambda: seconds(lambda: gpualign.nw(genes, scoring=gpualign.EDIT, threads=1)),
        "edlib": lambda: seconds(lambda: [edlib.align(a, b, task="distance") for a, b in pairs]),
        "affine": lambda: seconds(lambda: gpualign.nw(genes, scoring=AFFINE, threads=1)),
        "parasail striped": lambda: seconds(lambda: by_parasail(parasail.nw_striped_profile_16)),
        "parasail scan": lambda: seconds(lambda: by_parasail(parasail.nw_scan_profile_16)),
        "pyopal": lambda: seconds(by_pyopal),
    }
    found = medians(actions, runs)
    rows = []
    for work, ours, peer in (
        ("edit distance", "edit", "edlib"),
        ("affine score", "affine", "parasail striped"),
        ("affine score", "affine", "parasail scan"),
        ("affine score", "affine", "pyopal"),
    ):
        ratio = found[peer] / found[ours]
        rows.append([work, f"{found[ours] * 1e3:.0f}", f"{peer} {found[peer] * 1e3:.0f}", f"{ratio:.1f}"])
    notes = [f"Medians of {runs} alternating runs, in milliseconds, one thread."]
    return table(f"All {len(pairs):,} pairs of {FEW} genes", ["work", "`gpualign.nw`", "peer", "times as fast"], rows, notes)


def microseconds(call: Callable[[], object], length: int) -> float:
    number = 2000 if length < 1000 else 200
    return timeit.timeit(call, number=number) / number * 1e6


def one_pair(runs: int) -> str:
    """A call on two sequences after the first."""
    rows = []
    matrix = parasail.matrix_create("ACGT", 5, -4)
    for length in (10, 100, 1000):
        rng = random.Random(length)
        query = "".join(rng.choice("ACGT") for _ in range(length))
        target = "".join(rng.choice("ACGT") if rng.random() < 0.1 else letter for letter in query)
        calls: dict[str, Callable[[], object]] = {
            "align": lambda q=query, t=target: gpualign.align(q, t, AFFINE).score,
            "cigar": lambda q=query, t=target: gpualign.align(q, t, AFFINE).cigar,
            "striped": lambda q=query, t=target: parasail.nw_trace_striped_16(q, t, 10, 1, matrix).cigar.decode,
            "scan": lambda q=query, t=target: parasail.nw_trace_scan_16(q, t, 10, 1, matrix).cigar.decode,
            "edit": lambda q=query, t=target: gpualign.align(q, t, gpualign.EDIT).cigar,
            "edlib": lambda q=query, t=target: edlib.align(q, t, task="path")["cigar"],
        }
        found = medians({name: partial(microseconds, call, length) for name, call in calls.items()}, runs)
        rows.append([str(length), *(f"{found[name]:.0f}" for name in calls)])
    header = ["letters", "`align` affine", "with CIGAR", "parasail striped, affine with CIGAR", "parasail scan, affine with CIGAR"]
    header += ["`align` edit with CIGAR", "edlib with CIGAR"]
    notes = [f"Microseconds a call, medians of {runs}; `align` always traces, and makes the CIGAR's text when it is asked for."]
    return table("Two sequences", header, rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    text = f"# The Python face\n\n{machine()}. Input: {Path(arguments.fasta).name}.\n\n"
    text += one_pair(arguments.runs) + beside_loops(arguments.fasta, arguments.runs) + beside_the_command(arguments.fasta, arguments.runs)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
