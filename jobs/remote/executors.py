"""Opens the executor for a cluster name, and creates a client for its workers."""

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
from gpualign.core.execution.remote.coordinator import CALLS_PER_WORKER, WorkerPoolClient
from gpualign.core.execution.remote.protocol import Answer
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.reporter import Reporter

MPI_CLUSTER_NAME = "mpi"
_LOCAL_CLUSTER_PATTERN = re.compile(r"dask:([0-9]+)")
_MIN_PROCESS_LIMIT = 16
"""Number of processes that may be requested on any machine, however few threads it has."""

_ADDRESS_PATTERN = re.compile(r"(?:dask|tcp|tls)://(?P<host>\[[0-9a-fA-F:.]+\]|[^/:\s]+):\d+")
_LOOPBACK_HOSTS = {"localhost", "127.0.0.1", "[::1]"}

CONNECT_TIMEOUT_SECONDS = 10  # until a scheduler counts as one that does not answer
_END_TIMEOUT_SECONDS = 0.25
_HANDLED_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1


def check_cluster(name: str) -> None:
    """Raise `InputError` if `name` is not a cluster name, or requests more processes than make sense on this machine."""
    local = _LOCAL_CLUSTER_PATTERN.fullmatch(name)
    workers = local[1].lstrip("0") if local else ""
    max_processes = max(_MIN_PROCESS_LIMIT, Resources().host_threads)
    if len(workers) > len(str(max_processes)) or int(workers or 0) > max_processes:
        threads = Resources().host_threads
        raise InputError(
            f"{parameter('cluster', name)}: processes share the {threads:,} threads of this machine; it runs"
            f" {max_processes:,} of them at most"
        )
    if not (name == MPI_CLUSTER_NAME or workers or _ADDRESS_PATTERN.fullmatch(name)):
        raise InputError(
            f"{parameter('cluster', name)}: expected a scheduler's address, tls://HOST:PORT, dask://HOST:PORT or tcp://HOST:PORT, or"
            " dask:N for N processes of this machine, or mpi under mpirun"
        )


@contextmanager
def open_cluster(name: str, resources: Resources, reporter: Reporter) -> Iterator[Resources | None]:
    """Open the executor for a validated cluster name until the context exits, and yield the resources including the executor. Yields None
    if this process is an MPI worker that has finished serving its coordinator.

    Raises `InputError` if a package is missing or MPI has started only one process, `RunError` if no scheduler responds.
    """
    with ExitStack() as stack:
        if name == MPI_CLUSTER_NAME:
            executor = _enter_mpi(stack)
            yield None if executor is None else replace(resources, executor=executor)
            return
        try:
            import distributed
        except ImportError as error:
            raise _missing_package_error(name, "distributed", error) from error
        _silence_dask_loggers()
        if local := _LOCAL_CLUSTER_PATTERN.fullmatch(name):
            workers = int(local[1])
            cluster = stack.enter_context(_start_local_cluster(workers))
            stack.callback(_end_workers, cluster)
            resources = replace(resources, workers_per_machine=workers)
            client: Any = stack.enter_context(distributed.Client(cluster, set_as_default=False, direct_to_workers=True))
        else:
            client = stack.enter_context(_connect(name, reporter))
        yield replace(resources, executor=client.get_executor(pure=False))


def _start_local_cluster(worker_count: int) -> Any:
    """Return a cluster of local processes that use only the loopback interface."""
    from multiprocessing import resource_tracker

    import dask
    import distributed
    from distributed.utils import LoopRunner

    # Ctrl-C in a terminal reaches every process. Workers inherit the signals that this thread blocks and leave them to this process;
    # otherwise they would end, and Dask would start new ones. The process that tracks their files inherits them too; otherwise it would
    # end with the terminal. It handles SIGINT and SIGTERM itself, and unblocks them in the thread that starts it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED_SIGNALS)
    try:
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED_SIGNALS)
        runner = LoopRunner()
        runner.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    settings = {
        # Dask's default makes malloc return all memory at once; the system then clears it again for each tile: a third of its time.
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1},
        # It samples the stack of every thread a hundred times a second, for an unused dashboard: a twentieth of a worker's time.
        "distributed.worker.profile.enabled": False,
        # Each process checks fifty times a second whether its event loop is late: on two cores another thirtieth of the time.
        "distributed.admin.tick.interval": "1s",
    }
    try:
        with dask.config.set(settings):
            return distributed.LocalCluster(
                loop=runner.loop,
                n_workers=worker_count,
                threads_per_worker=CALLS_PER_WORKER,  # Dask's threads, which wait for those that compute
                host="127.0.0.1",
                dashboard_address=None,
                memory_limit=0,  # --memory limits the memory of a worker
                silence_logs=logging.CRITICAL,
            )
    except (RuntimeError, OSError) as error:
        raise RunError(f"{parameter('cluster', f'dask:{worker_count}')}: no workers could be started ({error})") from error


def _end_workers(cluster: Any) -> None:
    """Stop the workers immediately. Dask would let them finish what they are computing, which is useless to an interrupted
    run."""

    nannies = list(cluster.workers.values())

    async def end() -> None:
        await asyncio.gather(*(nanny.close(timeout=_END_TIMEOUT_SECONDS) for nanny in nannies), return_exceptions=True)

    cluster.sync(end)


def _silence_dask_loggers() -> None:
    """Silence Dask's log messages about lost connections and dead workers, which are reported where they matter. Each Dask module has its
    own log level. The underlying event loops log errors from calls that are not awaited."""
    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _missing_package_error(name: str, package: str, error: ImportError) -> InputError:
    return InputError(f"{parameter('cluster', name)} needs {package} ({error}): pip install 'gpualign[cluster]'")


def _connect(name: str, reporter: Reporter) -> Any:
    """Return a client for the scheduler at the address `name`. Results are sent directly from the workers, because the detour through the
    scheduler would copy them two more times. Dask falls back to the scheduler if a worker cannot be reached."""
    import distributed

    address = name.replace("dask://", "tcp://")
    match = _ADDRESS_PATTERN.fullmatch(name)
    assert match is not None
    if address.startswith("tcp:") and match["host"] not in _LOOPBACK_HOSTS:
        reporter.note(
            f"{parameter('cluster', name)}: the connection is not encrypted, and anyone who reaches the scheduler can run code on all of"
            " its workers; outside a closed network use tls:// (docs/cluster.md)"
        )
    try:
        return distributed.Client(address, timeout=CONNECT_TIMEOUT_SECONDS, set_as_default=False, direct_to_workers=True)
    except (OSError, TimeoutError, asyncio.TimeoutError) as error:  # the last differs from TimeoutError before Python 3.11
        raise RunError(f"{parameter('cluster', name)}: no Dask scheduler answers there ({error})") from error
    except (TypeError, ValueError) as error:  # TLS without certificates
        raise InputError(f"{parameter('cluster', name)}: {error}; Dask's configuration names the certificates (docs/cluster.md)") from error


def _enter_mpi(stack: ExitStack) -> Executor | None:
    mpi_cluster = parameter("cluster", MPI_CLUSTER_NAME)
    try:
        from mpi4py import MPI as mpi
        from mpi4py.futures import MPICommExecutor
    except ImportError as error:
        raise _missing_package_error(MPI_CLUSTER_NAME, "mpi4py", error) from error
    except RuntimeError as error:  # its text lists every file that was tried
        raise InputError(f"{mpi_cluster}: mpi4py finds no MPI library; install one (Debian: openmpi-bin) or load its module") from error
    if mpi.COMM_WORLD.Get_size() == 1:
        raise InputError(f"{mpi_cluster}: this is the only process; start two or more: mpirun -n 3 gpualign ... {mpi_cluster}")
    return cast("Executor | None", stack.enter_context(MPICommExecutor(mpi.COMM_WORLD, root=0)))  # the standard library's interface


def worker_client(resources: Resources, serve: Callable[..., Answer], reporter: Reporter) -> WorkerPoolClient:
    """Return a client for the workers of the resources' executor, which run `serve`."""
    executor: Any = resources.executor
    if type(executor).__module__.startswith("distributed."):
        return _dask_client(executor, serve, reporter)
    # Executors of mpi4py and of the standard library have one of these; others do not reveal their number of workers.
    names = "num_workers", "_max_workers"
    return WorkerPoolClient(executor, serve, lambda: next((getattr(executor, name) for name in names if hasattr(executor, name)), None))


def _dask_client(executor: Any, serve: Callable[..., Answer], reporter: Reporter) -> WorkerPoolClient:
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
        # Large arguments of calls pass through the scheduler each time; scattered data passes from worker to worker.
        shared = client.scatter(pickled, hash=False)
        # Dask prefers a worker that has a call's arguments, and would send all calls to the only one that has them. So each worker gets
        # them at once, as the argument of a trivial call. (A broadcast never returns if a worker ends meanwhile.)
        for worker in client.nthreads():
            fire_and_forget(client.submit(len, shared, workers=[worker], allow_other_workers=True, pure=False))
        return shared

    return WorkerPoolClient(executor, serve, workers, share, check, reporter.note)
