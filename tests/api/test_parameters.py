"""ConsoleReporter name parameters; each face spells them in its own way."""

import ast
import pickle
import re
import sys
import warnings

import numpy as np
import pytest
from places import ROOT

import gpualign
from gpualign._execution_options import LOG
from gpualign.cli.terminal.reporter import ConsoleReporter
from gpualign.core.common import memory
from gpualign.core.common.cgroups import GroupLimits
from gpualign.core.common.errors import InputError, InputWarning, RunError, TooLittleMemory, command_line_message, parameter, python_message
from gpualign.jobs.output import atomic_files

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OF_OTHER_PROGRAMS = {
    *("--make-bed", "--recode", "--file", "--tfile", "--out"),  # plink
    *("--cluster_fast", "--cluster_size", "--iddef", "--blast6out", "--xsize", "--sizeout"),  # vsearch
    *("--version", "--list-gpu-code", "--gpu-architecture", "--std"),  # nvcc
    *("--gpus", "--nv", "--no-cache-dir", "--global-option", "--conf"),  # docker, apptainer, pip
}
TEXT = f"either {parameter('no_header')} or {parameter('type', 'alleles')}, {parameter('ploidy', 4)}; a=b"


def test_each_face_spells_parameters():
    assert command_line_message(TEXT) == "either --no-header or --type alleles, --ploidy 4; a=b"
    assert python_message(TEXT) == "either no_header or type='alleles', ploidy=4; a=b"
    error = InputError(TEXT)
    assert str(error) == python_message(TEXT)
    assert command_line_message(error.message) == command_line_message(TEXT)


def test_notes_on_the_command_line(capsys):
    messages = ConsoleReporter.from_options("dist", False)
    messages.warn(TEXT)
    messages.note(TEXT)
    assert capsys.readouterr().err.splitlines() == [f"gpualign dist: {command_line_message(TEXT)}"] * 2


def test_warnings_in_python_name_the_line_that_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LOG.warn(TEXT)
    (one,) = caught
    assert (str(one.message), one.category, one.filename) == (python_message(TEXT), InputWarning, __file__)
    assert gpualign.InputWarning is InputWarning


def test_notes_go_to_the_logger_of_python(caplog):
    with caplog.at_level("DEBUG", "gpualign"):
        LOG.note(TEXT)
        LOG.detail(TEXT)
    assert [record.message for record in caplog.records] == [python_message(TEXT)] * 2


def test_the_error_boundary_spells_options(monkeypatch, capsys):
    from gpualign.cli import main

    def fail(**_):
        raise InputError(TEXT)

    monkeypatch.setattr(main.cli, "main", fail)
    monkeypatch.setattr(main.signals, "resume_hint_suffix", str)  # which interrupted runs of other tests have left
    assert main.run() == 2
    assert capsys.readouterr().err == f"gpualign: error: {command_line_message(TEXT)}\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("can't start new thread"), "cannot start a thread: "),
        (MemoryError(), "out of memory; "),
        (OSError(12, "Cannot allocate memory", "gpualign/jobs/output"), "out of memory; "),
        (ImportError("libx.so: failed to map segment from shared object"), "out of memory; "),
        (ImportError("libx.so: undefined symbol: y", name="scipy.x"), "a library cannot be loaded: libx.so: undefined symbol: y"),
    ],
)
def test_limits_of_the_system_are_no_bugs(monkeypatch, capsys, error, said):
    from gpualign.cli import main

    def fail(**_):
        raise error

    monkeypatch.setattr(main.cli, "main", fail)
    monkeypatch.setattr(main.signals, "resume_hint_suffix", str)
    monkeypatch.setitem(sys.modules, "gpualign.jobs.output.atomic_files", None if said.startswith("out of") else atomic_files)
    assert main.run() == 1
    assert capsys.readouterr().err.startswith(f"gpualign: error: {said}")


def test_the_limit_that_a_larger_budget_would_meet_is_named(monkeypatch):
    monkeypatch.setattr(memory, "physical_memory", lambda: 8 << 30)
    monkeypatch.setattr(memory, "own_limits", lambda: GroupLimits(None, 4 << 30, 2 << 30))
    assert str(TooLittleMemory("it is small", 1 << 30)) == "it is small; raise memory"
    error = pickle.loads(pickle.dumps(TooLittleMemory("it is small", 2 << 30, f"raise {parameter('memory')} or pray")))  # from a worker
    said = "it is small; raise --memory or pray; this process may have 4.0 GiB (its control group's limit)"
    assert (isinstance(error, RunError), command_line_message(error.message)) == (True, said)
    monkeypatch.setattr(memory, "own_limits", GroupLimits)
    assert str(error) == "it is small; raise memory or pray"


@pytest.mark.parametrize("text", ["plain", "a=b", "--option", "x='y'"])
def test_other_text_stays(text):
    assert command_line_message(text) == python_message(text) == text


@pytest.mark.parametrize("folder", ["core", "cpu", "gpu", "jobs"])
def test_text_below_the_command_line_names_no_option_of_it(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                options = set(OPTION.findall(node.value)) - OF_OTHER_PROGRAMS
                found += [f"{path}:{node.lineno}: {option}" for option in sorted(options)]
    assert found == []


@pytest.mark.parametrize("tenths", range(1, 10))
def test_a_pair_at_a_threshold_passes_it_after_arithmetic_and_in_any_type(tenths):
    """1 - 0.9 is a little less than 0.1, and float32(0.3) a little more than 0.3."""
    pair, scoring = ["A" * 10, "A" * tenths + "C" * (10 - tenths)], gpualign.Scoring(match=1, mismatch=0, gap=50)
    identity, distance = tenths / 10, (10 - tenths) / 10
    for most in (1 - identity, np.float32(distance), np.float16(distance), np.float64(1) - identity):
        assert len(gpualign.pairs(pair, scoring=scoring, max_distance=most)) == 1
        assert len(gpualign.cluster(pair, scoring=scoring, max_distance=most)) == 1
    for least in (1 - distance, np.float32(identity), np.float16(identity), sum([0.1] * tenths)):
        assert len(gpualign.pairs(pair, scoring=scoring, min_identity=least)) == 1
    for missed in (1 - identity - 1e-9, distance - 1e-9):
        assert len(gpualign.pairs(pair, scoring=scoring, max_distance=missed)) == 0
