"""Commands that the fork server of the tests runs end as those of the executable do."""

import sys

import pytest
from command import GPUALIGN, LIMIT, gpualign
from fork_server import ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks only where that is safe behind imports")

TWO = b">a\nACGT\n>b\nACGA\n"


@pytest.fixture(scope="module")
def server():
    with ForkServer(GPUALIGN) as one:
        yield one


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["--version"], None),
        (["nw", "-q", "-"], TWO),
        (["nw", "-q", "-"], b""),
        (["nw", "-q", "-"], None),
        (["nw", "-q", "-"], b">a\n" + b"ACGT" * 100_000 + b"\n>b\nA!\n"),  # more than a pipe holds, and not all of it is read
        (["nw", "there_is_none.fa"], None),
        (["dist", "--metric", "none"], None),
    ],
)
def test_as_the_executable(server, tmp_path, words, stdin):
    found = server.run(words, stdin, tmp_path, LIMIT)
    expected = gpualign(*words, stdin=stdin, check=False, cwd=tmp_path, env={"GPUALIGN_OF_THIS_TEST": "1"})
    assert (found.returncode, found.stdout, found.stderr) == (expected.returncode, expected.stdout, expected.stderr)


def test_commands_leave_each_other_nothing(server, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.fa").write_bytes(TWO.replace(b"a", name.encode()))
        done = server.run(["nw", "-q", "x.fa", "-o", "x.tsv"], None, tmp_path / name, LIMIT)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert (tmp_path / name / "x.tsv").read_bytes() == f"query\ttarget\tscore\n{name}\tb\t11\n".encode()


def test_other_variables_need_a_start_of_their_own(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUALIGN_INSTRUCTION_SET", "baseline")
    assert server.run(["--version"], None, tmp_path, LIMIT) is None
