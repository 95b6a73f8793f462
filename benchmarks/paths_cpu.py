"""Alignments, not only scores, on one core: gpualign beside vsearch, edlib and parasail on all pairs of real genes; beside edlib and WFA on
near pairs made from one of them.

python benchmarks/paths_cpu.py 16s.fasta.gz [--records 300] [--runs 3] [--output benchmarks/results/paths_cpu.md]

vsearch (Debian) is left out if it is not installed. The file needs 1,000 records.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import edlib
import numpy as np
import parasail
import pywfa
from common import engine_rate, finish, head, load, machine, make_parser, medians, rate, table, write_fasta
from nw_cpu import parasail_matrix

from gpualign.core.alignment.task import Detail, Task
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.loading import encode
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.core.sequences.string_column import StringColumn
from gpualign.cpu.alignment.engine import CpuEngine, instruction_sets

FEW, FEWER = 64, 20  # records for the slow peers: 2,016 and 190 pairs
MANY = 1_000  # that fill the 512 bits of a vector
NEAR = [(1_500, 0.99, 300), (1_500, 0.97, 300), (1_500, 0.90, 300), (30_000, 0.999, 10)]  # letters, share that stays, pairs


def ours(sequences: SequenceSet, options: ScoringOptions, detail: Detail, instruction_set: str | None = None) -> float:
    """GCUPS of the engine on one core."""
    task = Task(sequences, sequences, make_scoring(DNA, options, [sequences]), detail=detail)
    return engine_rate(task, CpuEngine(1, instruction_set), Pairing.ABOVE)


def cells_of(texts: list[str]) -> int:
    return sum(len(a) * len(b) for a, b in itertools.combinations(texts, 2))


def per_pair(texts: list[str], align) -> float:  # noqa: ANN001
    """GCUPS of a peer that takes one pair at a time."""
    return rate(cells_of(texts), lambda: [align(a, b) for a, b in itertools.combinations(texts, 2)])


def mutated(rng: np.random.Generator, text: str, changes: int) -> str:
    """Copy a text with changes at some places: nine in ten replaced by a random letter, the others deleted or replaced by two to four."""
    letters = list(text)
    for at in rng.choice(len(letters), changes, replace=False):
        count = 1 if rng.random() < 0.9 else int(rng.choice([0, 2, 3, 4]))
        letters[at] = "".join("ACGT"[code] for code in rng.integers(0, 4, count))
    return "".join(letters)


def near_rows(gene: str, runs: int) -> list[list[str]]:
    """Microseconds a pair of a text with copies that changed in some places; peers with their multiples."""
    rng = np.random.default_rng(1)
    rows = []
    for length, share, count in NEAR:
        text = (gene * (length // len(gene) + 1))[:length]
        copies = [mutated(rng, text, round(length * (1 - share))) for _ in range(count)]
        query = encode("query", ["q"], StringColumn.from_strings([text]), DNA)
        targets = encode("targets", [f"t{i}" for i in range(count)], StringColumn.from_strings(copies), DNA)

        def of_task(options: ScoringOptions, query: SequenceSet = query, targets: SequenceSet = targets) -> float:
            task = Task(query, targets, make_scoring(DNA, options, [query, targets]), detail=Detail.PATH)
            cells = float(query.lengths[0] * targets.lengths.sum())
            return cells / engine_rate(task, CpuEngine(1), Pairing.ALL) / 1e3 / len(targets)

        def of_each(align, copies: list[str] = copies) -> float:  # noqa: ANN001
            start = time.perf_counter()
            for copy in copies:
                align(copy)
            return 1e6 * (time.perf_counter() - start) / len(copies)

        # The same scores as 5/-4, gaps of 10 and 1: twice (match - score) for a pair, match for each letter of a gap besides.
        wfa = pywfa.WavefrontAligner(text, match=0, mismatch=18, gap_opening=18, gap_extension=7, scope="full")
        times = medians(
            {
                "affine": partial(of_task, ScoringOptions()),
                "wfa": partial(of_each, wfa),
                "edit": partial(of_task, ScoringOptions(edit=True)),
                "edlib": partial(of_each, partial(edlib.align, text, task="path")),
            },
            runs,
        )
        affine, edit = times["affine"], times["edit"]
        peers = [f"{times[peer]:.0f} ({times[peer] / own:.1f})" for peer, own in (("wfa", affine), ("edlib", edit))]
        rows.append([f"{length:,} letters, {100 - 100 * share:.3g} %, {count} copies", f"{affine:.0f}", peers[0], f"{edit:.0f}", peers[1]])
    return rows


def run_command(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


def vsearch(fasta: str, out: str) -> list[str]:
    columns = "query+target+id+caln"
    return ["vsearch", "--allpairs_global", fasta, "--acceptall", "--threads", "1", "--userout", out, "--userfields", columns]


def gpualign(fasta: str, out: str, *options: str) -> list[str]:
    command = [sys.executable, "-m", "gpualign", "nw", "-q", "--device", "cpu", "--threads", "1", "-o", out]
    return [*command, "--fields", "query,target,identity,cigar_m", *options, fasta]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("genes")
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    sequences, texts = load(arguments.genes)
    many = head(sequences, MANY)
    sequences, texts = head(sequences, arguments.records), texts[: arguments.records]
    few, fewer, cells = texts[:FEW], texts[:FEWER], cells_of(texts)
    affine, edit = ScoringOptions(), ScoringOptions(edit=True)
    linear = ScoringOptions(match=5, mismatch=-4, gap=6)
    matrix = parasail_matrix(make_scoring(DNA, affine))

    with tempfile.TemporaryDirectory() as folder:
        fasta, out = write_fasta(Path(folder, "genes.fa"), texts, prefix="g"), str(Path(folder, "out.tsv"))
        whole = {
            "gpualign nw, identity and CIGAR": lambda: rate(cells, lambda: run_command(gpualign(fasta, out))),
            "gpualign nw --edit, identity and CIGAR": lambda: rate(cells, lambda: run_command(gpualign(fasta, out, "--edit"))),
        }
        if shutil.which("vsearch"):
            whole["vsearch --allpairs_global --acceptall, id and caln"] = lambda: rate(cells, lambda: run_command(vsearch(fasta, out)))
        commands = medians(whole, arguments.runs)
        kernels = medians(
            {
                **{
                    f"gpualign, {name}, {detail.value}": lambda o=options, d=detail: ours(sequences, o, d)
                    for name, options in (("affine", affine), ("linear", linear), ("edit distance", edit))
                    for detail in Detail
                },
                **{
                    f"gpualign, {name}, {detail.value}, {count} genes": lambda o=options, d=detail, n=count: ours(head(sequences, n), o, d)
                    for name, options, detail, count in (
                        ("edit distance", edit, Detail.PATH, FEW),
                        ("affine", affine, Detail.PATH, FEWER),
                        ("affine", affine, Detail.STATISTICS, FEWER),
                    )
                },
                "edlib, edit distance, path": lambda: per_pair(few, lambda a, b: edlib.align(a, b, task="path")),
                "parasail nw_trace_scan_16, affine, path": lambda: per_pair(
                    fewer, lambda a, b: parasail.nw_trace_scan_16(a, b, 10, 1, matrix).cigar
                ),
                "parasail nw_stats_scan_16, affine, statistics": lambda: per_pair(
                    fewer, lambda a, b: parasail.nw_stats_scan_16(a, b, 10, 1, matrix).matches
                ),
            },
            arguments.runs,
        )
    sets = [one.name for one in instruction_sets() if one.is_supported and one.name in ("avx512bw", "avx2", "neon")]
    full = medians({name: partial(ours, many, edit, Detail.PATH, name) for name in sets}, arguments.runs)
    own = commands["gpualign nw, identity and CIGAR"]
    rows = [[name, f"{gcups:.1f}", f"{own / gcups:.1f}" if "vsearch" in name else ""] for name, gcups in commands.items()]
    text = f"# Alignments on one core\n\n{machine()}; {arguments.records} real 16S genes, every pair; edlib {version('edlib')}, parasail "
    text += f"{version('parasail')}; medians of {arguments.runs} alternating runs. GCUPS: 10^9 cells a second.\n\n"
    text += table("Whole commands, one thread, FASTA to TSV", ["command", "GCUPS", "first row's rate divided by this one"], rows, [])
    peers = {
        "edlib, edit distance, path": ("edit distance, path", FEW),
        "parasail nw_trace_scan_16, affine, path": ("affine, path", FEWER),
        "parasail nw_stats_scan_16, affine, statistics": ("affine, statistics", FEWER),
    }
    rows = []
    for name, gcups in kernels.items():
        ratios, count = ["", ""], arguments.records
        if name in peers:
            what, count = peers[name]
            ratios = [f"{kernels[f'gpualign, {what}{genes}'] / gcups:.1f}" for genes in (f", {count} genes", "")]
        elif name.endswith(" genes"):
            name, _, genes = name.removesuffix(" genes").rpartition(", ")
            count = int(genes)
        rows.append([name, str(count), f"{gcups:.2f}", *ratios])
    header = ["engine, scoring, what is computed", "genes", "GCUPS", "gpualign with the same genes, times as fast"]
    header.append(f"gpualign with {arguments.records} genes, times as fast")
    text += table("Engines", header, rows, ["Ratios are of the same scoring and the same result."])
    edlib_rate = kernels["edlib, edit distance, path"]
    rows = [[name, f"{gcups:.1f}", f"{gcups / edlib_rate:.1f}"] for name, gcups in full.items()]
    text += table(
        f"Edit distances with paths, all pairs of the first {MANY:,} genes",
        ["gpualign with", "GCUPS", f"divided by edlib's rate ({FEW} genes)"],
        rows,
        [],
    )
    header = ["sequence, share of places changed, copies", "gpualign, affine, µs", f"WFA (pywfa {version('pywfa')}), affine, µs"]
    header += ["gpualign, edit distance, µs", "edlib, edit distance, µs"]
    notes = ["Microseconds (µs) per pair, with its path. In brackets: this time divided by gpualign's for the same scoring."]
    finish(text + table("Pairs of similar sequences", header, near_rows(texts[0], arguments.runs), notes), arguments.output)


if __name__ == "__main__":
    main()
