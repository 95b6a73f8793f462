"""The documentation is true: the CLI reference is what --help prints, and README's commands print what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import GPUALIGN, gpualign

import gpualign as gpualign_package
from gpualign.cli.main import cli
from gpualign.core.fields import FIELDS
from gpualign.core.formats.registry import FORMATS, Layout, Results, formats_of

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = [[], ["nw"], ["sw"], ["dist"], ["cluster"], ["plot"], ["bench"], ["index"], ["merge"], ["info"]]


def test_cli_reference(request):
    # Releases of click wrap and annotate differently: the extra `test` pins the one that the page is written with.
    page = "# Command-line reference\n\nWritten from `--help` by `pytest tests/test_docs.py --update-golden`.\n"
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
        assert field.of_hits or name in texts["nw"]
        assert f"| `{name}` |" in (ROOT / "docs" / "formats" / "tsv.md").read_text()


def shown_commands():
    """(command, lines that README shows below it) of its console blocks."""
    for block in re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            yield command, output


@pytest.mark.parametrize(("command", "output"), list(shown_commands()), ids=lambda value: value if isinstance(value, str) else "")
def test_readme_commands(tmp_path, command, output):
    (tmp_path / "data").symlink_to(ROOT / "data")
    path = f"{Path(GPUALIGN).parent}:/usr/bin:/bin"
    env = {"PATH": path} | {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr

    def fixed(lines):
        # Times and rates differ from machine to machine; the words around them do not.
        return [re.sub(r"[\d.,]+ (s|GCUPS)|cpu \(.*", "#", line) for line in lines]

    said = fixed(done.stderr.splitlines())
    results = [line for line in fixed(output) if line not in said]
    assert fixed(done.stdout.splitlines()) == results, "README shows all of standard output, and of the messages what it likes"


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_python_recipes(tmp_path, small_16s, number):
    """Each Python recipe, after the commands that stand above it."""
    pytest.importorskip("scipy")
    page = (ROOT / "docs" / "recipes.md").read_text()
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[number]
    if "skbio" in code:
        pytest.importorskip("skbio")
    (tmp_path / "genes.fasta").write_bytes(small_16s.read_bytes())
    for command in re.findall(r"^    gpualign ((?:nw|cluster) genes.fasta .*?)(?: +#.*)?$", page, re.MULTILINE):
        if "> " not in command:
            gpualign(*command.split(), cwd=tmp_path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if "print" in code:
        assert "gi|" in done.stdout


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
    commands = {"nw": [Results.PAIRS], "sw": [Results.HITS, Results.SCORES], "dist": [Results.DISTANCES], "cluster": [Results.CLUSTERS]}
    for command, kinds in commands.items():
        choices = next(o.type.choices for o in cli.commands[command].params if o.name == "format_")
        assert list(choices) == list(dict.fromkeys(name for kind in kinds for name in formats_of(kind)))
    for format in FORMATS.values():
        others = (Results.DISTANCES, Results.CLUSTERS)  # whose rows are not of alignments
        rows = [kind for kind, layout in format.layouts.items() if layout is Layout.ROWS and kind not in others]
        assert (format.rows is not None) == bool(rows)
        assert (format.matrix is not None) == (Layout.MATRIX in format.layouts.values())
        assert format.layouts
    assert all(any(kind in format.layouts for format in FORMATS.values()) for kind in Results)


def test_doctests():
    import doctest

    import gpualign.core.scoring as scoring

    assert doctest.testmod(scoring).attempted > 0
    assert doctest.testmod(scoring).failed == 0
    assert sys.modules["gpualign.core.scoring"] is scoring
