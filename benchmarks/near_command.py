"""`gpualign nw` with thresholds, as whole commands beside whole runs of peers on the same files.

python benchmarks/near_command.py 16s.fasta.gz [--genes 20000] [--strings 100000 1000000] [--output benchmarks/results/near_command.md]

Peers: vsearch, sumatra and swarm (Debian), symscan and rapidfuzz (PyPI) in a process of their own; with --every-pair also `gpualign nw` of
every pair. Numbers of pairs are compared where both use edit distances. Peers that are not installed are left out, which the notes say.
"""

from __future__ import annotations

import gzip
import os
import shlex
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, medians, seconds, table, write_fasta
from near_sets import cdr3, genes, reads

SYMSCAN = """
import sys, symscan
path, most, out = sys.argv[1:]
strings = [line.strip() for line in open(path) if line[0] != ">"]
rows, columns, distances = symscan.get_neighbors_within(strings, max_distance=int(most))
with open(out, "w") as file:
    for row in zip(rows.tolist(), columns.tolist(), distances.tolist()):
        file.write("%d\\t%d\\t%d\\n" % row)
"""
RAPIDFUZZ = """
import sys, numpy, rapidfuzz
path, most, out = sys.argv[1:]
strings = [line.strip() for line in open(path) if line[0] != ">"]
found = rapidfuzz.process.cdist(
    strings, strings, scorer=rapidfuzz.distance.Levenshtein.distance, score_cutoff=int(most), dtype=numpy.uint16, workers=-1
)
with open(out, "w") as file:
    for row, column in zip(*numpy.nonzero(numpy.triu(found <= int(most), 1))):
        file.write("%d\\t%d\\t%d\\n" % (row, column, found[row, column]))
"""


def lines(path: str) -> int:
    """Pairs in a list, a header left out."""
    with open(path) as file:
        return sum(1 for line in file if not line.startswith("query"))


def sumatra(path: str, *options: str) -> dict[str, list[str]]:
    """The peer, where it is installed. It prints its pairs; ambiguous letters would leave a sequence out, so they become A."""
    command = ["sumatra", "-g", "-p", str(os.cpu_count()), *options]
    return {"sumatra": ["sh", "-c", f'{shlex.join(command)} "$0" > "$1"', path, "OUT"]} if shutil.which("sumatra") else {}


class Bench:
    def __init__(self, folder: str, runs: int) -> None:
        self.folder = Path(folder)
        self.runs = runs
        self.rows: list[list[str]] = []

    def compare(self, what: str, ours: list[str], peers: dict[str, list[str]], equal: bool, command: str = "nw") -> None:
        """Alternating runs. Peers are words with OUT for the output; equal: they write the same number of pairs, or of clusters."""
        out = str(self.folder / "ours.tsv")
        words = {"gpualign": [GPUALIGN, command, "-q", *ours, "-o", out]}
        words |= {
            name: [str(self.folder / f"{k}.tsv") if word == "OUT" else word for word in peer]
            for k, (name, peer) in enumerate(peers.items())
        }
        found = medians({name: lambda line=line: seconds(line) for name, line in words.items()}, self.runs)
        clusters = command == "cluster"
        count = Path(out).read_text().count(">") if clusters else lines(out)
        for k, name in enumerate(peers):
            if equal and lines(str(self.folder / f"{k}.tsv")) != count:
                raise SystemExit(f"{what}: {name} writes another number of lines")
        beside = ", ".join(f"{name} {found[name]:.2f} ({found[name] / found['gpualign']:.1f})" for name in peers)
        self.rows.append([what, f"{count:,} {'clusters' if clusters else 'pairs'}", f"{found['gpualign']:.2f}", beside or "-"])
        print(self.rows[-1], file=sys.stderr)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta", help="real genes")
    parser.add_argument("--genes", type=int, default=20_000, help="made-up genes")
    parser.add_argument("--some", type=int, default=200, help="real genes of which vsearch aligns all pairs")
    parser.add_argument("--strings", type=int, nargs="+", default=[100_000, 1_000_000], help="made-up receptors")
    parser.add_argument("--every-pair", action="store_true", help="also time every pair of the real genes, which takes minutes")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder, arguments.runs)
        plain = Path(folder, "real.fa")
        with (gzip.open if arguments.fasta.endswith(".gz") else open)(arguments.fasta, "rb") as packed:
            plain.write_bytes(packed.read())
        real, threads = str(plain), str(os.cpu_count())
        edits = ["--edit", "--max-distance", "45", "--allow-duplicates", real]
        every = [GPUALIGN, "nw", "-q", "--edit", "--allow-duplicates", real, "-o", str(Path(folder, "all.npy"))]
        count = plain.read_bytes().count(b">")
        bench.compare(
            f"{count:,} real genes, at most 45 edits",
            edits,
            {"every pair": every} if arguments.every_pair else {},
            False,
        )
        alike = ["--identity-def", "1", "--min-identity", "0.97", "--fields", "query,target,identity,cigar", "--allow-duplicates"]
        bench.compare(f"{count:,} real genes, at least 97 % identical, with CIGARs", [*alike, real], {}, False)
        some = Path(folder, "some.fa")  # vsearch aligns every pair
        some.write_text("".join(f">{record}" for record in plain.read_text().split(">")[1 : arguments.some + 1]))
        vsearch = ["vsearch", "--allpairs_global", str(some), "--id", "0.97", "--iddef", "1", "--threads", threads, "--qmask", "none"]
        vsearch += ["--userout", "OUT", "--userfields", "query+target+id1+caln"]
        peer = {"vsearch": vsearch} if shutil.which("vsearch") else {}
        peer |= sumatra(str(some), "-t", "0.97")
        bench.compare(f"the first {arguments.some} of these genes, at least 97 % identical, with CIGARs", [*alike, str(some)], peer, False)
        made = write_fasta(Path(folder, "genes.fa"), genes(arguments.genes, 1, arguments.fasta))
        bench.compare(f"{arguments.genes:,} made-up genes, at most 45 edits", ["--edit", "--max-distance", "45", made], {}, False)
        short = write_fasta(Path(folder, "reads.fa"), reads(3_000, 100, 1))
        fuzz = {"rapidfuzz": [sys.executable, "-c", RAPIDFUZZ, short, "5", "OUT"]} if find_spec("rapidfuzz") else {}
        of_reads = ["--edit", "--max-distance", "5", "--alphabet", "dna", short]
        bench.compare("3,000 reads of 100 letters, at most 5 edits", of_reads, fuzz, True)
        bench.compare(
            "3,000 reads of 100 letters, at most 5 edits (beside sumatra)", of_reads, sumatra(short, "-r", "-d", "-t", "5"), False
        )
        distinct_reads = sorted(set(reads(100_000, 100, 1)))
        distinct = write_fasta(Path(folder, "distinct.fa"), distinct_reads)
        swarm = ["swarm", "-d", "1", "-n", "-a", "1", "-t", threads, "-o", "OUT", distinct]
        ours = ["--edit", "--max-distance", "1", "--alphabet", "dna", "--format", "fasta", distinct]
        bench.compare(
            f"{len(distinct_reads):,} distinct reads of 100 letters, single-linkage clusters, at most 1 edit",
            ours,
            {"swarm": swarm} if shutil.which("swarm") else {},
            False,
            "cluster",
        )
        for count in arguments.strings:
            strings = write_fasta(Path(folder, "strings.fa"), cdr3(count, 1))
            for most in ("1", "2"):
                peer = {"symscan": [sys.executable, "-c", SYMSCAN, strings, most, "OUT"]} if find_spec("symscan") else {}
                ours = ["--edit", "--max-distance", most, "--alphabet", "protein", strings]
                bench.compare(f"{count:,} receptors, at most {most} {'edit' if most == '1' else 'edits'}", ours, peer, True)
        missing = [name for name in ("symscan", "rapidfuzz") if not find_spec(name)]
        missing += [name for name in ("vsearch", "sumatra", "swarm") if not shutil.which(name)]
        notes = [
            f"Seconds of whole processes, from the file to the list, medians of {arguments.runs} alternating runs; in brackets, how many",
            "times as long as gpualign. vsearch and sumatra score alignments differently (sumatra by longest common subsequence), so",
            "their pairs differ slightly from gpualign's; rapidfuzz and symscan return as many pairs.",
        ]
        notes += [f"Not on this machine: {', '.join(missing)}."] * bool(missing)
        text = f"# Near pairs\n\n{machine()}. Real genes: {Path(arguments.fasta).name}.\n\n"
        header = ["work", "gpualign's pairs or clusters", "gpualign, s", "peers, s (times as long)"]
        finish(text + table("Whole commands", header, bench.rows, notes), arguments.output)


if __name__ == "__main__":
    main()
