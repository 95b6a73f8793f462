"""Picks the engine that a device's name asks for."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.common.units import format_bytes
from gpualign.jobs.reporter import UNHEARD, Notes

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.execution.engine import Engine, TimedEngine
    from gpualign.cpu.alignment.engine import CpuEngine
    from gpualign.gpu.alignment.engine import CudaEngine
    from gpualign.gpu.runtime.inventory import Inventory
    from gpualign.gpu.runtime.pycuda_device import CudaDevice

AUTO = "auto"
ALL = "all"


@dataclass(frozen=True)
class Resources:
    """What a job may use. device: auto, cpu, cuda, cuda:all, cuda:0,1, all, or a list such as cpu,cuda:0; threads: of the CPU, None: as
    many as this process may use and memory holds, but for `spare`; memory: bytes, None: `gpualign.jobs.devices.memory.default_memory`.

    executor: whose workers compute, with what device and memory say of their own machines; None: this process does. worker_threads: of
    each worker; sharing: workers that share a machine's threads and memory.
    """

    device: str = AUTO
    threads: int | None = None
    memory: int | None = None
    spare: int = 0
    executor: Executor | None = None
    worker_threads: int | None = None
    sharing: int = 1

    @property
    def host_threads(self) -> int:
        """Threads of the CPU, as a number."""
        from gpualign.cpu.processor import usable_cpus

        return self.threads or max(1, usable_cpus() - self.spare)

    def of_worker(self) -> Resources:
        """What a worker of the executor may use of its machine."""
        return replace(self, threads=self.worker_threads, executor=None)


def checked_resources(device: str, threads: int | None, memory: int | None, notes: Notes = UNHEARD) -> Resources:
    """No more threads than this machine has processors, which is noted, and so is memory that this process may not have. Raises
    `InputError` for what is no device's name."""
    if device not in (AUTO, "cpu"):
        from gpualign.gpu.runtime.inventory import check_selection

        check_selection(device)
    most = os.cpu_count() or 1
    if threads is not None and threads > most:
        notes.note(f"{parameter('threads', threads)}: this machine has {most} processors, so {most} are used")
        threads = most
    if memory is not None:
        from gpualign.jobs.devices.memory import describe_limit, usable_memory

        there = usable_memory()
        if there is not None and memory > there:
            notes.note(f"{parameter('memory')} {format_bytes(memory)}: {describe_limit()}; the system may end it when it has more")
    return Resources(device, threads, memory)


def _gpus(device: str, notes: Notes, note: str = "using the CPU") -> Inventory | None:
    """The GPUs for a checked device, or None where the CPU is to do the work: then `note` and the reason are told, unless it was asked
    for. Raises `RunError` where CUDA is asked for and cannot be had."""
    if device == "cpu":
        return None
    from gpualign.gpu.runtime.inventory import take_inventory

    asked_for = device not in (AUTO, ALL)
    inventory = take_inventory(mending=asked_for)  # of others that there is a remedy is told, not which
    if inventory.reason is None:
        return inventory
    if asked_for:
        raise RunError(_missing(parameter("device", device), inventory, f"; use {parameter('device', 'cpu')} or auto"))
    # Most machines have no GPU, and their users need not be told each time.
    tell = notes.note if inventory.expected else notes.detail
    tell(f"{note}: {inventory.reason}" + (" (gpualign info says what to do)" if inventory.remedy else ""))
    return None


def _missing(what: str, inventory: Inventory, otherwise: str = "") -> str:
    """The message for `what`, which no device can do; otherwise: what else to do."""
    remedy = f"{', or' if otherwise else ';'} do this:\n    {inventory.remedy}" if inventory.remedy else ""
    return f"{what}: {inventory.reason}{otherwise}{remedy}"


def _named(device: str) -> str:
    """Which GPUs a checked device stands for where there are some."""
    from gpualign.gpu.runtime.inventory import split_selection

    return "cuda" if device == AUTO else split_selection(device)[0] or "cuda"


def _is_mixed(device: str) -> bool:
    """Whether a checked device names the CPU beside GPUs."""
    if device in (AUTO, "cpu"):
        return False
    from gpualign.gpu.runtime.inventory import split_selection

    return split_selection(device)[1]


def _may_choose(resources: Resources) -> bool:
    """Whether the work is to decide about the device, and there may be a GPU."""
    return resources.device == AUTO and find_spec("pycuda") is not None


def pick_engine(resources: Resources, notes: Notes, host_traceback: bool = False) -> Engine:
    """The engine for checked resources; host_traceback is for CUDA alone. Raises `RunError` where CUDA is asked for and cannot be had,
    `InputError` where host_traceback cannot be combined with the devices."""
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_engine

        return remote_engine(resources, notes)
    return pick_own_engine(resources, notes, host_traceback)


def pick_own_engine(resources: Resources, notes: Notes, host_traceback: bool = False) -> TimedEngine:
    """The same of this machine, whatever executor there is."""
    mixed = _is_mixed(resources.device)
    if mixed and host_traceback:
        host, device = parameter("traceback", "host"), parameter("device", resources.device)
        raise InputError(f"{host} is only for GPUs; it cannot be combined with {device}")

    def cuda() -> CudaEngine | None:
        if inventory := _gpus(resources.device, notes):
            from gpualign.gpu.factory import make_engine

            return make_engine(_named(resources.device), inventory, host_traceback, notes.note)
        return None

    if _may_choose(resources) and not host_traceback:
        from gpualign.jobs.devices.auto import SoonerEngine

        return SoonerEngine(cpu_engine(resources), cuda, notes)
    found = cuda()
    if found and not mixed:
        return found
    if found is None:
        return cpu_engine(resources)
    from gpualign.core.execution.multi_device import SideBySide

    return SideBySide([found, cpu_engine(resources, spare=found.device_count)], notes.note, notes.detail)


def cpu_engine(resources: Resources, spare: int = 0) -> CpuEngine:
    """The CPU's, which leaves `spare` processors more to others, unless its threads were asked for."""
    from gpualign.cpu.alignment.engine import CpuEngine

    return CpuEngine(resources.threads, spare=resources.spare + spare)


def pick_distance_engine(resources: Resources, notes: Notes, kernel: str = AUTO, comparisons: float | None = None) -> DistanceEngine:
    """The engine of `dist`; kernel: "auto", or one of Payne 2010; comparisons: to be made, by which the device "auto" decides. Raises
    likewise."""
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_distance_engine

        return remote_distance_engine(resources, notes)
    from gpualign.cpu.distance.engine import CpuDistanceEngine

    if kernel != AUTO:
        from gpualign.gpu.papers.payne import PayneEngine

        return PayneEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel, resources.host_threads)
    if comparisons is not None and _may_choose(resources):
        from gpualign.jobs.devices.auto import cuda_is_sooner

        if not cuda_is_sooner(comparisons, resources.host_threads):
            notes.detail("on the CPU, which takes less time than CUDA to start")
            return CpuDistanceEngine(resources.threads, spare=resources.spare)
    engines: list[DistanceEngine] = []
    if inventory := _gpus(resources.device, notes):
        from gpualign.gpu.factory import make_distance_engines

        engines += make_distance_engines(_named(resources.device), inventory, resources.host_threads)
    if not engines:
        return CpuDistanceEngine(resources.threads, spare=resources.spare)
    if _is_mixed(resources.device):
        engines.append(CpuDistanceEngine(resources.threads, spare=resources.spare + len(engines)))
    if len(engines) == 1:
        return engines[0]
    from gpualign.core.distance.multi_device import DistancesSideBySide

    return DistancesSideBySide(engines, notes.note)


def paper_device(device: str, what: str) -> CudaDevice:
    """The device of a paper's kernels; what: for messages. Raises `InputError` for other than one GPU, `RunError` where there is none."""
    from gpualign.gpu.runtime.inventory import take_inventory, the_device

    if device == "cpu" or "all" in device or "," in device:
        raise InputError(f"{what} is for one GPU; it cannot be combined with {parameter('device', device)}")
    inventory = take_inventory()
    if inventory.reason is not None:
        raise RunError(_missing(what, inventory))
    return the_device(_named(device), inventory)


def bench_device(device: str, notes: Notes) -> CudaDevice | None:
    """The GPU to measure, or None where there is none, or the CPU is asked for. Raises as `paper_device` does."""
    if device not in (AUTO, "cpu"):
        return paper_device(device, "bench")
    if inventory := _gpus(device, notes, "only the CPU is measured"):
        from gpualign.gpu.runtime.inventory import the_device

        return the_device(_named(device), inventory)
    return None


def pick_global_engine(resources: Resources, notes: Notes, host_traceback: bool, kernel: str, transfer: str | None) -> Engine:
    """The engine of `nw`; kernel: "auto", or one of Li 2014. Raises as `pick_engine` and `paper_device` do."""
    if kernel == AUTO:
        if transfer is not None:
            raise InputError(f"{parameter('transfer')} is of the kernels of Li 2014; choose one with {parameter('kernel')}")
        return pick_engine(resources, notes, host_traceback)
    if host_traceback:
        raise InputError(f"{parameter('kernel', kernel)} traces on the host anyway; leave out {parameter('traceback')}")
    from gpualign.gpu.papers.li import LiEngine, Transfer, pick_method

    found = paper_device(resources.device, parameter("kernel", kernel))
    return LiEngine(found, pick_method(found.name) if kernel == "li-auto" else kernel, Transfer(transfer or "double"))


def pick_near_engine(resources: Resources, engine: Engine, one_bound: bool) -> Engine:
    """What finds near pairs, beside the engine that aligns: that one, or the CPU where it cannot. one_bound: whether a bound for all pairs
    will do, since only the CPU has closer ones for pairs with few ambiguity letters."""
    from gpualign.cpu.alignment.engine import CpuEngine

    if engine.capabilities.near and (one_bound or isinstance(engine, CpuEngine)):
        return engine
    return cpu_engine(resources)


def pick_pair_engine(resources: Resources, engine: Engine) -> Engine:
    """What aligns the pairs that a threshold has left. They are few and scattered, a target or two of a query, of which a GPU cannot make
    rectangles worth its while: the CPU, whatever `engine` is."""
    from gpualign.cpu.alignment.engine import CpuEngine

    return engine if isinstance(engine, CpuEngine) else cpu_engine(resources)


def pick_local_engine(resources: Resources, notes: Notes, kernel: str) -> Engine:
    """The engine of `sw`; kernel: "auto", or one of Munekawa 2008. Raises likewise."""
    if kernel == AUTO:
        return pick_engine(resources, notes)
    from gpualign.gpu.papers.munekawa import MunekawaEngine

    return MunekawaEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel)


def devices() -> list[str]:
    """Names of what this machine can compute with: "cpu", then "cuda:0" and so on for each usable GPU."""
    from gpualign.gpu.runtime.inventory import take_inventory

    inventory = take_inventory()
    return ["cpu", *(f"cuda:{number}" for number in inventory.usable if inventory.reason is None)]
