"""Commits the files of a finished run by renaming them to their final names.

If the run keeps a journal, all files are first flushed to disk and recorded there. If the run dies between renames, a run that resumes it
only has to do the remaining renames.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.common.signals import signals_deferred
from gpualign.core.files.journal import FinishedFile
from gpualign.jobs.output.stale_files import create_part, remove_stale_part_files

if TYPE_CHECKING:
    from gpualign.core.output.matrix_files import NpyArray
    from gpualign.core.output.resumable_files import ResumableOutput


def journal_path(output: Path) -> Path:
    """Return the path of the journal of an output."""
    return output.with_name(f"{output.name}.journal")


def resumable_part_path(output: Path, name: str) -> Path:
    """Return the path of a part file that a later run can resume. name: which file of the output; "" for the main file."""
    return output.with_name(f"{output.name}{name and '.' + name}.part")


def is_resume_file(output: Path, path: Path) -> bool:
    """Return whether `path` is a name under which an interrupted run may leave a file of `output` (checkpoint.py)."""
    is_part = path.name.startswith(f"{output.name}.") and path.name.endswith(".part")
    return path.absolute().parent == output.absolute().parent and (is_part or path.name == journal_path(output).name)


@dataclass
class PendingFile:
    """A file that is being written.

    file: the open file
    part_path: current path
    final_path: final path; None: the file is to be deleted
    name: name that tells this file from the other files that a later run can resume (checkpoint.py); None: a later run cannot resume the
        file
    writer: object that writes a file that a later run can resume; None: the file has no such writer
    """

    file: BinaryIO
    part_path: Path
    final_path: Path | None
    name: str | None = None
    writer: ResumableOutput | NpyArray | None = None

    def finished_entry(self) -> FinishedFile:
        """Return the journal entry for the file. Call only once everything is written."""
        status = os.fstat(self.file.fileno())
        return FinishedFile(
            self.part_path.name, None if self.final_path is None else self.final_path.name, status.st_size, status.st_mtime_ns
        )


def add_pending(
    files: list[PendingFile], path: Path, final_path: Path | None, note: Callable[[str], None], name: str | None = None
) -> PendingFile:
    """Remove the part files of `path` that killed runs left behind, and return a new part file, which is added to `files`."""
    remove_stale_part_files(path, note)
    with signals_deferred():  # a signal here would leave a file that is not listed
        files.append(PendingFile(*create_part(path), final_path, name))
    return files[-1]


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of a folder to disk."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # a folder in which files can be created, but not listed
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # not every file system supports it
    finally:
        os.close(descriptor)


def pending_renames(files: Iterable[FinishedFile], output: Path, journal: Path) -> list[tuple[Path, Path | None]]:
    """Return the pending renames of a complete output: (part file, final path, or None to delete the part file). files: journal entries.

    Raises `InputError` if a file is missing or has changed since the journal was written, or if a name cannot belong to the output.
    """
    pending, files = [], list(files)
    if all(one.final_name != output.name for one in files):
        raise _damage_error(journal)
    for one in files:
        _check_names(one, output, journal)
        part, final = output.with_name(one.current_name), None if one.final_name is None else output.with_name(one.final_name)
        is_pending = os.path.lexists(part)
        if final is not None and not _is_unchanged(one, part if is_pending else final):
            raise InputError(
                f"{final} was complete, but {part if is_pending else final} has changed since; remove {journal} and its part files "
                f"({output.name}*.part), and run without {parameter('resume')}"
            )
        if is_pending:
            pending.append((part, final))
    return pending


def _is_unchanged(one: FinishedFile, path: Path) -> bool:
    """Return whether a file is unchanged since the entry was recorded, and belongs to this user."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return ours and (status.st_size, status.st_mtime_ns) == (one.size, one.modified_ns)


def _check_names(one: FinishedFile, output: Path, journal: Path) -> None:
    """Raise `InputError` unless all names are part-file names, so that a forged journal cannot cause other files to be renamed or
    deleted."""
    names = [name for name in (one.current_name, one.final_name) if name is not None]
    of_output = one.current_name.startswith(f"{output.name}.") and one.current_name.endswith(".part")
    of_final = (
        one.final_name is not None and re.fullmatch(rf"\.{re.escape(one.final_name)}\.[0-9a-f]{{8}}\.part", one.current_name) is not None
    )
    if not (of_output or of_final) or any(name in ("", ".", "..") or "/" in name for name in names):
        raise _damage_error(journal)


def _damage_error(journal: Path) -> InputError:
    return InputError(f"{journal}: damaged; remove it and its part files, and run without {parameter('resume')}")
