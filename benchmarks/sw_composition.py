"""E-values of scores adjusted to compositions, beside blastp's on the same pairs, and hits by chance among reversed proteins.

python benchmarks/sw_composition.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 200] [--proteins 5000] [--output FILE]
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
from common import finish, machine, table
from sw_evalues import blastp, ours, records, write

LIMITS = (1e-3, 1e-2, 1.0, 10.0)
EXACT_EVALUE = 1e-170
"""Minimum E-value to compare: blastp prints smaller ones as 0."""


def spread(items: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    return [items[i] for i in np.linspace(0, len(items) - 1, count).astype(int)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--proteins", type=int, default=5000)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    queries = spread(records(arguments.query), arguments.queries)
    database = spread(records(arguments.database), arguments.proteins)
    text = f"# Scores adjusted to compositions\n\n{machine()}; {len(queries)} proteins against {len(database):,}.\n\n"
    with tempfile.TemporaryDirectory() as folder:
        query, real = write(Path(folder, "q.fa"), queries), write(Path(folder, "db.fa"), database)
        mine = ours(query, real, "--max-evalue", "10")
        rows = []
        for name, options in (("blastp", []), ("blastp -use_sw_tback", ["-use_sw_tback"])):
            theirs = blastp(query, real, *options)
            ratios = np.array(
                [
                    math.log(max(mine[pair][1], EXACT_EVALUE) / max(evalue, EXACT_EVALUE))
                    for pair, (_, evalue) in theirs.items()
                    if pair in mine
                ]
            )
            missing = [f"{sum(e <= limit for pair, (_, e) in theirs.items() if pair not in mine)}" for limit in (1e-5, 10)]
            shares = [f"{np.mean(np.abs(ratios) < math.log(factor)):.2%}" for factor in (2, 1.05)]
            rows.append([name, f"{len(ratios):,}", *shares, f"{np.mean(ratios < -math.log(1.05)):.2%}", *missing])
        heads = ["", "pairs of both", "within a factor of 2", "within 5 %", "5 % smaller", "missing to 1e-5", "missing to 10"]
        text += table(
            "Real proteins", heads, rows, ["E-values up to 10 beside those of the peer, and hits of the peer that are missing here."]
        )
        false = write(Path(folder, "reversed.fa"), [(name, letters[::-1]) for name, letters in database])
        found = {
            " ".join(options): ours(query, false, "--max-evalue", "10", *options)
            for options in (
                ("--composition", "none", "--mask", "none"),
                ("--composition", "none", "--mask", "seg"),
                ("--composition", "scale"),
                ("--composition", "adjust"),
                ("--composition", "adjust", "--mask", "seg"),
            )
        }
        found["blastp"] = blastp(query, false)
        rows = [
            [name, *(f"{sum(e <= limit for _, e in hits.values()) / len(queries):.3f}" for limit in LIMITS)] for name, hits in found.items()
        ]
        notes = ["Hits a query among the same proteins reversed, which relates them to nothing and keeps their composition."]
        text += table("Chance", ["", *(f"E <= {limit:g}" for limit in LIMITS)], rows, notes)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
