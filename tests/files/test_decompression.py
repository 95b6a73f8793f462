"""Files of several compressed members, as pbzip2, pxz, pzstd and cat make them, and what follows the last one."""

import bz2
import gzip
import io
import lzma
import struct
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard_codec import zstd

from gpualign.core.common.errors import InputError
from gpualign.core.files.bgzf_blocks import BgzfBlockStream
from gpualign.core.files.decompression import open_decompressed


def checked_zstd(data):
    """Zstandard has a checksum only on demand."""
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": checked_zstd}
MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zstd": b"\x28\xb5\x2f\xfd"}
FIRST, SECOND = (b"".join(b">%d\n%d\n" % (i, 3**i) for i in range(start, start + 300)) for start in (0, 1000))


def unpacked(packed):
    return open_decompressed(io.BytesIO(packed), "x.fa")[1].read()


def error_of(packed):
    with pytest.raises(InputError) as raised:
        unpacked(packed)
    return str(raised.value)


@pytest.mark.parametrize("kind", COMPRESSED)
def test_members_and_zero_padding_are_read(kind):
    first, second = (COMPRESSED[kind](text) for text in (FIRST, SECOND))
    for padding in (b"", bytes(1), bytes(4), bytes(512), bytes(100_000)):
        assert unpacked(first + padding + second + padding) == FIRST + SECOND


def test_skippable_frames_of_zstd_are_skipped():
    skippable = [bytes([0x50 + i]) + b"\x2a\x4d\x18" + (12).to_bytes(4, "little") + b"twelve bytes" for i in range(16)]
    first, second = (checked_zstd(text) for text in (FIRST, SECOND))
    assert unpacked(first + b"".join(skippable) + second + skippable[0]) == FIRST + SECOND
    for frame in skippable:  # pzstd begins with one
        assert unpacked(frame + first + frame + second) == FIRST + SECOND


@pytest.mark.parametrize("kind", COMPRESSED)
def test_a_damaged_member_behind_others_is_refused(kind):
    first, second = (COMPRESSED[kind](text) for text in (FIRST, SECOND))
    assert error_of(first + second[:-5]).startswith(f"x.fa: truncated {kind} file")
    second = bytearray(second)
    second[len(second) // 2] ^= 0x55
    for padding in (b"", bytes(4)):
        assert error_of(first + padding + second).startswith(f"x.fa: damaged {kind} file (")
        assert error_of(first + padding + second + COMPRESSED[kind](FIRST)).startswith(f"x.fa: damaged {kind} file (")


@pytest.mark.parametrize("kind", COMPRESSED)
def test_something_else_at_the_end_is_refused(kind):
    for other in (b"some garbage\n", b">a\nACGT\n" * 20_000, *(COMPRESSED[other](FIRST) for other in COMPRESSED if other != kind)):
        message = f"x.fa: something else follows the end of this {kind} file; copy or download it again"
        assert error_of(COMPRESSED[kind](FIRST) + other) == message
        assert error_of(COMPRESSED[kind](FIRST) + bytes(8) + other) == message
    if kind != "gzip":  # of which a few bytes could be another member
        assert error_of(COMPRESSED[kind](FIRST) + b"\n") == message
    damaged = MAGIC[kind] + b"\xff" * 30
    assert error_of(COMPRESSED[kind](FIRST) + damaged).startswith(f"x.fa: damaged {kind} file (")


@given(st.sampled_from(list(COMPRESSED)), st.integers(0, 1 << 20), st.integers(1, 255))
def test_no_member_is_left_out_silently(kind, at, flipped):
    first, second = COMPRESSED[kind](FIRST), bytearray(COMPRESSED[kind](SECOND))
    second[at % len(second)] ^= flipped
    try:
        text = unpacked(first + bytes(second))
    except InputError as error:
        message = str(error)
    else:  # bits that no checksum covers
        assert text == FIRST + SECOND
        return
    assert message.startswith((f"x.fa: damaged {kind} file", f"x.fa: truncated {kind} file", "x.fa: something else follows the end"))


def bgzipped(text, size):
    """BGZF with blocks of `size` bytes of text, and the block at the end."""
    members = []
    for piece in (*(text[start : start + size] for start in range(0, len(text), size)), b""):
        packer = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = packer.compress(piece) + packer.flush()
        header = struct.pack("<4BIBBHBBHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(packed) + 25)
        members.append(header + packed + struct.pack("<II", zlib.crc32(piece), len(piece)))
    return members


@pytest.mark.parametrize("without_isal", [False, True])
def test_bgzipped_files_cut_between_two_blocks_are_refused(monkeypatch, without_isal):
    if without_isal:
        monkeypatch.setitem(sys.modules, "isal.igzip", None)
    message = "x.fa: truncated bgzip file: the last block, which is empty, is missing; copy or make it again"
    members = bgzipped(FIRST, 5_000)
    assert unpacked(b"".join(members)) == FIRST
    for count in range(2, len(members)):
        if FIRST[: 5_000 * count].endswith(b"\n"):
            assert unpacked(b"".join(members[:count])) == FIRST[: 5_000 * count]
        else:
            assert error_of(b"".join(members[:count])) == message
        assert error_of(b"".join(members[:count])[:-1]).startswith("x.fa: truncated gzip file")
    assert unpacked(b"".join(members[:-1])) == FIRST  # as bcl2fastq writes them
    unfinished = bgzipped(FIRST[:-1], 5_000)  # a last line without an end, in a file that is complete
    assert unpacked(b"".join(unfinished)) == FIRST[:-1]
    assert unpacked(b"".join(unfinished) + bytes(100)) == FIRST[:-1]
    assert error_of(b"".join(unfinished[:-1])) == message
    for other in (gzip.compress(SECOND[:-1]), b"".join(bgzipped(SECOND[:-1], 300))):
        assert unpacked(b"".join(unfinished[:-1]) + other) == FIRST[:-1] + SECOND[:-1]


@given(st.binary(max_size=3000), st.integers(1, 500), st.integers(1, 40))
def test_blocks_are_followed_however_they_are_read(text, size, step):
    for members in (bgzipped(text, size), bgzipped(text, size)[:-1]):
        stream = BgzfBlockStream(io.BytesIO(b"".join(members)))
        while stream.read(step):
            pass
        assert stream.lacks_end == (0 < len(members) < len(bgzipped(text, size)))
