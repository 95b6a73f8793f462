"""Searches of indexes larger than the memory for the run: nothing but a few numbers per record is held, and results are the same."""

import mmap
import os
import re
import sys
import threading
import time
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from command import GPUALIGN, gpualign, gpualign_here, shell

from gpualign.core.alignment.task import Mode, Task
from gpualign.core.common.errors import InputError
from gpualign.core.execution.tile_queue import LoadBalancing, TileQueue
from gpualign.core.planning.tile_plan import Pairing, TileLimits, make_plan
from gpualign.core.scoring.scoring import ScoringOptions, make_scoring
from gpualign.core.search.hit_selection import HitFilter
from gpualign.core.search.runner import _checked_tiles, plan_search
from gpualign.core.sequences import database_index, index_check
from gpualign.core.sequences.database_index import open_index
from gpualign.core.sequences.index_check import IndexCheck
from gpualign.core.sequences.strands_frames import QueryTargetFrames, untranslated_frames
from gpualign.cpu.alignment.engine import CpuEngine
from gpualign.jobs import every_pair, hit_alignment

PROTEINS = np.frombuffer(b"ARNDCQEGHILKMFPSTWYV", dtype=np.uint8)


def write_proteins(path, rng, count, shortest, longest):
    """Random proteins, some of them copies, so that scores are tied."""
    lengths = rng.integers(shortest, longest + 1, count)
    ends = np.cumsum(lengths)
    letters = PROTEINS[rng.integers(0, 20, ends[-1])].tobytes()
    texts = [letters[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    texts[1::10] = texts[0::10][: len(texts[1::10])]
    path.write_bytes(b"".join(b">%d\n%b\n" % (number, text) for number, text in enumerate(texts)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A query, and an index of 60 MB of letters in a million records."""
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(5)
    write_proteins(folder / "db.fa", rng, 1_000_000, 50, 70)
    gpualign("index", folder / "db.fa", "-o", folder / "db.gpa")
    (folder / "db.fa").unlink()
    (folder / "q.fa").write_text(">q\nMKVLAWHE\n>r\nWWCHMP\n")
    return folder


OPTIONS = ["--device", "cpu", "--threads", "1"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory that does not count mapped files")
@pytest.mark.parametrize("options", [[], ["--max-evalue", "1000"]], ids=["best", "passing"])
def test_letters_stay_on_disk(folder, options):
    expected = gpualign("sw", folder / "q.fa", folder / "db.gpa", *OPTIONS, "--memory", "2G", *options).stdout
    words = " ".join([*OPTIONS, "--memory", "32M", *options])
    limit = 150 << 10  # KiB, of which Python and NumPy take 75 MiB; the letters would take 57 MiB
    assert shell(f"ulimit -d {limit}; {GPUALIGN} sw q.fa db.gpa {words}", cwd=folder).stdout == expected
    assert expected.count(b"\n") > 20


def test_letters_of_hits_are_read_without_what_follows_them(folder, monkeypatch):
    """Otherwise the system reads megabytes around each hit, and drops the letters that the search reads next."""
    targets, _ = open_index(str(folder / "db.gpa"))
    np.testing.assert_array_equal(targets.scattered.codes, targets.codes)
    assert not np.shares_memory(targets.scattered.codes, targets.codes)
    assert targets.scattered is targets.scattered
    read, tracer = [], hit_alignment.HitTracer
    monkeypatch.setattr(hit_alignment, "HitTracer", lambda task, *rest: read.append(task.targets) or tracer(task, *rest))
    expected = gpualign("sw", folder / "q.fa", folder / "db.gpa", *OPTIONS).stdout
    assert gpualign_here("sw", folder / "q.fa", folder / "db.gpa", *OPTIONS)[0] == expected
    assert [targets.codes is targets.scattered_codes for targets in read] == [True]


@pytest.mark.parametrize(("free", "drops"), [(70 << 20, True), (128 << 20, False)])
def test_used_letters_make_room_for_those_that_are_read_next(folder, monkeypatch, free, drops):
    """If the index is larger than the memory. Otherwise the next search finds its pages there."""
    (query := folder / "long.fa").write_text(">long\n" + 20 * "MKVLAWHE" + "\n")  # so that there are several tiles
    expected = gpualign("sw", query, folder / "db.gpa", *OPTIONS).stdout
    used, drop, advised = [], IndexCheck.drop_letters, []
    monkeypatch.setattr(database_index, "free_memory", lambda: free)
    monkeypatch.setattr(IndexCheck, "drop_letters", lambda check, start, stop: used.append((start, stop)) or drop(check, start, stop))
    monkeypatch.setattr(
        index_check.os, "posix_fadvise", lambda _, start, size, advice: advised.append((start, start + size)), raising=False
    )
    monkeypatch.setattr(index_check.os, "POSIX_FADV_DONTNEED", 4, raising=False)
    assert gpualign_here("sw", query, folder / "db.gpa", *OPTIONS)[0] == expected
    assert len(used) > 1
    ends = [0, *(stop for _, stop in sorted(used))]
    assert sorted(used) == list(pairwise(ends))
    size = (folder / "db.gpa").stat().st_size
    assert (sum(stop - start for start, stop in advised) > 0.5 * size) == drops
    assert all(0 <= start < stop <= size and start % mmap.PAGESIZE == stop % mmap.PAGESIZE == 0 for start, stop in advised)
    assert len(advised) == len(set(advised))


@pytest.mark.parametrize("free", [70 << 20, 128 << 20])
@pytest.mark.parametrize(("options", "queries"), [([], 1), (["--resume"], 1), (["--shard", "1/2"], 2), ([], 600)])
@pytest.mark.parametrize("is_measured", [True, False])
def test_the_estimate_of_a_search_that_reads_from_the_disk(folder, tmp_path, monkeypatch, free, options, queries, is_measured):
    """It takes at least as long as the disk, for each band of queries, if the index does not stay in memory. This does not depend on when
    the index was checked."""
    scan, chunks = index_check.scan_chunk, []
    (tmp_path / "q.fa").write_text("".join(f">{k}\nMKVLAWHE\n" for k in range(queries)))
    monkeypatch.setattr(database_index, "free_memory", lambda: free)
    monkeypatch.setattr(index_check, "scan_chunk", lambda *words: time.sleep(0.1) or chunks.append(1) or scan(*words))
    monkeypatch.setattr(every_pair, "estimate_seconds", lambda plan, *_: plan.cells / 1e13 if is_measured else None)
    monkeypatch.setattr(every_pair, "measure_cell_rate", lambda *_, **others: 1e13)
    words = [*OPTIONS, *options, "-o", tmp_path / "o.tsv", "--dry-run"]
    report = gpualign_here("sw", tmp_path / "q.fa", folder / "db.gpa", *words)[0].decode()
    seconds, bands = (re.search(rf"{word} +.*?([0-9.]+) {unit}", report)[1] for word, unit in (("estimate", "s"), ("tiles", "band")))
    assert len(chunks) == 6
    if free > 100 << 20:
        assert float(seconds) == 0
    else:
        assert 0.1 * len(chunks) * int(bands) - 0.06 <= float(seconds) < 20  # rounded to 0.1 s
    assert int(bands) == (3 if queries == 600 else 1)


@pytest.mark.parametrize("options", [["--targets", "ids.txt"], ["--mask-target", "seg"]])
def test_targets_in_memory_are_not_those_of_the_file(folder, tmp_path, monkeypatch, options):
    """Their letters are elsewhere, and need no disk."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids.txt").write_text("".join(f"{k}\n" for k in range(500_000)))
    monkeypatch.setattr(database_index, "free_memory", lambda: 70 << 20)
    monkeypatch.setattr(IndexCheck, "drop_letters", lambda check, start, stop: pytest.fail("dropped"))
    monkeypatch.setattr(IndexCheck, "seconds", 1e6)
    (query := tmp_path / "long.fa").write_text(">long\n" + 20 * "MKVLAWHE" + "\n")
    assert gpualign_here("sw", query, folder / "db.gpa", *OPTIONS, *options)[0].count(b"\n") == 26
    report = gpualign_here("sw", query, folder / "db.gpa", *OPTIONS, *options, "--dry-run")[0].decode()
    assert float(re.search(r"estimate +([0-9.]+) s", report)[1]) < 1e5


def test_an_index_that_is_written_while_it_is_searched(tmp_path, monkeypatch):
    """Its letters are read again after they have been checked."""
    (tmp_path / "db.fa").write_text(">a\nMKVLAWHEDRNCQ\n>b\nWWCHMPARND\n")
    gpualign_here("index", tmp_path / "db.fa", "-o", index := tmp_path / "db.gpa")
    words = ("sw", tmp_path / "db.fa", index, *OPTIONS, "-o", output := tmp_path / "x.tsv")
    wait = IndexCheck.wait_for_letters
    monkeypatch.setattr(IndexCheck, "wait_for_letters", lambda check, *rest: wait(check, *rest) and not os.utime(index, ns=(0, 0)))
    with pytest.raises(InputError, match=r"db\.gpa: the index was changed while it was searched; repeat the search"):
        gpualign_here(*words)
    assert not output.exists()
    gpualign_here(*words)  # of what it is now
    assert output.exists()


def test_numbers_per_record_count_as_memory(folder):
    done = gpualign("sw", folder / "q.fa", folder / "db.gpa", "--device", "cpu", "--memory", "20M", check=False)
    assert done.returncode == 1
    assert b"the sequences alone take 24,000,0" in done.stderr


def test_hits_that_do_not_fit_are_refused(folder):
    """Thousands of hits pass, and a second search of the query keeps as many as memory holds."""
    words = ["sw", folder / "q.fa", folder / "db.gpa", *OPTIONS, "--max-evalue", "1e4", "--no-traceback"]
    done = gpualign(*words, "--memory", "32M", "-o", folder / "x.tsv", check=False)
    assert done.returncode == 1
    assert b"hits of a query, and at least as many of 'q' may pass; raise --memory or set a stricter threshold" in done.stderr
    assert not (folder / "x.tsv").exists()


def test_a_file_larger_than_memory_is_refused(tmp_path, rng):
    """A much larger file is not even read."""
    (tmp_path / "q.fa").write_text(">q\nMKVLAWHE\n")
    for count, message in (
        (300_000, rb"sequences alone take \d\d,\d{3},\d{3} bytes of 10,485,760"),
        (900_000, rb"db.fa: \d\d,\d{3},\d{3} bytes are too much to be read into 10,485,760 bytes of memory"),
    ):
        write_proteins(tmp_path / "db.fa", rng, count, 40, 40)
        words = ["sw", tmp_path / "q.fa", tmp_path / "db.fa", "--device", "cpu", "--memory", "10M", "-o", tmp_path / "x.tsv"]
        done = gpualign(*words, check=False)
        assert done.returncode == 1
        assert re.search(message, done.stderr)
        assert b"raise --memory, or search an index, which stays on disk: gpualign index makes it" in done.stderr
        assert not (tmp_path / "x.tsv").exists()


def test_dry_runs_tell_what_stays_on_disk(folder):
    planned = gpualign("sw", folder / "q.fa", folder / "db.gpa", *OPTIONS, "--memory", "32M", "--dry-run").stdout.decode()
    assert re.search(r"memory +sequences 22\.9 MiB \(57\.\d MiB of letters on disk\), ", planned)
    assert re.search(r"estimate +\d+\.\d s at \d+ GCUPS, measured on a sample\n", planned)


def test_shards_of_a_search_in_little_memory(folder):
    words = ["sw", folder / "q.fa", folder / "db.gpa", *OPTIONS]
    for shard in ("1/2", "2/2"):
        gpualign(*words, "--memory", "32M", "--shard", shard, "-o", folder / "shards.tsv")
    parts = sorted(folder.glob("shards*"))
    assert len(parts) == 2
    gpualign("merge", *parts, "-o", folder / "merged.tsv")
    assert (folder / "merged.tsv").read_bytes() == gpualign(*words, "--memory", "2G").stdout


@pytest.mark.parametrize(
    "options", [[], ["--max-evalue", "10"], ["--targets", "@keep.txt"], ["--mask-target", "seg"], ["--dry-run"]], ids=" ".join
)
@pytest.mark.parametrize("output", [None, "x.tsv"])
def test_damage_at_the_end_is_found(folder, tmp_path, options, output):
    """Although a search begins before all letters have been checked."""
    (tmp_path / "keep.txt").write_text("5\n6\n")
    content = bytearray((folder / "db.gpa").read_bytes())
    content[-5000] ^= 1
    (tmp_path / "db.gpa").write_bytes(content)
    words = [*OPTIONS, *options, *(["-o", output] if output else [])]
    done = gpualign("sw", folder / "q.fa", tmp_path / "db.gpa", *words, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"db.gpa: the index is damaged: the checksum of the bytes from" in done.stderr
    assert done.stdout == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db.gpa", "keep.txt"]


def test_a_search_that_waits_for_the_check_can_be_stopped(tmp_path, rng):
    """While a worker waits for letters that are never checked."""
    write_proteins(tmp_path / "db.fa", rng, 300, 50, 70)
    gpualign_here("index", tmp_path / "db.fa", "-o", tmp_path / "db.gpa")
    targets, alphabet = open_index(str(tmp_path / "db.gpa"))
    waited = threading.Event()

    class Check:
        def wait_for_letters(self, count, is_stopped):
            while waited.is_set():
                if is_stopped():
                    return False
                time.sleep(0.01)
            waited.set()  # the first tile may be computed
            return True

        def drop_letters(self, start, stop):
            pass

    scoring = make_scoring(alphabet, ScoringOptions())
    queries = targets.keep(np.arange(4))
    task = Task(queries, targets, scoring, Mode.LOCAL, alphabet=alphabet)
    engine, frames = CpuEngine(1), QueryTargetFrames(untranslated_frames(queries), untranslated_frames(targets))
    search = replace(plan_search(task, frames, HitFilter(5, 1, None, False), engine, 1 << 20), index_check=Check())
    plan = replace(search.plan, limits=replace(search.plan.limits, tile_cells=100_000))
    assert len(list(plan.tiles())) > 1
    found = search.compute_tiles(plan, search.prepared)
    next(found)
    start = time.monotonic()
    found.close()
    assert time.monotonic() - start < 60


@pytest.mark.parametrize("refused", [False, True])
def test_letters_are_not_dropped_while_another_worker_reads_them(rng, refused):
    """A worker that may not take a tile, because it is too slow, has asked for the tile that a faster one takes instead, and asks for the
    next one at once."""
    limits = TileLimits(1 << 20, 1 << 20, 8, 10, 50_000, worker_count=2 if refused else 1)
    plan = make_plan(np.array([100]), np.full(400, 60), Pairing.ALL, limits)
    dropped = []
    check = SimpleNamespace(wait_for_letters=lambda *_: True, drop_letters=lambda *letters: dropped.append(letters))
    queue = TileQueue(_checked_tiles(plan, check, np.arange(401) * 60), 2, LoadBalancing([1e6, 1e-3], 8))
    count = 0
    while (tile := queue.take(0, 0.0)) is not None:
        if refused:
            assert queue.take(1, 0.0) is None
        count += 1
        assert (60 * tile.targets[0], 60 * (tile.targets[-1] + 1)) not in dropped
        queue.deliver(0, tile, 0.0)
    assert count - 2 <= len(dropped) + refused < count
