"""Sequences from a file to codes in memory, beside the unpacking of the file alone and readers that make a Python object a record.

python benchmarks/reading.py 16s.fasta.gz [--megabytes 150] [--runs 5] [--threads 2] [--output benchmarks/results/reading.md]

Files are made of the real genes, repeated: records of one line, lines of 80 letters, FASTQ, reads, all compressions; and of made-up
receptors.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from common import finish, least, load, machine, make_parser, table
from isal import igzip
from near_sets import cdr3

from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.cpu.processor import usable_cpu_count

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSIONS = {
    ".gz": partial(gzip.compress, compresslevel=6),
    ".zst": zstd.compress,
    ".xz": partial(lzma.compress, preset=1),  # with others the repeated genes are seen as such
    ".bz2": bz2.compress,
}
OPENED = {".gz": igzip.open, ".zst": zstd.open, ".xz": lzma.open, ".bz2": bz2.open}


def ours(path: Path, threads: int = 1) -> None:
    with path.open("rb") as stream:
        encode_all([read_raw_records(stream, str(path), encode_eagerly=True, threads=threads)], "auto", threads=threads)


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


def xopen(path: Path) -> None:
    from xopen import xopen

    with xopen(path, "rb") as stream:
        drain(stream)


def unpacked(path: Path) -> None:
    with OPENED[path.suffix](path) as stream:
        drain(stream)


def drain(stream: BinaryIO) -> None:
    """Read to the end, one MB at a time."""
    block = bytearray(1 << 20)
    while stream.readinto(block):  # type: ignore[attr-defined]
        pass


def copied(path: Path) -> None:
    bytearray(path.read_bytes())


PEERS = {"Biopython": biopython, "pyfastx": pyfastx, "dnaio": dnaio}


def readers(path: Path, threads: int) -> dict[str, Callable[[Path], None]]:
    """Return the readers to time for a file, ours first: with one thread and, if several threads can read the file, with several."""
    peers = {name: read for name, read in PEERS.items() if name == "Biopython" or find_spec(name)}
    if path.suffix not in COMPRESSIONS:
        several = {f"{threads} threads": partial(ours, threads=threads)} if threads > 1 else {}
        return {"gpualign": ours, **several, "a copy": copied, **peers}
    if path.suffix != ".gz":
        return {"gpualign": ours, "unpacked": unpacked}
    return {"gpualign": ours, "unpacked": unpacked, **({"xopen": xopen} if find_spec("xopen") else {}), **peers}


def files(folder: Path, genes: list[str], megabytes: int) -> Iterator[tuple[str, Path, int]]:
    """Make the files; yields the description, path and bytes of text of each."""

    def written(what: str, name: str, text: str) -> tuple[str, Path, int]:
        (folder / name).write_text(text)
        return what, folder / name, len(text)

    def qualities() -> str:
        return "".join(drawn.choices("FFFFFF:,#", k=100))

    count = megabytes * 1_000_000 // sum(map(len, genes)) + 1
    records = [(f"g{k}_{i}", text) for k in range(count) for i, text in enumerate(genes)]
    what, path, size = written("genes, a line a record", "line.fa", "".join(f">{name}\n{text}\n" for name, text in records))
    yield what, path, size
    for suffix, pack in COMPRESSIONS.items():
        packed = path.with_name(path.name + suffix)
        packed.write_bytes(pack(path.read_bytes()))
        yield f"the same, {suffix}", packed, size
    lines = ("".join(f"{text[at : at + 80]}\n" for at in range(0, len(text), 80)) for _, text in records)
    yield written("genes, lines of 80", "lines.fa", "".join(f">{name}\n{text}" for (name, _), text in zip(records, lines, strict=True)))
    yield written("genes, FASTQ", "genes.fq", "".join(f"@{name}\n{text}\n+\n{'I' * len(text)}\n" for name, text in records))
    drawn, whole = random.Random(1), "".join(genes)
    places = [drawn.randrange(len(whole) - 100) for _ in range(megabytes * 4000)]
    yield written("reads of 100", "reads.fa", "".join(f">r{k}\n{whole[at : at + 100]}\n" for k, at in enumerate(places)))
    fastq = "".join(f"@r{k}\n{whole[at : at + 100]}\n+\n{qualities()}\n" for k, at in enumerate(places))
    yield written("reads of 100, FASTQ", "reads.fq", fastq)
    packed = folder / "reads.fq.gz"
    packed.write_bytes(COMPRESSIONS[".gz"](fastq.encode()))
    yield "the same, .gz", packed, len(fastq)
    yield written("1,000,000 receptors", "receptors.fa", "".join(f">r{k}\n{text}\n" for k, text in enumerate(cdr3(1_000_000, 1))))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta", help="real genes")
    parser.add_argument("--megabytes", type=int, default=150)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=usable_cpu_count(), help="of gpualign, beside one")
    options = parser.parse_args()
    genes = load(options.fasta)[1]
    columns = [f"{options.threads} threads", "a copy", "unpacked", "xopen", *PEERS]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, path, size in files(Path(folder), genes, options.megabytes):
            found = least({name: partial(read, path) for name, read in readers(path, options.threads).items()}, options.runs)
            own = found["gpualign"]
            beside = [f"{found[name]:.3f} ({found[name] / own:.1f})" if name in found else "" for name in columns]
            rows.append([what, f"{path.stat().st_size / 1e6:,.0f}", f"{own:.3f}", f"{size / own / 1e9:.2f}", *beside])
            print(rows[-1], file=sys.stderr, flush=True)
    notes = [
        f"The least of {options.runs} alternating runs, in brackets times as long as gpualign; files in the page cache; GB of text.",
        "Ours reads, finds repeated ids, tells the alphabet and encodes, in one thread, and unpacks large files in another; plain files",
        "are also read by several. Unpacked: by isal, zstd, lzma and bz2 in one thread, and thrown away; xopen the same, with its",
        "threads. Biopython's parsers, pyfastx and dnaio (from PyPI) go over all records, and do nothing else. A copy: the file is read",
        "into memory, and copied there once.",
    ]
    header = ["file", "MB", "gpualign, s", "GB/s", *columns]
    finish(f"# Reading\n\n{machine()}.\n\n" + table("From file to codes, seconds", header, rows, notes), options.output)


if __name__ == "__main__":
    main()
