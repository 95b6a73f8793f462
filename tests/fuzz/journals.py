"""What interrupted runs have left, with damage in it: a run that goes on refuses it and leaves every file as it was, or ends with the bytes
of a run that was never interrupted.

    python tests/fuzz/journals.py SEED FIRST COUNT
runs so many cases of this family in forks of one process, some fifty a second, and prints a line a finding.
"""

import functools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if __name__ == "__main__":
    _TESTS = Path(__file__).resolve().parent.parent
    sys.path[:1] = [str(_TESTS), str(_TESTS / "helpers")]

from command import LIMIT
from eager import command

from fuzz.case import Case
from fuzz.verdict import Outcome, judge

_GENES, _LETTERS = 70, 150
_NW, _DIST = ["nw", "in.fa"], ["dist", "in.fa"]
RUNS = {
    "rows": ([*_NW, "--fields", "query,target,score,cigar"], "x.tsv"),
    "gzip": ([*_NW, "--fields", "query,target,score,identity,cigar"], "x.tsv.gz"),
    "npy": ([*_NW, "--value", "identity"], "x.npy"),
    "condensed": ([*_NW, "--condensed"], "x.npy"),
    "matrix": ([*_NW, "--format", "matrix"], "x.txt"),
    "csr": ([*_NW, "--format", "csr", "--min-identity", "0.8"], "x.npz"),
    "near": ([*_NW, "--edit", "--max-distance", "40"], "x.tsv"),
    "share": ([*_NW, "--shard", "1/2"], "x.npy"),
    "share of rows": ([*_NW, "--shard", "2/2"], "x.tsv"),
    "search": (["sw", "in.fa"], "x.m8"),
    "dist": (_DIST, "x.tsv"),
    "dist npy": ([*_DIST, "--compared"], "x.npy"),
    "dist csr": ([*_DIST, "--max-distance", "30", "--format", "csr"], "x.npz"),
}


@functools.cache
def _input():
    rng = random.Random(5)
    ancestor = rng.choices("ACGT", k=_LETTERS)
    rows = ("".join(rng.choice("ACGT") if rng.random() < 0.1 else letter for letter in ancestor) for _ in range(_GENES))
    return "".join(f">s{k}\n{row}\n" for k, row in enumerate(rows)).encode()


def _words(name):
    words, output = RUNS[name]
    return [*words, "-o", output, "--memory", "200M", "--threads", "1", "--device", "cpu"]


@functools.cache
def left_by(name, marks):
    """Files by name: of a run that was killed at this mark, or of all of it (None)."""
    with tempfile.TemporaryDirectory(prefix="gpualign-fuzz-") as folder:
        (Path(folder) / "in.fa").write_bytes(_input())
        kill = {} if marks is None else {"EAGER_KILL": f"{marks} 0 9"}
        done = subprocess.run(command(*_words(name)), cwd=folder, env={**os.environ, **kill}, capture_output=True, timeout=LIMIT)
        assert done.returncode == (0 if marks is None else -9), done.stderr
        return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != "in.fa"}


def _marks(rng):
    return rng.choice([2, 3, 4])


def _flip(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _digit(rng, data):
    places = [match.start() for match in re.finditer(rb"\d", data)]
    if not places:
        return _flip(rng, data)
    at = rng.choice(places)
    return data[:at] + str(rng.randrange(10)).encode() + data[at + 1 :]


def _cut(rng, data):
    return data[: rng.randrange(len(data))]


def _zeros(rng, data):
    at = rng.randrange(len(data))
    return data[:at] + bytes(min(len(data) - at, rng.choice([1, 16, 512, 4096]))) + data[at + 512 :][: len(data)]


def _inserted(rng, data):
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice([1, 8, 100])) + data[at:]


def _longer(rng, data):
    return data + rng.choice([rng.randbytes(rng.randrange(1, 5000)), data[: rng.randrange(1, len(data) + 1)]])


def _lines(change):
    def changed(rng, data):
        lines = data.splitlines(keepends=True)
        if not lines:
            return data + b"\n"
        change(rng, lines)
        return b"".join(lines)

    return changed


def _double(rng, lines):
    at = rng.randrange(len(lines))
    lines.insert(at, lines[at])


def _swap(rng, lines):
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _delete(rng, lines):
    del lines[rng.randrange(len(lines))]


def _forge(rng, lines):
    """A last line: all is complete, and the parts have but to take their names."""
    from gpualign.core.files.journal import FinishedFile, chain_checks, completion_line

    parts = [("x.tsv.part", "x.tsv"), ("x.npy.part", "x.npy"), ("x.tsv.part", "in.fa"), ("in.fa", "x.tsv"), ("x.npz.part", None)]
    part, final = rng.choice(parts)
    check = re.search(rb'"check": "([0-9a-f]*)"\}\n$', lines[-1])
    forged = completion_line([FinishedFile(part, final, rng.randrange(9000), time.time_ns())])
    lines.append(chain_checks(forged, check[1].decode() if check else "")[0] if rng.random() < 0.7 else forged)


ANY = (_flip, _digit, _cut, _zeros, _inserted, _longer)
OF_JOURNALS = (*ANY, *map(_lines, (_double, _swap, _delete, _forge)))


def make(rng):
    """A case, the same for the same state of `rng`."""
    name = rng.choice(list(RUNS))
    marks = _marks(rng)
    left = dict(left_by(name, marks))
    journal = next(one for one in left if one.endswith(".journal"))
    how = rng.random()
    good = how < 0.02
    if good:
        pass
    elif how < 0.1:  # a journal of another moment
        left[journal] = left_by(name, _marks(rng))[journal]
    elif how < 0.13:  # or of another run
        left[journal] = next(data for one, data in left_by(rng.choice(list(RUNS)), marks).items() if one.endswith(".journal"))
    elif how < 0.16:
        del left[rng.choice(list(left))]
    else:
        file = journal if rng.random() < 0.5 else rng.choice([one for one in left if one != journal])
        for _ in range(rng.choice([1, 1, 1, 2])):
            if left[file]:
                left[file] = rng.choice(OF_JOURNALS if file == journal else ANY)(rng, left[file])
    words = [*_words(name), "--resume"]
    return Case("journals", words, {"in.fa": _input()}, good=good, left=left, whole=left_by(name, None))


def _forked(case):
    """The `Outcome` of a case in a fork of this process, which has no threads and has imported what a run needs."""
    from gpualign.cli.entry_point import main

    with tempfile.TemporaryDirectory(prefix="gpualign-fuzz-") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        for name, data in {**case.files, **case.left}.items():
            (work / name).write_bytes(data)
        start = time.monotonic()
        pid = os.fork()
        if not pid:
            code = 99
            try:
                os.chdir(work)
                for number, where in ((0, os.devnull), (1, "../stdout"), (2, "../stderr")):
                    os.dup2(os.open(where, os.O_RDWR | os.O_CREAT), number)
                sys.argv = ["gpualign", *case.words]
                main()
                code = 0
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status, usage = os.wait4(pid, 0)
        after = {path.name: path.read_bytes() for path in work.iterdir()}
        said = [(Path(folder) / name).read_bytes() for name in ("stdout", "stderr")]
        return Outcome(os.waitstatus_to_exitcode(status), *said, after, usage.ru_maxrss << 10, False, time.monotonic() - start)


def main(seed, first, count):
    """The command line."""
    import gpualign.cli.commands.dist
    import gpualign.cli.commands.nw
    import gpualign.cli.commands.sw
    import gpualign.jobs.output.checkpoint  # noqa: F401  so that no fork does

    codes, faults = {}, 0
    for number in range(first, first + count):
        case = make(random.Random(f"{seed}:{number}:journals"))
        outcome = _forked(case)
        codes[outcome.code] = codes.get(outcome.code, 0) + 1
        for kind, detail in judge(case, outcome).findings:
            faults += 1
            print(f"case {number}: {kind}\n    {case.command}\n    {detail}", flush=True)
    print(f"{count:,} damaged journals and parts, exit codes {codes}, {faults} findings")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
