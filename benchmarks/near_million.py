"""Near pairs and clusters of up to millions of made-up genes and proteins as whole commands, on whatever this machine has.

python benchmarks/near_million.py genes.fasta proteins.fasta [--folder sets] [--genes 20000 1000000] [--proteins 100000 1000000]
    [--only "45 edits"] [--limit 240] [--output benchmarks/results/near_million.md]

The files give the founders of the families that near_sets.py makes; more than a million genes are sets of a million from several seeds.
With --folder the sets are kept there and used again. --only runs the commands whose names contain its text.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

from common import GPUALIGN, finish, machine, make_parser, table
from near_sets import families, genes

_GENES_OF_A_SEED = 1_000_000
_ALIKE = ("--min-identity", "0.97", "--min-coverage", "0.8")
_GENE_COMMANDS = {
    "nw, 45 edits, csr": (("nw", "--edit", "--max-distance", "45", "--format", "csr"), "npz"),
    "nw, identity 0.97, coverage 0.8, CIGARs": (("nw", *_ALIKE, "--fields", "query,target,identity,cigar"), "tsv"),
    "cluster, identity 0.97, greedy": (("cluster", *_ALIKE, "--method", "greedy"), "tsv"),
    "cluster, identity 0.97, single": (("cluster", *_ALIKE, "--method", "single"), "tsv"),
}
_PROTEIN_COMMANDS = {
    "nw, identity 0.9, coverage 0.8": (
        ("nw", "--min-identity", "0.9", "--min-coverage", "0.8", "--fields", "query,target,identity"),
        "tsv",
    ),
}


def made(folder: Path, kind: str, count: int, founders: str) -> Path:
    """The file with a set of `count` records, written if it is not there."""
    path = folder / f"{kind}{count}.fasta"
    if not path.exists():
        sizes = [min(_GENES_OF_A_SEED, count - start) for start in range(0, count, _GENES_OF_A_SEED)] if kind == "genes" else [count]
        parts = [path.with_suffix(f".part{seed}") for seed in range(len(sizes))]
        with ProcessPoolExecutor() as pool:
            list(pool.map(write_part, parts, repeat(kind), sizes, range(len(sizes)), repeat(founders)))
        with parts[0].open("ab") as out:
            for part in parts[1:]:
                with part.open("rb") as stream:
                    shutil.copyfileobj(stream, out, 1 << 24)
                part.unlink()
        parts[0].replace(path)
    return path


def write_part(path: Path, kind: str, count: int, part: int, founders: str) -> None:
    """Write the records of one seed."""
    records = genes(count, part + 1, founders) if kind == "genes" else families(kind, count, part + 1, founders)
    path.write_text("".join(f">{kind}{part * _GENES_OF_A_SEED + k}\n{record}\n" for k, record in enumerate(records)))


def timed(words: list[str], limit: float) -> tuple[float, float, str]:
    """(seconds, GB of memory at most, the last line that the command says). Raises subprocess.TimeoutExpired."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=messages)
        timer = threading.Timer(limit, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        messages.seek(0)
        text = messages.read().strip()
    if os.WIFSIGNALED(status):
        raise subprocess.TimeoutExpired(words, limit)
    if status:
        raise SystemExit(f"{' '.join(words)}: {text}")
    return seconds, usage.ru_maxrss / 1e6, text.splitlines()[-1].partition(": ")[2]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("gene_founders")
    parser.add_argument("protein_founders")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--genes", type=int, nargs="*", default=[20_000, 1_000_000])
    parser.add_argument("--proteins", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--only", default="", help="run the commands whose names contain this text")
    parser.add_argument("--limit", type=float, default=240, help="seconds after which a command is stopped")
    parser.add_argument("--make-only", action="store_true", help="only make the sets in --folder")
    options = parser.parse_args()
    sets = [("genes", count) for count in options.genes] + [("proteins", count) for count in options.proteins]
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        for kind, count in sets:
            path = made(folder, kind, count, options.gene_founders if kind == "genes" else options.protein_founders)
            if options.make_only:
                continue
            for name, (words, suffix) in (_GENE_COMMANDS if kind == "genes" else _PROTEIN_COMMANDS).items():
                if options.only not in name:
                    continue
                try:
                    seconds, memory, summary = timed(
                        [GPUALIGN, *words, str(path), "-o", str(Path(temporary, f"out.{suffix}"))], options.limit
                    )
                    rows.append([f"{count:,} {kind}", name, f"{seconds:.1f}", f"{memory:.1f}", summary])
                except subprocess.TimeoutExpired:
                    rows.append([f"{count:,} {kind}", name, f"over {options.limit:g}", "", "stopped"])
                print(rows[-1], file=sys.stderr, flush=True)
    if rows:
        header = ["set", "command", "seconds", "GB of memory", "summary"]
        text = table(
            "Whole commands",
            header,
            rows,
            [
                "Seconds of whole processes, one run each, and their largest resident memory. Summary: the last line of the command;",
                "its pairs are all of the set.",
            ],
        )
        finish(f"# Near pairs by the million\n\n{machine()}.\n\n{text}", options.output)


if __name__ == "__main__":
    main()
