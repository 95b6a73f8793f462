"""All pairs of genomes that are nearly the same, as those of one virus: whole `gpualign nw` commands on one core, and peers pair by pair.

python benchmarks/similar_genomes.py [--length 30000] [--genomes 200] [--changed 0.0005 0.002 0.01]
    [--output benchmarks/results/similar_genomes.md]

Copies of one random genome are changed. gpualign compares every pair of the copies; edlib and WFA (pywfa), called from Python, compare the
first copy with each other one.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import edlib
import numpy as np
import pywfa
from common import GPUALIGN, finish, machine, make_parser, seconds, table, write_fasta
from paths_cpu import mutated

COMMANDS = {
    "scores": ["--match", "5", "--mismatch", "-4", "--gap-open", "10", "--gap-extend", "1"],
    "scores, identities and CIGARs": ["--fields", "query,target,score,identity,cigar"],
    "edit distances": ["--edit"],
}
AFFINE = {"match": 0, "mismatch": 18, "gap_opening": 18, "gap_extension": 7}  # the same alignments as 5/-4, gaps of 10 and 1


def microseconds(align, genomes: list[str]) -> float:  # noqa: ANN001
    """Time a pair of a peer."""
    start = time.perf_counter()
    for genome in genomes[1:]:
        align(genomes[0], genome)
    return 1e6 * (time.perf_counter() - start) / (len(genomes) - 1)


def wfa(scope: str, distance: str):  # noqa: ANN201
    def align(query: str, target: str) -> int:
        options = {"distance": "levenshtein"} if distance == "edit" else AFFINE
        return pywfa.WavefrontAligner(query, scope=scope, **options).wavefront_align(target)

    return align


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--length", type=int, default=30_000)
    parser.add_argument("--genomes", type=int, default=200)
    parser.add_argument("--changed", type=float, nargs="+", default=[0.0005, 0.002, 0.01], help="Shares of places that differ.")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    first = "".join("ACGT"[code] for code in rng.integers(0, 4, options.length))
    pairs, rows = options.genomes * (options.genomes - 1) // 2, []
    for share in options.changed:
        # Each copy has half of the changes between two of them.
        genomes = [mutated(rng, first, round(options.length * share / 2)) for _ in range(options.genomes)]
        with tempfile.TemporaryDirectory() as folder:
            path = write_fasta(Path(folder) / "genomes.fa", genomes, prefix="g")
            ours = [GPUALIGN, "nw", path, "--device", "cpu", "--threads", "1", "-q", "-o", Path(folder) / "out.tsv"]
            times = {what: seconds([*ours, *words]) for what, words in COMMANDS.items()}
        own = {what: 1e6 * time / pairs for what, time in times.items()}
        peers = {
            "edit distances": {
                "edlib": microseconds(lambda query, target: edlib.align(query, target, task="distance"), genomes),
                "WFA": microseconds(wfa("score", "edit"), genomes),
            },
            "scores": {"WFA": microseconds(wfa("score", "affine"), genomes)},
            "scores, identities and CIGARs": {"WFA": microseconds(wfa("full", "affine"), genomes)},
        }
        for what in COMMANDS:
            others = [peers[what].get(peer) for peer in ("WFA", "edlib")]
            cells = ["-" if other is None else f"{other:.0f} ({other / own[what]:.2f})" for other in others]
            rows.append([f"{100 * share:g} %", what, f"{times[what]:.2f}", f"{own[what]:.0f}", *cells])
            print(rows[-1], flush=True)
    header = ["places that differ", "what is computed", "gpualign, s", "gpualign, µs a pair", "WFA (pywfa), µs a pair", "edlib, µs a pair"]
    notes = [
        f"{machine()}; one core. {options.genomes} genomes of {options.length:,} letters, {pairs:,} pairs; one run each.",
        "gpualign: the whole command with one thread, FASTA to TSV; its time is also divided by the number of pairs.",
        f"Peers: calls from Python, the first genome with each of the {options.genomes - 1} others; in brackets their time divided by",
        "gpualign's.",
        "Nine in ten of the changed letters are replaced by a random one, the others deleted or replaced by two to four.",
        "Scores are 5/-4 with gaps of 10 and 1; WFA's penalties have the same best alignments.",
    ]
    finish("# Nearly equal genomes\n\n" + table(f"Every pair of {options.genomes} genomes", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
