"""The documentation is true: the CLI reference is what --help prints, and commands print what pages show."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from command import GPUALIGN, gpualign
from examples import Python, blocks, examples, shows, timeless
from places import ROOT

import gpualign as gpualign_package
from gpualign.cli.main import cli
from gpualign.core.output.formats.registry import FORMATS, Layout, ResultKind, format_names
from gpualign.core.results.columns import FIELDS

SOURCE_DISTRIBUTION = (ROOT / "PKG-INFO").exists()
LEFT_OUT = re.compile(r"benchmarks/results/|\.svg$|^results/")  # of it: sdist.exclude in pyproject.toml
COMMANDS = [[], ["nw"], ["sw"], ["dist"], ["cluster"], ["tree"], ["plot"], ["bench"], ["index"], ["merge"], ["info"]]


def test_cli_reference(request):
    # Releases of click wrap and annotate differently: the extra `test` pins the one that the page is written with.
    page = (
        "# Command-line reference\n\n"
        "Every command with all of its options, as `gpualign COMMAND --help` prints them. To learn which command to use when, begin with\n"
        "[Which command do I need?](start.md#which-command-do-i-need) or [the guide](guide.md). Options that several commands share are"
        ' repeated\nat each: "Where and how it runs", "Long runs" and "Messages" are nearly the same everywhere.\n\n'
    )
    page += "".join(f"- [gpualign {name}](#gpualign-{name}): {cli.commands[name].get_short_help_str(80)}\n" for [name] in COMMANDS[1:])
    for command in COMMANDS:
        text = gpualign(*command, "--help", env={"COLUMNS": "110"}).stdout.decode()
        page += f"\n## {' '.join(['gpualign', *command])}\n\n```text\n{text}```\n"
    path = ROOT / "docs" / "cli.md"
    if request.config.getoption("--update-golden"):
        path.write_text(page)
    assert path.read_text() == page


def test_every_command_is_in_the_reference():
    listed = re.findall(r"^  (\w+) ", gpualign("--help").stdout.decode().split("Commands:")[1], re.MULTILINE)
    assert sorted(listed) == sorted(c[0] for c in COMMANDS if c)


def test_every_option_and_column_is_documented():
    texts = {name: gpualign(name, "--help").stdout.decode() for name in ("nw", "sw")}
    for name, field in FIELDS.items():
        assert name in texts["sw"]
        assert field.hits_only or name in texts["nw"]
        assert f"| `{name}` |" in (ROOT / "docs" / "formats" / "tsv.md").read_text()


def run_example(example, folder):
    """Runs a command that a page shows, in `folder`, and compares what it prints with what the page shows."""
    path = f"{Path(GPUALIGN).parent}:/usr/bin:/bin"
    env = {"PATH": path} | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {example.command}"], capture_output=True, text=True, cwd=folder, env=env)
    # 141: a command whose reader (`head`) had enough
    assert done.returncode in (0, 141), done.stderr
    said = timeless(done.stderr.splitlines())
    results = [line for line in timeless(example.output) if line not in said]
    if not shows(results, timeless(done.stdout.splitlines())):
        pytest.fail(f"{example.command} prints\n{done.stdout[:5000]}")


# What gallery.md shows is run by the build of the site (docs/conf.py), docs/python.md below, and tasks/scirpy.md by test_scirpy.py.
_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in _PAGES if page.stem not in ("gallery", "python", "scirpy") and blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_pages(tmp_path, page):
    """The commands of a page, one after the other in one folder, and then its Python blocks."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    code = ["import warnings; warnings.simplefilter('error')"]
    for block in blocks(page):
        if not isinstance(block, Python):
            run_example(block, tmp_path)
        elif "skbio" not in block.code or find_spec("skbio"):
            code.append(block.code)
    code.append("import os; os._exit(0)")  # pyarrow's threads can abort an interpreter that tears itself down
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_options_in_sentences_exist():
    """Of `gpualign ...` within a sentence, which may be a part of a command."""
    looked_up = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for command in re.findall(r"`gpualign (\w+[^`]*)`", page.read_text() if page.stem != "cli" else ""):
            name, *words = command.split()
            options = {option for parameter in cli.commands[name].params for option in parameter.opts}
            assert {word for word in words if word.startswith("-")} <= options, f"{page.name}: {command}"
            looked_up += 1
    assert looked_up > 30


@pytest.mark.parametrize(
    ("shown", "fits"),
    [
        ("a b c", True),
        ("a ...", True),
        ("a ... c", True),
        ("... c", True),
        ("... b ...", True),
        ("a b", False),  # a cut that is not marked
        ("a ... b c", False),  # a mark where nothing is cut
        ("... c a", False),
        ("b ...", False),
        ("a ... b", False),
        ("a b c d", False),
        ("a x ...", False),
    ],
)
def test_a_cut_output_shows_lines_in_their_places(shown, fits):
    assert shows(shown.split(), ["a", "b", "c"]) is fits


def test_links_lead_somewhere():
    """To the web, to a file, or to a picture that a command of some page draws when the site is built."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
    commands = " ".join(example.command for page in pages for example in examples(page))
    drawn = {ROOT / "docs" / "pictures" / name for name in re.findall(r" (?:-o|--plot) (\S+\.(?:svg|png))", commands)}
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            path = (page.parent / target).resolve()
            there = target.startswith("https://") or path.exists() or path in drawn
            assert there or (SOURCE_DISTRIBUTION and LEFT_OUT.search(target)), f"{page.name}: {target}"


def test_every_format_has_a_page():
    shared = {"npz": "npy", "csv": "tsv", "arrow": "parquet"}
    for format in FORMATS:
        page = ROOT / "docs" / "formats" / f"{shared.get(format, format)}.md"
        assert format in page.read_text()


def test_python_examples(tmp_path, monkeypatch):
    """The blocks of docs/python.md, one after the other, in a folder that has README's data."""
    page = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) > 5
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(blocks)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "15 1=1I5=1D1=" in done.stdout
    assert (tmp_path / "genes.png").stat().st_size > 5000
    known = set(re.findall(r"gpualign\.([A-Za-z_]+)", page)) - {"gpa"}
    assert known <= {*gpualign_package.__all__, "read"}


def test_choices_of_formats_are_those_of_the_registry():
    """What --format takes, what the registry says that a command writes, and what makes it."""
    commands = {
        "nw": [ResultKind.PAIRS],
        "sw": [ResultKind.HITS, ResultKind.SCORES],
        "dist": [ResultKind.DISTANCES],
        "cluster": [ResultKind.CLUSTERS],
    }
    for command, kinds in commands.items():
        choices = next(o.type.choices for o in cli.commands[command].params if o.name == "format")
        assert list(choices) == list(dict.fromkeys(name for kind in kinds for name in format_names(kind)))
    for format in FORMATS.values():
        others = (ResultKind.DISTANCES, ResultKind.CLUSTERS)  # whose rows are not of alignments
        rows = [kind for kind, layout in format.layouts.items() if layout is Layout.ROWS and kind not in others]
        assert (format.make_row_format is not None) == bool(rows)
        assert (format.write_matrix is not None) == (Layout.MATRIX in format.layouts.values())
        assert format.layouts
    assert all(any(kind in format.layouts for format in FORMATS.values()) for kind in ResultKind)


def test_citations_name_this_version():
    version = gpualign_package.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    page = (ROOT / "docs" / "citing.md").read_text()
    assert f"version = {{{version}}}" in page
    assert f"(gpualign {version}, " in page


def test_doctests():
    import doctest

    import gpualign.core.scoring.scoring as scoring

    assert doctest.testmod(scoring).attempted > 0
    assert doctest.testmod(scoring).failed == 0
    assert sys.modules["gpualign.core.scoring.scoring"] is scoring
