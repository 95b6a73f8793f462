"""The engines that a command can use, for commands that run in the process of the tests."""

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class EngineChoice:
    """An engine of a command.

    words: options that select the engine
    told: what the command's summary then says of the hardware
    first: whether this engine writes golden files
    """

    words: tuple[str, ...]
    told: str
    first: bool = False


def set_device_files(monkeypatch, present):
    """Pretend that /dev has the files of an NVIDIA device, or has none."""
    exists, names = Path.exists, ("nvidia0", "nvidiactl", "dxg")

    def answer(path, **options):
        if path.parent == Path("/dev") and path.name in names:
            return present and path.name != "dxg"
        return exists(path, **options)

    monkeypatch.setattr(Path, "exists", answer)


def one_thread(monkeypatch):
    return EngineChoice(("--device", "cpu", "--threads", "1"), ", 1 thread)", first=True)


def three_threads(monkeypatch):
    """Three threads, however many processors there are. Tiles are single rows, so that a few sequences are work for all threads, and are
    finished out of order."""
    from gpualign.core.execution.worker_pool import WorkerHandle
    from gpualign.cpu.alignment import engine
    from gpualign.cpu.distance import engine as distance_engine

    next_tile = WorkerHandle.next_tile

    def next_tile_late(worker):
        if (tile := next_tile(worker)) is not None:
            time.sleep(0.001 * (3 - tile.query_start % 3))
        return tile

    monkeypatch.setattr(WorkerHandle, "next_tile", next_tile_late)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    # Tiles of real sizes give each of three threads some work only if a command takes a second; every golden file is made by this engine.
    for name in ("DIFFERENCE_TILE_CELLS", "BITSLICED_TILE_CELLS", "PATH_TILE_CELLS", "LOCAL_TILE_CELLS"):
        monkeypatch.setattr(engine, name, 1)
    monkeypatch.setattr(distance_engine, "TILE_ROWS", 1)
    monkeypatch.setattr(distance_engine, "MAX_TILE_COMPARISONS", 1)
    monkeypatch.setattr(distance_engine, "SELECTION_TILE_COLUMNS", 1)
    return EngineChoice(("--device", "cpu", "--threads", "3"), ", 3 threads)")


def cuda_on_host(monkeypatch):
    """The machine's processor as its only CUDA device."""
    from host_device import HostDevice

    from gpualign.gpu import factory
    from gpualign.gpu.runtime import inventory as devices

    found = devices.Inventory([devices.DeviceProperties("host", 1 << 28, (7, 0))], "13.0", None)
    monkeypatch.setattr(devices, "detect_devices", lambda with_remedy=True: found)
    for module in (devices, factory):
        monkeypatch.setattr(module, "selected_devices", lambda text, inventory: [HostDevice()])
    return EngineChoice(("--device", "cuda"), ", cuda (host)")


def side_by_side(monkeypatch):
    """The emulated CUDA device beside the CPU, with small tiles, which go to whichever engine asks first."""
    from gpualign.core.execution.load_balancing import LoadBalancer
    from gpualign.gpu.alignment import engine

    cuda_on_host(monkeypatch)
    # An emulated device would need minutes for several tiles that take a device 0.4 s.
    monkeypatch.setattr(engine, "TILE_SECONDS", 1e-7)
    monkeypatch.setattr(engine, "_SEARCH_BAND_SECONDS", 1e-7)
    monkeypatch.setattr(engine, "_LETTERS_PER_SECOND", 1e15)
    monkeypatch.setattr(engine, "BAND_ROWS", 3)
    monkeypatch.setattr(engine, "TARGET_COUNT_STEP", 1)
    monkeypatch.setattr(LoadBalancer, "may_take", lambda *_: True)
    return EngineChoice(("--device", "all"), ", cuda (host)")


def cuda(monkeypatch):
    return EngineChoice(("--device", "cuda"), ", cuda (")
