"""Lets a cluster serve as an engine like any other: each worker computes on the devices of its own machine.

The coordinator calls `remote_engine` or `remote_distance_engine`; workers run `serve`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpualign.core.alignment.task import Task
from gpualign.core.common.memory import usable_memory
from gpualign.core.distance.engine import Panel
from gpualign.core.distance.memory_budget import DistanceBudget
from gpualign.core.distance.remote import CounterServer, CountSpec, RemoteDistanceEngine
from gpualign.core.execution.remote.engine import RemoteEngine, TaskSpec
from gpualign.core.execution.remote.protocol import Answer, RemoteCall
from gpualign.core.execution.remote.task_server import TaskServer
from gpualign.core.execution.remote.worker import RequestHandler, WorkerNode, one_at_a_time
from gpualign.core.planning.memory_budget import Budget
from gpualign.cpu.alignment.engine import CpuPreparedTask
from gpualign.cpu.distance.engine import CpuDistanceEngine
from gpualign.jobs.devices.local_engines import pick_local_distance_engine, pick_local_engine
from gpualign.jobs.devices.memory import default_memory, remaining_memory
from gpualign.jobs.devices.resources import AUTO, Resources, checked_resources
from gpualign.jobs.remote.executors import worker_client
from gpualign.jobs.reporter import SILENT_REPORTER, Reporter


def remote_engine(resources: Resources, reporter: Reporter) -> RemoteEngine:
    """Return an engine that aligns on the workers of the resources' executor."""
    return RemoteEngine(worker_client(resources, serve, reporter), resources.worker_resources())


def remote_distance_engine(resources: Resources, reporter: Reporter) -> RemoteDistanceEngine:
    """Return an engine that computes distances on the workers of the resources' executor."""
    return RemoteDistanceEngine(worker_client(resources, serve, reporter), resources.worker_resources(), resources.host_threads)


def serve(call: RemoteCall, *payload: bytes) -> Answer:
    """Answer a remote call. This function runs on a worker. payload: the pickled arguments named in `call.sent_names`, in this order."""
    return _worker_node.answer(call, *payload)


def _open_handler(arguments: list[Any]) -> RequestHandler:
    spec, *remaining = arguments
    resources = _local_resources(spec.settings)
    if isinstance(spec, TaskSpec):
        return _open_task(spec.assemble_task(remaining), resources)
    assert isinstance(spec, CountSpec)
    return _open_panels(spec, remaining, resources)


_worker_node = WorkerNode(_open_handler)


def _local_resources(requested: Resources) -> Resources:
    """Return the resources that this worker may use on its machine: its share, and no more than is available. Raises the same errors as
    `checked_resources`."""
    checked = checked_resources(requested.device, requested.threads, requested.memory)
    share = max(1, checked.host_threads // requested.workers_per_machine)
    threads = None if checked.threads is None else share
    memory, usable = checked.memory or default_memory(), usable_memory()
    if usable is not None:
        memory = min(memory, usable // 2)
    return replace(checked, threads=threads, spare_threads=checked.host_threads - share, memory=memory // requested.workers_per_machine)


def _open_task(task: Task, resources: Resources) -> TaskServer:
    prepared = pick_local_engine(resources, SILENT_REPORTER).prepare(task, Budget.from_total(remaining_memory(task, resources.memory)))
    rate = (task.approximate_cell_count if task.edit_bound is None else task.approximate_pair_count) / max(prepared.estimated_seconds, 1e-9)
    if isinstance(prepared, CpuPreparedTask):
        compute = prepared.make_computer()  # once for all runs, since it may read all records
        limits = prepared.limits if task.edit_bound is not None else replace(prepared.limits, worker_count=prepared.threads)  # ends of runs
        prepared = replace(prepared, limits=limits, make_computer=lambda: compute)
    return TaskServer(prepared, rate)


def _open_panels(spec: CountSpec, panels: list[Panel], resources: Resources) -> RequestHandler:
    memory = DistanceBudget.of(resources.memory or default_memory(), sum(panel.bits.nbytes for panel in panels)).count_bytes
    engine = pick_local_distance_engine(resources, SILENT_REPORTER)
    if resources.device == AUTO and panels and engine.prepare(spec.request, memory).products_only and not spec.products_only:
        engine = CpuDistanceEngine(
            resources.threads, spare_cpus=resources.spare_threads
        )  # the first worker has no GPU, and bit planes are laid out for its engine
    return one_at_a_time(CounterServer(spec, panels, engine, memory))
