"""Local scores of one query and few targets, or long ones, on one core: gpualign beside parasail.

python benchmarks/sw_pairs.py [--lengths 100 1000 10000] [--targets 1 4 16 64] [--kinds dna protein] [--instruction-set avx2]
    [--seconds 0.2] [--output benchmarks/results/sw_pairs.md]

The query and its targets are random sequences of one length, or relatives: copies of the query with a tenth of the letters redrawn and a
gap in every thousand. Both sides are called from Python: gpualign once for all targets, parasail once for each.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import parasail
from common import BUDGET, finish, machine, make_parser, table

from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN, Alphabet
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment._kernels import Cancel, LocalHistory, score_local_tile_64
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets
from gpualign.cpu.alignment.local_recipe import make_local_recipe
from gpualign.cpu.alignment.native_recipes import native_local_recipe

LENGTHS, TARGETS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000), (1, 2, 4, 8, 16, 32, 64)
MOST_CELLS = 2e10  # of a row: more take minutes and have the same rate
ROUNDS = 3


def sequence_set(rows: list[np.ndarray]) -> SequenceSet:
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    return SequenceSet("random", [f"s{k}" for k in range(len(rows))], np.concatenate(rows).astype(np.uint8), offsets)


def relative(rng: np.random.Generator, query: np.ndarray, letters: int) -> np.ndarray:
    changed = np.where(rng.random(len(query)) < 0.1, rng.integers(0, letters, len(query)), query)
    return np.delete(changed, rng.integers(0, len(query), len(query) // 1000))


def rate(cells: float, action: Callable[[], object], seconds: float) -> float:
    """GCUPS of repeated calls, by the time of the processor."""
    calls, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds or not calls:
        action()
        calls += 1
    return cells * calls / spent / 1e9 if spent else 0.0


def gpualign_call(name: str, scoring: Scoring, query: np.ndarray, targets: list[np.ndarray]) -> Callable[[], object]:
    """A call of the kernels of one instruction set, as the engine makes it for a tile."""
    queries, others = sequence_set([query]), sequence_set(targets)
    vector_bytes = next(s.vector_bytes for s in instruction_sets() if s.name == name)
    letters = int(max(queries.used_codes[-1], others.used_codes[-1])) + 1
    recipe = make_local_recipe(scoring, letters, queries.max_length, others.max_length)
    native = native_local_recipe(recipe.fit_scratch(vector_bytes, BUDGET.scratch_bytes))
    scores = np.zeros((1, len(targets)), dtype=np.int64)
    pairs = queries.codes, queries.offsets, np.arange(1), others.codes, others.offsets, np.arange(len(targets))
    cancel = Cancel()
    return lambda: score_local_tile_64(name, *pairs, native, LocalHistory(1), scores, cancel)


def parasail_calls(alphabet: Alphabet, scoring: Scoring, query: np.ndarray, targets: list[np.ndarray]) -> dict[str, Callable[[], object]]:
    letters = np.frombuffer(alphabet.letters.encode(), dtype=np.uint8)
    text, others = (letters[query].tobytes().decode(), [letters[row].tobytes().decode() for row in targets])
    matrix = parasail.blosum62 if alphabet is PROTEIN else parasail.matrix_create("ACGT", 5, -4)
    gaps = scoring.gap_open, scoring.gap_extend
    profile = parasail.profile_create_sat(text, matrix)
    return {
        "striped": lambda: [parasail.sw_striped_profile_sat(profile, other, *gaps) for other in others],
        "scan": lambda: [parasail.sw_scan_profile_sat(profile, other, *gaps) for other in others],
        "diag": lambda: [parasail.sw_diag_sat(text, other, *gaps, matrix) for other in others],
    }


def letter_count(alphabet: Alphabet) -> int:
    """Letters that random sequences have."""
    return 4 if alphabet is DNA else 20


def local_scoring(alphabet: Alphabet) -> Scoring:
    options = ScoringOptions(gap_open=16, gap_extend=6) if alphabet is DNA else ScoringOptions(gap_open=12, gap_extend=1)
    return make_scoring(alphabet, options, local=True)


def measure(name: str, alphabet: Alphabet, length: int, count: int, related: bool, seconds: float) -> list[str]:
    """The row of one combination: rates of both sides and their ratio."""
    rng = np.random.default_rng([length, count])
    letters, scoring = letter_count(alphabet), local_scoring(alphabet)
    query = rng.integers(0, letters, length)
    targets = [relative(rng, query, letters) if related else rng.integers(0, letters, length) for _ in range(count)]
    ours = gpualign_call(name, scoring, query, targets)
    theirs = parasail_calls(alphabet, scoring, query, targets)
    cells = float(length * sum(map(len, targets)))
    peers = {kernel: rate(cells, call, seconds / 4) for kernel, call in theirs.items()}
    best = max(peers, key=lambda kernel: peers[kernel])
    pairs = [(rate(cells, ours, seconds), rate(cells, theirs[best], seconds)) for _ in range(ROUNDS if cells < MOST_CELLS / 10 else 1)]
    mine, other = (statistics.median(values) for values in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return [f"{length:,}", str(count), "relatives" if related else "random", f"{mine:.2f}", f"{other:.2f}", best, f"{ratio:.1f}"]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--targets", type=int, nargs="+", default=TARGETS)
    parser.add_argument("--kinds", nargs="+", default=["dna", "protein"], choices=["dna", "protein"])
    parser.add_argument("--instruction-set")
    parser.add_argument("--seconds", type=float, default=0.2)
    arguments = parser.parse_args()
    name = CpuEngine(1, arguments.instruction_set).instruction_set.name
    text = f"# Local scores of few or long targets on one core\n\n{machine()}; {name}; parasail "
    text += f"{version('parasail')}, the fastest of its sw striped, scan and diag kernels with saturation from 8 to 16 and 32 bits. GCUPS: "
    text += "10^9 cells a second of processor time; the ratio is a median of alternating runs.\n\n"
    for kind in arguments.kinds:
        rows = []
        for length, count, related in itertools.product(arguments.lengths, arguments.targets, (False, True)):
            if length * length * count <= MOST_CELLS:
                rows.append(measure(name, DNA if kind == "dna" else PROTEIN, length, count, related, arguments.seconds))
                print(kind, *rows[-1], flush=True)
        scores = "5/-4, gaps 16/6" if kind == "dna" else "BLOSUM62, gaps 12/1"
        header = ["letters", "targets", "sequences", "gpualign", "parasail", "parasail's kernel", "ratio"]
        text += table(f"{'DNA' if kind == 'dna' else 'Proteins'}, {scores}", header, rows, [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
