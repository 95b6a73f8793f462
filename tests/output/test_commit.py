"""Files that take their names when all is written: what is on the disk before, and what a run does that finds some of them without."""

import itertools
import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from command import LIMIT, gpualign, gpualign_here
from eager import eager_here, marked

from gpualign.core.common.errors import InputError, RunError
from gpualign.core.files.journal import FinishedFile, RunIdentity
from gpualign.jobs.output.checkpoint import CheckpointedOutput
from gpualign.jobs.output.commit import pending_renames

WORDS = ["dist", "x.aln", "--compared", "-o", "x.npy", "--device", "cpu"]
NAMES = ["x.compared.npy", "x.ids.txt", "x.npy"]


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """Where this process is, and one input."""
    rows = rng.choice(list("ACGT"), (30, 500))
    (tmp_path / "x.aln").write_text("".join(f">s{i}\n{''.join(row)}\n" for i, row in enumerate(rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def eager(monkeypatch):
    eager_here(monkeypatch)


def found_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "x.aln"}


def fails_at(monkeypatch, name, words=WORDS):
    """A run in which a file cannot take its name."""
    replace = os.replace

    def fail(part, final):
        if str(final) == name:
            raise OSError(28, "No space left on device")
        replace(part, final)

    with monkeypatch.context() as disk:
        disk.setattr(os, "replace", fail)
        with pytest.raises(RunError, match=f"cannot write {name}"):
            gpualign_here(*words)


def happened(monkeypatch, words):
    """What a run has asked of the system, in turn: ("sync" or "name" or "remove", file or folder by its number)."""
    events = []
    replace, unlink, fsync = os.replace, Path.unlink, os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (fsync(number), events.append(("sync", os.fstat(number).st_ino)))[0])
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append((str(b), os.stat(a).st_ino)), replace(a, b))[1])
    monkeypatch.setattr(Path, "unlink", lambda path, **more: (events.append(("remove", path.name)), unlink(path, **more))[1])
    gpualign_here(*words)
    return events


def test_files_and_their_names_are_on_the_disk_before_the_journal_goes(folder, eager, monkeypatch):
    events = happened(monkeypatch, WORDS)
    named = [event for event in events if event[0] in NAMES]
    assert sorted(name for name, _ in named) == NAMES
    last = events.index(("remove", "x.npy.journal"))
    for name, number in named:
        assert number == os.stat(name).st_ino
        assert ("sync", number) in events[: events.index((name, number))]
        assert ("sync", os.stat(folder).st_ino) in events[events.index((name, number)) : last]


def test_a_run_without_a_journal_waits_for_no_disk(folder, monkeypatch):
    assert [event for event in happened(monkeypatch, WORDS) if event[0] == "sync"] == []
    assert sorted(found_in(folder)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_missing_are_given(folder, eager, monkeypatch, name):
    gpualign(*WORDS, cwd=folder)
    expected = found_in(folder)
    for known in NAMES:
        (folder / known).unlink()
    fails_at(monkeypatch, name)
    assert "x.npy.journal" in found_in(folder)
    done = gpualign(*WORDS, "--resume", cwd=folder)
    assert b"x.npy is complete: the previous run stopped during its final renames, which are done now\n" in done.stderr
    assert found_in(folder) == expected
    assert b"nothing to resume" in gpualign(*WORDS, "--resume", cwd=folder).stderr


@pytest.mark.parametrize("failing", ["x.npy", "s.json"])
def test_a_summary_takes_its_name_with_the_outputs(folder, eager, monkeypatch, failing):
    words = [*WORDS, "--summary", "s.json"]
    fails_at(monkeypatch, failing, words)
    gpualign_here(*words, "--resume")
    assert sorted(found_in(folder)) == ["s.json", *NAMES]
    found = json.loads((folder / "s.json").read_bytes())
    assert found["results"]["pairs"] == 30 * 29 // 2
    assert found["bytes_written"] == sum((folder / name).stat().st_size for name in NAMES)


def test_a_summary_that_is_asked_for_when_all_is_done(folder, eager, monkeypatch):
    fails_at(monkeypatch, "x.npy")
    gpualign_here(*WORDS, "--resume", "--summary", "s.json")
    found = json.loads((folder / "s.json").read_bytes())
    assert (found["results"], found["engine"]) == ({}, None)
    assert sorted(one["path"] for one in found["outputs"]) == NAMES


def test_a_complete_output_of_other_options_is_refused(folder, eager, monkeypatch):
    fails_at(monkeypatch, "x.npy")
    before = found_in(folder)
    done = gpualign(*WORDS, "--metric", "fraction", "--resume", cwd=folder, check=False)
    assert done.returncode == 2
    assert b"x.npy.journal: it was started with --metric hamming" in done.stderr
    assert found_in(folder) == before


@pytest.mark.parametrize(("changed", "failing"), [("x.ids.txt", "x.npy"), ("x.npy.part", "x.npy"), ("x.npy.part", "x.ids.txt")])
def test_what_has_changed_since_is_not_mixed_with_the_rest(folder, eager, monkeypatch, changed, failing):
    fails_at(monkeypatch, failing)
    os.utime(folder / changed, (0, 0))
    before = found_in(folder)
    done = gpualign(*WORDS, "--resume", cwd=folder, check=False)
    assert done.returncode == 2
    assert f"{changed.removesuffix('.part')} was complete, but {changed} has changed since" in done.stderr.decode()
    assert b"remove x.npy.journal and its part files (x.npy*.part), and run without --resume" in done.stderr
    assert found_in(folder) == before


def test_another_run_in_between_does_not_mix_with_the_rest(folder, eager, monkeypatch):
    fails_at(monkeypatch, "x.npy")
    gpualign(*WORDS, "--metric", "fraction", cwd=folder)
    before = found_in(folder)
    assert gpualign(*WORDS, "--resume", cwd=folder, check=False).returncode == 2
    assert found_in(folder) == before


def test_a_journal_that_has_no_room_for_its_last_line(folder, eager, monkeypatch):
    def full(files):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpualign.jobs.output.checkpoint.completion_line", full)
    gpualign_here(*WORDS)
    assert sorted(found_in(folder)) == NAMES


def test_a_picture_elsewhere_has_its_name_before(folder, eager, monkeypatch):
    pytest.importorskip("matplotlib")
    (folder / "pictures").mkdir()
    words = [*WORDS, "--plot", "pictures/x.png"]
    fails_at(monkeypatch, "x.ids.txt", words)
    assert (folder / "pictures" / "x.png").exists()
    _, messages = gpualign_here(*words, "--resume")
    assert "pictures/x.png is as that run left it; `gpualign plot` draws it again\n" in messages
    np.load(folder / "x.npy")


@pytest.mark.parametrize(
    ("part", "final"),
    [
        ("x.aln", "x.npy"),
        ("x.aln", None),
        ("x.npy", None),
        ("../x.npy.part", "x.npy"),
        ("x.npy./../x.part", None),
        ("x.npy.part", "../x.npy"),
        ("x.npy.part", "pictures/x.npy"),
        ("x.npy.part", ".."),
        ("x.npy.part", ""),
        (".x.ids.txt.12345678.part", "x.id.txt"),
        (".x.ids.txt.12345678.part", None),
    ],
)
def test_a_journal_does_not_name_other_files_than_parts(folder, part, final):
    with pytest.raises(InputError, match=r"x\.npy\.journal: damaged"):
        pending_renames([FinishedFile(part, final, 0, 0)], folder / "x.npy", Path("x.npy.journal"))


def test_a_link_in_the_place_of_a_part_takes_no_name(folder):
    os.symlink("x.aln", folder / "x.npy.part")
    found = os.stat(folder / "x.npy.part")
    with pytest.raises(InputError, match="has changed since"):
        pending_renames([FinishedFile("x.npy.part", "x.npy", found.st_size, found.st_mtime_ns)], folder / "x.npy", Path("x.npy.journal"))


class Kept:
    """Stands in for the memory of a run."""

    resume, digest_seconds, arguments = False, 0.0, ["nw"]

    def compute_identity(self):
        return RunIdentity("1", "nw", {}, "abc", 100)


def end(output, files):
    output.stop(keep_resumable=True)
    for one in files:
        assert output.keeps(one)
        one.file.close()
    output.close()


def test_a_slow_disk_holds_nobody_up(tmp_path, eager, monkeypatch):
    """Marks are written while it is at work, and what it has is known by itself."""
    times = itertools.count(0.0, 2.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(times))  # long enough after the wait before
    written, asked, fsync = threading.Event(), threading.Event(), os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (asked.set(), written.wait(LIMIT), fsync(number)))
    found = CheckpointedOutput(tmp_path / "x.npy", Kept(), (0, 100), files := [], print)
    found.open_file("", tmp_path / "x.npy")[0].file.write(b"some")
    found.header_written()
    for rows in (10, 20, 30):
        found.rows_written(rows)
        assert asked.wait(LIMIT)
    journal = tmp_path / "x.npy.journal"
    assert marked(journal) == [0, 10, 20, 30]
    assert b"synced" not in journal.read_bytes()
    written.set()
    found._aside.wait()
    assert journal.read_bytes().splitlines()[-1].startswith(b'{"synced": 10, "check"')
    found.rows_written(40)
    found._aside.wait()
    assert [json.loads(line)["synced"] for line in journal.read_bytes().splitlines() if b"synced" in line] == [10, 40]
    end(found, files)


def test_a_disk_that_fails_ends_the_run(tmp_path, eager, monkeypatch):
    times = itertools.count(0.0, 2.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(times))  # long enough after the wait before

    def fails(number):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    found = CheckpointedOutput(tmp_path / "x.npy", Kept(), (0, 100), files := [], print)
    found.open_file("", tmp_path / "x.npy")
    found.header_written()
    found.rows_written(1)
    found._aside._thread.join(LIMIT)
    with pytest.raises(OSError, match="Input/output error"):
        found.rows_written(2)
    end(found, files)
