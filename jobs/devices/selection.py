"""Picks the engine for a device's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.jobs.devices.local_engines import cpu_engine, paper_device, pick_own_distance_engine, pick_own_engine
from gpualign.jobs.devices.resources import AUTO, Resources
from gpualign.jobs.reporter import Reporter

if TYPE_CHECKING:
    from gpualign.core.distance.engine import DistanceEngine
    from gpualign.core.execution.engine import Engine


def pick_engine(resources: Resources, reporter: Reporter, host_traceback: bool = False) -> Engine:
    """Return the engine for checked resources. host_traceback: only for CUDA.

    Raises `RunError` if CUDA is requested and not available, `InputError` if host_traceback cannot be combined with the devices.
    """
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_engine

        return remote_engine(resources, reporter)
    return pick_own_engine(resources, reporter, host_traceback)


def pick_distance_engine(resources: Resources, reporter: Reporter, kernel: str = AUTO, comparisons: float | None = None) -> DistanceEngine:
    """Return the engine of `dist`.

    kernel: "auto", or one of Payne 2010
    comparisons: number of comparisons to make, by which the device "auto" decides

    Raises as `pick_engine` and `paper_device` do.
    """
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_distance_engine

        return remote_distance_engine(resources, reporter)
    return pick_own_distance_engine(resources, reporter, kernel, comparisons)


def pick_global_engine(resources: Resources, reporter: Reporter, host_traceback: bool, kernel: str, transfer: str | None) -> Engine:
    """Return the engine of `nw`. kernel: "auto", or one of Li 2014. Raises as `pick_engine` and `paper_device` do."""
    if kernel == AUTO:
        if transfer is not None:
            raise InputError(f"{parameter('transfer')} is for the kernels of Li 2014; choose one with {parameter('kernel')}")
        return pick_engine(resources, reporter, host_traceback)
    if host_traceback:
        raise InputError(f"{parameter('kernel', kernel)} traces on the host anyway; leave out {parameter('traceback')}")
    from gpualign.gpu.papers.li import LiEngine, Transfer, pick_method

    device = paper_device(resources.device, parameter("kernel", kernel))
    return LiEngine(device, pick_method(device.name) if kernel == "li-auto" else kernel, Transfer(transfer or "double"))


def pick_near_engine(resources: Resources, engine: Engine, one_bound: bool) -> Engine:
    """Return the engine that finds near pairs: the one that aligns, or the CPU's if that one cannot.

    one_bound: whether one bound for all pairs suffices, since only the CPU has closer ones for pairs with few ambiguity letters
    """
    from gpualign.cpu.alignment.engine import CpuEngine

    if engine.capabilities.near and (one_bound or isinstance(engine, CpuEngine)):
        return engine
    return cpu_engine(resources)


def pick_pair_engine(resources: Resources, engine: Engine) -> Engine:
    """Return the engine that aligns the pairs that pass a threshold: the CPU's, whatever `engine` is. The pairs are few and scattered, a
    target or two of a query, so a GPU cannot make worthwhile rectangles of them."""
    from gpualign.cpu.alignment.engine import CpuEngine

    return engine if isinstance(engine, CpuEngine) else cpu_engine(resources)


def pick_local_engine(resources: Resources, reporter: Reporter, kernel: str) -> Engine:
    """Return the engine of `sw`. kernel: "auto", or one of Munekawa 2008. Raises as `pick_engine` and `paper_device` do."""
    if kernel == AUTO:
        return pick_engine(resources, reporter)
    from gpualign.gpu.papers.munekawa import MunekawaEngine

    return MunekawaEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel)


@dataclass(frozen=True)
class Engines:
    """Engines of a job that finds near pairs.

    chosen: would compute every pair
    finder: finds near pairs
    aligner: aligns those that are left
    """

    chosen: Engine
    finder: Engine
    aligner: Engine
