"""Start-up: short commands from their start to their end, beside importing NumPy, and beside other programs on the same records.

python benchmarks/start_up.py [--proteins proteins.fasta.gz] [--queries queries.fasta.gz] [--output benchmarks/results/start_up.md]
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, table

DATA = Path(__file__).resolve().parent.parent / "data"
MOST_PROTEINS = 20_000

NUMPY = "`python -c 'import numpy'`"
NW, SW = "`gpualign nw`, 60 genes", "`gpualign sw`, one query"


def seconds(command: list[str]) -> tuple[float, float, float, str]:
    """(to what follows the first line of standard output, to the end, processor time, standard error) of one process; without output 0 for
    the first. The first line of ours names columns, before any work is done."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
        assert process.stdout is not None
        first = time.perf_counter() - start if process.stdout.readline() and process.stdout.read(1) else 0.0
        process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        end = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode()
    if process.returncode:
        raise SystemExit(f"{command} failed: {text}")
    return first, end, usage.ru_utime + usage.ru_stime, text


def records_of(proteins: str) -> list[str]:
    raw = Path(proteins).read_bytes()
    text = (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode()
    return [f">{record}" for record in text.split(">")[1 : 1 + MOST_PROTEINS]]


def split(proteins: str, folder: Path) -> tuple[str, str, int]:
    """The first protein as a query, the first ones as a database, and how many they are."""
    records = records_of(proteins)
    query, database = folder / "query.fasta", folder / "database.fasta"
    query.write_text(records[0])
    database.write_text("".join(records))
    return str(query), str(database), len(records)


def short_searches(queries: str, database: str, folder: Path) -> dict[str, list[str]]:
    """Searches for the first of some proteins by one thread, in the database and in its index, and by ssearch36."""
    record = records_of(queries)[0]
    query, index = str(folder / "short.fasta"), str(folder / "database.gpa")
    Path(query).write_text(record)
    subprocess.run([GPUALIGN, "index", "-q", database, "-o", index], check=True)
    which = f"a query of {len(''.join(record.split(chr(10))[1:]))} amino acids, one thread"
    return {
        f"`gpualign sw`, {which}": [GPUALIGN, "sw", "--device", "cpu", "--threads", "1", query, database],
        "the same, an index": [GPUALIGN, "sw", "--device", "cpu", "--threads", "1", query, index],
        f"ssearch36, {which}": ["ssearch36", "-T", "1", "-m", "8", query, database],
    }


def commands(query: str, database: str, folder: Path, queries: str) -> dict[str, list[str]]:
    """Ours, and those of other programs that are installed, by what the table calls them."""
    genes = str(DATA / "16s_small.fasta")
    found = {
        NUMPY: [sys.executable, "-c", "import numpy"],
        "`python -c 'import click'`": [sys.executable, "-c", "import click"],
        "`gpualign --help`": [GPUALIGN, "--help"],
        "`gpualign nw --help`": [GPUALIGN, "nw", "--help"],
        NW: [GPUALIGN, "nw", "--device", "cpu", genes],
        "`gpualign dist`, a small table": [GPUALIGN, "dist", "--device", "cpu", str(DATA / "snps.tsv")],
        SW: [GPUALIGN, "sw", "--device", "cpu", query, database],
    }
    found |= short_searches(queries, database, folder)
    peers = {
        "vsearch, 60 genes": ["vsearch", "--allpairs_global", genes, "--acceptall", "--quiet", "--blast6out", "/dev/stdout"],
        "ssearch36, one query": ["ssearch36", "-m", "8", query, database],
        "parasail_aligner, 60 genes": ["parasail_aligner", "-x", "-a", "nw_striped_16", "-f", genes, "-g", str(folder / "parasail.csv")],
    }
    return {name: command for name, command in (found | peers).items() if shutil.which(command[0])}


def measure(todo: dict[str, list[str]], runs: int) -> dict[str, tuple[float, float, float, float, float]]:
    """The least (to the first row, to the end, processor time, kernels) of each, and the median to the end; the commands alternate."""
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in todo}
    for name, command in chain.from_iterable([todo.items()] * runs):
        first, end, cpu, text = seconds(command)
        kernels = re.search(r" in ([\d.]+) s", text)
        found[name].append((first, end, cpu, float(kernels[1]) if kernels and command[0] == GPUALIGN else 0.0))
    return {
        name: (*map(min, zip(*runs, strict=True)), statistics.median(end for _, end, *_ in runs))  # type: ignore[misc]
        for name, runs in found.items()
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--proteins", default=str(DATA / "proteins_db.fasta"))
    parser.add_argument("--queries", default=str(DATA / "proteins_query.fasta"))
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        query, database, proteins = split(arguments.proteins, Path(name))
        best = measure(commands(query, database, Path(name), arguments.queries), arguments.runs)
    rows = []
    numpy = best[NUMPY][1]
    for what, (first, end, cpu, kernels, median) in best.items():
        shown = [f"{value * 1e3:.0f}" if value else "" for value in (first, end, median, cpu, kernels)]
        rows.append([what, *shown, f"{end / numpy:.2f}", f"{(end - kernels) / numpy:.2f}" if kernels else ""])
    text = f"# Start-up\n\n{machine()}; {len(os.sched_getaffinity(0))} CPUs. One query, {proteins:,} proteins.\n\n"
    text += table(
        "Short commands",
        [
            *("command", "first row, ms", "end, ms", "end, median", "processor, ms", "kernels and writing, ms"),
            *("end / NumPy", "end without kernels / NumPy"),
        ],
        rows,
        [f"The least of {arguments.runs} alternating runs, and the median to the end. Kernels and writing: by the summary, to 0.01 s."],
    )
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
