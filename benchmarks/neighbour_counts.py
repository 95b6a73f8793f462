"""`gpualign dist --format counts` of aligned proteins: whole commands, beside a plain loop over some of the rows.

python benchmarks/neighbour_counts.py [--rows 100000] [--columns 300] [--identity 0.8] [--device cpu] [--threads 2] [--runs 3]
    [--checked 200] [--output benchmarks/results/neighbour_counts.md]

Families of aligned proteins from a seed: half of the columns are alike in all families, members differ from their ancestor at 2 to 25 % of
the columns and have up to three gaps of up to 20 columns. The loop compares some rows with all others by NumPy, one row at a time; its
seconds for all rows are extrapolated, and its counts must be those of the command.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from common import GPUALIGN, finish, machine, make_parser, table, usage

AMINO_ACIDS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", dtype=np.uint8)
GAP = ord("-")
FAMILY_ROWS = 50
BLOCK_ROWS = 10_000

Letters = npt.NDArray[np.uint8]


def make_rows(rows: int, columns: int, seed: int = 7) -> Letters:
    """Letters of aligned proteins, uint8[rows][columns]; members of a family are scattered."""
    rng = np.random.default_rng(seed)
    letters = np.empty((rows, columns), dtype=np.uint8)
    families = max(1, rows // FAMILY_ROWS)
    everywhere = rng.integers(0, 20, columns, dtype=np.uint8)
    ancestors = np.where(rng.random(columns) < 0.5, everywhere, rng.integers(0, 20, (families, columns), dtype=np.uint8))
    places = np.arange(columns)
    for start in range(0, rows, BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows - start)
        block = ancestors[rng.integers(0, families, count)]
        changed = rng.random(block.shape, dtype=np.float32) < rng.uniform(0.02, 0.25, (count, 1))
        block[changed] = rng.integers(0, 20, int(changed.sum()), dtype=np.uint8)
        some = AMINO_ACIDS[block]
        for number in range(3):
            first = rng.integers(0, columns, (count, 1))
            length = rng.integers(1, 21, (count, 1)) * (rng.integers(0, 4, (count, 1)) > number)
            some[(places >= first) & (places < first + length)] = GAP
        letters[start : start + count] = some
    return letters


def write_rows(path: Path, letters: Letters) -> None:
    """As FASTA, a line for each row."""
    with path.open("wb") as out:
        for number, row in enumerate(letters):
            out.write(b">row%d\n%s\n" % (number, row.tobytes()))


def plain_counts(letters: Letters, rows: npt.NDArray[np.int64], identity: float, gaps: bool) -> list[int]:
    """For each of some rows, the number of others that are at least so identical: over all columns, or without `gaps` over those in which
    neither has one, which must be half of all."""
    counts = []
    for row in rows:
        same = letters == letters[row]
        if gaps:
            near = same.sum(axis=1) / letters.shape[1] >= identity
        else:
            both = (letters != GAP) & (letters[row] != GAP)
            compared = both.sum(axis=1)
            near = (2 * compared >= letters.shape[1]) & ((same & both).sum(axis=1) / np.maximum(compared, 1) >= identity)
        counts.append(int(near.sum()) - int(near[row]))
    return counts


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--identity", type=float, default=0.8)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--checked", type=int, default=200, help="rows of the plain loop")
    options = parser.parse_args()
    letters = make_rows(options.rows, options.columns)
    checked = np.sort(np.random.default_rng(1).choice(options.rows, min(options.checked, options.rows), replace=False))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, out = folder / "proteins.aln", folder / "neighbours.tsv"
        write_rows(path, letters)
        common = [GPUALIGN, "dist", "-q", path, "--device", options.device, "--threads", options.threads, "--metric", "fraction"]
        for title, words, gaps in (("gaps are letters", ["--all-letters"], True), ("without gaps", ["--missing", "pairwise"], False)):
            words = [*words, "--max-distance", round(1 - options.identity, 9), "--format", "counts", "-o", out]
            took, worked, memory = min(usage([*common, *words], folder) for _ in range(options.runs))
            counts = np.loadtxt(out, dtype=np.int64, delimiter="\t", skiprows=1, usecols=1)
            start = time.perf_counter()
            expected = plain_counts(letters, checked, options.identity, gaps)
            plain = (time.perf_counter() - start) * options.rows / len(checked)
            assert counts[checked].tolist() == expected, "the counts differ"
            effective = (1 / (1 + counts)).sum()
            rows.append(
                [title, f"{took:.2f}", f"{worked:.2f}", f"{memory:,.0f}", f"{counts.mean():.1f}", f"{effective:,.0f}", f"{plain:,.0f}"]
            )
            print(rows[-1], flush=True)
    header = ["what", "s", "processor s", "MB", "neighbours of a row", "effective number", "plain loop, s"]
    notes = [
        f"Quickest of {options.runs}, from FASTA to the counts, files in the page cache. The plain loop (NumPy, one thread) is extrapolated"
        f" from {len(checked)} rows, whose counts are equal.",
    ]
    title = f"{options.rows:,} x {options.columns} columns at {options.identity:.0%}, --device {options.device}, {options.threads} threads"
    finish(f"# Numbers of neighbours\n\n{machine()}\n\n{table(title, header, rows, notes)}", options.output)


if __name__ == "__main__":
    main()
