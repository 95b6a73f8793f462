"""Makes engines of this machine's devices."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.jobs.devices.resources import ALL, AUTO, Resources
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.execution.engine import TimedEngine
    from gpualign.cpu.alignment.engine import CpuEngine
    from gpualign.gpu.alignment.engine import CudaEngine
    from gpualign.gpu.runtime.inventory import Inventory
    from gpualign.gpu.runtime.pycuda_device import CudaDevice


def _gpus(device: str, notes: Reporter, note: str = "using the CPU") -> Inventory | None:
    """The GPUs for a checked device, or None where the CPU is to do the work: then `note` and the reason are told, unless it was asked
    for. Raises `RunError` where CUDA is asked for and cannot be had."""
    if device == "cpu":
        return None
    from gpualign.gpu.runtime.inventory import detect_devices

    asked_for = device not in (AUTO, ALL)
    inventory = detect_devices(mending=asked_for)  # of others that there is a remedy is told, not which
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


def pick_own_engine(resources: Resources, notes: Reporter, host_traceback: bool = False) -> TimedEngine:
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
        from gpualign.jobs.devices.auto import AutoDeviceEngine

        return AutoDeviceEngine(cpu_engine(resources), cuda, notes)
    found = cuda()
    if found and not mixed:
        return found
    if found is None:
        return cpu_engine(resources)
    from gpualign.core.execution.multi_device import MultiDeviceEngine

    return MultiDeviceEngine([found, cpu_engine(resources, spare=found.device_count)], notes.note, notes.detail)


def cpu_engine(resources: Resources, spare: int = 0) -> CpuEngine:
    """The CPU's, which leaves `spare` processors more to others, unless its threads were asked for."""
    from gpualign.cpu.alignment.engine import CpuEngine

    return CpuEngine(resources.threads, spare=resources.spare + spare)


def pick_own_distance_engine(resources: Resources, notes: Reporter, kernel: str = AUTO, comparisons: float | None = None) -> DistanceEngine:
    """Likewise, of this machine."""
    from gpualign.cpu.distance.engine import CpuDistanceEngine

    if kernel != AUTO:
        from gpualign.gpu.papers.payne import PayneEngine

        return PayneEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel, resources.host_threads)
    if comparisons is not None and _may_choose(resources):
        from gpualign.jobs.devices.auto import cuda_is_faster

        if not cuda_is_faster(comparisons, resources.host_threads):
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
    from gpualign.core.distance.multi_device import MultiDeviceDistanceEngine

    return MultiDeviceDistanceEngine(engines, notes.note)


def paper_device(device: str, what: str) -> CudaDevice:
    """The device of a paper's kernels; what: for messages. Raises `InputError` for other than one GPU, `RunError` where there is none."""
    from gpualign.gpu.runtime.inventory import detect_devices, the_device

    if device == "cpu" or "all" in device or "," in device:
        raise InputError(f"{what} is for one GPU; it cannot be combined with {parameter('device', device)}")
    inventory = detect_devices()
    if inventory.reason is not None:
        raise RunError(_missing(what, inventory))
    return the_device(_named(device), inventory)


def bench_device(device: str, notes: Reporter) -> CudaDevice | None:
    """The GPU to measure, or None where there is none, or the CPU is asked for. Raises as `paper_device` does."""
    if device not in (AUTO, "cpu"):
        return paper_device(device, "bench")
    if inventory := _gpus(device, notes, "only the CPU is measured"):
        from gpualign.gpu.runtime.inventory import the_device

        return the_device(_named(device), inventory)
    return None


def devices() -> list[str]:
    """Names of what this machine can compute with: "cpu", then "cuda:0" and so on for each usable GPU."""
    from gpualign.gpu.runtime.inventory import detect_devices

    inventory = detect_devices()
    return ["cpu", *(f"cuda:{number}" for number in inventory.usable if inventory.reason is None)]
