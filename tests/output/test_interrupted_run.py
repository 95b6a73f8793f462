"""Journals as files, and what a run finds that an earlier one has left: it is opened as the journal says, or refused unchanged."""

import fcntl
import os
import resource

import pytest

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.files.file_pieces import StridedRange
from gpualign.core.files.journal import (
    FileChecksum,
    FinishedFile,
    Mark,
    RunIdentity,
    completion_line,
    header_line,
    mark_line,
    process_line,
    read_journal,
)
from gpualign.jobs.output.commit import journal_path
from gpualign.jobs.output.interrupted_run import InterruptedRun
from gpualign.jobs.output.journal_file import JournalFile, boot_id

IDENTITY = RunIdentity("1", "nw", {}, "abc", 100)


class Policy:
    """Stands in for the options of a run."""

    def compute_identity(self):
        return IDENTITY


def marked(rows, files, sizes):
    """The line of a checkpoint. files: positions of growing files; sizes: of every file, of which the last bytes have a checksum."""
    sums = {}
    for name, data in sizes.items():
        part = StridedRange(max(0, len(data) - 4), min(4, len(data)))
        with open("part", "wb") as file:
            file.write(data)
        with open("part", "rb") as file:
            sums[name] = FileChecksum(len(data), part, part.checksum(file.fileno()))
    os.unlink("part")
    return mark_line(Mark(rows, files, sums))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder, *lines):
    """Writes a journal of these lines behind the first ones, and closes it."""
    journal = JournalFile.create(journal_path(folder / "x"))
    journal.append(header_line(IDENTITY) + process_line(boot_id()))
    for line in lines:
        journal.append(line)
    journal.close()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_journal_is_made_once_and_grows_by_valid_lines(folder):
    path = journal_path(folder / "x")
    assert path.name == "x.journal"
    journal = JournalFile.create(path)
    assert journal.is_empty
    assert JournalFile.create(path) is None
    journal.append(header_line(IDENTITY))
    journal.append(process_line("boot") + mark_line(Mark(3)))
    journal.append(mark_line(Mark(7)))
    assert not journal.is_empty
    identity, point = read_journal(path.read_bytes(), "j", "boot")
    assert (identity, point.rows) == (IDENTITY, 7)
    journal.remove()
    journal.remove()
    journal.close()
    assert contents(folder) == {}


def test_behind_a_line_that_was_cut_off_nothing_is_appended(folder):
    """It could not be verified."""
    path = journal_path(folder / "x")
    journal = JournalFile.create(path)
    journal.append(header_line(IDENTITY) + process_line("boot") + mark_line(Mark(3)))

    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))  # as a disk with so much space left
    try:
        with pytest.raises(OSError, match="too large"):
            journal.append(mark_line(Mark(7)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    torn = path.read_bytes()
    assert torn == before + mark_line(Mark(7))[:10]
    assert read_journal(torn, "j", "boot")[1].rows == 3
    journal.append(mark_line(Mark(8)))
    journal.close()  # there is room for the rest of the line
    assert b'"rows": 8' not in path.read_bytes()
    assert read_journal(path.read_bytes(), "j", "boot")[1].rows == 7


def test_files_are_opened_where_their_checkpoint_ends(folder):
    text, array = b"header\nrow 1\nrow 2\n", bytes(range(40))
    left(folder, marked(2, {"": (19, 19, 19)}, {"": text, "scores": array}))
    (folder / "x.part").write_bytes(text + b"row 3, with")
    (folder / "x.scores.part").write_bytes(array + b"an archive that was being appended")
    found = InterruptedRun(folder / "x", Policy())
    assert (found.point.rows, found.pending_renames) == (2, None)
    file, part, position = found.open_part("")
    with file:
        assert (part, position, file.tell()) == (folder / "x.part", (19, 19, 0), 19)
        file.write(b"row 3\n")
    assert part.read_bytes() == text + b"row 3\n"
    file, part, position = found.open_part("scores")
    with file:
        assert (position, part.read_bytes()) == (None, array)
    found.journal.append(marked(3, {"": (25, 25, 25)}, {"": text + b"row 3\n", "scores": array}))
    found.journal.close()
    again = InterruptedRun(folder / "x", Policy())
    assert again.point.rows == 3
    again.journal.close()


def test_a_complete_output_has_renames_only(folder):
    (folder / "x.part").write_bytes(b"all")
    status = (folder / "x.part").stat()
    left(folder, completion_line([FinishedFile("x.part", "x", 3, status.st_mtime_ns)]))
    before = contents(folder)
    found = InterruptedRun(folder / "x", Policy())
    found.journal.close()
    assert found.point is None
    assert found.pending_renames == [(folder / "x.part", folder / "x")]
    assert found.complete_files == [folder / "x"]
    assert contents(folder) == before


def test_a_journal_without_a_checkpoint_is_emptied(folder):
    left(folder)
    found = InterruptedRun(folder / "x", Policy())
    assert (found.point, found.pending_renames, found.journal.is_empty) == (None, None, True)
    found.journal.close()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"head", r"x\.part has 4 bytes, its journal says 10"),
        (b"header\nrOw", r"x\.part differs from its journal between bytes 6 and 10"),
        (None, r"x\.part: No such file or directory"),
    ],
)
def test_what_does_not_match_is_refused_and_left(folder, data, said):
    left(folder, marked(1, {"": (10, 10, 10)}, {"": b"header\nrow"}))
    if data is not None:
        (folder / "x.part").write_bytes(data)
    before = contents(folder)
    with pytest.raises(InputError, match=said):
        InterruptedRun(folder / "x", Policy())
    assert contents(folder) == before


def test_what_another_run_is_writing_is_refused(folder):
    left(folder)
    before = contents(folder)
    with open(journal_path(folder / "x")) as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="another run is writing"):
            InterruptedRun(folder / "x", Policy())
    assert contents(folder) == before


def test_a_link_in_the_place_of_a_journal_is_not_followed(folder):
    (folder / "other").write_bytes(b"text")
    journal_path(folder / "x").symlink_to("other")
    with pytest.raises(InputError, match=r"x\.journal"):
        InterruptedRun(folder / "x", Policy())
    assert (folder / "other").read_bytes() == b"text"
