"""New genomes beside many old ones: from a set on disk and from the alignments, and beside snp-dists and fn6.

python benchmarks/dist_sets.py [--old 200000] [--new 100] [--sites 30000] [--runs 5] [--fn6 PYTHON] [--peer-old 2000]
    [--snp-dists PATH] [--output benchmarks/results/dist_sets.md]

Genomes are those of a tree: each is one of the 500 before it with 4 changes on average, every tenth lacks 2 % of
its calls. Commands run in turns; the first turn of each is not counted, so that files are in the page cache. fn6 is a package of the Python
that --fn6 names, and snp-dists is looked for on the PATH; both compare all pairs, of --peer-old genomes and the new ones.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, table, usage, write_outbreak

FN6 = """
import sys
import fn6
from pathlib import Path
records = [record.split("\\n", 1) for record in Path(sys.argv[1]).read_text().split(">")[1:]]
folder = Path(sys.argv[2])
folder.mkdir(exist_ok=True)
for title, letters in records:
    (folder / f"{title}.fasta").write_text(f">{title}\\n{letters}")
files = [str(folder / f"{title}.fasta") for title, _ in records]
if sys.argv[3] == "compute":
    print(len(fn6.compute(files, reference=records[0][1].replace("\\n", ""), cutoff=int(sys.argv[4]))))
"""


def split(path: Path, old: Path, new: Path, count: int) -> None:
    """Divide a file of records of one line each into the first `count` records and the others."""
    with path.open("rb") as file, old.open("wb") as first, new.open("wb") as second:
        first.writelines(islice(file, 2 * count))
        shutil.copyfileobj(file, second, 1 << 24)


def in_turns(actions: dict[str, Callable[[], tuple[float, float, float]]], runs: int) -> dict[str, tuple[float, float, float]]:
    """Return the medians of (seconds, seconds of processors, 10^6 bytes) of each action."""
    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in actions}
    for turn in range(runs + 1):
        for name, action in actions.items():
            found = action()
            if turn:
                seen[name].append(found)
    return {name: tuple(statistics.median(column) for column in zip(*found, strict=True)) for name, found in seen.items()}  # type: ignore[misc]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--old", type=int, default=200_000)
    parser.add_argument("--new", type=int, default=100)
    parser.add_argument("--sites", type=int, default=30_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--max-distance", type=int, default=12)
    parser.add_argument("--fn6", metavar="PYTHON")
    parser.add_argument("--peer-old", type=int, default=2_000)
    parser.add_argument("--snp-dists", default=shutil.which("snp-dists"))
    parser.add_argument("--folder", help="where the files are made; 1.5 times the letters fit there")
    options = parser.parse_args()
    near = ["--max-distance", options.max_distance]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_outbreak(folder / "all.aln", options.old + options.new, options.sites)
        split(folder / "all.aln", folder / "old.aln", folder / "new.aln", options.old)
        (folder / "all.aln").unlink()
        made = usage([GPUALIGN, "index", "old.aln", "-o", "sites.gps"], folder)

        def list_pairs(old: str, to: str) -> tuple[float, float, float]:
            return usage([GPUALIGN, "dist", "new.aln", "--add", old, *near, "--device", "cpu", "-o", to], folder)

        def append() -> tuple[float, float, float]:
            added = usage([GPUALIGN, "index", "new.aln", "--append", "sites.gps"], folder)
            usage([GPUALIGN, "index", "sites.gps", "--withdraw", "new.txt"], folder)
            return added

        ids = [line[1:] for line in (folder / "new.aln").read_text().splitlines() if line.startswith(">")]
        (folder / "new.txt").write_text("\n".join(ids) + "\n")
        found = in_turns(
            {
                "list the pairs, old ones from the set": lambda: list_pairs("sites.gps", "set.tsv"),
                "list the pairs, old ones from FASTA": lambda: list_pairs("old.aln", "text.tsv"),
            },
            options.runs,
        )
        if (folder / "set.tsv").read_bytes() != (folder / "text.tsv").read_bytes():
            raise SystemExit("the set gives other pairs than the alignment")
        found |= in_turns({"add the new ones to the set": append}, options.runs)
        size = (folder / "sites.gps").stat().st_size
        rows = [["make the set (once)", *(f"{value:.1f}" for value in made)]]
        rows += [[what, *(f"{value:.2f}" for value in values[:2]), f"{values[2]:.0f}"] for what, values in found.items()]
        title = f"{options.new:,} new genomes of {options.sites:,} sites beside {options.old:,} old ones, pairs <= {options.max_distance}"
        notes = [
            machine(),
            f"Medians of {options.runs} runs in turns with a warm page cache; the set has {size / 1e9:.2f} GB, the FASTA"
            f" {(folder / 'old.aln').stat().st_size / 1e9:.2f} GB. Memory includes the pages of the mapped set.",
        ]
        text = table(title, ["what", "s", "processor s", "MB"], rows, notes)
        (folder / "old.aln").unlink()
        write_outbreak(folder / "all.aln", options.peer_old + options.new, options.sites)
        split(folder / "all.aln", folder / "old.aln", folder / "new.aln", options.peer_old)
        usage([GPUALIGN, "index", "old.aln", "-o", "few.gps"], folder)
        peers = {
            "gpualign: the new ones, old ones from a set": lambda: list_pairs("few.gps", "set.tsv"),
            "gpualign: all pairs": lambda: usage([GPUALIGN, "dist", "all.aln", *near, "--device", "cpu", "-o", "all.tsv"], folder),
        }
        if options.fn6:
            words = [options.fn6, "-c", FN6, "all.aln", "genomes"]
            peers["fn6: all pairs, of files of one genome"] = lambda: tuple(  # type: ignore[return-value]
                whole - making
                for whole, making in zip(
                    usage([*words, "compute", options.max_distance], folder), usage([*words, "write", 0], folder), strict=True
                )
            )
        if options.snp_dists:
            peers["snp-dists -j 2: all pairs"] = lambda: usage([options.snp_dists, "-q", "-j", "2", "all.aln"], folder)
        rows = [[what, *(f"{value:.2f}" for value in values[:2])] for what, values in in_turns(peers, options.runs).items()]
        title = f"{options.new:,} new genomes beside {options.peer_old:,} old ones, and peers that compare all pairs again"
        text += table(title, ["what", "s", "processor s"], rows, ["Writing files of one genome for fn6 is not counted."])
    finish(text, options.output)


if __name__ == "__main__":
    main()
