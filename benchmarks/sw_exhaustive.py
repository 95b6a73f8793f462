"""Protein search beside DIAMOND without seeds and with them, and beside blastp: whole commands in turns, and which hits each finds.

python benchmarks/sw_exhaustive.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 20] [--diamond diamond] [--runs 3]
    [--output benchmarks/results/sw_exhaustive.md]

All use BLOSUM62 with BLAST's gaps 11/1, without masks and without adjusting scores, so that hits can be compared. Databases are indexed
beforehand by each program, which is not timed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from common import finish, machine, make_parser, require
from sw_evalues import records, write
from sw_translated import beside

EVALUE = "1e-3"

NOTES = """Hits are pairs of records with an E-value of at most 0.001. *Times gpualign's*: the median over the runs of the command's time by
gpualign's in the same run. *Of gpualign's missed*: hits of gpualign that the command has not. *Others*: hits that gpualign has not. The bit
scores of pairs that both have: the same, and those where the command's is larger.
"""


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--diamond", default="diamond")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    require("blastp", given.diamond)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        proteins = records(given.database)
        queries = write(folder / "queries.faa", records(given.query)[: given.queries])
        database = write(folder / "database.faa", proteins)
        for command in (
            [sys.executable, "-m", "gpualign", "index", "-q", database, "-o", folder / "database.gpa"],
            [given.diamond, "makedb", "--quiet", "--in", database, "-d", folder / "diamond"],
            ["makeblastdb", "-dbtype", "prot", "-in", database, "-out", folder / "blast"],
        ):
            subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        ours = ["sw", "-q", "--device", "cpu", "--threads", "1", "--composition", "none", "--mask", "none", "--max-evalue", EVALUE]
        plain = ["--comp-based-stats", "0", "--masking", "0", "-k0", "-e", EVALUE, "-p", "1", "--quiet"]
        diamond = [given.diamond, "blastp", "-q", queries, "-d", folder / "diamond", *plain]
        blast = ["blastp", "-query", queries, "-db", folder / "blast", "-evalue", EVALUE, "-comp_based_stats", "0", "-seg", "no"]
        commands: dict[str, list[object]] = {
            "`gpualign sw`": [sys.executable, "-m", "gpualign", *ours, "--format", "m8", queries, folder / "database.gpa"],
            "`diamond blastp --swipe`": [*diamond, "--swipe"],
            "`diamond blastp`": diamond,
            "`blastp`": [*blast, "-outfmt", "6", "-max_target_seqs", str(len(proteins))],
        }
        text = beside(f"{given.queries} queries, {len(proteins):,} proteins", commands, given.runs)
    versions = [subprocess.run([given.diamond, "version"], capture_output=True, text=True).stdout.strip()]
    versions.append(subprocess.run(["blastp", "-version"], capture_output=True, text=True).stdout.split("\n")[0])
    head = f"# Exhaustive protein search\n\n{machine()}; {', '.join(versions)}; one thread, processor seconds.\n\n"
    finish(head + text + NOTES, given.output)


if __name__ == "__main__":
    main()
