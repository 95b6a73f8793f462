"""Searches by the CUDA engine against the CPU engine: on the host everywhere, on a device where there is one."""

import filecmp
from dataclasses import replace

import numpy as np
import pytest
from command import gpualign
from host_device import HostDevice, name_of
from work import collect, records, run_scores, scoring, sequence_set, two_valued

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.planning.memory_budget import Budget
from gpualign.core.planning.tile_plan import Pairing
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.sequences.alphabet import PROTEIN
from gpualign.core.sequences.sequence_set import SequenceSet
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.gpu.alignment import engine as engine_module
from gpualign.gpu.alignment.engine import CudaEngine
from gpualign.gpu.alignment.families import one_thread_per_pair as threads
from gpualign.gpu.alignment.families import warp_chain as chain


class Best:
    """Keeps the best of each query."""

    def __init__(self, targets, top):
        self.ranks, self.top, self.found = targets.file_positions, top, {}

    def accept(self, result):
        assert result.targets.shape == result.scores.shape
        assert result.scores.shape[1] <= self.top
        for row, query in enumerate(range(result.tile.query_start, result.tile.query_stop)):
            hits = zip(result.scores[row].tolist(), result.targets[row].tolist(), strict=True)
            self.found.setdefault(query, []).extend((-score, self.ranks[target]) for score, target in hits if score > 0)

    def finish(self):
        self.found = {query: sorted(hits)[: self.top] for query, hits in self.found.items()}


def search(queries, targets, scheme, top, engine, tile_cells=None):
    task = Task(queries, targets, scheme, Mode.LOCAL, top_count=top)
    prepared = engine.prepare(task, Budget.from_total(1 << 30))
    best = collect(prepared, Pairing.ALL, tile_cells, lambda plan: Best(targets, top))
    best.finish()
    return best.found


def expected(queries, targets, scheme, top):
    scores = run_scores(queries, targets, scheme, engine=CpuEngine(2), mode=Mode.LOCAL)
    ranks = targets.file_positions.tolist()
    return {q: sorted((-s, r) for s, r in zip(row.tolist(), ranks, strict=True) if s > 0)[:top] for q, row in enumerate(scores)}


def shuffled(rng, arrays):
    """A set whose order is not that of its file."""
    made = sequence_set(arrays)
    return SequenceSet(made.source, made.ids, made.codes, made.offsets, rng.permutation(len(arrays)))


@pytest.mark.parametrize("family", [threads, chain], ids=name_of)
@pytest.mark.parametrize("scheme", ["affine", "linear", "wide", "64 bits"])
def test_hits(rng, device, force, family, scheme):
    force(family)
    weights = {
        "affine": (5, -4, 16, 6),
        "linear": (2, -3, 4, 4),
        "wide": (500, -400, 1600, 600),
        "64 bits": (4 * 10**7, -(10**7), 10**8, 10**7),
    }
    on_host = isinstance(device, HostDevice)
    longest = 60 if on_host else 500
    if scheme == "64 bits" and on_host:
        longest = 90  # 90 letters are worth more than 32 bits hold
    queries = sequence_set([rng.integers(0, 4, rng.integers(longest - 20, longest + 1)) for _ in range(5)])
    # Ties: short targets over few letters, and copies.
    targets = [rng.integers(0, 4, rng.integers(1, longest + 1)) for _ in range(70 if on_host else 900)]
    targets += targets[:10] + [records(queries)[0]] * 3
    targets = shuffled(rng, targets)
    scheme = two_valued(4, *weights[scheme])
    for top in (1, 7, 1000):
        assert search(queries, targets, scheme, top, CudaEngine([device])) == expected(queries, targets, scheme, top)


def test_hits_of_any_tiles_and_little_memory(rng):
    queries, targets = (sequence_set([rng.integers(0, 4, rng.integers(1, 60)) for _ in range(n)]) for n in (9, 80))
    scheme = two_valued(4, 2, -3, 7, 2)
    known = expected(queries, targets, scheme, 6)
    for memory, cells in ((1 << 28, 2000), (1 << 19, None), (1 << 28, 40_000)):
        device = HostDevice(reported=memory)
        assert search(queries, targets, scheme, 6, CudaEngine([device]), cells) == known
        assert device.used == 0
    assert search(queries, targets, scheme, 6, CpuEngine(2), 3000) == known


@pytest.mark.parametrize("reported", [1 << 28, 1 << 20], ids=["resident", "in batches"])
def test_uploads_stay_within_host_memory(rng, monkeypatch, reported):
    """A database of any size is uploaded in parts that the budget holds."""
    queries, targets = (sequence_set([rng.integers(0, 4, 100) for _ in range(n)]) for n in (2, 6000))
    task = Task(queries, targets, two_valued(4, 2, -3, 7, 2), Mode.LOCAL, top_count=6)
    known, largest = expected(queries, targets, task.scoring, 6), {}
    for scratch in (1 << 30, 150_000):
        pinned = []
        monkeypatch.setattr(HostDevice, "allocate_pinned", lambda self, size, sizes=pinned: sizes.append(size) or np.zeros(size, np.uint8))
        engine = CudaEngine([HostDevice(reported=reported)])
        best = collect(engine.prepare(task, Budget(1 << 20, scratch)), Pairing.ALL, None, lambda plan: Best(targets, 6))
        best.finish()
        assert best.found == known
        largest[scratch] = max(pinned)
    assert largest[150_000] <= 2 * 25_000 < largest[1 << 30]  # of three batches in two copies; a buffer may be twice as large as needed


def test_only_hits_come_back(rng, monkeypatch):
    queries, targets = (sequence_set([rng.integers(0, 4, 50) for _ in range(n)]) for n in (4, 300))
    from host_device import HostStream

    fetched = []
    download = HostStream.download
    monkeypatch.setattr(
        HostStream, "download", lambda self, target, address: (fetched.append(target.nbytes), download(self, target, address))
    )
    search(queries, targets, two_valued(4, 5, -4, 16, 6), 3, CudaEngine([HostDevice()]))
    assert sum(fetched) == 4 * 3 * 8


@pytest.mark.gpu
def test_queries_and_targets_of_any_length(rng, real_device):
    """Past the 2,048 letters of Munekawa's queries, and targets of 100,000."""
    long = rng.integers(0, 20, 100_000)
    queries = sequence_set([long[:40_000], long[50_000:53_000], rng.integers(0, 20, 2048), rng.integers(0, 20, 1)])
    targets = sequence_set([long, *(rng.integers(0, 20, rng.integers(1, 9000)) for _ in range(300)), long[51_000:52_000]])
    scheme = make_scoring(PROTEIN, ScoringOptions())
    assert search(queries, targets, scheme, 20, CudaEngine([real_device])) == expected(queries, targets, scheme, 20)


@pytest.mark.gpu
def test_a_database_larger_than_the_device_allows(rng, monkeypatch, real_device):
    """Panels of targets are brought batch by batch, two in flight."""
    from gpualign.gpu.alignment import worker

    monkeypatch.setattr(worker, "MAX_SEQUENCE_MEMORY_FRACTION", 0.0)  # else the set would need half of a real device's memory
    queries, targets = (sequence_set([rng.integers(0, 20, rng.integers(50, 900)) for _ in range(n)]) for n in (20, 20_000))
    table = rng.integers(-8, 9, (20, 20))
    scheme = scoring((table + table.T) // 2, 12, 2)
    assert search(queries, targets, scheme, 25, CudaEngine([real_device])) == expected(queries, targets, scheme, 25)


@pytest.mark.slow
@pytest.mark.gpu
@pytest.mark.parametrize("format", ["tsv", "m8", "paf", "sam", "aln"])
@pytest.mark.usefixtures("real_device")
def test_both_engines_write_the_same_bytes(tmp_path, real_data, format):
    proteins = real_data / "proteins_db.fasta.gz"
    if not proteins.exists():
        pytest.skip("proteins_db.fasta.gz is not among the real data")
    lines = gpualign("index", proteins, "-o", tmp_path / "db.gpa").stderr
    assert b"20,000 protein records" in lines
    import gzip

    with gzip.open(proteins, "rt") as stream:
        text = ("\n" + stream.read()).split("\n>")[1:]
    (tmp_path / "queries.fa").write_text("".join(f">{record}\n" for record in text[::400]))
    for engine in ("cpu", "cuda"):
        gpualign("sw", "-q", "--device", engine, tmp_path / "queries.fa", tmp_path / "db.gpa", "--format", format, "-o", tmp_path / engine)
    assert filecmp.cmp(tmp_path / "cpu", tmp_path / "cuda", shallow=False)
    assert (tmp_path / "cpu").stat().st_size > 10_000


@pytest.mark.parametrize(("seconds", "letters_per_second"), [(0, 1e7), (0, 1e8), (1e-3, 1e10), (1e-3, 1e7)])
def test_a_band_takes_as_long_as_reading_the_targets(rng, monkeypatch, seconds, letters_per_second):
    monkeypatch.setattr(engine_module, "_SEARCH_BAND_SECONDS", seconds)
    monkeypatch.setattr(engine_module, "_LETTERS_PER_SECOND", letters_per_second)
    queries, targets = (sequence_set([rng.integers(0, 20, 100) for _ in range(count)]) for count in (1200, 200))
    task = Task(queries, targets, make_scoring(PROTEIN, ScoringOptions()), Mode.LOCAL, top_count=5)
    limits = CudaEngine([HostDevice()]).prepare(task, Budget.from_total(1 << 30)).limits
    rate, letters = limits.tile_cells / engine_module.TILE_SECONDS, 200 * 100
    rows = rate * max(seconds, letters / letters_per_second) / (100 * letters)
    assert limits.band_rows == pytest.approx(min(max(1, rows), engine_module.BAND_ROWS), abs=1)
    assert limits.band_rows > 1


@pytest.mark.parametrize("count", [1, 5, 2000])
def test_tiles_of_an_index_are_small(rng, monkeypatch, count):
    monkeypatch.setattr(engine_module, "_MAPPED_TILE_LETTERS", 5000)
    monkeypatch.setattr(engine_module, "_SEARCH_BAND_SECONDS", 1e-3)
    queries, targets = (sequence_set([rng.integers(0, 20, 100) for _ in range(some)]) for some in (count, 200))
    task = Task(queries, replace(targets, scattered_codes=targets.codes), make_scoring(PROTEIN, ScoringOptions()), Mode.LOCAL, top_count=5)
    limits = CudaEngine([HostDevice()]).prepare(task, Budget.from_total(1 << 30)).limits
    assert limits.tile_cells == 5000 * 100 * min(count, limits.band_rows)
    whole = CudaEngine([HostDevice()]).prepare(replace(task, targets=targets), Budget.from_total(1 << 30)).limits
    assert whole.tile_cells > 10 * limits.tile_cells
