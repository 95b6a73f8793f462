"""Recipes of packaging/ say what the program is: its version, what it needs, options that it has and values that they take. Workflows of
docs/workflows use options that it has."""

import os
import re
import shutil
import subprocess
from xml.etree import ElementTree

import click
import pytest
from command import gpualign_here
from places import ROOT

from gpualign import __version__
from gpualign.cli.main import CONTEXT_SETTINGS, cli

jinja2 = pytest.importorskip("jinja2")
yaml = pytest.importorskip("yaml", reason="needs PyYAML")

PACKAGING = ROOT / "packaging"
GALAXY = PACKAGING / "galaxy"
TOOLS = sorted(GALAXY.glob("gpualign_*.xml"))
MODULES = sorted((PACKAGING / "nf-core").rglob("main.nf"))
CONTAINERS = sorted((PACKAGING / "container").iterdir())
WORKFLOWS = sorted((ROOT / "docs" / "workflows").iterdir())
RECIPES = [PACKAGING / "bioconda" / "meta.yaml", *CONTAINERS, *TOOLS, *MODULES, *WORKFLOWS]


def options_of(command):
    """Options by their names, --help too."""
    context = click.Context(command, **CONTEXT_SETTINGS)
    return {name: option for option in command.get_params(context) if isinstance(option, click.Option) for name in option.opts}


def galaxy_command(tool):
    """What it runs, of all branches, as one line."""
    lines = ElementTree.parse(tool).getroot().findtext("command").splitlines()
    resources = ElementTree.parse(GALAXY / "macros.xml").find("token[@name='@RESOURCES@']").text
    return " ".join(line for line in lines if not line.startswith("#")).replace("@RESOURCES@", resources)


def invocations(path):
    """(command, options) of each call of the program."""
    text = galaxy_command(path) if path.suffix == ".xml" else re.sub(r"\\+\n", " ", path.read_text())
    for name, arguments in re.findall(r"\bgpualign (\w[\w-]*|--[\w-]+)([^\n|;&]*)", text):
        if name in cli.commands:
            yield cli.commands[name], re.findall(r"(?<![\w-])--?[a-z][\w-]*", arguments)
        elif name.startswith("--"):
            yield cli, [name]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_have_the_options_that_recipes_use(path):
    found = list(invocations(path))
    assert found or path.name == "Dockerfile"  # whose command is a list
    for command, options in found:
        assert set(options) <= set(options_of(command)), command.name


@pytest.mark.parametrize("tool", TOOLS, ids=lambda path: path.stem)
def test_a_galaxy_tool_offers_values_that_the_option_takes(tool):
    root = ElementTree.parse(tool).getroot()
    options = options_of(cli.commands[tool.stem.removeprefix("gpualign_")])
    params = root.findall(".//inputs//param[@argument]")
    assert params
    for param in params:
        option = options[param.get("argument")]
        assert f"{param.get('argument')} " in galaxy_command(tool)
        offered = {one.get("value") for one in param.findall("option")}
        assert bool(offered) == isinstance(option.type, click.Choice)
        assert not offered or offered <= set(option.type.choices)


def values_of_test(test, inputs):
    """Words that a test of a Galaxy tool puts on the command line."""
    given = {param.get("name"): param.get("value") for param in test.iter("param")}
    words = []
    for param in inputs.iter("param"):
        name = param.get("name") or param.get("argument").lstrip("-").replace("-", "_")
        chosen = [one.get("value") for one in param.findall("option") if one.get("selected")]
        value = given.get(name, chosen[0] if chosen else None)
        if param.get("type") == "data":
            words += [GALAXY / "test-data" / value] if value else []
        elif name == "edit":
            words += ["--edit"] if value == "yes" else []
        elif value is not None:
            words += [param.get("argument"), value]
    return words


@pytest.mark.parametrize("tool", TOOLS, ids=lambda path: path.stem)
def test_a_galaxy_tool_expects_what_the_program_writes(tool):
    root = ElementTree.parse(tool).getroot()
    tests = root.findall("tests/test")
    assert tests
    for test in tests:
        out, _ = gpualign_here(
            tool.stem.removeprefix("gpualign_"), "--quiet", "--device", "cpu", *values_of_test(test, root.find("inputs"))
        )
        text = out.decode()
        for wanted in test.find("output/assert_contents"):
            attribute = {"has_n_lines": "n", "has_n_columns": "n", "has_line": "line", "has_text": "text"}[wanted.tag]
            value = wanted.get(attribute)
            if wanted.tag == "has_n_lines":
                assert len(text.splitlines()) == int(value)
            elif wanted.tag == "has_n_columns":
                assert {len(line.split("\t")) for line in text.splitlines()} == {int(value)}
            else:
                assert value in (text.splitlines() if wanted.tag == "has_line" else text)


def test_galaxy_tools_pass_planemo(tmp_path):
    planemo = shutil.which("planemo")
    if planemo is None:
        pytest.skip("planemo is not installed (it is larger than everything else together)")
    done = subprocess.run([planemo, "lint", GALAXY], capture_output=True, text=True, env={**os.environ, "HOME": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_build_of_an_image_is_not_sent_what_git_ignores():
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    sent_not = (ROOT / ".dockerignore").read_text().splitlines()
    # Docker's patterns begin at the root, git's without a slash anywhere.
    assert {line[1:] if line.startswith("/") else f"**/{line}" for line in ignored} | {".git"} <= set(sent_not)
    needed = {
        "CMakeLists.txt",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "cli",
        "core",
        "cpu",
        "cuda_src",
        "gpu",
        "jobs",
        "api",
        "packaging",
        "papers",
    }
    assert needed.isdisjoint(sent_not)
    assert all((ROOT / name).exists() for name in needed)


def recipe():
    """The recipe of bioconda as conda-build reads it."""
    functions = {
        "PYTHON": "python",
        "compiler": lambda language: f"{language}-compiler",
        "stdlib": lambda language: f"{language}-stdlib",
        "pin_subpackage": lambda name, max_pin: f"{name} {max_pin}",
    }
    text = (PACKAGING / "bioconda" / "meta.yaml").read_text()
    return yaml.safe_load(jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(functions))


def test_the_bioconda_recipe_requires_what_the_package_does():
    project = (ROOT / "pyproject.toml").read_text()
    requirements = recipe()["requirements"]

    def listed(name):
        block = re.search(rf"^{name} = \[(.*?)\]$", project, re.MULTILINE | re.DOTALL)[1]
        return [re.match(r"([\w.-]+)>=([\d.]+)", one).groups() for one in re.findall(r'"([^"]+)"', block)]

    conda = {"isal": "python-isal"}
    for name, version in listed("dependencies"):
        assert f"{conda.get(name, name)} >={version}" in requirements["run"]
    for name, version in listed("requires"):
        assert f"{name} >={version}" in requirements["host"]
    python = re.search(r'requires-python = ">=([\d.]+)"', project)[1]
    assert f"python >={python}" in requirements["run"]
    cmake = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert f"cmake >={cmake}" in requirements["build"]
    assert recipe()["source"]["path"] == "../.."
    assert (PACKAGING / "bioconda" / "../..").resolve() == ROOT


def test_every_recipe_is_of_this_version():
    versions = {
        "pyproject.toml": re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1],
        "bioconda": recipe()["package"]["version"],
        "galaxy": ElementTree.parse(GALAXY / "macros.xml").findtext("token[@name='@TOOL_VERSION@']"),
        **{path.name: re.search(r'[Vv]ersion[= ]"?([\d.]+)', path.read_text())[1] for path in CONTAINERS},
    }
    for page in (PACKAGING / "README.md", PACKAGING / "container" / "Dockerfile"):
        versions[f"tag in {page.name}"] = re.search(r"-t gpualign:([\d.]+)", page.read_text())[1]
    for module in MODULES:
        environment = yaml.safe_load((module.parent / "environment.yml").read_text())
        versions[f"{module.parent.name} environment"] = environment["dependencies"][0].removeprefix("bioconda::gpualign=")
        versions[f"{module.parent.name} container"] = re.search(r'container "gpualign:(.*)"', module.read_text())[1]
    assert set(versions.values()) == {__version__}, versions


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.parent.name)
def test_a_module_is_described(module):
    meta = yaml.safe_load((module.parent / "meta.yml").read_text())
    text = module.read_text()
    assert f"process {meta['name'].upper()} {{" in text
    assert sorted(meta["output"]) == sorted(re.findall(r"emit: (\w+)", text))
    inputs = re.search(r"tuple val\((\w+)\), path\((\w+)\)\n", text)
    assert [name for part in meta["input"][0] for name in part] == list(inputs.groups())
