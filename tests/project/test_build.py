"""What a build brings, and what it says to a user whose machine lacks something."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from gpualign.cpu.alignment import _kernels


def test_without_a_compiler_packages_are_named(tmp_path):
    cmake = pytest.importorskip("cmake", reason="the package cmake of the extra `test`")
    command = [Path(cmake.CMAKE_BIN_DIR) / "cmake", "-S", ROOT, "-B", tmp_path / "build"]
    done = subprocess.run(command, env={**os.environ, "CXX": str(tmp_path / "no-compiler")}, capture_output=True, text=True)
    assert done.returncode == 1
    said = " ".join(done.stderr.split())
    assert f"no C++ compiler that works (tried: {tmp_path / 'no-compiler'})" in said
    assert all(advice in said for advice in ("apt install g++", "xcode-select --install", "cxx-compiler"))
    assert "CMAKE_CXX_COMPILER" not in said


def configured(folder, *options):
    """What CMake says as it configures a build in a folder."""
    cmake = pytest.importorskip("cmake", reason="the package cmake of the extra `test`")
    pytest.importorskip("nanobind", reason="what only builds without isolation install")
    command = [Path(cmake.CMAKE_BIN_DIR) / "cmake", "-S", ROOT, "-B", folder, f"-DPython_EXECUTABLE={sys.executable}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_what_is_being_built_is_said(tmp_path):
    (said,) = (line for line in configured(tmp_path).splitlines() if line.startswith("-- gpualign: "))
    modules = re.findall(r"^nanobind_add_module\(", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert f"compiling {len(modules)} extensions" in said
    assert all(name in said for name, *_ in _kernels.instruction_sets())
    assert "processor time" in said


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("sanitizers", ["", "address,undefined", "thread"])
def test_one_option_puts_every_source_under_sanitizers(tmp_path, sanitizers):
    configured(tmp_path, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_BUILD_TYPE=Release", f"-DGPUALIGN_SANITIZE={sanitizers}")
    commands = [entry["command"].split() for entry in json.loads((tmp_path / "compile_commands.json").read_text())]
    assert any(command[-1].endswith("variant.cpp") for command in commands)
    found = {tuple(flag for flag in command if "-fsanitize" in flag) for command in commands}
    assert found == ({(f"-fsanitize={sanitizers}",)} if sanitizers else {()})


@pytest.fixture
def installed():
    """Files of the installation that a wheel made."""
    try:
        files = importlib.metadata.files("gpualign")
    except importlib.metadata.PackageNotFoundError:
        files = None
    if files is None:
        pytest.skip("gpualign is not installed here, but found by its folders")
    return files


def test_an_installation_has_man_pages_and_completion_and_no_sources(installed):
    pytest.importorskip("click_man", reason="needs click-man, which makes man pages")
    import shared_files

    shared = {file.as_posix().partition("share/")[2] for file in installed if "/share/" in file.as_posix()}
    assert set(shared_files.contents()) <= shared
    assert [str(file) for file in installed if file.suffix in {".cpp", ".hpp", ".md", ".toml"} or file.name.startswith("test")] == []


def test_from_3_12_on_an_installation_is_of_the_stable_abi(installed):
    modules = [file.name for file in installed if file.suffix == ".so"]
    assert modules
    assert {name.endswith(".abi3.so") for name in modules} == {sys.version_info >= (3, 12)}


def test_every_extension_is_built_for_the_stable_abi():
    # Whatever Python runs the tests: one module without it makes the wheel for 3.12 and newer useless on 3.13.
    modules = re.findall(r"^nanobind_add_module\(([^)]*)\)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert len(modules) > 5
    assert [name.split()[0] for name in modules if "STABLE_ABI" not in name.split()] == []


def extras():
    """Requirements of each extra, as pyproject.toml lists them."""
    (table,) = re.findall(r"^\[project\.optional-dependencies\]$(.*?)^\[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    return {
        name: re.findall(r'"([^"]+)"', listed)
        for name, listed in re.findall(r"^([\w-]+) = \[(.*?)\](?:  #[^\n]*)?$", table, re.MULTILINE | re.DOTALL)
    }


def test_most_is_every_extra_of_one_machine_without_a_gpu():
    found = extras()
    (most,) = found.pop("most")
    special = {name for name in found if name.startswith(("cuda", "bench"))} | {"cluster", "docs", "test"}
    assert set(most.removeprefix("gpualign[").removesuffix("]").split(",")) == found.keys() - special


def test_an_extra_that_users_are_told_to_install_exists():
    found = extras()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "packaging").rglob("*")]
    sources = [path for folder in ("cli", "core", "gpu", "jobs", "papers") for path in (ROOT / folder).rglob("*.py")]
    named = set()
    for path in [*pages, *sources]:
        if path.is_file():
            for names in re.findall(r"(?:gpualign|/src|pip install '\.)\[([a-z\d,-]+)\]", path.read_text()):
                named |= set(names.split(","))
    assert {"most", "test", "arrow"} <= named <= found.keys()
    table = (ROOT / "README.md").read_text().partition("| extra | for |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == found.keys() - {"docs", "test"} - {
        name for name in found if name.startswith(("cuda", "bench"))
    }
