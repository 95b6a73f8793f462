"""What the sources say of each other is so: files that comments name exist, and both sides of a boundary count alike."""

import re
import subprocess
from graphlib import TopologicalSorter

import pytest
from places import ROOT

from gpualign.core.alignment.tile_results import STATISTICS
from gpualign.core.results import _rows
from gpualign.gpu.kernels.argument_structs import STRUCTS_BY_CUDA_NAME

FOLDERS = ("cli", "papers", "jobs", "core", "cpu", "cuda_src", "gpu", "api", "tests", "benchmarks")
SOURCES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*") if p.suffix in {".py", ".cpp", ".hpp", ".cu", ".cuh"})
NAMED = re.compile(r"(?<![\w./*{}-])(?:\.\./)*([\w/-]*\w\.(?:py|cpp|hpp|cuh|cu|md))\b(?![(\w])")


@pytest.fixture(scope="session")
def paths_and_their_ends():
    """Of every file of text under the root: "core/files/paths.py", "files/paths.py" and "paths.py"."""
    files = [p.relative_to(ROOT).parts for p in ROOT.rglob("*") if p.suffix in {".py", ".cpp", ".hpp", ".cu", ".cuh", ".md"}]
    return {"/".join(parts[start:]) for parts in files for start in range(len(parts))}


@pytest.mark.skipif((ROOT / "PKG-INFO").exists(), reason="a source distribution leaves out results that comments name")
@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_named_in_comments_exist(path, paths_and_their_ends):
    comments = "\n".join(re.findall(r'(?m)(?://|#).*$|"""[\s\S]*?"""', path.read_text()))
    missing = [name for name in NAMED.findall(comments) if name not in paths_and_their_ends]
    assert missing == []


def test_every_argument_struct_of_a_kernel_is_compared_with_the_hosts():
    text = "".join(p.read_text() for p in (ROOT / "cuda_src").rglob("*.cu*") if p.suffix in {".cu", ".cuh"})
    assert sorted(re.findall(r"^struct (\w+Args) \{", text, re.MULTILINE)) == sorted(
        name for name in STRUCTS_BY_CUDA_NAME if name.endswith("Args")
    )
    compared = re.findall(r"^SAME_AS_ON_HOST\((\w+)\);", text, re.MULTILINE)
    assert len(compared) == len(set(compared))
    assert set(compared) <= set(STRUCTS_BY_CUDA_NAME)
    assert {name for name in STRUCTS_BY_CUDA_NAME if name.endswith("Args")} <= set(compared)


def test_a_struct_of_another_size_does_not_compile(tmp_path):
    from host_device import INCLUDE_FOLDERS, compiler

    if compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    source = tmp_path / "x.cpp"
    source.write_text('#include "portable.cuh"\nstruct XArgs { int a, b; };\nSAME_AS_ON_HOST(XArgs);\n')
    folders = [f"-I{folder}" for folder in INCLUDE_FOLDERS]

    def compiles(size):
        command = [compiler(), "-std=c++17", "-fsyntax-only", *folders, f"-DSIZE_OF_XArgs={size}", str(source)]
        return subprocess.run(command, capture_output=True).returncode == 0

    assert compiles(8)
    assert not compiles(12)


def test_what_calls_itself_pure_is_held_to_it():
    """import-linter checks what the contract names; here that the contract names every module whose docstring says so."""
    config = (ROOT / "pyproject.toml").read_text()
    contract = re.search(r'name = "planning is pure"\n.*?source_modules = \[(.*?)\]', config, re.DOTALL)
    named = set(re.findall(r'"gpualign\.([\w.]+)"', contract[1]))
    says = set()
    for folder in ("core", "cpu", "gpu", "jobs", "cli"):
        for path in (ROOT / folder).rglob("*.py"):
            docstring = re.match(r'"""(.*?)"""', path.read_text(), re.DOTALL)
            if docstring and re.search(r"(?<!\w)Pure[.:]", docstring[1]):
                says.add(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert {name for name in says if not any(name == one or name.startswith(one + ".") for one in named)} == set()


def test_statistics_are_counted_alike_in_every_language():
    assert len(STATISTICS) == _rows.STATISTICS_NUMBERS


def test_no_module_imports_itself_by_way_of_others():
    """Not even inside functions, or for types alone."""
    grimp = pytest.importorskip("grimp", reason="needs import-linter, which brings it")
    graph = grimp.build_graph("gpualign")
    modules = graph.modules - {"gpualign"}  # its page of names imports lazily what imports it
    imports = {module: graph.find_modules_directly_imported_by(module) & modules for module in modules}
    TopologicalSorter(imports).prepare()  # raises CycleError, with the cycle


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "tests/README.md"])
def test_files_that_guides_name_exist(page):
    folders = "|".join(FOLDERS)
    named = set(re.findall(rf"`((?:{folders})/[\w./]*)`", (ROOT / page).read_text()))
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_headers_are_included_from_the_same_room_of_the_core_or_one_below():
    """As import-linter has it for Python."""
    contract = re.search(r'name = "rooms of the core".*?layers = \[(.*?)\]', (ROOT / "pyproject.toml").read_text(), re.DOTALL)
    level = {room: -number for number, rooms in enumerate(re.findall(r'"(.*?)"', contract[1])) for room in rooms.split(" | ")}
    climbing = [
        f"{path.relative_to(ROOT)}: {included}"
        for path in sorted((ROOT / "core").rglob("*.[ch]pp"))
        for included in re.findall(r'#include "core/(\w+)/', path.read_text())
        if level[included] >= level[path.relative_to(ROOT).parts[1]]
    ]
    assert climbing == []
