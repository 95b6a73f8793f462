"""Creates the engines for this machine's devices."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gpualign.core.common.errors import LINE_BREAK, InputError, RunError, parameter
from gpualign.jobs.devices.resources import ALL_DEVICES, AUTO, Resources
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.execution.engine import PairAligningEngine, TimedEngine
    from gpualign.cpu.alignment.engine import CpuEngine
    from gpualign.gpu.alignment.engine import CudaEngine
    from gpualign.gpu.runtime.inventory import Inventory
    from gpualign.gpu.runtime.pycuda_device import CudaDevice


def _find_gpus(device: str, reporter: Reporter, note: str = "using the CPU") -> Inventory | None:
    """Return the GPUs for a validated device name, or None if the CPU is to be used. In that case, `note` and the reason are reported
    unless the user asked for the CPU. Raises `RunError` if CUDA is requested but not available."""
    if device == "cpu":
        return None
    from gpualign.gpu.runtime.inventory import detect_devices

    requested = device not in (AUTO, ALL_DEVICES)
    inventory = detect_devices(with_remedy=requested)  # otherwise the message says only that there is a remedy
    if inventory.reason is None:
        return inventory
    if requested:
        raise RunError(_unsupported_message(parameter("device", device), inventory, f"; use {parameter('device', 'cpu')} or auto"))
    # Most machines have no GPU, and their users need no note each time.
    report = reporter.note if inventory.gpu_expected else reporter.detail
    report(f"{note}: {inventory.reason}" + (" (gpualign info says what to do)" if inventory.remedy else ""))
    return None


def _unsupported_message(feature: str, inventory: Inventory, alternative: str = "") -> str:
    """Return the message saying that no device supports `feature`. alternative: what else the user can do, besides the remedy that
    `inventory` suggests."""
    remedy = f"{', or' if alternative else ';'} do this:{LINE_BREAK}    {inventory.remedy}" if inventory.remedy else ""
    return f"{feature}: {inventory.reason}{alternative}{remedy}"


def _gpu_selection(device: str) -> str:
    """Return the part of a validated device name that selects GPUs, such as "cuda:0"; "cuda" for auto. Assumes that there are GPUs."""
    from gpualign.gpu.runtime.inventory import parse_selection

    return "cuda" if device == AUTO else parse_selection(device)[0] or "cuda"


def _is_mixed(device: str) -> bool:
    """True if a validated device name includes the CPU as well as GPUs."""
    if device in (AUTO, "cpu"):
        return False
    from gpualign.gpu.runtime.inventory import parse_selection

    return parse_selection(device)[1]


def _may_choose_device(resources: Resources) -> bool:
    """True if the device should be chosen according to the work, and there may be a GPU."""
    return resources.device == AUTO and find_spec("pycuda") is not None


def pick_local_engine(resources: Resources, reporter: Reporter, host_traceback: bool = False) -> TimedEngine:
    """Return the engine for validated resources on this machine, ignoring any executor. Parameters and errors as for
    `pick_engine`."""
    mixed = _is_mixed(resources.device)
    if mixed and host_traceback:
        host, device = parameter("traceback", "host"), parameter("device", resources.device)
        raise InputError(f"{host} is only for GPUs; it cannot be combined with {device}")

    def cuda() -> CudaEngine | None:
        if inventory := _find_gpus(resources.device, reporter):
            from gpualign.gpu.factory import make_engine

            return make_engine(_gpu_selection(resources.device), inventory, host_traceback, reporter.note)
        return None

    if _may_choose_device(resources) and not host_traceback:
        from gpualign.jobs.devices.auto import AutoDeviceEngine

        return AutoDeviceEngine(cpu_engine(resources), cuda, reporter)
    gpus = cuda()
    if gpus and not mixed:
        return gpus
    if gpus is None:
        return cpu_engine(resources)
    from gpualign.core.execution.multi_device import MultiDeviceEngine

    return MultiDeviceEngine([gpus, cpu_engine(resources, gpus.device_count)], reporter.note, reporter.detail)


def cpu_engine(resources: Resources, spare_threads: int = 0) -> CpuEngine:
    """Return the CPU engine, leaving `spare_threads` extra processors free unless a thread count was requested."""
    from gpualign.cpu.alignment.engine import CpuEngine

    return CpuEngine(resources.threads, spare_cpus=resources.spare_threads + spare_threads)


def pick_local_pair_engine(resources: Resources, reporter: Reporter) -> PairAligningEngine:
    """Return the engine that aligns listed pairs on this machine: on its GPUs if lists are long enough, else on the CPU."""
    host = cpu_engine(resources)
    if resources.device == "cpu" or find_spec("pycuda") is None:
        return host
    from gpualign.gpu.factory import make_pair_engine

    return make_pair_engine(_gpu_selection(resources.device), lambda: _find_gpus(resources.device, SILENT_REPORTER), host, reporter.note)


def pick_local_distance_engine(
    resources: Resources, reporter: Reporter, kernel: str = AUTO, comparisons: float | None = None
) -> DistanceEngine:
    """Return the `dist` engine for this machine, ignoring any executor. Parameters and errors as for `pick_distance_engine`."""
    from gpualign.cpu.distance.engine import CpuDistanceEngine

    if kernel != AUTO:
        from gpualign.gpu.papers.payne import PayneEngine

        return PayneEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel, resources.host_threads)
    if comparisons is not None and _may_choose_device(resources):
        from gpualign.jobs.devices.auto import cuda_is_faster

        if not cuda_is_faster(comparisons, resources.host_threads):
            reporter.detail("on the CPU, which takes less time than CUDA to start")
            return CpuDistanceEngine(resources.threads, spare_cpus=resources.spare_threads)
    engines: list[DistanceEngine] = []
    if inventory := _find_gpus(resources.device, reporter):
        from gpualign.gpu.factory import make_distance_engines

        engines += make_distance_engines(_gpu_selection(resources.device), inventory, resources.host_threads)
    if not engines:
        return CpuDistanceEngine(resources.threads, spare_cpus=resources.spare_threads)
    if _is_mixed(resources.device):
        engines.append(CpuDistanceEngine(resources.threads, spare_cpus=resources.spare_threads + len(engines)))
    if len(engines) == 1:
        return engines[0]
    from gpualign.core.distance.multi_device import MultiDeviceDistanceEngine

    return MultiDeviceDistanceEngine(engines, reporter.note)


def paper_device(device: str, feature: str) -> CudaDevice:
    """Return the device on which to run a paper's kernels. feature: name, for messages, of what needs the device.

    Raises `InputError` if the user requests anything but one GPU, and `RunError` if no GPU can be used.
    """
    from gpualign.gpu.runtime.inventory import detect_devices, first_selected_device

    if device == "cpu" or "all" in device or "," in device:
        raise InputError(f"{feature} is for one GPU; it cannot be combined with {parameter('device', device)}")
    inventory = detect_devices()
    if inventory.reason is not None:
        raise RunError(_unsupported_message(feature, inventory))
    return first_selected_device(_gpu_selection(device), inventory)


def bench_device(device: str, reporter: Reporter) -> CudaDevice | None:
    """Return the GPU to benchmark, or None if there is none or the CPU is requested. Raises the same errors as `paper_device`."""
    if device not in (AUTO, "cpu"):
        return paper_device(device, "bench")
    if inventory := _find_gpus(device, reporter, "only the CPU is measured"):
        from gpualign.gpu.runtime.inventory import first_selected_device

        return first_selected_device(_gpu_selection(device), inventory)
    return None


def devices() -> list[str]:
    """Return the names of this machine's devices: "cpu", followed by "cuda:0" and so on for each usable GPU."""
    from gpualign.gpu.runtime.inventory import detect_devices

    inventory = detect_devices()
    return ["cpu", *(f"cuda:{number}" for number in inventory.usable_devices if inventory.reason is None)]
