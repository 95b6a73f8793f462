"""Rows with identities and CIGARs: how fast results of tiles become bands, and bands text, without the engine that makes them.

python benchmarks/rows.py 16s_gold.fasta.gz [--genes 300] [--threads 1,2] [--folder .] [--runs 5] [--output FILE]

The pairs of some real genes are aligned once on the CPU; their results are then fed again and again, as tiles of a larger set.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from common import BUDGET, Count, finish, head, least, load, machine, make_parser, table

from gpualign.core.alignment.band_results import BandResults
from gpualign.core.alignment.task import Detail, Task
from gpualign.core.alignment.tile_results import Runs, TileAlignments
from gpualign.core.execution.band_collectors import PairCollector, bands_in_order
from gpualign.core.execution.runner import compute_pair_bands, plan_task
from gpualign.core.execution.totals import NullProgress
from gpualign.core.output.formats.base import RowFormat
from gpualign.core.output.formats.paf import Paf
from gpualign.core.output.formats.sam import Sam
from gpualign.core.output.formats.tsv import Tsv
from gpualign.core.output.resumable_files import TextFile
from gpualign.core.output.table import TableSink
from gpualign.core.output.writer import ByteWriter
from gpualign.core.planning.tile_plan import Pairing, Plan, Tile, TileLimits, make_plan
from gpualign.core.results.columns import parse_fields
from gpualign.core.results.filter import Filter
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import DNA
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine

TARGETS = 1200
BAND_ROWS = 60

FORMATS: dict[str, RowFormat] = {
    "tsv: query,target,identity": Tsv(parse_fields("query,target,identity")),
    "tsv: query,target,identity,cigar": Tsv(parse_fields("query,target,identity,cigar")),
    "paf": Paf(),
    "sam": Sam(),
}
CIGARS = "tsv: query,target,identity,cigar"


class Tiles:
    """Results of all pairs of `TARGETS` records, each a copy of one of the genes."""

    def __init__(self, genes: SequenceSet) -> None:
        scoring = make_scoring(DNA, ScoringOptions())
        prepared = CpuEngine(None).prepare(Task(genes, genes, scoring, detail=Detail.PATH), BUDGET)
        bands = list(compute_pair_bands(plan_task(prepared, Pairing.ALL), prepared, NullProgress()))
        self.scores = np.concatenate([band.scores for band in bands])
        self.statistics = np.concatenate([band.statistics for band in bands])
        runs = [band.runs for band in bands if band.runs is not None]
        held = np.cumsum([0, *(len(one.data) for one in runs)])
        self.starts = np.concatenate([one.starts + before for one, before in zip(runs, held, strict=False)])
        self.sizes = np.concatenate([one.sizes for one in runs])
        self.data = np.concatenate([one.data for one in runs])
        self.of = np.arange(TARGETS) % len(genes)
        codes = [genes.codes[genes.offsets[k] : genes.offsets[k + 1]] for k in self.of.tolist()]
        offsets = np.cumsum([0, *map(len, codes)], dtype=np.int64)
        self.records = SequenceSet("repeated", [f"{genes.ids[k]}.{n}" for n, k in enumerate(self.of)], np.concatenate(codes), offsets)
        self.task = Task(self.records, self.records, scoring, detail=Detail.PATH)

    def plan(self, cells: int) -> Plan:
        """cells: of a tile, about."""
        limits = TileLimits(1 << 60, 0, self.task.pair_bytes, 1, cells, BAND_ROWS, self.task.path_bytes_per_letter)
        return make_plan(self.records.lengths, self.records.lengths, Pairing.ALL, limits)

    def result(self, tile: Tile) -> TileAlignments:
        """As an engine makes it: in memory of its own."""
        queries, targets = self.of[tile.query_start : tile.query_stop, None], self.of[None, tile.targets]
        sizes = self.sizes[queries, targets]
        starts = np.cumsum(sizes, dtype=np.int64).reshape(sizes.shape) - sizes
        moved = np.repeat((self.starts[queries, targets] - starts).reshape(-1), sizes.reshape(-1))
        data = self.data[moved + np.arange(len(moved))]
        return TileAlignments(tile, self.scores[queries, targets], self.statistics[queries, targets], Runs([data], starts, sizes))


def gathered(task: Task, plan: Plan, results: list[TileAlignments]) -> Iterator[BandResults]:
    """The first bands of a plan, from the results of their tiles."""
    bands = bands_in_order(plan, (result for result in results), partial(PairCollector, task, 1), NullProgress())
    for _ in range(results[-1].tile.band.index + 1):
        yield next(bands)


def gathering(tiles: Tiles, runs: int) -> str:
    rows = []
    for cells in (1 << 60, 5 * 10**9):
        plan = tiles.plan(cells)
        some = [tile for tile in plan.tiles() if tile.band.index < 3]
        results = [tiles.result(tile) for tile in some]
        pairs = sum(result.scores.size for result in results)
        took = least({"all": lambda plan=plan, results=results: [None for _ in gathered(tiles.task, plan, results)]}, runs)["all"]
        held = sum(len(result.runs.data) for result in results if result.runs is not None)
        rows.append([str(len(some) // 3), f"{took / pairs * 1e9:.0f}", f"{held / took / 1e9:.1f}"])
    notes = ["Scores, statistics and runs; one thread."]
    return table("From tiles to bands", ["tiles of a band", "ns a pair", "GB/s of runs"], rows, notes)


def write(
    stream: ByteWriter, tiles: Tiles, bands: list[BandResults], format: RowFormat, threads: int, filter: Filter | None = None
) -> None:
    sink = TableSink(stream, tiles.task, format, filter, threads=threads)
    sink.begin(tiles.plan(1 << 60))
    for band in bands:
        sink.write(band)
    sink.finish()


def texts(tiles: Tiles, bands: list[BandResults], threads: list[int], runs: int) -> str:
    pairs, rows = sum(band.scores.size for band in bands), []
    untraced = [replace(band, runs=None) for band in bands]
    cases: list[tuple[str, RowFormat, Filter | None]] = [(name, format, None) for name, format in FORMATS.items()]
    cases.append((f"{CIGARS}, of --min-identity 0.8", FORMATS[CIGARS], Filter(min_identity=0.8)))
    for name, format, filter in cases:
        some = bands if format.alignment_detail is Detail.PATH else untraced
        write(count := Count(), tiles, some, format, 1, filter)
        actions = {str(n): partial(write, Count(), tiles, some, format, n, filter) for n in threads}
        found = least(actions, runs)
        rates = [f"{count.bytes / found[str(n)] / 1e9:.2f} ({found[str(n)] / pairs * 1e9:.0f})" for n in threads]
        rows.append([name, f"{count.bytes / pairs:.0f}", *rates])
        print(rows[-1], flush=True)
    titles = [f"{n} thread{'s' if n > 1 else ''}: GB/s (ns a pair)" for n in threads]
    return table("From bands to text, to nowhere", ["rows", "bytes a pair", *titles], rows, [])


def files(tiles: Tiles, bands: list[BandResults], threads: list[int], folder: Path, runs: int) -> str:
    write(count := Count(), tiles, bands, FORMATS[CIGARS], 1)
    block = bytes(2 << 20)

    def settle(file: int) -> None:
        if os.fstat(file).st_dev == os.stat(folder).st_dev:
            os.fsync(file)

    def rows_to(path: Path, number: int) -> None:
        with path.open("wb") as stream:
            text = TextFile(stream, None)
            write(text, tiles, bands, FORMATS[CIGARS], number)
            text.finish()
            settle(stream.fileno())

    def plain(path: Path) -> None:
        with path.open("wb") as stream:
            for _ in range(count.bytes // len(block)):
                stream.write(block)
            settle(stream.fileno())

    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory(dir=folder) as disk:
        places = {"/dev/null": Path(os.devnull), "/dev/shm": Path(memory, "x"), "a disk, with fsync": Path(disk, "x")}
        for name, path in places.items():
            actions = {"plain": partial(plain, path), **{str(n): partial(rows_to, path, n) for n in threads}}
            found = least(actions, runs)
            rows.append([name, *(f"{found[key] * 1e9 / count.bytes:.2f}" for key in actions)])
            print(rows[-1], flush=True)
    titles = ["the same bytes, plain", *(f"rows, {n} thread{'s' if n > 1 else ''}" for n in threads)]
    note = f"{count.bytes / 1e9:.2f} GB of {CIGARS}; the first column is the share of the file."
    return table("Text to files, seconds a GB", ["to", *titles], rows, [note])


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("fasta")
    parser.add_argument("--genes", type=int, default=300)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    threads = [int(number) for number in arguments.threads.split(",")]
    tiles = Tiles(head(load(arguments.fasta)[0], arguments.genes))
    text = f"# Rows of alignments\n\n{machine()}; {len(os.sched_getaffinity(0))} processors\n\n"
    text += f"Every pair of the first {arguments.genes} genes, repeated; the least of {arguments.runs} alternating runs.\n\n"
    text += gathering(tiles, arguments.runs)
    plan = tiles.plan(1 << 60)
    results = [tiles.result(tile) for tile in plan.tiles() if tile.band.index < -(-arguments.genes // BAND_ROWS)]
    bands = list(gathered(tiles.task, plan, results))
    text += texts(tiles, bands, threads, arguments.runs)
    text += files(tiles, bands, threads, arguments.folder, arguments.runs)
    finish(text, arguments.output)


if __name__ == "__main__":
    main()
