"""The whole `gpualign nw` command: wall time beside the engine's own, peak memory, start-up.

python benchmarks/nw_command.py 16s.fasta.gz [--output results/nw_command.md]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import finish, machine, table

GPUALIGN = str(Path(sys.executable).with_name("gpualign"))


def run(arguments: list[str], output: str = os.devnull, executable: str = GPUALIGN) -> tuple[float, int, str]:
    """(wall seconds, peak memory in bytes, stderr) of one process."""
    with open(output, "wb") as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen([executable, *arguments], stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode()
    if process.returncode:
        raise SystemExit(f"{arguments} failed: {text}")
    return wall, usage.ru_maxrss * 1024, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fasta")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        jobs = {
            "`gpualign nw --edit` to TSV": (["nw", "--edit", arguments.fasta], f"{folder}/x.tsv"),
            "`gpualign nw --edit -o x.npy`": (["nw", "--edit", arguments.fasta, "-o", f"{folder}/x.npy"], os.devnull),
            "`gpualign nw --match 2 --mismatch -1 --gap 1` to TSV": (
                ["nw", "--match", "2", "--mismatch", "-1", "--gap", "1", arguments.fasta],
                f"{folder}/x.tsv",
            ),
            "`gpualign nw` (affine) to TSV": (["nw", arguments.fasta], f"{folder}/x.tsv"),
        }
        # The engine alone: the same work with every row filtered away, so that nothing is formatted or written.
        for name, (command, output) in jobs.items():
            silent = ["--max-distance", "-1"] if "--edit" in command else ["--min-score", "2000000000"]
            base = [part for part in command if part != "-o" and not part.endswith(".npy")]
            _, _, notes = run([*base, *silent])
            engine = float(re.search(r"cells in ([\d.]+) s", notes)[1])  # type: ignore[index]
            wall, peak, notes = run(command, output)
            gcups = re.search(r"([\d.]+) GCUPS", notes)[1]  # type: ignore[index]
            rows.append([name, f"{engine:.1f}", f"{wall:.1f}", f"{wall / engine:.2f}", gcups, f"{peak / 1e6:.0f} MB"])
    help_time = min(run(["--help"])[0] for _ in range(9))
    text = f"# The whole command\n\n{machine()}; {len(os.sched_getaffinity(0))} CPUs. Input: {Path(arguments.fasta).name}, all pairs.\n\n"
    text += table(
        "Share of the engine",
        ["command", "engine alone, s", "whole command, s", "ratio", "GCUPS", "peak memory"],
        rows,
        ["The engine alone is the same command with all rows filtered away; the whole command includes start, parsing and writing."],
    )
    text += table("Start-up", ["command", "best of 9"], [["`gpualign --help`", f"{help_time:.3f} s"]], [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
