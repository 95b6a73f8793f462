"""Alignment of listed pairs, as the filters of a threshold leave them: one core, all cores, the GPU (--cuda), and parasail.

python benchmarks/listed_pairs.py 16s.fasta proteins.fasta [--pairs 200000] [--cuda] [--output benchmarks/results/listed_pairs.md]

Families of mutated copies of real records; pairs within a family, from equal to 30 % apart; each with statistics and with paths. parasail
(PyPI) aligns the first 20 pairs. Rates count the cells of whole matrices; bands compute only a part of them.
"""

from __future__ import annotations

import os
import time
from importlib.metadata import version

import numpy as np
import parasail
from common import finish, machine, make_parser, open_gpu, read_raw, table, texts_of

from gpualign.core.alignment.pair_list import NearPairs
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.execution.engine import PairAligner
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import Alphabet
from gpualign.core.sequences.loading import encode_all
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

_FAMILY, _PEER_PAIRS, _CHECKED = 40, 20, 2000


def load(path: str) -> tuple[SequenceSet, Alphabet]:
    """Real records of 50 to 2,000 letters."""
    alphabet, (records,) = encode_all([read_raw(path)], "auto")
    return records.select(np.flatnonzero((records.lengths >= 50) & (records.lengths <= 2000))), alphabet


def families(records: SequenceSet, letters: int, count: int, rng: np.random.Generator) -> tuple[SequenceSet, NearPairs]:
    """Mutated copies, and `count` random pairs within families with the edits to expect."""
    copies, rates = [], []
    for founder in rng.choice(len(records), -(-count // (_FAMILY * 10)), replace=False).tolist():
        codes = records.codes[records.offsets[founder] : records.offsets[founder + 1]]
        for _ in range(_FAMILY):
            rate = float(rng.choice([0.003, 0.01, 0.03, 0.06, 0.15]))
            copy = np.where(rng.random(len(codes)) < 0.9 * rate, rng.integers(0, letters, len(codes), dtype=np.uint8), codes)
            copies.append(copy[rng.random(len(codes)) >= 0.1 * rate])
            rates.append(rate)
    offsets = np.concatenate([[0], np.cumsum([len(copy) for copy in copies])]).astype(np.int64)
    made = SequenceSet("made up", [f"c{k}" for k in range(len(copies))], np.concatenate(copies), offsets)
    queries = rng.integers(0, len(copies), count)
    targets = queries // _FAMILY * _FAMILY + rng.integers(0, _FAMILY, count)
    edits = (np.array(rates)[queries] + np.array(rates)[targets]) * made.lengths[queries]
    return made, NearPairs(queries, targets, edits.astype(np.int64))


def seconds(aligner: PairAligner, pairs: NearPairs) -> float:
    start = time.perf_counter()
    aligner.align_pairs(pairs)
    return time.perf_counter() - start


def rows_of(path: str, count: int, cuda: bool, rng: np.random.Generator) -> list[list[str]]:
    """Microseconds a pair and GCUPS of every engine and detail."""
    real, alphabet = load(path)
    records, pairs = families(real, 4 if alphabet.name == "dna" else 20, count, rng)
    scoring = make_scoring(alphabet, ScoringOptions())
    cells = float((records.lengths[pairs.queries] * records.lengths[pairs.targets]).mean())
    rows, budget = [], Budget.from_total(4 << 30)

    def add(name: str, detail: str, time_a_pair: float) -> None:
        rows.append([alphabet.name, name, detail, f"{time_a_pair * 1e6:.2f}", f"{cells / time_a_pair / 1e9:,.1f}"])

    for detail in (Detail.STATISTICS, Detail.PATH):
        task = Task(records, records, scoring, detail=detail, alphabet=alphabet)
        for one in instruction_sets():
            if one.is_supported and one.name in ("avx512bw", "avx2", "neon"):
                some, engine = pairs.select(slice(count // 10)), CpuEngine(1, one.name)
                add(f"CPU, one core, {one.name}", detail.value, seconds(engine.prepare_pair_aligner(task, budget), some) / len(some))
        threads = len(os.sched_getaffinity(0))
        host = CpuEngine(threads)
        add(f"CPU, {threads} cores", detail.value, seconds(host.prepare_pair_aligner(task, budget), pairs) / count)
        if cuda:
            from gpualign.gpu.alignment.pair_list import CudaPairEngine

            devices = [open_gpu()]
            aligner = CudaPairEngine(lambda found=devices: found, host, print).prepare_pair_aligner(task, budget)
            seconds(aligner, pairs)  # opens the device, compiles
            add(f"{devices[0].name}, {threads} cores beside it", detail.value, min(seconds(aligner, pairs) for _ in range(3)) / count)
            checked = pairs.select(slice(_CHECKED))
            found, expected = aligner.align_pairs(checked), host.prepare_pair_aligner(task, budget).align_pairs(checked)
            assert (found.scores == expected.scores).all()
            assert (found.statistics == expected.statistics).all()
            aligner.close()
    letters = "".join(alphabet.letters)
    matrix = parasail.matrix_create(letters, 1, -1)
    for a, b in np.ndindex(len(letters), len(letters)):
        matrix[a, b] = int(scoring.substitution[a, b])
    texts = texts_of(records.select(np.concatenate([pairs.queries[:_PEER_PAIRS], pairs.targets[:_PEER_PAIRS]])), letters)
    start = time.perf_counter()
    for a, b in zip(texts[:_PEER_PAIRS], texts[_PEER_PAIRS:], strict=True):
        parasail.nw_stats_scan_16(a, b, scoring.gap_open, scoring.gap_extend, matrix)
    add(f"parasail {version('parasail')} nw_stats_scan_16, one core", "statistics", (time.perf_counter() - start) / _PEER_PAIRS)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--cuda", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(46)
    rows = [row for file in arguments.files for row in rows_of(file, arguments.pairs, arguments.cuda, rng)]
    text = f"# Listed pairs\n\n{machine()}; {arguments.pairs:,} pairs of copies of real records, from equal to 30 % apart. Affine gaps.\n\n"
    notes = ["GCUPS: 10^9 cells of whole matrices a second; bands compute only a part of them."]
    finish(text + table("Alignments", ["records", "engine", "detail", "µs per pair", "GCUPS"], rows, notes), arguments.output)


if __name__ == "__main__":
    main()
