"""E-values beside those of blastp and ssearch36 on the same pairs, how many hits chance gives on shuffled sequences, and what masking
leaves of the hits among reversed ones, which keep their composition and repeats.

python benchmarks/sw_evalues.py proteins_query.fasta.gz proteins_db.fasta.gz [--queries 100] [--output benchmarks/results/sw_evalues.md]
"""

from __future__ import annotations

import csv
import math
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from common import finish, machine, make_parser, read_raw, require, table

RANGES = ((10.0, 1e-2), (1e-2, 1e-5), (1e-5, 1e-10), (1e-10, 1e-30), (1e-30, 1e-100))
LIMITS = (0.1, 1.0, 10.0)
REVERSED_LIMIT = 1e-3
PLAIN = ["-comp_based_stats", "0"]
MOST_HITS = "5000"
"""Maximum number of hits of a query that each program may report, more than any has."""


Hits = dict[tuple[str, str], tuple[int, float]]
"""Score and E-value by query and target."""


def records(path: str) -> list[tuple[str, str]]:
    """(id, letters); selenocysteine, which every program reads as another letter, as cysteine."""
    raw = read_raw(path)
    return [(name, text.upper().replace("U", "C")) for name, text in zip(raw.ids, raw.letters, strict=True)]


def spread(items: list[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """Some of the items, at equal distances; all if there are no more than `count`."""
    return [items[i] for i in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int)]


def write(path: Path, sequences: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in sequences))
    return path


def run(*command: object) -> str:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def ours(query: Path, database: Path, *options: str) -> Hits:
    command = [sys.executable, "-m", "gpualign", "sw", "-q", "--device", "cpu", "--no-traceback", "--max-hits", MOST_HITS, *options]
    rows = csv.DictReader(run(*command, query, database).splitlines(), delimiter="\t")
    return {(r["query"], r["target"]): (int(r["score"]), float(r["evalue"])) for r in rows}


def blastp(query: Path, database: Path, *more: str) -> Hits:
    """Score and E-value of each pair, from XML: tables have E-values of two digits, and of one below 0.01."""
    run("makeblastdb", "-in", database, "-dbtype", "prot", "-out", database.with_suffix(".blast"))
    options = ["-gapopen", "11", "-gapextend", "1", *more, "-evalue", "10", "-max_hsps", "1", "-max_target_seqs", MOST_HITS]
    text = run("blastp", "-query", query, "-db", database.with_suffix(".blast"), *options, "-outfmt", "5")
    found = {}
    for iteration in ElementTree.fromstring(text).iter("Iteration"):
        name = iteration.findtext("Iteration_query-def", "").split()[0]
        for hit in iteration.iter("Hit"):
            pair = name, hit.findtext("Hit_def", "").split()[0]
            found[pair] = int(hit.findtext(".//Hsp_score", "")), float(hit.findtext(".//Hsp_evalue", ""))
    return found


def ssearch36(query: Path, database: Path) -> Hits:
    options = ["-q", "-s", "BP62", "-f", "-11", "-g", "-1", "-b", MOST_HITS, "-E", "10", "-d", "0", "-T", "1"]
    text = run("ssearch36", *options, query, database)
    found = {}
    for part in re.split(r"^ *\d+>>>", text, flags=re.MULTILINE)[1:]:
        if "The best scores are:" not in part:
            continue
        for m in re.finditer(r"^(\S+) .*\( *\d+\) +(\d+) +[\d.]+ +(\S+)$", part.split("The best scores are:")[1], re.MULTILINE):
            found[part.split()[0], m[1]] = int(m[2]), float(m[3])
    return found


def of_reversed(query: Path, database: Path, proteins: int) -> str:
    """Hits of each program in reversed proteins."""
    found = {
        "gpualign --mask none": ours(query, database, "--mask", "none"),
        "gpualign --mask seg": ours(query, database, "--mask", "seg"),
        "ssearch36": ssearch36(query, database),
        "blastp -comp_based_stats 0 -seg no": blastp(query, database, *PLAIN, "-seg", "no"),
        "blastp -comp_based_stats 0 -seg yes": blastp(query, database, *PLAIN, "-seg", "yes"),
        "blastp": blastp(query, database),
    }
    rows = []
    for name, hits in found.items():
        counts = Counter(query for (query, _), (_, evalue) in hits.items() if evalue <= REVERSED_LIMIT)
        rows.append([name, f"{counts.total():,}", f"{len(counts)}", f"{max(counts.values(), default=0)}"])
    notes = [
        f"{proteins:,} proteins reversed, which relates them to nothing and keeps their composition and repeats: hits with E-values up to",
        f"{REVERSED_LIMIT:g}, queries that have some, the most of one query.",
    ]
    return table("Reversed", ["", "hits", "queries", "most"], rows, notes)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("query")
    parser.add_argument("database")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--reversed", type=int, default=4000, help="proteins of the database that are reversed")
    arguments = parser.parse_args()
    require("blastp", "ssearch36")
    some, database = spread(records(arguments.query), arguments.queries), records(arguments.database)
    rng = np.random.default_rng(1)

    def shuffle(sequences: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, "".join(rng.permutation(list(letters)))) for name, letters in sequences]

    text = f"# E-values\n\n{machine()}; {len(some)} real proteins against {len(database):,}; BLOSUM62, gaps 12/1 (BLAST's 11/1).\n\n"
    with tempfile.TemporaryDirectory() as folder:
        query, real = write(Path(folder, "q.fa"), some), write(Path(folder, "db.fa"), database)
        mine = ours(query, real, "--max-evalue", "10", "--mask", "none")
        peers = {"blastp": blastp(query, real, *PLAIN, "-seg", "no"), "ssearch36": ssearch36(query, real)}
        rows = []
        for high, low in RANGES:
            row = [f"{low:.0e} to {high:.0e}"]
            for found in peers.values():
                ratios = [
                    math.log10(evalue / found[pair][1])
                    for pair, (score, evalue) in mine.items()
                    if low <= evalue < high and pair in found and found[pair][0] == score and found[pair][1] > 0
                ]
                if len(ratios) > 10:
                    low_decile, *_, high_decile = statistics.quantiles(ratios, n=10)
                    row.append(f"{statistics.median(ratios):+.2f} ({low_decile:+.2f} to {high_decile:+.2f}; {len(ratios)})")
                else:
                    row.append("")
            rows.append(row)
        notes = [
            "Of pairs with the same score: the median of log10(gpualign's E-value / the peer's), the first and last decile, the number of",
            "pairs.",
            "blastp with -comp_based_stats 0 -seg no; ssearch36 fits its own parameters to each search, and corrects scores for lengths.",
        ]
        text += table("Beside peers, by gpualign's E-value", ["E-value", *peers], rows, notes)
        false_query, false = write(Path(folder, "sq.fa"), shuffle(some)), write(Path(folder, "shuffled.fa"), shuffle(database))
        rows = []
        for kind in ("table", "estimate"):
            found = ours(false_query, false, "--evalue", kind, "--mask", "none")
            row = [kind]
            for limit in LIMITS:
                hits = Counter(query for (query, _), (_, evalue) in found.items() if evalue <= limit)
                counts = [hits[name] for name, _ in some]
                row.append(f"{statistics.median(counts):g}, {statistics.mean(sorted(counts)[: len(counts) * 9 // 10]):.2f}, {max(counts)}")
            rows.append(row)
        notes = [
            "The letters of each query and of each protein shuffled: hits a query with at most that E-value, of which there should be as",
            "many; median, mean without the highest tenth, maximum. Queries of one-sided composition have more, since nothing is masked",
            "(--mask none) or adjusted.",
        ]
        text += table("Chance", ["--evalue", *(f"E <= {limit:g}" for limit in LIMITS)], rows, notes)
        part = spread(database, arguments.reversed)
        text += of_reversed(query, write(Path(folder, "reversed.fa"), [(name, letters[::-1]) for name, letters in part]), len(part))
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
