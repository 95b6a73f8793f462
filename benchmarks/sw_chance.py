"""Hits by chance: among proteins reversed, which relates them to nothing and keeps their composition and low complexity, and shuffled, for
each way to mask and to adjust scores, beside blastp and ssearch36.

python benchmarks/sw_chance.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 200] [--decoys 4000] [--output FILE]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, require, table
from sw_evalues import records, spread, write
from sw_sensitivity import make_decoys, searches

LIMITS = (1e-3, 1e-2, 1.0, 10.0)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--decoys", type=int, default=4000)
    arguments = parser.parse_args()
    require("blastp", "ssearch36")
    queries = spread(records(arguments.query), arguments.queries)
    text = f"# Chance hits\n\n{machine()}; {len(queries)} real proteins as queries.\n\n"
    with tempfile.TemporaryDirectory() as folder:
        query = write(Path(folder, "q.fa"), queries)
        for kind, decoys in make_decoys(spread(records(arguments.database), arguments.decoys)).items():
            rows = []
            for name, search in searches(query, write(Path(folder, f"{kind}.fa"), decoys)).items():
                evalues = np.array([evalue for _, evalue in search().values()])
                counts = [int(np.sum(evalues <= limit)) for limit in LIMITS]
                rows.append([name, *(f"{count:,}" for count in counts), *(f"{count / len(queries):.2f}" for count in counts[2:])])
            heads = ["", *(f"E <= {limit:g}" for limit in LIMITS), *(f"E <= {limit:g}, a query" for limit in LIMITS[2:])]
            text += table(kind.capitalize(), heads, rows, [f"{len(decoys):,} {kind} proteins: hits of all queries together."])
            print(text)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
