"""Runs that are ended in any way and go on: the same bytes as those of a run that was not."""

import fcntl
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import GPUALIGN, LIMIT, gpualign_here
from eager import EAGER, command, marked
from processes import default_signals, started
from relatives import as_text, mutated

from gpualign.core.files.journal import Finished, chained, last_line


def family(rng, count, length, changed=0.05):
    ancestor = rng.integers(0, 4, length)
    return (as_text(mutated(rng, ancestor, changed, 4)) for _ in range(count))


def write_fasta(path, rows):
    path.write_text("".join(f">s{i}\n{row}\n" for i, row in enumerate(rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(5)
    folder = tmp_path_factory.mktemp("resume")
    rows = list(family(rng, 160, 900))
    write_fasta(folder / "genes.fa", rows)
    write_fasta(folder / "repeated.fa", [rows[i // 3] for i in range(160)])
    write_fasta(folder / "short.fa", [row[:300] for row in rows[:40]])
    write_fasta(folder / "core.aln", family(rng, 400, 30_000, 0.001))
    return folder


RUNS = {
    "rows": ["nw", "genes.fa", "--fields", "query,target,score,cigar", "-o", "x.tsv"],
    "gzip": ["nw", "genes.fa", "--fields", "query,target,score,cigar", "-o", "x.tsv.gz"],
    "sam": ["nw", "genes.fa", "-o", "x.sam"],
    "npy": ["nw", "genes.fa", "--value", "identity", "-o", "x.npy"],
    "npz": ["nw", "genes.fa", "short.fa", "-o", "x.npz"],
    "matrix": ["nw", "genes.fa", "--format", "matrix", "-o", "x.txt"],
    "csr": ["nw", "genes.fa", "--format", "csr", "--min-identity", "0.9", "-o", "x.npz"],
    "near": ["nw", "repeated.fa", "--min-identity", "0.95", "--fields", "query,target,identity", "-o", "x.tsv"],
    "search": ["sw", "genes.fa", "short.fa", "-o", "x.m8"],
    "passing": ["sw", "genes.fa", "short.fa", "--max-evalue", "1e-3", "-o", "x.tsv"],
    "dist": ["dist", "core.aln", "-o", "x.tsv"],
    "dist npy": ["dist", "core.aln", "--compared", "-o", "x.npy"],
    "dist near": ["dist", "core.aln", "--max-distance", "55", "-o", "x.tsv"],
    "dist csr": ["dist", "core.aln", "--max-distance", "55", "--format", "csr", "-o", "x.npz"],
}


def outputs(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name.startswith(("x.", ".x"))}


def link(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)


def small(words):
    return [*words, "--memory", "300M", "--threads", "2", "--device", "cpu"]


def run(words, cwd):
    return subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=LIMIT, preexec_fn=default_signals)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_killed_at_any_moment_it_ends_with_the_same_bytes(folder, tmp_path, name, rng):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    words = small(RUNS[name])
    done = run(words, whole)
    assert done.returncode == 0, done.stderr
    journal = broken / f"{words[words.index('-o') + 1]}.journal"
    rows = kills = 0
    for attempt in range(40):
        # The first at a mark, so that one is killed for sure; then at any moment, some by another process.
        alone = attempt == 0 or rng.random() < 0.5
        delay = 0 if attempt == 0 else float(rng.random()) * 0.05
        suicide = {"EAGER_KILL": f"{int(rng.integers(1, 6))} {delay} 9"} if alone and attempt < 3 else {}
        with started(command(*words, "--resume"), stderr=subprocess.PIPE, cwd=broken, env={**os.environ, **suicide}) as job:
            if not alone and attempt < 3:
                seen = len(marked(journal))
                while job.poll() is None and len(marked(journal)) == seen:
                    time.sleep(0.001)
                time.sleep(delay)
                job.send_signal(signal.SIGTERM)
            errors = job.communicate(timeout=LIMIT)[1].decode()
        assert job.returncode in (0, -9, 143), errors
        if job.returncode == 0:
            break
        kills += 1
        reached = marked(journal)
        if len(reached) > 1 and rows:
            assert "goes on from query" in errors or "every query is there" in errors
            if "goes on from query" in errors and name != "gzip":
                assert int(errors.split("goes on from query ")[1].split()[0].replace(",", "")) > rows
        rows = max(reached, default=0)
    assert kills
    assert outputs(broken) == outputs(whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["npy", "dist"])
def test_a_run_that_only_had_to_mirror_its_matrix_ends_with_the_same_bytes(folder, tmp_path, name):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    words = small(RUNS[name])
    assert run(words, whole).returncode == 0
    dies = "import os, gpualign.core.output.mirroring as p; p.Placement.finish = lambda self: os._exit(9);" + EAGER
    killed = subprocess.run([sys.executable, "-c", dies, *words], capture_output=True, cwd=broken, timeout=LIMIT)
    assert killed.returncode == 9
    done = run([*words, "--resume"], broken)
    assert ": every query is there, and only the end is left to write\n" in done.stderr
    assert outputs(broken) == outputs(whole)


def interrupt_with_a_mark(words, cwd, signum):
    """Ends the run at its second mark; what it said."""
    more = {"env": {**os.environ, "EAGER_KILL": f"2 0 {int(signum)}"}, "preexec_fn": default_signals}
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, timeout=LIMIT, **more)
    return done.returncode, done.stderr


@pytest.fixture
def interrupted(folder, tmp_path):
    link(folder, tmp_path)
    words = small(RUNS["rows"])
    code, errors = interrupt_with_a_mark(words, tmp_path, signal.SIGINT)
    assert code == 130
    return words, errors


def test_ctrl_c_says_how_to_go_on(interrupted, tmp_path):
    words, errors = interrupted
    assert "interrupted; " in errors
    assert f"of 160 queries of x.tsv are done; go on with: gpualign {' '.join(words)} --resume\n" in errors
    assert sorted(path.name for path in tmp_path.iterdir() if "x." in path.name) == ["x.tsv.journal", "x.tsv.part"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_while_the_wait_for_the_disk_begins(folder, tmp_path, moment):
    """A thread is then half made."""
    link(folder, tmp_path)
    strikes = (
        "import os, signal, threading, time; start = threading.Thread.start\n"
        "def struck(self):\n"
        f"    before = self.name == 'gpualign-aside' and {moment == 'before'}; after = self.name == 'gpualign-aside' and not before\n"
        "    before and os.kill(os.getpid(), signal.SIGINT)\n"
        "    start(self)\n"
        "    after and os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread.start = struck;"
    )
    words = small(RUNS["rows"])
    done = patched(strikes, words, tmp_path)
    assert done.returncode == 130
    assert f"of 160 queries of x.tsv are done; go on with: gpualign {' '.join(words)} --resume\n" in done.stderr
    assert run([*words, "--resume"], tmp_path).returncode == 0
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_without_resume_what_is_left_is_named_and_left_alone(interrupted, tmp_path):
    words, _ = interrupted
    before = outputs(tmp_path)
    done = run(words, tmp_path)
    assert done.returncode == 0
    assert "x.tsv.journal, of a run that was interrupted, and what belongs to it are left alone; --resume goes on with them." in done.stderr
    assert before.items() < outputs(tmp_path).items()
    assert (tmp_path / "x.tsv").exists()


def test_what_is_of_another_run_is_refused(interrupted, folder, tmp_path):
    words, _ = interrupted
    before = outputs(tmp_path)
    journal = tmp_path / "x.tsv.journal"

    def refused(*changed):
        done = run([*changed, "--resume"], tmp_path)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert outputs(tmp_path) == before
        return done.stderr

    assert "x.tsv.journal: it was begun without --match" in refused(*words, "--match", "3", "--mismatch", "-1")
    assert "it was begun with --fields query,target,score,cigar;" in refused("nw", "genes.fa", "-o", "x.tsv")
    (tmp_path / "genes.fa").unlink()
    (tmp_path / "genes.fa").write_bytes((folder / "genes.fa").read_bytes().replace(b">s9\nA", b">s9\nC").replace(b">s9\nG", b">s9\nT"))
    if (tmp_path / "genes.fa").read_bytes() == (folder / "genes.fa").read_bytes():
        (tmp_path / "genes.fa").write_bytes((folder / "genes.fa").read_bytes().replace(b">s9\n", b">t9\n"))
    assert "begun with other input" in refused(*words)
    (tmp_path / "genes.fa").unlink()
    (tmp_path / "genes.fa").symlink_to(folder / "genes.fa")
    plain = re.sub(rb', "check": "[0-9a-f]*"', b"", journal.read_bytes())
    head, lines = plain.split(b"\n", 1)
    head = json.dumps(json.loads(head) | {"version": "0.0.9"}).encode()
    before["x.tsv.journal"] = chained(head + b"\n" + lines, "")[0]
    journal.write_bytes(before["x.tsv.journal"])
    assert "gpualign 0.0.9 began it, and this is" in refused(*words)


def test_the_same_files_in_other_places_are_another_input(tmp_path, rng):
    for name in ("a.aln", "b.aln"):
        write_fasta(tmp_path / name, family(rng, 150, 30_000, 0.001))
    more = ["--allow-duplicates", *small(["--max-distance", "25", "-o", "x.tsv"])]
    code, _ = interrupt_with_a_mark(["dist", "a.aln", "b.aln", *more], tmp_path, signal.SIGKILL)
    assert code == -9
    before = outputs(tmp_path)
    for inputs in (["b.aln", "a.aln"], ["a.aln", "--add", "b.aln"], ["a.aln", "a.aln"]):
        done = run(["dist", *inputs, *more, "--resume"], tmp_path)
        assert done.returncode == 2
        assert "x.tsv.journal: it was begun with other input" in done.stderr
    assert outputs(tmp_path) == before


@pytest.mark.parametrize(
    "damage", [b"text", b"\n", b"[]\n", b"{}\n", b"\x00\xff\n", b'{"gpualign journal": 3}\n', b'{"gpualign journal": 2}\n']
)
def test_what_is_no_journal_is_refused(interrupted, tmp_path, damage):
    words, _ = interrupted
    (tmp_path / "x.tsv.journal").write_bytes(damage)
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.journal: " + ("a journal of layout 3" if b"3" in damage else "no journal, or a damaged one") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_part_that_lacks_what_its_journal_says_is_refused(interrupted, tmp_path):
    words, _ = interrupted
    os.truncate(tmp_path / "x.tsv.part", 10)
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.part has 10 bytes, of which its journal says " in done.stderr


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
@pytest.mark.parametrize("how", ["first", "start", "short", "empty", "missing"])
@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_not_what_its_journal_says_is_refused(folder, tmp_path, name, how):
    """Whichever of several it is, and before any file is changed."""
    link(folder, tmp_path)
    words = small(RUNS[name])
    code, _ = interrupt_with_a_mark(words, tmp_path, signal.SIGKILL)
    assert code == -9
    part = tmp_path / PARTS[name]
    good = outputs(tmp_path)
    spoil(part, how)
    before = outputs(tmp_path)
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert f"{part.name}" in done.stderr
    assert "start without --resume" in done.stderr
    assert outputs(tmp_path) == before
    for left, data in good.items():
        (tmp_path / left).write_bytes(data)
    assert run([*words, "--resume"], tmp_path).returncode == 0


def test_what_stands_in_rows_that_are_yet_to_be_written_does_not_stay(folder, tmp_path):
    """In a share of a matrix nothing is ever written left of the diagonal."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    words = small(["nw", "genes.fa", "--shard", "1/2", "-o", "x.npy"])
    assert run(words, whole).returncode == 0
    assert interrupt_with_a_mark(words, broken, signal.SIGKILL)[0] == -9
    part = broken / "x.npy.1-of-2.part.scores.part"
    rows = np.load(part).shape[0]
    with open(part, "r+b") as file:
        file.seek(-part.stat().st_size // rows, os.SEEK_END)
        file.write(b"\xff" * 16)
    assert run([*words, "--resume"], broken).returncode == 0
    assert outputs(broken) == outputs(whole)


@pytest.mark.parametrize("files", [[], [Finished("x.tsv.part", None, 0, 0)], [Finished("x.tsv.y.part", None, 0, 0)]])
def test_an_end_of_a_journal_that_does_not_name_the_output_is_refused(interrupted, tmp_path, files):
    """Else a run would be done that has written nothing."""
    words, _ = interrupted
    journal = tmp_path / "x.tsv.journal"
    raw = journal.read_bytes()
    check = re.findall(rb'"check": "([0-9a-f]*)"', raw)[-1].decode()
    journal.write_bytes(raw + chained(last_line(files), check)[0])
    before = outputs(tmp_path)
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 2
    assert "x.tsv.journal: damaged; remove it and the parts" in done.stderr
    assert outputs(tmp_path) == before


@pytest.mark.parametrize("length", [0, 20])
def test_a_run_that_was_killed_before_its_first_mark_begins_again(interrupted, folder, tmp_path, length):
    words, _ = interrupted
    journal = tmp_path / "x.tsv.journal"
    journal.write_bytes(journal.read_bytes()[:length])
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 0
    assert "x.tsv: nothing of it is sure to be there; this run starts from the beginning" in done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]
    found = (tmp_path / "x.tsv").read_bytes()
    assert run(words, tmp_path).returncode == 0
    assert found == (tmp_path / "x.tsv").read_bytes()


def test_a_short_run_takes_away_what_a_killed_one_had_left(interrupted, tmp_path):
    words, _ = interrupted
    os.truncate(tmp_path / "x.tsv.journal", 0)
    done = subprocess.run([GPUALIGN, *words, "--resume"], capture_output=True, cwd=tmp_path, timeout=LIMIT)
    assert done.returncode == 0
    assert list(outputs(tmp_path)) == ["x.tsv"]


def patched(code, words, cwd):
    words = [sys.executable, "-c", code + EAGER, *words]
    return subprocess.run(words, capture_output=True, text=True, cwd=cwd, timeout=LIMIT, preexec_fn=default_signals)


FAILS = (
    "import os; replace = os.replace\n"
    "def fail(part, name):\n"
    "    if str(name).endswith(%r): raise OSError(28, 'No space left on device')\n"
    "    replace(part, name)\n"
    "os.replace = fail;"
)


@pytest.mark.parametrize("name", ["x.npy", "x.ids.txt"])
def test_where_a_file_cannot_take_its_name_the_work_is_kept(folder, tmp_path, name):
    link(folder, tmp_path)
    words = small(RUNS["npy"])
    done = patched(FAILS % name, words, tmp_path)
    assert done.returncode == 1
    assert "cannot write x.npy: No space left on device; " in done.stderr or "cannot write x.ids.txt: No space left" in done.stderr
    assert f"go on with: gpualign {' '.join(words)} --resume\n" in done.stderr
    assert run([*words, "--resume"], tmp_path).returncode == 0
    assert list(outputs(tmp_path)) == ["x.ids.txt", "x.npy"]


def test_a_file_system_without_locks(interrupted, tmp_path):
    words, _ = interrupted
    nolocks = "import fcntl\ndef flock(*_): raise OSError(38, 'Function not implemented')\nfcntl.flock = flock;"
    done = patched(nolocks, [*words, "--resume"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


@pytest.mark.parametrize("more", [["--resume"], []])
def test_two_runs_do_not_write_one_output_at_once(interrupted, tmp_path, more):
    words, _ = interrupted
    before = outputs(tmp_path)
    with open(tmp_path / "x.tsv.journal") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        done = run([*words, *more], tmp_path)
    assert done.returncode == 1
    assert "another run is at work on x.tsv" in done.stderr
    assert outputs(tmp_path) == before


def test_a_run_whose_input_has_gone_ends_without_a_journal(folder, tmp_path):
    (tmp_path / "core.aln").write_bytes((folder / "core.aln").read_bytes())
    gone = "import os, gpualign.jobs.dist as j; prepare = j.prepare; j.prepare = lambda *a: (os.unlink('core.aln'), prepare(*a))[1];"
    done = patched(gone, small(RUNS["dist near"]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_a_file_that_has_the_name_of_a_part_is_left_alone(folder, tmp_path):
    (tmp_path / "x.tsv.part").write_bytes(data := (folder / "genes.fa").read_bytes())
    done = run(small(["nw", "x.tsv.part", "-o", "x.tsv"]), tmp_path)
    assert done.returncode == 0
    assert "x.tsv.part is left alone, as there is no journal of it; this run keeps none" in done.stderr
    assert outputs(tmp_path)["x.tsv.part"] == data
    assert list(outputs(tmp_path)) == ["x.tsv", "x.tsv.part"]


def test_with_nothing_to_go_on_with_it_begins(folder, tmp_path):
    link(folder, tmp_path)
    done = run(["nw", "short.fa", "-o", "x.tsv", "--resume"], tmp_path)
    assert done.returncode == 0
    assert "x.tsv: there is nothing to go on with; this run starts from the beginning" in done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nw", "short.fa"], "--resume goes on with a file; name it with -o"),
        (["nw", "short.fa", "-o", "x.parquet"], "--resume: parquet is written in one piece"),
        (["sw", "short.fa", "-o", "x.arrow"], "--resume: arrow is written in one piece"),
        (["dist", "-", "-o", "x.tsv"], "--resume: what came through a pipe cannot be read again; name files"),
    ],
)
def test_what_no_run_can_go_on_with_is_refused(folder, words, said):
    done = subprocess.run(command(*words, "--resume"), capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_full_disk_leaves_what_is_done(folder, tmp_path):
    """A limit on the size of files stands for the disk."""
    link(folder, tmp_path)
    words = small(RUNS["rows"])
    limited = ["bash", "-c", 'ulimit -f 900; trap "" XFSZ; exec "$@"', "bash", *command(*words)]
    done = subprocess.run(limited, capture_output=True, text=True, cwd=tmp_path, timeout=LIMIT)
    assert done.returncode == 1
    assert "cannot write x.tsv: File too large; " in done.stderr
    assert "go on with: gpualign nw genes.fa" in done.stderr
    assert run([*words, "--resume"], tmp_path).returncode == 0
    assert (tmp_path / "x.tsv").read_bytes() == run(
        [*words[:-6], *words[-4:], "-o", "/dev/stdout", "--format", "tsv"], tmp_path
    ).stdout.encode()


def test_a_short_run_leaves_nothing(folder, tmp_path):
    link(folder, tmp_path)
    done = subprocess.run([GPUALIGN, *RUNS["gzip"]], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert list(outputs(tmp_path)) == ["x.tsv.gz"]
    text = gzip.decompress((tmp_path / "x.tsv.gz").read_bytes())
    assert text.count(b"\n") == 1 + 160 * 159 // 2


STEPS = """
import os, pathlib, gpualign.jobs.output.commit as n, gpualign.jobs.output.checkpoint as r
taken = [0]
def before(call):
    def step(*given, **more):
        taken[0] += 1
        if taken[0] == %d: os._exit(9)
        return call(*given, **more)
    return step
complete = r.Resumption.complete
def completed(self, files):
    complete(self, files)
    os.replace, pathlib.Path.unlink = before(os.replace), before(pathlib.Path.unlink)
r.Resumption.complete = before(completed)
"""
"""A run that kills itself before one of the last steps: the last line of the journal, and each name that is taken or goes."""

ENDS = {
    "dist npy": ["dist", "some.aln", "--compared", "-o", "x.npy"],
    "npz": ["nw", "short.fa", "-o", "x.npz"],
    "share of csr": ["nw", "short.fa", "--format", "csr", "--min-identity", "0.9", "-o", "x.npz", "--shard", "1/2"],
}


@pytest.fixture(scope="module")
def small_folder(tmp_path_factory):
    rng = np.random.default_rng(6)
    folder = tmp_path_factory.mktemp("small")
    write_fasta(folder / "some.aln", family(rng, 40, 2000, 0.01))
    write_fasta(folder / "short.fa", family(rng, 40, 200))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS)
def test_killed_between_names_it_ends_with_the_same_bytes(small_folder, tmp_path, monkeypatch, name):
    words = [*ENDS[name], "--device", "cpu"]
    whole = tmp_path / "whole"
    whole.mkdir()
    link(small_folder, whole)
    assert run(words, whole).returncode == 0
    expected, said = outputs(whole), []
    for step in range(1, 20):
        broken = tmp_path / f"step{step}"
        broken.mkdir()
        link(small_folder, broken)
        killed = patched(STEPS % step, words, broken)
        if killed.returncode == 0:
            break
        assert killed.returncode == 9, killed.stderr
        monkeypatch.chdir(broken)
        _, messages = gpualign_here(*words, "--resume")
        assert outputs(broken) == expected
        said.append(" is complete: the run before was ended while its files took their names\n" in messages)
    # Each file that is to be seen, what it was made of, and the journal, behind its last line.
    made = {"dist npy": 3, "npz": 2, "share of csr": 4}[name]
    assert said == [False, *[True] * (made + 1)]


COUNTED = {
    "rows": ["cells", "pairs"],
    "near": ["pairs", "pairs_kept"],
    "csr": ["cells", "pairs", "pairs_kept"],
    "npy": ["cells", "pairs"],
    "search": ["cells", "hits", "pairs", "queries_with_more_hits"],
    "dist": ["comparisons", "pairs", "pairs_with_too_few_sites", "pairs_without_distance"],
    "dist near": ["comparisons", "pairs", "pairs_kept"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTED)
def test_the_summary_of_a_run_that_went_on_has_the_totals_of_the_job(folder, tmp_path, name):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    more = ["--min-compared", "0.9995"] if name == "dist" else []
    words = [*small(RUNS[name]), *more, "--summary", "s.json"]
    assert run(words, whole).returncode == 0
    expected = json.loads((whole / "s.json").read_text())["results"]
    assert "pairs_in_this_run" not in expected
    for marks in (2, 1):  # twice, so that what a run before has counted is kept
        kill = {"env": {**os.environ, "EAGER_KILL": f"{marks} 0 9"}}
        assert subprocess.run(command(*words, "--resume"), cwd=broken, capture_output=True, timeout=LIMIT, **kill).returncode == -9
    done = run([*words, "--resume"], broken)
    assert done.returncode == 0, done.stderr
    found = json.loads((broken / "s.json").read_text())["results"]
    assert {key: found[key] for key in COUNTED[name]} == {key: expected[key] for key in COUNTED[name]}
    assert 0 < found["pairs_in_this_run"] < found["pairs"]
    assert f"{found['pairs']:,} pairs, {found['pairs_in_this_run']:,} of them in this run" in done.stderr
