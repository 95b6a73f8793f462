"""Part files: unfinished outputs, named `.NAME.xxxxxxxx.part` next to the output NAME. The module also removes part files of runs that were
killed with kill -9.

A part file stays locked while its run is alive, so an unlocked part file was left by a killed run.
"""

from __future__ import annotations

import fcntl
import glob
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import BinaryIO, cast

from gpualign.core.common.units import format_bytes

PART_NAME_BYTES = len("..xxxxxxxx.part")
"""How many bytes longer the name of a part file is than that of the output."""


def create_part(path: Path) -> tuple[BinaryIO, Path]:
    """Return (new locked file next to `path`, with default permissions; its path)."""
    while True:
        part = path.parent / f".{path.name}.{os.urandom(4).hex()}.part"
        try:
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        try_lock(descriptor)
        # A run that removes stale files may have removed it before it was locked.
        if is_same_file(descriptor, part):
            return cast(BinaryIO, os.fdopen(descriptor, "w+b")), part
        os.close(descriptor)


def remove_stale_part_files(path: Path, note: Callable[[str], None]) -> None:
    """Remove the part files of `path` that no run is writing any more, and report them to `note`. Other users' files are left alone."""
    for name in glob.glob(f".{glob.escape(path.name)}.????????.part", root_dir=path.parent):
        part = path.parent / name
        try:
            descriptor = os.open(part, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue  # it has just been removed, or cannot be read
        try:
            status = os.fstat(descriptor)
            if is_owned_by_user(descriptor) and try_lock(descriptor) is LockOwner.OURS:
                part.unlink(missing_ok=True)
                note(f"removed {part} ({format_bytes(status.st_size)}), left by a killed run")
        finally:
            os.close(descriptor)


class LockOwner(Enum):
    """Owner of a file lock, after an attempt to acquire the lock."""

    OURS = "this run's"
    TAKEN = "another run's"
    ABSENT = "none: the file system has no locks"


def try_lock(descriptor: int) -> LockOwner:
    """Lock an open file unless another run holds the lock, and return the owner of the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return LockOwner.TAKEN
    except OSError:
        return LockOwner.ABSENT
    return LockOwner.OURS


def is_owned_by_user(descriptor: int) -> bool:
    """Return whether an open file belongs to the user of this process."""
    return os.fstat(descriptor).st_uid == os.geteuid()


def is_same_file(descriptor: int, name: Path) -> bool:
    """Return whether an open file is still the file with this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(name))
    except FileNotFoundError:
        return False
