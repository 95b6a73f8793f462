"""Files that a thread of their own unpacks."""

import bz2
import gc
import gzip
import io
import lzma
import os
import signal
import sys
import threading
import time
from functools import cache

import pytest
from command import LIMIT
from hypothesis import example, given
from hypothesis import strategies as st
from zstandard_codec import zstd

from gpualign.core.common.errors import InputError
from gpualign.core.files.decompression import open_decompressed
from gpualign.core.files.foreign_formats import refuse_foreign_format
from gpualign.core.files.prefetch import BLOCK_COUNT, PrefetchingReader
from gpualign.core.sequences.loading import read_raw_records

COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress}
MANY = b"".join(b">r%d\n%s\n" % (i, b"ACGT" * (i % 40 + 1)) for i in range(5000))


@cache
def packed_many(kind):
    return COMPRESSED[kind](MANY)


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "gpualign-read"]


def wait_for_none():
    """Those of tests before as well."""
    gc.collect()
    for thread in readers():
        thread.join(LIMIT)
    assert not readers()


def found(path, sizes, large):
    """What is read from a file in pieces of these sizes, by a thread where it has `large` bytes, and the error at the end, if any."""
    with path.open("rb") as file:
        parts = []
        try:
            _, stream = open_decompressed(file, path.name, large)
            for size in [*sizes, -1]:
                parts.append(stream.read(size))
        except InputError as error:
            return None, str(error)
        return b"".join(parts), None


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("packed") / "x.fa"


def is_refused(text):
    try:
        refuse_foreign_format(text, "x")
    except InputError:
        return True
    return text.startswith((b"\xff\xfe", b"\xfe\xff"))


@given(
    st.sampled_from(list(COMPRESSED)),
    st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=3),
    st.lists(st.integers(0, 400), max_size=5),
)
@example("gzip", [MANY[:999], MANY[999:]], [5, 70_000])
def test_what_is_read_is_what_a_file_holds(path, kind, members, sizes):
    path.write_bytes(b"".join(map(COMPRESSED[kind], members)))
    assert found(path, sizes, 0) == found(path, sizes, 1 << 40)
    if not is_refused(b"".join(members)) and not b"".join(members).startswith(b"\xef\xbb\xbf"):
        assert found(path, sizes, 0) == (b"".join(members), None)


@given(st.binary(max_size=600), st.sampled_from([1, 7, 100, 1 << 20]), st.lists(st.integers(0, 400), max_size=5))
def test_blocks_of_any_size_hold_what_a_stream_gives(data, block_bytes, sizes):
    with PrefetchingReader(io.BytesIO(data), block_bytes) as ahead, io.BufferedReader(ahead) as stream:
        assert b"".join(stream.read(size) for size in [*sizes, -1]) == data


@given(st.sampled_from(list(COMPRESSED)), st.integers(10, 9_000), st.booleans())
def test_damage_is_told_as_without_a_thread(path, kind, at, cut):
    packed = packed_many(kind)
    at %= len(packed)
    path.write_bytes(packed[: max(at, 10)] if cut else packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :])
    text, error = found(path, [100, 20_000], 0)
    assert (text, error) == found(path, [100, 20_000], 1 << 40)
    if cut:
        other = ", or something else follows its end" if kind == "gzip" else ""
        assert error == f"x.fa: truncated {kind} file{other}; copy or download it again"


@pytest.mark.parametrize("kind", COMPRESSED)
def test_damage_is_told_at_each_read(tmp_path, kind):
    """The library is not called again after an error: libbz2 aborts the process after some of them."""
    packed = bytearray(COMPRESSED[kind](MANY * 6))
    packed[len(packed) // 2] ^= 0x55
    (tmp_path / "x.fa").write_bytes(packed)
    with (tmp_path / "x.fa").open("rb") as file:
        stream = open_decompressed(file, "x.fa")[1]

        def error():
            with pytest.raises(InputError, match=f"x.fa: (damaged|truncated) {kind} file") as raised:  # noqa: PT012  at any of the reads
                while stream.read(500):
                    pass
            return str(raised.value)

        assert error() == error() == error()


def test_records_of_large_files(tmp_path):
    """Of a size that a thread unpacks by default: gzip that compresses nothing."""
    text = b"".join(b">r%d\n%s\n" % (k, b"ACGT" * 2000) for k in range(1100))
    packed = gzip.compress(text, compresslevel=0)
    (tmp_path / "x.fa").write_bytes(packed)
    with (tmp_path / "x.fa").open("rb") as file:
        stream = open_decompressed(file, "x.fa")[1]
        assert readers()
        assert stream.read() == text
    with (tmp_path / "x.fa").open("rb") as file:
        raw = read_raw_records(file, "x.fa")
    assert (len(raw.ids), raw.ids[1099], len(raw.letters[1099])) == (1100, "r1099", 8000)
    (tmp_path / "x.fa").write_bytes(packed[:-9])
    with (tmp_path / "x.fa").open("rb") as file, pytest.raises(InputError, match=r"x\.fa: truncated gzip file"):
        read_raw_records(file, "x.fa")
    del stream
    wait_for_none()


def test_large_files_have_a_thread_until_they_are_read(tmp_path):
    (tmp_path / "x").write_bytes(gzip.compress(MANY))
    with (tmp_path / "x").open("rb") as file:
        stream = open_decompressed(file, "x", 0)[1]
        assert readers()
        assert stream.read() == MANY
        wait_for_none()


def test_other_files_than_large_compressed_ones_have_no_thread(tmp_path):
    wait_for_none()

    def opened(data, *min_prefetch_bytes):
        (tmp_path / "x").write_bytes(data)
        with (tmp_path / "x").open("rb") as file:
            stream = open_decompressed(file, "x", *min_prefetch_bytes)[1]
            assert not readers()
            return stream.read()

    assert opened(gzip.compress(MANY)) == MANY
    assert opened(MANY, 0) == MANY
    assert open_decompressed(io.BytesIO(gzip.compress(MANY)), "x", 0)[1].read() == MANY
    assert not readers()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_pipes_have_no_thread(tmp_path):
    """Who closes one would wait for a thread that waits for its other end."""
    wait_for_none()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[gzip.compress(MANY)])
    writer.start()
    with (tmp_path / "pipe").open("rb") as pipe:
        stream = open_decompressed(pipe, "x", 0)[1]
        assert not readers()
        assert stream.read() == MANY
    writer.join()


class Endless(io.RawIOBase):
    """Zeros, and how many times they were asked for."""

    asked = 0

    def readinto(self, buffer):
        self.asked += 1
        return len(buffer)


def test_memory_is_bounded_and_the_thread_of_a_stream_that_is_given_up_ends():
    stream = Endless()
    ahead = PrefetchingReader(stream)
    assert ahead.read(10) == bytes(10)
    end = time.monotonic() + LIMIT
    while stream.asked < BLOCK_COUNT:
        assert time.monotonic() < end, "hangs"
        time.sleep(0.01)
    time.sleep(0.05)  # in which more would be asked for
    assert stream.asked == BLOCK_COUNT
    assert readers()
    del ahead
    wait_for_none()
    assert stream.asked == BLOCK_COUNT


def test_an_error_comes_behind_what_was_read_before():
    class Broken(Endless):
        def readinto(self, buffer):
            if super().readinto(buffer) > 2 and self.asked > 2:
                raise OSError("gone")
            return 100

    ahead = PrefetchingReader(Broken())
    assert [len(ahead.read(80)) for _ in range(4)] == [80, 20, 80, 20]
    with pytest.raises(OSError, match="gone"):
        ahead.read(1)
    del ahead
    wait_for_none()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_who_waits_can_be_interrupted():
    go_on = threading.Event()

    class Waiting(io.RawIOBase):
        def readinto(self, _):
            go_on.wait()
            return 0

    class Interrupted(Exception):
        pass

    def interrupt(number, frame):
        raise Interrupted

    ahead = PrefetchingReader(Waiting())
    before = signal.signal(signal.SIGINT, interrupt)  # where the tests run in the background, it is ignored
    try:
        with pytest.raises(Interrupted):  # noqa: PT012  the signal may come before it waits
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            ahead.read(1)
    finally:
        signal.signal(signal.SIGINT, before)
    go_on.set()
    del ahead
    wait_for_none()
