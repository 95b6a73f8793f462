"""Digests of files, as hashlib makes them of the bytes."""

import hashlib

import pytest

from gpualign.core.common.errors import InputError
from gpualign.core.files.digests import digest_file, digest_files


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_a_file_has_the_digest_of_its_bytes(tmp_path, rng, size):
    (tmp_path / "x").write_bytes(data := rng.bytes(size))
    assert digest_file(tmp_path / "x") == (hashlib.sha256(data).hexdigest(), size)


def test_of_several_files_order_and_borders_count(tmp_path):
    names = []
    for name, data in (("a", b"one"), ("b", b"two"), ("c", b"onetwo"), ("d", b"")):
        (tmp_path / name).write_bytes(data)
        names.append(tmp_path / name)
    a, b, c, d = names
    assert digest_files([a, b]) == hashlib.sha256(hashlib.sha256(b"one").digest() + hashlib.sha256(b"two").digest()).hexdigest()
    assert len({digest_files(files) for files in ([a, b], [b, a], [c], [c, d], [])}) == 5


def test_a_file_that_has_gone_is_named(tmp_path):
    with pytest.raises(InputError, match="gone: no such file"):
        digest_files([tmp_path / "gone"])
