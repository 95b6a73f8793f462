"""Start-up: short commands from their start to their end, beside importing NumPy, and beside other programs on the same records.

python benchmarks/start_up.py [--proteins proteins.fasta.gz] [--output results/start_up.md]
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path

from common import finish, machine, table

GPUALIGN = str(Path(sys.executable).with_name("gpualign"))
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


def split(proteins: str, folder: Path) -> tuple[str, str, int]:
    """The first protein as a query, the first ones as a database, and how many they are."""
    raw = Path(proteins).read_bytes()
    text = (gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw).decode()
    records = [f">{record}" for record in text.split(">")[1 : 1 + MOST_PROTEINS]]
    query, database = folder / "query.fasta", folder / "database.fasta"
    query.write_text(records[0])
    database.write_text("".join(records))
    return str(query), str(database), len(records)


def commands(query: str, database: str, folder: Path) -> dict[str, list[str]]:
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
    peers = {
        "vsearch, 60 genes": ["vsearch", "--allpairs_global", genes, "--acceptall", "--quiet", "--blast6out", "/dev/stdout"],
        "ssearch36, one query": ["ssearch36", "-m", "8", query, database],
        "parasail_aligner, 60 genes": ["parasail_aligner", "-x", "-a", "nw_striped_16", "-f", genes, "-g", str(folder / "parasail.csv")],
    }
    return found | {name: command for name, command in peers.items() if shutil.which(command[0])}


def measure(todo: dict[str, list[str]], runs: int) -> dict[str, tuple[float, float, float, float]]:
    """The least (to the first row, to the end, processor time, kernels) of each; the commands alternate."""
    found: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in todo}
    for name, command in chain.from_iterable([todo.items()] * runs):
        first, end, cpu, text = seconds(command)
        kernels = re.search(r" in ([\d.]+) s", text)
        found[name].append((first, end, cpu, float(kernels[1]) if kernels and command[0] == GPUALIGN else 0.0))
    return {name: tuple(min(column) for column in zip(*runs, strict=True)) for name, runs in found.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proteins", default=str(DATA / "proteins_db.fasta"))
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        query, database, proteins = split(arguments.proteins, Path(name))
        best = measure(commands(query, database, Path(name)), arguments.runs)
    rows = []
    numpy = best[NUMPY][1]
    for what, (first, end, cpu, kernels) in best.items():
        shown = [f"{first * 1e3:.0f}" if first else "", f"{end * 1e3:.0f}", f"{cpu * 1e3:.0f}", f"{kernels * 1e3:.0f}" if kernels else ""]
        rows.append([what, *shown, f"{end / numpy:.2f}", f"{(end - kernels) / numpy:.2f}" if kernels else ""])
    text = f"# Start-up\n\n{machine()}; {len(os.sched_getaffinity(0))} CPUs. One query, {proteins:,} proteins.\n\n"
    text += table(
        "Short commands",
        ["command", "first row, ms", "end, ms", "processor, ms", "kernels and writing, ms", "end / NumPy", "end without kernels / NumPy"],
        rows,
        [f"The least of {arguments.runs} alternating runs. Kernels and writing: by the summary, in hundredths of a second."],
    )
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
