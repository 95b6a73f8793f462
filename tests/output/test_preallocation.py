"""Room on a disk for files that are mapped."""

import errno
import os
from types import SimpleNamespace

import numpy as np
import pytest
from command import LIMIT

from gpualign.core.output import preallocation as reserving
from gpualign.core.output.matrix_files import NpyArray
from gpualign.core.output.preallocation import DiskPreallocation

SIZE = 10_000_000


@pytest.fixture
def asked(monkeypatch):
    """(first byte, bytes) of what was asked for."""
    calls = []
    real = os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", lambda file, start, length: calls.append((start, length)) or real(file, start, length))
    monkeypatch.setattr(reserving, "_PIECE_BYTES", 1_000_000)
    return calls


def test_all_is_reserved_with_the_first_rows_where_that_takes_no_time(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(reserving, "_MAX_EXTRA_SECONDS", LIMIT)
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


def test_a_slow_file_system_is_asked_as_it_is_written(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(reserving, "_MAX_EXTRA_SECONDS", 0.0)
    with open(tmp_path / "x", "w+b") as file:
        room = DiskPreallocation(file, SIZE)
        assert os.fstat(file.fileno()).st_size == SIZE
        assert asked == []
        for stop in (10, 500, 5_000_001, 900_000, SIZE, SIZE):
            room.reserve_up_to(stop)
            assert sum(length for _, length in asked) >= stop
    lengths = [1_000_000, 1_000_000, 3_000_001, 1_000_000, SIZE - 6_000_001]  # ahead of what is written, a piece each time
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
        DiskPreallocation(file, SIZE).reserve_up_to(SIZE)
        file.write(b"there")
        file.flush()
        monkeypatch.setattr(os, "fstatvfs", lambda file: SimpleNamespace(f_blocks=100, f_bfree=1, f_frsize=4096))
        DiskPreallocation(file, SIZE).reserve_up_to(SIZE)
    assert (tmp_path / "x").read_bytes()[:6] == b"there\0"


def test_systems_without_the_call_write_the_file(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "posix_fallocate")
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"head")
        DiskPreallocation(file, SIZE).reserve_up_to(SIZE)
    assert (tmp_path / "x").read_bytes() == b"head" + bytes(SIZE - 4)


def test_an_array_is_reserved_by_rows(tmp_path, asked, monkeypatch):
    monkeypatch.setattr(reserving, "_MAX_EXTRA_SECONDS", 0.0)
    with open(tmp_path / "x.npy", "w+b") as file:
        array = NpyArray(file, (1000, 3000), np.dtype(np.int32))
        array.reserve(400)
        array.values[:400] = 7
        assert 128 + 400 * 12_000 <= sum(length for _, length in asked) < 128 + 1000 * 12_000
        array.reserve(1000)
        array.flush()
    found = np.load(tmp_path / "x.npy")
    assert (found[:400] == 7).all()
    assert not found[400:].any()
    assert found.shape == (1000, 3000)
