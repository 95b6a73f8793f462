"""Inputs as users name them: files one after the other, and standard input once."""

import io
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import GPUALIGN, gpualign, shell

from gpualign.cli.inputs.file_lists import check_stdin
from gpualign.core.common.errors import InputError
from gpualign.core.files.paths import open_input
from gpualign.jobs import sequence_loading


def test_files_are_closed_and_standard_input_is_not(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("a")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"piped")))
    for path, name, content in ((str(tmp_path / "a"), str(tmp_path / "a"), b"a"), ("-", "standard input", b"piped")):
        with open_input(path) as (stream, source):
            assert (source, stream.read()) == (name, content)
        assert stream.closed == (path != "-")


def test_files_of_a_set_are_opened_in_turn(tmp_path, monkeypatch):
    """A later file is not missed before its turn, and no more than one is open."""
    opened = []

    @contextmanager
    def watched(path):
        opened.append(path)
        with open_input(path) as one:
            yield one
        opened.remove(path)

    monkeypatch.setattr(sequence_loading, "open_input", watched)
    for name in ("a", "b"):
        (tmp_path / name).write_text(f">{name}\nACGT\n")
    with pytest.raises(InputError, match="gone: no such file"):
        sequence_loading.read_inputs([[str(tmp_path / name) for name in ("a", "b", "gone")]], sequence_loading.ReadOptions())
    assert opened == [str(tmp_path / "gone")]


def test_standard_input_is_read_once():
    check_stdin("-", None, "x", "./-")
    with pytest.raises(InputError, match="only one input can be standard input"):
        check_stdin("x", "-", "-")


def test_standard_input_twice_under_two_names(tmp_path):
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n")
    for names in ("- /dev/stdin", "/dev/stdin /dev/stdin", "/dev/fd/0 -"):
        done = shell(f"cat x.fa | {GPUALIGN} nw -q {names}", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, b"gpualign: error: only one input can be standard input\n"), names


@pytest.mark.parametrize("words", ["nw -", "sw - x.fa", "dist -", "tree -", "tree --edges -", "nw @-", "index - -o x.gpa"])
def test_a_closed_standard_input_is_named(tmp_path, words):
    (tmp_path / "x.fa").write_text(">a\nACGT\n>b\nACGA\n")
    done = shell(f"{GPUALIGN} {words} <&-", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpualign: error: standard input: closed, or open only for writing;")


def test_a_name_cannot_break_a_message_or_command_the_terminal(tmp_path):
    done = gpualign("nw", "a\nb\x1b[31mc.fa", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (2, b"gpualign: error: a\\nb\\x1b[31mc.fa: no such file\n")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
@pytest.mark.parametrize("words", ["nw", "sw x.fa", "dist", "tree", "tree --edges", "cluster --edit --max-distance 1", "index -o x.gpa"])
def test_a_file_that_a_disk_fails_to_read_is_named(tmp_path, words):
    (tmp_path / "x.fa").write_text(">a\nACGT\n")
    done = gpualign(*words.split(), "/proc/self/mem", cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (1, b"gpualign: error: /proc/self/mem: cannot be read (Input/output error)\n")
