"""Sequences from a file to codes in memory, beside readers that make a Python object a record.

python benchmarks/reading.py 16s.fasta.gz [--megabytes 150] [--runs 5] [--output results/reading.md]

Files are made of the real genes, repeated: records of one line, lines of 80 letters, FASTQ, gzip; and of made-up receptors.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from common import finish, load, machine, medians, table
from near_sets import cdr3

from gpualign.core.reader import encode_all, read_raw


def ours(path: Path) -> None:
    with path.open("rb") as stream:
        encode_all([read_raw(stream, str(path))], "auto")


def biopython(path: Path) -> None:
    from Bio.SeqIO.FastaIO import SimpleFastaParser
    from Bio.SeqIO.QualityIO import FastqGeneralIterator

    parse = FastqGeneralIterator if ".fq" in path.name else SimpleFastaParser
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as text:
        for _ in parse(text):  # type: ignore[no-untyped-call,unused-ignore]
            pass


def pyfastx(path: Path) -> None:
    import pyfastx

    for _ in pyfastx.Fastx(str(path)):
        pass


def dnaio(path: Path) -> None:
    import dnaio

    with dnaio.open(path) as records:
        for _ in records:
            pass


def copied(path: Path) -> None:
    bytearray(path.read_bytes())


PEERS = {"Biopython": biopython, "pyfastx": pyfastx, "dnaio": dnaio}


def files(folder: Path, genes: list[str], megabytes: int) -> Iterator[tuple[str, Path]]:
    count = megabytes * 1_000_000 // sum(map(len, genes)) + 1
    records = [(f"g{k}_{i}", text) for k in range(count) for i, text in enumerate(genes)]
    path = folder / "line.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records))
    yield "genes, a line a record", path
    packed = folder / "line.fa.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 6))
    yield "the same, gzip", packed
    path = folder / "lines.fa"
    with path.open("w") as out:
        for name, text in records:
            out.write(f">{name}\n" + "".join(f"{text[at : at + 80]}\n" for at in range(0, len(text), 80)))
    yield "genes, lines of 80", path
    path = folder / "genes.fq"
    path.write_text("".join(f"@{name}\n{text}\n+\n{'I' * len(text)}\n" for name, text in records))
    yield "genes, FASTQ", path
    path = folder / "receptors.fa"
    path.write_text("".join(f">r{k}\n{text}\n" for k, text in enumerate(cdr3(1_000_000, 1))))
    yield "1,000,000 receptors", path


def seconds(read: Callable[[Path], None], path: Path) -> float:
    start = time.perf_counter()
    read(path)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fasta", help="real genes")
    parser.add_argument("--megabytes", type=int, default=150)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--output")
    options = parser.parse_args()
    genes = load(options.fasta)[1]
    peers = {name: read for name, read in PEERS.items() if name == "Biopython" or find_spec(name)}
    readers = {"gpualign": ours, "a copy": copied, **peers}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, path in files(Path(folder), genes, options.megabytes):
            found = medians({name: partial(seconds, read, path) for name, read in readers.items()}, options.runs)
            size = path.stat().st_size
            beside = [f"{found[name]:.2f} ({found[name] / found['gpualign']:.1f})" for name in readers if name != "gpualign"]
            rows.append([what, f"{size / 1e6:,.0f}", f"{found['gpualign']:.3f}", f"{size / found['gpualign'] / 1e9:.2f}", *beside])
            print(rows[-1], file=sys.stderr, flush=True)
    notes = [
        f"Medians of {options.runs} alternating runs, in brackets how many times as long as gpualign; one thread, files in the page cache.",
        "Ours reads, finds repeated ids, tells the alphabet and encodes; Biopython's parsers, pyfastx and dnaio (from PyPI) go over all",
        "records, and do none of that. A copy: the file is read into memory, and copied there once.",
    ]
    header = ["file", "MB", "gpualign, s", "GB/s", *(name for name in readers if name != "gpualign")]
    finish(f"# Reading\n\n{machine()}.\n\n" + table("From file to codes, seconds", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
