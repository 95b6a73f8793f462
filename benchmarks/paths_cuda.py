"""Alignments, not only scores, on one GPU: what identities and CIGARs cost beside scores, and the whole command.

python benchmarks/paths_cuda.py [--gold 16s_gold.fasta.gz] [--only kernels,host,command] [--output FILE]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from common import finish, head, load, machine, made_up_dna, table
from nw_cuda import AFFINE, BUDGET, EDIT, EDNAFULL, LINEAR, measure

from gpualign.core.engine import Detail, Task
from gpualign.core.plan import Pairing
from gpualign.core.runner import plan_task
from gpualign.gpu.driver import CudaDevice
from gpualign.gpu.engine import CudaEngine

ENOUGH = 8e12  # cells of a timed run, about


def kernels(device: CudaDevice, gold: str | None) -> str:
    made_up = made_up_dna(16_000, 1500)
    work = [
        (f"{name}, 16,000 x 1.5 kb made up", made_up, scoring) for name, scoring in (("affine", AFFINE), ("linear", LINEAR), ("edit", EDIT))
    ]
    if gold:
        real, _ = load(gold)
        named = (("affine EDNAFULL 10/1", EDNAFULL), ("linear 5/-4/6", LINEAR), ("edit distance", EDIT))
        work += [(f"{name}, {len(real):,} real 16S", real, scoring) for name, scoring in named]
    rows = []
    for name, sequences, scoring in work:
        task = Task(sequences, sequences, scoring)
        found = [measure(device, replace(task, detail=detail), Pairing.ABOVE, ENOUGH * (8 if scoring.edit else 1)) for detail in Detail]
        rates = [f"{m.kernels:.2f} / {m.engine:.2f}" for m in found]
        rows.append([name, *rates, found[-1].titles])
        print(rows[-1], flush=True)
    notes = [
        "TCUPS of the time in which kernels ran, forward and back, by events / from the first copy to the last; the better of two runs.",
        "Statistics: counts of which identities are made; with CIGARs these, too.",
    ]
    return table("Kernels", ["work", "scores", "statistics", "statistics and CIGARs", "kernel"], rows, notes)


def host_traceback(device: CudaDevice) -> str:
    """Li's way beside today's."""
    sequences = head(made_up_dna(16_000, 1500), 400)
    rows = []
    for name, scoring in (("affine 5/-4/10/1", AFFINE), ("linear 5/-4/6", LINEAR)):
        task = Task(sequences, sequences, scoring, detail=Detail.PATH)
        rates = []
        for host in (False, True):
            start_up, best = True, 0.0
            for _ in range(3):
                engine = CudaEngine([device], host_traceback=host)
                prepared = engine.prepare(task, BUDGET)
                plan = plan_task(prepared, Pairing.ABOVE)
                start = time.perf_counter()
                for _ in prepared.run(plan.tiles()):
                    pass
                if not start_up:
                    best = max(best, plan.cells / (time.perf_counter() - start) / 1e12)
                start_up = False
            rates.append(best)
        rows.append([name, f"{rates[0]:.3f}", f"{rates[1]:.3f}", f"{rates[0] / rates[1]:.1f}"])
        print(rows[-1], flush=True)
    notes = ["TCUPS from the first upload to the last result on the host, 79,800 pairs; the better of two runs."]
    return table("Traceback on the device and on the host, 400 x 1.5 kb", ["work", "device", "host", "ratio"], rows, notes)


def command(gold: str) -> str:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("affine", []), ("edit distance", ["--edit"])):
            for what, fields in (("identity", "query,target,identity"), ("identity and CIGAR", "query,target,identity,cigar")):
                out = Path(folder, "out.tsv")
                start = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-m", "gpualign", "nw", "-q", "--device", "cuda", *options, "--fields", fields, "-o", str(out), gold],
                    check=True,
                )
                rows.append([name, what, f"{time.perf_counter() - start:.1f}", f"{out.stat().st_size / 1e9:.2f}"])
                print(rows[-1], flush=True)
    return table("Whole command, every pair of the real 16S genes to a TSV", ["scoring", "columns", "seconds", "gigabytes"], rows, [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold")
    parser.add_argument("--only", default="kernels,host,command")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    device = CudaDevice(0)
    parts = []
    if "kernels" in arguments.only:
        parts.append(kernels(device, arguments.gold))
    if "host" in arguments.only:
        parts.append(host_traceback(device))
    if "command" in arguments.only and arguments.gold:
        parts.append(command(arguments.gold))
    heading = f"# Alignments on one GPU\n\n{machine()}; {device.name}; PyCUDA {version('pycuda')}\n\n"
    finish(heading + "".join(parts), arguments.output)


if __name__ == "__main__":
    main()
