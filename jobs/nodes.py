"""A cluster as one more engine: workers that compute with what their own machine has.

The coordinator asks for `remote_engine` or `remote_distance_engine`; `serve` is what workers run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpualign.core.budget import Budget
from gpualign.core.distance.budget import DistanceBudget
from gpualign.core.distance.engine import Panel
from gpualign.core.distance.remote import CounterOrder, CounterServer, RemoteDistanceEngine
from gpualign.core.engine import Prepared, Task
from gpualign.core.remote.engine import RemoteEngine, TaskOrder, TaskServer
from gpualign.core.remote.node import Node
from gpualign.core.remote.protocol import Answer, Call
from gpualign.cpu.distance import CpuDistanceEngine
from gpualign.cpu.engine import CpuPrepared
from gpualign.jobs.budget import default_memory, memory_left, physical_memory
from gpualign.jobs.engines import AUTO, Resources, checked_resources, cpu_engine, pick_distance_engine, pick_engine, pick_near_engine
from gpualign.jobs.executors import fleet_of
from gpualign.jobs.notes import UNHEARD, Notes
from gpualign.jobs.sooner import comparisons_a_second, cuda_rate


def remote_engine(resources: Resources, notes: Notes) -> RemoteEngine:
    """Alignments, on the workers of the resources' executor."""
    return RemoteEngine(fleet_of(resources, serve, notes), resources.of_worker())


def remote_distance_engine(resources: Resources, notes: Notes) -> RemoteDistanceEngine:
    """Distances, likewise."""
    return RemoteDistanceEngine(fleet_of(resources, serve, notes), resources.of_worker(), resources.host_threads)


def serve(call: Call, *payload: bytes) -> Answer:
    """What a worker does with a call."""
    return _node.answer(call, *payload)


def _open(parts: list[Any]) -> Callable[[Any], Any]:
    order, *rest = parts
    resources = _here(order.settings)
    if isinstance(order, TaskOrder):
        return _open_task(order.task(rest), resources)
    assert isinstance(order, CounterOrder)
    return _open_panels(order, rest, resources)


_node = Node(_open)


def _here(asked: Resources) -> Resources:
    """What this worker may use of its machine: its share, and no more than there is. Raises as `pick_engine` does."""
    found = checked_resources(asked.device, asked.threads, asked.memory)
    share = max(1, found.host_threads // asked.sharing)
    threads = None if found.threads is None else share
    memory, there = found.memory or default_memory(), physical_memory()
    if there is not None:
        memory = min(memory, there // 2)
    return replace(found, threads=threads, spare=found.host_threads - share, memory=memory // asked.sharing)


def _open_task(task: Task, resources: Resources) -> TaskServer:
    engine = pick_engine(resources, UNHEARD)
    if task.within is not None:
        engine = pick_near_engine(resources, engine)
    if engine.capabilities.refusal(task):
        engine = cpu_engine(resources)
    prepared: Prepared = engine.prepare(task, Budget.of(memory_left(task, resources.memory)))
    if not isinstance(prepared, CpuPrepared):
        return TaskServer(prepared, cuda_rate(task))
    compute = prepared.begin()  # once, and not for each tile: it may look at all records
    limits, work = prepared.limits, task.pairs_about
    if task.within is None:
        limits, work = replace(limits, sharing=prepared.threads), task.cells_about  # threads end each shipped tile together
    return TaskServer(replace(prepared, limits=limits, begin=lambda: compute), work / max(prepared.seconds, 1e-9))


def _open_panels(order: CounterOrder, panels: list[Panel], resources: Resources) -> CounterServer:
    memory = DistanceBudget.of(resources.memory or default_memory(), sum(panel.bits.nbytes for panel in panels)).counts
    engine = pick_distance_engine(resources, UNHEARD)
    if resources.device == AUTO and panels and engine.prepare(order.wanted, memory).products_only and not order.products_only:
        engine = CpuDistanceEngine(
            resources.threads, spare=resources.spare
        )  # the first worker has no GPU, and bit planes are made for its kind
    on_cpu = isinstance(engine, CpuDistanceEngine)
    return CounterServer(order, panels, engine, memory, comparisons_a_second(resources.host_threads if on_cpu else None))
