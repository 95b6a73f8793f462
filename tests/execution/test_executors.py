"""Commands whose work is done by Dask's workers or MPI's: the bytes of one process, whatever becomes of a worker."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from command import _COMMAND, LIMIT, gpualign
from eager import command, marked
from processes import started, wait_until

import gpualign as gpualign_package
from gpualign.core.common.errors import InputError
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.remote.executors import check_cluster

pytestmark = pytest.mark.slow

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or find_spec("mpi4py") is None, reason="mpirun or mpi4py is not there (Debian: openmpi-bin)"
)


def jobs(folder, genes, rng):
    """Words of small commands."""
    proteins = [folder.parent.joinpath("data", f"proteins_{name}.fasta") for name in ("query", "db")]
    snps = rng.integers(0, 3, (30, 200))
    header = "\t".join(["id", *(f"snp{k}" for k in range(200))])
    rows = ["\t".join([f"s{k}", *map(str, row)]) for k, row in enumerate(snps)]
    table = folder / "snps.tsv"
    table.write_text("\n".join([header, *rows]) + "\n")
    return {
        "paths": ["nw", "--fields", "query,target,score,identity,cigar", genes],
        "near": ["nw", "--edit", "--max-distance", "300", genes],
        "best": ["sw", genes, "--max-hits", "5", "--format", "m8"],
        "passing": ["sw", "--max-evalue", "10", *proteins],
        "distances": ["dist", table],
        "near samples": ["dist", "--max-distance", "125", "--compared", table],
    }


@pytest.fixture
def commands(tmp_path, small_16s, rng):
    (tmp_path / "work").mkdir()
    (tmp_path / "data").symlink_to(small_16s.parent)
    return jobs(tmp_path / "work", small_16s, rng)


def check_all(commands, run, names):
    """run: what starts a command with these words, and gives its output."""
    for name in names:
        words = commands[name]
        expected = gpualign(*words, "-q").stdout
        assert len(expected) > 100
        assert run(words) == expected, name


def genes_of(path, rng, number, length):
    """Related sequences: work for some seconds."""
    ancestor = rng.integers(0, 4, length)
    with path.open("w") as out:
        for k in range(number):
            copy = ancestor.copy()
            changed = rng.random(length) < 0.2
            copy[changed] = rng.integers(0, 4, int(changed.sum()))
            out.write(f">s{k}\n{''.join('ACGT'[code] for code in copy)}\n")
    return path


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Dask:
    """A scheduler and workers, as processes of their own. address: for --cluster."""

    def __init__(self, stack, folder, workers):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        place = folder / "scheduler.json"
        where = ["--host", "127.0.0.1", "--port", 0, "--no-dashboard", "--scheduler-file", place]
        self.scheduler = stack.enter_context(started([sys.executable, "-m", "distributed.cli.dask_scheduler", *where], **quiet))
        wait_until(lambda: place.exists() and place.read_text().endswith("}"), self.scheduler)
        self.address = json.loads(place.read_text())["address"].replace("tcp://", "dask://")
        join = ["distributed.cli.dask_worker", "--scheduler-file", place, "--nthreads", 1, "--no-nanny", "--no-dashboard"]
        self.workers = [stack.enter_context(started([sys.executable, "-m", *join], **quiet)) for _ in range(workers)]


@pytest.fixture
def dask(tmp_path):
    with ExitStack() as stack:
        yield Dask(stack, tmp_path, 2)


@pytest.mark.slow
@needs_dask
def test_local_processes(commands):
    check_all(commands, lambda words: gpualign(*words, "-q", "--cluster", "dask:2").stdout, ["near", "passing"])


@pytest.mark.slow
@needs_dask
def test_scheduler_of_somebody_else(commands, dask):
    check_all(
        commands, lambda words: gpualign(*words, "-q", "--cluster", dask.address).stdout, ["paths", "best", "distances", "near samples"]
    )


@contextmanager
def at_work(words, out, dask):
    """A command that stands still: some of its bands are done, and some of its tiles on their way."""
    stops = {**os.environ, "EAGER_KILL": f"3 0 {int(signal.SIGSTOP)}"}
    words = command(*words, "-o", out, "--cluster", dask.address, "--threads", 1)
    with started(words, stderr=subprocess.PIPE, env=stops) as job:
        stopped = os.WSTOPPED | os.WNOHANG | os.WNOWAIT
        wait_until(lambda: os.waitid(os.P_PID, job.pid, stopped) is not None, job)
        assert len(marked(out.with_name(f"{out.name}.journal"))) > 2
        yield job


_START_TICKS = 2 * os.sysconf("SC_CLK_TCK")
"""About the processor time that a worker takes to begin."""


def _ticks(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has just ended
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at processor time in /proc")


@needs_dask
def test_a_killed_worker_costs_its_tiles_only(tmp_path, rng, dask):
    genes = genes_of(tmp_path / "genes.fa", rng, 300, 1500)
    with at_work(["nw", genes], tmp_path / "found.npy", dask) as job:
        dask.workers[0].send_signal(signal.SIGKILL)
        job.send_signal(signal.SIGCONT)
        _, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 0, errors.decode()
    gpualign("nw", genes, "-o", tmp_path / "expected.npy", "-q")
    assert (tmp_path / "found.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()


@needs_dask
def test_a_killed_scheduler_ends_the_run_with_a_message(tmp_path, rng, dask):
    genes = genes_of(tmp_path / "genes.fa", rng, 300, 1500)
    with at_work(["nw", genes], tmp_path / "found.npy", dask) as job:
        dask.scheduler.send_signal(signal.SIGKILL)
        job.send_signal(signal.SIGCONT)
        _, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 1
    assert b"error: the Dask scheduler at tcp://127.0.0.1" in errors
    assert b"is gone" in errors
    assert b"Traceback" not in errors
    assert not (tmp_path / "found.npy").exists()


@needs_dask
def test_a_run_whose_scheduler_was_killed_goes_on(tmp_path, rng, dask):
    genes = genes_of(tmp_path / "genes.fa", rng, 150, 900)
    words = ["nw", genes, "--fields", "query,target,score,cigar"]
    out, journal = tmp_path / "x.tsv", tmp_path / "x.tsv.journal"
    with at_work(words, out, dask) as job:
        dask.scheduler.send_signal(signal.SIGKILL)
        job.send_signal(signal.SIGCONT)
        _, errors = job.communicate(timeout=LIMIT)
    assert job.returncode == 1
    assert b"of 150 queries of " in errors
    assert b" are done; resume with: gpualign nw " in errors
    assert not out.exists()
    gone_on = gpualign(*words, "-o", out, "--resume", "--cluster", "dask:2")
    assert b"x.tsv: resuming at query " in gone_on.stderr
    assert out.read_bytes() == gpualign(*words).stdout
    assert not journal.exists()


@needs_dask
@needs_proc
@pytest.mark.parametrize(("number", "code", "told"), [(signal.SIGINT, 130, b"interrupted"), (signal.SIGHUP, 143, b"hung up")])
def test_what_ends_the_command_ends_local_processes_too(tmp_path, rng, number, code, told):
    """Ctrl-C of a terminal reaches all processes of the command, and so does its end."""
    genes = genes_of(tmp_path / "genes.fa", rng, 1500, 1500)  # more than it gets done
    words = [*_COMMAND, "nw", genes, "-o", tmp_path / "found.npy", "--cluster", "dask:2"]
    with started(words, stderr=subprocess.PIPE) as job:
        wait_until(lambda: sum(_ticks(pid) for pid in _group(job.pid)) > 2 * _START_TICKS, job)
        members = _group(job.pid)
        os.killpg(job.pid, number)
        _, errors = job.communicate(timeout=LIMIT)
        assert job.returncode == code, errors.decode()
        assert told in errors
        assert b"Traceback" not in errors
        assert b"resource_tracker" not in errors
        assert len(members) > 3
        wait_until(lambda: not _group(job.pid), _Ended())
    assert not (tmp_path / "found.npy").exists()


class _Ended:
    """Instead of a process, where nothing is to be running."""

    def poll(self):
        return None


def _group(leader):
    """Processes of a group that have not ended."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                state, _, group = stat.read().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):  # the second: it is gone between opening and reading
            continue
        if int(group) == leader and state != "Z":
            found.append(int(name))
    return found


@pytest.mark.slow
@needs_dask
def test_client_in_python(small_16s):
    """Dask's own executor; a task is scattered to its workers."""
    script = f"""
import gpualign, numpy as np
from distributed import Client, LocalCluster

if __name__ == "__main__":
    genes = gpualign.read({str(small_16s)!r})[:20]
    calls = np.random.default_rng(1).integers(-1, 3, (12, 300))
    with LocalCluster(n_workers=2, threads_per_worker=2, host="127.0.0.1", dashboard_address=None) as cluster, Client(cluster) as client:
        executor = client.get_executor()
        for _ in range(2):
            assert (gpualign.nw(genes, value="identity", executor=executor).values == gpualign.nw(genes, value="identity").values).all()
        assert (gpualign.dist(calls, executor=executor).values == gpualign.dist(calls).values).all()
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == "done\n", done.stderr


_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def mpirun(words):
    start = ["mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none", *_COMMAND, *map(str, words), "--cluster", "mpi"]
    return subprocess.run(start, capture_output=True, env={**os.environ, **_MPI}, timeout=LIMIT, stdin=subprocess.DEVNULL)


@pytest.mark.slow
@needs_mpi
def test_mpi(commands):
    def run(words):
        done = mpirun([*words, "-q"])
        assert done.returncode == 0, done.stderr.decode()
        assert not done.stderr
        return done.stdout

    check_all(commands, run, ["paths", "near", "passing", "near samples"])


@needs_mpi
def test_errors_of_mpi_are_told_once(tmp_path):
    done = mpirun(["nw", tmp_path / "nothing.fa"])
    assert done.returncode == 2
    assert done.stderr.count(b"gpualign: error:") == 1
    assert b"nothing.fa: no such file" in done.stderr
    alone = gpualign("nw", "x.fa", "--cluster", "mpi", check=False)
    assert alone.returncode == 2
    assert b"mpirun -n 3 gpualign" in alone.stderr


def refused(*words):
    done = gpualign(*words, check=False)
    assert done.returncode in (1, 2)
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stderr.decode()


@pytest.mark.slow
def test_bad_names_and_options(small_16s):
    most = max(16, Resources().host_threads)
    for number in (most + 1, 99999999999, "9" * 5000):
        code, errors = refused("nw", small_16s, "--cluster", f"dask:{number}")
        assert code == 2
        assert f"threads of this machine; it runs {most:,} of them at most" in errors
    check_cluster(f"dask:{most}")
    check_cluster(f"dask:00{most}")
    for name in ("dask", "dask:0", "dask:x", "dask://host", "http://host:1", "tcp://:1", "slurm"):
        with pytest.raises(InputError, match="expected a scheduler's address"):
            check_cluster(name)
    for name in ("dask:2", "mpi", "tls://node-7.example.org:8786", "dask://[::1]:8786", "tcp://10.0.0.1:8786"):
        check_cluster(name)
    assert refused("nw", small_16s, "--cluster", "slurm")[0] == 2
    for option in (["--kernel", "rscan"], ["--traceback", "host"]):
        code, errors = refused("nw", small_16s, "--cluster", "dask:2", *option)
        assert code == 2
        assert f"{' '.join(option)} is for one GPU of this machine" in errors


@needs_dask
def test_what_loops_below_dask_log_is_not_told(dask):
    """A call that nobody awaits may meet the end of a connection before the command does; that one tells it."""
    script = f"""
import gc
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.remote.executors import open_cluster
from gpualign.jobs.reporter import SILENT_REPORTER

def fail():
    raise ConnectionResetError("reset by peer")

async def fail_later():
    fail()

async def forget(loop):
    loop.create_task(fail_later())

if __name__ == "__main__":
    with open_cluster({dask.address!r}, Resources(), SILENT_REPORTER) as resources:
        client = resources.executor._client
        client.loop.add_callback(fail)
        client.loop.add_callback(fail_later)
        client.sync(forget, client.loop.asyncio_loop)
        gc.collect()
    print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.slow
@needs_dask
def test_no_scheduler_there(small_16s, monkeypatch):
    from gpualign.jobs.devices.resources import Resources
    from gpualign.jobs.remote import executors

    def connect(name):
        with executors.open_cluster(name, Resources(), _Notes(told)):
            raise AssertionError("somebody answered")

    monkeypatch.setattr(executors, "CONNECT_TIMEOUT_SECONDS", 0.5)  # the second address never answers
    told = []
    with pytest.raises(gpualign_package.RunError, match="no Dask scheduler answers there"):
        connect(f"dask://127.0.0.1:{free_port()}")
    assert not told
    with pytest.raises(gpualign_package.RunError):
        connect(f"tcp://192.0.2.1:{free_port()}")
    assert "not encrypted" in told[0]


class _Notes:
    def __init__(self, told):
        self.note = told.append


@pytest.mark.slow
def test_a_missing_package_is_named(small_16s, tmp_path):
    for package, cluster in (("distributed", "dask:2"), ("mpi4py", "mpi")):
        (tmp_path / f"{package}.py").write_text("raise ImportError('not there')")
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        done = gpualign("nw", small_16s, "--cluster", cluster, check=False, env={"PYTHONPATH": path})
        assert done.returncode == 2
        assert b"pip install 'gpualign[cluster]'" in done.stderr


@pytest.mark.slow
@needs_dask
def test_dry_run(small_16s):
    shown = gpualign("nw", small_16s, "--cluster", "dask:2", "--dry-run").stdout.decode()
    assert "2 workers, each " in shown
    assert "estimate" in shown
    assert np.isfinite(float(shown.split("estimate")[1].split()[0]))
