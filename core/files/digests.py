"""Digests of files."""

from __future__ import annotations

from collections.abc import Iterable

from gpualign.core.files.paths import open_file


def digest_files(paths: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of the files' own digests, concatenated in the given order."""
    import hashlib  # short runs do not need it

    digest = hashlib.sha256()
    for path in paths:
        digest.update(bytes.fromhex(digest_file(path)[0]))
    return digest.hexdigest()


def digest_file(path: str) -> tuple[str, int]:
    """Return (SHA-256 in hexadecimal, number of bytes) of the file content."""
    import hashlib

    digest, size = hashlib.sha256(), 0
    with open_file(path) as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size
