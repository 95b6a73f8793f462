"""Picks the engine for a device name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.jobs.devices.local_engines import (
    cpu_engine,
    paper_device,
    pick_local_distance_engine,
    pick_local_engine,
    pick_local_pair_engine,
)
from gpualign.jobs.devices.resources import AUTO, Resources
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.execution.engine import Engine, PairAligningEngine


def pick_engine(resources: Resources, reporter: Reporter, host_traceback: bool = False) -> Engine:
    """Return the engine for validated resources. host_traceback: for CUDA, whether the host traces paths, instead of the GPU.

    Raises `RunError` if CUDA is requested but not available, `InputError` if host_traceback cannot be combined with the devices.
    """
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_engine

        return remote_engine(resources, reporter)
    return pick_local_engine(resources, reporter, host_traceback)


def pick_distance_engine(resources: Resources, reporter: Reporter, kernel: str = AUTO, comparisons: float | None = None) -> DistanceEngine:
    """Return the engine for `dist`.

    kernel: "auto", or a kernel of Payne et al. (2010)
    comparisons: number of calls to compare, by which the device "auto" is chosen; None: not known yet

    Raises the same errors as `pick_engine` and `paper_device`.
    """
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_distance_engine

        return remote_distance_engine(resources, reporter)
    return pick_local_distance_engine(resources, reporter, kernel, comparisons)


def pick_nw_engine(resources: Resources, reporter: Reporter, host_traceback: bool, kernel: str, transfer: str | None) -> Engine:
    """Return the engine for `nw`.

    host_traceback: as for `pick_engine`
    kernel: "auto", or a kernel of Li et al. (2013)
    transfer: how matrices are copied back to the host, a choice that only these kernels offer; None: not given

    Raises the same errors as `pick_engine` and `paper_device`, and `InputError` for contradictory options.
    """
    if kernel == AUTO:
        if transfer is not None:
            raise InputError(f"{parameter('transfer')} is for the kernels of Li 2013; choose one with {parameter('kernel')}")
        return pick_engine(resources, reporter, host_traceback)
    if host_traceback:
        raise InputError(f"{parameter('kernel', kernel)} traces on the host anyway; leave out {parameter('traceback')}")
    from gpualign.gpu.papers.li import LiEngine, TransferMode, pick_method

    device = paper_device(resources.device, parameter("kernel", kernel))
    return LiEngine(device, pick_method(device.name) if kernel == "li-auto" else kernel, TransferMode(transfer or "double"))


def pick_near_pair_engine(resources: Resources, engine: Engine) -> Engine:
    """Return the engine for finding near pairs: `engine`, or the CPU engine if `engine` cannot find them."""
    return engine if engine.capabilities.supports_near_pairs else cpu_engine(resources)


def pick_pair_engine(resources: Resources, engine: Engine, reporter: Reporter) -> PairAligningEngine:
    """Return the engine for aligning the pairs that pass a threshold. They are aligned on this machine, whatever `engine` is.

    engine: engine that would compute every pair
    """
    from gpualign.cpu.alignment.engine import CpuEngine

    if isinstance(engine, CpuEngine):
        return engine
    return cpu_engine(resources) if resources.executor is not None else pick_local_pair_engine(resources, reporter)


def pick_sw_engine(resources: Resources, reporter: Reporter, kernel: str) -> Engine:
    """Return the engine for `sw`. kernel: "auto", or a kernel of Munekawa et al. (2008). Raises the same errors as `pick_engine` and
    `paper_device`."""
    if kernel == AUTO:
        return pick_engine(resources, reporter)
    from gpualign.gpu.papers.munekawa import MunekawaEngine

    return MunekawaEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel)


@dataclass(frozen=True)
class NearPairEngines:
    """Engines of a job that finds near pairs.

    requested: engine that the user asked for, which would compute every pair
    finder: finds near pairs
    aligner: aligns the pairs that are found
    """

    requested: Engine
    finder: Engine
    aligner: PairAligningEngine
