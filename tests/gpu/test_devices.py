"""Which devices --device names, with made-up machines."""

import types

import pytest

from gpualign.core.common.errors import InputError, RunError
from gpualign.gpu.factory import make_engine
from gpualign.gpu.runtime.compilers import selection as choice
from gpualign.gpu.runtime.inventory import DeviceProperties, Inventory, detect_devices, parse_selection

OLD = DeviceProperties("old", 1 << 30, (6, 1))
NEW = DeviceProperties("new", 1 << 30, (8, 0))


class FakeDevice:
    def __init__(self, ordinal):
        self.ordinal = ordinal
        self.name = f"device {ordinal}"


@pytest.fixture
def driver(monkeypatch):
    import sys

    module = types.ModuleType("gpualign.gpu.runtime.pycuda_device")
    module.CudaDevice = FakeDevice
    monkeypatch.setitem(sys.modules, "gpualign.gpu.runtime.pycuda_device", module)


def chosen(text, *facts):
    gpus, _ = parse_selection(text)
    return [d.ordinal for d in make_engine(gpus, Inventory(list(facts), "13.0", None))._devices]


def test_devices_are_chosen_by_number_or_all_that_are_new_enough(driver):
    assert chosen("cuda", NEW, NEW) == [0]
    assert chosen("cuda", OLD, NEW) == [1]
    assert chosen("cuda:all", NEW, OLD, NEW) == [0, 2]
    assert chosen("cuda:2,0", NEW, OLD, NEW) == [2, 0]


def test_devices_that_cannot_be_had_are_errors(driver):
    with pytest.raises(RunError, match="no CUDA device 2; this machine has 2"):
        chosen("cuda:0,2", NEW, NEW)
    with pytest.raises(RunError, match=r"device 0 has compute capability 6.1; 7.0 or newer"):
        chosen("cuda:0", OLD, NEW)


@pytest.mark.parametrize(
    ("text", "gpus", "cpu"),
    [
        ("cuda", "cuda", False),
        ("cuda:all", "cuda:all", False),
        ("cuda:2,0", "cuda:2,0", False),
        ("cuda:2,cuda:0", "cuda:2,0", False),
        ("all", "cuda:all", True),
        ("cpu", None, True),
        ("cpu,cuda", "cuda", True),
        ("cuda:all,cpu", "cuda:all", True),
        ("cpu,cuda:0,1", "cuda:0,1", True),
        ("cuda:0,1,cpu", "cuda:0,1", True),
        ("cuda:0,cpu,cuda:1", "cuda:0,1", True),
    ],
)
def test_lists_have_no_order(text, gpus, cpu):
    assert parse_selection(text) == (gpus, cpu)


@pytest.mark.parametrize(
    "text", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0,", "tpu:0", "cpu,", "", "auto,cpu", "all,cpu", "cuda:0,cpu,1", "cpu,0", "cuda,1"]
)
def test_other_names_are_refused(text):
    with pytest.raises(InputError, match=r"expected auto, cpu, cuda, cuda:all.* is none of these"):
        parse_selection(text)


@pytest.mark.parametrize("text", ["cuda:0,0", "cuda:0,00", "cpu,cpu", "cuda,cuda", "cuda,cuda:0", "cuda:all,cuda:1", "cuda:1,cpu,cuda:1"])
def test_each_device_is_named_once(text):
    with pytest.raises(InputError, match=f"device='{text}': a device is named twice"):
        parse_selection(text)


def fake_pycuda(monkeypatch, found):
    import sys

    class Device:
        def __init__(self, number):
            self.facts = found[number]

        @staticmethod
        def count():
            return len(found)

        def name(self):
            return self.facts.name

        def total_memory(self):
            return self.facts.memory_bytes

        def compute_capability(self):
            return self.facts.compute_capability

    package, module = types.ModuleType("pycuda"), types.ModuleType("pycuda.driver")
    module.init = lambda: None
    module.get_driver_version = lambda: 13010
    module.Device = Device
    package.driver = module
    monkeypatch.setitem(sys.modules, "pycuda", package)
    monkeypatch.setitem(sys.modules, "pycuda.driver", module)


def test_the_inventory_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("GPUALIGN_CACHE", str(tmp_path))
    found = [types.SimpleNamespace(title="nvcc 13.0", version=(13, 0), path="/usr/bin/nvcc", supports=lambda arch: arch == "sm_80")]
    monkeypatch.setattr(choice, "installed_compilers", lambda: iter(found))
    fake_pycuda(monkeypatch, [])
    assert detect_devices().reason == "the CUDA driver reports no device"
    assert "docker run --gpus all" in detect_devices().remedy
    assert "CUDA_VISIBLE_DEVICES" in detect_devices().remedy
    fake_pycuda(monkeypatch, [OLD])
    assert "7.0 or newer" in detect_devices().reason
    assert detect_devices().remedy.endswith("a machine with a Volta (2017) or a newer GPU")
    fake_pycuda(monkeypatch, [NEW])
    assert detect_devices() == Inventory([NEW], "13.1", None)
    found.clear()
    assert detect_devices().reason == "no CUDA compiler for sm_80: neither NVRTC nor nvcc was found"
    assert detect_devices().remedy == "pip install -U 'nvidia-cuda-nvrtc<14'"
    (tmp_path / "threads-sm_80-0.cubin").write_bytes(b"")
    assert detect_devices().reason is None


def test_a_driver_that_does_not_start_is_quoted(monkeypatch):
    fake_pycuda(monkeypatch, [NEW])
    import pycuda.driver

    def init():
        raise RuntimeError("cuInit failed: made up")

    monkeypatch.setattr(pycuda.driver, "init", init)
    assert detect_devices().reason == "the CUDA driver cannot be used: cuInit failed: made up"
    assert "restart the machine if its driver was updated" in detect_devices().remedy
