"""What `--resume` refuses and leaves alone: work of another run or of one that still runs, damaged journals and parts."""

import fcntl
import json
import os
import re
import signal
import subprocess

import pytest
from eager import command
from resuming import RUNS, family, interrupt, interrupt_with_a_mark, link, outputs, run, run_as_users, small, write_fasta, write_inputs

from gpualign.core.files.journal import FinishedFile, chain_checks, completion_line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("resume"))


@pytest.fixture
def interrupted(folder, tmp_path):
    """(the words of a run that was interrupted in tmp_path, what it said)"""
    return interrupt(folder, tmp_path)


def test_what_is_of_another_run_is_refused(interrupted, folder, tmp_path):
    words, _ = interrupted
    before = outputs(tmp_path)
    journal = tmp_path / "x.tsv.journal"

    def refused(*changed):
        done = run_as_users([*changed, "--resume"], tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert outputs(tmp_path) == before
        return done.stderr

    assert "x.tsv.journal: it was started without --match" in refused(*words, "--match", "3", "--mismatch", "-1")
    assert "x.tsv.journal: it was started without --self;" in refused(*words, "--self")
    assert "it was started with --fields query,target,score,cigar;" in refused("nw", "genes.fa", "-o", "x.tsv")
    (tmp_path / "genes.fa").unlink()
    (tmp_path / "genes.fa").write_bytes((folder / "genes.fa").read_bytes().replace(b">s9\nA", b">s9\nC").replace(b">s9\nG", b">s9\nT"))
    if (tmp_path / "genes.fa").read_bytes() == (folder / "genes.fa").read_bytes():
        (tmp_path / "genes.fa").write_bytes((folder / "genes.fa").read_bytes().replace(b">s9\n", b">t9\n"))
    assert "started with other input" in refused(*words)
    (tmp_path / "genes.fa").unlink()
    (tmp_path / "genes.fa").symlink_to(folder / "genes.fa")
    plain = re.sub(rb', "check": "[0-9a-f]*"', b"", journal.read_bytes())
    head, lines = plain.split(b"\n", 1)
    head = json.dumps(json.loads(head) | {"version": "0.0.9"}).encode()
    before["x.tsv.journal"] = chain_checks(head + b"\n" + lines, "")[0]
    journal.write_bytes(before["x.tsv.journal"])
    assert "it was started by gpualign 0.0.9, and this is" in refused(*words)


def test_the_same_files_in_other_places_are_another_input(tmp_path, rng):
    for name in ("a.aln", "b.aln"):
        write_fasta(tmp_path / name, family(rng, 150, 30_000, 0.001))
    more = ["--allow-duplicates", *small(["--max-distance", "25", "-o", "x.tsv"])]
    code, _ = interrupt_with_a_mark(["dist", "a.aln", "b.aln", *more], tmp_path, signal.SIGKILL)
    assert code == -9
    before = outputs(tmp_path)
    for inputs in (["b.aln", "a.aln"], ["a.aln", "--add", "b.aln"], ["a.aln", "a.aln"]):
        done = run_as_users(["dist", *inputs, *more, "--resume"], tmp_path)
        assert done.returncode == 2
        assert "x.tsv.journal: it was started with other input" in done.stderr
    assert outputs(tmp_path) == before


@pytest.mark.parametrize("damage", [b"text", b"\n", b"[]\n", b"{}\n", b"\x00\xff\n", b'{"gpualign journal": 3}\n'])
def test_what_is_no_journal_is_refused(interrupted, tmp_path, damage):
    words, _ = interrupted
    (tmp_path / "x.tsv.journal").write_bytes(damage)
    done = run_as_users([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.journal: expected a journal, found another file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("layout", [2, 4])
def test_a_journal_of_another_layout_is_refused(interrupted, tmp_path, layout):
    words, _ = interrupted
    journal = tmp_path / "x.tsv.journal"
    journal.write_bytes(journal.read_bytes().replace(b'{"gpualign journal": 3', b'{"gpualign journal": %d' % layout))
    before = outputs(tmp_path)
    done = run_as_users([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    found = f"x.tsv.journal: expected a journal of layout 3, which this gpualign can resume, found layout {layout}; resume with the"
    assert f"{found} gpualign that wrote it, or start from scratch without --resume" in done.stderr
    assert outputs(tmp_path) == before


def test_a_part_that_lacks_what_its_journal_says_is_refused(interrupted, tmp_path):
    words, _ = interrupted
    os.truncate(tmp_path / "x.tsv.part", 10)
    done = run_as_users([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.part has 10 bytes, its journal says " in done.stderr


PARTS = {"rows": "x.tsv.part", "gzip": "x.tsv.gz.part", "npy": "x.npy.part", "dist npy": "x.npy.compared.part", "csr": "x.npz.data.part"}


def spoil(part, how):
    raw = bytearray(part.read_bytes())
    at = len(raw) // 3 if how == "third" else 5 if how == "start" else 0
    if how == "missing":
        part.unlink()
    elif how == "short":
        part.write_bytes(raw[: len(raw) // 3])
    elif how == "empty":
        part.write_bytes(b"")
    else:
        raw[at] ^= 4
        part.write_bytes(raw)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_not_what_its_journal_says_is_refused(folder, tmp_path, name):
    """Whichever of several it is, and before any file is changed."""
    link(folder, tmp_path)
    words = small(RUNS[name])
    code, _ = interrupt_with_a_mark(words, tmp_path, signal.SIGKILL)
    assert code == -9
    part = tmp_path / PARTS[name]
    good = outputs(tmp_path)
    for how in ("first", "start", "short", "empty", "missing"):
        spoil(part, how)
        before = outputs(tmp_path)
        done = run_as_users([*words, "--resume"], tmp_path)
        assert done.returncode == 2, how
        assert f"{part.name}" in done.stderr
        assert "run without --resume" in done.stderr
        assert outputs(tmp_path) == before
        for left, data in good.items():
            (tmp_path / left).write_bytes(data)
    assert run([*words, "--resume"], tmp_path).returncode == 0


@pytest.mark.parametrize("files", [[], [FinishedFile("x.tsv.part", None, 0, 0)], [FinishedFile("x.tsv.y.part", None, 0, 0)]])
def test_an_end_of_a_journal_that_does_not_name_the_output_is_refused(interrupted, tmp_path, files):
    """Else a run would be done that has written nothing."""
    words, _ = interrupted
    journal = tmp_path / "x.tsv.journal"
    raw = journal.read_bytes()
    check = re.findall(rb'"check": "([0-9a-f]*)"', raw)[-1].decode()
    journal.write_bytes(raw + chain_checks(completion_line(files), check)[0])
    before = outputs(tmp_path)
    done = run_as_users([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.journal: damaged; remove it and its part files" in done.stderr
    assert outputs(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nw", "short.fa"], "--resume needs a file; name it with -o"),
        (["nw", "short.fa", "-o", "x.parquet"], "--resume: parquet is written in one piece"),
        (["sw", "short.fa", "-o", "x.arrow"], "--resume: arrow is written in one piece"),
        (["dist", "-", "-o", "x.tsv"], "--resume: input from a pipe cannot be read again; name files"),
    ],
)
def test_what_no_run_can_go_on_with_is_refused(folder, words, said):
    done = subprocess.run(command(*words, "--resume"), capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("more", [["--resume"], []])
def test_two_runs_do_not_write_one_output_at_once(interrupted, tmp_path, more):
    words, _ = interrupted
    before = outputs(tmp_path)
    with open(tmp_path / "x.tsv.journal") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        done = run([*words, *more], tmp_path)
    assert done.returncode == 1
    assert "another run is writing x.tsv" in done.stderr
    assert outputs(tmp_path) == before


def test_a_file_that_has_the_name_of_a_part_is_left_alone(folder, tmp_path):
    (tmp_path / "x.tsv.part").write_bytes(data := (folder / "genes.fa").read_bytes())
    done = run(small(["nw", "x.tsv.part", "-o", "x.tsv"]), tmp_path)
    assert done.returncode == 0
    assert "x.tsv.part exists without a journal and is left alone; this run cannot be resumed" in done.stderr
    assert outputs(tmp_path)["x.tsv.part"] == data
    assert list(outputs(tmp_path)) == ["x.tsv", "x.tsv.part"]
