"""What .ci/run leaves out where a change does not touch it, and which extensions are checked by sanitizers."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT

DAY = 86_400


@pytest.fixture
def sanitized():
    """The program .ci/sanitized as a module."""
    loader = importlib.machinery.SourceFileLoader("sanitized", str(ROOT / ".ci" / "sanitized"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module  # where `dataclass` looks
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    yield module
    del sys.modules[loader.name]


@pytest.fixture
def touched(tmp_path):
    """Of a repository with a commit of two days ago, one of last hour in lately/, and a file in now/: whether a change touches paths."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "touched", tmp_path / ".ci")

    def git(*arguments, age=0):
        date = f"{2_000_000_000 - age} +0000"
        variables = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x", *arguments], cwd=tmp_path, env={**os.environ, **variables}, check=True
        )

    git("init", "-q")
    for folder, age in (("before", 2 * DAY), ("lately", 3600), ("now", 0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(folder)
        if age:
            git("add", "-A")
            git("commit", "-q", "-m", folder, age=age)

    def ask(*paths, base=""):
        command = [tmp_path / ".ci" / "touched", *paths]
        return subprocess.run(command, env={**os.environ, "CI_BASE": base}, capture_output=True).returncode == 0

    return ask


def test_the_change_of_a_day_and_of_the_working_tree(touched):
    assert [touched(path) for path in ("before", "lately", "now")] == [False, True, True]
    assert touched("before", "now")


def test_the_change_since_a_commit(touched):
    assert [touched(path, base="HEAD") for path in ("before", "lately", "now")] == [False, False, True]


def test_everything_is_touched_where_the_base_is_not_known(touched):
    assert touched("before", base="0" * 40)


def test_run_names_its_arguments():
    done = subprocess.run([ROOT / ".ci" / "run", "--al"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: .ci/run [--all]\n")


def test_the_first_python_that_there_is_is_found():
    mine = "{}.{}".format(*sys.version_info)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([ROOT / ".ci" / "find_python", "2.0", mine], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    ask = "import sys; print('{}.{}'.format(*sys.version_info))"
    assert subprocess.run([done.stdout.strip(), "-c", ask], capture_output=True, text=True).stdout.strip() == mine
    none = subprocess.run([ROOT / ".ci" / "find_python", "2.0"], capture_output=True, text=True)
    assert (none.returncode, none.stdout) == (1, "")


def test_every_extension_has_a_check_under_sanitizers(sanitized):
    made = re.findall(r"^nanobind_add_module\((\w+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert sorted(made) == sorted([*sanitized.EXTENSIONS, "_distance", "_kernels", "_near"])  # these three: test_native.py


def test_sources_and_tests_of_sanitized_extensions_exist(sanitized):
    call = r"^(?:nanobind_add_module\((\w+) STABLE_ABI NB_STATIC|gpualign_plain_sources\((\w+))\s([^)]*)\)"
    added = [(one or other, files) for one, other, files in re.findall(call, (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)]
    assert {name for name, _ in added} >= {*sanitized.EXTENSIONS}
    for name, files in added:
        if name in sanitized.EXTENSIONS:
            matched = {path for pattern in sanitized.EXTENSIONS[name].sources for path in ROOT.glob(pattern)}
            assert all(ROOT / file in matched or (ROOT / file).parent in matched for file in files.split()), name
    for test in [*sanitized.LEFT_OUT, *(test for extension in sanitized.EXTENSIONS.values() for test in extension.tests)]:
        file, _, function = test.partition("::")
        assert f"def {function or 'test_'}" in (ROOT / file).read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="runtimes are loaded before Python on Linux alone")
def test_a_compiler_without_sanitizers_is_told_of(tmp_path):
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\necho "${1#-print-file-name=}"\n')  # what GCC says of a file that it does not have
    compiler.chmod(0o755)
    command = [sys.executable, ROOT / ".ci" / "sanitized", "thread"]
    done = subprocess.run(command, env={**os.environ, "CXX": str(compiler)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"skipped: {compiler} has no libtsan.so to be loaded before Python\n")


@pytest.mark.parametrize(("words", "code"), [([], 2), (["adress"], 2), (["thread", "_masking"], 1), (["address", "_kernels"], 1)])
def test_sanitized_names_what_it_does_not_know(words, code):
    done = subprocess.run([sys.executable, ROOT / ".ci" / "sanitized", *words], capture_output=True, text=True)
    assert done.returncode == code
    assert ("usage" if code == 2 else words[1]) in done.stderr


def test_clang_names_its_arguments():
    done = subprocess.run([sys.executable, ROOT / ".ci" / "clang", "--al"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "usage: clang [--touched]\n")
