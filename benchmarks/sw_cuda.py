"""Database search on a GPU: gpualign's kernel and whole command, beside StringZilla's CUDA Smith-Waterman and CUDASW++4.0.

python benchmarks/sw_cuda.py proteins_db.fasta.gz [--queries proteins_query.fasta.gz] [--cudasw FOLDER]
                             [--only kernels,command,adjusting,cudasw,peer] [--output benchmarks/results/sw_cuda.md]

CUDASW++4.0 is in no package: `make` in https://github.com/asbschmidt/CUDASW4 builds `align` and `makedb`, and FOLDER is where they are.

The database is repeated twelve times (240,000 proteins for the 20,000 of ../shared/data's set); queries of 144 to 5,478 residues are cut
from it, as CUDASW++ is measured.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from common import finish, machine, make_parser, open_gpu, proteins, seconds, stringzilla_costs, table, texts_of, usage, write_fasta
from nw_cuda import QUERY_LENGTHS, measure

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import Scoring, ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet

if TYPE_CHECKING:
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

REPEATS = 12
QUERY_SETS = 15  # of 20 queries each, for the longer run of the whole command
RUNS = 3
PEER_TARGETS = 20_000
CUDASW_HEADER = [
    "queries",
    "gpualign, s",
    "gpualign `--no-traceback`, s",
    "CUDASW++4.0, s",
    "CUDASW++'s time divided by gpualign's",
    "CUDASW++'s time divided by that of `--no-traceback`",
    "gpualign, MB of RAM",
    "CUDASW++4.0, MB of RAM",
]
CUDASW_NOTES = [
    f"Whole processes, alternating, each program with an index of its own; the best of {RUNS} runs, and with {20 * QUERY_SETS} queries",
    "one run. CUDASW++ ran with `--dpx` (16 bits), `--gop -12 --gex -1` and `--top 25`: it prints the scores of the 25 best targets of",
    "each query. gpualign also aligns these, or does not with `--no-traceback`. MB of RAM: the peak, including the GPU driver's memory;",
    "gpualign ran with its default memory budget, 2 GiB.",
]
ADJUSTING_HEADER = [
    "queries",
    "default, s",
    "`--composition none`, s",
    "`--composition none --mask none`, s",
    "default divided by `--composition none`",
]
ADJUSTING_NOTES = [
    f"Whole commands, alternating, the best of {RUNS} runs. `--composition none` masks the queries by SEG, which the default does not do.",
]


def write(path: Path, sequences: SequenceSet) -> None:
    write_fasta(path, texts_of(sequences, PROTEIN.letters), ids=sequences.ids)


def cut_queries(database: SequenceSet, sets: int) -> SequenceSet:
    """Queries of the lengths, one after the other from the database."""
    lengths = np.tile(QUERY_LENGTHS, sets)
    cut = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return SequenceSet("queries", [f"q{k}_{n}" for k, n in enumerate(lengths.tolist())], database.codes[: cut[-1]], cut)


def command(queries: Path, database: Path, out: Path, *options: str) -> float:
    """Seconds of a whole command, the best of some."""
    words = [sys.executable, "-m", "gpualign", "sw", "-q", queries, database, "-o", out, *options]
    return min(seconds(words) for _ in range(RUNS))


def peer(scoring: Scoring, query: SequenceSet, targets: SequenceSet) -> float:
    """TCUPS of StringZilla, one query of 512 residues."""
    import stringzilla
    import stringzillas

    classes, costs = stringzilla_costs(scoring, PROTEIN.letters)
    scope = stringzillas.DeviceScope(gpu_device=0)
    engine = stringzillas.SmithWatermanScores(classes, costs, open=-scoring.gap_open, extend=-scoring.gap_extend, capabilities=scope)

    def strings(s: SequenceSet):  # noqa: ANN202
        return stringzillas.to_device(stringzilla.Strs(texts_of(s, PROTEIN.letters)))

    ours, theirs, times = strings(query), strings(targets), []
    for _ in range(RUNS):
        start = time.perf_counter()
        engine(ours, theirs, scope)
        times.append(time.perf_counter() - start)
    return int(query.lengths.sum()) * int(targets.lengths.sum()) / min(times) / 1e12


def beside_cudasw(binaries: Path, folder: Path, fasta: Path, index: Path, queries: SequenceSet) -> list[list[str]]:
    """Whole commands of both, alternating, best of some (of one where they take long); both print the 25 best hits of a query."""
    database = folder / "cudasw"
    subprocess.run([str(binaries / "makedb"), str(fasta), str(database)], check=True, capture_output=True)
    rows = []
    for name, count, runs in (("1 query of 375 residues", 0, RUNS), ("20 queries", 1, RUNS), (f"{20 * QUERY_SETS} queries", QUERY_SETS, 1)):
        path = folder / f"queries{count}.fa"
        cut = cut_queries(queries, max(1, count))
        write(path, cut if count else SequenceSet("one", ["q"], cut.codes[:375], np.array([0, 375])))
        theirs = [str(binaries.resolve() / "align"), "--query", str(path), "--db", str(database), "--top", "25", "--dpx", "--tsv"]
        theirs += [
            "--gop",
            "-12",
            "--gex",
            "-1",  # the first letter of a gap costs gop
            "--of",
            str(folder / "theirs.tsv"),
        ]
        ours = [sys.executable, "-m", "gpualign", "sw", "-q", str(path), str(index), "-o", str(folder / "ours.tsv"), "--device", "cuda"]
        found: dict[str, list[tuple[float, float, float]]] = {"ours": [], "scores": [], "theirs": []}
        for _ in range(runs):
            for who, words in (("ours", ours), ("scores", [*ours, "--no-traceback"]), ("theirs", theirs)):
                found[who].append(usage(words, folder))
        best = {who: min(times) for who, times in found.items()}
        ratios = [f"{best['theirs'][0] / best[who][0]:.2f}" for who in ("ours", "scores")]
        memory = [f"{best[who][2]:.0f}" for who in ("ours", "theirs")]
        rows.append([name, *(f"{best[who][0]:.2f}" for who in ("ours", "scores", "theirs")), *ratios, *memory])
        print(rows[-1], flush=True)
    return rows


def kernels(device: CudaDevice, queries: SequenceSet, database: SequenceSet, scoring: Scoring) -> list[list[str]]:
    rows = []
    for top in (None, 25):
        task = Task(queries, database, scoring, Mode.LOCAL, alphabet=PROTEIN, top_count=top)
        m = measure(device, task, Pairing.ALL, 1e15)
        what = "all scores to the host" if top is None else f"{top} hits of each chosen on the device"
        rows.append([f"kernels, {len(queries)} queries, {what}", f"{m.kernels:.2f}", f"{m.engine:.2f}", ""])
        print(rows[-1], flush=True)
    return rows


def adjusting(folder: Path, index: Path, database: SequenceSet, real: str | None) -> list[list[str]]:
    """Whole commands with and without adjustment of scores to compositions; they take turns."""
    count = 20 * QUERY_SETS
    sets = [(f"{count} cut from the database, as above", cut_queries(database, QUERY_SETS))]
    if real:
        queries = proteins(real, 1)
        name = f"{count} of {Path(real).name}, spread over the file"
        sets.append((name, queries.select(np.linspace(0, len(queries) - 1, count).astype(np.int64))))
    rows = []
    for name, queries in sets:
        path, out = folder / "adjusting.fa", folder / "adjusting.m8"
        write(path, queries)
        words = [sys.executable, "-m", "gpualign", "sw", "-q", path, index, "-o", out]
        forms = [words, [*words, "--composition", "none"], [*words, "--composition", "none", "--mask", "none"]]
        found = [[usage(form, folder)[0] for form in forms] for _ in range(RUNS)]
        adjusted, masked, plain = np.min(found, axis=0)
        rows.append([name, f"{adjusted:.2f}", f"{masked:.2f}", f"{plain:.2f}", f"{adjusted / masked:.2f}"])
        print(rows[-1], flush=True)
    return rows


def commands(folder: Path, fasta: Path, index: Path, database: SequenceSet) -> tuple[list[list[str]], bool]:
    """Rows, and whether the CPU engine finds the same hits to the byte."""
    few, many, out, other = (folder / name for name in ("few.fa", "many.fa", "hits.tsv", "cpu.tsv"))
    write(few, cut_queries(database, 1))
    write(many, cut_queries(database, QUERY_SETS))
    letters, rows = int(database.offsets[-1]), []
    cells = sum(QUERY_LENGTHS) * letters
    for name, query, total, options in (
        ("20 queries", few, cells, ()),
        ("20 queries, `--no-traceback`", few, cells, ("--no-traceback",)),
        (f"{20 * QUERY_SETS} queries", many, QUERY_SETS * cells, ()),
        (f"{20 * QUERY_SETS} queries, `--no-traceback`", many, QUERY_SETS * cells, ("--no-traceback",)),
    ):
        took = command(query, index, out, *options)
        rows.append([f"whole command, indexed database, {name}", "", f"{total / took / 1e12:.2f}", f"{took:.2f}"])
        print(rows[-1], flush=True)
    took = command(few, fasta, out)
    rows.append(["whole command, FASTA database, 20 queries", "", f"{cells / took / 1e12:.2f}", f"{took:.2f}"])
    command(few, index, out)
    command(few, index, other, "--device", "cpu")
    return rows, filecmp.cmp(out, other, shallow=False)


def beside_stringzilla(device: CudaDevice, database: SequenceSet, scoring: Scoring) -> list[list[str]]:
    one = SequenceSet("q", ["q"], database.codes[:512], np.array([0, 512]))
    part = SequenceSet(
        "part", database.ids[:PEER_TARGETS], database.codes[: database.offsets[PEER_TARGETS]], database.offsets[: PEER_TARGETS + 1]
    )
    theirs = peer(scoring, one, part)
    ours = measure(device, Task(one, part, scoring, Mode.LOCAL, alphabet=PROTEIN), Pairing.ALL, 1e15)
    return [
        [f"StringZilla {version('stringzillas-cuda')}, one query of 512 residues x {PEER_TARGETS:,} proteins", "", f"{theirs:.2f}", ""],
        ["gpualign's kernels, the same pairs", f"{ours.kernels:.2f}", f"{ours.engine:.2f}", ""],
    ]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("database")
    parser.add_argument("--queries", help="FASTA of real queries, to measure what adjusting costs.")
    parser.add_argument("--cudasw", metavar="FOLDER", help="Where CUDASW++4.0's align and makedb are.")
    parser.add_argument("--only", default="kernels,command,adjusting,cudasw,peer")
    arguments = parser.parse_args()
    device = open_gpu()
    database = proteins(arguments.database, REPEATS)
    queries = cut_queries(database, 1)
    scoring = make_scoring(PROTEIN, ScoringOptions(), local=True)
    rows, adjusted, cudasw, notes = [], [], [], []
    if "kernels" in arguments.only:
        rows += kernels(device, queries, database, scoring)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fasta, index = folder / "db.fa", folder / "db.gpa"
        if any(part in arguments.only for part in ("command", "adjusting", "cudasw")):
            write(fasta, database)
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "gpualign", "index", "-q", str(fasta), "-o", str(index)], check=True)
            notes.append(f"Building the index took {time.perf_counter() - start:.1f} s.")
        if "command" in arguments.only:
            found, same = commands(folder, fasta, index, database)
            rows += found
            notes.append("The hits of the CPU engine are " + ("the same to the byte." if same else "DIFFERENT."))
        if "adjusting" in arguments.only:
            adjusted = adjusting(folder, index, database, arguments.queries)
        if arguments.cudasw and "cudasw" in arguments.only:
            cudasw = beside_cudasw(Path(arguments.cudasw), folder, fasta, index, database)
    if "peer" in arguments.only:
        rows += beside_stringzilla(device, database, scoring)
    text = f"# Database search on a GPU\n\n{device.name}; {machine()}; BLOSUM62, gaps 12/1 (BLAST's 11/1); 20 queries of 144 to 5,478 "
    text += f"residues x {len(database):,} proteins ({int(database.offsets[-1]):,} residues). TCUPS: 10^12 cells a second.\n\n"
    if rows:
        notes[:0] = [
            f"Whole commands: the best of {RUNS} runs; kernels: the faster of 2. The first column of TCUPS counts only the time in which",
            "a kernel ran, by CUDA's events. The second counts the time from the first copy to the last, and for whole commands from",
            f"start to end. StringZilla: the time of its call by the host's clock (best of {RUNS}), its strings in device memory before.",
        ]
        text += table(
            "Search",
            ["what", "TCUPS while kernels run", "TCUPS, with copies (commands: from start to end)", "whole command, s"],
            rows,
            notes,
        )
    if adjusted:
        text += table("What adjusting scores to compositions costs", ADJUSTING_HEADER, adjusted, ADJUSTING_NOTES)
    if cudasw:
        text += table("Beside CUDASW++4.0", CUDASW_HEADER, cudasw, CUDASW_NOTES)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
