"""Remains of an interrupted run: part files, and a journal that records how far they are complete."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, cast

from gpualign.core.common.errors import InputError, RunError, parameter
from gpualign.core.files.journal import CompleteOutput, ResumePoint, process_line, read_journal, sync_line
from gpualign.core.output.resumable_files import ResumePosition
from gpualign.jobs.output.commit import journal_path, pending_renames, resumable_part_path
from gpualign.jobs.output.journal_file import JournalFile, boot_id
from gpualign.jobs.output.run_identity import ResumePolicy
from gpualign.jobs.output.stale_files import LockOwner, is_owned_by_user, is_same_file, try_lock

_MAX_JOURNAL_BYTES = 1 << 30
"""Maximum number of bytes read from a journal."""


def open_locked(path: Path, output: Path) -> BinaryIO:
    """Open and lock a file of an earlier run. Raises `InputError` if the file is missing or belongs to a different user, and `RunError` if
    another run is writing the output."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(f"{parameter('resume')}: {path}: {error.strerror or error}; run without {parameter('resume')}") from None
    problem: InputError | RunError | None = None
    if not is_owned_by_user(descriptor):
        problem = InputError(f"{parameter('resume')}: {path} belongs to another user; run without {parameter('resume')}")
    elif try_lock(descriptor) is LockOwner.TAKEN or not is_same_file(descriptor, path):
        problem = RunError(f"another run is writing {output}")
    if problem is not None:
        os.close(descriptor)
        raise problem
    return cast(BinaryIO, os.fdopen(descriptor, "r+b"))


class InterruptedRun:
    """The journal and part files of an earlier run, which this run resumes.

    output: output path
    resume_policy: contains the identity that both runs must share

    Attributes:
    journal: the journal, to which this run may append
    point: where this run resumes the output. None: the output is complete, or no usable output was left and the journal is now empty
    pending_renames: pending renames of a complete output (commit.py). None: the output is not complete
    complete_files: paths of all files of a complete output

    Raises `InputError` if the journal belongs to a different run, or if it does not match the part files; then no file is changed.
    """

    def __init__(self, output: Path, resume_policy: ResumePolicy) -> None:
        path = journal_path(output)
        self._output = output
        self.pending_renames: list[tuple[Path, Path | None]] | None = None
        self.complete_files: list[Path] = []
        with ExitStack() as refused:
            file = refused.enter_context(open_locked(path, output))
            identity, found = read_journal(file.read(_MAX_JOURNAL_BYTES), str(path), boot_id())
            if identity is not None:
                resume_policy.compute_identity().check(identity, str(path))
            if isinstance(found, CompleteOutput):
                self.pending_renames = pending_renames(found.files, output, path)
                self.complete_files = [output.with_name(one.final_name) for one in found.files if one.final_name is not None]
            elif found is not None:
                self._check_parts(found)
            refused.pop_all()
        self.point = None if isinstance(found, CompleteOutput) else found
        self.journal = JournalFile(path, file, "" if self.point is None else self.point.last_check)
        if self.pending_renames is None:
            file.truncate(length := 0 if self.point is None else self.point.journal_bytes)
            file.seek(length)
        if self.point is not None:
            synced = b"" if self.point.synced_rows is None else sync_line(self.point.synced_rows)
            self.journal.append(process_line(boot_id()) + synced)

    def _check_parts(self, point: ResumePoint) -> None:
        """Raise `InputError` if the part files do not match the journal."""
        for name, sums in point.sums.items():
            part, size = resumable_part_path(self._output, name), sums[-1].size
            with open_locked(part, self._output) as file:
                actual = os.fstat(file.fileno()).st_size
                if actual < size:
                    raise _damage_error(part, f"has {actual:,} bytes, its journal says {size:,}")
                for one in sums:
                    if one.piece.checksum(file.fileno()) != one.crc32:
                        raise _damage_error(part, f"differs from its journal between bytes {one.piece.start:,} and {one.piece.stop:,}")

    def open_part(self, name: str) -> tuple[BinaryIO, Path, ResumePosition | None]:
        """Return (part file, its path, position at which to resume it). The part file has been truncated to what the journal records. The
        position is None for an array.

        name: which file of the output; "" for the main file
        """
        assert self.point is not None
        part = resumable_part_path(self._output, name)
        file = open_locked(part, self._output)
        if (position := self.point.files.get(name)) is not None:
            file.truncate(position[0])
            file.seek(position[0])
        elif sums := self.point.sums.get(name):
            file.truncate(max(one.piece.stop for one in sums))
            file.truncate(sums[-1].size)  # as in a new file, there are no values where none may be written
        return file, part, position


def _damage_error(part: Path, reason: str) -> InputError:
    return InputError(f"{part} {reason}; remove both, and run without {parameter('resume')}")
