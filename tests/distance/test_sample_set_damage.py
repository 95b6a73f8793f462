"""Sets of samples that are damaged, forged, or written by a process that is killed."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from command import gpualign, gpualign_here
from sample_sets import append, make, small_set

from gpualign.core.distance.sample_sets.sample_set import open_sample_set


def test_a_damaged_set_is_not_added_to_another(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    make(new, tmp_path / "new.gps")
    opened = open_sample_set(str(tmp_path / "new.gps"))
    data = bytearray((tmp_path / "new.gps").read_bytes())
    data[opened.commit.contents["segments"][0]["planes"]["start"]] ^= 1
    (tmp_path / "new.gps").write_bytes(data)
    before = store.read_bytes()
    for words in (["--append", store], ["-o", tmp_path / "copy.gps"]):
        done = gpualign("index", tmp_path / "new.gps", *words, check=False)
        assert (done.returncode, b"new.gps: the set is damaged" in done.stderr) == (2, True), done.stderr
    assert store.read_bytes() == before
    assert not (tmp_path / "copy.gps").exists()


KILLED = """
import os, sys
from gpualign.core.files import growing_file
left = int(sys.argv[1])
class Dying:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *error): self.file.close()
    def __getattr__(self, name): return getattr(self.file, name)
    def write(self, data):
        global left
        left -= 1
        if left < 0:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            os.kill(os.getpid(), 9)
        return self.file.write(data)
def opening(path, mode):
    file = open(path, mode)
    return Dying(file) if "+" in mode else file
growing_file.open = opening
from gpualign.cli.entry_point import main
sys.argv = ["gpualign", "index", sys.argv[2], "--append", sys.argv[3], "-q"]
main()
"""


def test_a_killed_append_leaves_the_set_before_or_after(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    before = gpualign_here("dist", store, "-q")[0]
    done = tmp_path / "done.gps"
    shutil.copy(store, done)
    append(new, done)
    after = gpualign_here("dist", done, "-q")[0]
    states = []
    for left in range(40):
        trial = tmp_path / "trial.gps"
        shutil.copy(store, trial)
        ended = subprocess.run([sys.executable, "-c", KILLED, str(left), new, trial], capture_output=True)
        found = gpualign_here("dist", trial, "-q")[0]
        assert found in (before, after)
        states.append(found == after)
        if not ended.returncode:
            break
        assert ended.returncode == -9, ended.stderr
        if left % 5 == 0 and found == before:  # what a killed process left behind is overwritten
            append(new, trial)
            assert gpualign_here("dist", trial, "-q")[0] == after
    assert states[-1]
    assert not states[0]
    assert states == sorted(states)


@pytest.mark.parametrize("where", ["header", "middle", "end"])
def test_damaged_sets_are_refused(rng, tmp_path, where):
    store, new = small_set(tmp_path, rng)
    before = gpualign_here("dist", store, "-q")[0]
    append(new, store)
    data = store.read_bytes()
    cases = []
    if where == "end":
        cases = [data[:cut] for cut in (0, 7, 100, 4095, 4096, 8000, len(data) // 2, len(data) - 1)]
    else:
        places = [8, 512, 530, 1024, 1050] if where == "header" else rng.choice([k for k in range(4096, len(data)) if data[k]], 60).tolist()
        for place in places:
            changed = bytearray(data)
            changed[place] ^= 1 << int(rng.integers(0, 8))
            cases.append(bytes(changed))
    expected = gpualign_here("dist", store, "-q")[0]
    refused = 0
    for case in cases:
        (tmp_path / "bad.gps").write_bytes(case)
        done = gpualign("dist", tmp_path / "bad.gps", "-q", check=False)
        if done.returncode:
            assert (done.returncode, done.stdout, b"bad.gps" in done.stderr) == (2, b"", True)
            refused += 1
        else:  # in contents of an older commit, or in a record: as if the process that wrote it had been killed
            assert done.stdout == expected or (where == "header" and done.stdout == before)
    assert refused >= len(cases) // 5


def test_forged_contents_are_refused(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    append(new, store)
    from gpualign.core.distance.sample_sets.sample_set import FORMAT_VERSION
    from gpualign.core.files.growing_file import append_commit
    from gpualign.core.files.paths import SAMPLE_SET_MAGIC

    def forge(change):
        forged = tmp_path / "forged.gps"
        shutil.copy(store, forged)
        with append_commit(str(forged), SAMPLE_SET_MAGIC, FORMAT_VERSION, "a set") as (commit, writer):
            contents = json.loads(json.dumps(commit.contents))
            change(contents, writer)
            writer.commit(contents)
        return forged

    changes = [
        lambda c, w: c.update(kind="dosages"),
        lambda c, w: c.update(site_count=-1),
        lambda c, w: c.update(site_count=10**12),
        lambda c, w: c.update(first_count=10**6),
        lambda c, w: c.update(segments=[]),
        lambda c, w: c.update(segments=[c["segments"][0]] * 2),
        lambda c, w: c.update(dictionary=[0, 0, 1]),
        lambda c, w: c.update(dictionary=[300]),
        lambda c, w: c.update(withdrawn=w.add(np.array([99]))),
        lambda c, w: c.update(withdrawn=w.add(np.array([-1]))),
        lambda c, w: c.update(stored_sites=w.add(np.array([700], np.uint32))),
        lambda c, w: c.update(reference=w.add(np.zeros(3, np.uint8))),
        lambda c, w: c.update(reading={}),
        lambda c, w: c.update(cells={}),
        lambda c, w: c.update(cells={"letters": False, "cells": [[0, 1]]}),
        lambda c, w: c.update(cells={"letters": False, "cells": [[256, 1, 0]]}),
        lambda c, w: c.update(reading=c["reading"] | {"compared_letters": "AMINO_ACIDS"}),
        lambda c, w: c["segments"][0].update(ids=w.add(np.frombuffer(b'["a\\tb"]', np.uint8))),
        lambda c, w: c["segments"][0].update(runs=w.add(np.array([[5, 4]], np.uint32))),
        lambda c, w: c["segments"][0].update(run_ends=w.add(np.full(8, 10**6))),
        lambda c, w: c["segments"][0].update(later_site_count=3),
        lambda c, w: c["segments"][0]["planes"].update(start=4096 * 10**9),
        lambda c, w: c["segments"][0]["planes"].update(shape=[8, 3, 2**60]),
        lambda c, w: c["segments"][0]["planes"].update(shape=[0, 2**62, 2**62]),
        lambda c, w: c["segments"][0]["planes"].update(dtype="<f8"),
        lambda c, w: c["segments"][1].update(called=w.add(np.zeros(1, np.int64))),
    ]
    for number, change in enumerate(changes):
        done = gpualign("dist", forge(change), "-q", check=False)
        assert (done.returncode, b"forged.gps: the set is damaged" in done.stderr) == (2, True), (number, done.stderr)


def test_two_processes_do_not_append_at_once(rng, tmp_path):
    import fcntl

    store, new = small_set(tmp_path, rng)
    with open(store, "r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        done = gpualign("index", new, "--append", store, check=False)
    assert done.returncode == 1
    assert b"another process is writing to it" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_set_that_cannot_be_written(rng, tmp_path):
    store, new = small_set(tmp_path, rng)
    if os.geteuid() == 0:
        pytest.skip("root may write any file")
    store.chmod(0o400)
    done = gpualign("index", new, "--append", store, check=False)
    assert done.returncode == 1
    assert b"cannot write" in done.stderr
