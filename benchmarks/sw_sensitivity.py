"""Hits among real proteins that rank above decoys, for each way to mask and to adjust scores, beside blastp and ssearch36. Decoys are the
proteins of the database reversed, which keeps their composition and low complexity, or shuffled.

python benchmarks/sw_sensitivity.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 200] [--output FILE]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import finish, machine, make_parser, require, table
from sw_composition import MASKS
from sw_evalues import Hits, blastp, ours, records, spread, ssearch36, write

OPTIONS = [("adjust", *masks) for masks in MASKS] + [("scale", *MASKS[0])] + [("none", *MASKS[k]) for k in (0, 1, 3)]
"""Values of --composition, --mask and --mask-target."""

DECOYS_PER_QUERY = (0.0, 0.1, 1.0)
PREFIX = "decoy_"


def searches(query: Path, database: Path) -> dict[str, Callable[[], Hits]]:
    """Each program's hits with E-values up to 10, by its name and options."""
    ways: dict[str, Callable[[], Hits]] = {}
    for values in OPTIONS:
        words = [word for pair in zip(("--composition", "--mask", "--mask-target"), values, strict=True) for word in pair]
        ways[" ".join(words)] = partial(ours, query, database, "--max-evalue", "10", *words)
    return ways | {
        "blastp": partial(blastp, query, database),
        "blastp -use_sw_tback": partial(blastp, query, database, "-use_sw_tback"),
        "ssearch36": partial(ssearch36, query, database),
    }


def make_decoys(real: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    """Decoys of proteins, by their kind."""
    rng = np.random.default_rng(1)
    return {
        "reversed": [(PREFIX + name, letters[::-1]) for name, letters in real],
        "shuffled": [(PREFIX + name, "".join(rng.permutation(list(letters)))) for name, letters in real],
    }


def hits_above_decoys(hits: Hits, queries: int) -> list[str]:
    """How many hits are no decoys and have E-values below those of more decoys than each of `DECOYS_PER_QUERY` allows."""
    evalues = {
        decoys: np.sort([evalue for (_, target), (_, evalue) in hits.items() if target.startswith(PREFIX) == decoys])
        for decoys in (False, True)
    }
    limits = [int(share * queries) for share in DECOYS_PER_QUERY]  # the next decoy is one too many
    return [
        f"{np.searchsorted(evalues[False], evalues[True][limit]):,}"
        if limit < len(evalues[True])
        else f"{len(evalues[False]):,} (of {len(evalues[True])} decoys)"
        for limit in limits
    ]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    require("blastp", "ssearch36")
    queries, database = spread(records(arguments.query), arguments.queries), records(arguments.database)
    text = f"# Real hits above decoys\n\n{machine()}; {len(queries)} real proteins as queries.\n\n"
    with tempfile.TemporaryDirectory() as folder:
        query = write(Path(folder, "q.fa"), queries)
        for kind, decoys in make_decoys(database).items():
            target = write(Path(folder, f"{kind}.fa"), database + decoys)
            rows = [[name, *hits_above_decoys(search(), len(queries))] for name, search in searches(query, target).items()]
            heads = ["", "above every decoy", *(f"above {share:g} decoys a query" for share in DECOYS_PER_QUERY[1:])]
            notes = [
                f"{len(database):,} real proteins and the same {kind}: hits among the real ones with smaller E-values than the decoys, of",
                "all queries together.",
            ]
            text += table(kind.capitalize(), heads, rows, notes)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
