"""Whether the host keeps a GPU busy: copies and kernels of each batch of whole commands by the device's clock, figures and a picture.

python benchmarks/cuda_timeline.py [--records 12000] [--queries queries.fa --targets proteins.gpa]
    [--output benchmarks/results/cuda_timeline.md] [--chart benchmarks/results/cuda_timeline.svg]      (the chart: matplotlib)

The commands run in this process, twice; the second run finds kernels compiled and contexts open. Busy: the share of the time from the
start of the first kernel to the end of the last in which a kernel ran, or waited for multiprocessors that another one used. Under
`taskset -c 0,1` the host has two threads.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from common import finish, machine, made_up_dna, make_parser, table, texts_of, write_fasta

from gpualign.cli.main import run
from gpualign.core.common.dataclass import dataclass
from gpualign.cpu.processor import usable_cpu_count
from gpualign.gpu.alignment import engine
from gpualign.gpu.alignment.worker import FinishedBatch

COLOURS = {"upload": "#4c78a8", "kernels": "#72b7b2", "download": "#e45756"}
LENGTH = 1500

_ENGINE = engine.CudaEngine


@dataclass(frozen=True)
class Timeline:
    """A command's batches. whole: seconds of the command, in this process."""

    name: str
    spans: Sequence[FinishedBatch]
    whole: float

    @property
    def begin(self) -> float:
        return min(span.kernel_start for span in self.spans)

    @property
    def end(self) -> float:
        return max(span.download_start for span in self.spans)

    def gaps(self) -> list[float]:
        """Seconds between kernels in which none ran."""
        found, until = [], self.begin
        for begin, end in sorted((span.kernel_start, span.download_start) for span in self.spans):
            if begin > until:
                found.append(begin - until)
            until = max(until, end)
        return found

    def row(self) -> list[str]:
        gaps, seconds = self.gaps(), self.end - self.begin
        largest = f"{1e3 * max(gaps, default=0):.1f}"
        busy = f"{100 * (1 - sum(gaps) / seconds):.1f} %"
        return [self.name, str(len(self.spans)), f"{self.whole:.2f}", f"{seconds:.2f}", busy, str(len(gaps)), largest]


def commands(folder: Path, records: int, queries: str | None, targets: str | None) -> Iterator[tuple[str, list[str]]]:
    def genes(count: int) -> str:
        return write_fasta(folder / f"genes{count}.fa", texts_of(made_up_dna(count, LENGTH)))

    fewer = records // 4
    yield f"edit distances of {records:,} genes to .npy", ["nw", genes(records), "--edit", "-o", str(folder / "x.npy")]
    yield (
        f"edit distances and CIGARs of {fewer:,} genes to .tsv",
        ["nw", genes(fewer), "--edit", "--fields", "query,target,score,cigar", "-o", str(folder / "x.tsv")],
    )
    yield (
        f"affine identities and CIGARs of {fewer:,} genes to .tsv",
        ["nw", genes(fewer), "--fields", "query,target,identity,cigar", "-o", str(folder / "y.tsv")],
    )
    yield f"identities of {fewer:,} genes to .npy", ["nw", genes(fewer), "--value", "identity", "-o", str(folder / "z.npy")]
    if queries and targets:
        yield "a protein search", ["sw", queries, targets, "-o", str(folder / "x.m8")]


def measured(name: str, words: list[str]) -> Timeline:
    spans: list[FinishedBatch] = []

    engine.CudaEngine = partial(_ENGINE, on_finished=spans.append)  # type: ignore[misc, assignment]
    sys.argv = ["gpualign", *words, "--device", "cuda:0"]
    for _ in range(2):
        spans.clear()
        start = time.perf_counter()
        if run():
            raise SystemExit(f"failed: {words}")
        whole = time.perf_counter() - start
    return Timeline(name, spans, whole)


def draw(found: Sequence[Timeline], path: str) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    figure, every = plt.subplots(len(found), 1, figsize=(11, 2.2 * len(found)), layout="constrained", squeeze=False)
    for axes, line in zip(every[:, 0], found, strict=True):
        streams = sorted({span.stream_number for span in line.spans}, reverse=True)  # from below
        for place, stream in enumerate(streams):
            some = [span for span in line.spans if span.stream_number == stream]
            parts = (
                ("upload", [(s.upload_start, s.kernel_start) for s in some]),
                ("kernels", [(s.kernel_start, s.download_start) for s in some]),
                ("download", [(s.download_start, s.download_end) for s in some]),
            )
            for k, (part, pieces) in enumerate(parts):
                bars = [(begin - line.begin, end - begin) for begin, end in pieces]
                axes.broken_barh(bars, (2 - k + 3 * place - 0.4, 0.8), color=COLOURS[part], edgecolor="white", linewidth=0.3)
        names = [f"stream {s} {part}" for s in streams for part in ("download", "kernels", "upload")]
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.set_title(line.name, fontsize=9, loc="left")
    every[-1, 0].set_xlabel("s; a kernel waits for free multiprocessors while the one before it ends")
    figure.savefig(path)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--records", type=int, default=12_000)
    parser.add_argument("--queries")
    parser.add_argument("--targets")
    parser.add_argument("--chart")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        found = [measured(*command) for command in commands(Path(folder), options.records, options.queries, options.targets)]
    header = ["command", "batches", "whole, s", "first to last kernel, s", "busy", "gaps", "largest, ms"]
    text = f"# Batches of a GPU\n\n{machine()}.\n\n" + table(
        f"Whole commands, {usable_cpu_count()} processors", header, [line.row() for line in found], []
    )
    finish(text, options.output)
    if options.chart:
        draw(found, options.chart)


if __name__ == "__main__":
    main()
