"""Rates of the CUDA kernels by strip height and occupancy, to set the tables of gpu/alignment/families/one_thread_per_pair.py and
bit_sliced.py, and their order.

python benchmarks/tune_cuda.py [--records 16000] [--rows 256] [--only linear,affine] [--compiler nvcc]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import numpy as np
from common import made_up_dna, open_gpu

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import bit_sliced as slices
from gpualign.gpu.alignment.families import one_thread_per_pair as threads
from gpualign.gpu.alignment.kernel_selection import choose_kernel_variant
from gpualign.gpu.alignment.recipe import make_recipe, packed_score_type
from gpualign.gpu.alignment.worker import FinishedBatch
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.compilers import selection as choice
from gpualign.gpu.runtime.compilers.base import Compiler
from gpualign.gpu.runtime.kernel_cache import load_cubin

GRID = {
    "linear": [(80, 6), *((r, 8) for r in (64, 60, 56))],
    "affine": [(72, 4), *((r, 6) for r in (60, 56, 52, 48)), (40, 8)],
    "local": [(64, 4), *((r, 6) for r in (52, 48, 44)), (40, 8)],
    "protein": [(64, 4), *((r, 6) for r in (52, 48, 44)), (40, 8)],
    "steps4": [*((r, 4) for r in (32, 30, 28)), *((r, 6) for r in (22, 20, 18))],
    "edit": [*((r, 4) for r in (64, 60, 56, 52)), *((r, 6) for r in (44, 40, 38, 36))],
}
LOCAL = "local", "protein"
EYE = np.eye(15, dtype=bool)


def scoring(name: str) -> Scoring:
    def two(match: int, mismatch: int) -> np.ndarray:
        return np.where(EYE, match, mismatch).astype(np.int64)

    return {
        "linear": Scoring("linear", two(5, -4), 6, 6),
        "affine": Scoring("affine", two(5, -4), 10, 1),
        "local": Scoring("local", two(5, -4), 10, 1),
        "steps4": Scoring("steps4", two(2, -1), 1, 1, 2, -1),
        "edit": Scoring("edit", EYE.astype(np.int64) - 1, 1, 1, 0, -1, edit=True),
    }[name]


def configured(name: str, rows: int, blocks: int):  # noqa: ANN201
    if name in ("steps4", "edit"):
        steps = 4 if name == "steps4" else 2
        return patch.multiple(slices, STRIP_ROWS_BY_STEPS={steps: (rows,)}, BLOCKS_PER_SM_BY_STEPS={steps: blocks})
    kind = 16, name != "linear", name in LOCAL
    return patch.multiple(threads, STRIP_ROWS={kind: (rows,)}, BLOCKS_PER_SM={kind: blocks})


def made_up_proteins(count: int, length: int) -> SequenceSet:
    """Random proteins; the twenty amino acids are equally frequent."""
    codes = np.random.default_rng(count).integers(0, 20, count * length, dtype=np.uint8)
    return SequenceSet("made up", [f"p{k}" for k in range(count)], codes, np.arange(count + 1, dtype=np.int64) * length)


def task_of(name: str, queries: int, targets: int, length: int) -> Task:
    if name == "protein":
        matrix = make_scoring(PROTEIN, ScoringOptions(), local=True)
        return Task(made_up_proteins(queries, length), made_up_proteins(targets, length), matrix, Mode.LOCAL, alphabet=PROTEIN)
    mode = Mode.LOCAL if name in LOCAL else Mode.GLOBAL
    return Task(made_up_dna(queries, length), made_up_dna(targets, length), scoring(name), mode)


def take_only(name: str) -> None:
    """Compile with that compiler alone, into an empty cache."""
    found_compilers = choice.installed_compilers

    def of_that_name() -> Iterator[Compiler]:
        return (compiler for compiler in found_compilers() if compiler.title.lower().startswith(name))

    choice.installed_compilers = of_that_name
    os.environ["GPUALIGN_CACHE"] = tempfile.mkdtemp(prefix="tune_cuda-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=16000)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--length", type=int, default=1500)
    parser.add_argument("--only", default=",".join(GRID))
    parser.add_argument("--compiler", choices=("nvrtc", "nvcc"), help="default: the one that a run would use")
    arguments = parser.parse_args()
    if arguments.compiler:
        take_only(arguments.compiler)
    device = open_gpu()
    print(f"{choice.choose_compiler(device.arch, device.driver).title} for {device.name}")
    tasks = {name: task_of(name, arguments.rows, arguments.records, arguments.length) for name in arguments.only.split(",")}

    def compile_one(work: tuple[str, Kernel]) -> None:
        load_cubin(work[1], device.arch, device.driver)

    packed = packed_score_type([device.arch])
    chosen = []
    for name, task in tasks.items():
        for rows, blocks in GRID[name]:
            with configured(name, rows, blocks):
                chosen.append(
                    (
                        name,
                        choose_kernel_variant(
                            make_recipe(task, packed_score_type=packed), task.queries.lengths, task.targets.lengths, device.hardware
                        ).kernel,
                    )
                )
    with ThreadPoolExecutor() as pool:
        list(pool.map(compile_one, chosen))

    for name, task in tasks.items():
        for rows, blocks in GRID[name]:
            with configured(name, rows, blocks):
                spans: list[FinishedBatch] = []
                used: list[str] = []

                def log(finished: FinishedBatch, spans: list[FinishedBatch] = spans, used: list[str] = used) -> None:
                    function = device.load_function(finished.variant.kernel)
                    spans.append(finished)
                    used.append(
                        f"registers {function.native.num_regs:4} spilt {function.native.local_size_bytes:4} "
                        f"resident {function.resident_blocks(64):3}"
                    )

                engine = CudaEngine([device], log)
                limits = TileLimits(1 << 32, 0, 4, 1024, 1 << 62, 4096)
                for _ in range(2):
                    spans.clear()
                    used.clear()
                    plan = make_plan(task.queries.lengths, task.targets.lengths, Pairing.ALL, limits)
                    list(engine.prepare(task, Budget.from_total(1 << 32)).run(plan.tiles()))
                seconds = max(s.download_start for s in spans) - min(s.kernel_start for s in spans)
                print(f"{name:8} rows {rows:3} blocks {blocks:3}  {used[-1]}  {plan.cells / seconds / 1e12:6.2f} TCUPS", flush=True)


if __name__ == "__main__":
    main()
