"""Kernels for an older compute capability, run on this machine's GPU: nvcc compiles them to PTX, and the driver compiles the PTX.

python benchmarks/older_cuda.py [--capability 80] [--output benchmarks/results/older_cuda.md]

This shows what the older GPU's missing instructions cost, but not the effect of its clock and memory. Kernels that pack two scores in a
word are tried in every form; "taken" is the one that the engine chooses for that capability.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from common import all_pairs, finish, head, machine, made_up_dna, make_parser, open_gpu, table
from nw_cuda import AFFINE, EDIT, LINEAR, SMALL_WEIGHTS, measure

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import engine
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.recipe import H16X2, U16X2, packed_score_type
from gpualign.gpu.runtime.compilers import selection as choice
from gpualign.gpu.runtime.compilers.base import CPP_STANDARD, Source, compile_error
from gpualign.gpu.runtime.compilers.nvcc import Nvcc, find_nvcc

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

ENOUGH = 1e13
WORK = [("linear 5/-4/6", LINEAR, Mode.GLOBAL), ("affine", AFFINE, Mode.GLOBAL), ("local", AFFINE, Mode.LOCAL)]
CELLS = {"unsigned numbers of 16 bits": U16X2, "half floats": H16X2, "32 bits": None}


class Ptx(Nvcc):
    """nvcc, for a virtual architecture."""

    def __init__(self, path: str, capability: int) -> None:
        super().__init__(path)
        self._capability = capability

    def compile(self, source: Source, arch: str) -> bytes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for file, text in {**source.headers, source.kernel.file: source.text}.items():
                Path(folder, file).write_bytes(text)
            macros = [f"-D{macro}={value}" for macro, value in source.macros]
            options = ["-ptx", "-O3", f"-std={CPP_STANDARD}", f"-arch=compute_{self._capability}", "-o", folder / "kernel.ptx"]
            done = subprocess.run([self.path, *options, *macros, folder / source.kernel.file], capture_output=True, text=True, check=False)
            if done.returncode:
                raise compile_error(self, source, arch, done.stderr)
            return Path(folder, "kernel.ptx").read_bytes() + b"\0"


def is_right(device: CudaDevice, some: SequenceSet, scoring: Scoring) -> str:
    """Whether global scores are the CPU's."""
    found, expected = (all_pairs(some, scoring, one)[0] for one in (CudaEngine([device]), CpuEngine(2)))
    return "yes" if np.array_equal(found, expected) else "NO"


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--capability", type=int, default=80)
    options = parser.parse_args()
    if not (path := find_nvcc()):
        parser.error("nvcc is not on this machine")
    os.environ["GPUALIGN_CACHE"] = tempfile.mkdtemp(prefix="older_cuda-")
    choice.choose_compiler = lambda arch, driver=None: Ptx(path, options.capability)
    device = open_gpu()
    genes = made_up_dna(16_000, 1500)
    rows = []

    def row(name: str, scoring: Scoring, mode: Mode, enough: float, cell: str) -> None:
        m = measure(device, Task(genes, genes, scoring, mode), Pairing.ABOVE, enough)
        right = is_right(device, head(genes, 100), scoring) if mode is Mode.GLOBAL else ""
        rows.append([name, cell, f"{m.kernels:.2f}", m.titles, right])
        print(rows[-1], flush=True)

    taken = packed_score_type([f"sm_{options.capability}"])
    for cell, packed in CELLS.items():
        with patch.object(engine, "packed_score_type", lambda archs, packed=packed: packed):
            for name, scoring, mode in WORK:
                row(name, scoring, mode, ENOUGH, f"{cell}{', taken' if packed == taken else ''}")
    row("linear 2/-1/1", SMALL_WEIGHTS, Mode.GLOBAL, 4 * ENOUGH, "")
    row("edit distance", EDIT, Mode.GLOBAL, 10 * ENOUGH, "")
    notes = [
        "16,000 x 1.5 kb, made up; affine and local 5/-4/10/1. TCUPS of the time in which a kernel ran; equal: scores of 100 to the CPU's."
    ]
    columns = ["work", "scores", "TCUPS", "kernel", "equal"]
    title = f"As compute capability {options.capability / 10} has them"
    finish(f"# CUDA kernels\n\n{device.name}; {machine()}.\n\n" + table(title, columns, rows, notes), options.output)


if __name__ == "__main__":
    main()
