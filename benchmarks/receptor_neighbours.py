"""Near CDR3s beside symscan, rapidfuzz and pwseqdist, which are packages for Python: whole processes, from the table to the pairs.

python benchmarks/receptor_neighbours.py --python PYTHON [--records 20000 1000000] [--runs 3] [--output receptor_neighbours.md]

The Python of --python has the packages (all from PyPI). rapidfuzz and pwseqdist compute every pair, of sets of up to --peer-records;
symscan, like gpualign, visits only strings that become equal by deletions. CDR3s are distinct and made up (near_sets.py). Numbers of pairs
must be equal.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, seconds, table
from receptors import near_count, write_table

READ = """
import csv, sys
import numpy
path, out = sys.argv[1:]
strings = numpy.unique([row["junction_aa"] for row in csv.DictReader(open(path), delimiter="\\t") if row["productive"] == "T"]).tolist()
"""
WRITE = """
open(out, "w").write(str(count))
"""
SYMSCAN = """
import symscan
rows, columns, distances = symscan.get_neighbors_within(strings, max_distance=1)
count = int((numpy.asarray(rows) != numpy.asarray(columns)).sum())
"""
RAPIDFUZZ = """
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
near = process.cdist(strings, strings, scorer=Levenshtein.distance, score_cutoff=1, workers=-1, dtype=numpy.uint8) <= 1
count = int(numpy.triu(near, 1).sum())
"""
PWSEQDIST = """
import pwseqdist as pw
distances = pw.apply_pairwise_rect(
    metric=pw.metrics.nb_vector_tcrdist, seqs1=strings, ncpus=2, use_numba=True, distance_matrix=pw.matrices.tcr_nb_distance_matrix,
    dist_weight=3, gap_penalty=4, ntrim=3, ctrim=2, fixed_gappos=True,
)
count = int(numpy.triu(distances <= 15, 1).sum())
"""
EDIT, TCRDIST = ["--edit", "--max-distance", "1"], ["--tcrdist", "--gap", "4", "--max-distance", "15"]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--records", type=int, nargs="*", default=[20_000, 1_000_000])
    parser.add_argument("--peer-records", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        receptors, ours, theirs = folder / "airr.tsv", folder / "ours.npz", folder / "theirs.txt"
        for count in options.records:
            write_table(receptors, count, repeats=0)
            for job, chosen, peer, script in (
                ("one edit", EDIT, "symscan", SYMSCAN),
                ("one edit", EDIT, "rapidfuzz", RAPIDFUZZ),
                ("TCRdist <= 15", TCRDIST, "pwseqdist", PWSEQDIST),
            ):
                if script is not SYMSCAN and count > options.peer_records:
                    continue
                words = [GPUALIGN, "nw", str(receptors), *chosen, "--format", "csr", "-o", str(ours)]
                peer_words = [options.python, "-c", READ + script + WRITE, str(receptors), str(theirs)]
                times = [(seconds(words), seconds(peer_words)) for _ in range(options.runs)]
                pairs, found = near_count(ours), int(theirs.read_text())
                if pairs != found:
                    raise SystemExit(f"{job} of {count:,}: {pairs:,} pairs by gpualign, {found:,} by {peer}")
                whole, other = (statistics.median(column) for column in zip(*times, strict=True))
                rows.append([job, f"{count:,}", f"{pairs:,}", f"{whole:.2f}", peer, f"{other:.2f}", f"{other / whole:.1f}"])
                print(rows[-1], file=sys.stderr, flush=True)
    modules = "import importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in ('symscan', 'rapidfuzz', 'pwseqdist')), sep=', ')"
    versions = subprocess.run([options.python, "-c", modules], check=True, capture_output=True, text=True).stdout.strip()
    notes = [f"Seconds of whole processes, medians of {options.runs} runs in turns; {versions}."]
    header = ["near pairs", "distinct CDR3s", "pairs", "gpualign", "peer", "its time", "ratio"]
    finish(f"# Near receptors beside packages for Python\n\n{machine()}.\n\n" + table("Near CDR3s", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
