"""Near pairs on a GPU: rates of the screens and of the verification by events, and of the engine as a whole.

python benchmarks/near_cuda.py [--genes 131072] [--reads 524288] [--output benchmarks/results/near_cuda.md]

Genes are made up like 16S: of 1,500 letters, of which two fifths differ, in groups that are nearer the smaller they are, compared at 97 %
identity. Reads are 100 letters, eight near ones of each, compared at 3 edits. The first records are compared without sketches once more.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import numpy as np
from common import BUDGET, finish, head, machine, make_parser, open_gpu, table

from gpualign.core.alignment.pair_list import NearPairs, join_pairs
from gpualign.core.alignment.task import Task
from gpualign.core.execution.runner import plan_task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.edit_bounds import EditBound, columns_bound, covered_bound, distance_bound
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.near_pairs.engine import prepare_near_pairs
from gpualign.gpu.near_pairs.kernels import ScreeningKernel, has_tensor_cores, screening_kernels
from gpualign.gpu.near_pairs.recipe import make_near_pair_recipe
from gpualign.gpu.near_pairs.worker import FinishedRectangle

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

_CHECKED = 400  # records: so few are not worth a sample, so all distances are computed


def copies(rng: np.random.Generator, parents: np.ndarray, count: int, places: np.ndarray, rate: float) -> np.ndarray:
    """uint8[count][letters]: random parents, with a share `rate` of the letters at some places changed."""
    out = parents[rng.integers(0, len(parents), count)]
    changes = int(rate * len(places))
    where = places[rng.integers(0, len(places), (count, changes))]
    np.put_along_axis(out, where, rng.integers(0, 4, (count, changes), dtype=np.uint8), axis=1)
    return out


def trimmed(rng: np.random.Generator, letters: np.ndarray, most: int) -> SequenceSet:
    """Records that lack up to `most` letters at the end, and one inside."""
    count, longest = letters.shape
    keep = np.arange(longest)[None, :] < longest - rng.integers(0, most + 1, (count, 1))
    keep[np.arange(count), rng.integers(0, longest, count)] = False
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    return SequenceSet("made up", [f"s{k}" for k in range(count)], letters[keep], offsets)


def genes(rng: np.random.Generator, count: int) -> SequenceSet:
    """Phyla, genera, species, copies of one ancestor; three fifths of the places never change much."""
    ancestor = rng.integers(0, 4, (1, 1500), dtype=np.uint8)
    variable, every = rng.permutation(1500)[:600], np.arange(1500)
    phyla = copies(rng, ancestor, 30, variable, 0.9)
    genera = copies(rng, phyla, 1500, variable, 0.25)
    species = copies(rng, genera, max(1, count // 8), variable, 0.06)
    return trimmed(rng, copies(rng, species, count, every, 0.01), 40)


def reads(rng: np.random.Generator, count: int) -> SequenceSet:
    """Eight of each kind, about."""
    kinds = rng.integers(0, 4, (max(1, count // 8), 101), dtype=np.uint8)
    return trimmed(rng, copies(rng, kinds, count, np.arange(101), 0.02), 2)


def run(
    sequences: SequenceSet, bound: EditBound, device: CudaDevice, screen: ScreeningKernel | None
) -> tuple[NearPairs, list[FinishedRectangle], float, str]:
    """Near pairs, what every rectangle took, seconds of the engine with everything, and its steps."""
    scoring = make_scoring(DNA, ScoringOptions(edit=True))
    log: list[FinishedRectangle] = []
    start = time.perf_counter()
    prepared = prepare_near_pairs(
        Task(sequences, sequences, scoring, edit_bound=bound), BUDGET, [device], device.name, os.getpid(), log.append, screen
    )
    plan = plan_task(prepared, Pairing.ABOVE)
    found = join_pairs([result.pairs for result in prepared.run(plan.tiles())])
    return found, log, time.perf_counter() - start, prepared.kernel


def same_without_sketches(sequences: SequenceSet, bound: EditBound, device: CudaDevice, found: NearPairs) -> bool:
    """Whether the first records have the same pairs by distances alone."""
    few = head(sequences, min(_CHECKED, len(sequences)))
    expected = join_pairs([run(few, bound, device, None)[0]]).sorted()
    among = found.select((found.queries < len(few)) & (found.targets < len(few))).sorted()
    return all(np.array_equal(getattr(expected, name), getattr(among, name)) for name in ("queries", "targets", "distances"))


def measure(name: str, sequences: SequenceSet, bound: EditBound, device: CudaDevice) -> list[list[str]]:
    """A row for each screen that the device runs."""
    rows = []
    task = Task(sequences, sequences, make_scoring(DNA, ScoringOptions(edit=True)), edit_bound=bound)
    for screen in screening_kernels(device.arch, make_near_pair_recipe(task, has_tensor_cores(device.arch)).sketch_bytes):
        run(head(sequences, min(3000, len(sequences))), bound, device, screen)  # compiles
        found, log, seconds, kernel = run(sequences, bound, device, screen)
        screened, verified = sum(one.screening_seconds for one in log), sum(one.verification_seconds for one in log)
        pairs, candidates = sum(one.pair_count for one in log), sum(one.counts.candidate_count for one in log)
        rows.append(
            [
                name,
                kernel,
                f"{pairs / 1e9:,.1f}",
                f"{pairs / screened / 1e9:,.1f}",
                f"{candidates / pairs:.2%}",
                f"{candidates / verified / 1e6:,.0f}",
                f"{len(found):,}",
                f"{seconds:.2f}",
                "yes" if same_without_sketches(sequences, bound, device, found) else "NO",
            ]
        )
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--genes", type=int, default=1 << 17)
    parser.add_argument("--reads", type=int, default=1 << 19)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    device = open_gpu()
    made_up = genes(rng, options.genes)
    rows = measure(f"{options.genes:,} genes, 97 %", made_up, columns_bound(0.97), device)
    rows += measure(f"{options.genes:,} genes, 97 %, coverage 0.8", made_up, covered_bound(0.97, 0.8), device)
    rows += measure(f"{options.reads:,} reads, 3 edits", reads(rng, options.reads), distance_bound(3), device)
    title = f"# Near pairs on a GPU\n\n{device.name}; {machine()}; made-up genes of 1.5 kb and reads of 100 letters, all pairs of one set."
    header = [
        "records",
        "steps",
        "G pairs",
        "screened, G pairs/s",
        "left",
        "verified, M pairs/s",
        "near",
        "engine, s",
        "same without sketches",
    ]
    notes = [
        "Screened and verified: by events, while copies and the other stream's kernels may run beside. Pairs are those of rectangles,",
        "some of which mirror. Engine: from the records in memory to all near pairs in memory, with the start of the device.",
    ]
    finish("\n\n".join([title, table("Steps", header, rows, notes)]), options.output)


if __name__ == "__main__":
    main()
