"""The module `zstd` of the standard library, before Python 3.14 that of its backport. Tests that import it are skipped without both."""

import sys

import pytest

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", reason="needs backports.zstd")
