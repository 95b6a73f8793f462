"""The whole `gpualign nw` command: wall time beside the engine's own, peak memory, start-up.

python benchmarks/nw_command.py 16s.fasta.gz [--output benchmarks/results/nw_command.md]
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from common import GPUALIGN, engine_rate, finish, load, machine, make_parser, table

from gpualign.core.alignment.task import Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.cpu.alignment.engine import CpuEngine


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
    parser = make_parser(__doc__)
    parser.add_argument("fasta")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tsv, npy = f"{folder}/x.tsv", f"{folder}/x.npy"
        jobs: list[tuple[str, ScoringOptions, list[str], str]] = [
            ("`gpualign nw --edit` to TSV", ScoringOptions(edit=True), ["--edit"], tsv),
            ("`gpualign nw --edit -o x.npy`", ScoringOptions(edit=True), ["--edit", "-o", npy], os.devnull),
            (
                "`gpualign nw --match 2 --mismatch -1 --gap 1` to TSV",
                ScoringOptions(match=2, mismatch=-1, gap=1),
                ["--match", "2", "--mismatch", "-1", "--gap", "1"],
                tsv,
            ),
            ("`gpualign nw` (affine) to TSV", ScoringOptions(), [], tsv),
        ]
        sequences, _ = load(arguments.fasta)
        cells = int(sequences.lengths.sum()) ** 2 // 2
        for name, scoring, options, output in jobs:
            task = Task(sequences, sequences, make_scoring(DNA, scoring))
            engine = cells / engine_rate(task, CpuEngine(), Pairing.ABOVE) / 1e9
            wall, peak, notes = run(["nw", "--device", "cpu", *options, arguments.fasta], output)
            gcups = re.search(r"([\d.]+) GCUPS", notes)[1]  # type: ignore[index]
            rows.append([name, f"{engine:.1f}", f"{wall:.1f}", f"{wall / engine:.2f}", gcups, f"{peak / 1e6:.0f} MB"])
    help_time = min(run(["--help"])[0] for _ in range(9))
    text = f"# The whole `gpualign nw` command\n\n{machine()}; {len(os.sched_getaffinity(0))} CPUs. "
    text += f"Input: {Path(arguments.fasta).name}, all pairs.\n\n"
    text += table(
        "Whole command and engine",
        [
            "command, with `--device cpu` and the file of genes",
            "engine alone, s",
            "whole command, s",
            "whole command divided by engine",
            "GCUPS by the command's last message",
            "peak memory of the command",
        ],
        rows,
        [
            "One run each. The engine alone computes the same pairs and discards their scores; the whole command includes start-up,",
            "reading and writing. GCUPS: the cells of all pairs divided by the seconds in the command's last message, which leave out",
            "start-up and reading.",
        ],
    )
    text += table("Start-up", ["command", "time, best of 9 runs"], [["`gpualign --help`", f"{help_time:.3f} s"]], [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
