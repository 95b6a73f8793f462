"""Man pages and completion scripts: they say what --help says, programs that read them take them."""

import json
import os
import re
import shutil
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path

import click
import pytest
from command import GPUALIGN

from gpualign.cli.main import cli

pytest.importorskip("click_man", reason="needs click-man, which makes man pages")

import shared_files

PAGES = sorted(f"man/man1/{name}.1" for name in ["gpualign", *(f"gpualign-{command}" for command in cli.commands)])


def test_they_are_what_the_program_says(request):
    # Releases of click word options differently: the extra `test` pins the one that docs/cli.md is written with too.
    if request.config.getoption("--update-golden"):
        subprocess.run([sys.executable, shared_files.__file__], check=True)
    # In a process of its own: Click keeps the help option of a command in the form in which it was first asked for.
    code = "import json, shared_files; print(json.dumps(shared_files.contents()))"
    path = os.pathsep.join([str(shared_files.SHARE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    wanted = json.loads(done.stdout)
    there = {path.relative_to(shared_files.SHARE).as_posix(): path for path in shared_files.SHARE.rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in there.items()} == wanted
    assert [name for name in sorted(there) if name.startswith("man/")] == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_every_option_and_the_examples_as_lines(page):
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run([groff, "-man", "-Tascii", "-P-c", "-rLL=140n", shared_files.SHARE / page], capture_output=True, text=True)
    text = re.sub(".\b", "", done.stdout)
    command = cli.commands[page.split("-", 1)[1].removesuffix(".1")] if "-" in page else cli
    for option in [one for one in command.params if isinstance(one, click.Option)]:
        assert all(re.search(rf"^ +(-\w, )?{name}\b", text, re.MULTILINE) for name in option.opts if name.startswith("--")), option.opts
    examples = [line for line in cleandoc(command.help).splitlines() if line.startswith("  ") and "gpualign" in line]
    assert examples
    assert {line.strip() for line in examples} <= {line.strip() for line in text.splitlines()}


def test_bash_completes_by_the_file():
    bash = shutil.which("bash")
    if bash is None or not Path(GPUALIGN).exists():
        pytest.skip("needs bash and the installed executable")
    if subprocess.run([bash, "-c", "((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404))"]).returncode:
        pytest.skip("needs bash 4.4, which knows `complete -o nosort`")
    script = shared_files.SHARE / "bash-completion" / "completions" / "gpualign"
    asked = "COMP_WORDS=(gpualign dist --met); COMP_CWORD=2; _gpualign_completion gpualign; printf '[%s]' \"${COMPREPLY[@]}\""
    done = subprocess.run(
        [bash, "-c", f"source '{script}'; complete -p gpualign; {asked}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{Path(GPUALIGN).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.stdout == "complete -o nosort -F _gpualign_completion gpualign\n[--metric]"
