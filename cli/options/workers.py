"""`--cluster`: opens an executor for the duration of a command and runs the work on its workers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import click

from gpualign.cli.terminal.reporter import ConsoleReporter
from gpualign.core.common.errors import InputError
from gpualign.core.common.signals import cleanup_on_signal
from gpualign.jobs.devices.resources import AUTO, Resources, checked_resources


def resolve_resources(
    cluster: str | None, requested: Resources, reporter: ConsoleReporter, kernel: str = AUTO, traceback: str = "device"
) -> Resources:
    """Return the checked resources, including the cluster's executor if a cluster is named. The executor is closed when the command
    ends. In an MPI worker this function does not return: the worker serves its coordinator and exits.

    kernel, traceback: values of these options; with a cluster only the defaults are allowed

    Raises `InputError` for unknown device or cluster names and for options that need a local GPU, and the same errors as `open_cluster`.
    """
    if cluster is None:
        return checked_resources(requested.device, requested.threads, requested.memory, reporter)
    from gpualign.jobs.remote.executors import MPI_CLUSTER_NAME, check_cluster, open_cluster

    check_cluster(cluster)
    if cluster != MPI_CLUSTER_NAME:  # with MPI only the coordinator reports errors, see below
        _check_cluster_options(kernel, traceback)
    resources = replace(checked_resources(requested.device, None, requested.memory), worker_threads=requested.threads)
    context = click.get_current_context()
    stack = context.with_resource(ExitStack())
    stack.enter_context(cleanup_on_signal(stack.close))
    opened = stack.enter_context(open_cluster(cluster, resources, reporter))
    if opened is None:
        context.exit(0)
    _check_cluster_options(kernel, traceback)
    return opened


def _check_cluster_options(kernel: str, traceback: str) -> None:
    for option, value, default in (("--kernel", kernel, AUTO), ("--traceback", traceback, "device")):
        if value != default:
            raise InputError(f"{option} {value} is for one GPU of this machine; it cannot be combined with --cluster")
