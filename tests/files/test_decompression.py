"""Files of several compressed members, as pbzip2, pxz, pzstd and cat make them, and what follows the last one."""

import bz2
import gzip
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zstandard_codec import zstd

from gpualign.core.common.errors import InputError
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
