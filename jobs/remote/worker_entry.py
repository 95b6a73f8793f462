"""A cluster as one more engine: workers that compute with what their own machine has.

The coordinator asks for `remote_engine` or `remote_distance_engine`; `serve` is what workers run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpualign.core.alignment.task import Task
from gpualign.core.common.memory import usable_memory
from gpualign.core.distance.engine import Panel
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.remote import CounterOrder, CounterServer, RemoteDistanceEngine
from gpualign.core.execution.remote.engine import RemoteEngine, TaskOrder
from gpualign.core.execution.remote.protocol import Answer, Call
from gpualign.core.execution.remote.task_server import TaskServer
from gpualign.core.execution.remote.worker import Node, Opened, in_turn
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuPrepared
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.devices.local_engines import pick_own_distance_engine, pick_own_engine
from gpualign.jobs.devices.memory import default_memory, memory_left
from gpualign.jobs.devices.resources import AUTO, Resources, checked_resources
from gpualign.jobs.remote.executors import fleet_of
from gpualign.jobs.reporter import SILENT, Reporter


def remote_engine(resources: Resources, notes: Reporter) -> RemoteEngine:
    """Alignments, on the workers of the resources' executor."""
    return RemoteEngine(fleet_of(resources, serve, notes), resources.of_worker())


def remote_distance_engine(resources: Resources, notes: Reporter) -> RemoteDistanceEngine:
    """Distances, likewise."""
    return RemoteDistanceEngine(fleet_of(resources, serve, notes), resources.of_worker(), resources.host_threads)


def serve(call: Call, *payload: bytes) -> Answer:
    """What a worker does with a call."""
    return _node.answer(call, *payload)


def _open(parts: list[Any]) -> Opened:
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
    memory, there = found.memory or default_memory(), usable_memory()
    if there is not None:
        memory = min(memory, there // 2)
    return replace(found, threads=threads, spare=found.host_threads - share, memory=memory // asked.sharing)


def _open_task(task: Task, resources: Resources) -> TaskServer:
    prepared = pick_own_engine(resources, SILENT).prepare(task, Budget.of(memory_left(task, resources.memory)))
    rate = (task.cells_about if task.within is None else task.pairs_about) / max(prepared.seconds, 1e-9)
    if isinstance(prepared, CpuPrepared):
        compute = prepared.begin()  # once, and not for each run: it may look at all records
        limits = prepared.limits if task.within is not None else replace(prepared.limits, sharing=prepared.threads)  # ends of runs
        prepared = replace(prepared, limits=limits, begin=lambda: compute)
    return TaskServer(prepared, rate)


def _open_panels(order: CounterOrder, panels: list[Panel], resources: Resources) -> Opened:
    memory = DistanceBudget.of(resources.memory or default_memory(), sum(panel.bits.nbytes for panel in panels)).counts
    engine = pick_own_distance_engine(resources, SILENT)
    if resources.device == AUTO and panels and engine.prepare(order.wanted, memory).products_only and not order.products_only:
        engine = CpuDistanceEngine(
            resources.threads, spare=resources.spare
        )  # the first worker has no GPU, and bit planes are made for its kind
    return in_turn(CounterServer(order, panels, engine, memory))
