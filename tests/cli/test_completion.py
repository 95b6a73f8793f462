"""Tab completion: what the executable answers, and what an interactive bash makes of it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import GPUALIGN, LIMIT, gpualign

from gpualign.core.results.columns import FIELDS
from gpualign.core.scoring import biopython_matrices as collection

pytestmark = pytest.mark.slow


def answer(*words, cwd=None, shell="bash"):
    """What the executable tells a shell about the last of the words behind `gpualign`: (type, value) of each line."""
    env = {"_GPUALIGN_COMPLETE": f"{shell}_complete", "COMP_WORDS": "\n".join(["gpualign", *words]), "COMP_CWORD": str(len(words))}
    done = gpualign(cwd=cwd, env=env)
    assert done.stderr == b""
    return [tuple(line.split(",", 1)) for line in done.stdout.decode().splitlines() if line]


@pytest.mark.parametrize(
    "words",
    [
        ["nw", ""],
        ["nw", "a"],
        ["nw", "a.fa", "b"],
        ["nw", "-o", "x"],
        ["nw", "a.fa", "--output", "x"],
        ["nw", "--output", "=", "x"],
        ["nw", "--matrix", "my.m"],
        ["sw", "q"],
        ["sw", "q.fa", "d"],
        ["dist", "s"],
        ["dist", "--metric", "ibs", "--plot", "x"],
        ["cluster", "s"],
        ["cluster", "--edges", "n"],
        ["cluster", "s.fa", "--uc", "o"],
        ["index", "d"],
        ["index", "d.fa", "-o", "d"],
        ["plot", "m"],
        ["plot", "m.npy", "-o", "p"],
    ],
    ids=" ".join,
)
def test_paths_are_left_to_the_shell(words):
    assert answer(*words) == [("file", words[-1])]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["nw", "--device", ""], ["auto", "cpu", "cuda", "cuda:0", "cuda:all", "all"]),
        (["nw", "--device", "cpu,"], ["cpu,cuda", "cpu,cuda:0", "cpu,cuda:all"]),
        (["nw", "--device", "cpu,cuda", ":", "a"], ["all"]),
        (["nw", "--device", "cuda", ":", "0,"], ["0,cpu"]),
        (["dist", "--device", "c"], ["cpu", "cuda", "cuda:0", "cuda:all"]),
        (["sw", "--device", "cuda", ":"], ["0", "all"]),
        (["bench", "all", "--device", "cuda", ":", "a"], ["all"]),
        (["nw", "--device", "=", "a"], ["auto", "all"]),
        (["nw", "--device", "=", "cuda", ":", "a"], ["all"]),
        (["nw", "--format", "p"], ["parquet", "paf", "phylip"]),
        (["dist", "--metric", "="], ["hamming", "fraction", "ibs", "allele", "jc69", "tn93", "king", "grm"]),
        (["nw", "--fields", "ci"], ["cigar", "cigar_m"]),
        (["nw", "--fields", "query,target,ta"], ["query,target,taln"]),
        (["nw", "--fields", "query,q"], ["query,qlen", "query,qstart", "query,qend", "query,qcov", "query,qaln", "query,qtitle"]),
        (["nw", "--fields", "bi"], []),
        (["sw", "--fields", "=", "query,bi"], ["query,bits"]),
        (["nw", "--matrix", "PAM"], ["PAM250", "PAM30", "PAM70"]),
        (["nw", "a.fa", "b.fa", "c"], []),
        (["pl"], ["plot"]),
        (["nw", "--end"], ["--end-gaps"]),
    ],
    ids=str,
)
def test_values(words, values, tmp_path):
    assert answer(*words, cwd=tmp_path) == [("plain", value) for value in values]


def test_a_folder():
    assert answer("bench", "all", "-o", "re") == [("dir", "re")]


def test_files_beside_names_of_matrices(tmp_path):
    for name in ("PAM7.mat", "x.mat", ".PAM"):
        (tmp_path / name).touch()
    (tmp_path / "PAMS").mkdir()
    assert [value for _, value in answer("nw", "--matrix", "PAM", cwd=tmp_path)] == ["PAM250", "PAM30", "PAM70", "PAM7.mat"]


def test_every_column_and_matrix_is_offered(tmp_path):
    offered = {name: [value for _, value in answer(name, "--fields", "")] for name in ("nw", "sw")}
    assert sorted(offered["sw"]) == sorted(FIELDS)
    assert sorted(offered["nw"]) == sorted(name for name, field in FIELDS.items() if not field.hits_only)
    assert [value for _, value in answer("nw", "--matrix", "", cwd=tmp_path)] == collection.matrix_names()


@pytest.mark.parametrize("words", ["nw a", "sw --matrix P", "nw --fields q", "dist --device c"])
def test_no_large_library_is_loaded(words):
    env = {"_GPUALIGN_COMPLETE": "bash_complete", "COMP_WORDS": f"gpualign {words}", "COMP_CWORD": str(len(words.split()))}
    command = [sys.executable, "-X", "importtime", "-m", "gpualign"]
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True)
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert done.stdout
    assert "click" in loaded
    assert not loaded & {"numpy", "Bio", "pycuda", "tqdm", "matplotlib"}


def bash_completes():
    """Whether there is a bash for which click writes scripts, from 4.4 on."""
    bash = shutil.which("bash")
    version = "echo $((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))"
    return bash is not None and Path(GPUALIGN).exists() and int(subprocess.check_output([bash, "-c", version])) >= 404


@pytest.fixture
def terminal(tmp_path):
    """An interactive bash that has taken up completion as --help says: returns what a line with presses of Tab becomes."""
    if not bash_completes():
        pytest.skip("needs bash 4.4 and the installed executable")
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        env = {**os.environ, "PATH": f"{Path(GPUALIGN).parent}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "$ ", "INPUTRC": "/dev/null"}
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)

    def until(mark):
        text, deadline = "", time.monotonic() + LIMIT
        while mark not in text:
            assert time.monotonic() < deadline, text
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536).decode()
        return text

    def complete(line):
        # Ctrl-A and a command in front: the completed line is printed instead of being run.
        os.write(master, f"{line}\x01printf '[%s]' \x05 END\n".encode())
        return until("[END]")

    os.write(master, b'eval "$(_GPUALIGN_COMPLETE=bash_source gpualign)"; echo rea""dy\n')
    until("ready")
    yield complete
    os.write(master, b"exit\n")
    os.waitpid(pid, 0)
    os.close(master)


def test_an_interactive_bash(terminal, tmp_path):
    for name in ("alpha.fa", "beta gamma.fa", "my.mat"):
        (tmp_path / name).touch()
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "deep" / "down" / "here.fa").touch()
    for typed, words in [
        ("gpualign nw al\t", ["nw", "alpha.fa"]),
        ("gpualign nw be\t al\t", ["nw", "beta gamma.fa", "alpha.fa"]),
        ("gpualign nw deep/down/h\t", ["nw", "deep/down/here.fa"]),
        ("gpualign sw -o al\t --matrix my\t", ["sw", "-o", "alpha.fa", "--matrix", "my.mat"]),
        ("gpualign sw --matrix BLOSUM6\t", ["sw", "--matrix", "BLOSUM62"]),
        ("gpualign nw --device cuda:al\t", ["nw", "--device", "cuda:all"]),
        ("gpualign nw --device=cuda:a\t", ["nw", "--device=cuda:all"]),
        ("gpualign nw --device=cp\t", ["nw", "--device=cpu"]),
        ("gpualign nw --fields query,sc\t", ["nw", "--fields", "query,score"]),
        ("gpualign dist --met\tib\t", ["dist", "--metric", "ibs"]),
    ]:
        assert "".join(f"[{word}]" for word in ["gpualign", *words, "END"]) in terminal(typed)
