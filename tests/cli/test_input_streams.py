"""Inputs as users name them: files one after the other, and standard input once."""

import io
from types import SimpleNamespace

import pytest

from gpualign.cli.inputs.input_streams import check_stdin, open_inputs
from gpualign.core.common.errors import InputError


def test_files_are_opened_in_turn_and_closed_when_the_next_is_asked_for(tmp_path, monkeypatch):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"piped")))
    seen = []
    for stream, name in open_inputs([str(tmp_path / "a"), "-", str(tmp_path / "b")]):
        assert all(earlier.closed for earlier, source in seen if source != "standard input")
        assert not stream.closed
        seen.append((stream, name))
        assert stream.read() == (b"piped" if name == "standard input" else name[-1:].encode())
    assert [name for _, name in seen] == [str(tmp_path / "a"), "standard input", str(tmp_path / "b")]
    assert [stream.closed for stream, _ in seen] == [True, False, True]


def test_a_later_file_is_not_missed_before_its_turn(tmp_path):
    (tmp_path / "a").write_text("a")
    opened = open_inputs([str(tmp_path / "a"), str(tmp_path / "gone")])
    next(opened)
    with pytest.raises(InputError, match="gone: no such file"):
        next(opened)


def test_standard_input_is_read_once():
    check_stdin("-", None, "x", "./-")
    with pytest.raises(InputError, match="only one input can be standard input"):
        check_stdin("x", "-", "-")
