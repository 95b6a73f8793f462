"""Files that a thread of their own writes."""

import errno
import gc
import io
import threading
import time

import pytest
from command import LIMIT

from gpualign.core.output.resumable_files import BackgroundFile


class Slow(io.BytesIO):
    """Takes its time, and may be full."""

    def __init__(self, room=1 << 40):
        super().__init__()
        self.room = room

    def write(self, data):
        time.sleep(0.002)
        if self.tell() + len(data) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def writers():
    return [thread for thread in threading.enumerate() if thread.name == "gpualign-write"]


def test_all_of_it_is_there_in_order(rng):
    file = Slow()
    behind = BackgroundFile(file)
    pieces = [rng.bytes(int(n)) for n in rng.choice([1, 1000, 300_000, 2_000_000, 20_000_000], 40, p=[0.2, 0.3, 0.3, 0.15, 0.05])]
    written = b""
    for k, piece in enumerate(pieces):
        behind.write(piece)
        written += piece
        if k % 9 == 8:
            behind.flush()
            assert behind.tell() == len(written)
            assert file.getvalue() == written
    behind.close()
    assert file.getvalue() == written
    assert not writers()


def test_little_text_starts_no_thread():
    file = io.BytesIO()
    behind = BackgroundFile(file)
    for _ in range(1000):
        behind.write(b"a row\n")
    assert not writers()
    behind.close()
    assert file.getvalue() == b"a row\n" * 1000


def test_an_error_is_raised_by_a_later_call():
    def fill(behind):
        for _ in range(100):
            behind.write(bytes(1 << 20))

    with pytest.raises(OSError, match="No space left"):
        fill(BackgroundFile(Slow(room=10 << 20)))
    behind = BackgroundFile(Slow(room=1 << 20))
    behind.write(bytes(2 << 20))
    with pytest.raises(OSError, match="No space left"):
        behind.close()


def test_nothing_follows_an_error():
    file = Slow(room=3 << 20)
    behind = BackgroundFile(file)
    for size in (2, 2, 1):  # the last one would fit
        behind.write(bytes(size << 20))
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            behind.flush()
    assert file.tell() == 2 << 20


def test_memory_is_bounded():
    """Who writes waits where the file is slow."""
    file = Slow()
    behind = BackgroundFile(file)
    for k in range(200):
        behind.write(bytes(1 << 20))
        assert k + 1 - file.tell() // (1 << 20) <= 66
    behind.close()


def test_the_thread_of_a_file_that_is_given_up_ends():
    behind = BackgroundFile(Slow())
    behind.write(bytes(1 << 20))
    assert writers()
    del behind
    gc.collect()
    for thread in writers():
        thread.join(LIMIT)
    assert not writers()
