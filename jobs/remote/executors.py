"""Opens the executor that a cluster's name asks for, and tells what can be known of one."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, cast

from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.execution.remote.coordinator import CALLS_A_WORKER, WorkerPoolClient
from gpualign.core.execution.remote.protocol import Answer
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.reporter import Reporter

MPI = "mpi"
_LOCAL = re.compile(r"dask:([0-9]+)")
_ALWAYS = 16
"""Processes that may be asked for on any machine, however few threads it has."""

_ADDRESS = re.compile(r"(?:dask|tcp|tls)://(?P<host>\[[0-9a-fA-F:.]+\]|[^/:\s]+):\d+")
_LOOPBACK = {"localhost", "127.0.0.1", "[::1]"}

_CONNECT_SECONDS = 10
_END_SECONDS = 0.25
_OURS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1


def check_cluster(name: str) -> None:
    """Raises `InputError` for what is no cluster's name, and for more processes than make sense here."""
    local = _LOCAL.fullmatch(name)
    workers = local[1].lstrip("0") if local else ""
    most = max(_ALWAYS, Resources().host_threads)
    if len(workers) > len(str(most)) or int(workers or 0) > most:
        threads = Resources().host_threads
        raise InputError(
            f"{parameter('cluster', name)}: processes share the {threads:,} threads of this machine; it runs {most:,} of them at most"
        )
    if not (name == MPI or workers or _ADDRESS.fullmatch(name)):
        raise InputError(
            f"{parameter('cluster', name)}: a scheduler's address is wanted, tls://HOST:PORT, dask://HOST:PORT or tcp://HOST:PORT, or"
            " dask:N for N processes of this machine, or mpi under mpirun"
        )


@contextmanager
def open_cluster(name: str, resources: Resources, notes: Reporter) -> Iterator[Resources | None]:
    """The resources with the executor that a checked name asks for, until the context is left. None: this process is a worker of MPI, and
    has served its coordinator to the end.

    Raises `InputError` where a package is missing or MPI has started one process, `RunError` where no scheduler answers.
    """
    with ExitStack() as stack:
        if name == MPI:
            executor = _enter_mpi(stack)
            yield None if executor is None else replace(resources, executor=executor)
            return
        try:
            import distributed
        except ImportError as error:
            raise _missing(name, "distributed", error) from error
        _silence()
        if local := _LOCAL.fullmatch(name):
            workers = int(local[1])
            cluster = stack.enter_context(_started(workers))
            stack.callback(_end_workers, cluster)
            resources = replace(resources, sharing=workers)
            client: Any = stack.enter_context(distributed.Client(cluster, set_as_default=False, direct_to_workers=True))
        else:
            client = stack.enter_context(_connected(name, notes))
        yield replace(resources, executor=client.get_executor(pure=False))


def _started(workers: int) -> Any:
    """A cluster of processes of this machine, behind the loopback interface."""
    from multiprocessing import resource_tracker

    import dask
    import distributed
    from distributed.utils import LoopRunner

    # Ctrl-C in a terminal reaches every process; workers inherit what this thread blocks, and leave it to us, or Dask would start new ones.
    # So does what tracks their files, which would die of a terminal that goes away: of SIGINT and SIGTERM it takes care itself, and
    # unblocks them for whoever starts it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
    try:
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
        runner = LoopRunner()
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    settings = {
        # Dask's own tells malloc to give all memory back at once; the system then clears it again for each tile: a third of its time.
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1},
        # It looks at the stack of every thread a hundred times a second, for a dashboard that nobody sees: a twentieth of a worker's time.
        "distributed.worker.profile.enabled": False,
        # Each process checks fifty times a second whether its event loop is late: on two cores another thirtieth of the time.
        "distributed.admin.tick.interval": "1s",
    }
    try:
        with dask.config.set(settings):
            return distributed.LocalCluster(
                loop=runner.loop,
                n_workers=workers,
                threads_per_worker=CALLS_A_WORKER,  # of Dask's, which wait for those that compute
                host="127.0.0.1",
                dashboard_address=None,
                memory_limit=0,  # what a worker takes is for --memory to say
                silence_logs=logging.CRITICAL,
            )
    except (RuntimeError, OSError) as error:
        raise RunError(f"{parameter('cluster', f'dask:{workers}')}: no workers could be started ({error})") from error


def _end_workers(cluster: Any) -> None:
    """Dask would let them finish what they are at, and an interrupted run has no use for that."""

    nannies = list(cluster.workers.values())

    async def end() -> None:
        await asyncio.gather(*(nanny.close(timeout=_END_SECONDS) for nanny in nannies), return_exceptions=True)

    cluster.sync(end)


def _silence() -> None:
    """What Dask logs of lost connections and dead workers is told where it matters. Each of its parts has a level of its own. Of calls that
    nobody awaits, the loops below it log what they end with."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _missing(name: str, package: str, error: ImportError) -> InputError:
    return InputError(f"{parameter('cluster', name)} needs {package} ({error}): pip install 'gpualign[cluster]'")


def _connected(name: str, notes: Reporter) -> Any:
    """A client of the scheduler at an address. Results come straight from the workers: through the scheduler they would be copied twice
    more; Dask does that where a worker cannot be reached."""
    import distributed

    address = name.replace("dask://", "tcp://")
    found = _ADDRESS.fullmatch(name)
    assert found is not None
    if address.startswith("tcp:") and found["host"] not in _LOOPBACK:
        notes.note(
            f"{parameter('cluster', name)}: the connection is not encrypted, and whoever reaches the scheduler can run code on all of its"
            " workers; outside a closed network use tls:// (docs/cluster.md)"
        )
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, direct_to_workers=True)
    except (OSError, TimeoutError, asyncio.TimeoutError) as error:  # the last: another one before Python 3.11
        raise RunError(f"{parameter('cluster', name)}: no Dask scheduler answers there ({error})") from error
    except (TypeError, ValueError) as error:  # of TLS without certificates
        raise InputError(f"{parameter('cluster', name)}: {error}; Dask's configuration names the certificates (docs/cluster.md)") from error


def _enter_mpi(stack: ExitStack) -> Executor | None:
    try:
        from mpi4py import MPI as mpi
        from mpi4py.futures import MPICommExecutor
    except (ImportError, RuntimeError) as error:  # the second: there is no MPI to load
        raise _missing(MPI, "mpi4py and MPI", ImportError(str(error))) from error
    if mpi.COMM_WORLD.Get_size() == 1:
        mpi_cluster = parameter("cluster", MPI)
        raise InputError(f"{mpi_cluster}: this is the only process; start two or more: mpirun -n 3 gpualign ... {mpi_cluster}")
    return cast("Executor | None", stack.enter_context(MPICommExecutor(mpi.COMM_WORLD, root=0)))  # the standard library's interface


def fleet_of(resources: Resources, serve: Callable[..., Answer], notes: Reporter) -> WorkerPoolClient:
    """The workers of the resources' executor, which run `serve`."""
    executor: Any = resources.executor
    if type(executor).__module__.startswith("distributed."):
        return _dask_fleet(executor, serve, notes)
    # Of mpi4py and of the standard library; any other one does not tell.
    names = "num_workers", "_max_workers"
    return WorkerPoolClient(executor, serve, lambda: next((getattr(executor, name) for name in names if hasattr(executor, name)), None))


def _dask_fleet(executor: Any, serve: Callable[..., Answer], notes: Reporter) -> WorkerPoolClient:
    from distributed import fire_and_forget

    client = executor._client

    def check() -> None:
        if client.status != "running":
            raise RunError(f"the Dask scheduler at {client.scheduler.address} is gone, or the connection to it is")

    def workers() -> int:
        check()
        return len(client.nthreads())

    def share(pickled: bytes) -> Any:
        check()
        # Large arguments of calls go through the scheduler each time; this goes from worker to worker.
        shared = client.scatter(pickled, hash=False)
        # Dask prefers a worker that has a call's arguments, and would give the only one that has them the calls of all others. So each
        # one gets it at once, as the argument of a call that asks for nothing. (A broadcast never ends where a worker does meanwhile.)
        for worker in client.nthreads():
            fire_and_forget(client.submit(len, shared, workers=[worker], allow_other_workers=True, pure=False))
        return shared

    return WorkerPoolClient(executor, serve, workers, share, check, notes.note)
