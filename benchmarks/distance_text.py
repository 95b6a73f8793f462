"""Distances as text: whole matrices and lists of all pairs from a finished matrix into files, beside the same number of plain bytes.

python benchmarks/distance_text.py FOLDER [--samples 5000] [--threads 1,2] [--runs 8] [--output benchmarks/results/distance_text.md]

What the commands do after counting: some threads format the text and another one writes it. Times include fsync, for plain bytes too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import Count, finish, least, machine, make_parser, table

from gpualign.core.distance.calls import make_samples
from gpualign.core.distance.output.base import DECIMALS
from gpualign.core.distance.output.pairs import PairTextFormat, write_molten
from gpualign.core.output.formats.mega import write_mega
from gpualign.core.output.matrix_files import write_matrix_text, write_phylip
from gpualign.core.output.resumable_files import BackgroundFile
from gpualign.core.output.writer import ByteWriter
from gpualign.cpu.processor import usable_cpu_count

PLAIN = bytes(256 << 10)
"""Larger writes were slower at times."""

Write = Callable[[ByteWriter, int], None]
"""Writes text to a stream, with so many threads."""


def texts(samples: int) -> dict[str, Write]:
    """What writes each kind: counts, as between genomes of an outbreak, and fractions of 30,000 sites."""
    rng = np.random.default_rng(1)
    counts = (rng.integers(0, 40, samples)[:, None] + rng.integers(0, 40, samples)).astype(np.int32)
    counts += counts.T.copy()
    np.fill_diagonal(counts, 0)
    names = make_samples([f"sample_{k:06d}" for k in range(samples)]).queries
    found: dict[str, Write] = {}
    for kind, values in (("counts", counts), ("fractions", counts / 30_000)):
        found |= {
            f"tsv, {kind}": lambda stream, threads, values=values: write_matrix_text(
                stream, values, names, names, decimals=DECIMALS, threads=threads
            ),
            f"phylip, {kind}": lambda stream, threads, values=values: write_phylip(stream, values, names, DECIMALS, threads),
            f"mega, {kind}": lambda stream, threads, values=values: write_mega(stream, names, values, "made up", DECIMALS, threads),
            f"molten, {kind}": lambda stream, threads, values=values: write_molten(
                stream, names, names, values, None, PairTextFormat("\t", DECIMALS), threads
            ),
        }
    return found


def to_file(path: Path, write: Write, threads: int) -> None:
    with path.open("wb") as file:
        behind = BackgroundFile(file)
        write(behind, threads)
        behind.close()
        os.fsync(file.fileno())


def plain(path: Path, size: int) -> None:
    with path.open("wb") as file:
        for start in range(0, size, len(PLAIN)):
            file.write(PLAIN[: size - start])
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runs", type=int, default=8)
    arguments = parser.parse_args()
    threads, rows = [int(number) for number in arguments.threads.split(",")], []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder, "x")
        for name, write in texts(arguments.samples).items():
            write(count := Count(), 1)
            actions = {f"nowhere {n}": partial(write, Count(), n) for n in threads}
            actions |= {f"file {n}": partial(to_file, path, write, n) for n in threads}
            found = least(actions | {"plain": partial(plain, path, count.bytes)}, arguments.runs)
            rates = {key: f"{count.bytes / seconds / 1e9:.2f}" for key, seconds in found.items()}
            ratio = found["plain"] / min(found[f"file {n}"] for n in threads)
            rows.append([name, f"{count.bytes / 1e6:.0f}", *(rates[key] for key in (*actions, "plain")), f"{ratio:.2f}"])
            print(rows[-1], flush=True)
    numbers = [f"{n} thread{'s' if n > 1 else ''}" for n in threads]
    header = ["text", "MB", *(f"nowhere, {n}" for n in numbers), *(f"a file, {n}" for n in numbers), "plain bytes", "ratio"]
    notes = [
        f"GB/s; the least of {arguments.runs} alternating runs, files with fsync. ratio: of the better file to as many plain bytes, "
        "which are written 256 KB at a time."
    ]
    text = f"# Distances as text\n\n{machine()}; {usable_cpu_count()} processors\n\n"
    finish(text + table(f"{arguments.samples:,} samples", header, rows, notes), arguments.output)


if __name__ == "__main__":
    main()
