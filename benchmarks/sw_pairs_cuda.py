"""Local scores of one query and few targets, or long ones, on a GPU: gpualign beside parasail on one core.

python benchmarks/sw_pairs_cuda.py [--shapes 1000x1000 1000x10000000] [--targets 1 4 16 64] [--kinds dna protein]
    [--output benchmarks/results/sw_pairs_cuda.md]

A shape is the length of the query x that of each target. Sequences are random, or the longer one holds a copy of the shorter one with a
tenth of the letters redrawn and a gap in every thousand. parasail is timed with the first target, whose score is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from common import BUDGET, finish, machine, make_parser, open_gpu, table
from nw_cuda import measure
from sw_pairs import letter_count, local_scoring, parasail_calls, rate, relative, sequence_set

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families.warp_chain import WarpChainVariant
from gpualign.gpu.alignment.sequence_windows import WHOLE_SEQUENCES

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

SQUARES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SHAPES = (*((n, n) for n in SQUARES), (100, 100_000), (1000, 100_000), (100_000, 1000), (1000, 10_000_000))
TARGETS = (1, 4, 16, 64)
MOST_CELLS = 7e11  # of a row: more have the same rate
PARASAIL_SECONDS = 0.1  # of each kernel that is tried; a call may take longer
HEADER = [
    "query",
    "target",
    "targets",
    "sequences",
    "kernel, GCUPS",
    "with copies",
    "computed by",
    "parasail",
    "its kernel",
    "ratio",
    "score",
]
NOTES = [
    "kernel: while a kernel ran, by events; with copies: from the first copy to the last, by the device's clock; the better of two runs.",
    "ratio: with copies, by parasail's rate. score: of the first target, of both.",
]


def make_targets(rng: np.random.Generator, query: np.ndarray, length: int, count: int, letters: int, related: bool) -> list[np.ndarray]:
    """Targets of `length` letters at most, random or with as much as there is room for of a relative of the query somewhere."""
    targets = [rng.integers(0, letters, length, dtype=np.uint8) for _ in range(count)]
    if related:
        for number, target in enumerate(targets):
            copy = relative(rng, query, letters)
            if len(copy) >= length:
                targets[number] = copy[:length]
            else:
                start = int(rng.integers(0, length - len(copy) + 1))
                target[start : start + len(copy)] = copy
    return targets


def first_score(device: CudaDevice, task: Task) -> int:
    prepared = CudaEngine([device]).prepare(task, BUDGET)
    scores = np.zeros(len(task.targets), dtype=np.int64)
    for result in prepared.run(plan_task(prepared, Pairing.ALL).tiles()):
        scores[result.tile.targets] = result.scores[0]
    return int(scores[0])


def rows_of(device: CudaDevice, alphabet: Alphabet, shape: tuple[int, int], counts: list[int], related: bool) -> list[list[str]]:
    """The rows of one shape, with each number of targets."""
    rng = np.random.default_rng([*shape, related])
    scoring, letters = local_scoring(alphabet), letter_count(alphabet)
    query = rng.integers(0, letters, shape[0])
    targets = make_targets(rng, query, shape[1], max(counts), letters, related)
    calls = parasail_calls(alphabet, scoring, query, targets[:1])
    peers = {name: rate(float(len(query)) * len(targets[0]), call, PARASAIL_SECONDS) for name, call in calls.items()}
    best = max(peers, key=lambda name: peers[name])
    expected = calls[best]()[0].score
    rows = []
    for count in counts:
        if float(shape[0]) * shape[1] * count > MOST_CELLS:
            continue
        task = Task(sequence_set([query]), sequence_set(targets[:count]), scoring, Mode.LOCAL, alphabet=alphabet)
        m = measure(device, task, Pairing.ALL, 1e15)
        variant = m.spans[0].variant
        how = "threads"
        if isinstance(variant, WarpChainVariant):
            windows = (variant.query_windows, variant.target_windows) != (WHOLE_SEQUENCES, WHOLE_SEQUENCES)
            how = f"chains, {variant.strip_rows} rows" + (", windows" if windows else "")
        found = first_score(device, task)
        row = [*(f"{n:,}" for n in shape), str(count), "relatives" if related else "random", f"{1e3 * m.kernels:.1f}"]
        row += [f"{1e3 * m.engine:.1f}", how, f"{peers[best]:.1f}", best, f"{1e3 * m.engine / peers[best]:.1f}"]
        rows.append([*row, f"{found:,}" if found == expected else f"{found:,}, DIFFERENT: {expected:,}"])
        print(alphabet.name, *rows[-1], flush=True)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", default=[f"{m}x{n}" for m, n in SHAPES])
    parser.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    parser.add_argument("--kinds", nargs="+", default=["dna", "protein"], choices=["dna", "protein"])
    arguments = parser.parse_args()
    device = open_gpu()
    text = f"# Few or long targets on a GPU\n\n{device.name}; host {machine()}; DNA: 5/-4, gaps 16/6; proteins: BLOSUM62, gaps 12/1.\n\n"
    for kind in arguments.kinds:
        rows = []
        for shape in arguments.shapes:
            query, target = map(int, shape.split("x"))
            for related in (False, True):
                rows += rows_of(device, DNA if kind == "dna" else PROTEIN, (query, target), list(arguments.targets), related)
        text += table(f"{'DNA' if kind == 'dna' else 'Proteins'}, local scores", HEADER, rows, NOTES)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
