"""Limits of control groups, on made trees of files: what a container, a Slurm job or a systemd unit shows."""

from itertools import islice, product

import pytest
from command import gpualign_here

from gpualign.core.common import cgroups
from gpualign.core.common import memory as own_memory
from gpualign.core.common.cgroups import GroupLimits, find_limits
from gpualign.core.common.errors import RunError, command_line_message
from gpualign.cpu import processor as machine
from gpualign.jobs.devices import memory as budget
from gpualign.jobs.devices import resources as engines
from gpualign.jobs.devices.resources import Resources
from gpualign.jobs.remote import worker_entry as nodes

GIB = 1 << 30
V2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
OTHERS = "22 27 0:21 / /proc rw,relatime - proc proc rw\n24 27 0:6 / /dev rw - devtmpfs devtmpfs rw,size=12334460k\n"


def tree(group, mounts, files):
    return {"/proc/self/cgroup": group, "/proc/self/mountinfo": OTHERS + mounts, **files}.get


def of_v2(group="/", mounts=V2, **files):
    """files: folder__file, with the folders of the group."""
    return tree(f"0::{group}\n", mounts, {f"/sys/fs/cgroup/{path}": text for path, text in files.items()})


@pytest.mark.parametrize("read", [lambda path: None, tree("", "", {}), of_v2(), of_v2("/a/b")], ids=["none", "empty", "root", "group"])
def test_nothing_is_limited(read):
    assert find_limits(read) == GroupLimits()


def test_v2():
    files = {
        "cpu.max": "150000 100000\n",
        "memory.max": f"{8 * GIB}\n",
        "memory.high": "max\n",
        "memory.current": f"{3 * GIB}\n",
        "memory.stat": f"anon {GIB}\nfile {2 * GIB}\nkernel 5\nshmem 0\ninactive_file {GIB}\nactive_file {GIB // 2}\n",
    }
    assert find_limits(of_v2(**files)) == GroupLimits(1.5, 8 * GIB, 8 * GIB - (3 * GIB - 3 * GIB // 2))
    assert find_limits(of_v2(**files | {"memory.high": str(4 * GIB)})).memory_bytes == 4 * GIB
    assert find_limits(of_v2(**files | {"cpu.max": "max 100000\n", "memory.max": "max\n"})) == GroupLimits()
    assert find_limits(of_v2(**files | {"memory.current": str(99 * GIB)})).free_bytes == 0


def test_the_tightest_of_nested_groups_counts():
    """As of Slurm: job, step and task, each with limits of its own."""
    group = "/system.slice/slurmstepd.scope/job_1/step_0/user/task_0"
    files = {
        "system.slice/slurmstepd.scope/job_1/cpu.max": "200000 100000",
        "system.slice/slurmstepd.scope/job_1/step_0/cpu.max": "400000 100000",
        f"{group[1:]}/cpu.max": "max 100000",
        "system.slice/slurmstepd.scope/job_1/memory.max": str(4 * GIB),
        "system.slice/slurmstepd.scope/job_1/memory.current": str(GIB),
        f"{group[1:]}/memory.max": str(3 * GIB + GIB // 2),
        "job_2/memory.max": "1",
    }
    assert find_limits(of_v2(group, **files)) == GroupLimits(2.0, 3 * GIB + GIB // 2, 3 * GIB)


V1 = (
    "33 32 0:30 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 32 0:31 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "35 32 0:32 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
)


def of_v1(root, folder, quota="50000", limit=2 * GIB):
    files = {
        f"/sys/fs/cgroup/cpu,cpuacct{folder}/cpu.cfs_quota_us": f"{quota}\n",
        f"/sys/fs/cgroup/cpu,cpuacct{folder}/cpu.cfs_period_us": "100000\n",
        f"/sys/fs/cgroup/memory{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"/sys/fs/cgroup/memory{folder}/memory.usage_in_bytes": f"{GIB}\n",
        f"/sys/fs/cgroup/memory{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB // 4}\ntotal_active_file 0\n",
    }
    group = "5:memory:/docker/ab\n4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n"
    return tree(group, V1.format(root=root), files)


@pytest.mark.parametrize(("root", "folder"), [("/", "/docker/ab"), ("/docker/ab", ""), ("/", ""), ("/docker/other", "")])
def test_v1_of_a_machine_and_within_a_container(root, folder):
    assert find_limits(of_v1(root, folder)) == GroupLimits(0.5, 2 * GIB, 2 * GIB - 3 * GIB // 4)
    assert find_limits(of_v1(root, folder, "-1", 9223372036854771712)) == GroupLimits()


def test_both_versions_at_a_time():
    read = of_v1("/", "/docker/ab")
    more = {
        "/proc/self/cgroup": read("/proc/self/cgroup") + "0::/user.slice\n",
        "/proc/self/mountinfo": read("/proc/self/mountinfo") + V2.replace("/sys/fs/cgroup", r"/sys/fs/my\040groups"),
        "/sys/fs/my groups/user.slice/cpu.max": "30000 100000",
    }
    assert find_limits(lambda path: more.get(path) or read(path)).cpu_count == 0.3


@pytest.mark.parametrize("text", ["", "\n", "max\n", "nonsense x\n", "0 0\n", "100000\n"])
def test_what_is_no_limit(text):
    files = {"cpu.max": text, "memory.max": text.replace("100000", "x").replace("0 0", "x"), "memory.stat": "inactive_file\n\nx y z\n"}
    assert find_limits(of_v2(**files)) == GroupLimits()


@pytest.mark.parametrize(("cpus", "threads"), [(None, 6), (0.1, 1), (1.0, 1), (1.5, 2), (64.0, 6)])
def test_threads(monkeypatch, cpus, threads):
    monkeypatch.setattr(machine, "own_limits", lambda: GroupLimits(cpus))
    monkeypatch.delattr(machine.os, "process_cpu_count", raising=False)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert machine.usable_cpu_count() == threads == Resources().host_threads
    monkeypatch.setattr(machine.os, "process_cpu_count", lambda: 1, raising=False)
    assert machine.usable_cpu_count() == 1


@pytest.mark.parametrize(
    ("there", "limits", "default", "usable"),
    [
        (None, GroupLimits(), 2 * GIB, None),
        (64 * GIB, GroupLimits(), 2 * GIB, 64 * GIB),
        (3 * GIB, GroupLimits(), 3 * GIB // 2, 3 * GIB),
        (64 * GIB, GroupLimits(None, 3 * GIB, 2 * GIB), GIB, 3 * GIB),
        (2 * GIB, GroupLimits(None, 32 * GIB, 30 * GIB), GIB, 2 * GIB),
    ],
)
def test_memory(monkeypatch, there, limits, default, usable):
    monkeypatch.setattr(own_memory, "physical_memory", lambda: there)
    monkeypatch.setattr(own_memory, "own_limits", lambda: limits)
    assert (budget.default_memory(), own_memory.usable_memory()) == (default, usable)
    beside = default + GIB if default == 2 * GIB else default
    assert budget.default_memory(GIB) == beside


@pytest.mark.parametrize(
    ("there", "group", "memory", "times", "limit"),
    [
        (64 * GIB, 1 << 20, [], 3, "; this process may have 1.0 MiB (its control group's limit)"),
        (1 << 20, None, [], 3, "; this process may have 1.0 MiB"),
        (64 * GIB, 1 << 20, ["--memory", "1M"], 2, "; this process may have 1.0 MiB (its control group's limit)"),
        (64 * GIB, 1 << 20, ["--memory", "1100K"], 2, "; this process may have 1.0 MiB (its control group's limit)"),
        (64 * GIB, None, ["--memory", "1M"], 2, ""),
    ],
)
def test_what_bounds_a_budget_that_is_too_small_is_named(monkeypatch, tmp_path, there, group, memory, times, limit):
    (tmp_path / "x.fa").write_text("".join(f">r{k}\n{'ACGT' * 50_000}\n" for k in range(6)))
    monkeypatch.setattr(own_memory, "physical_memory", lambda: there)
    monkeypatch.setattr(own_memory, "own_limits", lambda: GroupLimits(None, group, group))
    with pytest.raises(RunError, match="the sequences alone take") as refused:
        gpualign_here("nw", "--device", "cpu", "-o", tmp_path / "x.tsv", tmp_path / "x.fa", *memory)
    assert str(refused.value).endswith(f"; raise --memory; {times} times as much is enough for this step{limit}")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("nw", "--memory", "60K"), "(1 thread|[0-9]+ threads) on targets of up to 86 letters needs? .* bytes of scratch"),
        (("nw", "--memory", "60K", "--edit", "--max-distance", "3"), "records as bits need"),
        (("sw", "--memory", "60K"), "the sequences alone take"),
        (("dist", "--memory", "60K"), "the calls alone take"),
        (("cluster", "--memory", "250K", "--edit", "--max-distance", "3", "--method", "complete"), "complete linkage of them takes"),
    ],
)
@pytest.mark.parametrize(("group", "hint"), [(1 << 16, r"; this process may have 64\.0 KiB \(its control group's limit\)"), (None, "")])
def test_whatever_needs_more_than_the_control_group_gives_names_its_limit(monkeypatch, tmp_path, command, problem, group, hint):
    ends = islice(product("ACGT", repeat=6), 600)
    (tmp_path / "x.fa").write_text("".join(f">r{k}\n{'ACGT' * 20}{''.join(end)}\n" for k, end in enumerate(ends)))
    monkeypatch.setattr(own_memory, "physical_memory", lambda: 64 * GIB)
    monkeypatch.setattr(own_memory, "own_limits", lambda: GroupLimits(None, group, group))
    with pytest.raises(RunError, match=rf"{problem}.*; .*raise --memory.*{hint}$") as refused:
        gpualign_here(*command, "--device", "cpu", "-o", tmp_path / "x.tsv", tmp_path / "x.fa")
    assert ("this process may have" in str(refused.value)) == bool(hint)


def test_more_memory_than_there_is_is_noted_and_workers_keep_to_theirs(monkeypatch):
    monkeypatch.setattr(own_memory, "physical_memory", lambda: 64 * GIB)
    monkeypatch.setattr(own_memory, "own_limits", lambda: GroupLimits(None, 4 * GIB, 3 * GIB))
    said = []

    class Said:
        note = detail = said.append

    assert engines.checked_resources("cpu", None, 4 * GIB, Said()).memory == 4 * GIB
    assert said == []
    assert engines.checked_resources("cpu", None, 5 * GIB, Said()).memory == 5 * GIB
    assert [command_line_message(one) for one in said] == [
        "--memory 5.0 GiB: this process may have 4.0 GiB (its control group's limit); the system may end it when it has more"
    ]
    assert nodes._local_resources(Resources(device="cpu", memory=5 * GIB)).memory == 2 * GIB


def test_this_process():
    cgroups.own_limits.cache_clear()
    found = cgroups.own_limits()
    assert found.cpu_count is None or found.cpu_count > 0
    assert machine.usable_cpu_count() >= 1
    assert 0 <= budget.default_memory() <= 2 * GIB
