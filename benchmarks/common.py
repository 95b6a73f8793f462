"""Timing, data and tables that the benchmarks share."""

from __future__ import annotations

import argparse
import datetime
import itertools
import platform
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpualign.core.alignment.task import Task
from gpualign.core.execution.engine import Engine
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.output.matrix import MatrixSink
from gpualign.core.output.matrix_value import ValueMatrix
from gpualign.core.output.memory import MemoryArray
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.loading import RawRecords, encode_all, read_raw_records
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.jobs.output.result_writing import write_results

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

BUDGET = Budget.from_total(2 << 30)
GPUALIGN = str(Path(sys.executable).with_name("gpualign"))
"""The command in the environment of the Python that runs the script."""

DEBIAN_PACKAGES = {
    "blastp": "ncbi-blast+",
    "blastx": "ncbi-blast+",
    "diamond": "diamond-aligner",
    "plink2": "plink2",
    "ssearch36": "fasta3",
}


def require(*programs: str) -> None:
    """End the script if a program is not installed, and name Debian's package that has it."""
    for program in programs:
        if shutil.which(program) is None:
            package = DEBIAN_PACKAGES.get(Path(program).name)
            raise SystemExit(f"{program} is not installed" + (f"; Debian's package {package} has it" if package else ""))


def read_raw(path: str) -> RawRecords:
    """Read a FASTA or FASTQ file, compressed or not; ids may repeat."""
    with open(path, "rb") as stream:
        return read_raw_records(stream, path, allow_duplicates=True)


def load(path: str) -> tuple[SequenceSet, list[str]]:
    """Encoded DNA records and the same as upper-case text."""
    raw = read_raw(path)
    texts = [letters.upper() for letters in raw.letters]
    _, (sequences,) = encode_all([raw], "dna")
    return sequences, texts


def head(sequences: SequenceSet, count: int) -> SequenceSet:
    """The first records. Raises SystemExit if there are fewer."""
    if count > len(sequences):
        raise SystemExit(f"{sequences.source} has {len(sequences):,} records; {count:,} are needed")
    return SequenceSet(sequences.source, sequences.ids[:count], sequences.codes[: sequences.offsets[count]], sequences.offsets[: count + 1])


def all_pairs(sequences: SequenceSet, scoring: Scoring, engine: Engine) -> tuple[np.ndarray, int, float]:
    """(scores of all pairs of the set, cells of one half, seconds)."""
    prepared = engine.prepare(Task(sequences, sequences, scoring), BUDGET)
    sink = MatrixSink(ValueMatrix(prepared.task), [MemoryArray])
    plan = plan_task(prepared, Pairing.ABOVE_OR_EQUAL)
    seconds = write_results(sink, plan, compute_pair_bands(plan, prepared, NullProgress()))
    return sink.arrays[0].values, plan.cells, seconds


def engine_rate(task: Task, engine: Engine, pairing: Pairing) -> float:
    """GCUPS of an engine once the task is prepared; results are dropped tile by tile."""
    prepared = engine.prepare(task, BUDGET)
    plan = plan_task(prepared, pairing)
    start = time.perf_counter()
    for _ in prepared.run(plan.tiles()):
        pass
    return plan.cells / (time.perf_counter() - start) / 1e9


class Count:
    """A stream that only counts bytes."""

    bytes = 0

    def write(self, data: bytes) -> None:
        self.bytes += len(data)


def rate(cells: int, action: Callable[[], object]) -> float:
    """GCUPS of one run."""
    start = time.perf_counter()
    action()
    return cells / (time.perf_counter() - start) / 1e9


def medians(actions: Mapping[str, Callable[..., float]], runs: int) -> dict[str, float]:
    """Median of what each action returns; the actions alternate, so that a drift of the machine's speed hits all of them."""
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(runs):
        for name, action in actions.items():
            found[name].append(action())
    return {name: statistics.median(values) for name, values in found.items()}


def least(actions: Mapping[str, Callable[[], object]], runs: int) -> dict[str, float]:
    """Least seconds of each action; the actions alternate."""
    found = dict.fromkeys(actions, float("inf"))
    for _ in range(runs):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def open_gpu() -> CudaDevice:
    """Open the first GPU. PyCUDA is imported only here, so that `--help` works without it."""
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

    return CudaDevice(0)


def machine() -> str:
    """Processor and date, for the head of a table."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = dict(line.split(":", 1) for line in cpuinfo.read_text().split("\n\n")[0].splitlines() if ":" in line)
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        model = f"{fields.get('model name', model)}, family {fields.get('cpu family', '?')} model {fields.get('model', '?')}"
    return f"{model}; {datetime.date.today().isoformat()}"


def table(title: str, header: list[str], rows: list[list[str]], notes: list[str]) -> str:
    """A Markdown section."""
    lines = [f"## {title}", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", *notes, ""]) + "\n"


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """A parser whose help keeps the lines of the description, with the option --output of `finish`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="FILE", help="also write the tables to a Markdown file")
    return parser


def finish(text: str, output: str | None) -> None:
    """Print the text and the command that made it, files without their folders, and write both to `output`."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    if "Made by `" not in text:
        text = f"{text.rstrip()}\n\nMade by `{shlex.join(['python', f'benchmarks/{Path(sys.argv[0]).name}', *words])}`.\n"
    print(text)
    if output:
        Path(output).write_text(text)


def made_up_dna(count: int, length: int, seed: int = 7) -> SequenceSet:
    """Relatives of one random gene, a fifth of the letters redrawn."""
    rng = np.random.default_rng([seed, count])
    ancestor = np.random.default_rng(seed).integers(0, 4, length, dtype=np.uint8)
    codes = np.where(rng.random((count, length)) < 0.2, rng.integers(0, 4, (count, length), dtype=np.uint8), ancestor)
    offsets = np.arange(count + 1, dtype=np.int64) * length
    return SequenceSet("made up", [f"g{i}" for i in range(count)], codes.reshape(-1), offsets)


def texts_of(sequences: SequenceSet, letters: str = "ACGT") -> list[str]:
    """Decode the sequences. letters: those of the codes 0, 1, ..."""
    text = np.frombuffer(letters.encode(), dtype=np.uint8)[sequences.codes].tobytes().decode()
    return [text[a:b] for a, b in itertools.pairwise(sequences.offsets.tolist())]


def write_fasta(path: Path, texts: Iterable[str], prefix: str = "s", ids: Iterable[str] | None = None) -> str:
    """Write a FASTA file with one line a sequence, and return its path as text. ids: default: the prefix and a number from 0."""
    names = (f"{prefix}{number}" for number in itertools.count()) if ids is None else ids
    with path.open("w") as file:
        file.writelines(f">{name}\n{text}\n" for text, name in zip(texts, names, strict=ids is not None))
    return str(path)


def stringzilla_costs(scoring: Scoring, letters: str) -> tuple[np.ndarray, np.ndarray]:
    """Substitution scores as StringZilla takes them: the class of each byte, uint8[256], and the scores of classes, int8[32][32]."""
    classes, costs = np.zeros(256, dtype=np.uint8), np.zeros((32, 32), dtype=np.int8)
    classes[[ord(letter) for letter in letters]] = np.arange(len(letters))
    costs[: len(letters), : len(letters)] = scoring.substitution
    return classes, costs


def proteins(path: str, repeats: int) -> SequenceSet:
    """A protein database, repeated."""
    _, (once,) = encode_all([read_raw(path)], "protein")
    lengths = np.tile(once.lengths, repeats)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    ids = [f"{name}_{k}" for k in range(repeats) for name in once.ids]
    return SequenceSet(once.source, ids, np.tile(once.codes, repeats), offsets)


def write_fileset(path: Path, dosage: np.ndarray) -> None:
    """A PLINK fileset: path is the .bed; dosage: counts 0 to 2 of the first allele, 3 for no call, uint8[sites][samples]."""
    sites, samples = dosage.shape
    two_bits = np.full((sites, -(-samples // 4) * 4), 3, np.uint8)
    two_bits[:, :samples] = np.array([3, 2, 0, 1], np.uint8)[dosage]
    packed = two_bits.reshape(sites, -1, 4).dot(np.array([1, 4, 16, 64], np.uint8))
    path.write_bytes(b"\x6c\x1b\x01" + packed.astype(np.uint8).tobytes())
    path.with_suffix(".fam").write_text("".join(f"0 s{k} 0 0 0 -9\n" for k in range(samples)))
    path.with_suffix(".bim").write_text("".join(f"1 rs{k} 0 {k + 1} A C\n" for k in range(sites)))


def write_outbreak(path: Path, count: int, sites: int, line: int = 0) -> None:
    """Genomes of a tree: each is one of the 500 before it with some changes, 4 on average; every tenth lacks 2 % of its calls.

    line: letters of a line of FASTA; 0: a record has one line.
    """
    rng = np.random.default_rng(4)
    acgt = np.frombuffer(b"ACGT", np.uint8)
    rows = np.empty((count, sites), np.uint8)
    rows[0] = rng.choice(acgt, sites)
    for k in range(1, count):
        rows[k] = rows[rng.integers(max(0, k - 500), k)]
        changes = rng.poisson(4)
        rows[k, rng.integers(0, sites, changes)] = rng.choice(acgt, changes)
    for row in rows[::10]:
        start = rng.integers(0, sites)
        row[start : start + sites // 50] = ord("N")
    with path.open("wb") as file:
        for k, row in enumerate(rows):
            body = row.tobytes()
            if line:
                body = b"\n".join(body[start : start + line] for start in range(0, sites, line))
            file.write(b">s%d\n%s\n" % (k, body))


# A process of its own: the peak of a child counts what its parent held when it was made.
MEASURE = """
import os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(status, time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)
"""


def usage(command: Sequence[object], folder: Path) -> tuple[float, float, float]:
    """(seconds, seconds of processors, 10^6 bytes) of a run."""
    words = [sys.executable, "-c", MEASURE, *map(str, command)]
    status, *found = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    if status != "0":
        raise SystemExit(f"{command} failed")
    took, worked, memory = map(float, found)
    return took, worked, memory


def median_usage(commands: Mapping[str, Sequence[object]], folder: Path, runs: int) -> dict[str, tuple[float, ...]]:
    """Medians of `usage` for each command; the commands alternate."""
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            found[name].append(usage(command, folder))
    return {name: tuple(statistics.median(values) for values in zip(*of_runs, strict=True)) for name, of_runs in found.items()}


def seconds(command: Sequence[object]) -> float:
    """Seconds of a command from start to end. If it fails, the script ends with the end of its standard error."""
    words = [str(word) for word in command]
    start = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    took = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{shlex.join(words)} failed: {done.stderr[-500:].decode(errors='replace')}")
    return took


def children_seconds() -> float:
    """Processor seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
