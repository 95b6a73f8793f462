"""Indexes whose letters are checked while others are already used."""

import gc
import os
import threading
import time
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from command import LIMIT

from gpualign.core.common.errors import InputError
from gpualign.core.sequences import index_check
from gpualign.core.sequences.index_check import CheckedRanges, IndexCheck

CHUNK, HEADER, CODES = 1000, 40, 140
"""Sizes of a chunk and of what has no checksum, and where the codes begin."""

EVERYTHING = 1 << 40


@pytest.fixture
def file(tmp_path, rng, monkeypatch):
    """(path, ranges, checksums) of a file of nine chunks and a part of one, whose codes are below 20."""
    monkeypatch.setattr(index_check, "CHUNK_BYTES", CHUNK)
    monkeypatch.setattr(index_check, "_STEP_BYTES", 300)
    content = rng.integers(0, 20, HEADER + 9 * CHUNK + 123, dtype=np.uint8)
    content[HEADER:CODES] = 255
    content[-1:] = 255
    path, ranges = tmp_path / "x.gpa", CheckedRanges(HEADER, len(content), CODES, len(content) - 1)
    content.tofile(path)
    yield path, ranges, np.array([zlib.crc32(content[slice(*chunk)]) for chunk in ranges.chunks()], dtype=np.uint32)
    wait_for_threads()  # one that starts late would use what the next test replaces


def wait_until(condition):
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def wait_for_threads():
    wait_until(lambda: "gpualign-check" not in {thread.name for thread in threading.enumerate()})


def damage(path, at, value):
    content = bytearray(path.read_bytes())
    content[at] = value
    path.write_bytes(content)


def test_a_file_that_is_written_while_it_is_checked_is_not_called_damaged(file):
    path, ranges, checksums = file
    check = IndexCheck(str(path), ranges, checksums, 19, 0)
    assert check.wait_for_letters(0)
    os.truncate(path, CODES)
    with pytest.raises(InputError, match=r"x\.gpa: the index was changed while it was searched; repeat the search"):
        check.finish()


def test_a_sound_file(file):
    path, ranges, checksums = file
    assert len(checksums) == 10
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
    assert check.wait_for_letters(0)
    assert check.wait_for_letters(ranges.codes_stop - ranges.codes_start)
    check.finish()
    check.close()
    assert check.wait_for_letters(5000)


@pytest.mark.parametrize("chunk", [0, 4, 9])
@pytest.mark.parametrize("place", [0, 999])
def test_letters_before_the_damage_may_be_used(file, chunk, place):
    path, ranges, checksums = file
    start = HEADER + chunk * CHUNK
    damage(path, min(start + place, ranges.stop - 1), 77)
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
    if chunk:
        assert check.wait_for_letters(start - CODES)
    for wait in (lambda: check.wait_for_letters(start - CODES + 1), check.finish):
        with pytest.raises(InputError, match=f"x.gpa: the index is damaged: the checksum of the bytes from {start:,} on is wrong"):
            wait()


def test_the_first_damage_is_named(file):
    path, ranges, checksums = file
    for at in (8000, 3000, 5000):
        damage(path, at, 77)
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
    with pytest.raises(InputError, match="from 2,040 on"):
        check.finish()


@pytest.mark.parametrize("at", [CODES, 5000, HEADER + 9 * CHUNK + 121])
def test_codes_that_no_letter_has(file, at):
    path, ranges, _ = file
    damage(path, at, 23)
    content = np.fromfile(path, dtype=np.uint8)
    checksums = np.array([zlib.crc32(content[slice(*chunk)]) for chunk in ranges.chunks()], dtype=np.uint32)
    IndexCheck(str(path), ranges, checksums, 23, EVERYTHING).finish()
    with pytest.raises(InputError, match="a letter has code 23; the highest code that its header counts is 19"):
        IndexCheck(str(path), ranges, checksums, 19, EVERYTHING).finish()


def test_a_file_that_becomes_shorter(file):
    path, ranges, checksums = file
    path.write_bytes(path.read_bytes()[:6500])
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
    assert check.wait_for_letters(5000)
    with pytest.raises(InputError, match="from 6,040 on"):
        check.finish()


def test_waiting_ends(file, monkeypatch):
    """When the run stops, and when the check is closed, although a chunk takes forever."""
    path, ranges, checksums = file
    held = threading.Event()
    scan = index_check.scan_chunk

    def slow(read, chunk, *others):
        if chunk[0] > 4000:
            held.wait(LIMIT)
        return scan(read, chunk, *others)

    monkeypatch.setattr(index_check, "scan_chunk", slow)
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
    assert check.wait_for_letters(3000)
    assert not check.wait_for_letters(5000, lambda: True)
    threading.Timer(0.2, check.close).start()
    start = time.monotonic()
    assert not check.wait_for_letters(5000)
    assert time.monotonic() - start < 60
    held.set()


def test_an_error_of_a_thread_is_raised(file, monkeypatch):
    path, ranges, checksums = file

    def fails(read, chunk, *others):
        raise MemoryError("none left")

    monkeypatch.setattr(index_check, "scan_chunk", fails)
    with pytest.raises(MemoryError, match="none left"):
        IndexCheck(str(path), ranges, checksums, 19, EVERYTHING).finish()


@pytest.mark.parametrize(("ahead", "chunks"), [(0, 3), (1, 4), (2500, 6), (EVERYTHING, 10)])
def test_only_what_memory_holds_is_checked_ahead(file, monkeypatch, ahead, chunks):
    """Pages that are read long before they are used may be dropped and read again. No thread is left waiting."""
    path, ranges, checksums = file
    scanned, scan = [], index_check.scan_chunk
    monkeypatch.setattr(index_check, "scan_chunk", lambda read, chunk, *others: scanned.append(chunk[0]) or scan(read, chunk, *others))
    check = IndexCheck(str(path), ranges, checksums, 19, ahead)
    assert check.wait_for_letters(3 * CHUNK - (CODES - HEADER))
    wait_for_threads()
    assert sorted(scanned) == list(range(HEADER, HEADER + chunks * CHUNK, CHUNK))
    check.finish()
    assert len(scanned) == 10


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_limited(file, monkeypatch, threads):
    path, ranges, checksums = file
    seen, scan = set(), index_check.scan_chunk
    monkeypatch.setattr(index_check.os, "cpu_count", lambda: 8)

    all_started = threading.Barrier(threads)

    def seen_scan(read, chunk, *others):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            all_started.wait(LIMIT)
        return scan(read, chunk, *others)

    monkeypatch.setattr(index_check, "scan_chunk", seen_scan)
    IndexCheck(str(path), ranges, checksums, 19, EVERYTHING, threads).finish()
    assert len(seen) == threads


def test_python_need_not_have_preadv(file, monkeypatch):
    """As on some macOS. Reads may also be shorter than asked for."""
    path, ranges, checksums = file
    pread = os.pread
    monkeypatch.delattr(os, "preadv", raising=False)
    monkeypatch.setattr(os, "pread", lambda descriptor, size, start: pread(descriptor, min(size, 77), start))
    IndexCheck(str(path), ranges, checksums, 19, EVERYTHING).finish()


def test_a_file_that_is_replaced_is_still_checked(file):
    """Searches have mapped the former one."""
    path, ranges, checksums = file
    check = IndexCheck(str(path), ranges, checksums, 19, 0)
    path.rename(path.with_suffix(".old"))
    path.write_bytes(b"new")
    check.finish()


def test_the_file_is_closed_with_the_check(file):
    path, ranges, checksums = file

    def open_file():
        check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING)
        check.finish()
        wait_for_threads()
        os.fstat(check._descriptor)
        return check._descriptor

    descriptor = open_file()
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_the_time_of_a_check_has_no_pauses(file, monkeypatch):
    """A check that is far enough ahead of a search waits for it."""
    path, ranges, checksums = file
    now, scan = [0.0], index_check.scan_chunk

    def slow(*words):
        now[0] += 1
        return scan(*words)

    monkeypatch.setattr(index_check, "scan_chunk", slow)
    monkeypatch.setattr(index_check, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    check = IndexCheck(str(path), ranges, checksums, 19, 2 * CHUNK, max_threads=1)
    check.wait_for_letters(0)
    wait_for_threads()
    assert 0 < check.seconds < 10
    now[0] += 1000
    check.finish()
    assert check.seconds == 10


def test_pages_are_dropped_in_whole_blocks(file, monkeypatch):
    """Each once all of it has been used, in whatever pieces: of what the system keeps together, it drops no part."""
    path, ranges, checksums = file
    dropped, advised = [], []
    droppable = SimpleNamespace(madvise=lambda _, start, size: dropped.append((start, size)))
    monkeypatch.setattr(index_check, "_DROPPED_BYTES", 1000)
    monkeypatch.setattr(index_check, "mmap", SimpleNamespace(MADV_DONTNEED=4))
    monkeypatch.setattr(index_check.os, "posix_fadvise", lambda _, start, size, advice: advised.append((start, size)), raising=False)
    monkeypatch.setattr(index_check.os, "POSIX_FADV_DONTNEED", 4, raising=False)
    check = IndexCheck(str(path), ranges, checksums, 19, EVERYTHING, droppable=droppable)
    pieces = [(start, min(start + 70, 5000)) for start in range(0, 5000, 70)]
    for piece in pieces[1::2]:
        check.drop_letters(*piece)
    assert not dropped
    for piece in pieces[::2]:
        check.drop_letters(*piece)
    assert sorted(dropped) == sorted(advised) == [(start, 1000) for start in range(1000, 5000, 1000)]
    check.drop_letters(CHUNK - CODES, 3500)  # they have been read again
    assert [start for start, _ in dropped[4:]] == [1000, 2000]
    check.finish()
