"""Picks the engine that a device's name asks for."""

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


def pick_engine(resources: Resources, notes: Reporter, host_traceback: bool = False) -> Engine:
    """The engine for checked resources; host_traceback is for CUDA alone. Raises `RunError` where CUDA is asked for and cannot be had,
    `InputError` where host_traceback cannot be combined with the devices."""
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_engine

        return remote_engine(resources, notes)
    return pick_own_engine(resources, notes, host_traceback)


def pick_distance_engine(resources: Resources, notes: Reporter, kernel: str = AUTO, comparisons: float | None = None) -> DistanceEngine:
    """The engine of `dist`; kernel: "auto", or one of Payne 2010; comparisons: to be made, by which the device "auto" decides. Raises
    likewise."""
    if resources.executor is not None:
        from gpualign.jobs.remote.worker_entry import remote_distance_engine

        return remote_distance_engine(resources, notes)
    return pick_own_distance_engine(resources, notes, kernel, comparisons)


def pick_global_engine(resources: Resources, notes: Reporter, host_traceback: bool, kernel: str, transfer: str | None) -> Engine:
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


def pick_local_engine(resources: Resources, notes: Reporter, kernel: str) -> Engine:
    """The engine of `sw`; kernel: "auto", or one of Munekawa 2008. Raises likewise."""
    if kernel == AUTO:
        return pick_engine(resources, notes)
    from gpualign.gpu.papers.munekawa import MunekawaEngine

    return MunekawaEngine(paper_device(resources.device, parameter("kernel", kernel)), kernel)


@dataclass(frozen=True)
class Engines:
    """chosen: what would compute every pair; finder: finds near pairs; aligner: aligns those that are left."""

    chosen: Engine
    finder: Engine
    aligner: Engine
