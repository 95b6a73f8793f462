"""Exact scores on one GPU: the CUDA engine's kernels beside StringZilla's, and the whole command.

python benchmarks/nw_cuda.py [--gold 16s_gold.fasta.gz] [--proteins proteins_db.fasta.gz] [--only kernels,peer,command,reads]
                              [--folder /dev/shm] [--output FILE]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import (
    finish,
    head,
    load,
    machine,
    made_up_dna,
    make_parser,
    open_gpu,
    proteins,
    seconds,
    stringzilla_costs,
    table,
    texts_of,
    usage,
    write_fasta,
)
from near_cuda import reads

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.output.formats.tsv import Tsv
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.matrix_value import ValueMatrix
from gpualign.core.output.memory import MemoryArray
from gpualign.core.output.table import TableSink
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.results.columns import default_fields, parse_fields
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA, PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.worker import FinishedBatch
from gpualign.jobs.output.result_writing import write_results

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

BUDGET = Budget.from_total(16 << 30)
ENOUGH = 4e13  # cells of a timed run, about, for kernels of 10 TCUPS: a few seconds
LINEAR = make_scoring(DNA, ScoringOptions(match=5, mismatch=-4, gap=6))
SMALL_WEIGHTS = make_scoring(DNA, ScoringOptions(match=2, mismatch=-1, gap=1))
AFFINE = make_scoring(DNA, ScoringOptions(match=5, mismatch=-4, gap_open=10, gap_extend=1))
EDNAFULL = make_scoring(DNA, ScoringOptions())
EDIT = make_scoring(DNA, ScoringOptions(edit=True))
BLOSUM62 = make_scoring(PROTEIN, ScoringOptions(gap_open=12, gap_extend=1))
QUERY_LENGTHS = (144, 189, 222, 375, 464, 567, 657, 729, 850, 1000, 1500, 2005, 2504, 3005, 3564, 4061, 4548, 4743, 5147, 5478)


@dataclass(frozen=True)
class Measured:
    """TCUPS while kernels ran (the union of their intervals), TCUPS from the first copy to the last, by the device's clock."""

    kernels: float
    engine: float
    titles: str
    pairs: int
    spans: list[FinishedBatch]


def union(intervals: list[tuple[float, float]]) -> float:
    """Seconds that at least one interval covers."""
    total = reached = 0.0
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def measure(device: CudaDevice, task: Task, pairing: Pairing, enough: float) -> Measured:
    """The best of two runs over tiles of about `enough` cells, after a short one to warm up."""
    found = []
    for attempt in range(3):
        spans: list[FinishedBatch] = []
        engine = CudaEngine([device], spans.append)
        prepared = engine.prepare(task, BUDGET)
        plan = plan_task(prepared, pairing)
        cells = pairs = 0
        chosen = []
        for tile in plan.tiles():
            chosen.append(tile)
            cells += tile.cells
            pairs += tile.shape[0] * tile.shape[1]
            if cells > (enough / 20 if attempt == 0 else enough):
                break
        for _ in prepared.run(iter(chosen)):
            pass
        running = union([(s.kernel_start, s.download_start) for s in spans])
        whole = max(s.download_end for s in spans) - min(s.upload_start for s in spans)
        shares = Counter()
        for s in spans:
            shares[s.variant.title] += s.pair_count
        titles = "; ".join(f"{title} ({n / pairs:.0%})" if n < pairs else title for title, n in shares.most_common())
        found.append(Measured(cells / running / 1e12, cells / whole / 1e12, titles, pairs, spans))
    return max(found[1:], key=lambda m: m.kernels)


def kernels(device: CudaDevice, gold: str | None, db: str | None) -> str:
    long = made_up_dna(16_000, 1500)
    short, many = made_up_dna(40_000, 100), made_up_dna(100_000, 100)
    long_pairs = [(f"{length // 1_000_000} Mb x {length // 1_000_000} Mb", made_up_dna(1, length)) for length in (1_000_000, 4_000_000)]
    genomes, few = made_up_dna(30, 30_000), made_up_dna(5, 30_000)
    above, every = Pairing.ABOVE, Pairing.ALL
    work: list[tuple[str, Task, Pairing, float]] = [
        ("linear 5/-4/6, 16,000 x 1.5 kb", Task(long, long, LINEAR), above, ENOUGH),
        ("linear 2/-1/1, the same", Task(long, long, SMALL_WEIGHTS), above, 2 * ENOUGH),
        ("affine 5/-4/10/1, the same", Task(long, long, AFFINE), above, ENOUGH / 2),
        ("edit distance, the same", Task(long, long, EDIT), above, 6 * ENOUGH),
        ("edit distance, 40,000 x 100 bp", Task(short, short, EDIT), above, 8e12),
        ("edit distance, 100,000 x 100 bp", Task(many, many, EDIT), above, 1e15),
        ("local affine 5/-4/10/1, 16,000 x 1.5 kb", Task(long, long, AFFINE, Mode.LOCAL), above, ENOUGH / 2),
    ]
    work += [(f"edit distance, a pair of {name}", Task(one, one, EDIT), every, 1e15) for name, one in long_pairs]
    for scores, scoring in (("linear 5/-4/6", LINEAR), ("affine 5/-4/10/1", AFFINE)):
        name, one = long_pairs[0]
        work.append((f"{scores}, a pair of {name}", Task(one, one, scoring), every, 1e15))
        work += [(f"{scores}, {len(set_):,} x 30 kb", Task(set_, set_, scoring), above, 1e15) for set_ in (few, genomes)]
    if db:
        targets = proteins(db, 12)
        text = targets.codes[: sum(QUERY_LENGTHS)]
        offsets = np.concatenate(([0], np.cumsum(QUERY_LENGTHS))).astype(np.int64)
        queries = SequenceSet("queries", [f"q{n}" for n in QUERY_LENGTHS], text, offsets)
        name = f"local affine BLOSUM62 12/1, 20 queries of 144-5,478 aa x {len(targets):,} proteins"
        work.append((name, Task(queries, targets, BLOSUM62, Mode.LOCAL), every, 1e15))
    if gold:
        real, _ = load(gold)
        named = (("linear 5/-4/6", LINEAR), ("linear 2/-1/1", SMALL_WEIGHTS), ("affine EDNAFULL 10/1", EDNAFULL), ("edit distance", EDIT))
        work += [(f"{name}, {len(real):,} real 16S", Task(real, real, s), above, 1e15) for name, s in named]
    rows = []
    for name, task, pairing, enough in work:
        m = measure(device, task, pairing, enough)
        rows.append([name, f"{m.kernels:.2f}", f"{m.engine:.2f}", m.titles, f"{m.pairs:,}"])
        print(rows[-1], flush=True)
    header = ["work", "TCUPS while kernels run", "TCUPS, with copies", "kernels (share of the timed pairs)", "pairs in the timed tiles"]
    notes = [
        "*While kernels run* counts only the time in which a kernel ran, by CUDA's events, *with copies* the time from the first copy to",
        "the last. Of two runs, each row shows the one with the faster kernels. 0% stands for a few pairs. Large sets are computed in",
        "tiles (rectangles of pairs), and only some tiles were timed. A tile on the diagonal also holds pairs that are not needed: the",
        "last column counts them, TCUPS do not.",
    ]
    return table("Kernels", header, rows, notes)


def peer(device: CudaDevice) -> str:
    """StringZilla on the same pairs, scores compared."""
    import stringzilla
    import stringzillas

    scope = stringzillas.DeviceScope(gpu_device=0)

    def alignments(scoring: Scoring):  # noqa: ANN202
        if scoring.edit:
            return stringzillas.LevenshteinDistances(capabilities=scope)
        classes, costs = stringzilla_costs(scoring, DNA.letters)
        return stringzillas.NeedlemanWunschScores(classes, costs, open=-scoring.gap_open, extend=-scoring.gap_extend, capabilities=scope)

    rows = []
    for name, scoring, count, length in (
        ("linear 5/-4/6, 1.5 kb", LINEAR, 1000, 1500),
        ("linear 2/-1/1, 1.5 kb", SMALL_WEIGHTS, 1000, 1500),
        ("affine 5/-4/10/1, 1.5 kb", AFFINE, 700, 1500),
        ("edit distance, 1.5 kb", EDIT, 3000, 1500),
        ("edit distance, 100 bp", EDIT, 20000, 100),
    ):
        sequences = made_up_dna(count, length)
        strings = stringzillas.to_device(stringzilla.Strs(texts_of(sequences)))
        engine = alignments(scoring)
        cells = int(sequences.lengths.sum()) ** 2
        times = []
        for _ in range(3):
            start = time.perf_counter()
            theirs = engine(strings, strings, scope)
            times.append(time.perf_counter() - start)
        rate = cells / min(times) / 1e12
        # gpualign on a set that is large enough for its rate, and on the peer's for the comparison of scores.
        big = made_up_dna(16_000 if length > 100 else 40_000, length)
        task = Task(big, big, scoring)
        ours = measure(device, task, Pairing.ABOVE, (6 if scoring.edit else 0.5) * (ENOUGH if length > 100 else 1.3e12)).engine
        same = measure(device, Task(sequences, sequences, scoring), Pairing.ALL, 1e15).engine
        part = Task(head(sequences, 50), sequences, scoring)
        found = _scores(device, part)
        wrong = int((np.asarray(theirs)[:50] != found).sum())
        rows.append(
            [name, f"{rate:.2f}", f"{same:.2f}", f"{ours:.2f}", f"{same / rate:.1f}", f"{ours / rate:.1f}", f"{wrong} of {found.size}"]
        )
        print(rows[-1], flush=True)
    header = [
        "work",
        "StringZilla, TCUPS",
        "gpualign, same pairs, TCUPS",
        "gpualign, large set, TCUPS",
        "gpualign divided by StringZilla, same pairs",
        "gpualign, large set, divided by StringZilla, same pairs",
        "scores that differ",
    ]
    return table(
        "Beside StringZilla CUDA " + version("stringzillas-cuda"),
        header,
        rows,
        [
            "StringZilla: best of 3, wall-clock time of its call, scores left in host memory; its strings were put into device memory",
            "(`to_device`) before the clock started. gpualign: from its first copy to its last by the device's clock, without",
            "preparation on the host; of two runs, the one with the faster kernels. The last column compares the scores of the first 50",
            "sequences against all sequences.",
        ],
    )


def _scores(device: CudaDevice, task: Task) -> np.ndarray:
    prepared = CudaEngine([device]).prepare(task, BUDGET)
    sink = MatrixSink(ValueMatrix(task), [MemoryArray])
    plan = plan_task(prepared, Pairing.ALL)
    write_results(sink, plan, compute_pair_bands(plan, prepared, NullProgress()))
    return sink.arrays[0].values.astype(np.int64)


def taken_apart(device: CudaDevice, fasta: str, scoring: Scoring, kind: str, folder: str) -> dict[str, float]:
    """Seconds of the parts of a run in this process, and pairs written in millions a second."""
    start = time.perf_counter()
    sequences, _ = load(fasta)
    reading = time.perf_counter() - start
    task = Task(sequences, sequences, scoring)
    spans: list[FinishedBatch] = []
    engine = CudaEngine([device], spans.append)
    with open(Path(folder, f"out.{kind}"), "w+b") as stream:
        sink: MatrixSink | TableSink = (
            MatrixSink(ValueMatrix(task), [partial(NpyArray, stream)])
            if kind == "npy"
            else TableSink(stream, task, Tsv(parse_fields(default_fields(edit_distance=False))))
        )
        start = time.perf_counter()
        prepared = engine.prepare(task, Budget.from_total(2 << 30))
        plan = plan_task(prepared, Pairing.ABOVE_OR_EQUAL if kind == "npy" else Pairing.ABOVE)
        sink.begin(plan)
        writing = 0.0
        for band in compute_pair_bands(plan, prepared, NullProgress()):
            before = time.perf_counter()
            sink.write(band)
            writing += time.perf_counter() - before
        before = time.perf_counter()
        sink.finish()
        writing += time.perf_counter() - before
        whole = time.perf_counter() - start
    kernels = union([(s.kernel_start, s.download_start) for s in spans])
    return {"reading": reading, "run": whole, "kernels": kernels, "writing": writing, "rate": plan.pair_count / writing / 1e6}


def command(device: CudaDevice) -> str:
    """10,000 sequences to a file, by the command as a user runs it, and taken apart."""
    sequences = made_up_dna(10_000, 1500)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        fasta = write_fasta(Path(folder, "made_up.fasta"), texts_of(sequences), prefix="g")
        for name, options, scoring in (("gpualign nw --edit", ("--edit",), EDIT), ("gpualign nw", (), EDNAFULL)):
            for kind in ("npy", "tsv"):
                output = Path(folder, f"out.{kind}")
                program = [sys.executable, "-m", "gpualign", "nw", "--device", "cuda", *options, fasta, "-o", str(output)]
                took = seconds(program)
                part = taken_apart(device, fasta, scoring, kind, folder)
                times = [took, *(part[key] for key in ("kernels", "reading", "run", "writing"))]
                rows.append([f"{name} -o x.{kind}", *(f"{t:.2f}" for t in times), f"{part['rate']:.1f}"])
                print(rows[-1], flush=True)
                output.unlink()
    header = [
        "command",
        "whole command, s",
        "kernels, s",
        "reading, s",
        "computing and writing, s",
        "writing, s",
        "million pairs written per second",
    ]
    notes = [
        "*Whole command*: from start to end. The other columns are from a second run of the same work, within this script. *Computing",
        "and writing*: everything after reading the input, up to the finished file; kernels and writing overlap, so their times do not",
        "add up to it. *Million pairs written per second*: pairs divided by the time of writing.",
    ]
    return table("Whole command, 10,000 x 1.5 kb", header, rows, notes)


def reads_to_matrix(folder: str) -> str:
    """Whole matrices of short reads, each run into a new file: what the host can do for pairs that take a GPU next to nothing."""
    rows = []
    with tempfile.TemporaryDirectory(dir=folder) as name:
        fasta, output = Path(name, "reads.fa"), Path(name, "out.npy")
        for count in (20_000, 60_000):
            write_fasta(fasta, texts_of(reads(np.random.default_rng(1), count)))
            command = [sys.executable, "-m", "gpualign", "nw", "-q", "--edit", "--device", "cuda", fasta, "-o", output]
            runs = []
            for _ in range(3):
                runs.append(usage(command, Path(name)))
                size = output.stat().st_size / 1e9
                output.unlink()
            took, _, memory = min(runs)
            pairs = count * (count + 1) / 2
            rows.append([f"{count:,}", f"{took:.2f}", f"{pairs / took / 1e6:.0f}", f"{size:.2f}", f"{memory:,.0f}"])
            print(rows[-1], flush=True)
    header = ["reads", "whole command, s", "million pairs a second", "GB written", "MB of RAM"]
    notes = [
        "Times are the best of 3 runs. (i, j) and (j, i) count as one pair. RAM: the peak, including the GPU driver's memory and the",
        "pages of the memory-mapped output file.",
    ]
    return table("Whole command, edit distances of reads of 100 letters to .npy", header, rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--gold", help="FASTA of real 16S genes.")
    parser.add_argument("--proteins", help="FASTA of a protein database.")
    parser.add_argument("--only", default="kernels,peer,command,reads")
    parser.add_argument("--folder", default="/dev/shm", help="for the matrices of reads")
    arguments = parser.parse_args()
    device = open_gpu()
    parts = [f"# Exact scores on one GPU\n\n{device.name}; host {machine()}.\n\n"]
    makers = {
        "kernels": lambda: kernels(device, arguments.gold, arguments.proteins),
        "peer": lambda: peer(device),
        "command": lambda: command(device),
        "reads": lambda: reads_to_matrix(arguments.folder),
    }
    parts += [makers[name]() for name in arguments.only.split(",")]
    finish("".join(parts), arguments.output)


if __name__ == "__main__":
    main()
