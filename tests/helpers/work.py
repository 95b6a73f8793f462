"""Short ways to make sequences, tasks and runs in tests."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from gpualign.core.alignment.task import Detail, EndGaps, Mode, Task
from gpualign.core.alignment.tile_results import TileAlignments
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing, make_plan
from gpualign.core.scoring.scoring import Scoring
from gpualign.core.sequences.loading import encode_all, read_raw_records
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine


class Collect:
    """Collects results of tiles, in any order: scores[query][target], and how often each pair was delivered."""

    def __init__(self, plan):
        self.plan = plan
        self.scores = np.zeros((plan.query_count, plan.target_count), dtype=np.int64)
        self.delivered = np.zeros((plan.query_count, plan.target_count), dtype=np.int64)

    def accept(self, result):
        rows = slice(result.tile.query_start, result.tile.query_stop)
        self.scores[rows, result.tile.targets] = result.scores
        self.delivered[rows, result.tile.targets] += 1


def sequence_set(arrays, source="test"):
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(a) for a in arrays], out=offsets[1:])
    codes = np.concatenate([np.asarray(a, dtype=np.uint8) for a in arrays])
    return SequenceSet(source, [f"s{i}" for i in range(len(arrays))], codes, offsets)


def real_genes(folder, count):
    """The first records of the real 16S set, skipping the test if there is no such file."""
    path = folder / "16s_gold.fasta.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not among the real data")
    with path.open("rb") as stream:
        _, (genes,) = encode_all([read_raw_records(stream, path.name, allow_duplicates=True)], "dna")
    return SequenceSet(genes.source, genes.ids[:count], genes.codes[: genes.offsets[count]], genes.offsets[: count + 1])


def records(sequences):
    return [sequences.codes[a:b] for a, b in zip(sequences.offsets[:-1], sequences.offsets[1:], strict=True)]


def scoring(table, gap_open, gap_extend, match=None, mismatch=None):
    return Scoring("test", np.asarray(table, dtype=np.int64), gap_open, gap_extend, match, mismatch)


def two_valued(letters, match, mismatch, gap_open, gap_extend):
    return scoring(np.where(np.eye(letters, dtype=bool), match, mismatch), gap_open, gap_extend, match, mismatch)


def edit(letters):
    return Scoring("edit", np.eye(letters, dtype=np.int64) - 1, 1, 1, 0, -1, edit=True)


class CollectPaths(Collect):
    """Also collects statistics[query, target] and paths[query, target], strings of "=XID"."""

    def __init__(self, plan):
        super().__init__(plan)
        self.statistics = {}
        self.paths = {}

    def accept(self, result):
        super().accept(result)
        for row, query in enumerate(range(result.tile.query_start, result.tile.query_stop)):
            for column, target in enumerate(result.tile.targets):
                if target < result.tile.pairing.first_target(query):
                    continue
                if isinstance(result, TileAlignments):
                    self.statistics[query, int(target)] = tuple(int(x) for x in result.statistics[row, column])
                if isinstance(result, TileAlignments) and result.runs is not None:
                    start, size = result.runs.starts[row, column], result.runs.sizes[row, column]
                    self.paths[query, int(target)] = expand(result.runs.data[start : start + size])


def expand(runs):
    return "".join("=XID"[run & 3] * ((int(run) >> 2) + 1) for run in runs)


def collect(prepared, pairing=Pairing.ALL, tile_cells=None, keep=Collect):
    """Run a prepared task and return its results, in a `Collect`.

    tile_cells: size of the tiles; None: as the engine prefers
    keep: class that collects the results
    """
    limits = prepared.limits
    if tile_cells:
        limits = replace(limits, lane_count=1, tile_cells=tile_cells)
    plan = make_plan(prepared.task.queries.lengths, prepared.task.targets.lengths, pairing, limits)
    kept = keep(plan)
    for result in prepared.run(plan.tiles()):
        kept.accept(result)
    return kept


def run_paths(
    queries,
    targets,
    scheme,
    end_gaps=EndGaps.PENALISED,
    pairing=Pairing.ALL,
    engine=None,
    memory=1 << 30,
    detail=Detail.PATH,
    tile_cells=None,
):
    """Align by an engine, through the planner, and return a `CollectPaths`."""
    engine = engine or CpuEngine(1)
    task = Task(queries, targets, scheme, detail=detail, end_gaps=end_gaps)
    return collect(engine.prepare(task, Budget.from_total(memory)), pairing, tile_cells, CollectPaths)


def run_scores(queries, targets, scheme, pairing=Pairing.ALL, engine=None, memory=1 << 30, tile_cells=None, mode=Mode.GLOBAL):
    """Scores of the pairs of `pairing` by an engine, through the planner: int64[queries][targets]."""
    engine = engine or CpuEngine(1)
    task = Task(queries, targets, scheme, mode)
    return collect(engine.prepare(task, Budget.from_total(memory)), pairing, tile_cells).scores


class RecordingReporter:
    """Reporter that keeps the notes, warnings and details of a job."""

    def __init__(self):
        self.notes, self.details = [], []

    def note(self, text):
        self.notes.append(text)

    warn = note

    def detail(self, text):
        self.details.append(text)


def at_once(*works):
    """Call each function in a thread of its own, all at the same time. Raises the first error that one of them raises."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    running = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if failures:
        raise failures[0]
