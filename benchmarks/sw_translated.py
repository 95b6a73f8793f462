"""Translated search beside blastx and tblastn: whole commands in turns, which hits each finds, and how many chance gives.

Coding DNA is made of real proteins: each in random codons of the standard code between random letters, every second one as its reverse
complement. blastx searches such DNA in the proteins of the database, tblastn the proteins in DNA made of a part of the database.

python benchmarks/sw_translated.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 20] [--output sw_translated.md]
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from Bio.Data.CodonTable import unambiguous_dna_by_id
from Bio.Seq import reverse_complement
from common import children_seconds, finish, machine, make_parser, require, table
from sw_evalues import records, spread, write

EVALUE = "1e-3"
FLANK = 150
WAYS = (
    ("default options", [], []),
    (
        "scores as they are, no masks",
        ["--composition", "none", "--mask", "none"],
        ["-comp_based_stats", "0", "-seg", "no", "-sum_stats", "F"],
    ),
)
"""Names of the comparisons, each with the options of gpualign and those of BLAST."""

NOTES = """Hits are pairs of records. *Times gpualign's*: the median over the runs of the command's time by gpualign's in the same run. *Of
gpualign's missed*: hits of gpualign that the command has not. *Others*: hits that gpualign has not. The bit scores of pairs that both have,
as BLAST rounds them: the same, and those where the command's is larger. BLAST's are smaller where its heuristics end an alignment early, or
find another one of the pair. By default both mask the low-complexity parts of queries and adjust scores to the compositions of each pair;
BLAST also joins the E-values of several alignments of a pair.
"""

Hits = dict[tuple[str, str], float]


def coding(proteins: Sequence[tuple[str, str]], rng: np.random.Generator) -> list[tuple[str, str]]:
    """Made-up DNA that codes for these proteins; unknown amino acids are NNN."""
    codons: dict[str, list[str]] = {}
    for codon, acid in unambiguous_dna_by_id[1].forward_table.items():
        codons.setdefault(acid, []).append(codon)
    found = []
    for number, (name, letters) in enumerate(proteins):
        before, after = ("".join(rng.choice(list("ACGT"), FLANK + number % 3)) for _ in range(2))
        text = before + "".join(str(rng.choice(codons.get(acid, ["NNN"]))) for acid in letters) + "TAA" + after
        found.append((name, reverse_complement(text) if number % 2 else text))
    return found


def timed(command: Sequence[object]) -> tuple[str, float]:
    """Output and processor seconds, which a loaded machine changes less than those of the clock."""
    before = children_seconds()
    text = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    return text, children_seconds() - before


def hits_of(text: str) -> Hits:
    """The best bit score of each pair in BLAST's table."""
    found: Hits = {}
    for line in text.splitlines():
        query, target, *_, bits = line.split("\t")
        found[query, target] = max(found.get((query, target), 0.0), float(bits))
    return found


def beside(title: str, commands: dict[str, list[object]], runs: int) -> str:
    """A table of commands, the first of which is ours."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    hits: dict[str, Hits] = {}
    for _ in range(runs):
        for name, command in commands.items():
            text, took = timed(command)
            hits[name] = hits_of(text)
            seconds[name].append(took)
    ours, *_ = commands
    rows = []
    for name, found in hits.items():
        took = statistics.median(seconds[name])
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds[ours], strict=True))
        both = [pair for pair in found if pair in hits[ours]]
        equal = sum(abs(found[pair] - hits[ours][pair]) < 1 for pair in both)
        more = sum(found[pair] > hits[ours][pair] + 1 for pair in both)
        counts = [len(found), len(hits[ours]) - len(both), len(found) - len(both), equal, more]
        rows.append([name, f"{took:.2f}", f"{ratio:.2f}", *(f"{count:,}" for count in counts)])
    header = ["", "processor s", "times gpualign's", "hits", "of gpualign's missed", "others", "same bit score", "larger one"]
    return table(title, header, rows, [])


def by_chance(database: list[tuple[str, str]], rng: np.random.Generator, folder: Path) -> str:
    """Hits between random DNA and shuffled proteins, in both directions."""
    dna = write(folder / "random.fna", [(f"r{k}", "".join(rng.choice(list("ACGT"), 900))) for k in range(200)])
    some = database[:: max(1, len(database) // 500)]
    proteins = write(folder / "shuffled.faa", [(name, "".join(rng.permutation(list(letters)))) for name, letters in some])
    rows = []
    for which, query, target, queries in (("query", dna, proteins, 200), ("target", proteins, dna, len(some))):
        words = ["sw", "-q", "--device", "cpu", "--no-traceback", "--max-evalue", "10", "--fields", "query,evalue"]
        text, _ = timed([sys.executable, "-m", "gpualign", *words, "--translate", which, query, target])
        evalues = np.array([float(line.split("\t")[1]) for line in text.splitlines()[1:]])
        rows.append(
            [f"--translate {which}", f"{queries}", *(f"{np.count_nonzero(evalues <= limit) / queries:.2f}" for limit in (0.1, 1, 10))]
        )
    notes = [
        f"200 random sequences of 900 nucleotides and {len(some)} proteins with their letters shuffled: hits a query with at most that",
        "E-value, with default options. As many are expected as the E-value says. E-values count one frame of six, as BLAST does; stop",
        "codons interrupt what chance can align.",
    ]
    return table("Chance", ["", "queries", "E <= 0.1", "E <= 1", "E <= 10"], rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--genes", type=int, default=2000, help="proteins of the database of which DNA is made for tblastn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    require("blastx")
    rng = np.random.default_rng(1)
    database = records(arguments.database)
    some, part = spread(records(arguments.query), arguments.queries), spread(database, arguments.genes)
    version = re.search(r"blastx: (\S+)", timed(["blastx", "-version"])[0])
    assert version is not None
    threads, runs = arguments.threads, arguments.runs
    about = f"{threads} {'thread' if threads == 1 else 'threads'}; processor seconds of whole commands, medians of {runs} runs in turns"
    scored = f"BLOSUM62, gaps 12/1 (BLAST's 11/1), E-values up to {EVALUE}, every hit that passes"
    text = f"# Translated search beside blastx and tblastn {version[1]}\n\n{machine()}; {about}. {scored}.\n\n"
    mine = [
        sys.executable,
        "-m",
        "gpualign",
        "sw",
        "-q",
        "--device",
        "cpu",
        "--threads",
        threads,
        "--max-evalue",
        EVALUE,
        "--format",
        "m8",
    ]
    theirs = ["-evalue", EVALUE, "-max_target_seqs", len(database), "-num_threads", threads, "-outfmt", "6"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        proteins, dna = write(folder / "proteins.fa", database), write(folder / "queries.fna", coding(some, rng))
        queries, genes = write(folder / "queries.faa", some), write(folder / "genes.fna", coding(part, rng))
        for path, kind in ((proteins, "prot"), (genes, "nucl")):
            timed(["makeblastdb", "-in", path, "-dbtype", kind, "-out", path.with_suffix("")])
        for program, which, query, target, size in (
            ("blastx", "query", dna, proteins, f"{len(database):,} proteins"),
            ("tblastn", "target", queries, genes, f"DNA of {len(part):,} proteins"),
        ):
            for title, our_options, their_options in WAYS:
                commands = {
                    " ".join(["gpualign sw --translate", which, *our_options]): [*mine, *our_options, "--translate", which, query, target],
                    " ".join([program, *their_options]): [program, "-query", query, "-db", target.with_suffix(""), *theirs, *their_options],
                }
                text += beside(f"{program}, {title}: {len(some)} queries, {size}", commands, runs)
        text += NOTES + "\n" + by_chance(database, rng, folder)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
