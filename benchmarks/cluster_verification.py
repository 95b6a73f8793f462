"""Problems in the clusters of vsearch, MMseqs2 and CD-HIT by `gpualign cluster --verify`, and the records that `--fix` changes.

python benchmarks/cluster_verification.py --genes 16s.fasta.gz --proteins proteins.fasta.gz [--size 10000]
    [--output benchmarks/results/cluster_verification.md]

The sets, thresholds and commands are those of identity_command.py: genes at 97 %, proteins at 90 %, at least 0.8 of each record aligned.
Programs that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, table, write_fasta
from identity_command import COVERAGE, GREEDY, Records, programs, seconds, where
from near_sets import families

OUTPUTS = ("out.tsv", "out_cluster.tsv", "out.uc", "out.clstr")


def verified(records: Records, clusters: Path, folder: Path, options: argparse.Namespace, *words: str) -> tuple[dict[str, int], float]:
    """Results in the summary of a verification, and its processor seconds."""
    ours = [GPUALIGN, "cluster", records.path, "--min-identity", records.identity, "--min-coverage", COVERAGE, *where(options)]
    run = [*ours, "--verify", str(clusters), "--method", "greedy", "-q", "-o", "out.tsv", "--summary", "summary.json", *words]
    _, processor = seconds(run, folder, options.limit)
    results = json.loads((folder / "summary.json").read_text())["results"]
    return {name: number for name, number in results.items() if isinstance(number, int)}, processor


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--genes", metavar="FASTA", help="real genes")
    parser.add_argument("--proteins", metavar="FASTA", help="real proteins")
    parser.add_argument("--size", type=int, default=10_000, help="records of a set")
    parser.add_argument("--device", help="of gpualign")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--limit", type=float, default=1200, help="seconds of a command")
    options = parser.parse_args()
    sets = [("partial-genes", options.genes, "0.97"), ("proteins", options.proteins, "0.9")]
    if not (options.genes or options.proteins):
        parser.error("--genes or --proteins is needed")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, source, identity in sets:
            if source is None:
                continue
            path = write_fasta(folder / "records.fa", families(kind, options.size, 1, source), prefix="")
            records = Records(kind, options.size, path, identity)
            for program in programs(records, options):
                if program.work != GREEDY:
                    continue
                took, _ = seconds(program.words, folder / "made", options.limit)
                if not took < float("inf"):
                    continue  # it failed, or took too long
                clusters = next(folder / "made" / output for output in OUTPUTS if (folder / "made" / output).exists())
                found, processor = verified(records, clusters, folder / "verified", options)
                fixed, _ = verified(records, clusters, folder / "fixed", options, "--fix")
                after, _ = verified(records, folder / "fixed" / "out.tsv", folder / "verified", options)
                left = sum(after[kind] for kind in ("far", "near", "missing"))
                count = len(set(program.read(folder / "made", options.size).tolist()))
                numbers = [count, *(found[kind] for kind in ("far", "near", "missing")), fixed["changed"], fixed["clusters"], left]
                rows.append([str(records), f"`{program.name}`", *(f"{number:,}" for number in numbers), f"{processor:.1f}"])
                print(rows[-1], file=sys.stderr, flush=True)
    source = ", ".join(Path(path).name for path in (options.genes, options.proteins) if path)
    notes = [
        f"Genes at 97 % identity, proteins at 90 %, at least {COVERAGE} of each record aligned, as gpualign aligns them. Other programs"
        " score alignments and define identity in other ways, so some of the problems are differences of definitions.",
        "",
        "far: members beyond the threshold of their representative; near: pairs of representatives within it; missing: records in no"
        " cluster. The last columns are the problems after --fix, and the processor seconds of the whole command with --verify.",
    ]
    missing = [name for name in ("vsearch", "mmseqs", "cd-hit", "cd-hit-est") if not shutil.which(name)]
    notes += ["", f"Not on this machine: {', '.join(missing)}."] * bool(missing)
    header = ["records", "program", "clusters", "far", "near", "missing", "changed by --fix", "clusters after it", "problems after it"]
    text = f"# Clusters of other programs, verified\n\n{machine()}. Founders: {source}.\n\n"
    finish(text + table("What breaks the threshold", [*header, "processor s"], rows, notes), options.output)


if __name__ == "__main__":
    main()
