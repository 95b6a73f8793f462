"""The whole `gpualign sw` command on relatives, each hit with its CIGAR, beside `gpualign nw` on the same pairs and parasail.

python benchmarks/sw_hits.py 16s.fasta [--count 100] [--before BIN/gpualign] [--output results/sw_hits.md]

Two sets of genes against themselves: random records of the file, and families that evolve from them (near_sets.py). `sw` searches both
strands, `nw` aligns each pair once in the order of the input. parasail aligns a sample of the pairs on the plus strand, with a traceback.
Commands use one thread. before: an earlier version, which must write the same rows.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import parasail
from common import finish, load, machine, table
from near_sets import genes
from nw_command import GPUALIGN, run

FIELDS = "query,target,score,cigar"
ROUNDS, PEER_PAIRS = 3, 20
LENGTHS = range(1400, 1600)  # of the records that are drawn


def drawn(path: str, count: int) -> list[str]:
    """Random records of about the length of a 16S gene, in an order that the count does not change."""
    _, texts = load(path)
    records = [text for text in texts if len(text) in LENGTHS]
    random.Random(1).shuffle(records)
    return records[:count]


def parasail_seconds(texts: list[str]) -> float:
    """Seconds that a pair takes parasail, of a sample."""
    matrix, chosen = parasail.matrix_create("ACGT", 5, -4), random.Random(2)
    pairs = [chosen.sample(texts, 2) for _ in range(PEER_PAIRS)]
    start = time.process_time()
    for query, target in pairs:
        parasail.sw_trace_striped_sat(query, target, 16, 6, matrix).cigar.decode  # noqa: B018  a property that makes the text
    return (time.process_time() - start) / PEER_PAIRS


def measure(texts: list[str], label: str, before: str | None, folder: Path) -> list[str]:
    path, output = folder / "genes.fasta", folder / "x.tsv"
    path.write_text("".join(f">g{number}\n{text}\n" for number, text in enumerate(texts)))
    search = ["sw", str(path), "--max-evalue", "1e-10", "--threads", "1", "--format", "tsv", "--fields"]
    written: set[bytes] = set()

    def command(arguments: list[str], executable: str = GPUALIGN) -> tuple[float, str]:
        wall, _, notes = run(arguments, str(output), executable)
        return wall, notes

    def rows_of_search(executable: str) -> tuple[float, str]:
        result = command([*search, FIELDS], executable)
        written.add(output.read_bytes())
        return result

    jobs: dict[str, Callable[[], tuple[float, str]]] = {
        "now": lambda: rows_of_search(GPUALIGN),
        "scores": lambda: command([*search, "query,target,score"]),
        "nw": lambda: command(["nw", str(path), str(path), "--threads", "1", "--fields", FIELDS]),
    }
    if before:
        jobs["before"] = lambda: rows_of_search(before)
    results = [{name: job() for name, job in jobs.items()} for _ in range(ROUNDS)]
    if len(written) > 1:
        raise SystemExit(f"{label}: the versions write different rows")
    seconds = {name: statistics.median(round_[name][0] for round_ in results) for name in jobs}
    hits = int(re.search(r"([\d,]+) hits", results[0]["now"][1])[1].replace(",", ""))  # type: ignore[index]
    peer = parasail_seconds(texts) * hits
    values = [seconds.get("before"), seconds["now"], seconds["scores"], seconds["nw"], seconds["now"] / seconds["nw"], peer]
    return [label, f"{hits:,}", *("" if value is None else f"{value:.2f}" for value in values), f"{peer / seconds['now']:.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fasta", help="DNA records to draw from")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--before", help="gpualign of an earlier version")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    sets = {"real genes": drawn(arguments.fasta, arguments.count), "families": genes(arguments.count, 1, arguments.fasta)}
    header = ["set", "hits", "`sw` before", "`sw`", "`sw` without CIGARs", "`nw`", "`sw` / `nw`", "parasail", "parasail / `sw`"]
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(texts, label, arguments.before, Path(folder)) for label, texts in sets.items()]
    text = f"# Hits of relatives with their alignments, on one core\n\n{machine()}; one thread; parasail {version('parasail')}: "
    text += f"sw_trace_striped_sat for as many pairs, by a sample of {PEER_PAIRS}.\n\n"
    text += table(f"{arguments.count} genes of 1.5 kb against each other, seconds of a whole command", header, rows, [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
