"""Files of a run that is done take their names.

Where a run keeps a journal, all of them are on the disk before, and the journal says so and names them. Whatever ends the run between the
first name and the last, one that goes on has no more to do than what is left of this.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from gpualign.core.common.dataclass import dataclass
from gpualign.core.common.errors import InputError, parameter
from gpualign.core.files.journal import Finished


def kept_of(output: Path, path: Path) -> bool:
    """Whether a run that is interrupted may leave something of an output under this name (checkpoint.py)."""
    kept = path.name.startswith(f"{output.name}.") and path.name.endswith(".part")
    return path.absolute().parent == output.absolute().parent and (kept or path.name == f"{output.name}.journal")


@dataclass
class PendingFile:
    """A file on its way. part: its name now; final: the name that it will have, None: it is thrown away."""

    file: BinaryIO
    part: Path
    final: Path | None

    def finished(self) -> Finished:
        """For the journal, when all is written."""
        found = os.fstat(self.file.fileno())
        return Finished(self.part.name, None if self.final is None else self.final.name, found.st_size, found.st_mtime_ns)


def commit(part: Path, final: Path | None) -> None:
    """Or be thrown away."""
    if final is None:
        part.unlink(missing_ok=True)
    else:
        os.replace(part, final)


def sync_folder(folder: Path) -> None:
    """The names in it are on the disk."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # files can be made in it, and not listed
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # not every file system does that
    finally:
        os.close(descriptor)


def without_names(files: Iterable[Finished], output: Path, journal: Path) -> list[tuple[Path, Path | None]]:
    """What of a complete output has yet to take its name: parts and names, as for `commit`. files: of its journal.

    Raises `InputError` where a file that should be there is not what it was, and for names that no such output has.
    """
    found, files = [], list(files)
    if all(one.final != output.name for one in files):
        raise _damaged(journal)
    for one in files:
        _check_names(one, output, journal)
        part, final = output.with_name(one.part), None if one.final is None else output.with_name(one.final)
        there = os.path.lexists(part)
        if final is not None and not _is(one, part if there else final):
            raise InputError(
                f"{final} had been complete, and {part if there else final} is not as it was then; remove {journal} and what belongs to it "
                f"({output.name}*.part), and start without {parameter('resume')}"
            )
        if there:
            found.append((part, final))
    return found


def _is(one: Finished, path: Path) -> bool:
    """Whether a file is the one that was complete, and ours."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
    return ours and (found.st_size, found.st_mtime_ns) == (one.size, one.changed)


def _check_names(one: Finished, output: Path, journal: Path) -> None:
    """A journal is no more than a file: it cannot have other files renamed or thrown away than parts."""
    names = [name for name in (one.part, one.final) if name is not None]
    of_output = one.part.startswith(f"{output.name}.") and one.part.endswith(".part")
    of_final = one.final is not None and re.fullmatch(rf"\.{re.escape(one.final)}\.[0-9a-f]{{8}}\.part", one.part) is not None
    if not (of_output or of_final) or any(name in ("", ".", "..") or "/" in name for name in names):
        raise _damaged(journal)


def _damaged(journal: Path) -> InputError:
    return InputError(f"{journal}: damaged; remove it and the parts, and start without {parameter('resume')}")
