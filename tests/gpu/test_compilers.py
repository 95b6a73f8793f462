"""Compilers: which one is taken for a device and its driver, and NVRTC itself where there is one."""

import ctypes
import stat
import sys
import types

import pytest
from command import gpualign_here
from places import DATA

from gpualign.core.common.errors import RunError
from gpualign.gpu.alignment.families.one_thread_per_pair import PACK_LETTERS_KERNEL
from gpualign.gpu.kernels.kernel import Kernel
from gpualign.gpu.runtime.compilers import nvrtc
from gpualign.gpu.runtime.compilers import selection as choice
from gpualign.gpu.runtime.compilers.base import Source, incompatibility
from gpualign.gpu.runtime.compilers.nvcc import Nvcc, find_nvcc
from gpualign.gpu.runtime.compilers.nvrtc import find_nvrtc_libraries
from gpualign.gpu.runtime.compilers.selection import choose_compiler
from gpualign.gpu.runtime.kernel_cache import kernel_source


class Made:
    """A compiler of a version of CUDA that knows these architectures."""

    def __init__(self, title, version, *known):
        self.title, self.version, self.known, self.path = title, version, known, f"/at/{title}"

    def supports(self, arch):
        return arch in self.known


NEW = Made("NVRTC 13.5", (13, 5), "sm_80", "sm_90a")
OLD = Made("NVRTC 12.9", (12, 9), "sm_70", "sm_80")
ANCIENT = Made("NVRTC 11.2", (11, 2), "sm_70", "sm_80")
NVCC = Made("nvcc 13.0", (13, 0), "sm_80", "sm_90a")
SILENT = Made("nvcc", None, "sm_80", "sm_90a")


@pytest.mark.parametrize(
    ("found", "arch", "driver", "taken"),
    [
        ((NEW, OLD, NVCC), "sm_80", 13, NEW),
        ((NEW, OLD, NVCC), "sm_80", None, NEW),
        ((NEW, OLD, NVCC), "sm_80", 14, NEW),  # drivers load code of older versions
        ((NEW, OLD, NVCC), "sm_80", 12, OLD),  # not of newer ones
        ((NEW, OLD, NVCC), "sm_70", 13, OLD),
        ((OLD, NVCC), "sm_90a", 13, NVCC),
        ((ANCIENT, NVCC), "sm_80", 13, NVCC),
        ((SILENT,), "sm_80", 12, SILENT),
    ],
)
def test_nvrtc_goes_first_where_the_driver_loads_its_code(monkeypatch, found, arch, driver, taken):
    monkeypatch.setattr(choice, "installed_compilers", lambda: iter(found))
    assert choose_compiler(arch, driver) is taken


@pytest.mark.parametrize(
    ("found", "arch", "driver", "told"),
    [
        ((), "sm_80", None, "no CUDA compiler for sm_80: neither NVRTC nor nvcc was found; pip install -U 'nvidia-cuda-nvrtc'"),
        ((), "sm_80", 13, "neither NVRTC nor nvcc was found; pip install -U 'nvidia-cuda-nvrtc<14'"),
        (
            (NEW, NVCC),
            "sm_80",
            12,
            "NVRTC 13.5 is too new for the driver, which is for CUDA 12 (/at/NVRTC 13.5); "
            "nvcc 13.0 is too new for the driver, which is for CUDA 12 (/at/nvcc 13.0); pip install -U 'nvidia-cuda-nvrtc-cu12'",
        ),
        ((NEW,), "sm_70", 13, "NVRTC 13.5 does not know sm_70 (/at/NVRTC 13.5); pip install -U 'nvidia-cuda-nvrtc-cu12'"),
        ((ANCIENT,), "sm_80", 13, "NVRTC 11.2 is too old: CUDA 12 or newer is needed"),
    ],
)
def test_what_to_install_is_said(monkeypatch, found, arch, driver, told):
    monkeypatch.setattr(choice, "installed_compilers", lambda: iter(found))
    with pytest.raises(RunError) as error:
        choose_compiler(arch, driver)
    assert told in str(error.value)


def test_nvrtc_of_pips_packages_is_found_newest_first(monkeypatch, tmp_path):
    """As in a folder where those of two versions are installed, before what the loader and cuda-pathfinder find."""
    for folder, name in [("cuda_nvrtc", "libnvrtc.so.12"), ("cu13", "libnvrtc.so.13"), ("cu13", "libnvrtc-builtins.so.13.5")]:
        (tmp_path / folder / "lib").mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "lib" / name).write_bytes(b"")
    monkeypatch.setattr(nvrtc, "find_spec", lambda name: types.SimpleNamespace(submodule_search_locations=[str(tmp_path)]))
    pathfinder = types.ModuleType("cuda.pathfinder")
    pathfinder.load_nvidia_dynamic_lib = lambda name: types.SimpleNamespace(abs_path=f"/conda/{name}")
    monkeypatch.setitem(sys.modules, "cuda", types.ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", pathfinder)
    asked = []

    def load(path):
        asked.append(path)
        raise OSError(path)

    monkeypatch.setattr(nvrtc, "Nvrtc", load)
    assert list(find_nvrtc_libraries()) == []
    packaged = [f"{tmp_path}/cu13/lib/libnvrtc.so.13", f"{tmp_path}/cuda_nvrtc/lib/libnvrtc.so.12"]
    assert asked == [*packaged, "libnvrtc.so.13", "libnvrtc.so.12", "/conda/nvrtc"]


def test_what_nvrtc_needs_beside_it_is_loaded(monkeypatch, tmp_path):
    """By its own name the loader does not find it in packages of CUDA 13.0."""
    beside = tmp_path / "libnvrtc-builtins.so.13.0"
    beside.write_bytes(b"")
    loaded = []

    class Library:
        def __init__(self, path):
            loaded.append(path)

        def nvrtcVersion(self, major, minor):
            major._obj.value, minor._obj.value = 13, 0
            return 0

    monkeypatch.setattr(ctypes, "CDLL", Library)
    assert nvrtc.Nvrtc(str(tmp_path / "libnvrtc.so.13")).version == (13, 0)
    assert loaded == [str(tmp_path / "libnvrtc.so.13"), str(beside)]


def test_nvcc_says_what_it_is(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "nvcc"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\ncase "$1" in\n--version) echo "Cuda compilation tools, release 12.4, V12.4.131";;\n'
        "--list-gpu-code) echo sm_80; echo sm_90;;\nesac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    found = Nvcc(find_nvcc())
    assert (found.title, found.version) == ("nvcc 12.4", (12, 4))
    assert found.supports("sm_90a")
    assert not found.supports("sm_70")


@pytest.fixture(scope="module")
def library():
    found = next(find_nvrtc_libraries(), None)
    if found is None:
        pytest.skip("needs NVRTC")
    return found


def test_nvrtc_compiles_a_kernel_with_its_headers(library):
    code = library.compile(kernel_source(PACK_LETTERS_KERNEL), "sm_80")
    assert code.startswith(b"\x7fELF")
    assert b".text.pack_letters" in code  # by its plain name
    assert int.from_bytes(code[18:20], "little") == 190  # EM_CUDA


def test_nvrtc_takes_headers_that_macros_name_and_has_what_hopper_alone_has(library):
    """Without the macro the kernels of `wgmma` would be empty."""
    text = b"#include HEADER\n#ifndef __CUDA_ARCH_FEAT_SM90_ALL\n#error no wgmma\n#endif\nKERNEL(32, 1) nothing(uint64_t*) {}\n"
    headers = {"portable.cuh": kernel_source(PACK_LETTERS_KERNEL).headers["portable.cuh"]}
    source = Source(Kernel("made_up.cu", "nothing"), text, headers, (("HEADER", '"portable.cuh"'),))
    assert b".text.nothing" in library.compile(source, "sm_90a")
    with pytest.raises(RunError, match=r"NVRTC \d+\.\d+ could not compile nothing \(made_up.cu\) for sm_80:\n(.|\n)*no wgmma"):
        library.compile(source, "sm_80")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["NVRTC", "nvcc"])
def test_both_give_the_same_results_on_a_device(monkeypatch, tmp_path, real_device, name):
    found = [compiler for compiler in choice.installed_compilers() if compiler.title.startswith(name)]
    if all(incompatibility(compiler, real_device.arch, real_device.driver) for compiler in found):
        pytest.skip(f"needs {name}")
    monkeypatch.setattr(choice, "installed_compilers", lambda: iter(found))
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path))
    genes, calls, *proteins = (DATA / file for file in ("16s_small.fasta", "snps.tsv", "proteins_query.fasta", "proteins_db.fasta"))
    for words in (
        ["nw", genes],
        ["nw", "--edit", "--fields", "query,target,cigar", genes],
        ["nw", "--edit", "--max-distance", "300", genes],
        ["sw", *proteins],
        ["dist", calls],
    ):
        assert gpualign_here(*words, "--device", "cuda")[0] == gpualign_here(*words, "--device", "cpu")[0]
    assert any(tmp_path.glob("*.cubin"))
