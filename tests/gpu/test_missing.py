"""What a machine lacks to use its GPU, with made-up drivers."""

import ctypes
import shlex
import subprocess
import sys
import types

import pytest
from command import gpualign_here
from engines import set_device_files
from host_device import compiler

from gpualign.core.common.errors import RunError
from gpualign.gpu.runtime import install_hints as missing
from gpualign.gpu.runtime.install_hints import Driver, find_driver, has_volta, pycuda_build_command
from gpualign.gpu.runtime.inventory import detect_devices
from gpualign.jobs.devices import local_engines as engines

CUDA13, CUDA12 = Driver(13020, "/usr/lib64"), Driver(12040, "/usr/lib/wsl/lib")


@pytest.fixture
def load_driver(monkeypatch):
    """Makes a library the one that this system loads as NVIDIA's driver; None: it has none."""
    load = ctypes.CDLL

    def instead(library):
        def open_library(name, *options):
            return load(str(library or "libcuda-of-none.so.1") if name == "libcuda.so.1" else name, *options)

        monkeypatch.setattr(ctypes, "CDLL", open_library)

    return instead


@pytest.fixture
def without_pycuda(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda", None)  # a ModuleNotFoundError for who imports it
    monkeypatch.setattr(missing, "has_volta", lambda: False)


def settings(command):
    """What `command` tells PyCUDA's setup, as it reads it: as Python."""
    found = {}
    for word in shlex.split(command):
        if word.startswith("-C--global-option=--conf:"):
            exec(word.partition("--conf:")[2], {}, found)
    return found


@pytest.mark.parametrize(
    ("driver", "extra", "folders"),
    [(CUDA13, "cuda13", ["cu13"]), (Driver(14000, "/"), "cuda13", ["cu13"]), (CUDA12, "cuda12", ["cuda_runtime", "cuda_profiler_api"])],
)
def test_pycuda_is_built_with_headers_of_the_drivers_version(monkeypatch, driver, extra, folders):
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/site packages")
    command = pycuda_build_command(driver)
    assert command.startswith(f"pip install 'gpualign[{extra}]' && pip install --no-cache-dir pycuda -C")
    assert settings(command) == {
        "CUDA_INC_DIR": [f"/site packages/nvidia/{folder}/include" for folder in folders],
        "CUDADRV_LIB_DIR": [driver.folder],
        "CUDADRV_LIBNAME": [":libcuda.so.1"],
        "CUDA_ENABLE_CURAND": False,
    }


@pytest.mark.parametrize(
    ("driver", "reason", "remedy"),
    [
        (None, "no NVIDIA driver was found (libcuda.so.1)", "if this machine has a GPU, install its driver"),
        (Driver(11080, "/"), "the NVIDIA driver is for CUDA 11.8, and 12.0 or newer is needed", "update NVIDIA's driver"),
        (CUDA12, "PyCUDA is not installed", "pip install 'gpualign[cuda12]' && pip install "),
    ],
)
def test_what_comes_first_is_told_first(monkeypatch, without_pycuda, driver, reason, remedy):
    monkeypatch.setattr(missing, "find_driver", lambda: driver)
    inventory = detect_devices()
    assert inventory.reason == reason
    assert inventory.remedy.startswith(remedy)
    assert inventory.driver == (driver and driver.title)


def test_a_volta_takes_the_compiler_and_the_headers_of_cuda_12(monkeypatch, without_pycuda):
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA13)
    monkeypatch.setattr(missing, "has_volta", lambda: True)
    command = detect_devices().remedy
    assert command.startswith("pip install 'gpualign[cuda12]' && pip install ")
    assert [folder.split("/")[-2] for folder in settings(command)["CUDA_INC_DIR"]] == ["cuda_runtime", "cuda_profiler_api"]


def test_a_run_that_the_cpu_does_starts_no_driver(monkeypatch, without_pycuda):
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA13)
    monkeypatch.setattr(missing, "has_volta", lambda: pytest.fail("started"))
    said = []
    notes = types.SimpleNamespace(note=said.append, detail=said.append)
    assert engines._find_gpus("auto", notes) is None
    assert said == ["using the CPU: PyCUDA is not installed (gpualign info says what to do)"]


@pytest.mark.parametrize("node", [True, False])
def test_a_gpu_is_expected_where_the_system_has_its_device(monkeypatch, without_pycuda, node):
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA13)
    set_device_files(monkeypatch, node)
    assert detect_devices().gpu_expected is node


def test_a_pycuda_that_cannot_be_loaded_is_built_anew(monkeypatch, tmp_path):
    """As one is that was built for a newer driver, which this one lacks functions of."""
    (tmp_path / "pycuda").mkdir()
    (tmp_path / "pycuda" / "__init__.py").touch()
    (tmp_path / "pycuda" / "driver.py").write_text("raise ImportError('undefined symbol: cuCtxCreate_v4')")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pycuda"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA12)
    inventory = detect_devices()
    assert inventory.reason == "PyCUDA cannot be loaded: undefined symbol: cuCtxCreate_v4"
    assert inventory.remedy.startswith("pip uninstall -y pycuda && pip install 'gpualign[cuda12]'")
    sys.modules.pop("pycuda", None)


def test_asking_for_cuda_names_the_command(monkeypatch, without_pycuda, tmp_path):
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA13)
    (tmp_path / "x.fasta").write_text(">a\nACGT\n>b\nACGA\n")
    with pytest.raises(RunError) as error:
        gpualign_here("nw", "--device", "cuda", tmp_path / "x.fasta")
    message = "--device cuda: PyCUDA is not installed; use --device cpu or auto, or do this:\n    "
    assert str(error.value) == message + pycuda_build_command(CUDA13)


def test_info_names_what_is_there_and_the_command(monkeypatch, without_pycuda):
    monkeypatch.setattr(missing, "find_driver", lambda: CUDA13)
    page = gpualign_here("info")[0].decode().splitlines()
    assert "engine cuda         unavailable: PyCUDA is not installed" in page
    assert f"  remedy            {pycuda_build_command(CUDA13)}" in page
    assert "  driver            for CUDA 13.2 (in /usr/lib64)" in page


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_the_driver_says_its_version_and_where_it_is(load_driver, tmp_path):
    source, library = tmp_path / "driver.cpp", tmp_path / "libcuda.so.1"
    source.write_text('extern "C" int cuDriverGetVersion(int* version) { *version = 12040; return 0; }')
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", library, source], check=True)
    load_driver(library)
    found = find_driver()
    assert found.title == "12.4"
    assert found.folder == str(tmp_path)


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
def test_a_stub_is_no_driver(load_driver, tmp_path):
    source, library = tmp_path / "driver.cpp", tmp_path / "libcuda.so.1"
    source.write_text('extern "C" int cuDriverGetVersion(int*) { return 34; }')
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", library, source], check=True)
    load_driver(library)
    assert find_driver() is None


# A driver of two devices, the first an A100. As CUDA has it, names of attributes are numbers.
TWO_DEVICES = """
extern "C" int cuInit(unsigned) {{ return {fails}; }}
extern "C" int cuDeviceGetCount(int* count) {{ *count = 2; return 0; }}
extern "C" int cuDeviceGet(int* device, int ordinal) {{ *device = 10 + ordinal; return 0; }}
extern "C" int cuDeviceGetAttribute(int* value, int attribute, int device) {{
    if (attribute != 75 && attribute != 76) return 1;
    *value = attribute == 75 ? (device == 10 ? 8 : {major}) : (device == 10 ? 0 : {minor});
    return 0;
}}
"""


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize(
    ("major", "minor", "fails", "volta"), [(7, 0, 0, True), (7, 2, 0, True), (7, 5, 0, False), (6, 1, 0, False), (7, 0, 100, False)]
)
def test_a_volta_is_found_without_pycuda(load_driver, tmp_path, major, minor, fails, volta):
    source, library = tmp_path / "driver.cpp", tmp_path / "libcuda.so.1"
    source.write_text(TWO_DEVICES.format(major=major, minor=minor, fails=fails))
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", library, source], check=True)
    load_driver(library)
    assert has_volta() is volta


def test_a_machine_without_a_driver(load_driver):
    load_driver(None)
    assert find_driver() is None
    assert not has_volta()
