"""The cache of compiled kernels, with a compiler that only counts."""

import os
import stat

import pytest

from gpualign.core.errors import RunError
from gpualign.gpu import cubins
from gpualign.gpu.families.threads import PACK_LETTERS
from gpualign.gpu.kernels import Kernel


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """A compiler that writes its arguments; returns the file that lists its calls."""
    calls = tmp_path / "calls"
    program = tmp_path / "cuda" / "bin" / "nvcc"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {calls}\ncase "$*" in *FAIL*) echo "error: made up" >&2; exit 2;; esac\n'
        'while [ "$1" != -o ]; do shift; done\necho code > "$2"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "cache"))
    return calls


def count(calls):
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def test_a_second_run_needs_no_compiler(nvcc, monkeypatch, tmp_path):
    code = cubins.cubin(PACK_LETTERS, "sm_90a")
    assert code == b"code\n"
    assert count(nvcc) == 1
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    assert cubins.cubin(PACK_LETTERS, "sm_90a") == code
    assert count(nvcc) == 1


def test_macros_architecture_and_sources_make_another_kernel(nvcc, monkeypatch):
    cubins.cubin(PACK_LETTERS, "sm_90a")
    cubins.cubin(PACK_LETTERS, "sm_80")
    cubins.cubin(Kernel("pack.cu", "pack_letters", (("ROWS", "3"),)), "sm_80")
    assert count(nvcc) == 3
    sources = list(cubins._sources())
    monkeypatch.setattr(cubins, "_sources", lambda: [(name, text + b"\n") for name, text in sources])
    cubins.cubin(PACK_LETTERS, "sm_80")
    assert count(nvcc) == 4


def test_a_failing_compiler_is_quoted(nvcc):
    with pytest.raises(RunError, match=r"nvcc could not compile pack.cu for sm_80:\nerror: made up"):
        cubins.cubin(Kernel("pack.cu", "pack_letters", (("FAIL", "1"),)), "sm_80")
    assert not list(cubins.cache_folder().glob("*")) if cubins.cache_folder().exists() else True


def test_a_missing_compiler_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "cache"))
    with pytest.raises(RunError, match="nvcc was not found"):
        cubins.cubin(PACK_LETTERS, "sm_80")


def test_a_cache_that_cannot_be_written_is_not_used(nvcc, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "file" / "below"))
    assert cubins.cubin(PACK_LETTERS, "sm_80") == b"code\n"


def test_architectures():
    assert cubins.architecture((9, 0)) == "sm_90a"
    assert cubins.architecture((8, 6)) == "sm_86"
    assert cubins.architecture((12, 0)) == "sm_120"


def test_the_cache_is_in_the_users_folder(monkeypatch):
    monkeypatch.delenv("GPUALIGN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert os.fspath(cubins.cache_folder()) == "/somewhere/gpualign"
