"""Searches of made-up protein databases larger than the memory for the run: peak memory, speed and the time that `--dry-run` foretells,
the same search with plenty of memory, which must give the same bytes, the same with an index that is not in the page cache, beside reading
that file alone, and ssearch36, which also reads its database as it goes.

python benchmarks/sw_large.py [--letters 1e8 5e8] [--queries 1 8] [--query-file proteins.fasta] [--memory 128M] [--device cpu] [--no-peer]
    [--folder sets] [--output sw_large.md]

With --folder the databases are kept there and used again. Run it in a control group (cgroup) to limit the page cache as well.
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
from common import finish, machine, make_parser, require, table

FREQUENCIES = np.array([825, 545, 406, 545, 137, 393, 675, 707, 227, 596, 966, 584, 242, 386, 470, 656, 534, 108, 292, 687], dtype=float)
"""Of amino acids in proteins, in the order of `LETTERS`."""

LETTERS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)
BY_NUMBER = LETTERS[np.searchsorted(np.cumsum(FREQUENCIES / FREQUENCIES.sum())[:-1], np.arange(1 << 16) / (1 << 16))]
"""Letters for random numbers of 16 bits: looking them up is several times as fast as searching."""
BATCH = 10_000
_DISK_BLOCK = 512
"""Bytes of a block as getrusage counts them on Linux."""
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


def write_first_records(source: Path, path: Path, count: int) -> int:
    """Write the first records of a FASTA file; return how many residues they have."""
    residues = 0
    with source.open() as lines, path.open("w") as out:
        for line in lines:
            count -= line.startswith(">")
            if count < 0:
                break
            out.write(line)
            residues += 0 if line.startswith(">") else len(line.strip())
    return residues


@dataclass
class Run:
    """A finished command.

    seconds: from its start to its end.
    private_bytes: peak of the memory that is not of a file.
    resident_bytes: peak of all pages in memory.
    disk_bytes: read from the disk.
    output, messages: what it wrote to stdout and stderr.
    """

    seconds: float
    private_bytes: int
    resident_bytes: int
    disk_bytes: int
    output: str
    messages: str


def watched(*command: object) -> Run:
    """Run a command and watch its memory, fifty times a second."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as messages:
        start, private, resident = time.perf_counter(), 0, 0
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=messages)
        ended = 0
        while not ended:
            memory = Path(f"/proc/{process.pid}/status").read_text()
            sizes = dict(re.findall(r"^(RssAnon|VmHWM):\s+(\d+) kB", memory, re.MULTILINE))
            private, resident = max(private, int(sizes.get("RssAnon", 0)) << 10), max(resident, int(sizes.get("VmHWM", 0)) << 10)
            time.sleep(0.02)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - start
        out.seek(0)
        messages.seek(0)
        run = Run(seconds, private, resident, usage.ru_inblock * _DISK_BLOCK, out.read(), messages.read())
    if status:
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
    """The number in the first match of a pattern, which may hold commas as thousands separators."""
    match = re.search(pattern, text)
    assert match is not None, text
    return float(match[1].replace(",", ""))


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


def made(folder: Path, letters: float) -> tuple[Path, Path]:
    """The FASTA file and the index of a database, made if they are not there."""
    database, index = folder / f"db{letters:.0f}.fa", folder / f"db{letters:.0f}.gpa"
    if not index.exists():
        write_proteins(database, letters, 1)
        gpualign("index", "-q", database, "-o", index)
    return database, index


def measure(folder: Path, sets: Path, letters: float, options: argparse.Namespace) -> list[list[str]]:
    """A row of results for each number of queries against one database."""
    database, index = made(sets, letters)
    query = folder / "q.fa"
    limit = [] if options.memory == "default" else ["--memory", options.memory]
    rows = []
    for count in options.queries:
        residues = write_first_records(options.query_file or database, query, count)
        words = ["sw", query, index, "--device", options.device]
        plan = gpualign(*words, *limit, "--dry-run").output
        records, foretold = number(r" x ([\d,]+)", plan), number(r"estimate +([\d.]+) s", plan)
        limited = gpualign(*words, *limit, "-o", folder / "limited.tsv")
        plenty = gpualign(*words, "--memory", PLENTY, "-o", folder / "plenty.tsv") if options.memory not in (PLENTY, "default") else None
        reading = reading_seconds(index)
        drop_from_page_cache(index)
        cold = gpualign(*words, *limit, "-o", folder / "cold.tsv")
        same = len({path.read_bytes() for path in folder.glob("*.tsv")}) == 1
        seconds, cold_seconds = (number(r"cells in ([\d.]+) s", run.messages) for run in (limited, cold))
        rate = number(r"([\d.]+) GCUPS", limited.messages)
        beside = "-"
        if not options.no_peer:
            other = watched("ssearch36", "-q", "-s", "BP62", "-f", "-11", "-g", "-1", "-b", "25", "-d", "0", "-T", "2", query, database)
            beside = f"{other.seconds:.1f} s, {megabytes(other.private_bytes)}; {other.seconds / limited.seconds:.1f} times ours"
        rows.append(
            [
                *(f"{records:,.0f}", megabytes(index.stat().st_size), f"{count:,}", f"{residues:,}"),
                *(f"{foretold:.1f} s", f"{seconds:.1f} s", f"{100 * (foretold / seconds - 1):+.0f} %"),
                *(f"{limited.seconds:.1f} s", f"{plenty.seconds:.1f} s" if plenty else "-", "yes" if same else "NO"),
                f"{rate:.1f}",
                *(f"{cold_seconds:.1f} s", f"{cold.seconds:.1f} s", megabytes(cold.disk_bytes), f"{reading:.1f} s"),
                *(megabytes(limited.private_bytes), megabytes(limited.resident_bytes), beside),
            ]
        )
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--letters", nargs="+", type=float, default=[1e8, 5e8])
    parser.add_argument("--queries", nargs="+", type=int, default=[1, 8])
    parser.add_argument("--query-file", type=Path, help="take the queries from this FASTA file (default: from the database)")
    parser.add_argument("--memory", default="128M", help="for the run, or 'default': what gpualign takes by itself")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    if not options.no_peer:
        require("ssearch36")
    with tempfile.TemporaryDirectory() as folder:
        sets = options.folder or Path(folder)
        sets.mkdir(parents=True, exist_ok=True)
        rows = [row for letters in options.letters for row in measure(Path(folder), sets, letters, options)]
    header = [
        *("records", "index", "queries", "residues"),
        *("estimated search", "search", "estimate off by"),
        *("command", f"with {PLENTY}", "same output"),
        "GCUPS",
        *("search, not in the page cache", "command, not in the page cache", "read from the disk", "reading alone"),
        *("own memory", "resident memory, with pages of the index", "ssearch36 -T 2"),
    ]
    notes = [
        f"`gpualign sw --device {options.device} --memory {options.memory}`; queries: the first records of "
        f"{options.query_file.name if options.query_file else 'the database'}.",
        "command: the whole command; search: the time that its last line reports; estimated search: by `--dry-run`.",
        "not in the page cache: the same command after the index was dropped from the page cache; reading alone: reading the index from",
        "the disk, with eight threads.",
        "own memory: peak of all pages that are not of a file, Python and NumPy included; the system drops pages of files when memory is",
        "short.",
    ]
    text = table("Whole commands", header, rows, notes)
    finish(f"# Databases larger than memory\n\n{machine()}.\n\n{text}", options.output)


if __name__ == "__main__":
    main()
