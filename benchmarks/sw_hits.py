"""The whole `gpualign sw` command, each hit with its CIGAR: relatives, beside `gpualign nw` on the same pairs, and proteins with scores
adjusted to each pair. Alignments beside those of parasail.

python benchmarks/sw_hits.py 16s.fasta --proteins queries.fasta.gz proteins.fasta.gz [--count 100] [--before BIN/gpualign]
    [--output benchmarks/results/sw_hits.md]

Two sets of genes against themselves: random records of the file, and families that evolve from them (near_sets.py). `sw` searches both
strands, `nw` aligns each pair once in the order of the input. parasail aligns a sample of the pairs on the plus strand, with a traceback.
The proteins are the first queries of their file against a database. parasail aligns a sample of the hits, without adjustment.
Commands use one thread. before: an earlier version, which must write the same rows.
"""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import parasail
from common import GPUALIGN, children_seconds, finish, load, machine, make_parser, read_raw, table, write_fasta
from near_sets import genes
from nw_command import run

FIELDS = "query,target,score,cigar"
ROUNDS, PEER_PAIRS, PROTEINS = 3, 20, 40
LENGTHS = range(1400, 1600)  # of the records that are drawn


def drawn(path: str, count: int) -> list[str]:
    """Random records of about the length of a 16S gene, in an order that the count does not change."""
    _, texts = load(path)
    records = [text for text in texts if len(text) in LENGTHS]
    random.Random(1).shuffle(records)
    return records[:count]


def records(path: str) -> tuple[list[str], list[str]]:
    """Return (ids, sequences) of a file of proteins."""
    raw = read_raw(path)
    return list(raw.ids), [letters.upper() for letters in raw.letters]


def parasail_seconds(pairs: list[tuple[str, str]], matrix: parasail.Matrix, gap_open: int, gap_extend: int) -> float:
    """Seconds that parasail takes for a pair, of a sample."""
    start = time.process_time()
    for query, target in pairs:
        parasail.sw_trace_striped_sat(query, target, gap_open, gap_extend, matrix).cigar.decode  # noqa: B018  a property that makes the text
    return (time.process_time() - start) / len(pairs)


class Searches:
    """Runs searches in turns, of this version and an earlier one."""

    def __init__(self, search: list[str], output: Path, before: str | None) -> None:
        self._search = [*search, "--threads", "1", "--format", "tsv", "--fields"]
        self._output, self._before = output, before

    def measure(self, label: str, others: dict[str, list[str]]) -> tuple[dict[str, float], int, list[list[str]]]:
        """Return (median seconds of each command, hits, rows of the hits): `now`, `scores` without CIGARs, others, maybe `before`."""
        commands = {"now": [*self._search, FIELDS], "scores": [*self._search, "query,target,score"], **others}
        seconds: dict[str, list[float]] = {name: [] for name in [*commands, *(["before"] if self._before else [])]}
        written: set[bytes] = set()
        for _ in range(ROUNDS):
            for name, times in seconds.items():
                start = children_seconds()
                _, _, notes = run(commands[name if name in commands else "now"], str(self._output), self._executable(name))
                times.append(children_seconds() - start)
                if name in ("now", "before"):
                    written.add(self._output.read_bytes())
                    found = notes
        if len(written) > 1:
            raise SystemExit(f"{label}: the versions write different rows")
        hits = int(re.search(r"([\d,]+) hits", found)[1].replace(",", ""))  # type: ignore[index]
        rows = [line.split("\t") for line in written.pop().decode().splitlines()[1:]]
        return {name: statistics.median(times) for name, times in seconds.items()}, hits, rows

    def _executable(self, name: str) -> str:
        return self._before if name == "before" and self._before else GPUALIGN


def texts(values: list[float | None]) -> list[str]:
    return ["" if value is None else f"{value:.2f}" for value in values]


def measure_relatives(genes: list[str], label: str, before: str | None, folder: Path) -> list[str]:
    path = write_fasta(folder / "genes.fasta", genes, prefix="g")
    searches = Searches(["sw", path, "--max-evalue", "1e-10"], folder / "x.tsv", before)
    seconds, hits, _ = searches.measure(label, {"nw": ["nw", path, path, "--threads", "1", "--fields", FIELDS]})
    chosen, matrix = random.Random(2), parasail.matrix_create("ACGT", 5, -4)
    sample = [chosen.sample(genes, 2) for _ in range(PEER_PAIRS)]
    peer = parasail_seconds([(query, target) for query, target in sample], matrix, 16, 6) * hits
    now = seconds["now"]
    values = [seconds.get("before"), now, seconds["scores"], seconds["nw"], now / seconds["nw"], peer]
    return [label, f"{hits:,}", *texts(values), f"{peer / now:.1f}"]


def measure_proteins(queries: str, database: str, before: str | None, folder: Path) -> list[str]:
    """The row of the first queries against the database."""
    names, proteins = records(queries)
    path = write_fasta(folder / "queries.fasta", proteins[:PROTEINS], ids=names[:PROTEINS])
    search = ["sw", path, database, "--max-evalue", "10"]
    seconds, hits, rows = Searches(search, folder / "x.tsv", before).measure("proteins", {})
    sequence = dict(zip(names, proteins, strict=True)) | dict(zip(*records(database), strict=True))
    sample = random.Random(3).sample(rows, 10 * PEER_PAIRS)
    pairs = [(sequence[row[0]], sequence[row[1]]) for row in sample]
    peer = parasail_seconds(pairs, parasail.blosum62, 12, 1) * hits
    now, without = seconds["now"], seconds["scores"]
    return [f"{hits:,}", *texts([seconds.get("before"), now, without, now - without, peer])]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta", help="DNA records to draw from")
    parser.add_argument("--proteins", nargs=2, metavar=("QUERIES", "DATABASE"), required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--before", help="gpualign of an earlier version")
    arguments = parser.parse_args()
    sets = {"real genes": drawn(arguments.fasta, arguments.count), "families": genes(arguments.count, 1, arguments.fasta)}
    header = ["set", "hits", "`sw` before", "`sw`", "`sw` without CIGARs", "`nw`", "`sw` / `nw`", "parasail", "parasail / `sw`"]
    adjusted_header = ["hits", "`sw` before", "`sw`", "`sw` without CIGARs", "CIGARs", "parasail"]
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure_relatives(texts, label, arguments.before, Path(folder)) for label, texts in sets.items()]
        adjusted = measure_proteins(arguments.proteins[0], arguments.proteins[1], arguments.before, Path(folder))
    text = (
        f"# Hits with their alignments, on one core\n\n{machine()}; one thread; parasail {version('parasail')}: sw_trace_striped_sat for "
    )
    text += "as many pairs, by a sample. Processor seconds of a whole command, medians of 3 runs in turns.\n\n"
    text += table(f"{arguments.count} genes of 1.5 kb against each other", header, rows, [])
    text += table(f"{PROTEINS} proteins against a database, E-values up to 10, scores adjusted", adjusted_header, [adjusted], [])
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
