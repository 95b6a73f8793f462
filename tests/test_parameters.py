"""Messages name parameters; each face spells them in its own way."""

import warnings

import pytest

import gpualign
from gpualign._running import LOG
from gpualign.cli.messages import Messages
from gpualign.core.common.errors import InputError, InputWarning, for_command_line, for_python, parameter

TEXT = f"either {parameter('no_header')} or {parameter('type', 'alleles')}, {parameter('ploidy', 4)}; a=b"


def test_each_face_spells_parameters():
    assert for_command_line(TEXT) == "either --no-header or --type alleles, --ploidy 4; a=b"
    assert for_python(TEXT) == "either no_header or type='alleles', ploidy=4; a=b"
    error = InputError(TEXT)
    assert str(error) == for_python(TEXT)
    assert for_command_line(error.message) == for_command_line(TEXT)


def test_notes_on_the_command_line(capsys):
    messages = Messages.of("dist", False)
    messages.warn(TEXT)
    messages.note(TEXT)
    assert capsys.readouterr().err.splitlines() == [f"gpualign dist: {for_command_line(TEXT)}"] * 2


def test_warnings_in_python_name_the_line_that_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LOG.warn(TEXT)
    (one,) = caught
    assert (str(one.message), one.category, one.filename) == (for_python(TEXT), InputWarning, __file__)
    assert gpualign.InputWarning is InputWarning


def test_notes_go_to_the_logger_of_python(caplog):
    with caplog.at_level("DEBUG", "gpualign"):
        LOG.note(TEXT)
        LOG.detail(TEXT)
    assert [record.message for record in caplog.records] == [for_python(TEXT)] * 2


def test_the_error_boundary_spells_options(monkeypatch, capsys):
    from gpualign.cli import main

    def fail(**_):
        raise InputError(TEXT)

    monkeypatch.setattr(main.cli, "main", fail)
    monkeypatch.setattr(main.signals, "advice", str)  # which interrupted runs of other tests have left
    assert main.run() == 2
    assert capsys.readouterr().err == f"gpualign: error: {for_command_line(TEXT)}\n"


@pytest.mark.parametrize("text", ["plain", "a=b", "--option", "x='y'"])
def test_other_text_stays(text):
    assert for_command_line(text) == for_python(text) == text
