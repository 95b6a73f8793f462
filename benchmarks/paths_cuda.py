"""Alignments, not only scores, on one GPU: what identities and CIGARs cost beside scores, and the whole command.

python benchmarks/paths_cuda.py [--gold 16s_gold.fasta.gz] [--only kernels,host,command] [--output FILE]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from common import finish, head, load, machine, made_up_dna, make_parser, open_gpu, table, usage
from nw_cuda import AFFINE, BUDGET, EDIT, EDNAFULL, LINEAR, measure

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.gpu.alignment.engine import CudaEngine

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

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
    """Traceback on the host, as in Li et al., beside traceback on the device."""
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


def written(folder: Path, nbytes: int) -> float:
    """Seconds that one thread takes to write `nbytes` to a file in the folder, with fsync, extrapolated from a tenth of them."""
    block, path = bytes(8 << 20), folder / "zeros"
    start = time.perf_counter()
    with path.open("wb", buffering=0) as file:
        for _ in range(max(1, nbytes // 10 // len(block))):
            file.write(block)
        os.fsync(file.fileno())
    seconds = time.perf_counter() - start
    share = path.stat().st_size / nbytes
    path.unlink()
    return seconds / share


def command(device: CudaDevice, gold: str) -> str:
    """Whole processes beside the time of their kernels, which compiles these as well, and that of writing as many bytes."""
    rows = []
    real, _ = load(gold)
    cells = (int(real.lengths.sum()) ** 2 - int((real.lengths**2).sum())) // 2
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.tsv")
        for name, scoring, options in (("affine", EDNAFULL, []), ("edit distance", EDIT, ["--edit"])):
            for what, detail, fields in (
                ("identity", Detail.STATISTICS, "query,target,identity"),
                ("identity and CIGAR", Detail.PATH, "query,target,identity,cigar"),
            ):
                task = Task(real, real, scoring, detail=detail)
                running = cells / measure(device, task, Pairing.ABOVE, ENOUGH * (4 if scoring.edit else 1)).kernels / 1e12
                words = [sys.executable, "-m", "gpualign", "nw", "-q", "--device", "cuda", *options, "--fields", fields]
                runs = [usage([*words, "-o", to, Path(gold).resolve()], Path(folder)) for to in (os.devnull, out)]
                size = out.stat().st_size
                out.unlink()
                disk = written(Path(folder), size)
                took = [f"{s:.1f} ({s / running:.2f})" for s, _, _ in runs]
                memory = f"{max(megabytes for _, _, megabytes in runs):.0f}"
                rows.append([name, what, f"{running:.1f}", *took, f"{size / 1e9:.2f}", f"{disk:.1f}", memory])
                print(rows[-1], flush=True)
    header = ["scoring", "columns", "kernels, s", "to /dev/null, s", "to a disk, s", "gigabytes", "writing them, s", "MB"]
    notes = [
        "Kernels: all cells at the rate of a part of them; in brackets, whole commands by that.",
        "Writing: one thread, zeros, to the same folder, with fsync; a run that another could go on with ends with one, too.",
        "MB: of RAM at the peak of the command, the driver's own with it; the budget is the default, 2 GiB.",
    ]
    return table("Whole command, every pair of the real 16S genes to a TSV", header, rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--gold")
    parser.add_argument("--only", default="kernels,host,command")
    arguments = parser.parse_args()
    device = open_gpu()
    parts = []
    if "kernels" in arguments.only:
        parts.append(kernels(device, arguments.gold))
    if "host" in arguments.only:
        parts.append(host_traceback(device))
    if "command" in arguments.only and arguments.gold:
        parts.append(command(device, arguments.gold))
    heading = f"# Alignments on one GPU\n\n{machine()}; {device.name}; PyCUDA {version('pycuda')}\n\n"
    finish(heading + "".join(parts), arguments.output)


if __name__ == "__main__":
    main()
