"""E-values of scores adjusted to compositions, beside blastp's on the same pairs, for each way to mask; and what adjusting costs.

python benchmarks/sw_composition.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 200] [--proteins 5000] [--output FILE]
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import children_seconds, finish, machine, make_parser, require, table
from sw_evalues import blastp, ours, records, run, spread, write

EXACT_EVALUE = 1e-170
"""Minimum E-value to compare: blastp prints smaller ones as 0."""

MASKS = (("none", "none"), ("seg", "none"), ("none", "seg"), ("seg", "seg"))
PEERS: tuple[tuple[str, ...], ...] = ((), ("-use_sw_tback",), ("-use_sw_tback", "-seg", "yes"))


def processor_seconds(*arguments: str | Path) -> float:
    """The least of three runs of a command of gpualign."""
    times = []
    for _ in range(3):
        before = children_seconds()
        run(sys.executable, "-m", "gpualign", *arguments)
        times.append(children_seconds() - before)
    return min(times)


def cost(query: Path, database: Path, queries: int, targets: int) -> str:
    """Whole commands with and without adjusted scores: with default options from FASTA, and by their maximum E-value from an index."""
    index = database.with_suffix(".gpa")
    run(sys.executable, "-m", "gpualign", "index", "-q", database, "-o", index)
    commands = [("FASTA", "default", database, ()), *(("index", limit, index, ("--max-evalue", limit)) for limit in ("1e-3", "1", "10"))]
    rows = []
    for kind, limit, target, options in commands:
        plain, adjusted = (
            processor_seconds("sw", "-q", "--device", "cpu", *options, "--mask", "none", "--composition", method, query, target)
            for method in ("none", "adjust")
        )
        rows.append([kind, limit, f"{plain:.2f}", f"{adjusted:.2f}", f"{adjusted / plain:.2f}"])
    notes = [
        f"{queries} of the queries against {targets:,} proteins: processor time of the whole command, which also aligns the hits, the",
        "least of three. By default these are the 25 best of each query.",
    ]
    return table("Cost", ["database", "--max-evalue", "--composition none, s", "--composition adjust, s", "ratio"], rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--proteins", type=int, default=5000)
    arguments = parser.parse_args()
    require("blastp")
    queries = spread(records(arguments.query), arguments.queries)
    database = spread(records(arguments.database), arguments.proteins)
    text = f"# Scores adjusted to compositions\n\n{machine()}; {len(queries)} proteins against {len(database):,}.\n\n"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        query, target = write(Path(folder, "q.fa"), queries), write(Path(folder, "db.fa"), database)
        found = {masks: ours(query, target, "--max-evalue", "10", "--mask", masks[0], "--mask-target", masks[1]) for masks in MASKS}
        for options in PEERS:
            theirs = blastp(query, target, *options)
            for (of_queries, of_targets), mine in found.items():
                both = [(mine[pair][1], evalue) for pair, (_, evalue) in theirs.items() if pair in mine]
                ratios = np.array([math.log(max(one, EXACT_EVALUE) / max(other, EXACT_EVALUE)) for one, other in both])
                missing = [f"{sum(e <= limit for pair, (_, e) in theirs.items() if pair not in mine)}" for limit in (1e-5, 10)]
                shares = [f"{np.mean(np.abs(ratios) < math.log(factor)):.2%}" for factor in (2, 1.05)]
                more = [f"{np.mean(ratios < -math.log(1.05)):.2%}", f"{np.mean(ratios > math.log(1.05)):.2%}"]
                name = " ".join(["blastp", *options])
                rows.append([name, f"--mask {of_queries} --mask-target {of_targets}", f"{len(both):,}", *shares, *more, *missing])
        heads = [
            "",
            "",
            "pairs of both",
            "within a factor of 2",
            "within 5 %",
            "5 % smaller",
            "5 % larger",
            "missing to 1e-5",
            "missing to 10",
        ]
        notes = ["E-values up to 10 beside those of the peer, and hits of the peer that are missing here."]
        text += table("Real proteins", heads, rows, notes)
        few, every = spread(queries, 10), records(arguments.database)
        text += cost(write(Path(folder, "few.fa"), few), write(Path(folder, "every.fa"), every), len(few), len(every))
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
