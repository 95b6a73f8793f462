"""Runs that are ended in any way and go on: the same bytes as those of a run that was not."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from command import GPUALIGN, LIMIT, gpualign_here
from eager import EAGER, command, marked
from processes import default_signals, started
from resuming import RUNS, family, interrupt, interrupt_with_a_mark, link, outputs, run, run_as_users, small, write_fasta, write_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("resume"))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_killed_at_any_moment_it_ends_with_the_same_bytes(folder, tmp_path, name, rng):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    words = small(RUNS[name])
    done = run_as_users(words, whole)
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
            assert "resuming at query" in errors or "all queries are done" in errors
            if "resuming at query" in errors and name != "gzip":
                assert int(errors.split("resuming at query ")[1].split()[0].replace(",", "")) > rows
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
    assert run_as_users(words, whole).returncode == 0
    dies = "import os, gpualign.core.output.mirroring as p; p.MatrixFiller.finish = lambda self: os._exit(9);" + EAGER
    killed = subprocess.run([sys.executable, "-c", dies, *words], capture_output=True, cwd=broken, timeout=LIMIT)
    assert killed.returncode == 9
    done = run([*words, "--resume"], broken)
    assert ": all queries are done; only the final step remains\n" in done.stderr
    assert outputs(broken) == outputs(whole)


@pytest.fixture
def interrupted(folder, tmp_path):
    """(the words of a run that was interrupted in tmp_path, what it said)"""
    return interrupt(folder, tmp_path)


def test_ctrl_c_says_how_to_go_on(interrupted, tmp_path):
    words, errors = interrupted
    assert "interrupted; " in errors
    assert f"of 160 queries of x.tsv are done; resume with: gpualign {' '.join(words)} --resume\n" in errors
    assert sorted(path.name for path in tmp_path.iterdir() if "x." in path.name) == ["x.tsv.journal", "x.tsv.part"]


@pytest.mark.parametrize("name", ["rows", "gzip", "npy"])
def test_ctrl_c_counts_the_queries_that_are_kept(folder, tmp_path, name):
    """A compressed file lacks the rows that fill no block yet."""
    link(folder, tmp_path)
    words = small(RUNS[name])
    code, errors = interrupt_with_a_mark(words, tmp_path, signal.SIGINT)
    assert code == 130
    kept = int(re.search(r"(\d+) of 160 queries", errors)[1])
    where = f"resuming at query {kept + 1} of 160" if kept else "starting from scratch"
    assert where in run([*words, "--resume"], tmp_path).stderr


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
    assert f"of 160 queries of x.tsv are done; resume with: gpualign {' '.join(words)} --resume\n" in done.stderr
    assert run([*words, "--resume"], tmp_path).returncode == 0
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_without_resume_what_is_left_is_named_and_left_alone(interrupted, tmp_path):
    words, _ = interrupted
    before = outputs(tmp_path)
    done = run(words, tmp_path)
    assert done.returncode == 0
    assert (
        "x.tsv.journal exists: it and its part files are left alone; --resume resumes the interrupted run that they are of." in done.stderr
    )
    assert before.items() < outputs(tmp_path).items()
    assert (tmp_path / "x.tsv").exists()


def test_what_stands_in_rows_that_are_yet_to_be_written_does_not_stay(folder, tmp_path):
    """In a share of a matrix nothing is ever written left of the diagonal."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(folder, where)
    words = small(["nw", "genes.fa", "--shard", "1/2", "-o", "x.npy"])
    assert run_as_users(words, whole).returncode == 0
    assert interrupt_with_a_mark(words, broken, signal.SIGKILL)[0] == -9
    part = broken / "x.npy.1-of-2.part.part"
    rows = np.load(part).shape[0]
    with open(part, "r+b") as file:
        file.seek(-part.stat().st_size // rows, os.SEEK_END)
        file.write(b"\xff" * 16)
    assert run([*words, "--resume"], broken).returncode == 0
    assert outputs(broken) == outputs(whole)


@pytest.mark.parametrize("length", [0, 20])
def test_a_run_that_was_killed_before_its_first_mark_begins_again(interrupted, folder, tmp_path, length):
    words, _ = interrupted
    journal = tmp_path / "x.tsv.journal"
    journal.write_bytes(journal.read_bytes()[:length])
    done = run([*words, "--resume"], tmp_path)
    assert done.returncode == 0
    assert "x.tsv: none of the earlier output is known to have reached the disk; starting from scratch" in done.stderr
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
    assert f"resume with: gpualign {' '.join(words)} --resume\n" in done.stderr
    assert run([*words, "--resume"], tmp_path).returncode == 0
    assert list(outputs(tmp_path)) == ["x.ids.txt", "x.npy"]


def test_a_file_system_without_locks(interrupted, tmp_path):
    words, _ = interrupted
    nolocks = "import fcntl\ndef flock(*_): raise OSError(38, 'Function not implemented')\nfcntl.flock = flock;"
    done = patched(nolocks, [*words, "--resume"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_a_run_whose_input_has_gone_ends_without_a_journal(folder, tmp_path):
    (tmp_path / "core.aln").write_bytes((folder / "core.aln").read_bytes())
    gone = "import os, gpualign.jobs.dist as j; prepare = j.prepare; j.prepare = lambda *a: (os.unlink('core.aln'), prepare(*a))[1];"
    done = patched(gone, small(RUNS["dist near"]), tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_with_nothing_to_go_on_with_it_begins(folder, tmp_path):
    link(folder, tmp_path)
    done = run(["nw", "short.fa", "-o", "x.tsv", "--resume"], tmp_path)
    assert done.returncode == 0
    assert "x.tsv: nothing to resume; starting from scratch" in done.stderr
    assert list(outputs(tmp_path)) == ["x.tsv"]


def test_a_full_disk_leaves_what_is_done(folder, tmp_path):
    """A limit on the size of files stands for the disk."""
    link(folder, tmp_path)
    words = small(RUNS["rows"])
    limited = ["bash", "-c", 'ulimit -f 900; trap "" XFSZ; exec "$@"', "bash", *command(*words)]
    done = subprocess.run(limited, capture_output=True, text=True, cwd=tmp_path, timeout=LIMIT)
    assert done.returncode == 1
    assert "cannot write x.tsv: File too large; " in done.stderr
    assert "resume with: gpualign nw genes.fa" in done.stderr
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
complete = r.CheckpointedOutput.complete
def completed(self, files):
    complete(self, files)
    os.replace, pathlib.Path.unlink = before(os.replace), before(pathlib.Path.unlink)
r.CheckpointedOutput.complete = before(completed)
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
    assert run_as_users(words, whole).returncode == 0
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
        said.append(" is complete: the previous run stopped during its final renames, which are done now\n" in messages)
    # Each file that is to be seen, what it was made of, and the journal, behind its last line.
    made = {"dist npy": 3, "npz": 2, "share of csr": 4}[name]
    assert said == [False, *[True] * (made + 1)]


APPENDED = {
    "rows": ["nw", "short.fa", "-o", "x.tsv", "--shard", "1/2"],
    "npy": ["nw", "short.fa", "-o", "x.npy", "--shard", "1/2"],
    "dist npz": ["dist", "some.aln", "--compared", "-o", "x.npz", "--shard", "2/2"],
}


@pytest.mark.parametrize("name", APPENDED)
def test_a_share_killed_while_its_description_is_appended_ends_with_the_same_bytes(small_folder, tmp_path, monkeypatch, name):
    words = [*APPENDED[name], "--device", "cpu"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for where in (whole, broken):
        where.mkdir()
        link(small_folder, where)
    assert run(words, whole).returncode == 0
    dies = "import os, zipfile; zipfile.ZipFile.close = lambda self: (self.fp.flush(), os._exit(9));"
    assert patched(dies, words, broken).returncode == 9
    (part,) = outputs(whole)
    grown, complete = ((where / name).stat().st_size for where, name in ((broken, f"{part}.part"), (whole, part)))
    assert zipfile.is_zipfile(whole / part)
    with zipfile.ZipFile(whole / part) as archive:
        assert json.loads(archive.read("part.json"))["body"][1] < grown < complete
    monkeypatch.chdir(broken)
    assert "only the final step remains" in gpualign_here(*words, "--resume")[1]
    assert outputs(broken) == outputs(whole)


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
    assert run_as_users(words, whole).returncode == 0
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
