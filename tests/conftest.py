"""Fixtures and options of the whole suite."""

import fcntl
import gc
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from places import DATA, GOLDEN, ROOT

REAL_DATA = Path(os.environ.get("GPUALIGN_TEST_DATA", ROOT.parent / "shared" / "data"))

# derandomize: where a variable CI is set, hypothesis would draw the same examples each time by default.
settings.register_profile("gpualign", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("half", settings.get_profile("gpualign"), max_examples=50)  # of .ci/run, which draws others for every tree
settings.load_profile("gpualign")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="Write the golden files anew from what the program prints.")
    parser.addoption("--random-seed", type=int, default=None, help="Seed of the random tests (default: a new one each run).")


def pytest_configure(config):
    seed = config.getoption("--random-seed")
    # Workers of pytest-xdist must agree, so the seed travels in the environment.
    if seed is not None:
        os.environ["GPUALIGN_TEST_SEED"] = str(seed)
    os.environ.setdefault("GPUALIGN_TEST_SEED", str(int.from_bytes(os.urandom(4), "little")))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection, and exclude the tests from it afterwards: twelve thousand tests live until the end of the run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()  # warns about files that were not closed
        gc.freeze()
        gc.enable()


def pytest_make_parametrize_id(val, argname):
    """Name binary parameters by their argument: a gzip header contains the time, and xdist's workers must collect the same names."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


def pytest_report_header():
    return f"random seed: {os.environ['GPUALIGN_TEST_SEED']} (--random-seed)"


@pytest.fixture
def rng(request):
    """Random generator that depends on the seed of the run and on the test's name."""
    return np.random.default_rng([int(os.environ["GPUALIGN_TEST_SEED"]), *request.node.nodeid.encode()])


@pytest.fixture(scope="session")
def small_16s():
    return DATA / "16s_small.fasta"


@pytest.fixture(scope="session")
def real_data():
    """Folder of real data, which is not part of the source tree."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"real data not found at {REAL_DATA} (set GPUALIGN_TEST_DATA)")
    return REAL_DATA


@pytest.fixture
def golden(request):
    """Compare bytes with tests/golden/NAME, or write them there with --update-golden."""

    def check(name, content):
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_bytes(content)
        assert content == path.read_bytes()

    return check


@pytest.fixture
def together():
    """Two callbacks that start at the same time, see `several_engines.start_together`."""
    from several_engines import start_together

    return start_together()


@pytest.fixture
def scratch():
    """Function that makes unnamed files, which are closed after the test."""
    with ExitStack() as files:
        yield lambda: files.enter_context(tempfile.TemporaryFile())


@pytest.fixture(
    params=[
        pytest.param("host", marks=pytest.mark.slow),
        pytest.param("device", marks=[pytest.mark.gpu, pytest.mark.slow]),
    ]
)
def device(request):
    """Device on which CUDA kernels run: the host everywhere, and a GPU where there is one."""
    from host_device import HostDevice, compiler

    if request.param == "host":
        if compiler() is None:
            pytest.skip("no C++ compiler on this machine")
        return HostDevice()
    return request.getfixturevalue("real_device")


@pytest.fixture(
    params=[
        "one_thread",
        "three_threads",
        pytest.param("cuda_on_host", marks=pytest.mark.slow),
        pytest.param("side_by_side", marks=pytest.mark.slow),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ]
)
def engine(request, monkeypatch):
    """Each engine that commands in this process can use, as an `EngineChoice`."""
    import engines
    from host_device import compiler

    if request.param in ("cuda_on_host", "side_by_side") and compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    if request.param == "cuda":
        request.getfixturevalue("real_device")
    return getattr(engines, request.param)(monkeypatch)


@pytest.fixture
def real_device():
    """The first GPU; the test is skipped if there is none."""
    yield from _gpu(fcntl.LOCK_SH)


@pytest.fixture
def whole_device():
    """The first GPU, while no other test uses it."""
    yield from _gpu(fcntl.LOCK_EX)


def _gpu(lock):
    from gpualign.gpu.runtime.inventory import detect_devices

    if reason := detect_devices().reason:
        pytest.skip(reason)
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

    with Path(tempfile.gettempdir(), f"gpualign-gpu-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, lock)
        yield CudaDevice(0)


@pytest.fixture
def force(monkeypatch):
    """Function that makes the CUDA engine use a family of kernels and, of its variants, the first with `strip_rows` rows per strip."""
    from gpualign.gpu.alignment import worker

    def force_family(family, strip_rows=None):
        def choose(recipe, queries, targets, hardware, memory=None):
            variants = family.kernel_variants(recipe, int(queries.max()), int(targets.max()))
            return next(variant for variant in variants if strip_rows in (None, variant.strip_rows))

        monkeypatch.setattr(worker, "choose_kernel_variant", choose)

    return force_family


@pytest.fixture
def single_pairs(monkeypatch):
    """Make the CPU engine trace pairs of up to 200 letters one by one, by leaving too little memory for a block of lanes."""
    from gpualign.cpu.alignment import _kernels, engine

    pair_bytes = 32_000
    make = engine.native_path_recipe

    def with_little_memory(recipe, worker_bytes):
        native = make(replace(recipe, sliced=False), pair_bytes)
        assert all(_kernels.path_bytes(s.name, native, 1, 1)[0] > pair_bytes for s in engine.instruction_sets() if s.is_supported)
        return native

    monkeypatch.setattr(engine, "native_path_recipe", with_little_memory)
