"""`--cluster`: the executor whose workers compute, for as long as a command runs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import click

from gpualign.cli.terminal.reporter import ConsoleReporter
from gpualign.core.common.errors import InputError
from gpualign.core.common.signals import cleaning_up
from gpualign.jobs.devices.resources import AUTO, Resources, checked_resources


def find_resources(
    cluster: str | None,
    device: str,
    threads: int | None,
    memory: int | None,
    messages: ConsoleReporter,
    kernel: str = AUTO,
    traceback: str = "device",
) -> Resources:
    """The resources that options ask for, with the executor of a cluster where one is named; it is closed when the command ends. A worker
    of MPI serves its coordinator here, and ends.

    Raises `InputError` for what is no device's or cluster's name and for options that are for one GPU of this machine, and otherwise as
    `open_cluster` does.
    """
    if cluster is None:
        return checked_resources(device, threads, memory, messages)
    from gpualign.jobs.remote.executors import MPI, check_cluster, open_cluster

    check_cluster(cluster)
    if cluster != MPI:  # of which only the coordinator is to say what is wrong
        _check_options(kernel, traceback)
    resources = replace(checked_resources(device, None, memory), worker_threads=threads)
    context = click.get_current_context()
    stack = context.with_resource(ExitStack())
    stack.enter_context(cleaning_up(stack.close))
    found = stack.enter_context(open_cluster(cluster, resources, messages))
    if found is None:
        context.exit(0)
    _check_options(kernel, traceback)
    return found


def _check_options(kernel: str, traceback: str) -> None:
    for option, value, default in (("--kernel", kernel, AUTO), ("--traceback", traceback, "device")):
        if value != default:
            raise InputError(f"{option} {value} is for one GPU of this machine; it cannot be combined with --cluster")
