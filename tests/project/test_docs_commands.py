"""The commands that pages and --help show without their output, in blocks, tables and sentences, run, on small files under the names that
they use."""

import os
import re
import shlex
from pathlib import Path

import pytest
from command import GPUALIGN, shell
from examples import help_examples, indented, inline
from page_files import PROGRAMS, prepare, stand_ins
from places import DATA, ROOT

from gpualign.cli.main import cli

PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.stem != "cli")]
INLINE = {str(page.relative_to(ROOT)): inline(page.read_text()) for page in PAGES}
SHOWN = {str(page.relative_to(ROOT)): [*indented(page.read_text()).commands, *INLINE[str(page.relative_to(ROOT))]] for page in PAGES}
SHOWN |= {f"{name} --help": commands for name, commands in help_examples((ROOT / "docs" / "cli.md").read_text()).items()}

LEFT_OUT = {
    r"^pip install": "needs a package index, and minutes",
    r"^python tests/fuzz .*--minutes": "takes minutes",
    r"^python benchmarks/": "takes minutes, and other programs to compare with",
    r"^gpualign bench all --size paper": "takes seconds, and minutes with a GPU; tests/cli/test_bench.py runs it with less",
    r"--kernel (shared|dscan|munekawa)": "needs a GPU",
    r"^(openssl|dask) |TLS|--cluster tls:": "needs several machines; tests/execution/test_executors.py makes a scheduler with certificates",
    r"^mpirun": "needs an MPI; tests/execution/test_executors.py runs it where there is one",
    r"^plink2": "another program, alone",
    r"^duckdb": "another program, alone",
    r"^augur": "another program, alone; tests/output/test_next_programs.py runs it where it is installed",
    r"^multiqc": "another program, alone; tests/cli/test_summary.py runs it where it is installed",
}
"""Commands that do not run here, and why."""


def left_out(command):
    return any(re.search(pattern, command) for pattern in LEFT_OUT)


def written(command):
    """The names of the files that `command` writes: what its options and redirections say, of a share with its number. A share whose number
    is that of a loop is read by the command behind it."""
    names = re.findall(r"(?: -o| --output| --summary| --clusters| --plot| >) ([\w./-]+)", re.sub(r"'.*?'", "''", command))
    if "--shard" not in command:
        return names
    return [f"{name}.{k}-of-{n}.part" for name in names for k, n in re.findall(r"--shard (\d+)/(\d+)", command)]


def run(command, folder, programs):
    """Prepares what `command` reads, runs it in `folder` and checks that it ends well."""
    prepare(command, folder)
    env = {"PATH": f"{programs}:{Path(GPUALIGN).parent}:/usr/bin:/bin"}
    env |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    done = shell(f"set -e; {command}", cwd=folder, env=env)
    # 141: a command whose reader (`head`) had enough
    assert done.returncode in (0, 141), f"{command} ends with {done.returncode}:\n{done.stderr.decode()}"
    for name in written(command):
        assert (folder / name).stat().st_size, f"{command} leaves {name} empty"


@pytest.fixture
def programs(tmp_path):
    return stand_ins(tmp_path / "programs")


@pytest.fixture
def folder(tmp_path):
    """Of the commands of a page, with `data/` in it."""
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "data").symlink_to(DATA)
    return tmp_path / "page"


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page, commands in SHOWN.items() if not all(map(left_out, commands))])
def test_commands_run(page, folder, programs):
    """Those of a page, one after the other in one folder."""
    for command in SHOWN[page]:
        if not left_out(command):
            run(command, folder, programs)


@pytest.mark.parametrize("command", dict.fromkeys(c for commands in SHOWN.values() for c in commands if left_out(c)))
def test_options_of_what_is_left_out_exist(command):
    parts = shlex.shlex(command, posix=True, punctuation_chars=True)
    parts.whitespace_split = True
    words = []
    for word in [*parts, ";"]:
        if set(word) <= set("|&;<>()"):
            _check_options(words)
            words = []
        else:
            words.append(word)


def _check_options(words):
    """Of a command of gpualign or a script of this repository, within a longer command or not."""
    if "gpualign" in words:
        name, *arguments = words[words.index("gpualign") + 1 :]
        cli.commands[name].make_context(name, arguments)
    elif words[:1] == ["python"]:
        script = ROOT / words[1]
        files = [script, *script.parent.glob("common.py")] if script.is_file() else script.glob("*.py")
        texts = [file.read_text() for file in files]
        assert texts, f"there is no {words[1]}"
        for option in (word for word in words if word.startswith("--")):
            assert any(f'"{option}"' in text for text in texts), option


def test_what_is_left_out_is_there():
    commands = [command for commands in SHOWN.values() for command in commands]
    assert len(commands) > 150
    assert len(INLINE["docs/start.md"]) > 15
    for pattern in LEFT_OUT:
        assert any(re.search(pattern, command) for command in commands), f"no command matches {pattern}"
    for program in PROGRAMS:
        assert any(re.search(rf"\b{program}\b", command) for command in commands), f"no command uses {program}"


def test_no_command_is_overlooked():
    """Whatever else is indented is no command: contents of files, formulas, and workflows, which tests/project/test_workflows.py runs."""
    workflows = {line.strip() for file in (ROOT / "docs" / "workflows").iterdir() for line in file.read_text().splitlines()}
    for page in PAGES:
        for line in indented(page.read_text()).others:
            if line.strip() not in workflows:
                assert not re.search(rf"(^|[^:] )gpualign ({'|'.join(cli.commands)})(\s|$)", line), (
                    f"{page.name}: is this a command? {line}"
                )


@pytest.mark.parametrize(
    "command", ["gpualign nw never_heard_of.fa", "gpualign nw genes.fa --no-such-option", "cat no_such_file | gpualign dist - | head"]
)
def test_a_wrong_command_fails(command, folder, programs):
    with pytest.raises(AssertionError, match="ends with"):
        run(command, folder, programs)


def test_commands_within_tables_and_sentences():
    lines = ["| a | `gpualign nw a.fa -o b.npy` | `gpualign dist` |", "", "With `gpualign sw a.fa", "b.fa`, and `gpualign nw --edit`.", ""]
    lines += ["`gpualign sw QUERY DB`", "", "```console", "`gpualign nw c.fa`", "```"]
    assert inline("\n".join(lines)) == ["gpualign nw a.fa -o b.npy", "gpualign sw a.fa b.fa"]


def test_an_output_that_is_not_there_is_seen(folder, programs):
    with pytest.raises(FileNotFoundError, match=r"near\.tsv"):
        run("echo gpualign nw genes.fa -o near.tsv", folder, programs)


def test_commands_of_a_page():
    lines = ["text", "", "    gpualign nw a.fa \\", "        -o b.tsv   # why", "    cat b.tsv", "", "    cut -f 1 b.tsv", "", "text", ""]
    lines += ["    $ gpualign info", "    what it prints", "", "    id\tcluster", "", "```console", "    $ gpualign nw c.fa", "```", ""]
    assert indented("\n".join(lines)) == (
        ["gpualign nw a.fa -o b.tsv   # why", "cat b.tsv", "cut -f 1 b.tsv", "gpualign info"],
        ["what it prints", "id\tcluster"],
    )
