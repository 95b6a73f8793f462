"""Reads the CPU and memory limits that Linux control groups impose on this process. Containers, batch systems and systemd set such limits.

Supports cgroup v2 (https://docs.kernel.org/admin-guide/cgroup-v2.html) and v1. A group's limits apply to everything in the group, so the
tightest limit on the path to the root counts. Without control groups, or if they cannot be read, there is no limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import TypeVar

from gpualign.core.common.dataclass import dataclass

T = TypeVar("T")

TextReader = Callable[[str], str | None]
"""Returns the content of the file at a path, or None if it cannot be read."""

_UNIFIED_HIERARCHY = ""
"""Key that stands for the hierarchy of cgroup v2 in mappings whose other keys are the controllers of v1."""


@dataclass(frozen=True)
class GroupLimits:
    """Limits that control groups impose on this process. A limit is None if there is no such limit.

    cpu_count: number of CPUs that the process may use, which need not be an integer
    memory_bytes: memory limit in bytes
    free_bytes: number of bytes that could still be allocated within the limit when the limits were read. The kernel's file cache counts as
        free
    """

    cpu_count: float | None = None
    memory_bytes: int | None = None
    free_bytes: int | None = None


@cache
def own_limits() -> GroupLimits:
    """Return the limits of this process, which are read only at the first call."""
    return find_limits(_read_text)


def _read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def find_limits(read: TextReader) -> GroupLimits:
    """Return the limits of this process.

    read: returns the content of a file below /proc or in the folder of a control group
    """
    groups = _parse_groups(read("/proc/self/cgroup") or "")
    mounts = _parse_mounts(read("/proc/self/mountinfo") or "")
    quotas = [
        *_parse_each_group(groups, mounts, _UNIFIED_HIERARCHY, read, _cpu_quota),
        *_parse_each_group(groups, mounts, "cpu", read, _cpu_quota_v1),
    ]
    memory = [
        *_parse_each_group(groups, mounts, _UNIFIED_HIERARCHY, read, _memory_limit),
        *_parse_each_group(groups, mounts, "memory", read, _memory_limit_v1),
    ]
    return GroupLimits(
        min(quotas, default=None), min((limit for limit, _ in memory), default=None), min((free for _, free in memory), default=None)
    )


def _parse_groups(text: str) -> dict[str, str]:
    """Return the path of this process's control group for each controller.

    text: the content of /proc/PID/cgroup
    """
    groups = {}
    for line in text.splitlines():
        number, _, remaining = line.partition(":")
        controllers, _, path = remaining.partition(":")
        for controller in controllers.split(",") if number != "0" else [_UNIFIED_HIERARCHY]:
            groups[controller] = path
    return groups


def _parse_mounts(text: str) -> list[tuple[frozenset[str], str, str]]:
    """Return (controllers, control group at the root of the mount, mount point) for each mounted hierarchy of control groups.

    text: the content of /proc/PID/mountinfo
    """
    mounts = []
    for line in text.splitlines():
        fields, _, types = line.partition(" - ")
        kind, *more = types.split(" ")
        if kind not in ("cgroup", "cgroup2"):
            continue
        controllers = frozenset([_UNIFIED_HIERARCHY] if kind == "cgroup2" else more[-1].split(","))
        root, point = (_unescape(field) for field in fields.split(" ")[3:5])
        mounts.append((controllers, root, point))
    return mounts


def _unescape(field: str) -> str:
    """Replace the octal escapes in a field of mountinfo, such as \\040 for a space."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), field) if "\\" in field else field


def _parse_each_group(
    groups: dict[str, str],
    mounts: list[tuple[frozenset[str], str, str]],
    controller: str,
    read: TextReader,
    parse: Callable[[TextReader, PurePosixPath], T | None],
) -> Iterator[T]:
    """Yield the limits that `parse` finds in the folders of one controller's groups, from this process's own group up to the topmost
    visible group.

    groups: path of this process's group for each controller, from `_parse_groups`
    mounts: mounted hierarchies, from `_parse_mounts`
    read: returns the content of a file
    parse: returns the limit that is set in the folder of a group, or None if there is none
    """
    group = groups.get(controller)
    if group is None:
        return
    for controllers, root, point in mounts:
        if controller not in controllers:
            continue
        # Within a container the group is often the root of the mount, whatever its name is outside.
        path = PurePosixPath(group)
        inner = path.relative_to(root) if path.is_relative_to(root) and ".." not in path.parts else PurePosixPath()
        for folder in (inner, *inner.parents):
            if (limit := parse(read, PurePosixPath(point) / folder)) is not None:
                yield limit
        return


def _cpu_quota(read: TextReader, folder: PurePosixPath) -> float | None:
    quota, _, period = (read(f"{folder}/cpu.max") or "max").partition(" ")
    return _cpu_count(_parse_number(quota), _parse_number(period))


def _cpu_quota_v1(read: TextReader, folder: PurePosixPath) -> float | None:
    return _cpu_count(_parse_number(read(f"{folder}/cpu.cfs_quota_us")), _parse_number(read(f"{folder}/cpu.cfs_period_us")))


def _cpu_count(quota: int | None, period: int | None) -> float | None:
    return quota / period if quota and period else None


def _memory_limit(read: TextReader, folder: PurePosixPath) -> tuple[int, int] | None:
    """Return (limit, free bytes within the limit) of a control group of cgroup v2, or None if the group has no limit.

    The limit is the lower of "max" and "high", because above "high" the kernel throttles processes and reclaims nearly all their memory.
    """
    limits = [limit for name in ("max", "high") if (limit := _parse_number(read(f"{folder}/memory.{name}"))) is not None]
    return _compute_limit_and_free_bytes(
        min(limits, default=None), _parse_number(read(f"{folder}/memory.current")), read(f"{folder}/memory.stat"), ""
    )


def _memory_limit_v1(read: TextReader, folder: PurePosixPath) -> tuple[int, int] | None:
    """Return (limit, free bytes within the limit) of a control group of cgroup v1, or None if the group has no limit.

    If there is no limit, v1 reports a number larger than any machine's memory.
    """
    limit, used = (_parse_number(read(f"{folder}/memory.{name}_in_bytes")) for name in ("limit", "usage"))
    return _compute_limit_and_free_bytes(limit if limit and limit < 1 << 60 else None, used, read(f"{folder}/memory.stat"), "total_")


def _compute_limit_and_free_bytes(limit: int | None, used_bytes: int | None, stat_text: str | None, prefix: str) -> tuple[int, int] | None:
    if limit is None:
        return None
    names = f"{prefix}inactive_file", f"{prefix}active_file"
    files = sum(
        _parse_number(count) or 0 for name, _, count in (line.partition(" ") for line in (stat_text or "").splitlines()) if name in names
    )
    return limit, max(0, limit - max(0, (used_bytes or 0) - files))


def _parse_number(text: str | None) -> int | None:
    """Return the number in the text of a limit, or None for any other text, such as "max" or v1's equivalent, -1."""
    digits = (text or "").strip()
    return int(digits) if digits.isdecimal() else None
