"""Room on a disk for files that are mapped."""

import errno
import itertools
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest

from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.preallocation import DiskPreallocation

MEGABYTE = 1 << 20
PIECE = 64 * MEGABYTE  # that are asked for at least
SIZE = 10 * PIECE + 12_345


@pytest.fixture
def asked(monkeypatch):
    """(first byte, bytes) of what was asked for."""
    calls = []
    monkeypatch.setattr(os, "posix_fallocate", lambda file, start, length: calls.append((start, length)))
    return calls


@pytest.fixture
def clock(monkeypatch):
    """Makes each look at the clock that many seconds later than the one before."""

    def tick(seconds):
        times = itertools.count(0.0, seconds)
        monkeypatch.setattr(time, "monotonic", lambda: next(times))

    return tick


def test_all_is_reserved_with_the_first_rows_where_that_takes_no_time(tmp_path, asked, clock):
    clock(0.0)
    with open(tmp_path / "x", "w+b") as file:
        room = DiskPreallocation(file, SIZE)
        assert asked == []  # nothing that the first kernels would wait for
        room.reserve_up_to(10)
        before = list(asked)
        room.reserve_up_to(SIZE)
    assert asked == before
    assert [start for start, _ in asked] == list(np.cumsum([0, *(length for _, length in asked[:-1])]))
    assert sum(length for _, length in asked) == SIZE
    assert (tmp_path / "x").stat().st_size == SIZE


def test_a_slow_file_system_is_asked_as_it_is_written(tmp_path, asked, clock):
    clock(1.0)
    with open(tmp_path / "x", "w+b") as file:
        room = DiskPreallocation(file, SIZE)
        assert os.fstat(file.fileno()).st_size == SIZE
        assert asked == []
        for stop in (10, 500, 5 * PIECE + 1, MEGABYTE, SIZE, SIZE):
            room.reserve_up_to(stop)
            assert sum(length for _, length in asked) >= stop
    lengths = [PIECE, PIECE, 3 * PIECE + 1, PIECE, SIZE - 6 * PIECE - 1]  # ahead of what is written, a piece each time
    assert asked == list(zip(np.cumsum([0, *lengths[:-1]]), lengths, strict=True))


def test_a_disk_that_is_clearly_full_is_told_before_any_work(tmp_path, monkeypatch):
    blocks = SimpleNamespace(f_blocks=100, f_bfree=1000, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda file: blocks)
    with open(tmp_path / "x", "w+b") as file:
        DiskPreallocation(file, 4096 * 1000)
        file.truncate(0)
        with pytest.raises(OSError, match="No space left") as error:
            DiskPreallocation(file, 4096 * 1000 + 1)
        assert error.value.errno == errno.ENOSPC
        blocks.f_blocks = 0  # of a file system without a size
        DiskPreallocation(file, 4096 * 1000 + 1)


def test_what_a_file_has_already_is_not_asked_for_again(tmp_path, monkeypatch):
    """Of a run that goes on."""
    with open(tmp_path / "x", "w+b") as file:
        DiskPreallocation(file, MEGABYTE).reserve_up_to(MEGABYTE)
        file.write(b"there")
        file.flush()
        monkeypatch.setattr(os, "fstatvfs", lambda file: SimpleNamespace(f_blocks=100, f_bfree=1, f_frsize=4096))
        DiskPreallocation(file, MEGABYTE).reserve_up_to(MEGABYTE)
    assert (tmp_path / "x").read_bytes()[:6] == b"there\0"


def test_systems_without_the_call_write_the_file(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"head")
        DiskPreallocation(file, 10 * MEGABYTE).reserve_up_to(10 * MEGABYTE)
    assert (tmp_path / "x").read_bytes() == b"head" + bytes(10 * MEGABYTE - 4)


def test_an_array_is_reserved_by_rows(tmp_path, asked, clock):
    clock(1.0)
    with open(tmp_path / "x.npy", "w+b") as file:
        array = NpyArray(file, (20_000, 1000), np.dtype(np.int32))
        array.reserve(400)
        array.values[:400] = 7
        assert 128 + 400 * 4000 <= sum(length for _, length in asked) < 128 + 20_000 * 4000
        array.reserve(20_000)
        array.flush()
    found = np.load(tmp_path / "x.npy")
    assert (found[:400] == 7).all()
    assert not found[400:].any()
    assert found.shape == (20_000, 1000)
