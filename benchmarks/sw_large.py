"""Searches of made-up protein databases larger than the memory for the run: peak memory, speed and the time that `--dry-run` foretells,
the same search with plenty of memory, which must give the same bytes, the same with an index that is not in the page cache, beside reading
that file alone, and ssearch36, which also reads its database as it goes.

python benchmarks/sw_large.py [--letters 1e8 5e8] [--queries 1 8] [--memory 128M] [--device cpu] [--no-peer] [--output sw_large.md]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import finish, machine, table

FREQUENCIES = np.array([825, 545, 406, 545, 137, 393, 675, 707, 227, 596, 966, 584, 242, 386, 470, 656, 534, 108, 292, 687], dtype=float)
"""Of amino acids in proteins, in the order of `LETTERS`."""

LETTERS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
BY_NUMBER = LETTERS[np.searchsorted(np.cumsum(FREQUENCIES / FREQUENCIES.sum())[:-1], np.arange(1 << 16) / (1 << 16))]
"""Letters for random numbers of 16 bits: looking them up is several times as fast as searching."""
BATCH = 10_000
PLENTY = "4G"


def write_proteins(path: Path, letters: float, seed: int) -> int:
    """Write random proteins of realistic lengths; return how many."""
    rng, count, written = np.random.default_rng(seed), 0, 0
    with path.open("wb") as file:
        while written < letters:
            lengths = np.clip(rng.lognormal(5.7, 0.6, BATCH).astype(int), 30, 5000)
            ends = np.cumsum(lengths).tolist()
            text = BY_NUMBER[rng.integers(0, 1 << 16, ends[-1], dtype=np.uint16)].tobytes()
            pairs = zip(ends, lengths.tolist(), strict=True)
            file.write(b"".join(b">P%d\n%b\n" % (count + k, text[end - length : end]) for k, (end, length) in enumerate(pairs)))
            count, written = count + BATCH, written + ends[-1]
    return count


def first_records(source: Path, path: Path, count: int) -> None:
    """Write the first records of a file with one line per sequence."""
    with source.open() as lines, path.open("w") as out:
        out.writelines(next(lines) for _ in range(2 * count))


@dataclass
class Run:
    """A finished command: seconds, peak of the memory that is not a mapped file, peak of all pages in memory, stdout, stderr."""

    seconds: float
    private_bytes: int
    resident_bytes: int
    output: str
    messages: str


def watched(*command: object) -> Run:
    """Run a command and watch its memory, fifty times a second."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as messages:
        start, private, resident = time.perf_counter(), 0, 0
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=messages)
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            sizes = dict(re.findall(r"^(RssAnon|VmHWM):\s+(\d+) kB", status, re.MULTILINE))
            private, resident = max(private, int(sizes.get("RssAnon", 0)) << 10), max(resident, int(sizes.get("VmHWM", 0)) << 10)
            time.sleep(0.02)
        seconds = time.perf_counter() - start
        out.seek(0)
        messages.seek(0)
        run = Run(seconds, private, resident, out.read(), messages.read())
    if process.returncode:
        sys.exit(run.messages)
    return run


def gpualign(*words: object) -> Run:
    return watched(sys.executable, "-m", "gpualign", *words)


def drop_from_page_cache(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reading_seconds(path: Path) -> float:
    """How long reading a file from the disk takes alone, with eight threads."""
    drop_from_page_cache(path)
    piece, start = 4 << 20, time.perf_counter()
    with path.open("rb") as file, ThreadPoolExecutor(8) as pool:
        for _ in pool.map(lambda at: len(os.pread(file.fileno(), piece, at)), range(0, path.stat().st_size, piece)):
            pass
    return time.perf_counter() - start


def number(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    assert match is not None, text
    return float(match[1])


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def measure(folder: Path, letters: float, query_counts: list[int], memory: str, device: str, peer: bool) -> list[list[str]]:
    database, index, query = folder / "db.fa", folder / "db.gpa", folder / "q.fa"
    records = write_proteins(database, letters, 1)
    gpualign("index", "-q", database, "-o", index)
    rows = []
    for count in query_counts:
        first_records(database, query, count)
        words = ["sw", query, index, "--device", device]
        foretold = number(r"estimate +([\d.]+) s", gpualign(*words, "--memory", memory, "--dry-run").output)
        limited = gpualign(*words, "--memory", memory, "-o", folder / "limited.tsv")
        plenty = gpualign(*words, "--memory", PLENTY, "-o", folder / "plenty.tsv")
        reading = reading_seconds(index)
        drop_from_page_cache(index)
        cold = gpualign(*words, "--memory", memory, "-o", folder / "cold.tsv")
        same = len({(folder / name).read_bytes() for name in ("limited.tsv", "plenty.tsv", "cold.tsv")}) == 1
        seconds, rate = (number(pattern, limited.messages) for pattern in (r"cells in ([\d.]+) s", r"([\d.]+) GCUPS"))
        beside = "-"
        if peer:
            other = watched("ssearch36", "-q", "-s", "BP62", "-f", "-11", "-g", "-1", "-b", "25", "-d", "0", "-T", "2", query, database)
            beside = f"{other.seconds:.1f} s, {megabytes(other.private_bytes)}; {other.seconds / limited.seconds:.1f} times ours"
        rows.append(
            [
                *(f"{records:,}", megabytes(index.stat().st_size), f"{count:,}"),
                *(
                    f"{limited.seconds:.1f} s",
                    f"{plenty.seconds:.1f} s",
                    f"{cold.seconds:.1f} s",
                    f"{reading:.1f} s",
                    "yes" if same else "NO",
                ),
                *(f"{foretold:.1f} s", f"{seconds:.1f} s", f"{100 * (foretold / seconds - 1):+.0f} %"),
                *(f"{rate:.1f}", megabytes(limited.private_bytes), megabytes(limited.resident_bytes), beside),
            ]
        )
    index.unlink()
    database.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--letters", nargs="+", type=float, default=[1e8, 5e8])
    parser.add_argument("--queries", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--memory", default="128M")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for letters in arguments.letters
            for row in measure(Path(folder), letters, arguments.queries, arguments.memory, arguments.device, not arguments.no_peer)
        ]
    header = [
        "records",
        "index",
        "queries",
        "command",
        f"with {PLENTY}",
        "not in the page cache",
        "reading alone",
        "same output",
        "estimated search",
        "search",
        "estimate off by",
        "GCUPS",
    ]
    header += ["own memory", "resident memory, with pages of the index", "ssearch36 -T 2"]
    notes = [
        f"`gpualign sw --device {arguments.device} --memory {arguments.memory}`; queries: the first records of the database.",
        "command: the whole command; search: the time that its last line reports; estimated search: by `--dry-run`.",
        "not in the page cache: the same command after the index was dropped from the page cache; reading alone: reading the index from",
        "the disk, with eight threads.",
        "own memory: peak of all pages that are not of a file, Python and NumPy included; the system drops pages of files when memory is",
        "short.",
    ]
    text = table("Whole commands", header, rows, notes)
    finish(f"# Databases larger than memory\n\n{machine()}.\n\n{text}", arguments.output)


if __name__ == "__main__":
    main()
