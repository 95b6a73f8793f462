"""Picks the engine that --device asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpualign.cli.messages import Messages
from gpualign.core.errors import InputError, RunError

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.engine import Engine
    from gpualign.gpu.devices import Inventory
    from gpualign.gpu.driver import CudaDevice

AUTO = "auto"


def check_device(device: str) -> None:
    """Raises `InputError` for what --device does not take, before anything is read."""
    if device not in ("auto", "cpu"):
        from gpualign.gpu.devices import check_selection

        check_selection(device)


def usable_threads(asked: int | None, messages: Messages) -> int | None:
    """What --threads comes to: no more than this machine has processors, and a note where that is less. None: not given."""
    most = os.cpu_count() or 1
    if asked is None or asked <= most:
        return asked
    messages.note(f"--threads {asked}: this machine has {most} processors, so {most} are used")
    return most


def _gpus(device: str, messages: Messages, note: str = "using the CPU") -> Inventory | None:
    """The GPUs for a checked --device, or None where the CPU is to do the work: then `note` and the reason are told, unless it was asked
    for. Raises `RunError` where CUDA is asked for and cannot be had."""
    if device == "cpu":
        return None
    from gpualign.gpu.devices import take_inventory

    inventory = take_inventory()
    if inventory.reason is None:
        return inventory
    if device != AUTO:
        raise RunError(f"--device {device}: {inventory.reason}; use --device cpu or auto")
    # Most machines have no GPU, and their users need not be told each time.
    tell = messages.note if inventory.expected else messages.detail
    tell(f"{note}: {inventory.reason}")
    return None


def _named(device: str) -> str:
    """What --device auto stands for where there are GPUs."""
    return "cuda" if device == AUTO else device


def pick_engine(device: str, threads: int | None, messages: Messages, host_traceback: bool = False) -> Engine:
    """The engine for a checked --device; host_traceback is for CUDA alone. Raises `RunError` where CUDA is asked for and cannot be had."""
    if inventory := _gpus(device, messages):
        from gpualign.gpu.devices import make_engine

        return make_engine(_named(device), inventory, host_traceback)
    from gpualign.cpu.engine import CpuEngine

    return CpuEngine(threads)


def pick_distance_engine(device: str, threads: int | None, messages: Messages, kernel: str) -> DistanceEngine:
    """The engine of `dist`; kernel: "auto", or one of Payne 2010. Raises likewise."""
    from gpualign.cpu.distance import CpuDistanceEngine
    from gpualign.cpu.machine import usable_cpus

    if kernel != AUTO:
        from gpualign.gpu.papers.payne import PayneEngine

        return PayneEngine(paper_device(device, f"--kernel {kernel}"), kernel, threads or usable_cpus())
    if inventory := _gpus(device, messages):
        from gpualign.gpu.devices import make_distance_engine

        return make_distance_engine(_named(device), inventory, threads or usable_cpus())
    return CpuDistanceEngine(threads)


def paper_device(device: str, what: str) -> CudaDevice:
    """The device of a paper's kernels; what: for messages. Raises `InputError` for other than one GPU, `RunError` where there is none."""
    from gpualign.gpu.devices import take_inventory, the_device

    if device == "cpu" or "all" in device or "," in device:
        raise InputError(f"{what} is for one GPU; it does not go with --device {device}")
    inventory = take_inventory()
    if inventory.reason is not None:
        raise RunError(f"{what}: {inventory.reason}")
    return the_device(_named(device), inventory)


def bench_device(device: str, messages: Messages) -> CudaDevice | None:
    """The GPU to measure, or None where there is none, or --device cpu asks for that. Raises as `paper_device` does."""
    if device not in (AUTO, "cpu"):
        return paper_device(device, "bench")
    if inventory := _gpus(device, messages, "only the CPU is measured"):
        from gpualign.gpu.devices import the_device

        return the_device(_named(device), inventory)
    return None


def pick_global_engine(
    device: str, threads: int | None, messages: Messages, host_traceback: bool, kernel: str, transfer: str | None
) -> Engine:
    """The engine of `nw`; kernel: "auto", or one of Li 2014. Raises as `pick_engine` and `paper_device` do."""
    if kernel == AUTO:
        if transfer is not None:
            raise InputError("--transfer is of the kernels of Li 2014; choose one with --kernel")
        return pick_engine(device, threads, messages, host_traceback)
    if host_traceback:
        raise InputError(f"--kernel {kernel} traces on the host anyway; leave out --traceback")
    from gpualign.gpu.papers.li import LiEngine, Transfer, pick_method

    found = paper_device(device, f"--kernel {kernel}")
    return LiEngine(found, pick_method(found.name) if kernel == "li-auto" else kernel, Transfer(transfer or "double"))


def pick_local_engine(device: str, threads: int | None, messages: Messages, kernel: str) -> Engine:
    """The engine of `sw`; kernel: "auto", or one of Munekawa 2008. Raises likewise."""
    if kernel == AUTO:
        return pick_engine(device, threads, messages)
    from gpualign.gpu.papers.munekawa import MunekawaEngine

    return MunekawaEngine(paper_device(device, f"--kernel {kernel}"), kernel)
