"""The journal of an output as a file that grows line by line (core/files/journal.py)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from gpualign.core.files.journal import chain_checks
from gpualign.jobs.output.stale_files import LockOwner, is_same_file, try_lock

_BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str | None:
    """Return the boot id of this machine, or None if the system does not provide one."""
    try:
        return _BOOT_ID_PATH.read_text().strip()
    except OSError:
        return None


class JournalFile:
    """A journal that is open and locked, and to which lines are appended.

    path: path of the journal
    file: the open file, positioned at its end
    check: digest at the end of the last line, which continues that of the line before; "" if there are no lines
    """

    def __init__(self, path: Path, file: BinaryIO, check: str = "") -> None:
        self._path = path
        self._file = file
        self._check = check
        self._is_torn = False

    @classmethod
    def create(cls, path: Path) -> JournalFile | None:
        """Return a new journal, or None if a different run has created one."""
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return None
        # A resuming run may have found it before it was locked.
        if try_lock(descriptor) is LockOwner.TAKEN or not is_same_file(descriptor, path):
            os.close(descriptor)
            return None
        return cls(path, cast(BinaryIO, os.fdopen(descriptor, "w+b")))

    @property
    def is_empty(self) -> bool:
        """True if nothing has been written to the journal yet."""
        return os.fstat(self._file.fileno()).st_size == 0

    def append(self, lines: bytes) -> None:
        """Append lines. Once an error or signal has truncated a line, append nothing more, because later lines could not be verified."""
        if self._is_torn:
            return
        self._is_torn = True
        checked, check = chain_checks(lines, self._check)
        self._file.write(checked)
        self._file.flush()
        self._check, self._is_torn = check, False

    def sync(self) -> None:
        """Flush the journal to disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        with suppress(OSError):  # a full disk: an incomplete line does not count
            self._file.close()

    def remove(self) -> None:
        """Delete the journal."""
        self._path.unlink(missing_ok=True)
