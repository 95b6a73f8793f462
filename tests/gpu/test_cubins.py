"""The cache of compiled kernels, with a compiler that only counts, and no NVRTC."""

import errno
import os
import shutil
import stat
import sys
from importlib.resources import files

import pytest

from gpualign.core.common.errors import RunError, command_line_message
from gpualign.gpu.alignment.families.one_thread_per_pair import PACK_LETTERS_KERNEL
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime import kernel_cache as cubins
from gpualign.gpu.runtime.compilers import selection as choice


@pytest.fixture
def nvcc(tmp_path, monkeypatch):
    """A compiler that writes its arguments; returns the file that lists what it compiled."""
    monkeypatch.setattr(choice, "find_nvrtc_libraries", lambda: iter(()))
    calls = tmp_path / "calls"
    program = tmp_path / "cuda" / "bin" / "nvcc"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo "release 12.4, V12.4"; exit;; --list-gpu-code) exit;; esac\n'
        f'echo "$@" >> {calls}\ncase "$*" in *FAIL*) echo "error: made up" >&2; exit 2;; esac\n'
        'while [ "$1" != -o ]; do shift; done\necho code > "$2"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "cache"))
    return calls


def count(calls):
    return len(calls.read_text().splitlines()) if calls.exists() else 0


def test_a_second_run_needs_no_compiler(nvcc, monkeypatch, tmp_path):
    code = cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_90a")
    assert code == b"code\n"
    assert count(nvcc) == 1
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "nowhere"))
    assert cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_90a") == code
    assert count(nvcc) == 1


def test_macros_architecture_and_sources_make_another_kernel(nvcc, monkeypatch, tmp_path):
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_90a")
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80")
    cubins.load_cubin(Kernel("pack.cu", "pack_letters", (("ROWS", "3"),)), "sm_80")
    assert count(nvcc) == 3
    # As of another release: the sources of this one may not be changed.
    shutil.copytree(files("gpualign.cuda_src"), tmp_path / "sources")
    for source in (tmp_path / "sources").rglob("pack.cu"):
        source.write_bytes(source.read_bytes() + b"\n")
    monkeypatch.setattr(cubins, "files", lambda package: tmp_path / "sources")
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80")
    assert count(nvcc) == 4


def test_a_driver_that_loads_less_has_other_code(nvcc):
    """A cache may lie on a disk that machines with drivers of several versions share."""
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80", 13)
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80", 12)
    cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80", 12)
    assert count(nvcc) == 2


def test_code_from_the_cache_asks_for_no_compiler(nvcc, monkeypatch):
    """Which would load libraries, and cuda-pathfinder."""
    code = cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80", 13)
    monkeypatch.setitem(sys.modules, "gpualign.gpu.runtime.compilers.selection", None)  # an ImportError for who imports it
    assert cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80", 13) == code


def test_a_failing_compiler_is_quoted(nvcc):
    with pytest.raises(RunError, match=r"nvcc 12.4 could not compile pack_letters \(pack.cu\) for sm_80:\nerror: made up") as error:
        cubins.load_cubin(Kernel("pack.cu", "pack_letters", (("FAIL", "1"),)), "sm_80")
    assert "for sm_80:\nerror: made up" in command_line_message(error.value.message)
    assert not list(cubins.cache_folder().glob("*")) if cubins.cache_folder().exists() else True


def test_a_missing_compiler_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(choice, "find_nvrtc_libraries", lambda: iter(()))
    with pytest.raises(RunError, match="neither NVRTC nor nvcc was found"):
        cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80")


def test_a_cache_that_cannot_be_written_is_not_used(nvcc, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path / "file" / "below"))
    assert cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80") == b"code\n"


def test_a_full_disk_is_not_filled_further(nvcc, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "replace", full)
    assert cubins.load_cubin(PACK_LETTERS_KERNEL, "sm_80") == b"code\n"
    assert list((tmp_path / "cache").rglob("*.*")) == []


def test_architectures():
    assert cubins.architecture((9, 0)) == "sm_90a"
    assert cubins.architecture((8, 6)) == "sm_86"
    assert cubins.architecture((12, 0)) == "sm_120"


def test_the_cache_is_in_the_users_folder(monkeypatch):
    monkeypatch.delenv("GPUALIGN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert os.fspath(cubins.cache_folder()) == "/somewhere/gpualign"
